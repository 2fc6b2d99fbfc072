"""ViZDoom-Two-Colors as an environment of the library, registered without importing the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from rate.envs.demonstrate import demonstrate
from rate.envs.spec import ENVS, BatchEnv, CollectRequest, EnvSpec, EvalCase, Player
from rate.envs.vizdoom.engine import BUTTONS
from rate.envs.vizdoom.env import COLOURS, MAX_STEPS, Rules, TwoColorsEnv
from rate.envs.vizdoom.expert import Chaser
from rate.envs.worker_batch import shared_out
from rate.errors import ConfigError
from rate.registry import check_names
from rate.types import Trajectory, Tree

NAME = "vizdoom-two-colors"
FACTS = ("colour", "green")
DATA_STEPS = 90
"""Steps of an episode of the data: twice as many as the pillar is shown, as in the paper."""
NOISE, HOLD = 0.4, 1
"""Share of the steps at which an action that was drawn is played; how long one is held at most. So the return of 90
steps is that of the paper's data. Where errors are few or held, three of four actions repeat the one before, and
models that know their past can repeat instead of looking."""
CHASED = {"right": None, "any": COLOURS, "red": ("red",), "green": ("green",)}
"""What a player is after; `right` is the expert, the others have no memory."""
RETURN_PER_STEP = 5.3 / 90
"""Of the expert without noise."""

EXPERT_DEFAULTS: Mapping[str, Any] = {
    "noise": NOISE,
    "hold": HOLD,
    "chases": "right",
    **asdict(Rules(max_steps=DATA_STEPS)),
}


def player(
    env: gym.Env[Any, Any],
    rng: np.random.Generator,
    noise: float = NOISE,
    hold: int = HOLD,
    chases: str = "right",
    **_: Any,
) -> Player:
    """The scripted player for one episode. Errors may stick: an action is drawn and held for 1 to `hold` steps."""
    check_player(noise, hold, chases)
    inner = env.unwrapped
    assert isinstance(inner, TwoColorsEnv)
    chase, left, drawn = Chaser(inner, CHASED[chases] or (inner.colour,)), 0, 0

    def act(observation: Tree, previous: Any) -> int:
        nonlocal left, drawn
        wanted = chase(observation, previous)
        if left == 0 and rng.random() < begins(noise, hold):
            drawn, left = int(rng.integers(len(BUTTONS))), int(rng.integers(1, hold + 1))
        if left == 0:
            return wanted
        left -= 1
        return drawn

    return act


def begins(noise: float, hold: int) -> float:
    """The probability that an error begins, if errors are to take this share of the steps."""
    mean = (hold + 1) / 2
    return noise / (mean - noise * (mean - 1))


def check_player(noise: Any, hold: Any, chases: Any) -> None:
    """Refuse what is no share, no number of steps, and nothing to chase."""
    if not isinstance(noise, (int, float)) or isinstance(noise, bool) or not 0 <= noise <= 1:
        raise ConfigError(f"{NAME} expert: noise must be a number in [0, 1], got {noise!r}")
    if not isinstance(hold, int) or isinstance(hold, bool) or hold < 1:
        raise ConfigError(f"{NAME} expert: hold must be a whole number of at least 1, got {hold!r}")
    if chases not in CHASED:
        raise ConfigError(f"{NAME} expert: chases must be one of {', '.join(CHASED)}, got {chases!r}")


def expert(request: CollectRequest) -> Iterator[Trajectory]:
    """Episodes of the scripted player. Options: `noise`, `hold`, `chases`, and those of the environment."""
    options = {**EXPERT_DEFAULTS, **request.kwargs}
    check_names(options, EXPERT_DEFAULTS, f"option of the expert of {NAME}:")
    own = {name: options.pop(name) for name in ("noise", "hold", "chases")}
    check_player(**own)
    return demonstrate(TwoColorsEnv(**options), partial(player, **own), request.seeds.tolist(), FACTS[1:])


def case(pillar: int = 45, height: int = 32, colour: str = "seed", max_steps: int = MAX_STEPS) -> EvalCase:
    """Episodes of 2,100 steps; the return to ask for is what the expert gets in so many steps of the data."""
    rules = Rules(pillar=pillar, height=height, colour=colour, max_steps=max_steps)
    kwargs, usual = asdict(rules), asdict(Rules())
    changed = [f"{key}={value}" for key, value in kwargs.items() if value != usual[key]]
    return EvalCase(
        name=",".join(changed) or "default",
        kwargs=kwargs,
        target_return=round(RETURN_PER_STEP * max_steps, 1),
        max_steps=max_steps,
        tags={"pillar": str(pillar)},
    )


def make_batch(**kwargs: Any) -> BatchEnv:
    """Many episodes, each in an engine of its own."""
    return shared_out(partial(TwoColorsEnv, **kwargs), FACTS)


ENVS.add(
    NAME,
    EnvSpec(
        name=NAME,
        summary="ViZDoom-Two-Colors: remember the colour of a pillar that vanishes, and collect items of that colour",
        make=TwoColorsEnv,
        make_batch=make_batch,
        expert=expert,
        expert_defaults=EXPERT_DEFAULTS,
        player=player,
        case=case,
        tags=("colour",),
        oracle={"green": gym.spaces.Discrete(2)},
    ),
)
