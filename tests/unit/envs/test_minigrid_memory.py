"""Minigrid-Memory: the NumPy world against the package, the limits, the expert, and that looking is needed."""

from __future__ import annotations

import builtins
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.typing import NDArray

from rate.envs import ENVS
from rate.envs.demonstrate import episode
from rate.envs.minigrid_expert import ExpertPlayer, expert, mean_length, player, walk_length
from rate.envs.minigrid_grid import (
    BALL,
    FORWARD,
    KEY,
    LEFT,
    RIGHT,
    WALL,
    MinigridMemoryBatch,
    draws,
)
from rate.envs.minigrid_memory import MinigridMemoryEnv
from rate.envs.spec import CollectRequest
from rate.errors import ConfigError, MissingExtraError
from rate.seeding import BLOCK, Purpose, episode_seeds
from rate.types import Array, Trajectory

pytest.importorskip("minigrid")


def collect(episodes: int, seed: int = 0, part: range | None = None, **options: Any) -> list[Trajectory]:
    return list(expert(CollectRequest(episodes=episodes, seed=seed, kwargs=options, part=part)))


# ------------------------------------------------------------------------------------------ equal to the package


def wander(seed: int, steps: int) -> NDArray[np.int64]:
    """Mostly forward, so that rooms and corridor are walked through and walls are run into."""
    return np.random.default_rng(seed).choice([LEFT, RIGHT, FORWARD], steps, p=[0.15, 0.15, 0.7])


@pytest.mark.parametrize(("size", "observation"), [(11, "symbolic"), (11, "rgb"), (13, "symbolic"), (501, "symbolic")])
def test_random_walks_are_those_of_the_package(size: int, observation: str) -> None:
    from minigrid.envs.memory import MemoryEnv
    from minigrid.wrappers import RGBImgPartialObsWrapper

    package: Any = MemoryEnv(size=size, max_steps=4 * size, agent_view_size=3)
    package = RGBImgPartialObsWrapper(package, tile_size=28) if observation == "rgb" else package
    batch, seeds = MinigridMemoryBatch(size=size, observation=observation), np.arange(12 if size < 500 else 2)
    actions = np.stack([wander(int(seed), 4 * size) for seed in seeds], 1)[:100]
    seen, answers = batch.reset(seeds), [batch.step(action) for action in actions]
    for row in seeds:
        np.testing.assert_array_equal(package.reset(seed=int(row))[0]["image"], seen[row])
        for action, answer in zip(actions, answers, strict=True):
            answered, reward, terminated, truncated, _ = package.step(action[row])
            np.testing.assert_array_equal(answered["image"], answer.observation[row])
            assert (reward, terminated, truncated) == (
                answer.reward[row],
                answer.terminated[row],
                answer.truncated[row],
            )
            if terminated or truncated:
                break


def test_reset_tells_the_object_to_remember() -> None:
    batch, alone = MinigridMemoryBatch(size=11), MinigridMemoryEnv(size=11)
    batch.reset(np.arange(12))
    told = [alone.reset(seed=seed)[1]["object"] for seed in range(12)]
    assert batch.info["object"].tolist() == told and set(told) == {"key", "ball"}


def test_every_pose_in_the_room_and_at_the_junction_is_seen_as_in_the_package() -> None:
    """The pictures too: all cells that an agent can stand on, in all directions, whatever the objects are."""
    env, size = MinigridMemoryEnv(size=11, observation="rgb"), 11
    for seed in range(8):  # all four combinations of objects
        env.reset(seed=seed)
        batch = MinigridMemoryBatch(size=size, observation="rgb")
        batch.reset(np.array([seed]))
        places = [(x, y) for y in (4, 5, 6) for x in (1, 2, 3)] + [(x, 5) for x in range(4, 10)] + [(9, 4), (9, 6)]
        for x, y in places:
            for direction in range(4):
                env.memory.agent_pos, env.memory.agent_dir = (x, y), direction
                rows = batch._rows
                rows.x[:], rows.y[:], rows.direction[:] = x, y, direction
                np.testing.assert_array_equal(batch.view()[0], env.view())
                np.testing.assert_array_equal(env._observe(), env.memory.get_pov_render(28))


def test_finished_rows_stay_put_without_reward() -> None:
    batch = MinigridMemoryBatch(size=11)
    batch.reset(np.arange(20))
    walk = ExpertPlayer(20)
    total = np.zeros(20)
    for _ in range(44):
        answer = batch.step(walk.act(batch.view()))
        total += answer.reward
    assert ((total > 0.6) & (total < 0.8)).all()


# --------------------------------------------------------------------------------------------------------- rules


@pytest.mark.parametrize(("limit", "steps", "at_success"), [("solvable", 44, 44), ("paper", 500, 845)])
def test_limits(limit: str, steps: int, at_success: int) -> None:
    env = MinigridMemoryEnv(size=11, limit=limit)
    env.reset(seed=0)
    *before, last = [env.step(np.int64(LEFT)) for _ in range(steps)]
    assert not any(step[2] or step[3] for step in before)
    assert last[1:4] == (0.0, False, True)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(np.int64(LEFT))
    (item,) = collect(1, size=11, limit=limit)
    assert item.rewards.sum() == pytest.approx(1 - 0.9 * len(item) / at_success)


