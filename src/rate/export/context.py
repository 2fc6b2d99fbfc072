"""The form of a sliding context: the tokens of the last steps are kept, and those that are there yet are run."""

from __future__ import annotations

import torch
from torch import Tensor

from rate.export.form import Form, Given, State, form_of
from rate.models.policies.context import ContextPolicy


@form_of.register(ContextPolicy)
class ContextForm(Form):
    """The state is a window of tokens with the newest at the end, of which the timestep tells how many are there."""

    def __init__(self, policy: ContextPolicy) -> None:
        self.policy = policy

    def start(self) -> State:
        return {"tokens": self.policy.initial_state(1).tokens}

    def step(self, x: Given, state: State) -> tuple[Tensor, State]:
        policy, config = self.policy, self.policy.tokens.config
        new = [*policy.tokens.previous(x), *policy.tokens.prompt(x)]  # type: ignore[arg-type]
        tokens = torch.cat([state["tokens"], torch.stack(new, 1)], 1)[:, len(new) :]
        length = config.per_step * policy.context - config.unknown
        # The token of the action before the first step lies just outside of what is there.
        filled = (config.per_step * (x.timestep + 1) - config.unknown).clamp(max=length)
        seen = tokens[:, length - filled :]
        if policy.oracle is not None:
            seen = torch.cat([policy.oracle(x.oracle)[:, None], seen], 1)
        return policy.readout(policy.backbone.last(seen)), {"tokens": tokens}
