"""Environments that nobody registered here: a Gymnasium id, or `module:factory`, as an EnvSpec.

Nothing is imported or made before it is needed, so that a run can be loaded where its environment is not. A module
is imported only if the user names it: a name that a file gave (`Stored`) is refused where it would be imported.
"""

from __future__ import annotations

import math
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium as gym
import numpy as np

from rate.envs.batch import SerialBatch
from rate.envs.spec import ENVS, EnvSpec, EvalCase
from rate.errors import ConfigError, RateError, StoredCodeError, UnknownNameError
from rate.plugins import describe, import_named
from rate.registry import near
from rate.serial import Stored
from rate.system.files import shown

FACTORY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
"""module:factory"""
GYMNASIUM_ID = re.compile(r"(?:[A-Za-z_][\w.]*:)?(?:[\w-]+/)?[\w.-]+-v\d+")
"""Name-v0, namespace/Name-v0, or module:Name-v0, where importing the module registers the id."""
CLASSES = (gym.spaces.Discrete, gym.spaces.MultiDiscrete)
"""Spaces whose values are classes."""
RELAYS = ("GymV21Environment-v0", "GymV26Environment-v0")
"""Ids that make the environment which an argument names, and import what that asks for."""
UNLIMITED = 1_000_000
"""Steps of an episode where the environment names no limit."""


def find_env(name: str) -> EnvSpec:
    """The environment of a registered name, of `module:factory`, or of a Gymnasium id; of one that is `Stored` and
    has a module there is a description, but it cannot be made."""
    if name in ENVS:
        return ENVS.get(name)
    if FACTORY.fullmatch(name):
        return _spec(name, "an environment of your own", partial(_from_factory, name))
    if GYMNASIUM_ID.fullmatch(name):
        return _spec(name, "an environment of Gymnasium's registry", partial(_from_id, name))
    if not name:
        raise ConfigError("there is no environment here, only data; name one, or see: rate eval RUN --held-out")
    raise _unknown(name)


def is_code(name: str) -> bool:
    """Whether making the environment of a name imports a module, or may import one."""
    return name not in ENVS and (":" in name or name in RELAYS)


def _check_stored(name: str, kwargs: Mapping[str, Any]) -> None:
    """Refuse what a file would have imported: its environment, or a text of it as an argument of somebody's code."""
    if isinstance(name, Stored) and is_code(name):
        raise StoredCodeError(str(name))
    for key, value in kwargs.items():
        if isinstance(value, Stored) and (is_code(name) or ":" in value):
            raise ConfigError(
                f"a file gives {name} the argument {key}={shown(value, 60)}; a text goes into code only if you "
                f"give it: --set {key}=..."
            )


def episode_limit(spec: EnvSpec) -> int | None:
    """Steps after which the environment itself ends an episode, where it says so."""
    env = spec.make()
    try:
        return env.spec.max_episode_steps if env.spec else None
    finally:
        env.close()


def _spec(name: str, summary: str, make: Callable[..., gym.Env[Any, Any]]) -> EnvSpec:
    return EnvSpec(
        name=name,
        summary=summary,
        make=make,
        make_batch=lambda **kwargs: SerialBatch(partial(make, **kwargs)),
        expert=None,
        case=partial(_case, name),
    )


def _case(name: str, /, **kwargs: Any) -> EvalCase:
    known = gym.registry.get(name)
    limit = kwargs.get("max_episode_steps", known.max_episode_steps) if known else None
    return EvalCase(
        name=",".join(f"{key}={value}" for key, value in kwargs.items()) or "default",
        kwargs=kwargs,
        target_return=None,
        max_steps=limit if isinstance(limit, int) and limit > 0 else UNLIMITED,
        tags={key: str(value) for key, value in kwargs.items()},
    )


