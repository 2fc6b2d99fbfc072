"""Actor: a policy with its state, for one environment or a batch, NumPy in and out.

Rows of a batch may be reset at different times; rows at the same step of their episode run together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from rate.errors import ConfigError
from rate.models.acting import PROMPTS
from rate.models.policy import SequencePolicy
from rate.models.values import check_actions, check_number, check_positive, is_finite, numbers, to_float32
from rate.spaces import leaves, map_space
from rate.types import Array, Inputs, Output, Tree, tree_leaves, tree_map


@dataclass
class Cohort:
    """Rows of the batch that are at the same step of their episodes."""

    rows: Tensor
    episodes: Tensor
    """What tells the episodes apart: their seeds, or numbers where those are not known."""
    state: Any
    previous_action: Tensor | None = None
    timestep: int = 0

    def take(self, keep: Tensor) -> Cohort:
        """The cohort of the rows at these places."""
        state, previous = tree_map(lambda leaf: leaf[keep], (self.state, self.previous_action))
        rows, episodes = self.rows[keep], self.episodes[keep.cpu()]
        return replace(self, rows=rows, episodes=episodes, state=state, previous_action=previous)


class Actor:
    """Acts with a policy: `act` for an action, `observe` for the reward that followed, `reset` for a new episode.

    An observation with one axis more than its space is a batch; the batch keeps its size until a full reset. `prompt`
    says which return-to-go is shown.
    """

    def __init__(
        self,
        policy: SequencePolicy[Any],
        *,
        target_return: float,
        return_scale: float = 1.0,
        sample: bool = False,
        prompt: str = "countdown",
    ) -> None:
        if not isinstance(policy, SequencePolicy):
            raise ConfigError(f"an actor needs a policy, not {policy!r}; a run has one: run.policy, or run.actor()")
        self.policy = policy.eval()
        self.target_return = check_number("target_return", target_return)
        self.return_scale = check_positive("return_scale", return_scale)
        check_number("target_return / return_scale", self.target_return / self.return_scale)
        self.sample = sample
        self.prompt = PROMPTS.get(prompt)(policy)
        self._shapes = [tuple(leaf.shape or ()) for _, leaf in leaves(policy.spaces.observation)]
        self.cohort: Cohort | None = None
        """The rows that are being run: what a hook on the policy sees belongs to them."""
        self._cohorts: list[Cohort] = []
        self._episodes: Tensor | None = None
        self._begun = 0
        self._return_to_go = torch.zeros(0)
        self._oracle: Tree = None
        self._single = False

    @torch.inference_mode()
    def act(self, observation: Tree) -> Any:
        """The action for this observation (or batch of observations)."""
        batch = self._batched(observation)
        actions: list[Tensor] = []
        for cohort in self._cohorts:
            self.cohort, whole = cohort, len(self._cohorts) == 1
            given = (batch, self._return_to_go, self._oracle)
            observation, return_to_go, oracle = (
                given if whole else tree_map(lambda leaf, at=cohort.rows: leaf[at], given)
            )
            x = Inputs(
                observation=observation,
                previous_action=cohort.previous_action,
                return_to_go=self._shown(return_to_go, cohort),
                timestep=cohort.timestep,
                oracle=oracle,
            )
            output, cohort.state = self._step(x, cohort.state)
            cohort.timestep += 1
            cohort.previous_action = self.policy.head.act(output.prediction, self.sample)
            actions.append(cohort.previous_action)
        action = self.policy.head.to_env(self._in_row_order(actions))
        return action[0] if self._single else action

    def _step(self, x: Inputs, state: Any) -> tuple[Output, Any]:
        try:
            return self.policy.step(x, state)
        except IndexError:  # a class without a row in a table; to look before each step would cost more
            space = self.policy.spaces.observation
            raise ConfigError(f"the observation holds a class that is not in the space {space}") from None

    def _shown(self, left: Tensor, cohort: Cohort) -> Tensor:
        """The return-to-go that the prompt shows, from which the next rewards are taken."""
        shown = self.prompt(left, self.target_return / self.return_scale, cohort.timestep)
        if shown is not left:
            self._return_to_go[cohort.rows] = shown
        return shown

    @torch.inference_mode()
    def observe(self, reward: ArrayLike, action: ArrayLike | None = None) -> None:
        """The reward that followed; `action` where another action than the advised one was taken."""
        left = self._return_to_go - self._rewards(reward) / self.return_scale
        if action is not None:
            batch = () if self._single else (len(self._return_to_go),)
            checked = check_actions(self.policy.spaces.action, action, batch)
            taken = torch.as_tensor(checked, device=self.policy.device)
            taken = taken[None] if self._single else taken
            for cohort in self._cohorts:
                if cohort.previous_action is not None:
                    cohort.previous_action = taken[cohort.rows]
        self._return_to_go = left

    def _rewards(self, reward: ArrayLike) -> Tensor:
        """One reward per row; a number will do where there is one row."""
        received, size = numbers("rewards", reward), len(self._return_to_go)
        if received.shape != (size,) and not received.size == size == 1:
            raise ConfigError(f"rewards of shape {received.shape} were given to an actor of {size}; give one for each")
        return torch.as_tensor(received.reshape(-1), device=self.policy.device)

    def reset(
        self,
        rows: ArrayLike | None = None,
        *,
        oracle: ArrayLike | None = None,
        episodes: ArrayLike | None = None,
    ) -> None:
        """Begin new episodes: all, or the given rows of the batch (indices or a boolean mask).

        `episodes` are numbers that tell the episodes of a whole batch apart, such as their seeds.

        `oracle` is, for a policy that takes one, the privileged fact of each row of the batch, or of each of `rows`.

        Reset a row before the first observation of its new episode is given to `act`. With a Gymnasium vector
        environment: at once where it resets in the same step, one step later where it resets in the next.
        """
        facts = self._checked_oracle(oracle)
        if rows is None or not self._cohorts:
            self._cohorts, self._oracle = [], facts
            self._episodes = None if episodes is None else torch.as_tensor(np.asarray(episodes))
            return
        size = len(self._return_to_go)
        try:
            index = np.arange(size)[np.asarray(rows)].reshape(-1)
        except IndexError:
            raise ConfigError(f"rows {rows} are not in a batch of {size}") from None
        with torch.inference_mode():
            self._begin(torch.as_tensor(index, device=self.policy.device), facts)

    def _begin(self, rows: Tensor, facts: Tensor | None) -> None:
        """New episodes in these rows, which are given these facts."""
        size = len(self._return_to_go)
        if facts is not None:
            if len(facts) not in (size, len(rows)):
                raise ConfigError(f"{len(facts)} facts were given for {len(rows)} new episodes in a batch of {size}")
            self._oracle[rows] = facts[rows] if len(facts) == size else facts
        keep = torch.ones(size, dtype=torch.bool, device=rows.device)
        keep[rows] = False
        new = (~keep).nonzero()[:, 0]
        if len(new):
            self._drop(keep)
            self._return_to_go[new] = self.target_return / self.return_scale
            numbers = torch.arange(self._begun, self._begun + len(new))
            self._begun += len(new)
            self._cohorts.append(Cohort(new, numbers, self.policy.initial_state(len(new))))

    def _checked_oracle(self, oracle: ArrayLike | None) -> Tensor | None:
        """The privileged facts as a batch, a copy; a policy takes one if and only if it was trained with one."""
        space = self.policy.spaces.oracle
        if space is None or not self.policy.takes_oracle:
            return None
        if oracle is None:
            raise ConfigError(f"this policy is told {space} of each episode; give reset(oracle=...)")
        shape = tuple(space.shape or ())
        try:
            facts = np.array(oracle, dtype=space.dtype)
        except (TypeError, ValueError):
            raise ConfigError(f"the oracle {oracle!r} is not of the space {space}") from None
        facts = facts[None] if facts.shape == shape else facts
        if facts.shape[1:] != shape or not all(space.contains(np.asarray(fact)) for fact in facts):
            raise ConfigError(f"the oracle does not fit: {space} is told of each episode")
        return torch.as_tensor(facts, device=self.policy.device)

    def keep(self, rows: NDArray[np.int64]) -> None:
        """Go on with these rows of the batch only, renumbered in this order."""
        with torch.inference_mode():
            kept = torch.as_tensor(rows, device=self.policy.device)
            place = torch.full((len(self._return_to_go),), -1, device=self.policy.device)
            place[kept] = torch.arange(len(kept), device=self.policy.device)
            self._drop(place >= 0)
            self._cohorts = [self._renumbered(cohort, place) for cohort in self._cohorts]
            self._return_to_go, self._oracle = tree_map(lambda leaf: leaf[kept], (self._return_to_go, self._oracle))

    def _renumbered(self, cohort: Cohort, place: Tensor) -> Cohort:
        rows, order = place[cohort.rows].sort()
        return replace(cohort.take(order), rows=rows)

    def _drop(self, keep: Tensor) -> None:
        """Go on without the rows for which `keep` is false."""
        taken = [cohort.take(keep[cohort.rows].nonzero()[:, 0]) for cohort in self._cohorts]
        self._cohorts = [cohort for cohort in taken if len(cohort.rows)]

    def _in_row_order(self, actions: list[Tensor]) -> Tensor:
        if len(actions) == 1:
            return actions[0]
        rows = torch.cat([cohort.rows for cohort in self._cohorts])
        return torch.cat(actions)[rows.argsort()]

    def _batched(self, observation: Tree) -> Tree:
        """The observation as a batch of tensors; the first one of an episode fixes the size of the batch."""
        tree, lead = self._tensors(observation)
        tree = tree if lead else tree_map(lambda leaf: leaf[None], tree)
        size = lead[0] if lead else 1
        if not self._cohorts:
            self._start(size, single=not lead)
        if size != len(self._return_to_go):
            raise ConfigError(f"a batch of {size} observations was given to an actor of {len(self._return_to_go)}")
        return tree

    def _tensors(self, observation: Tree) -> tuple[Tree, tuple[int, ...]]:
        """The observation as tensors, and the axis that it has before those of its space: none, or (B,)."""
        space, device = self.policy.spaces.observation, self.policy.device
        try:
            tree = tree_map(lambda leaf: torch.as_tensor(leaf, device=device), map_space(_as_array, space, observation))
        except (TypeError, ValueError, LookupError):
            raise ConfigError(f"the observation does not have the form of the space {space}") from None
        shapes = [tuple(leaf.shape) for leaf in tree_leaves(tree)]
        lead = shapes[0][: len(shapes[0]) - len(self._shapes[0])]
        if len(lead) > 1 or shapes != [(*lead, *shape) for shape in self._shapes]:
            raise ConfigError(f"the observation does not fit the space {space}: it is neither one nor a batch of them")
        return tree, lead

    def _start(self, size: int, single: bool) -> None:
        device = self.policy.device
        if self.policy.takes_oracle and (self._oracle is None or len(self._oracle) != size):
            raise ConfigError(f"this policy is told a fact of each of {size} episodes first: reset(oracle=...)")
        self._single = single
        self._return_to_go = torch.full((size,), self.target_return / self.return_scale, device=device)
        numbers = torch.arange(size) if self._episodes is None else self._episodes
        self._begun = size
        self._cohorts = [Cohort(torch.arange(size, device=device), numbers, self.policy.initial_state(size))]


def _as_array(space: gym.Space[Any], value: Any) -> Array:
    """Numbers become arrays."""
    array: Array = np.asarray(value)
    array = to_float32(array) if array.dtype == np.float64 else array
    if not is_finite(array):
        raise ConfigError("the observation holds a value that is not finite")
    return array