def test_a_longer_action_list_than_three_is_refused() -> None:
    env = MinigridMemoryEnv(size=11)
    env.reset(seed=0)
    with pytest.raises(gym.error.InvalidAction, match="0 left, 1 right, 2 forward"):
        env.step(np.int64(3))


@pytest.mark.parametrize("size", [9, 12, 503, 41.0, "41", True])
def test_other_sizes_are_refused_in_one_line(size: Any) -> None:
    for make in (MinigridMemoryEnv, MinigridMemoryBatch, ENVS.get("minigrid-memory").case):
        with pytest.raises(ConfigError, match="odd number from 11 to 501"):
            make(size=size)


@pytest.mark.parametrize("wrong", [{"observation": "pixels"}, {"limit": "none"}, {"render_mode": "human"}])
def test_other_words_are_refused_in_one_line(wrong: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=f"{next(iter(wrong))} must be"):
        MinigridMemoryEnv(**wrong)  # type: ignore[arg-type]


def test_without_the_package_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("minigrid"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingExtraError, match=r"rate-rl\[minigrid\]"):
        MinigridMemoryEnv()


# -------------------------------------------------------------------------------------------------------- expert


@pytest.mark.parametrize("size", [11, 21, 41, 91])
def test_the_expert_always_succeeds_in_as_many_steps_as_promised(size: int) -> None:
    items = collect(200, size=size)
    lengths = [len(item) for item in items]
    seeds = np.array([item.seed for item in items])
    start, _, upper = draws(seeds, size)
    assert lengths == walk_length(start, upper, size).tolist()
    assert all(item.rewards[-1] > 0 and item.terminations[-1] for item in items)
    assert max(lengths) <= 2 * size - 3
    assert min(lengths) >= size - 1


@pytest.mark.parametrize("size", [11, 41, 501])
def test_targets_are_the_mean_return_of_the_expert(size: int) -> None:
    columns = np.arange(1, size - 2)
    lengths = [walk_length(columns, np.full_like(columns, upper), size) for upper in (KEY, BALL)]
    assert np.mean(lengths) == mean_length(size)
    case = ENVS.get("minigrid-memory").case(size=size)
    assert case.target_return == pytest.approx(1 - 0.9 * mean_length(size) / (4 * size), abs=1e-4)
    assert case.max_steps >= 1.9 * np.max(lengths)


def test_cases_are_named_by_what_is_not_the_default() -> None:
    spec = ENVS.get("minigrid-memory")
    assert spec.case().name == "size=41"
    assert spec.case(size=91, limit="paper").name == "size=91,limit=paper"
    assert spec.case(size=91, limit="paper").target_return == 0.96


@pytest.mark.parametrize("observation", ["symbolic", "rgb"])
def test_the_player_plays_the_episodes_of_the_data(observation: str) -> None:
    env = MinigridMemoryEnv(size=11, observation=observation)
    for item in collect(5, size=11, observation=observation):
        played = episode(env, player, item.seed)
        np.testing.assert_array_equal(played.observations, item.observations)
        np.testing.assert_array_equal(played.actions, item.actions)


def test_the_expert_is_a_function_of_what_was_seen() -> None:
    """Same observations so far, same action: nothing that is hidden decides (it looks north before it knows)."""
    known: dict[bytes, int] = {}
    for item in collect(400, size=11):
        for t, action in enumerate(item.actions):
            assert known.setdefault(item.observations[: t + 1].tobytes(), int(action)) == action


def test_the_last_observations_alone_do_not_tell_where_to_turn() -> None:
    """At the junction the same views, for more steps than a look back reaches, lead to both turns: the cue decides."""
    turns: dict[bytes, set[int]] = {}
    for item in collect(100, size=41):
        at_the_wall = np.flatnonzero((item.observations[:-1, 1, 1, 0] == WALL) & (item.actions != FORWARD))
        t = at_the_wall[at_the_wall > 36][0]
        turns.setdefault(item.observations[t - 30 : t + 1].tobytes(), set()).add(int(item.actions[t]))
    assert list(turns.values()) == [{LEFT, RIGHT}]


def test_min_length_keeps_long_episodes_that_replay_from_their_seed() -> None:
    items = collect(60, seed=3, min_length=60)
    assert min(len(item) for item in items) >= 60
    assert all(Purpose.COLLECT * BLOCK <= item.seed < (Purpose.COLLECT + 1) * BLOCK for item in items)
    assert len({item.seed for item in items}) == 60
    untouched = set(episode_seeds(Purpose.COLLECT, 3, 60).tolist())
    assert 10 < len(untouched & {item.seed for item in items}) < 50
    again = collect(60, seed=3, part=range(20, 30), min_length=60)
    assert [item.seed for item in again] == [item.seed for item in items[20:30]]