def _from_factory(name: str, /, **kwargs: Any) -> gym.Env[Any, Any]:
    _check_stored(name, kwargs)
    module_name, _, path = name.partition(":")
    module = import_named(module_name)
    try:
        factory = attrgetter(path)(module)
    except AttributeError:
        raise ConfigError(f"module {module_name!r} ({_file(module)}) has no {path!r}{_nearest(path, module)}") from None
    if not callable(factory):
        raise ConfigError(f"{name} is a {type(factory).__name__}; it must be a function or class that makes one")
    return _made(name, partial(factory, **kwargs))


def _from_id(name: str, /, **kwargs: Any) -> gym.Env[Any, Any]:
    _check_stored(name, kwargs)
    module, _, name_there = name.rpartition(":")
    if module:
        import_named(module)
    try:
        gym.spec(name_there)
    except gym.error.Error:
        raise _unknown(name_there) from None
    return _made(name, partial(gym.make, name_there, **kwargs))


def _made(name: str, make: Callable[[], Any]) -> gym.Env[Any, Any]:
    """What a user's function gives, if it is an environment."""
    try:
        env = make()
    except Exception as error:
        raise ConfigError(f"the environment {name} cannot be made: {describe(error)}") from error
    if not isinstance(env, gym.Env):
        raise ConfigError(f"{name} gives a {type(env).__name__}, which is not a Gymnasium environment")
    for part in ("observation_space", "action_space"):
        if not isinstance(getattr(env, part, None), gym.Space):
            raise ConfigError(f"the environment that {name} gives has no {part}; set it in its __init__")
    return OwnEnv(env, name)


def _parts(space: gym.Space[Any], value: Any) -> Iterator[tuple[gym.Space[Any], Any]]:
    """The parts of an observation, and their spaces."""
    if isinstance(space, gym.spaces.Dict):
        for key, part in space.spaces.items():
            yield from _parts(part, value[key])
    elif isinstance(space, gym.spaces.Tuple):
        for part, one in zip(space.spaces, value, strict=True):
            yield from _parts(part, one)
    else:
        yield space, value


class OwnEnv(gym.Wrapper[Any, Any, Any, Any]):
    """Somebody's environment; what goes wrong inside of it is said in one line that tells where."""

    def __init__(self, env: gym.Env[Any, Any], name: str) -> None:
        super().__init__(env)
        self._name = name

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        with self._told("reset"):
            # Not options=None: that was not always an argument.
            observation, info = self.env.reset(seed=seed, **({"options": options} if options else {}))
            self._check(observation)
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        with self._told("step"):
            observation, reward, terminated, truncated, info = self.env.step(action)
            self._check(observation)
            if not math.isfinite(reward):
                raise ConfigError(f"the environment {self._name} gives the reward {reward}; it must be a finite number")
        return observation, float(reward), bool(terminated), bool(truncated), info

    def render(self) -> Any:
        with self._told("render"):
            return self.env.render()

    def _check(self, observation: Any) -> None:
        """Numbers must be finite, and classes those of their space: others have no row in the table of a model."""
        for space, value in _parts(self.observation_space, observation):
            if isinstance(space, CLASSES):
                if not space.contains(value):
                    raise ConfigError(f"the environment {self._name} gives the observation {value} outside of {space}")
            elif isinstance(space, gym.spaces.Box) and not np.isfinite(value).all():
                raise ConfigError(f"the environment {self._name} gives an observation that is not finite")

    @contextmanager
    def _told(self, method: str) -> Iterator[None]:
        try:
            yield
        except RateError:
            raise
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            where = "" if at.filename == __file__ else f" ({Path(at.filename).name}, line {at.lineno})"
            raise ConfigError(f"the environment {self._name} fails in {method}: {describe(error)}{where}") from error


def _file(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or "built in"


def _nearest(path: str, module: ModuleType) -> str:
    close = near(path, (name for name in vars(module) if not name.startswith("_")))[:1]
    return f"; did you mean {close[0]!r}?" if close else ""


def _unknown(name: str) -> UnknownNameError:
    close = near(name, [*ENVS.names(), *gym.registry])[:1]
    other = "give a name of `rate list envs`, a Gymnasium id, or module:factory"
    return UnknownNameError(f"unknown environment {name!r}; {f'did you mean {close[0]!r}?' if close else other}")
