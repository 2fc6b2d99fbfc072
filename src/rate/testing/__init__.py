"""The contracts of models and environments, for those of your own: call these from a test of yours.

`import my_module` first, which registers them. A contract that is broken raises AssertionError and says which it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from rate.envs import ENVS
from rate.errors import RateError
from rate.models import MODELS, ModelConfig
from rate.nn.unit import Unit
from rate.testing import envs, models
from rate.testing.windows import WINDOW, Policy
from rate.types import Spaces

__all__ = ["SPACES", "build", "check_env", "check_model"]

SPACES: dict[str, Spaces] = {
    "vector": Spaces(observation=gym.spaces.Box(-1, 1, (4,)), action=gym.spaces.Discrete(3)),
    "tree": Spaces(
        observation=gym.spaces.Dict(
            place=gym.spaces.Box(-1, 1, (2, 2)),
            cards=gym.spaces.Tuple(
                [gym.spaces.Discrete(3, start=1), gym.spaces.MultiDiscrete([2, 3]), gym.spaces.MultiBinary(2)]
            ),
        ),
        action=gym.spaces.Discrete(4, start=-1),
    ),
    "category": Spaces(
        observation=gym.spaces.Discrete(5, start=2), action=gym.spaces.MultiDiscrete([3, 2], start=[1, 0])
    ),
    "control": Spaces(observation=gym.spaces.MultiDiscrete([3, 4]), action=gym.spaces.Box(-1, 1, (2,))),
    "image": Spaces(observation=gym.spaces.Box(0, 255, (3, 36, 36), np.uint8), action=gym.spaces.Discrete(3)),
}
"""The kinds of spaces that a model is tried with."""
ORACLE = gym.spaces.Box(-1, 1, (2,))


def check_model(name: str, **fields: Any) -> None:
    """Hold a registered model, with these fields in its preset, to every contract; made small it takes seconds."""
    config = MODELS.get(name)(WINDOW, **fields)
    config.check_window(WINDOW)
    for space, spaces in SPACES.items():
        contracts = (*models.EVERYWHERE, *models.ONCE) if space == "vector" else models.EVERYWHERE
        for contract in contracts:
            _hold(f"model {name} with {space} observations", contract, build(config, spaces))


def check_env(name: str, played_in: envs.PlayedIn | None = None) -> None:
    """Hold a registered environment to every contract.

    `played_in` tells the arguments of the environment behind an episode of the expert, where they are not the default.
    """
    spec = ENVS.get(name)
    for contract in envs.CONTRACTS:
        _hold(f"environment {name}", contract, spec)
    envs.expert_is_reproducible_and_replays_exactly(spec, played_in)


def build(config: ModelConfig, spaces: Spaces, seed: int = 0) -> Policy:
    """In eval mode; with biases, norms and units away from 0 and 1, a row that should not be there cannot hide."""
    torch.manual_seed(seed)
    given = replace(spaces, oracle=ORACLE) if getattr(config, "oracle", False) else spaces
    policy = config.build(given).eval()
    for unit in (module for module in policy.modules() if isinstance(module, Unit) and module.fitted):
        mean, more = unit.std.numpy() * torch.rand(2, *unit.std.shape).numpy()
        unit.fit(mean, unit.std.numpy() + more)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter)) if parameter.dim() == 1 else parameter.mul_(1.5)
    return policy


def _hold(what: str, contract: Callable[[Any], None], thing: Any) -> None:
    try:
        contract(thing)
    except RateError:
        raise
    except Exception as error:
        raise AssertionError(f"{what} breaks the contract {contract.__name__}: {error}") from error