@pytest.mark.parametrize(("size", "detours"), [(11, 0.9), (21, 0.5), (41, 0.1)])
@pytest.mark.parametrize("limit", ["solvable", "paper"])
def test_after_detours_the_expert_finds_its_way(size: int, detours: float, limit: str) -> None:
    items = collect(200, size=size, detours=detours, limit=limit)
    assert all(item.rewards[-1] > 0 and item.terminations[-1] for item in items)
    direct = [len(item) for item in collect(200, size=size, limit=limit)]
    lengths = np.array([len(item) for item in items])
    assert lengths.mean() > (1 + detours) * np.mean(direct)
    again = collect(200, size=size, detours=detours, limit=limit, part=range(50, 60))
    for item, same in zip(items[50:60], again, strict=True):
        np.testing.assert_array_equal(item.actions, same.actions)


def test_episodes_with_detours_are_those_of_the_package() -> None:
    env = MinigridMemoryEnv(size=11)
    for item in collect(20, size=11, detours=0.5):
        observations = [env.reset(seed=item.seed)[0], *(env.step(action)[0] for action in item.actions)]
        np.testing.assert_array_equal(observations, item.observations)


def test_detours_make_episodes_that_differ() -> None:
    def different(**options: Any) -> int:
        return len({item.actions.tobytes() for item in collect(300, **options)})

    assert different() < 152 and different(detours=0.1) > 280


@pytest.mark.parametrize(
    "wrong",
    [
        *({"min_length": length} for length in (80, -1, 60.5)),
        *({"detours": share} for share in (-0.1, 1.0, float("nan"), "some")),
        {"size": 40},
        {"detours": 0.1, "min_length": 60},
    ],
)
def test_bad_options_fail_at_the_call(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="minigrid-memory"):
        expert(CollectRequest(episodes=1, seed=0, kwargs=wrong))
    with pytest.raises(ConfigError, match="did you mean"):
        expert(CollectRequest(episodes=1, seed=0, kwargs={"min_lenght": 60}))


def test_both_cues_and_both_answers_are_equally_likely() -> None:
    _, room, upper = draws(episode_seeds(Purpose.COLLECT, 0, 2000), 41)
    for share in (np.mean(room == KEY), np.mean(upper == KEY), np.mean(room == upper)):
        assert 0.45 < share < 0.55


def test_whoever_does_not_compare_is_right_half_of_the_time() -> None:
    """The walk of the expert with a cue that is always the key."""
    batch, walk = MinigridMemoryBatch(size=11), ExpertPlayer(400)
    batch.reset(np.arange(400))
    total, done = np.zeros(400), np.zeros(400, bool)
    while not done.all():
        walk.cue = np.where(walk.cue > 0, KEY, 0).astype(np.uint8)
        answer = batch.step(walk.act(batch.view()))
        total, done = total + answer.reward, done | answer.terminated | answer.truncated
    assert 0.4 < np.mean(total > 0) < 0.6


# -------------------------------------------------------------------------------------------------------- render


def drawn(size: int, mode: str) -> Any:
    env = gym.make("rate/MinigridMemory-v0", size=size, render_mode=mode, disable_env_checker=True)
    env.reset(seed=4)
    picture = env.render()
    env.close()
    return picture


@pytest.mark.parametrize(("size", "columns"), [(11, 11), (41, 41), (501, 41)])
def test_pictures_show_the_rows_that_matter_and_stay_small(size: int, columns: int) -> None:
    picture: Array = drawn(size, "rgb_array")
    assert picture.shape == (7 * 16, columns * 16, 3)
    assert picture.dtype == np.uint8
    red = (picture == (255, 0, 0)).all(-1) | (picture[..., 0] > 2 * picture[..., 1].astype(int) + 100)
    assert red.any()  # the agent
    lines = drawn(size, "ansi").splitlines()
    assert [len(line) for line in lines] == [columns] * 7
    assert sum(line.count(">") for line in lines) == 1


def test_text_is_a_map() -> None:
    assert drawn(11, "ansi").splitlines() == [
        "#       # #",
        "#####   #K#",
        "#B  ##### #",
        "#     >   #",
        "#   ##### #",
        "#####   #B#",
        "#       # #",
    ]


def test_uniform_sizes_mix_whole_grids_of_every_size() -> None:
    request = CollectRequest(episodes=300, seed=0, kwargs={"size": 21, "sizes": "uniform"})
    items = list(ENVS.get("minigrid-memory").expert(request))
    lengths = {len(item) for item in items}
    assert min(lengths) < 19 < max(lengths) <= 2 * 21 - 3  # size 11 takes at most 19 steps, size 21 at most 39
    assert [item.seed for item in items] == request.seeds.tolist()
    assert all(item.rewards[-1] > 0 for item in items)


@pytest.mark.parametrize("options", [{"sizes": "some"}, {"sizes": "uniform", "min_length": 60}])
def test_sizes_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="sizes"):
        ENVS.get("minigrid-memory").expert(CollectRequest(episodes=1, seed=0, kwargs=options))
