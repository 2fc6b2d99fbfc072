"""The four games of the paper's Atari table, registered without importing the emulator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from rate.envs.atari import paddle, qbert, seaquest
from rate.envs.atari.emulator import MAX_STEPS, AtariEnv, Protocol
from rate.envs.demonstrate import demonstrate
from rate.envs.spec import ENVS, BatchEnv, CollectRequest, EnvSpec, EvalCase, Player
from rate.envs.worker_batch import shared_out
from rate.errors import ConfigError
from rate.registry import check_names
from rate.types import Trajectory, Tree

SPREAD = 0.2
LONGEST_ERROR = 8
"""Steps. An error of one step is gone before it shows; one that is held moves what the player must then put right."""


@dataclass(frozen=True, kw_only=True)
class Game:
    """One game."""

    name: str
    rules: str
    player: Callable[[AtariEnv, np.random.Generator], Player]
    target: float
    """The score that a policy is asked for: the paper's."""


GAMES = (
    Game(name="breakout", rules="break the bricks with a ball", player=paddle.breakout, target=180.0),
    Game(name="pong", rules="win at table tennis", player=paddle.pong, target=20.0),
    Game(name="qbert", rules="paint a pyramid by hopping on it", player=qbert.qbert, target=14_000.0),
    Game(name="seaquest", rules="shoot, save divers, come up for air", player=seaquest.seaquest, target=1150.0),
)
NAMES = tuple(f"atari/{game.name}" for game in GAMES)

EXPERT_DEFAULTS: Mapping[str, Any] = {"spread": SPREAD, **asdict(Protocol())}


def player(
    game: Game, env: gym.Env[Any, Any], rng: np.random.Generator, spread: float = SPREAD, **protocol: Any
) -> Player:
    """The scripted player for one episode, which errs at a share of the steps that is drawn from [0, spread)."""
    check_spread(spread)
    inner = env.unwrapped
    assert isinstance(inner, AtariEnv) and isinstance(inner.action_space, gym.spaces.Discrete)
    share, play = spread * rng.random(), game.player(inner, rng)
    return erring(play, rng, share, int(inner.action_space.n))


def erring(play: Player, rng: np.random.Generator, share: float, actions: int) -> Player:
    """The player, but that about a share of the steps play an action that is drawn and held for some steps.

    So data shows how to come back from where a policy gets to by its own errors.
    """
    begins = share / ((1 - share) * (1 + LONGEST_ERROR) / 2 + share)
    held, left = 0, 0

    def act(observation: Tree, previous: Any) -> int:
        nonlocal held, left
        wanted = int(play(observation, previous))
        if not left and rng.random() < begins:
            held, left = int(rng.integers(actions)), int(rng.integers(1, LONGEST_ERROR + 1))
        if not left:
            return wanted
        left -= 1
        return held

    return act


def check_spread(spread: Any) -> None:
    """Refuse what is no share."""
    if not isinstance(spread, (int, float)) or isinstance(spread, bool) or not 0 <= spread <= 1:
        raise ConfigError(f"atari expert: spread must be a number in [0, 1], got {spread!r}")


def expert(game: Game, request: CollectRequest) -> Iterator[Trajectory]:
    """Episodes of the scripted player. Options: `spread`, and those of the environment."""
    options = {**EXPERT_DEFAULTS, **request.kwargs}
    check_names(options, EXPERT_DEFAULTS, f"option of the expert of atari/{game.name}:")
    spread = options.pop("spread")
    check_spread(spread)
    return demonstrate(AtariEnv(game.name, **options), partial(player, game, spread=spread), request.seeds.tolist())


def case(game: Game, stack: int = 4, sticky: float = 0.0, no_ops: int = 30, max_steps: int = MAX_STEPS) -> EvalCase:
    """The whole game; the return to ask for is the paper's."""
    kwargs = asdict(Protocol(stack=stack, sticky=sticky, no_ops=no_ops, max_steps=max_steps))
    changed = [f"{key}={value}" for key, value in kwargs.items() if value != EXPERT_DEFAULTS[key]]
    return EvalCase(
        name=",".join(changed) or "default",
        kwargs=kwargs,
        target_return=game.target,
        max_steps=max_steps,
        tags={"game": game.name},
    )


def make_batch(game: str, **kwargs: Any) -> BatchEnv:
    """Many episodes of a game, in worker processes."""
    return shared_out(partial(AtariEnv, game, **kwargs))


def register(game: Game) -> None:
    """Add one game to the environments of the library."""
    spec = EnvSpec(
        name=f"atari/{game.name}",
        summary=f"Atari {game.name.capitalize()}: {game.rules}",
        make=partial(AtariEnv, game.name),
        make_batch=partial(make_batch, game.name),
        expert=partial(expert, game),
        expert_defaults=EXPERT_DEFAULTS,
        player=partial(player, game),
        case=partial(case, game),
        stacks_frames=True,
    )
    ENVS.add(spec.name, spec)


for _game in GAMES:
    register(_game)
