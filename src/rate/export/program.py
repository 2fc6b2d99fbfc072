"""Program: all that an exported policy computes in a step, from what it sees to the action as the environment takes it.

Its tensors have names. `start` gives the first value of each; a graph gives those that change as `next.` and the name.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from rate.errors import ConfigError
from rate.export.form import Form, Given, State
from rate.models.acting import PROMPTS
from rate.models.policy import SequencePolicy
from rate.spaces import leaves, map_space
from rate.types import Array, Tree

NEXT = "next."


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Which return is asked for, and how."""

    target_return: float = 0.0
    return_scale: float = 1.0
    prompt: str = "countdown"


class Program:
    """The functions that become graphs."""

    def __init__(self, policy: SequencePolicy[Any], form: Form, asked: Asked) -> None:
        self.policy, self.form, self.asked = policy, form, asked
        self.told = policy.tokens.returns is not None
        self.renew = renewal(policy, asked.prompt) if self.told else 0
        self.leaves = {".".join(map(str, ("observation", *path))): (path, leaf) for path, leaf in _observed(policy)}

    @cached_property
    def start(self) -> State:
        """The first values of all tensors, those of one episode."""
        space = self.policy.spaces
        prediction = self.policy.readout.weight.new_zeros(1, self.policy.head.size)
        values = {name: _first(leaf) for name, (_, leaf) in self.leaves.items()}
        values |= {"reward": torch.zeros(1), "timestep": torch.zeros((), dtype=torch.int64)}
        if self.policy.takes_oracle and space.oracle is not None:
            values["oracle"] = _first(space.oracle)
        if self.told:
            asked = torch.full((1,), self.asked.target_return / self.asked.return_scale)
            values |= {"target": asked, "return_to_go": asked.clone()}
        chosen = self._chosen(prediction)
        if self.policy.tokens.actions is not None:
            values["previous_action"] = _first(space.action).to(chosen.dtype)
        values |= {"prediction": prediction, "action": self._to_env(chosen)}
        return {**values, **self.form.start()}

    def step(self, given: State) -> State:
        """One step: the prediction, the action, and what is carried on."""
        x = self._given(given)
        prediction, carried = self.form.step(x, {name: given[name] for name in self.form.start()})
        chosen = self._chosen(prediction)
        if "previous_action" in given:
            carried["previous_action"] = chosen
        if x.return_to_go is not None:
            carried["return_to_go"] = x.return_to_go
        action = {"prediction": prediction, "action": self._to_env(chosen)}
        return {**action, **{NEXT + name: value for name, value in carried.items()}}

    def border(self, given: State) -> State:
        """What a segment hands to the next one."""
        carried = self.form.border(self._given(given), {name: given[name] for name in self.form.start()})
        return {NEXT + name: value for name, value in carried.items()}

    def _given(self, given: State) -> Given:
        names = iter(self.leaves)
        return Given(
            observation=map_space(lambda _: given[next(names)], self.policy.spaces.observation),
            previous_action=given.get("previous_action"),
            return_to_go=self._shown(given) if self.told else None,
            timestep=given["timestep"],
            oracle=given.get("oracle"),
        )

    def _shown(self, given: State) -> Tensor:
        """What is left of the return that was asked for, or that return anew."""
        left, time = given["return_to_go"] - given["reward"] / self.asked.return_scale, given["timestep"]
        return torch.where((time % self.renew if self.renew else time) == 0, given["target"], left)

    def _chosen(self, prediction: Tensor) -> Tensor:
        """The most likely action, as the tokens of the policy take it."""
        chosen = self.policy.head.act(prediction, False)
        return chosen.float() if chosen.is_floating_point() else chosen

    def _to_env(self, chosen: Tensor) -> Tensor:
        """As `Head.to_env`."""
        kind: np.dtype[Any] = self.policy.head.to_env(chosen.detach()[:0]).dtype
        whole = chosen.round() if chosen.is_floating_point() and kind.kind in "iu" else chosen
        action, space = whole.to(torch.from_numpy(np.zeros(0, kind)).dtype), self.policy.spaces.action
        if not isinstance(space, gym.spaces.Box) or kind != np.float64:
            return action
        low, high = torch.from_numpy(space.low), torch.from_numpy(space.high)
        return torch.minimum(torch.maximum(action, low), high)  # float32 may round a bound to beyond it


def renewal(policy: SequencePolicy[Any], name: str) -> int:
    """After how many steps a prompt shows the whole target again; 0: never."""
    prompt, steps = PROMPTS.get(name)(policy), 2 * (policy.segment_len or 1) + 1
    shown = [float(prompt(torch.tensor([0.25]), 1.0, time)) for time in range(steps)]
    again = [time for time, value in enumerate(shown) if time and value == 1.0]
    period = again[0] if again else 0
    if shown[1:] != [1.0 if period and time % period == 0 else 0.25 for time in range(1, steps)]:
        raise ConfigError(f"the prompt {name} cannot be exported; evaluate with countdown, constant or per-segment")
    return period


def _observed(policy: SequencePolicy[Any]) -> list[tuple[tuple[Any, ...], gym.Space[Any]]]:
    return list(leaves(policy.spaces.observation))


def _first(space: gym.Space[Any]) -> Tensor:
    """(1, ...): a value of the space, of the type that a graph takes."""
    return torch.from_numpy(np.zeros((1, *(space.shape or ())), kind_of(space)) + getattr(space, "start", 0))


def kind_of(space: gym.Space[Any]) -> np.dtype[Any]:
    """Classes are int64 and floating values float32; others, such as bytes, stay what they are."""
    if isinstance(space, (gym.spaces.Discrete, gym.spaces.MultiDiscrete)):
        return np.dtype(np.int64)
    kind: np.dtype[Any] = np.dtype(space.dtype)
    return np.dtype(np.float32) if kind.kind == "f" else kind


def to_array(tensor: Tensor) -> Array:
    array: Array = tensor.detach().cpu().numpy()
    return array


def example(start: State, batch: int = 2) -> Tree:
    """The tensors of a batch early in an episode, to trace with."""
    repeated = {name: value.repeat(batch, *[1] * (value.dim() - 1)) for name, value in start.items() if value.dim()}
    return {name: repeated.get(name, value + 1) for name, value in start.items()}
