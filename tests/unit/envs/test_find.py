"""Environments that nobody registered: found by `module:factory` or by a Gymnasium id, or refused in one line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from rate.envs import ENVS
from rate.envs.find import UNLIMITED, episode_limit, find_env
from rate.errors import ConfigError, UnknownNameError
from rate.score import Score

SOURCE = """
import gymnasium as gym

class Walk(gym.Env):
    observation_space, action_space = gym.spaces.Discrete(3), gym.spaces.Discrete(2)
    def __init__(self, goal=2):
        self.goal = goal
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return 0, {}
    def step(self, action):
        self.at += action
        return self.at, 1.0, self.at >= self.goal, False, {}

class Inner:
    def __init__(self):
        self.spaceless = 0
    make = staticmethod(lambda: Walk())

class Bare(gym.Env):
    pass

class NoSeed(Walk):
    def reset(self):
        return 0
class Falls(Walk):
    def step(self, action):
        return self.nowhere
class Four(Walk):
    def step(self, action):
        return 0, 0.0, True, {}
class Rich(Walk):
    def step(self, action):
        return 0, float("nan"), True, False, {}
class Outside(Walk):
    def step(self, action):
        return 3, 0.0, True, False, {}
class Lost(Walk):
    observation_space = gym.spaces.Dict(a=gym.spaces.Box(-1.0, 1.0, (2, 2)))
    def reset(self, *, seed=None, options=None):
        import numpy as np
        return {"a": np.full((2, 2), np.nan)}, {}
class Parts(Walk):
    observation_space = gym.spaces.Dict(
        a=gym.spaces.Tuple([gym.spaces.MultiDiscrete([3, 3])]), b=gym.spaces.Discrete(4)
    )
    def __init__(self, a=(2, 2), b=3):
        import numpy as np
        self.seen = {"a": (np.array(a),), "b": b}
    def reset(self, *, seed=None, options=None):
        return self.seen, {}
class Blind(Walk):
    render_mode = "ansi"
    def render(self):
        raise OSError("no screen")

only = Walk()
def again():
    return only
def nothing():
    return 3
def fails(size=0):
    raise RuntimeError("no display\\non this machine")
number = 3
gym.register("rate_own/Walk-v0", Walk, max_episode_steps=7)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module in the current directory, forgotten afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    name = "walk_of_" + "".join(char for char in tmp_path.name if char.isalnum())
    (tmp_path / f"{name}.py").write_text(SOURCE)
    (tmp_path / "needs_other.py").write_text("import a_module_that_is_not_there")
    (tmp_path / "half.py").write_text("def make(:")
    yield name
    for imported in (name, "needs_other", "half"):
        sys.modules.pop(imported, None)
    gym.registry.pop("rate_own/Walk-v0", None)


def test_a_registered_name_comes_first() -> None:
    assert find_env("tmaze") is ENVS.get("tmaze")


@pytest.mark.parametrize("attribute", ["Walk", "Inner.make"])
def test_a_factory_makes_an_environment_that_can_be_batched(attribute: str, module: str) -> None:
    spec = find_env(f"{module}:{attribute}")
    assert spec.name == f"{module}:{attribute}" and spec.expert is None and spec.score == Score()
    batch = spec.make_batch()
    batch.reset(np.array([0, 1]))
    assert batch.step(np.array([1, 0])).observation.tolist() == [1, 0]
    case = spec.case()
    assert (case.name, case.target_return, case.max_steps) == ("default", None, UNLIMITED)
    assert episode_limit(spec) is None


def test_arguments_reach_the_factory_and_name_the_case(module: str) -> None:
    spec = find_env(f"{module}:Walk")
    assert spec.make(goal=1).unwrapped.goal == 1
    case = spec.case(goal=5)
    assert (case.name, case.kwargs, case.tags) == ("goal=5", {"goal": 5}, {"goal": "5"})


@pytest.mark.parametrize("form", ["{}:rate_own/Walk-v0", "rate_own/Walk-v0"])
def test_ids_of_gymnasium(form: str, module: str) -> None:
    find_env(f"{module}:Walk").make()  # registers the id
    name = form.format(module)
    assert isinstance(find_env(name).make(), gym.Env) and episode_limit(find_env(name)) == 7
    assert find_env("CartPole-v1").case().max_steps == 500
    assert find_env("CartPole-v1").case(max_episode_steps=1000).max_steps == 1000


def test_nothing_is_imported_before_it_is_needed(module: str) -> None:
    find_env(f"{module}:Walk").case()
    assert module not in sys.modules


