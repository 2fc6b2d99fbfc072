"""Environments by name: a registered one, a Gymnasium id, or `module:factory`, as an EnvSpec.

Nothing is imported or made before it is needed, so that a run can be loaded where its environment is not. A module
is imported only if the user names it: a name that a file gave (`Stored`) is refused where it would be imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from types import ModuleType
from typing import Any

import gymnasium as gym

from rate.envs.batch import SerialBatch
from rate.envs.own import OwnEnv
from rate.envs.spec import ENVS, EnvSpec, EvalCase
from rate.errors import ConfigError, StoredCodeError, UnknownNameError
from rate.plugins import describe, import_named
from rate.registry import near
from rate.serial import Stored
from rate.system.files import shown

FACTORY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
"""module:factory"""
GYMNASIUM_ID = re.compile(r"(?:[A-Za-z_][\w.]*:)?(?:[\w-]+/)?[\w.-]+-v\d+")
"""Name-v0, namespace/Name-v0, or module:Name-v0, where importing the module registers the id."""
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
    """Refuse what a file would have imported: its environment, or a text of it as an argument of code."""
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


def _file(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or "built in"


def _nearest(path: str, module: ModuleType) -> str:
    close = near(path, (name for name in vars(module) if not name.startswith("_")))[:1]
    return f"; did you mean {close[0]!r}?" if close else ""


def _unknown(name: str) -> UnknownNameError:
    close = near(name, [*ENVS.names(), *reversed(gym.registry)])[:1]  # of equals the newest version
    other = "give a name of `rate list envs`, a Gymnasium id, or module:factory"
    return UnknownNameError(f"unknown environment {name!r}; {f'did you mean {close[0]!r}?' if close else other}")
