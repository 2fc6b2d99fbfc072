"""Segments whose first one is shorter in training, so that borders lie in other places at each step."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest
import torch

from rate.models import MODELS, unroll
from rate.types import Segment, Spaces

SPACES = Spaces(observation=gym.spaces.Box(-1, 1, (3,)), action=gym.spaces.Discrete(4))
B, T, K = 2, 18, 6


def policy(**fields: Any) -> Any:
    torch.manual_seed(0)
    sizes = {"width": 16, "layers": 2, "heads": 2, "head_width": 8, "dropout": 0.0, "segment_len": K}
    return MODELS.get("rate")(T, **sizes, memory_tokens=3, cache_tokens=5, **fields).build(SPACES)


def window() -> Segment:
    torch.manual_seed(1)
    return Segment(
        observation=torch.rand(B, T, 3),
        action=torch.randint(4, (B, T)),
        return_to_go=torch.rand(B, T),
        reward=torch.rand(B, T),
        terminated=torch.zeros(B, T, dtype=torch.bool),
        timestep=torch.arange(T).expand(B, T),
        mask=torch.ones(B, T, dtype=torch.bool),
    )


def test_a_first_segment_of_its_own_length_is_cut_off() -> None:
    lengths = [len(part) for part in window().split(K, 4)]
    assert lengths == [4, 6, 6, 2]
    assert [len(part) for part in window().split(K)] == [len(part) for part in window().split(K, K)] == [6, 6, 6]
    assert [len(part) for part in window().split(None)] == [T]


def test_every_length_of_the_first_segment_is_drawn_and_writes_memory() -> None:
    model, episodes, seen = policy().train(), window(), set()
    model.valve.register_forward_hook(lambda place, given, kept: seen.add((model.segment_len, len(given))))
    predictions = []
    for step in range(60):
        torch.manual_seed(step)
        predictions.append(unroll(model, episodes, drawn_borders=True).prediction.detach())
        assert model.segment_len == K  # as before
    assert {length for length, _ in seen} == set(range(1, K + 1))
    even = unroll(model, episodes).prediction
    alike = [torch.allclose(one, even, atol=1e-6) for one in predictions]
    assert any(alike) and not all(alike)


@pytest.mark.parametrize("evaluating", [True, False])
def test_borders_stay_while_acting_is_judged_and_in_segments_of_a_whole_window(evaluating: bool) -> None:
    model, episodes = policy().train(not evaluating), window()
    if not evaluating:
        model.resegment(T)
    even = unroll(model, episodes).prediction
    for step in range(10):
        torch.manual_seed(step)
        torch.testing.assert_close(unroll(model, episodes, drawn_borders=True).prediction, even)


def test_segments_that_are_run_again_have_the_same_borders() -> None:
    episodes, found = window(), []
    for recompute in (False, True):
        model = policy().train()
        torch.manual_seed(2)  # draws a first segment of four
        unroll(model, episodes, recompute=recompute, drawn_borders=True).prediction.square().sum().backward()
        found.append([parameter.grad for parameter in model.parameters()])
    torch.testing.assert_close(found[0], found[1])
