"""T-Maze: its walls and limits, its random numbers, its oracle, and that nobody without memory solves it."""

from __future__ import annotations

import itertools
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rate.envs import ENVS
from rate.envs.hashing import noise
from rate.envs.spec import CollectRequest, spaces_of
from rate.envs.tmaze_env import DOWN, LEFT, RIGHT, UP, TMazeBatch, TMazeEnv
from rate.envs.tmaze_expert import oracle
from rate.errors import ConfigError
from rate.seeding import Purpose, episode_seeds
from rate.types import Trajectory


def walk(length: int, seed: int, actions: list[int]) -> list[tuple[Any, ...]]:
    env = TMazeEnv(length=length)
    env.reset(seed=seed)
    return [env.step(np.int64(action)) for action in actions]


def collect(episodes: int, seed: int = 0, **options: Any) -> list[Trajectory]:
    return list(oracle(CollectRequest(episodes=episodes, seed=seed, kwargs=options)))


def play(batch: TMazeBatch, seeds: NDArray[np.int64], policy: Any) -> NDArray[np.float32]:
    """Returns of a reactive policy: (B, 4) observations -> (B,) actions."""
    observation, total, done = batch.reset(seeds), np.zeros(len(seeds), np.float32), np.zeros(len(seeds), bool)
    while not done.all():
        answer = batch.step(policy(observation))
        observation, done = answer.observation, answer.terminated | answer.truncated
        total += answer.reward
    return total


# ---------------------------------------------------------------------------------------------------- dynamics


@pytest.mark.parametrize(
    ("length", "actions", "expected"),
    [
        pytest.param(6, [LEFT, LEFT, RIGHT], [(0, 0), (0, 0), (1, 0)], id="wall at the start"),
        pytest.param(6, [UP, DOWN, RIGHT, UP, DOWN], [(0, 0), (0, 0), (1, 0), (1, 0), (1, 0)], id="corridor walls"),
        pytest.param(4, [RIGHT, RIGHT, RIGHT, LEFT], [(1, 0), (2, 0), (2, 0), (1, 0)], id="wall behind the junction"),
        pytest.param(4, [RIGHT, RIGHT, LEFT, RIGHT], [(1, 0), (2, 0), (1, 0), (2, 0)], id="back and forth"),
        pytest.param(4, [RIGHT, RIGHT, UP], [(1, 0), (2, 0), (2, 1)], id="up"),
        pytest.param(4, [RIGHT, RIGHT, DOWN], [(1, 0), (2, 0), (2, -1)], id="down"),
        pytest.param(3, [RIGHT, DOWN], [(1, 0), (1, -1)], id="corridor of one cell"),
    ],
)
def test_positions(length: int, actions: list[int], expected: list[tuple[int, int]]) -> None:
    env, seen = TMazeEnv(length=length), []
    env.reset(seed=0)
    for action in actions:
        observation = env.step(np.int64(action))[0]
        seen.append((env.x, env.y))
        assert observation[0] == env.y
        assert observation[2] == (env.x == length - 2)
    assert seen == expected


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
@pytest.mark.parametrize("turn", [UP, DOWN])
@pytest.mark.parametrize("length", [3, 4, 9])
def test_reward_is_for_the_arm_the_clue_named(length: int, turn: int, seed: int) -> None:
    *before, (_, reward, terminated, truncated, info) = walk(length, seed, [RIGHT] * (length - 2) + [turn])
    assert info["clue"] == (1 if seed % 2 == 0 else -1)
    assert reward == float((turn == UP) == (info["clue"] == 1))
    assert (terminated, truncated) == (True, False)
    assert all(step[1:4] == (0.0, False, False) for step in before)


@pytest.mark.parametrize("length", [3, 5, 30])
def test_limit_is_corridor_plus_two(length: int) -> None:
    steps = walk(length, 0, [LEFT] * length)
    assert [step[3] for step in steps] == [False] * (length - 1) + [True]
    assert not any(step[2] or step[1] for step in steps)


def test_turn_at_the_last_step_terminates_and_pays() -> None:
    last = walk(5, 0, [LEFT, RIGHT, RIGHT, RIGHT, UP])[-1]
    assert last[1:4] == (1.0, True, False)


def test_clue_is_shown_once_even_if_the_start_is_visited_again() -> None:
    env = TMazeEnv(length=9)
    assert env.reset(seed=0)[0][1] == 1
    assert [env.step(np.int64(action))[0][1] for action in (LEFT, RIGHT, LEFT, UP)] == [0, 0, 0, 0]


