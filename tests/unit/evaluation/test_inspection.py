"""Looking into an episode: what slots are, what a window can know and memory can keep, what a valve lets through."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from rate.envs import ENVS
from rate.envs.batch import SerialBatch
from rate.envs.spec import EvalCase, spaces_of
from rate.errors import ConfigError
from rate.evaluation.evaluator import EvalConfig, Evaluator
from rate.evaluation.inspected import Inspected
from rate.evaluation.inspection import inspect_policy
from rate.evaluation.knowledge import facts_told, telling
from rate.models import MODELS, SequencePolicy
from rate.models.looking import LookedAt
from rate.reports.page.inspection.page import RunSeen, render_inspection
from rate.types import Spaces

torch.set_num_threads(1)

TMAZE = ENVS.get("tmaze")
SIZES: dict[str, Any] = {"layers": 2, "width": 16, "heads": 2, "head_width": 8, "dropout": 0.0}
SEGMENTS: dict[str, Any] = {**SIZES, "segment_len": 3, "memory_tokens": 2}


def built(name: str, **fields: Any) -> SequencePolicy[Any]:
    torch.manual_seed(0)
    oracle = TMAZE.oracle["clue"] if name == "oracle-dt" else None
    return MODELS.get(name)(9, **fields).build(replace(spaces_of(TMAZE), oracle=oracle)).eval()


def inspected(policy: SequencePolicy[Any], length: int = 12, oracle: str = "", **options: Any) -> Inspected:
    evaluator = Evaluator(spec=TMAZE, config=EvalConfig(episodes=60), oracle=oracle)
    return inspect_policy(policy, evaluator, TMAZE.case(length=length), seed=3, **options)


@pytest.mark.parametrize(
    ("name", "fields", "slots"),
    [
        ("rate", SEGMENTS, {0: (0, 0, 2, 2), 2: (0, 0, 2, 8), 3: (0, 0, 2, 2), 7: (0, 0, 2, 5)}),
        ("rate", {**SEGMENTS, "cache_tokens": 20}, {0: (0, 0, 2, 2), 3: (13, 0, 2, 2), 7: (20, 0, 2, 5)}),
        ("rate", {**SEGMENTS, "return_to_go": False}, {0: (0, 0, 2, 1), 4: (0, 0, 2, 3)}),
        ("dt", {**SIZES, "context": 4}, {0: (0, 0, 0, 2), 3: (0, 0, 0, 11), 9: (0, 0, 0, 11)}),
        ("oracle-dt", {**SIZES, "context": 4}, {0: (0, 1, 0, 2), 9: (0, 1, 0, 11)}),
    ],
)
def test_slots_are_told_apart(name: str, fields: dict[str, Any], slots: dict[int, LookedAt]) -> None:
    seen = inspected(built(name, **fields), oracle="clue" if name == "oracle-dt" else "")
    assert seen.attention is not None and seen.attention.kinds[seen.attention.observed] == "observation"
    assert {step: tuple(seen.attention.slots[step]) for step in slots} == slots
    for step, (counts, layers) in enumerate(zip(seen.attention.slots, seen.attention.weights, strict=True)):
        assert min(counts) >= 0 and len(layers) == 2, step
        for weights in layers:
            assert weights.shape == (2, sum(counts))
            np.testing.assert_allclose(weights.sum(1), 1, atol=1e-5)


def curve(seen: Inspected, of: str) -> dict[int, float]:
    assert seen.knowledge is not None and seen.knowledge.chance == 0.5
    found = next(one for one in seen.knowledge.curves if one.of == of)
    return {step: at.value for step, at in zip(found.steps, found.accuracy, strict=True)}


def test_a_window_knows_the_clue_until_it_has_left_it() -> None:
    seen = inspected(built("dt", **SIZES, context=4))
    hidden = curve(seen, "hidden")
    assert not seen.carries_memory and seen.memory is None and len(seen.knowledge.curves) == 1  # type: ignore[union-attr]
    assert min(hidden[step] for step in range(4)) > 0.95
    assert max(hidden[step] for step in range(4, 10)) < 0.8


def test_memory_begins_without_the_clue_and_is_given_it() -> None:
    seen = inspected(built("rmt", **SEGMENTS))
    memory = curve(seen, "memory")
    assert list(memory) == [0, 3, 6, 9] and memory[0] == 0.5 and memory[3] > 0.95
    assert seen.fact == "-1" and len(seen.actions) == len(seen.rewards) == len(seen.pictures) - 1
    (guesses,) = (one.guesses for one in seen.knowledge.curves if one.of == "memory")  # type: ignore[union-attr]
    assert guesses[:2] == [None, "-1"]


def test_the_course_of_memory() -> None:
    policy = built("rmt", **SEGMENTS)  # without a valve: what is written is kept
    course = inspected(policy).memory
    assert course is not None and course.steps == [3, 6, 9] and course.wrote.shape == (3, 2)
    np.testing.assert_allclose(course.change, course.wrote)
    assert course.rows_alike.shape == (4, 2, 2) and course.memories_alike.shape == (4, 4)
    np.testing.assert_allclose(np.diagonal(course.memories_alike), 1)
    gated = built("rate", **SEGMENTS, valve="gate")
    with torch.no_grad():
        gated.valve.gate.bias.fill_(1e4)  # type: ignore[union-attr,operator]
    shut = inspected(gated).memory
    assert shut is not None and shut.change.max() == shut.through.max() == 0 < shut.wrote.min()


def test_probabilities_are_those_that_are_acted_on() -> None:
    seen = inspected(built("rate", **SEGMENTS))
    assert [int(np.argmax(parts[0])) for parts in seen.probabilities] == [int(action) for action in seen.actions]
    assert all(abs(sum(parts[0]) - 1) < 1e-5 for parts in seen.probabilities)


@pytest.mark.parametrize("name", MODELS.names())
def test_every_model_is_looked_into(name: str) -> None:
    """By a page, with what there is of it: attention or none, memory or none, and always a hidden vector."""
    policy = built(name)
    seen = inspected(policy, oracle="clue" if policy.takes_oracle else "")
    assert seen.knowledge is not None and curve(seen, "hidden")[0] > 0.9
    assert seen.carries_memory == any(one.of == "memory" for one in seen.knowledge.curves) == (seen.memory is not None)
    page = render_inspection(name, "", [RunSeen(name=name, about="", model=name, seen=seen)])
    values = json.loads(re.findall(r'id="values">(.*?)</script>', page)[0])["runs"][0]
    assert (values["attention"] is None) == (seen.attention is None) and len(values["actions"]) == len(seen.actions)


class Steer(gym.Env[Any, Any]):
    """Actions are numbers, and what would draw it is not installed."""

    metadata = {"render_modes": ["rgb_array"]}
    observation_space, action_space = gym.spaces.Box(-1, 1, (4,)), gym.spaces.Box(-1, 1, (2,))

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return np.zeros(4, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.ones(4, np.float32), 0.0, False, False, {}

    def render(self) -> None:
        raise gym.error.DependencyNotInstalled("no pictures here")


def test_numbers_for_actions_and_no_pictures() -> None:
    case = EvalCase(name="steer", target_return=0.0, max_steps=5)
    spec = replace(TMAZE, make=Steer, make_batch=lambda: SerialBatch(Steer), tags=(), oracle={}, case=lambda: case)
    policy = MODELS.get("dt")(9, **SIZES).build(Spaces(observation=Steer.observation_space, action=Steer.action_space))
    seen = inspect_policy(policy.eval(), Evaluator(spec=spec, config=EvalConfig(episodes=10)), case, seed=0)
    assert seen.pictures[0] == seen.told[0] == "[0. 0. 0. 0.]" and seen.probabilities == [[]] * 5
    assert seen.knowledge is None and seen.fact is None and len(seen.actions) == 5


class Told(gym.Wrapper[Any, Any, Any, Any]):
    """Tells more of an episode than its batched form does."""

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**kwargs)
        return observation, {"map": np.zeros(3), "side": "up" if info["clue"] > 0 else "down", "task": 7, **info}


def test_a_fact_that_the_batched_form_does_not_tell() -> None:
    spec, case = replace(TMAZE, make=lambda **kwargs: Told(TMAZE.make(**kwargs))), TMAZE.case(length=12)
    assert facts_told(spec, case) == ["clue", "side", "task"]
    assert telling(spec, case, "clue") is spec
    assert isinstance(telling(spec, case, "side").make_batch(**case.kwargs), SerialBatch)
    evaluator = Evaluator(spec=spec, config=EvalConfig(episodes=20))
    seen = inspect_policy(built("rmt", **SEGMENTS), evaluator, case, seed=3, info="side")
    assert seen.fact == "down" and seen.knowledge is not None and seen.knowledge.values == ["down", "up"]
    with pytest.raises(ConfigError, match="one value"):
        inspect_policy(built("rmt", **SEGMENTS), evaluator, case, seed=3, info="task")
