"""The scripted player goes for what it sees, around what hurts, and errs for a few steps at a time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from rate.envs import ENVS
from rate.envs.spec import CollectRequest
from rate.envs.vizdoom.env import TwoColorsEnv
from rate.envs.vizdoom.expert import FORWARD, LEFT, RIGHT, Chaser
from rate.envs.vizdoom.tasks import begins, player
from rate.errors import ConfigError

SPEC = ENVS.get("vizdoom-two-colors")


def chooses(*things: tuple[str, float, float]) -> int:
    """What is played at the origin, facing along x."""
    objects = [SimpleNamespace(name=name, position_x=x, position_y=y) for name, x, y in things]
    state = SimpleNamespace(game_variables=[0, 0, 0, 0, 0], objects=objects)
    return Chaser(cast(TwoColorsEnv, SimpleNamespace(state=state)), ["red"])(None, None)


def test_it_goes_for_good_items_that_it_sees_and_around_bad_ones() -> None:
    assert chooses(("RedItem", 300, 0)) == FORWARD
    assert chooses(("RedItem", 300, 0), ("GreenItem", 100, 0)) != FORWARD
    assert chooses(("RedItem", 200, -180)) in (RIGHT, 4)
    assert chooses(("RedItem", 200, 180)) in (LEFT, 3)


def test_what_is_not_on_the_screen_changes_nothing() -> None:
    nothing = chooses()
    assert nothing in (LEFT, RIGHT)
    for hidden in (("RedItem", -100.0, 0.0), ("RedItem", -100.0, 90.0), ("RedItem", 50.0, 90.0)):
        assert chooses(hidden) == nothing
    assert chooses(("RedPillar45", 200, 0), ("RedItem", 400, 0)) == nothing


def test_both_colours_are_collected_and_controls_are_worse() -> None:
    pytest.importorskip("vizdoom", reason="needs the extra vizdoom")
    returns = {}
    for chases in ("right", "green"):
        request = CollectRequest(episodes=4, seed=0, kwargs={"chases": chases, "noise": 0.0, "max_steps": 150})
        for item in SPEC.expert(request):
            returns.setdefault((chases, int(item.infos["green"][0])), []).append(float(item.rewards.sum()))
    mean = {key: np.mean(values) for key, values in returns.items()}
    assert min(mean["right", 0], mean["right", 1], mean["green", 1]) > 7 > 4 > mean["green", 0]


def test_errors_take_their_share_and_last() -> None:
    inner: Any = TwoColorsEnv.__new__(TwoColorsEnv)
    inner.colour = "red"
    inner.state = SimpleNamespace(game_variables=[0, 0, 0, 0, 0], objects=[])
    act = player(inner, np.random.default_rng(0), noise=0.3, hold=6)
    played = [act(None, None) for _ in range(20_000)]
    wrong = np.array(played) != RIGHT
    assert wrong.mean() == pytest.approx(0.3 * 4 / 5, abs=0.02)
    runs = np.flatnonzero(np.diff(wrong.astype(int)) == 1).size
    assert wrong.sum() / runs > 2.5
    assert [begins(share, hold) for share, hold in ((0.0, 6), (1.0, 6), (0.4, 1))] == [0.0, 1.0, 0.4]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"noise": 2}, r"noise must be a number in \[0, 1\], got 2"),
        ({"hold": 0}, "hold must be a whole number of at least 1, got 0"),
        ({"chases": "blue"}, "chases must be one of right, any, red, green, got 'blue'"),
        ({"pillar": 7}, "pillar must be one of"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        SPEC.expert(CollectRequest(episodes=1, seed=0, kwargs=options))