@pytest.mark.parametrize("length", [2, 0, -5, 3.5, "30", True, None])
def test_bad_length_is_one_clear_line(length: Any) -> None:
    for make in (TMazeEnv, TMazeBatch, ENVS.get("tmaze").case):
        with pytest.raises(ConfigError, match="length must be a whole number of at least 3") as caught:
            make(length=length)
        assert "\n" not in str(caught.value)


def test_step_after_the_end_and_bad_actions_are_refused() -> None:
    env = TMazeEnv(length=3)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(np.int64(RIGHT))
    env.reset(seed=0)
    with pytest.raises(gym.error.InvalidAction):
        env.step(np.int64(4))


def test_reset_without_seed_draws_new_episodes_reproducibly() -> None:
    def clues() -> list[int]:
        env = TMazeEnv()
        return [env.reset(seed=7)[1]["clue"], *(env.reset()[1]["clue"] for _ in range(30))]

    assert clues() == clues()
    assert set(clues()) == {-1, 1}


def test_gymnasium_id_and_spec() -> None:
    env = gym.make("rate/TMaze-v0", length=9)
    assert env.spec is not None
    assert env.spec.max_episode_steps is None
    spec = ENVS.get("tmaze")
    case = spec.case(length=9)
    assert (case.name, case.max_steps, case.target_return, case.tags) == ("length=9", 9, 1.0, {"length": "9"})
    assert [spec.score.succeeded(value) for value in (0.0, 1.0)] == [False, True]
    assert spaces_of(spec, length=9).observation == env.observation_space == TMazeBatch(9).spaces.observation


def test_render_shows_agent_and_goal_and_elides() -> None:
    env = TMazeEnv(length=1000, render_mode="ansi")
    env.reset(seed=1)
    for _ in range(500):
        env.step(np.int64(RIGHT))
    up, corridor, down = str(env.render()).splitlines()
    assert (up.strip(), down.strip(), corridor) == (".", "G", "...~..o..~...")
    assert len(up) == len(corridor) == len(down)


# ------------------------------------------------------------------------------------------------------ batches


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(3, 12), min_size=1, max_size=6),
    first=st.integers(0, 2**31 - 10),
    chooser=st.randoms(use_true_random=False),
)
def test_batch_is_the_single_environment(lengths: list[int], first: int, chooser: Any) -> None:
    """Rows of different lengths, actions that reach the junction often, the finished rows dropped half of the time."""
    seeds = first + np.arange(len(lengths))
    envs = [TMazeEnv(length=length) for length in lengths]
    batch, rows = TMazeBatch(np.array(lengths)), np.arange(len(lengths))
    expected = [env.reset(seed=int(seed))[0] for env, seed in zip(envs, seeds, strict=True)]
    np.testing.assert_array_equal(batch.reset(seeds), expected)
    live = np.ones(len(lengths), bool)
    while live.any():
        if chooser.random() < 0.5:
            batch.select(np.flatnonzero(live[rows]))
            rows = rows[live[rows]]
        action = np.array([chooser.choice([RIGHT, RIGHT, RIGHT, UP, LEFT, DOWN]) for _ in rows])
        answer = batch.step(action)
        for at, row in enumerate(rows):
            if live[row]:
                observation, *outcome = envs[row].step(action[at])[:4]
                np.testing.assert_array_equal(answer.observation[at], observation)
                assert [answer.reward[at], answer.terminated[at], answer.truncated[at]] == outcome
                live[row] = not (outcome[1] or outcome[2])


def test_finished_rows_stay_finished_without_reward() -> None:
    batch = TMazeBatch(np.array([3, 9]))
    batch.reset(np.array([0, 2]))
    answers = [batch.step(np.array(action)) for action in ([RIGHT] * 2, [UP, RIGHT], [UP, RIGHT], [LEFT, UP])]
    assert [answer.reward[0] for answer in answers] == [0, 1, 0, 0]
    assert [answer.terminated[0] for answer in answers] == [False, True, True, True]
    assert not any(answer.truncated.any() for answer in answers)


def test_kept_observations_do_not_change() -> None:
    batch = TMazeBatch(9)
    kept = [batch.reset(np.arange(50))]
    copies = [kept[0].copy()]
    for _ in range(8):
        kept.append(batch.step(np.zeros(50, np.int64)).observation)
        copies.append(kept[-1].copy())
    batch.reset(np.arange(50))
    assert all(np.array_equal(one, other) for one, other in zip(kept, copies, strict=True))
    assert kept[0].dtype == np.float32


