"""The form of a recurrence from token to token: `step` is a function of tensors as it is, but for the first action."""

from __future__ import annotations

import torch
from torch import Tensor

from rate.export.form import Form, Given, State, form_of
from rate.models.policies.recurrent import RecurrentPolicy
from rate.types import Tree, tree_leaves, tree_map


@form_of.register(RecurrentPolicy)
class RecurrentForm(Form):
    """One state per tensor that the backbone carries."""

    def __init__(self, policy: RecurrentPolicy) -> None:
        self.policy = policy
        self.tree = policy.initial_state(1)

    def start(self) -> State:
        return _named(self.tree)

    def step(self, x: Given, state: State) -> tuple[Tensor, State]:
        policy, carried = self.policy, iter(state.values())
        tree: Tree = tree_map(lambda _: next(carried), self.tree)
        past, prompt = policy.tokens.previous(x), policy.tokens.prompt(x)  # type: ignore[arg-type]
        begun = x.timestep > 0
        if policy.separate:
            for token in past:  # before the first step there was no action, and nothing is carried from it
                _, after = policy.backbone.step(token, tree)
                tree = tree_map(lambda new, old: torch.where(begun, new, old), after, tree)
            tokens = prompt
        else:
            tokens = [torch.stack([*(token * begun for token in past), *prompt]).sum(0)]
        for token in tokens:
            hidden, tree = policy.backbone.step(token, tree)
        return policy.readout(hidden), _named(tree)


def _named(tree: Tree) -> State:
    return {f"carried.{index}": leaf for index, leaf in enumerate(tree_leaves(tree))}
