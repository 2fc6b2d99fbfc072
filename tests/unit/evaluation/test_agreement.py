"""Agreement with the expert: along its actions, and along the policy's own."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from rate.envs import ENVS
from rate.envs.spec import spaces_of
from rate.errors import ConfigError
from rate.evaluation.agreement import agreement
from rate.models import MODELS, SequencePolicy
from rate.types import Inputs, Output

TMAZE = ENVS.get("tmaze")


class Follows(SequencePolicy[Any]):
    """Walks right if it did so before (or could not), else stays put for ever: it leans on its last action."""

    segment_len = context = None

    def __init__(self, first: int) -> None:
        super().__init__(spaces_of(TMAZE), 4)
        self.first = first

    def initial_state(self, batch: int) -> tuple[()]:
        return ()

    def forward(self, segment: Any, state: Any) -> Any:
        raise AssertionError("it only acts")

    def step(self, x: Inputs, state: Any) -> tuple[Output, Any]:
        before = torch.full((1,), self.first) if x.previous_action is None else x.previous_action
        return Output(prediction=torch.nn.functional.one_hot(before, 4).float()), state


@pytest.mark.parametrize(("first", "own"), [(0, 9 / 10), (2, 0.0)])
def test_a_policy_that_copies_its_past_is_as_good_as_that_past(first: int, own: float) -> None:
    found = agreement(Follows(first), TMAZE, TMAZE.case(length=11), [4, 6], target_return=1.0)
    # Ten steps, nine to the right and a turn; after its own actions it never turns and is cut off after eleven.
    assert found.forced == pytest.approx(0.9 if first == 0 else 0.8)
    assert found.own == pytest.approx(9 / 11 if first == 0 else own)


def test_an_expert_that_cannot_be_asked_is_refused() -> None:
    policy = MODELS.get("oracle-dt")(3)
    with pytest.raises(ConfigError, match="no expert"):
        agreement(policy_of(policy), TMAZE, TMAZE.case(length=9), [0], target_return=1.0)


def policy_of(config: Any) -> SequencePolicy[Any]:
    from dataclasses import replace

    spaces = replace(spaces_of(TMAZE), oracle=TMAZE.oracle["clue"])
    built: SequencePolicy[Any] = config.build(spaces)
    return built
