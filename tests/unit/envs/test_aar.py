"""Action Associative Retrieval: its rules, its batch, its oracle, and that nobody without memory solves it."""

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
from rate.envs.aar import STAY, AARBatch, AAREnv, oracle
from rate.envs.demonstrate import episode
from rate.envs.hashing import noise
from rate.envs.spec import CollectRequest
from rate.errors import ConfigError
from rate.seeding import Purpose, episode_seeds
from rate.types import Trajectory

SPEC = ENVS.get("aar")


def act(length: int, actions: list[int], seed: int = 0) -> list[tuple[Any, ...]]:
    env = AAREnv(length=length)
    env.reset(seed=seed)
    return [env.step(np.int64(action)) for action in actions]


def collect(episodes: int, seed: int = 0, **options: Any) -> list[Trajectory]:
    return list(oracle(CollectRequest(episodes=episodes, seed=seed, kwargs=options)))


def play(seeds: NDArray[np.int64], length: int, policy: Any) -> NDArray[np.float32]:
    """Returns of a reactive policy: (B, 3) observations -> (B,) actions."""
    batch = AARBatch(length)
    observation, total, done = batch.reset(seeds), np.zeros(len(seeds), np.float32), np.zeros(len(seeds), bool)
    while not done.all():
        answer = batch.step(policy(observation))
        observation, done = answer.observation, answer.terminated
        total += answer.reward
    return total


# ------------------------------------------------------------------------------------------------------- rules


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("length", [2, 3, 9])
def test_who_repeats_the_first_action_is_paid(length: int, first: int) -> None:
    *before, last = act(length, [first, *[STAY] * (length - 2), first])
    assert [step[1:4] for step in before] == [(0.0, False, False)] * (length - 1)
    assert [step[0][:2].tolist() for step in before] == [[1, 0]] * (length - 2) + [[1, 1]]
    assert last[1:4] == (1.0, True, False)
    assert last[0][:2].tolist() == [0, 0]


@pytest.mark.parametrize(
    "actions",
    [
        pytest.param([2], id="stays at first"),
        pytest.param([0, 0], id="moves too early"),
        pytest.param([1, 2, 0], id="moves too early, the other way"),
        pytest.param([0, 2, 2, 1], id="the other action at the end"),
        pytest.param([1, 2, 2, 2], id="stays at the end"),
    ],
)
def test_anything_else_ends_the_episode_with_minus_one(actions: list[int]) -> None:
    *before, last = act(4, actions)
    assert all(step[1:4] == (0.0, False, False) for step in before)
    assert last[1:4] == (-1.0, True, False)
    assert last[0][1] == 0, "nothing is asked for when the episode is over"


@pytest.mark.parametrize("length", [1, 0, -5, 3.5, "30", True, None])
def test_bad_length_is_one_clear_line(length: Any) -> None:
    for make in (AAREnv, AARBatch, SPEC.case):
        with pytest.raises(ConfigError, match="length must be a whole number of at least 2") as caught:
            make(length=length)
        assert "\n" not in str(caught.value)


def test_step_after_the_end_bad_actions_and_render_modes_are_refused() -> None:
    env = AAREnv(length=3)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(np.int64(0))
    env.reset(seed=0)
    with pytest.raises(gym.error.InvalidAction):
        env.step(np.int64(3))
    with pytest.raises(ConfigError, match="render_mode"):
        AAREnv(render_mode="human")


def test_gymnasium_id_case_and_success() -> None:
    env = gym.make("rate/AAR-v0", length=9)
    assert env.spec is not None
    assert env.spec.max_episode_steps is None
    case = SPEC.case(length=9)
    assert (case.name, case.max_steps, case.target_return, case.tags) == ("length=9", 9, 1.0, {"length": "9"})
    assert [SPEC.score.succeeded(value) for value in (-1.0, 1.0)] == [False, True]


def test_render_shows_the_state_and_what_to_remember() -> None:
    env = AAREnv(length=3, render_mode="ansi")
    env.reset(seed=0)
    shown = [env.render()]
    for action in (1, STAY):
        env.step(np.int64(action))
        shown.append(env.render())
    assert shown == [
        "S0 [o]  S1 [ ]  first action -  step 0/3\n",
        "S0 [ ]  S1 [o]  first action 1  step 1/3\n",
        "S0 [ ]  S1 [o]  first action 1  step 2/3  repeat it\n",
    ]
    assert AAREnv().render() is None


# ------------------------------------------------------------------------------------------------------- batch


@settings(max_examples=60, deadline=None)
@given(
    length=st.integers(2, 7),
    size=st.integers(1, 6),
    first=st.integers(0, 2**31 - 10),
    chooser=st.randoms(use_true_random=False),
)
def test_batch_is_the_single_environment(length: int, size: int, first: int, chooser: Any) -> None:
    """Actions that come far often, the finished rows dropped half of the time."""
    seeds, rows = first + np.arange(size), np.arange(size)
    envs, batch = [AAREnv(length=length) for _ in seeds], AARBatch(length)
    expected = [env.reset(seed=int(seed))[0] for env, seed in zip(envs, seeds, strict=True)]
    np.testing.assert_array_equal(batch.reset(seeds), expected)
    live = np.ones(size, bool)
    for step in itertools.count():
        if not live.any():
            break
        if chooser.random() < 0.5:
            batch.select(np.flatnonzero(live[rows]))
            rows = rows[live[rows]]
        likely = [STAY] * 8 if 0 < step < length - 1 else []
        action = np.array([chooser.choice([0, 1, STAY, *likely]) for _ in rows])
        answer = batch.step(action)
        for at, row in enumerate(rows):
            if live[row]:
                observation, *outcome = envs[row].step(action[at])[:4]
                np.testing.assert_array_equal(answer.observation[at], observation)
                assert [answer.reward[at], answer.terminated[at], answer.truncated[at]] == outcome
                live[row] = not outcome[1]


