"""Score: what an episode is worth, and a score that goes through a file."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rate.envs import ENVS
from rate.errors import ConfigError
from rate.score import Score
from rate.types import EpisodeRecord

RECORD = EpisodeRecord(
    case="",
    evaluation="",
    seed=0,
    episode_return=30.0,
    length=1,
    success=True,
    target_return=1.0,
    checkpoint="",
    step=0,
)


def test_what_an_episode_is_worth() -> None:
    records = [RECORD, replace(RECORD, episode_return=-10.0, success=False)]
    assert Score().values(records) == [30.0, -10.0]
    assert Score.success(lambda value: value > 0).values(records) == [1.0, 0.0]
    assert Score.normalised(low=10.0, high=50.0).values(records) == [50.0, -50.0]
    assert Score.success(lambda value: value > 0).succeeded(3.0) is True
    assert Score().succeeded(3.0) is None and Score.normalised(0, 1).succeeded(3.0) is None


@pytest.mark.parametrize("score", [Score(), Score(kind="success"), Score.normalised(low=-3.5, high=90.0)])
def test_a_score_goes_through_a_file(score: Score) -> None:
    assert Score.read(json.loads(json.dumps(score.facts()))) == score


def test_what_is_no_score() -> None:
    with pytest.raises(ConfigError, match="must be higher"):
        Score.normalised(low=2.0, high=2.0)
    with pytest.raises(ConfigError, match="return or success or normalised"):
        Score(kind="luck")  # type: ignore[arg-type]


def test_success_is_short_for_a_score() -> None:
    spec = replace(ENVS.get("aar"), success=lambda value: value > 7)
    assert (spec.score.kind, spec.score.succeeded(8), spec.score.succeeded(7)) == ("success", True, False)
    assert replace(spec, name="other").score == spec.score
