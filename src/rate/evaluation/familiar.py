"""How much of an evaluation training had seen: the share of its episodes whose first observation was in the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rate.types import EpisodeRecord


def share_familiar(records: Iterable[EpisodeRecord]) -> float | None:
    """Of the episodes that tell whether training held their first observation, those where it did."""
    found = [record.familiar for record in records if record.familiar is not None]
    return sum(found) / len(found) if found else None


def in_words(shares: Mapping[str, float | None]) -> str:
    """`100 %` where all cases that tell it agree, else `100 % (length=9), 12.5 % (length=90)`; empty if none does."""
    by_share: dict[str, list[str]] = {}
    for case, share in shares.items():
        if share is not None:
            by_share.setdefault(f"{100 * share:.1f}".removesuffix(".0") + " %", []).append(case)
    if len(by_share) == 1:
        return next(iter(by_share))
    return ", ".join(f"{share} ({', '.join(cases)})" for share, cases in by_share.items())
