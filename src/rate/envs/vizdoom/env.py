"""ViZDoom-Two-Colors: a pillar shows a colour and vanishes; items of that colour heal, those of the other hurt.
The task of the paper's section on ViZDoom, in a scenario of our own. An episode is a function of its seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.envs.vizdoom.engine import BUTTONS, Engine, borrow, check_resize, give_back, load
from rate.envs.vizdoom.scenario import BARE, GREEN, PILLARS, RED
from rate.errors import ConfigError

Frame = NDArray[np.uint8]

HEALTH, LOSS, ITEM = 100.0, 10 / 32, 25.0
"""At the start and at most; lost in a step; given or taken by an item."""
RIGHT, SURVIVED = 1.0, 0.02
"""Rewards of an item of the right colour, and of a step."""
MAX_STEPS = 2100
SHAPES = {32: (32, 56), 64: (64, 112)}
"""Height to height and width; the larger is the paper's."""
COLOURS = ("red", "green")


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What may be chosen."""

    pillar: int = 45
    """Steps for which the pillar is shown: 45, 90, or 0 for none."""
    height: int = 32
    """Of the observation, 3 x 32 x 56 or 3 x 64 x 112 pixels."""
    colour: str = "seed"
    """`red`, `green`, or as the seed says: green if it is even, red if it is odd. Nothing else follows from it."""
    max_steps: int = MAX_STEPS

    def __post_init__(self) -> None:
        for name, values in (("pillar", (45, 90, 0)), ("height", tuple(SHAPES)), ("colour", ("seed", *COLOURS))):
            value = getattr(self, name)
            if isinstance(value, bool) or value not in values:
                known = ", ".join(map(str, values))
                raise ConfigError(f"vizdoom-two-colors: {name} must be one of {known}, got {value!r}")
        if not isinstance(self.max_steps, int) or isinstance(self.max_steps, bool) or self.max_steps < 1:
            raise ConfigError(
                f"vizdoom-two-colors: max_steps must be a whole number of at least 1, got {self.max_steps!r}"
            )


class TwoColorsEnv(gym.Env[Frame, np.int64]):
    """One episode after the other in one engine, which is started by the first `reset`."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 17}

    def __init__(
        self,
        pillar: int = 45,
        height: int = 32,
        colour: str = "seed",
        max_steps: int = MAX_STEPS,
        render_mode: str | None = None,
    ) -> None:
        self.rules = Rules(pillar=pillar, height=height, colour=colour, max_steps=max_steps)
        if render_mode not in (None, "rgb_array"):
            raise ConfigError(f"vizdoom-two-colors: render_mode must be None or 'rgb_array', got {render_mode!r}")
        load()
        self._cv2 = check_resize()
        self.render_mode = render_mode
        self.observation_space = gym.spaces.Box(0, 255, (3, *SHAPES[height]), np.uint8)
        self.action_space = gym.spaces.Discrete(len(BUTTONS))
        self._engine: Engine | None = None
        self._over = True

    @property
    def engine(self) -> Engine:
        """What scripted players look into."""
        if self._engine is None:
            self._engine = borrow()
        return self._engine

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frame, dict[str, Any]]:
        super().reset(seed=seed)
        number = int(self.np_random.integers(2**31)) if seed is None else seed
        self.colour = COLOURS[number % 2 == 0] if self.rules.colour == "seed" else self.rules.colour
        shown = RED if self.colour == "red" else GREEN
        self.engine.begin(PILLARS[shown, self.rules.pillar] if self.rules.pillar else BARE, number)
        self.health, self.steps, self._taken, self._over = HEALTH, 0, np.zeros(2), False
        return self._observe(), {"colour": self.colour, "green": int(self.colour == "green")}

    def step(self, action: np.int64) -> tuple[Frame, float, bool, bool, dict[str, Any]]:
        if self._over:
            raise gym.error.ResetNeeded("vizdoom-two-colors: the episode is over; call reset before step")
        if not self.action_space.contains(action):
            raise gym.error.InvalidAction(f"vizdoom-two-colors: actions are 0 .. {len(BUTTONS) - 1}, got {action!r}")
        self.engine.act(int(action))
        self.steps += 1
        observation = self._observe()
        right, wrong = self._new_items()
        self.health = min(HEALTH, self.health - LOSS + ITEM * (right - wrong))
        terminated = self.health <= 0
        truncated = not terminated and self.steps >= self.rules.max_steps
        self._over = terminated or truncated
        reward = RIGHT * right + (0.0 if terminated else SURVIVED)
        return observation, reward, terminated, truncated, {"health": self.health}

    def _observe(self) -> Frame:
        """The screen, made smaller."""
        self.state = self.engine.state
        height, width = SHAPES[self.rules.height]
        small = self._cv2.resize(self.state.screen_buffer, (width, height), interpolation=self._cv2.INTER_AREA)
        return np.ascontiguousarray(small.transpose(2, 0, 1))

    def _new_items(self) -> tuple[int, int]:
        """Items of the right and of the wrong colour that were taken in this step."""
        taken = np.asarray(self.state.game_variables[:2])
        red, green = (int(count) for count in taken - self._taken)
        self._taken = taken
        return (red, green) if self.colour == "red" else (green, red)

    def render(self) -> Any:
        return self.state.screen_buffer if self.render_mode and self._engine is not None else None

    def close(self) -> None:
        if self._engine is not None:
            give_back(self._engine)
        self._engine, self._over = None, True
