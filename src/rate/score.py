"""Score: by what the episodes of an environment are judged, from the evaluation to the axes of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from rate.errors import ConfigError
from rate.types import EpisodeRecord

Kind: TypeAlias = Literal["return", "success", "normalised"]
NAMES: Mapping[Kind, str] = {"return": "return_mean", "success": "success_rate", "normalised": "normalised_score"}
"""Kind to the name of its mean in files."""
TITLES: Mapping[Kind, str] = {
    "return": "Return (sum of rewards)",
    "success": "Success rate (fraction)",
    "normalised": "Normalised score (100: reference)",
}


@dataclass(frozen=True, kw_only=True)
class Score:
    """The return as it is, success, or the return between two references (the convention of D4RL and Minari)."""

    kind: Kind = "return"
    succeeds: Callable[[float], bool] | None = None
    """Of success: episode return -> whether it is one."""
    low: float = 0.0
    """Of a normalised score: the return that counts 0, such as that of random actions,"""
    high: float = 1.0
    """and the one that counts 100, such as an expert's."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ConfigError(f"a score is {' or '.join(get_args(Kind))}, not {self.kind!r}")
        if not self.low < self.high:
            raise ConfigError(
                f"the references of a score are {self.low:g} and {self.high:g}; the second must be higher"
            )

    @classmethod
    def success(cls, succeeds: Callable[[float], bool]) -> Score:
        return cls(kind="success", succeeds=succeeds)

    @classmethod
    def normalised(cls, low: float, high: float) -> Score:
        """100 (return - low) / (high - low)"""
        return cls(kind="normalised", low=low, high=high)

    @classmethod
    def read(cls, facts: Mapping[str, Any]) -> Score:
        """What `facts` wrote; of success that it is one is recorded with each episode."""
        return cls(kind=facts["kind"], low=float(facts["low"]), high=float(facts["high"]))

    def facts(self) -> dict[str, Any]:
        """JSON values."""
        return {"kind": self.kind, "low": self.low, "high": self.high}

    @property
    def is_rate(self) -> bool:
        """Whether its mean is a share of the episodes."""
        return self.kind == "success"

    @property
    def name(self) -> str:
        """Of its mean, in files."""
        return NAMES[self.kind]

    @property
    def title(self) -> str:
        """On an axis."""
        return TITLES[self.kind]

    @property
    def caption(self) -> str:
        """Of a table."""
        if self.is_rate:
            return "success rate with Wilson 95 % interval over all episodes"
        what = "return" if self.kind == "return" else f"score (0: return {self.low:g}, 100: return {self.high:g})"
        return f"mean {what} ± standard error over all episodes"

    def succeeded(self, episode_return: float) -> bool | None:
        """None where there is no notion of success."""
        return None if self.succeeds is None else bool(self.succeeds(episode_return))

    def values(self, records: Iterable[EpisodeRecord]) -> list[float]:
        """What each episode is worth."""
        if self.is_rate:
            return [float(bool(record.success)) for record in records]
        returns = [record.episode_return for record in records]
        if self.kind == "return":
            return returns
        return [100 * (value - self.low) / (self.high - self.low) for value in returns]
