"""The memory condition of the paper: how likely the demonstrated last action is, for each value of the cue.

The policy is led through demonstrations by `step` alone. A policy that has forgotten the cue gives the same
probabilities whatever the cue was, so that they sum to at most 1; more than 1 is memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from rate.data.windows import returns_to_go
from rate.envs.spec import CollectRequest, EnvSpec, EvalCase, spaces_of
from rate.errors import DataError
from rate.evaluation.rollout import acting
from rate.models.policy import SequencePolicy
from rate.seeding import Purpose
from rate.types import Array, Inputs, Trajectory, Tree, to_tensor, tree_map


@dataclass(frozen=True, kw_only=True)
class Recall:
    """What a policy still knows of the cue at the last step."""

    by_cue: Mapping[str, float]
    """Value of the cue to the mean probability of the last action that was demonstrated after it."""

    @property
    def sum(self) -> float:
        """1 is chance, the number of cue values is perfect."""
        return math.fsum(self.by_cue.values())

    def metrics(self) -> dict[str, float]:
        return {**{f"recall/{cue}": value for cue, value in self.by_cue.items()}, "recall/sum": self.sum}


def has_recall(spec: EnvSpec) -> bool:
    """Whether the last action of the environment's expert follows from a cue, and actions have probabilities."""
    if not spec.cue or spec.expert is None:
        return False
    return isinstance(spaces_of(spec).action, (gym.spaces.Discrete, gym.spaces.MultiDiscrete))


def demonstrations(spec: EnvSpec, case: EvalCase, episodes: int, seed: int = 0) -> list[Trajectory]:
    """Episodes of the expert as the case has them, on validation seeds."""
    assert spec.expert is not None
    known = {name: value for name, value in case.kwargs.items() if name in spec.expert_defaults}
    options = {**known, **spec.cue_options}
    request = CollectRequest(episodes=episodes, seed=seed, kwargs=options, purpose=Purpose.VALIDATION)
    return list(spec.expert(request))


@torch.inference_mode()
def recall(
    policy: SequencePolicy[Any],
    episodes: Sequence[Trajectory],
    cue: str,
    *,
    return_scale: float = 1.0,
    oracle: str = "",
) -> Recall:
    """Lead a policy through demonstrations of one length; `cue` and `oracle` name infos of them."""
    if len({len(episode) for episode in episodes}) != 1:
        raise DataError("recall needs demonstrations of one length, and at least one of them")
    returns = np.stack([returns_to_go(episode.rewards / return_scale) for episode in episodes])
    actions = torch.as_tensor(np.stack([episode.actions for episode in episodes]), device=policy.device)
    facts = np.stack([episode.infos[oracle][0] for episode in episodes]) if oracle else None
    seen, return_to_go, fact = to_tensor((_stacked(episodes), returns, facts), policy.device)
    state = policy.initial_state(len(episodes))
    with acting(policy, seed=0):
        for t in range(actions.shape[1]):
            x = Inputs(
                observation=tree_map(lambda leaf, at=t: leaf[:, at], seen),
                previous_action=actions[:, t - 1] if t else None,
                return_to_go=return_to_go[:, t],
                timestep=t,
                oracle=fact,
            )
            output, state = policy.step(x, state)
    likely = policy.head.log_prob(output.prediction, actions[:, -1]).exp().cpu().numpy()
    return Recall(by_cue=_means(likely, [episode.infos[cue][0] for episode in episodes]))


def _stacked(episodes: Sequence[Trajectory]) -> Tree:
    """(B, T + 1, ...)"""
    first, *rest = (episode.observations for episode in episodes)
    return tree_map(lambda *leaves: np.stack(leaves), first, *rest)


def _means(values: Array, cues: Sequence[Any]) -> dict[str, float]:
    names = np.array([f"{cue:g}" for cue in cues])
    order = sorted(set(names.tolist()), key=float)
    return {name: float(values[names == name].mean()) for name in order}
