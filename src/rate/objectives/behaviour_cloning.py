"""Behaviour cloning on windows: the loss of the action head, averaged over real steps only.

The mean is over all real steps of all segments at once, so padding and segment borders carry no weight.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from rate.models.policy import SequencePolicy, unroll
from rate.objectives.objective import OBJECTIVES, Loss
from rate.types import Segment


@OBJECTIVES.register("behaviour-cloning")
class BehaviourCloning(nn.Module):
    """Predict the action that the data holds."""

    def __init__(self, bptt_segments: int | None, recompute: bool = False) -> None:
        super().__init__()
        self.bptt_segments, self.recompute = bptt_segments, recompute

    def forward(self, policy: SequencePolicy[Any], window: Segment) -> Loss:
        prediction = unroll(policy, window, self.bptt_segments, self.recompute).prediction
        per_step = policy.head.loss(prediction, window.action)
        accuracy = policy.head.accuracy(prediction.detach(), window.action)
        return Loss(
            total=masked_mean(per_step, window.mask),
            parts={"accuracy": masked_mean(accuracy, window.mask)},
            weight=int(window.mask.sum()),
        )


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean over the real steps; zero, and not NaN, where there is none."""
    return (values * mask).sum() / mask.sum().clamp(min=1)
