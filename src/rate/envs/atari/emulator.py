"""One Atari game under the evaluation protocol of the paper and of the Decision Transformer.
84 x 84 grey frames, four of them stacked, every action held for four frames, the brighter of the last two shown,
up to 30 no-ops and FIRE at the start, the whole game as one episode, the score as it is.
"""

from __future__ import annotations

import atexit
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.errors import ConfigError, MissingExtraError

Frames = NDArray[np.uint8]
Emulator: TypeAlias = tuple[Any, Any, Callable[..., Any]]
"""An emulator with a game in it, the state of the new game, and how frames are made smaller."""

_IDLE: defaultdict[str, list[Emulator]] = defaultdict(list)
"""Emulators of closed environments, by game: to load a game costs as much as two hundred steps of it."""
atexit.register(_IDLE.clear)  # before the interpreter takes the library apart

SIDE = 84
SKIP = 4
"""Frames of the game in a step."""
MAX_STEPS = 27_000
"""108,000 frames: half an hour of play."""
FIRE = 1
"""The place of FIRE among the actions of all games here; 0 is no action."""


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How a game is played and shown."""

    stack: int = 4
    """Frames of an observation, the newest last; the first one stands for those before it."""
    sticky: float = 0.0
    """Probability that a frame plays the action of the frame before again; 0.25 is how DQN-replay was collected."""
    no_ops: int = 30
    """After FIRE the game goes on for 1 to so many frames without an action, as the seed decides."""
    max_steps: int = MAX_STEPS

    def __post_init__(self) -> None:
        for name, least in (("stack", 1), ("no_ops", 0), ("max_steps", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ConfigError(f"atari: {name} must be a whole number of at least {least}, got {value!r}")
        number = isinstance(self.sticky, (int, float)) and not isinstance(self.sticky, bool)
        if not (number and 0 <= self.sticky < 1):
            raise ConfigError(f"atari: sticky must be a number in [0, 1), got {self.sticky!r}")


@dataclass(frozen=True, kw_only=True)
class Glimpse:
    """A step that was tried and taken back."""

    ram: NDArray[np.int64]
    score: float
    """Summed from where the trial began."""
    lives: int


class AtariEnv(gym.Env[Frames, np.int64]):
    """A game of the Arcade Learning Environment; an episode is a function of its seed."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}

    def __init__(
        self,
        game: str,
        stack: int = 4,
        sticky: float = 0.0,
        no_ops: int = 30,
        max_steps: int = MAX_STEPS,
        render_mode: str | None = None,
    ) -> None:
        self.protocol = Protocol(stack=stack, sticky=sticky, no_ops=no_ops, max_steps=max_steps)
        if render_mode not in (None, "rgb_array"):
            raise ConfigError(f"atari: render_mode must be None or 'rgb_array', got {render_mode!r}")
        self.render_mode = render_mode
        self._game = game
        self._emulator = _IDLE[game].pop() if _IDLE[game] else _load(game)
        self.ale, self._fresh, self._resize = self._emulator
        self._actions = list(self.ale.getMinimalActionSet())
        height, width = self.ale.getScreenDims()
        self._screens = np.zeros((2, height, width), np.uint8)
        self._frames = np.zeros((stack, SIDE, SIDE), np.uint8)
        self._over, self._closed = True, False
        self.observation_space = gym.spaces.Box(0, 255, self._frames.shape, np.uint8)
        self.action_space = gym.spaces.Discrete(len(self._actions))

    @property
    def ram(self) -> NDArray[np.uint8]:
        """The 128 bytes of the console, which scripted players read."""
        ram: NDArray[np.uint8] = self.ale.getRAM()
        return ram

    def foresee(self, actions: Iterable[int]) -> Iterator[Glimpse]:
        """What would follow if these actions were played from here; the game stays where it is."""
        here, total = self.ale.cloneState(), 0.0
        try:
            for action in actions:
                for _ in range(SKIP):
                    total += self.ale.act(self._actions[action])
                yield Glimpse(ram=self.ram.astype(np.int64), score=total, lives=self.ale.lives())
        finally:
            self.ale.restoreState(here)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frames, dict[str, Any]]:
        if self._closed:
            raise gym.error.ResetNeeded("atari: the environment is closed; make another")
        super().reset(seed=seed)
        # Either alone leaves something of the game before: in Seaquest the colours, in Q*bert a clock.
        self.ale.reset_game()
        self.ale.restoreSystemState(self._fresh)
        self._held, self._steps, self._over = 0, 0, False
        self._advance(FIRE)
        # After FIRE, since before it nothing moves in some games, and all episodes would be the same.
        waits = int(self.np_random.integers(1, self.protocol.no_ops + 1)) if self.protocol.no_ops else 0
        for _ in range(waits):
            self.ale.act(self._actions[0])
        self._advance(0)
        self._show()
        self._frames[:] = self._frames[-1]
        return self._frames.copy(), {"lives": self.ale.lives()}

    def step(self, action: np.int64) -> tuple[Frames, float, bool, bool, dict[str, Any]]:
        if self._over:
            raise gym.error.ResetNeeded("atari: the episode is over; call reset before step")
        if not self.action_space.contains(action):
            raise gym.error.InvalidAction(f"atari: actions are 0 .. {len(self._actions) - 1}, got {action!r}")
        reward = self._advance(int(action))
        self._show()
        self._steps += 1
        terminated = bool(self.ale.game_over())
        truncated = not terminated and self._steps >= self.protocol.max_steps
        self._over = terminated or truncated
        return self._frames.copy(), reward, terminated, truncated, {"lives": self.ale.lives()}

    def _advance(self, action: int) -> float:
        """Hold an action for some frames; the last two are kept."""
        reward, sticky = 0.0, self.protocol.sticky
        for frame in range(SKIP):
            if not sticky or self.np_random.random() >= sticky:
                self._held = action
            reward += self.ale.act(self._actions[self._held])
            if frame >= SKIP - 2:
                self.ale.getScreenGrayscale(self._screens[frame - (SKIP - 2)])
        return reward

    def _show(self) -> None:
        """Put the newest frame into the stack: sprites that flicker are on one of the last two frames."""
        self._frames[:-1] = self._frames[1:]
        self._frames[-1] = self._resize(self._screens.max(0))

    def render(self) -> Any:
        return self.ale.getScreenRGB() if self.render_mode else None

    def close(self) -> None:
        if not self._closed:
            _IDLE[self._game].append(self._emulator)
        self._over = self._closed = True


def _load(game: str) -> Emulator:
    try:
        import ale_py
    except ImportError as error:
        raise MissingExtraError("ale-py", "atari") from error
    try:
        import cv2
    except ImportError as error:
        raise MissingExtraError("opencv-python-headless", "atari") from error
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    ale = ale_py.ALEInterface()
    ale.setFloat("repeat_action_probability", 0.0)
    ale.setInt("random_seed", 0)
    rom = ale_py.roms.get_rom_path(game)
    try:
        if rom is None:
            raise FileNotFoundError(game)
        ale.loadROM(rom)
    except (OSError, RuntimeError) as error:
        raise ConfigError(f"atari: the ROM of {game} is missing or damaged; install ale-py again") from error
    ale.reset_game()
    return ale, ale.cloneSystemState(), partial(cv2.resize, dsize=(SIDE, SIDE), interpolation=cv2.INTER_AREA)
