"""The rules of Two-Colors: health, rewards, a pillar that vanishes, and episodes that their seeds decide."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from rate.envs.vizdoom import engine
from rate.envs.vizdoom.env import TwoColorsEnv
from rate.envs.vizdoom.expert import Chaser
from rate.errors import ConfigError, MissingExtraError, RateError

pytest.importorskip("vizdoom", reason="needs the extra vizdoom")
pytest.importorskip("cv2", reason="needs the extra vizdoom")

TURN = np.int64(1)


@pytest.fixture
def env() -> Iterator[TwoColorsEnv]:
    made = TwoColorsEnv()
    yield made
    made.close()


def objects(env: TwoColorsEnv, part: str) -> list[tuple[Any, ...]]:
    found = [one for one in env.state.objects if part in one.name]
    return sorted((one.name, one.position_x, one.position_y) for one in found)


def test_health_runs_out_in_320_steps_and_each_survived_one_pays(env: TwoColorsEnv) -> None:
    env.reset(seed=0)
    outcomes = [env.step(TURN)[1:3] for _ in range(320)]
    assert [over for _, over in outcomes].index(True) == 319
    assert sum(reward for reward, _ in outcomes) == pytest.approx(319 * 0.02)
    with pytest.raises(gym.error.ResetNeeded, match="the episode is over"):
        env.step(TURN)


@pytest.mark.parametrize(("chased", "reward", "change"), [("red", 1.02, 25.0), ("green", 0.02, -25.0)])
def test_items_heal_or_hurt(env: TwoColorsEnv, chased: str, reward: float, change: float) -> None:
    observation = env.reset(seed=1)[0]
    assert env.colour == "red"
    env.health = 50.0
    play, action = Chaser(env, [chased]), None
    before, items = env.health, len(objects(env, "Item"))
    for _ in range(80):
        action = play(observation, action)
        observation, paid, *_ = env.step(np.int64(action))
        if len(objects(env, "Item")) < items:
            break
        before = env.health
    assert paid == pytest.approx(reward)
    assert env.health == before - 10 / 32 + change


@pytest.mark.parametrize("pillar", [45, 90])
def test_the_pillar_is_seen_for_its_steps_and_the_items_are_those_without_it(pillar: int) -> None:
    seen = []
    for options in ({"colour": "red"}, {"colour": "green"}, {"pillar": 0}):
        env = TwoColorsEnv(**{"pillar": pillar, **options})
        env.reset(seed=5)
        here = [len(objects(env, "Pillar"))]
        for _ in range(pillar + 20):
            env.step(TURN)
            here.append(len(objects(env, "Pillar")))
        assert here == ([1] * pillar + [0] * 21 if options.get("pillar") != 0 else [0] * (pillar + 21))
        seen.append(objects(env, "Item"))
        env.close()
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0]) > 20


@pytest.mark.parametrize("height", [32, 64])
def test_colours_are_told_apart_in_the_observation(height: int) -> None:
    env = TwoColorsEnv(height=height)
    for seed, strong, weak in ((1, 0, 1), (2, 1, 0)):
        observation, info = env.reset(seed=seed)
        assert env.observation_space.contains(observation)
        assert info == {"colour": ("red", "green")[strong], "green": strong}
        middle = observation[:, height // 2, observation.shape[2] // 2].astype(int)
        assert middle[strong] > middle[weak] + 100
    env.close()


def test_the_view_is_drawn(env: TwoColorsEnv) -> None:
    env.reset(seed=0)
    assert env.render() is None
    env.render_mode = "rgb_array"
    assert env.render().shape == (144, 256, 3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pillar": 30}, "pillar must be one of 45, 90, 0, got 30"),
        ({"height": True}, "height must be one of 32, 64, got True"),
        ({"colour": "blue"}, "colour must be one of seed, red, green, got 'blue'"),
        ({"max_steps": 0}, "max_steps must be a whole number of at least 1, got 0"),
        ({"render_mode": "human"}, "render_mode must be None or 'rgb_array', got 'human'"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        TwoColorsEnv(**options)


@pytest.mark.parametrize(("module", "package"), [("vizdoom", "vizdoom"), ("cv2", "opencv-python-headless")])
def test_without_a_package_one_line_says_what_to_install(
    module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"{package} is not installed; .*pip install 'rate-rl\[vizdoom\]'"):
        TwoColorsEnv()


def test_an_engine_that_ended_is_one_line(env: TwoColorsEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_IDLE", [])
    before = children()
    env.reset(seed=0)
    (guard,) = children() - before
    os.kill(guard, signal.SIGTERM)
    with pytest.raises(RateError, match=r"the engine of ViZDoom has ended: .*"):
        for _ in range(1000):
            env.step(TURN)


def children() -> set[int]:
    """Processes that this one has started, from any of its threads."""
    found = set()
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/children") as file:
            found |= {int(pid) for pid in file.read().split()}
    return found