def test_lengths_must_fit_the_batch() -> None:
    with pytest.raises(ConfigError, match="3 lengths were given for a batch of 2 episodes"):
        TMazeBatch(np.array([3, 4, 5])).reset(np.arange(2))


# ------------------------------------------------------------------------------------------------ random numbers


def test_noise_is_uniform_and_independent() -> None:
    values = noise(np.arange(20_000), 20)  # 400,000 draws: the frequencies have a standard deviation of 0.0007
    assert set(np.unique(values)) == {-1, 0, 1}
    for part in (values, values[::2], values[1::2], values[:, 0], values[:, -1]):
        assert np.bincount(part.ravel() + 1) / part.size == pytest.approx([1 / 3] * 3, abs=0.015)
    for one, other in ((values[:, 1:], values[:, :-1]), (values[1:], values[:-1]), (values[2:], values[:-2])):
        assert abs(np.mean(one * other)) < 0.005


def test_noise_does_not_depend_on_the_horizon() -> None:
    np.testing.assert_array_equal(noise(np.arange(9), 100)[:, :7], noise(np.arange(9), 7))


# -------------------------------------------------------------------------------------------------- no memory, no gain


def junction_observations(trajectories: list[Trajectory]) -> dict[int, NDArray[np.float32]]:
    """By clue: what the oracle saw when it turned."""
    by_clue: dict[int, list[NDArray[np.float32]]] = {-1: [], 1: []}
    for item in trajectories:
        by_clue[int(item.observations[0, 1])].append(item.observations[-2])
    return {clue: np.array(seen) for clue, seen in by_clue.items()}


def test_junction_observation_says_nothing_of_the_clue() -> None:
    """Everything but the noise is constant at the junction, and the noise has one distribution under both clues."""
    seen = junction_observations(collect(20_000, length=30))
    assert len(seen[1]) == len(seen[-1]) == 10_000
    for group in seen.values():
        assert np.unique(group[:, :3], axis=0).tolist() == [[0, 0, 1]]
    shares = [np.bincount(seen[clue][:, 3].astype(int) + 1) / 10_000 for clue in (1, -1)]
    assert shares[0] == pytest.approx(shares[1], abs=0.03)  # 4.5 standard deviations of the difference


def seeds_of_every_episode() -> NDArray[np.int64]:
    """54 seeds, one for each clue and each noise of the three observations before an action: all equally likely."""
    found: dict[tuple[int, ...], int] = {}
    for seed, row in enumerate(noise(np.arange(3000), 3).tolist()):
        found.setdefault((seed % 2, *row), seed)
    assert len(found) == 2 * 27
    return np.array(list(found.values()))


def reactive_policies() -> NDArray[np.int64]:
    """All deterministic reactive policies of the shortest maze up to equal behaviour, (P, 12): observation -> action.

    First observation (6: clue and noise) and corridor (3): go right, or lose a step. Junction (3): up, down, or stay;
    who goes back left is out of time.
    """
    first, corridor = [(RIGHT, LEFT)] * 6, [(RIGHT, LEFT)] * 3
    return np.array(list(itertools.product(*first, *corridor, *[(UP, DOWN, RIGHT)] * 3)))


