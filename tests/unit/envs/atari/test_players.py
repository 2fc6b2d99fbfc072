"""The scripted players are good from the first steps, and err at a share of them that differs by episode."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from rate.data.collect import collect
from rate.envs import ENVS
from rate.envs.atari.emulator import AtariEnv
from rate.envs.atari.paddle import BREAKOUT, RESPONSE, breakout, folded, seen
from rate.envs.atari.tasks import LONGEST_ERROR, Game, player
from rate.envs.spec import CollectRequest
from rate.errors import ConfigError
from rate.types import Trajectory

pytest.importorskip("ale_py", reason="needs the extra atari")
pytest.importorskip("cv2", reason="needs the extra atari")


def collected(game: str, episodes: int = 1, **options: object) -> list[Trajectory]:
    request = CollectRequest(episodes=episodes, seed=0, kwargs=options)
    return list(ENVS.get(f"atari/{game}").expert(request))


@pytest.mark.parametrize(
    ("game", "steps", "least"),
    [("pong", 420, 2.0), ("breakout", 250, 5.0), ("qbert", 400, 2000.0), ("seaquest", 400, 500.0)],
)
def test_the_player_scores(game: str, steps: int, least: float) -> None:
    """None of these loses a life or a ball; whole games are in benchmarks/atari."""
    (item,) = collected(game, spread=0.0, max_steps=steps)
    assert len(item) == steps
    assert item.rewards.min() >= 0
    assert item.rewards.sum() >= least


@pytest.mark.parametrize("game", ["pong", "breakout", "qbert", "seaquest"])
def test_the_player_is_a_function_of_the_seed(game: str) -> None:
    first, second = (collected(game, episodes=2, max_steps=120) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.actions, other.actions)
        np.testing.assert_array_equal(one.observations, other.observations)
    assert (first[0].actions != first[1].actions).any()


@pytest.mark.parametrize(("side", "place"), [(100, 100), (206, 206), (210, 202), (40, 50), (370, 48)])
def test_a_ball_bounces_from_the_walls(side: float, place: float) -> None:
    assert folded(side, 45, 206) == place


FAR = 120
"""A depth that is many steps from the paddle."""
IDLE = Game(name="pong", rules="", player=lambda env, rng: lambda seen, before: 0, target=0)


def errors(seed: int, spread: float, steps: int = 3000) -> list[int]:
    """What is played in place of a player that never acts."""
    play, before, played = player(IDLE, AtariEnv("pong"), np.random.default_rng(seed), spread=spread), None, []
    for _ in range(steps):
        before = play(np.zeros(1), before)
        played.append(before)
    return played


def test_an_error_is_an_action_that_is_held_for_some_steps() -> None:
    played = errors(seed=1, spread=0.2)
    assert set(played) == set(range(6))
    lengths = [len(list(run)) for action, run in groupby(played) if action]
    assert set(range(1, LONGEST_ERROR + 1)) <= set(lengths)
    assert max(lengths) <= 3 * LONGEST_ERROR  # of which one may follow another
    assert played == errors(seed=1, spread=0.2) != errors(seed=2, spread=0.2)


def test_the_share_of_errors_is_drawn_for_each_episode() -> None:
    shares = [np.mean(np.array(errors(seed, spread=0.8)) != 0) * 6 / 5 for seed in range(4)]
    drawn = [0.8 * np.random.default_rng(seed).random() for seed in range(4)]
    np.testing.assert_allclose(shares, drawn, atol=0.07)
    assert max(shares) - min(shares) > 0.2
    assert not any(errors(seed=0, spread=0.0))


def test_the_paddle_stays_beside_a_far_ball() -> None:
    env = AtariEnv("breakout", max_steps=200)
    env.reset(seed=0)
    play, before, apart = breakout(env, np.random.default_rng(0)), None, []
    for _ in range(150):
        before = play(np.zeros(1), before)
        env.step(np.int64(before))
        ball = seen(BREAKOUT, env.ram)
        if ball and ball[0] < FAR:
            apart.append(abs(ball[1] - BREAKOUT.middle - float(env.ram[BREAKOUT.paddle])))
    assert len(apart) > 20 and np.mean(apart) < RESPONSE[-1]


def test_bad_options_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"spread must be a number in \[0, 1\], got 2"):
        collected("pong", spread=2)
    with pytest.raises(ConfigError, match="stack must be"):
        collected("pong", stack=0)


def test_data_stores_every_frame_once(tmp_path: Path) -> None:
    spec, request = ENVS.get("atari/pong"), CollectRequest(episodes=2, seed=0, kwargs={"max_steps": 120})
    store = collect(spec, request, tmp_path / "data")
    for item, played in zip(store, spec.expert(request), strict=True):
        np.testing.assert_array_equal(item.observations, played.observations)
    frames = sum(len(item) + 1 for item in store)
    size = sum(file.stat().st_size for file in (tmp_path / "data").rglob("observations*"))
    assert size < frames * 84 * 84 // 4
