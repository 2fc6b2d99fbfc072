"""The bench measures what it says, on sizes that take no time."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from rate.bench import export, reading
from rate.bench import rate_and_dt as bench
from rate.bench.run import run_bench
from rate.models import RateConfig


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "SEGMENT", 4)
    monkeypatch.setattr(bench, "SIZES", {"layers": 1, "width": 16, "heads": 2, "head_width": 8, "dropout": 0.1})


def rate_config() -> RateConfig:
    config = bench.models()["rate"]
    assert isinstance(config, RateConfig)
    return config


def test_acting_is_compared_with_recomputing() -> None:
    figures = bench.acting(rate_config(), 1)
    for batch in (1, 100):
        own, anew = figures[f"ms_per_step_batch_{batch}"], figures[f"recompute_ms_per_step_batch_{batch}"]
        assert own > 0 and anew > 0
        assert math.isclose(figures[f"recompute_over_step_batch_{batch}"], anew / own)
    assert "recompute_ms_per_step_batch_1" not in bench.acting(bench.models()["dt"], 1)


def test_state_bytes_count_every_key_head() -> None:
    one, all_heads = rate_config(), replace(rate_config(), kv_heads=2)
    small, large = (bench.state_bytes(bench.seeded(config), 9) for config in (one, all_heads))
    slots, memory = 3 * 4 + 2 * 10, 10 * 16 * 4
    assert small == memory + 2 * 1 * slots * 8 * 4
    assert large == memory + 2 * 2 * slots * 8 * 4


def test_states_stand_where_they_say() -> None:
    states = bench.episode_states(rate_config(), (3, 9))
    assert [states[place].stream.position for place in (3, 9)] == [3, 1]
    figures = bench.flatness(rate_config(), states, 2)
    assert figures["over_first"]["3"] == 1 and figures["ms_per_step"]["9"] > 0
    assert [states[place].stream.position for place in (3, 9)] == [3, 1]  # measuring leaves them as they were


@pytest.mark.parametrize("recompute", [False, True])
def test_training_is_measured(recompute: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "BATCH", 2)
    figures = bench.measure_training("rate", 1, recompute)
    assert figures["seconds_per_step"] > 0 and figures["peak_mib"] > 50


def test_reading_is_a_share_of_a_training_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "EPISODES", 70)
    for layout in reading.LAYOUTS:
        figures = reading.reading(layout, 1)
        assert 0 < figures["ms_per_batch"] < figures["training_step_ms"]
        assert math.isclose(figures["over_training_step"], figures["ms_per_batch"] / figures["training_step_ms"])


def test_everything_is_json_and_threads_are_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def child(name: str, threads: int, repeats: int, recompute: bool = False) -> dict[str, Any]:
        return {"seconds_per_step": 1.0}

    monkeypatch.setattr(bench, "training_in_child", child)
    monkeypatch.setattr(bench, "environment_steps", lambda: 1.0)
    monkeypatch.setattr(export, "exported", lambda config, spaces, repeats: {"actor_over_exported": 4.0})
    monkeypatch.setattr(reading, "reading", lambda layout, repeats: {"over_training_step": 0.01})
    before, seen = torch.get_num_threads(), []
    figures = run_bench(quick=True, on_progress=lambda done, total, what: seen.append(what))
    assert torch.get_num_threads() == before
    assert json.loads(json.dumps(figures)) == figures
    assert set(figures) >= {"sizes", "threads-1"} and len(seen) > 7
