"""What every environment promises: fair seeds, batches equal to singles, an expert worth imitating.

Each contract is a function of a spec that raises AssertionError where it is broken.
"""

from __future__ import annotations

import copy
import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium.utils.env_checker import check_env
from numpy.typing import NDArray

from rate.envs.batch import stack_trees
from rate.envs.spec import CollectRequest, EnvSpec, EvalCase
from rate.types import Array, Trajectory, Tree, tree_leaves, tree_map

STEPS = 300
"""Episodes are followed to their end or this far."""
SHORT = 110
"""As far as this where only equality is at stake: there are many environments, and most end before."""
LIMIT = 80
"""As far as this where episodes may be long and experts slow."""
SEEDS = np.array([11, 2**30 + 6, 0, 7, 2**31 - 1], dtype=np.int64)

HARMLESS = (
    "is different from the unwrapped version",
    "recommend using a symmetric and normalized space",
    "value is -infinity",
    "value is infinity",
)
"""Remarks of Gymnasium's checker on what is meant to be so: wrapped environments, torques in their own unit, and
velocities that nothing bounds."""

Record: TypeAlias = list[tuple[Tree, float, bool, bool]]

PlayedIn = Callable[[Trajectory], Mapping[str, Any]]
"""The arguments of the environment that an episode of the expert was played in."""


def limits(spec: EnvSpec) -> dict[str, Any]:
    """Options that cut episodes short in environments that have such an option: they may be long and slow."""
    return {"max_steps": LIMIT} if "max_steps" in spec.expert_defaults else {}


def case_of(spec: EnvSpec) -> EvalCase:
    return spec.case(**limits(spec))


def random_actions(space: gym.Space[Any], seed: int) -> Iterator[Any]:
    """Actions that belong to the seed, not to its place in a batch."""
    own = copy.deepcopy(space)
    own.seed(seed)
    return (own.sample() for _ in itertools.count())


def single(spec: EnvSpec, case: EvalCase, seed: int) -> Record:
    """An episode alone, in an environment of its own."""
    env = spec.make(**case.kwargs)
    try:
        return episode(env, case, seed)
    finally:
        env.close()


def episode(env: gym.Env[Any, Any], case: EvalCase, seed: int) -> Record:
    actions = random_actions(env.action_space, seed)
    record: Record = [(stack_trees([env.reset(seed=seed)[0]]), 0.0, False, False)]
    while len(record) <= min(case.max_steps, SHORT) and not (record[-1][2] or record[-1][3]):
        observation, reward, terminated, truncated, _ = env.step(next(actions))
        record.append((stack_trees([observation]), float(reward), terminated, truncated))
    return record


def batched(spec: EnvSpec, case: EvalCase, seeds: Array, drop: bool, steps: int = SHORT) -> dict[int, Record]:
    """The same as `single`, all at once; `drop` leaves finished rows behind as the evaluator does."""
    batch, rows = spec.make_batch(**case.kwargs), np.arange(len(seeds))
    sources = [random_actions(batch.spaces.action, int(seed)) for seed in seeds]
    first = batch.reset(seeds)
    records: list[Record] = [[(take(first, row), 0.0, False, False)] for row in range(len(seeds))]
    live = np.ones(len(seeds), bool)
    for _ in range(min(case.max_steps, steps)):
        answer = batch.step(np.array([next(sources[row]) for row in rows]))
        for at, row in enumerate(rows):
            if live[row]:
                outcome = float(answer.reward[at]), bool(answer.terminated[at]), bool(answer.truncated[at])
                records[row].append((take(answer.observation, at), *outcome))
                live[row] = not (outcome[1] or outcome[2])
        if not live.any():
            break
        if drop:
            batch.select(np.flatnonzero(live[rows]))
            rows = rows[live[rows]]
    batch.close()
    return {int(seed): record for seed, record in zip(seeds, records, strict=True)}


def take(tree: Tree, row: int) -> Tree:
    return tree_map(lambda leaf: leaf[row : row + 1], tree)


def assert_same(one: Record, other: Record) -> None:
    assert len(one) == len(other)
    for (observation, *outcome), (expected, *outcome_expected) in zip(one, other, strict=True):
        assert_same_tree(observation, expected)
        assert math.isclose(outcome[0], outcome_expected[0], rel_tol=1e-6)  # batches may keep rewards in float32
        assert outcome[1:] == outcome_expected[1:]


def assert_same_tree(one: Tree, other: Tree) -> None:
    for leaf, expected in zip(tree_leaves(one), tree_leaves(other), strict=True):
        np.testing.assert_array_equal(leaf, expected)


def expert(spec: EnvSpec, episodes: int, seed: int = 0) -> list[Trajectory]:
    return asked(spec, CollectRequest(episodes=episodes, seed=seed, kwargs=limits(spec)))


def asked(spec: EnvSpec, request: CollectRequest) -> list[Trajectory]:
    return list(spec.expert(request)) if spec.expert else []


def default_case_makes(spec: EnvSpec) -> None:
    case = case_of(spec)
    env, batch = spec.make(**case.kwargs), spec.make_batch(**case.kwargs)
    assert batch.spaces.observation == env.observation_space
    assert batch.spaces.action == env.action_space
    assert env.observation_space.contains(env.reset(seed=0)[0])
    assert case.max_steps > 0
    assert spec.axis is None or spec.axis in case.tags
    env.close()
    batch.close()


def gymnasium_checker_is_content(spec: EnvSpec) -> None:
    case = case_of(spec)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(spec.make(**case.kwargs), skip_render_check=True)
    remarks = [str(warning.message) for warning in caught]
    assert [remark for remark in remarks if not any(text in remark for text in HARMLESS)] == []