def test_finished_rows_stay_finished_without_reward() -> None:
    batch = AARBatch(4)
    batch.reset(np.array([0, 1]))
    answers = [batch.step(np.array(action)) for action in ([STAY, 1], [STAY, STAY], [STAY, STAY], [STAY, 1])]
    assert [answer.reward.tolist() for answer in answers] == [[-1, 0], [0, 0], [0, 0], [0, 1]]
    assert [answer.terminated[0] for answer in answers] == [True] * 4


def test_the_batch_keeps_its_own_copy_of_the_first_action() -> None:
    batch, action = AARBatch(2), np.array([0, 1])
    batch.reset(np.array([0, 1]))
    batch.step(action)
    action[:] = 1 - action
    assert batch.step(np.array([0, 1])).reward.tolist() == [1, 1]


# -------------------------------------------------------------------------------------------------- no memory, no gain


def test_no_observation_tells_the_first_action() -> None:
    """Under the same seed all that is seen is the same for both first actions, the last observation included."""
    seen = [np.array([step[0] for step in act(9, [first, *[STAY] * 7, first], seed=3)]) for first in (0, 1)]
    np.testing.assert_array_equal(seen[0], seen[1])


def test_no_deterministic_reactive_policy_beats_chance() -> None:
    """Exhaustive for length 2: all 27 tables from noise to last action, in all 9 pairs of noise.

    The first action is forced to be 0 in one half and 1 in the other, as the memory condition does.
    """
    found: dict[tuple[int, ...], int] = {}
    for seed, row in enumerate(noise(np.arange(2000), 2).tolist()):
        found.setdefault(tuple(row), seed)
    seeds = np.array(list(found.values()))
    assert len(seeds) == 9
    best = 0.0
    for table in itertools.product(range(3), repeat=3):
        rewards = []
        for forced in (0, 1):
            batch = AARBatch(2)
            batch.reset(seeds)
            observation = batch.step(np.full(9, forced)).observation
            rewards.append(batch.step(np.array(table)[observation[:, 2].astype(int) + 1]).reward)
        best = max(best, float(np.mean(np.concatenate(rewards) > 0)))
    assert best == 0.5


def test_one_fixed_action_succeeds_when_it_may_choose_the_first_itself() -> None:
    """Why the success rate alone does not show memory: a policy that always takes 0 needs none."""
    assert play(np.arange(20), 9, lambda seen: np.where((seen[:, 0] == 1) & (seen[:, 1] == 0), STAY, 0)).mean() == 1


# ------------------------------------------------------------------------------------------------------- oracle


@pytest.mark.parametrize("length", [2, 3, 30])
def test_episodes_replay_exactly(length: int) -> None:
    for item in collect(10, seed=5, length=length):
        env = AAREnv(length=length)
        observation = env.reset(seed=item.seed)[0]
        for t, action in enumerate(item.actions):
            np.testing.assert_array_equal(observation, item.observations[t])
            observation, *outcome = env.step(action)[:4]
            assert outcome == [item.rewards[t], item.terminations[t], item.truncations[t]]
        np.testing.assert_array_equal(observation, item.observations[-1])
        assert (len(item), item.rewards.sum()) == (length, 1)
        assert (item.infos["cue"] == item.actions[0]).all() and len(item.infos["cue"]) == length + 1


def test_first_actions_are_balanced_and_the_noise_does_not_tell_them() -> None:
    items = collect(6000, seed=3, length=4)
    cues = np.array([item.actions[0] for item in items])
    assert cues.sum() == 3000
    seen = np.array([item.observations[:, 2] for item in items])
    for column in seen.T:
        assert abs(np.corrcoef(cues, column)[0, 1]) < 0.06


def test_parts_and_blocks_do_not_show_in_the_episodes() -> None:
    whole = collect(6, length=120_000)
    request = CollectRequest(episodes=6, seed=0, kwargs={"length": 120_000}, part=range(3, 5))
    for one, other in zip(whole[3:5], oracle(request), strict=True):
        np.testing.assert_array_equal(one.observations, other.observations)
        np.testing.assert_array_equal(one.actions, other.actions)
    assert [item.seed for item in whole] == episode_seeds(Purpose.COLLECT, 0, 6).tolist()


def test_player_succeeds_with_either_first_action() -> None:
    assert SPEC.player is not None
    env, player = AAREnv(length=5), SPEC.player
    items = [episode(env, player, seed) for seed in range(20)]
    assert all(item.rewards.sum() == 1 for item in items)
    assert {int(item.actions[0]) for item in items} == {0, 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lenght": 9}, "unknown option of the expert of aar: 'lenght'; did you mean 'length"),
        ({"length": 1}, "at least 2"),
    ],
)
def test_bad_options_fail_at_the_call(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        oracle(CollectRequest(episodes=1, seed=0, kwargs=options))
    assert message in str(caught.value)