def observation_index(observation: NDArray[np.float32]) -> NDArray[np.int64]:
    """(B, 4) -> (B,): 0..2 clue -1, 3..5 clue +1, 6..8 corridor, 9..11 junction."""
    _, clue, flag, noise_value = observation.astype(np.int64).T
    group = np.where(clue != 0, (clue + 1) // 2, 2 + flag)
    return np.asarray(group * 3 + noise_value + 1)


def test_no_deterministic_reactive_policy_beats_chance() -> None:
    """Exhaustive: 13,824 policies, each in all 54 episodes of the corridor of one cell."""
    policies, seeds = reactive_policies(), seeds_of_every_episode()
    owner = np.repeat(np.arange(len(policies)), len(seeds))
    total = play(TMazeBatch(3), np.tile(seeds, len(policies)), lambda seen: policies[owner, observation_index(seen)])
    rates = total.reshape(len(policies), len(seeds)).mean(axis=1)
    assert rates.max() == pytest.approx(0.5, abs=1e-6)
    # The same table with one bit of memory does solve it, so the bound is not for want of a way.
    turn = np.where(seeds % 2 == 0, UP, DOWN)
    solved = play(TMazeBatch(3), seeds, lambda seen: np.where(seen[:, 2] == 1, turn, RIGHT))
    assert solved.mean() == 1.0


@pytest.mark.parametrize("length", [3, 9, 30])
def test_best_reactive_table_of_the_expert_data_is_at_chance(length: int) -> None:
    counts = np.zeros((12, 4))
    for item in collect(4000, length=length):
        np.add.at(counts, (observation_index(item.observations[:-1]), item.actions), 1)
    table = counts.argmax(axis=1)
    seeds = episode_seeds(Purpose.REPORT, 0, 4000)
    rate = play(TMazeBatch(length), seeds, lambda seen: table[observation_index(seen)]).mean()
    assert 0.46 < rate < 0.54  # 5 standard deviations: it reaches the junction and guesses


# ------------------------------------------------------------------------------------------------------- oracle


def replay(item: Trajectory, length: int) -> None:
    env = TMazeEnv(length=length)
    observation = env.reset(seed=item.seed)[0]
    for t, action in enumerate(item.actions):
        np.testing.assert_array_equal(observation, item.observations[t])
        observation, *outcome = env.step(action)[:4]
        assert outcome == [item.rewards[t], item.terminations[t], item.truncations[t]]
    np.testing.assert_array_equal(observation, item.observations[-1])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"length": 3},
        {"lengths": "exact"},
        {"length": 12, "lengths": "exact", "segments": 3},
        {"loss_fraction": 0.5},
    ],
)
def test_stored_episodes_replay_exactly(options: dict[str, Any]) -> None:
    for item in collect(30, seed=5, **options):
        replay(item, len(item) + 1)
        columns = (item.observations, item.actions, item.rewards)
        assert [str(column.dtype) for column in columns] == ["float32", "int64", "float32"]
        assert item.observations.shape == (len(item) + 1, 4)
        assert (item.infos["clue"] == item.observations[0, 1]).all() and len(item.infos["clue"]) == len(item) + 1


def test_uniform_lengths_cover_the_range_and_clues_are_balanced() -> None:
    items = collect(6000, seed=3, length=12)
    corridors = np.array([len(item) - 1 for item in items])
    assert np.bincount(corridors, minlength=11)[1:] / 6000 == pytest.approx([0.1] * 10, abs=0.02)
    clues = np.array([item.observations[0, 1] for item in items])
    assert clues.sum() == 0
    assert abs(np.corrcoef(clues, corridors)[0, 1]) < 0.05
    assert all(item.rewards.sum() == 1 for item in items)


@pytest.mark.parametrize("segments", [1, 2, 3])
def test_segment_classes_are_even_and_balanced(segments: int) -> None:
    items = collect(600, length=90, lengths="exact", segments=segments)
    for part in range(1, segments + 1):
        clues = [item.observations[0, 1] for item in items if len(item) + 1 == 90 * part / segments]
        assert (len(clues), sum(clues)) == (600 / segments, 0)


@pytest.mark.parametrize(("fraction", "losses"), [(0.0, 0), (0.1, 100), (0.333, 333), (1.0, 1000)])
def test_loss_fraction_is_exact(fraction: float, losses: int) -> None:
    items = collect(1000, length=9, loss_fraction=fraction)
    assert sum(item.rewards.sum() == 0 for item in items) == losses
    assert all(item.terminations[-1] for item in items)


def test_blocks_do_not_show_in_the_episodes() -> None:
    """Long episodes are computed a few at a time; each is what it would be in a smaller request."""
    few, many = collect(4, length=200_000, lengths="exact"), collect(2, length=200_000, lengths="exact")
    for one, other in zip(few, many, strict=False):
        np.testing.assert_array_equal(one.observations, other.observations)
    assert [item.seed for item in few] == episode_seeds(Purpose.COLLECT, 0, 4).tolist()
    assert collect(0) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lenght": 9}, "unknown option of the expert of tmaze: 'lenght'; did you mean 'length"),
        ({"zzz": 9}, "known: length, lengths, loss_fraction, segments"),
        ({"length": 2}, "at least 3"),
        ({"lengths": "fixed"}, "'uniform' or 'exact'"),
        ({"lengths": "exact", "segments": 4}, "segments=4 must cut length=30"),
        ({"lengths": "exact", "segments": 15}, "at least 3 steps"),
        ({"lengths": "exact", "segments": 0}, "segments=0"),
        ({"segments": 3}, "needs lengths='exact'"),
        ({"loss_fraction": 1.5}, "loss_fraction must lie in"),
        ({"loss_fraction": "a"}, "loss_fraction must be a number"),
        ({"segments": "a"}, "segments must be a number"),
    ],
)
def test_bad_options_fail_at_the_call(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        oracle(CollectRequest(episodes=1, seed=0, kwargs=options))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
