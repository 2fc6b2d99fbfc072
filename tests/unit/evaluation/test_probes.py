"""The preservation probe: its numbers on valves made by hand, and which updates of which episodes it counts."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import Tensor

from rate.envs import ENVS
from rate.envs.batch import SerialBatch
from rate.envs.spec import EnvSpec, EvalCase
from rate.errors import ConfigError
from rate.evaluation.evaluator import EvalConfig
from rate.evaluation.probes import Preservation, measure, probe_memory
from rate.models import MODELS, SequencePolicy
from rate.models.policies.segment import SegmentPolicy
from rate.nn.memory import VALVES, Valve, ValveConfig
from rate.seeding import Purpose, episode_seeds
from rate.types import Spaces

torch.set_num_threads(1)

WIDTH, K, M = 16, 3, 2
TMAZE = ENVS.get("tmaze")
SPACES = Spaces(observation=gym.spaces.Box(-1, 1, (2,)), action=gym.spaces.Discrete(2))


class Walk(gym.Env[Any, Any]):
    """Lasts seed % 11 + 1 steps, whatever is done; what is seen depends on the seed."""

    observation_space, action_space = SPACES.observation, SPACES.action

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.left = length_of(seed or 0)
        return self._observation(), {}

    def _observation(self) -> Any:
        return self.np_random.uniform(-1, 1, 2).astype(np.float32)

    def step(self, action: Any) -> Any:
        self.left -= 1
        return self._observation(), 0.0, self.left == 0, False, {}


def length_of(seed: int) -> int:
    return seed % 11 + 1


CASE = EvalCase(name="walk", target_return=1.0, max_steps=40)
WALK = EnvSpec(
    name="walk",
    summary="",
    make=Walk,
    make_batch=lambda: SerialBatch(Walk),
    expert=lambda request: iter(()),
    expert_defaults={},
    case=lambda: CASE,
)


class Turning(Valve):
    """A valve that multiplies what came in by one matrix."""

    def __init__(self, matrix: Tensor) -> None:
        super().__init__(ValveConfig(width=len(matrix)))
        self.matrix = matrix

    def forward(self, incoming: Tensor, written: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        return incoming @ self.matrix, cell

    def candidates(self, incoming: Tensor, written: Tensor) -> Tensor:
        return incoming @ self.matrix


def make(name: str = "rate", spaces: Spaces = SPACES, **fields: Any) -> SequencePolicy[Any]:
    torch.manual_seed(0)
    sizes = {"segment_len": K, "layers": 1, "width": WIDTH, "heads": 2, "head_width": 8, "memory_tokens": M}
    return MODELS.get(name)(9, **{**sizes, **fields}).build(spaces)


def probe(policy: SequencePolicy[Any], episodes: int = 12, batch: int = 12) -> Preservation:
    return probe_memory(policy, WALK, CASE, EvalConfig(episodes=episodes, batch=batch))


def turned(matrix: Tensor) -> Preservation:
    policy = make()
    assert isinstance(policy, SegmentPolicy)
    policy.valve = Turning(matrix)
    return probe(policy)


def test_a_valve_that_keeps_everything() -> None:
    for update in turned(torch.eye(WIDTH)).updates:
        assert update.change.high == update.moved.high == 0
        assert update.alignment is not None and update.alignment.low == pytest.approx(1)
        assert update.cosine_min == pytest.approx(1) and (update.aligned, update.holds) == (1, 1)
        assert update.bound is not None and update.bound.value == pytest.approx(math.sqrt(2 * (1 - 1 / M)))


def test_a_valve_that_scales_changes_memory_and_turns_no_row() -> None:
    for update in turned(3 * torch.eye(WIDTH)).updates:
        assert update.change.value == pytest.approx(2)
        assert update.moved.high < 1e-6 and update.cosine.low == pytest.approx(1)


def test_a_valve_that_turns_every_row_round() -> None:
    for update in turned(-torch.eye(WIDTH)).updates:
        assert update.change.value == pytest.approx(2) and update.moved.value == pytest.approx(2)
        assert update.cosine.value == pytest.approx(-1)
        # The other row, turned round, may be nearer than its own; below 0 the theorem asks for something else.
        assert update.aligned == float(update.alignment is not None and update.alignment.value > 0)
        assert update.holds == 0  # 2 is above any sqrt(2 (1 - alpha / m)) with alpha > -2


def test_a_quarter_turn_breaks_the_premise() -> None:
    turn = torch.block_diag(*[torch.tensor([[0.0, 1.0], [-1.0, 0.0]])] * (WIDTH // 2))
    first = turned(turn).updates[0]
    assert first.moved.value == pytest.approx(math.sqrt(2)) and abs(first.cosine.value) < 1e-6


def test_measures_are_those_of_the_definition() -> None:
    torch.manual_seed(0)
    incoming, kept, rows = torch.randn(3, 4, M, WIDTH)
    found = measure(incoming, kept, rows)
    for at in range(4):
        before, after = ([row / row.norm() for row in memory[at]] for memory in (incoming, kept))
        mixed = [row / row.norm() for row in rows[at]]
        assert found["change"][at] == pytest.approx(float((kept[at] - incoming[at]).norm() / incoming[at].norm()))
        distance = sum(float((a - b).norm() ** 2) for a, b in zip(after, before, strict=True))
        assert found["moved"][at] == pytest.approx(math.sqrt(distance / M), rel=1e-5)
        assert found["alignment"][at] == pytest.approx(min(max(float(v @ b) for v in mixed) for b in before), rel=1e-4)
        cosines = [float(a @ b) for a, b in zip(after, before, strict=True)]
        assert found["cosine_min"][at] == pytest.approx(min(cosines), rel=1e-4)
        assert found["cosine"][at] == pytest.approx(sum(cosines) / M, rel=1e-4)
    assert "alignment" not in measure(incoming, kept, None)


@pytest.mark.parametrize("batch", [1, 5, 12])
def test_an_episode_counts_as_long_as_it_lasts(batch: int) -> None:
    """Update n needs a step after n segments; finished episodes that are still in the batch do not count."""
    lengths = [length_of(int(seed)) for seed in episode_seeds(Purpose.REPORT, 0, 12)]
    found, expected = probe(make(), batch=batch), probe(make(), batch=12)
    counts = {update.number: update.episodes for update in found.updates}
    assert counts == {n: sum(length > n * K for length in lengths) for n in range(1, (max(lengths) - 1) // K + 1)}
    for one, other in zip(found.updates, expected.updates, strict=True):
        for name in ("change", "moved", "alignment"):
            mine, theirs = getattr(one, name), getattr(other, name)
            assert (mine.value, mine.low, mine.high) == pytest.approx((theirs.value, theirs.low, theirs.high), rel=1e-4)
        assert other.room <= other.episodes - 1 + 1e-6  # n episodes differ in n - 1 ways at most


@pytest.mark.parametrize("valve", VALVES.names())
def test_every_valve_can_be_probed(valve: str) -> None:
    policy = make(valve=valve).train()
    found = probe(policy)
    assert policy.training and not policy.valve._forward_hooks  # type: ignore[union-attr, operator]
    stated = valve in ("ca1", "ca2", "none")
    for update in found.updates:
        assert update.episodes == 1 or update.change.low < update.change.value < update.change.high
        assert (update.alignment is not None) is (update.bound is not None) is (update.holds is not None) is stated
    assert json.loads(json.dumps(found.summary(), allow_nan=False))["episodes"] == 12


def test_with_no_valve_the_alignment_is_at_least_the_cosine_of_the_worst_row() -> None:
    for update in probe(make(valve="none")).updates:
        assert update.alignment is not None and update.alignment.low >= update.cosine_min - 1e-9


def test_retention_is_the_mean_over_the_second_half() -> None:
    found = probe(make())
    few = replace(found, updates=found.updates[:3])
    late = few.updates[1:]
    assert few.summary()["retention"] == pytest.approx(
        {
            "from_update": 2,
            "change": (late[0].change.value + late[1].change.value) / 2,
            "cosine": (late[0].cosine.value + late[1].cosine.value) / 2,
            "rank": (late[0].rank.value + late[1].rank.value) / 2,
            "holding": (late[0].holding + late[1].holding) / 2,
            "room": (late[0].room + late[1].room) / 2,
            "apart": (late[0].apart.value + late[1].apart.value) / 2,
        }
    )


def test_the_probe_leaves_the_random_state_alone() -> None:
    policy = make()
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    probe(policy)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("name", ["trxl", "dlstm"])
def test_without_memory_there_is_nothing_to_probe(name: str) -> None:
    with pytest.raises(ConfigError, match="carries no memory embeddings"):
        probe(MODELS.get(name)(9).build(SPACES))


def test_episodes_within_one_segment_have_no_update() -> None:
    policy = make(
        segment_len=9, spaces=Spaces(observation=TMAZE.make().observation_space, action=gym.spaces.Discrete(4))
    )
    with pytest.raises(ConfigError, match=r"length=9 is longer than a segment of 9 steps"):
        probe_memory(policy, TMAZE, TMAZE.case(length=9), EvalConfig(episodes=2))


def test_episodes_that_share_one_memory_are_not_apart() -> None:
    memory = torch.randn(1, M, 8).repeat(5, 1, 1)
    assert measure(memory, memory, None)["apart"].max() < 1e-6
    mirrored = torch.cat([memory[:2], -memory[:2]])  # the mean is zero: as far apart as the norm is long
    np.testing.assert_allclose(measure(mirrored, mirrored, None)["apart"], 1.0)
