"""Seeds: blocks of purposes that never meet, below 2**31, the same for the same arguments."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rate.seeding import BLOCK, Purpose, episode_seeds

PURPOSES = list(Purpose)


@given(seed=st.integers(0, 10**9), first=st.integers(0, 10**9), episodes=st.integers(1, 200))
def test_blocks_are_disjoint_and_small(seed: int, first: int, episodes: int) -> None:
    found = [episode_seeds(purpose, seed, episodes, first) for purpose in PURPOSES]
    for purpose, seeds in zip(PURPOSES, found, strict=True):
        assert seeds.min() >= purpose * BLOCK and seeds.max() < (purpose + 1) * BLOCK
        assert len(np.unique(seeds)) == episodes
    assert max(seeds.max() for seeds in found) < 2**31


def test_episodes_can_be_counted_on_from_any_place() -> None:
    whole = episode_seeds(Purpose.COLLECT, 3, 50)
    assert np.array_equal(whole[20:], episode_seeds(Purpose.COLLECT, 3, 30, first=20))


def test_another_seed_gives_other_episodes() -> None:
    one, other = (set(episode_seeds(Purpose.REPORT, seed, 10_000).tolist()) for seed in (0, 1))
    assert not one & other


@pytest.mark.parametrize("purpose", PURPOSES)
def test_neighbours_are_consecutive(purpose: Purpose) -> None:
    assert (np.diff(episode_seeds(purpose, 0, 100)) == 1).all()


def test_the_blocks_are_the_ones_that_were_published() -> None:
    """Another layout would mix reported episodes with collected ones of earlier versions."""
    assert [episode_seeds(purpose, 0, 1)[0] for purpose in (Purpose.REPORT, Purpose.VALIDATION, Purpose.COLLECT)] == [
        0,
        1 << 29,
        1 << 30,
    ]
