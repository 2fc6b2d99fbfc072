"""EnvSpec of a Gymnasium environment and of a player in it: episodes, batches and seeds are the library's matter.

So an expert cannot give an episode twice, or one of those on which policies are judged.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from rate.envs.batch import SerialBatch
from rate.envs.demonstrate import demonstrate
from rate.envs.spec import CollectRequest, EnvSpec, EvalCase, Player
from rate.score import Score
from rate.types import Trajectory


def simple_env(
    *,
    name: str,
    summary: str,
    make: Callable[..., gym.Env[Any, Any]],
    case: Callable[..., EvalCase],
    player: Callable[..., Player] | None = None,
    options: Mapping[str, Any] | None = None,
    success: Callable[[float], bool] | None = None,
    score: Score | None = None,
    tags: Sequence[str] = (),
    oracle: Mapping[str, gym.Space[Any]] | None = None,
    axis: str | None = None,
    axis_unit: str | None = None,
) -> EnvSpec:
    """The fields are those of `EnvSpec`; what it needs besides is made of them.

    `player(env, rng, ...)` is called once per episode, after `reset`, and gives the function that acts in it; `options`
    are those of environment and player, with their defaults: each is given those that its parameters name.
    """
    facts, defaults = tuple(dict.fromkeys([*(oracle or {}), *tags])), dict(options or {})
    return EnvSpec(
        name=name,
        summary=summary,
        make=make,
        make_batch=partial(_batch, make, facts),
        expert=partial(_episodes, make, player, facts, defaults) if player else None,
        expert_defaults=defaults,
        player=partial(_player, player) if player else None,
        case=case,
        score=score or Score(),
        tags=tuple(tags),
        success=success,
        oracle=dict(oracle or {}),
        axis=axis,
        axis_unit=axis_unit,
    )


def _batch(make: Callable[..., gym.Env[Any, Any]], facts: tuple[str, ...], /, **kwargs: Any) -> SerialBatch:
    return SerialBatch(partial(make, **kwargs), facts)


def _player(
    player: Callable[..., Player], env: gym.Env[Any, Any], rng: np.random.Generator, /, **options: Any
) -> Player:
    return player(env.unwrapped, rng, **_taken(player, options))


def _episodes(
    make: Callable[..., gym.Env[Any, Any]],
    player: Callable[..., Player],
    facts: tuple[str, ...],
    defaults: Mapping[str, Any],
    request: CollectRequest,
) -> Iterator[Trajectory]:
    options = {**defaults, **request.kwargs}
    return demonstrate(make(**_taken(make, options)), partial(_player, player, **options), request.seeds, facts)


def _taken(function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a function has a parameter for."""
    parameters = inspect.signature(function).parameters
    if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        return dict(options)
    return {name: value for name, value in options.items() if name in parameters}
