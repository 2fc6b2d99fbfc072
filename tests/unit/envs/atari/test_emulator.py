"""The games follow the protocol: what is shown, what is paid, where episodes start and end, what a seed decides."""

from __future__ import annotations

import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from rate.envs.atari.emulator import AtariEnv
from rate.errors import ConfigError, MissingExtraError
from rate.types import Array

ale_py = pytest.importorskip("ale_py", reason="needs the extra atari")
pytest.importorskip("cv2", reason="needs the extra atari")


def frames(env: gym.Env[Any, Any], actions: list[int], seed: int = 0) -> tuple[Array, Array]:
    """The observations after these actions, and the rewards."""
    env.reset(seed=seed)
    answers = [env.step(np.int64(action)) for action in actions]
    env.close()
    return np.array([answer[0] for answer in answers]), np.array([answer[1] for answer in answers])


def drawn(count: int, actions: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(actions, size=count).tolist()


@pytest.mark.parametrize("game", ["pong", "qbert"])
def test_frames_and_scores_are_those_of_gymnasiums_preprocessing(game: str) -> None:
    gym.register_envs(ale_py)
    bare = gym.make(f"ALE/{game.capitalize()}-v5", frameskip=1, repeat_action_probability=0.0)
    reference = gym.wrappers.AtariPreprocessing(bare, noop_max=0, frame_skip=4, screen_size=84, grayscale_obs=True)
    actions = drawn(60, 6)
    # The protocol begins with FIRE and a step without an action.
    expected, paid = frames(reference, [1, 0, *actions])
    shown, rewards = frames(AtariEnv(game, no_ops=0), actions)
    np.testing.assert_array_equal(shown[:, -1], expected[2:])
    np.testing.assert_array_equal(rewards, paid[2:])


def test_the_newest_frame_is_last_and_the_others_move_on() -> None:
    env = AtariEnv("breakout")
    before, _ = env.reset(seed=0)
    assert before.any() and (before == before[0]).all()
    after = env.step(np.int64(2))[0]
    np.testing.assert_array_equal(after[:3], before[1:])
    assert env.observation_space.contains(after)
    assert AtariEnv("breakout", stack=1).observation_space.shape == (1, 84, 84)


def test_scores_are_not_clipped() -> None:
    env = AtariEnv("qbert", no_ops=0)
    env.reset(seed=0)
    assert max(env.step(np.int64(5 if t % 10 < 2 else 0))[1] for t in range(90)) == 25.0


def test_sticky_actions_are_drawn_from_the_seed() -> None:
    actions = drawn(40, 4)
    plain, sticky, again, other = (
        frames(AtariEnv("breakout", sticky=probability), actions, seed)[0]
        for probability, seed in ((0.0, 1), (0.25, 1), (0.25, 1), (0.25, 2))
    )
    np.testing.assert_array_equal(sticky, again)
    assert (sticky != plain).any() and (sticky != other).any()


def test_what_was_foreseen_happens_and_nothing_happens_before() -> None:
    env, actions = AtariEnv("seaquest"), drawn(20, 18)
    env.reset(seed=0)
    before = env.ram.copy()
    foreseen = [glimpse.ram for glimpse in env.foresee(actions)]
    np.testing.assert_array_equal(env.ram, before)
    for glimpse, action in zip(foreseen, actions, strict=True):
        env.step(np.int64(action))
        np.testing.assert_array_equal(env.ram, glimpse)


@pytest.mark.parametrize("options", [{}, {"sticky": 0.25}, {"render_mode": "rgb_array"}])
def test_a_game_with_trials_is_the_game_without(options: dict[str, Any]) -> None:
    """Some of the tried steps are played, some are not, and some trials branch."""
    plain, tried = AtariEnv("seaquest", **options), AtariEnv("seaquest", **options)
    plain.reset(seed=0), tried.reset(seed=0)
    others = drawn(80, 18, seed=1)
    for t, action in enumerate(drawn(80, 18)):
        if t % 3 == 0:
            for plan in ([action, others[t], 3], [others[t], action], [action, 0]):
                list(tried.foresee(plan))
        expected, answer = plain.step(np.int64(action)), tried.step(np.int64(action))
        np.testing.assert_array_equal(answer[0], expected[0])
        assert answer[1:] == expected[1:]
        np.testing.assert_array_equal(tried.ram, plain.ram)
        assert tried.lives == plain.lives
        if options.get("render_mode"):
            np.testing.assert_array_equal(tried.render(), plain.render())


def test_what_was_tried_is_not_emulated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    env = AtariEnv("pong")
    env.reset(seed=0)
    first = [glimpse.ram for glimpse in env.foresee([2, 2, 3])]
    advance, emulated = env._advance, []
    monkeypatch.setattr(env, "_advance", lambda actions: emulated.append(1) or advance(actions))
    np.testing.assert_array_equal([glimpse.ram for glimpse in env.foresee([2, 2, 3])], first)
    env.step(np.int64(2)), env.step(np.int64(2))
    assert not emulated
    env.step(np.int64(0))
    assert len(emulated) == 1


def test_a_reused_emulator_remembers_nothing() -> None:
    """Memory of Seaquest and a clock of Q*bert outlive the reset button."""
    for game, actions in (("seaquest", 18), ("qbert", 6)):
        first = frames(AtariEnv(game), drawn(30, actions))[0]
        frames(AtariEnv(game), drawn(80, actions, seed=3), seed=3)
        np.testing.assert_array_equal(frames(AtariEnv(game), drawn(30, actions))[0], first)


def test_episodes_end_at_their_limit() -> None:
    env = AtariEnv("pong", max_steps=2)
    env.reset(seed=0)
    assert [env.step(np.int64(0))[2:4] for _ in range(2)] == [(False, False), (False, True)]
    with pytest.raises(gym.error.ResetNeeded, match="the episode is over"):
        env.step(np.int64(0))


def test_the_console_is_drawn_in_colour() -> None:
    env = AtariEnv("pong", render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == (210, 160, 3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"stack": 0}, "stack must be a whole number of at least 1, got 0"),
        ({"no_ops": -1}, "no_ops must be a whole number of at least 0, got -1"),
        ({"max_steps": 1.5}, "max_steps must be a whole number of at least 1, got 1.5"),
        ({"sticky": 1.0}, r"sticky must be a number in \[0, 1\), got 1.0"),
        ({"render_mode": "human"}, "render_mode must be None or 'rgb_array', got 'human'"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        AtariEnv("pong", **options)


def test_bad_actions_are_refused() -> None:
    env = AtariEnv("pong")
    env.reset(seed=0)
    with pytest.raises(gym.error.InvalidAction, match=r"actions are 0 \.\. 5, got .*6"):
        env.step(np.int64(6))


@pytest.mark.parametrize(("module", "package"), [("ale_py", "ale-py"), ("cv2", "opencv-python-headless")])
def test_without_a_package_one_line_says_what_to_install(
    module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rate.envs.atari.emulator._IDLE", {"pong": []})
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"{package} is not installed; .*pip install 'rate-rl\[atari\]'"):
        AtariEnv("pong")


def test_a_missing_rom_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rate.envs.atari.emulator._IDLE", {"pong": []})
    monkeypatch.setattr(ale_py.roms, "get_rom_path", lambda game: None)
    with pytest.raises(ConfigError, match="the ROM of pong is missing or damaged; install ale-py again"):
        AtariEnv("pong")