def an_episode_is_the_same_alone_and_in_any_batch(spec: EnvSpec) -> None:
    case = case_of(spec)
    for shuffle, drop in ((0, True), (1, False), (2, True)):
        order: NDArray[np.int64] = np.random.default_rng(shuffle).permutation(SEEDS)
        for seed, record in batched(spec, case, order[: len(order) - shuffle], drop).items():
            assert_same(record, single(spec, case, seed))


def an_episode_does_not_remember_the_one_before(spec: EnvSpec) -> None:
    case = case_of(spec)
    env = spec.make(**case.kwargs)
    for shuffle in range(2):
        for seed in np.random.default_rng(shuffle).permutation(SEEDS):
            assert_same(episode(env, case, int(seed)), single(spec, case, int(seed)))
    env.close()


def seeds_give_different_episodes(spec: EnvSpec) -> None:
    case = case_of(spec)
    """The environment does use its seed: what is seen first differs between some seeds."""
    seen = {tuple(leaf.tobytes() for leaf in tree_leaves(first_observations(spec, case, seed))) for seed in range(8)}
    assert len(seen) > 1


def first_observations(spec: EnvSpec, case: EvalCase, seed: int) -> Tree:
    """Of ten steps, under the same actions for every seed."""
    env = spec.make(**case.kwargs)
    env.action_space.seed(0)
    seen, over = [env.reset(seed=seed)[0]], False
    while len(seen) <= 10 and not over:
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        seen.append(observation)
        over = terminated or truncated
    env.close()
    return stack_trees(seen)


def expert_is_reproducible_and_replays_exactly(spec: EnvSpec, played_in: PlayedIn | None = None) -> None:
    for item, other in zip(expert(spec, 3, seed=1), expert(spec, 3, seed=1), strict=True):
        assert_same_episode(item, other)
        replay(spec, played_in(item) if played_in else case_of(spec).kwargs, item)


def assert_same_episode(one: Trajectory, other: Trajectory) -> None:
    assert one.seed == other.seed
    assert_same_tree((one.observations, one.actions, one.rewards), (other.observations, other.actions, other.rewards))


def parts_of_the_data_are_the_whole(spec: EnvSpec) -> None:
    """Data is collected in parts, by several processes: each must give its own episodes and no others."""
    whole = CollectRequest(episodes=5, seed=1, kwargs=limits(spec))
    parts = [replace(whole, part=range(2)), replace(whole, part=range(2, 5))]
    together = [item for part in parts for item in asked(spec, part)]
    for item, expected in zip(together, asked(spec, whole), strict=True):
        assert_same_episode(item, expected)
    assert not together or [item.seed for item in together] == whole.seeds.tolist()


def replay(spec: EnvSpec, kwargs: Mapping[str, Any], item: Trajectory) -> None:
    env = spec.make(**kwargs)
    observation = env.reset(seed=item.seed)[0]
    for t, action in enumerate(item.actions):
        assert_same_tree(stack_trees([observation]), take(item.observations, t))
        observation, reward, terminated, truncated, _ = env.step(action)
        assert np.float32(reward) == np.float32(item.rewards[t])
        assert (terminated, truncated) == (item.terminations[t], item.truncations[t])
    assert_same_tree(stack_trees([observation]), take(item.observations, len(item)))
    env.close()


def expert_episodes_have_minaris_layout(spec: EnvSpec) -> None:
    for item in expert(spec, 3):
        assert {len(leaf) for leaf in tree_leaves(item.observations)} == {len(item) + 1}
        assert len(item.actions) == len(item.terminations) == len(item.truncations) == len(item)
        assert item.terminations.dtype == item.truncations.dtype == np.bool_
        assert not (item.terminations | item.truncations)[:-1].any()


def expert_beats_random(spec: EnvSpec) -> None:
    case = case_of(spec)
    if spec.expert is None:
        return
    records = batched(spec, case, np.arange(10), drop=True, steps=STEPS)
    random = [sum(step[1] for step in record) for record in records.values()]
    skilled = [float(item.rewards.sum()) for item in expert(spec, 4 if limits(spec) else 10)]
    assert np.mean(skilled) > np.mean(random) + np.std(random) / np.sqrt(len(random))


def the_cue_decides_the_last_action(spec: EnvSpec) -> None:
    if spec.cue:
        last: dict[float, set[Any]] = {}
        for item in expert(spec, 20):
            last.setdefault(float(item.infos[spec.cue][0]), set()).add(item.actions[-1].item())
        assert len(last) > 1
        assert all(len(actions) == 1 for actions in last.values())
        assert set(spec.cue_options) <= set(spec.expert_defaults)


def expert_names_its_options(spec: EnvSpec) -> None:
    """The published defaults are accepted, and mean what is done without any."""
    request = CollectRequest(episodes=2, seed=0, kwargs={**spec.expert_defaults, **limits(spec)})
    for item, other in zip(asked(spec, request), expert(spec, 2), strict=True):
        assert_same_tree(item.observations, other.observations)


CONTRACTS = (
    default_case_makes,
    gymnasium_checker_is_content,
    an_episode_is_the_same_alone_and_in_any_batch,
    an_episode_does_not_remember_the_one_before,
    seeds_give_different_episodes,
    expert_episodes_have_minaris_layout,
    parts_of_the_data_are_the_whole,
    expert_beats_random,
    the_cue_decides_the_last_action,
    expert_names_its_options,
)
"""All but the one that replays the expert, which may need arguments."""
