"""Behaviour cloning on windows: the loss of the action head, averaged over real steps only.

The mean is over all real steps of all segments at once, so padding and segment borders carry no weight.
"""

from __future__ import annotations

from typing import Any

from rate.models.policy import SequencePolicy, unroll
from rate.objectives.objective import Loss, Objective, Unroll, masked_mean
from rate.types import Segment


class BehaviourCloning(Objective):
    """Predict the action that the data holds."""

    def __init__(self, run: Unroll = unroll) -> None:
        super().__init__()
        self.run = run

    def forward(self, policy: SequencePolicy[Any], window: Segment) -> Loss:
        prediction = self.run(policy, window).prediction
        per_step = policy.head.loss(prediction, window.action)
        score = policy.head.score(prediction.detach(), window.action)
        return Loss(
            total=masked_mean(per_step, window.mask),
            parts={policy.head.measure: masked_mean(score, window.mask)},
            weight=window.mask.sum(),
        )