@pytest.mark.parametrize("outside", [{"a": (3, 0)}, {"b": 4}])
def test_a_class_that_a_part_does_not_have(outside: dict[str, Any], module: str) -> None:
    """Of several components it would be read as a class of another one."""
    find_env(f"{module}:Parts").make().reset(seed=0)
    with pytest.raises(ConfigError, match="outside of"):
        find_env(f"{module}:Parts").make(**outside).reset(seed=0)


BAD: dict[str, tuple[str, tuple[str, ...]]] = {
    "module": ("nowhere_at_all:make", ("no module 'nowhere_at_all'", "installed")),
    "package": ("nowhere_at_all.envs:make", ("no module 'nowhere_at_all'",)),
    "what a module needs": ("needs_other:make", ("'needs_other' cannot be imported", "a_module_that_is_not_there")),
    "half a module": ("half:make", ("'half' cannot be imported", "SyntaxError")),
    "attribute": ("{}:Wlak", ("has no 'Wlak'", "did you mean 'Walk'?", ".py")),
    "number": ("{}:number", ("is a int", "function or class")),
    "no environment": ("{}:nothing", ("gives a int", "not a Gymnasium environment")),
    "no spaces": ("{}:Bare", ("has no observation_space",)),
    "failure": ("{}:fails", ("cannot be made", "RuntimeError: no display on this machine")),
    "id": ("CartPolee-v1", ("unknown environment 'CartPolee-v1'", "did you mean 'CartPole-v1'?")),
    "version": ("CartPole-v9", ("unknown environment", "CartPole-v")),
    "id of a module": ("{}:rate_own/Wolk-v0", ("unknown environment", "did you mean 'rate_own/Walk-v0'?")),
    "module of an id": ("nowhere_at_all:Walk-v0", ("no module 'nowhere_at_all'",)),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_made(case: str, module: str) -> None:
    form, parts = BAD[case]
    with pytest.raises(ConfigError) as caught:
        find_env(form.format(module)).make()
    assert "\n" not in str(caught.value)
    assert all(part in str(caught.value) for part in parts), caught.value


@pytest.mark.parametrize(("name", "hint"), [("tmazze", "did you mean 'tmaze'?"), ("what is it", "module:factory")])
def test_names_of_no_form_at_all(name: str, hint: str) -> None:
    with pytest.raises(UnknownNameError, match="unknown environment") as caught:
        find_env(name)
    assert hint in str(caught.value)


def test_wrong_arguments_are_told(module: str) -> None:
    with pytest.raises(ConfigError, match="unexpected keyword argument 'size'"):
        find_env(f"{module}:Walk").make(size=3)


def test_no_environment() -> None:
    with pytest.raises(ConfigError, match="only data"):
        find_env("")


def test_the_current_directory_comes_last(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is named like an installed module does not take its place."""
    (tmp_path / "colorsys.py").write_text("raise RuntimeError('not this one')")
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with pytest.raises(ConfigError, match=r"module 'colorsys' .* has no 'make'") as caught:
        find_env("colorsys:make").make()
    found: Any = sys.modules["colorsys"]
    assert found.__file__ in str(caught.value) and str(tmp_path) not in found.__file__


FAILS = {
    "NoSeed": "fails in reset: TypeError",
    "Falls": "fails in step: AttributeError: 'Falls' object has no attribute 'nowhere'",
    "Four": "fails in step: ValueError: not enough values",
    "Rich": "gives the reward nan",
    "Outside": "gives the observation 3 outside of Discrete(3)",
    "Lost": "gives an observation that is not finite",
    "Blind": "fails in render: OSError: no screen",
}


@pytest.mark.parametrize("attribute", FAILS)
def test_what_goes_wrong_inside_is_told_in_one_line(attribute: str, module: str) -> None:
    env = find_env(f"{module}:{attribute}").make()
    with pytest.raises(ConfigError) as caught:
        env.reset(seed=0)
        env.step(np.int64(1))
        env.render()
    message = str(caught.value)
    assert FAILS[attribute] in message and f"{module}:{attribute}" in message and "\n" not in message
    assert (f"({module}.py, line " in message) == (attribute in ("Falls", "Blind"))


def test_a_factory_that_gives_one_environment_again_and_again(module: str) -> None:
    batch = find_env(f"{module}:again").make_batch()
    batch.reset(np.array([0]))
    with pytest.raises(ConfigError, match="anew"):
        batch.reset(np.array([0, 1]))
