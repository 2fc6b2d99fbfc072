"""How often a policy does what the expert would do: along the expert's own actions, and along its own.

The first is what training sees. Where the second is far below it, the policy leans on a past that is not its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from rate.envs.spec import PLAYER_STREAM, EnvSpec, EvalCase, Player
from rate.errors import ConfigError
from rate.evaluation.rollout import acting
from rate.models.actor import Actor
from rate.models.policy import SequencePolicy


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Shares of the steps at which policy and expert choose the same action."""

    forced: float
    """The expert's actions are taken, and the policy is asked."""
    own: float
    """The policy's actions are taken, and the expert is asked."""
    episodes: int


def can_be_asked(spec: EnvSpec, policy: SequencePolicy[Any]) -> bool:
    """Whether there is an expert that plays step by step and takes single choices, as a policy that takes no fact."""
    return spec.player is not None and isinstance(policy.spaces.action, gym.spaces.Discrete) and not policy.takes_oracle


def agreement(
    policy: SequencePolicy[Any],
    spec: EnvSpec,
    case: EvalCase,
    seeds: Sequence[int],
    *,
    target_return: float,
    return_scale: float = 1.0,
) -> Agreement:
    """Play an episode per seed in both ways; the expert must be one that can be asked step by step."""
    if not can_be_asked(spec, policy):
        raise ConfigError(f"{spec.name} has no expert that can be asked, or its actions are not single choices")
    actor = Actor(policy, target_return=target_return, return_scale=return_scale)
    env = spec.make(**case.kwargs)
    try:
        with acting(policy, 0):
            forced, own = (
                [same for seed in seeds for same in _compared(actor, spec, env, case, int(seed), own=own)]
                for own in (False, True)
            )
    finally:
        env.close()
    return Agreement(forced=float(np.mean(forced)), own=float(np.mean(own)), episodes=len(seeds))


def _compared(
    actor: Actor, spec: EnvSpec, env: gym.Env[Any, Any], case: EvalCase, seed: int, *, own: bool
) -> list[bool]:
    """Whether both agree, step by step, in one episode."""
    observation, _ = env.reset(seed=seed)
    assert spec.player is not None
    expert: Player = spec.player(env, np.random.default_rng([seed, PLAYER_STREAM]))
    actor.reset()
    same, previous, over = list[bool](), None, False
    while not over and len(same) < case.max_steps:
        wanted, chosen = int(expert(observation, previous)), int(actor.act(observation))
        same.append(wanted == chosen)
        previous = chosen if own else wanted
        observation, reward, terminated, truncated, _ = env.step(previous)
        actor.observe(float(reward), previous)
        over = terminated or truncated
    return same
