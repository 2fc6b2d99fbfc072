"""What every registered environment promises; `rate.testing.envs` says what that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from rate.envs import ENVS, EnvSpec
from rate.errors import MissingExtraError, MissingLibraryError
from rate.testing.envs import CONTRACTS, PlayedIn, expert_is_reproducible_and_replays_exactly

REPLAY: Mapping[str, PlayedIn] = {"tmaze": lambda item: {"length": len(item) + 1}}
"""Arguments of the environment that an episode of the default expert was played in, where they vary by episode."""
LARGER = {"memory-maze/11x11", "memory-maze/13x13", "memory-maze/15x15"}
"""The same maze with another number of cells: half a minute each, and a slow test of their own."""


@pytest.fixture(params=[name for name in ENVS.names() if name not in LARGER])
def spec(request: pytest.FixtureRequest) -> EnvSpec:
    found = ENVS.get(request.param)
    try:
        found.make(**found.case().kwargs).close()
    except (MissingExtraError, MissingLibraryError) as error:
        pytest.skip(str(error))
    return found


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
def test_contract(contract: Callable[[EnvSpec], None], spec: EnvSpec) -> None:
    contract(spec)


def test_expert_is_reproducible_and_replays_exactly(spec: EnvSpec) -> None:
    expert_is_reproducible_and_replays_exactly(spec, REPLAY.get(spec.name))
