"""One Atari game under the evaluation protocol of the paper and of the Decision Transformer.
84 x 84 grey frames, four of them stacked, every action held for four frames, the brighter of the last two shown,
up to 30 no-ops and FIRE at the start, the whole game as one episode, the score as it is.
"""

from __future__ import annotations

import atexit
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
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

    ram: NDArray[np.uint8]
    score: float
    """Summed from where the trial began."""
    lives: int


@dataclass(kw_only=True, eq=False)
class Moment:
    """The game after a step, played or only tried."""

    ram: NDArray[np.uint8]
    screens: Frames
    """The last two frames."""
    reward: float
    lives: int
    over: bool
    state: Any = None
    """Of the emulator; kept only when a trial leaves the moment, since that takes time."""
    following: dict[int, Moment] = field(default_factory=dict)
    """What was tried from here, by action."""


class AtariEnv(gym.Env[Frames, np.int64]):
    """A game of the Arcade Learning Environment; an episode is a function of its seed."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}
    _here: Moment
    """Where the game is."""
    _there: Moment
    """Where the emulator is: elsewhere after a trial."""

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
        self._screen = self.ale.getScreenDims()
        self._frames = np.zeros((stack, SIDE, SIDE), np.uint8)
        self._over, self._closed = True, False
        self.observation_space = gym.spaces.Box(0, 255, self._frames.shape, np.uint8)
        self.action_space = gym.spaces.Discrete(len(self._actions))

    @property
    def ram(self) -> NDArray[np.uint8]:
        """The 128 bytes of the console, which scripted players read."""
        return self._here.ram

    @property
    def lives(self) -> int:
        return self._here.lives

    def foresee(self, actions: Iterable[int]) -> Iterator[Glimpse]:
        """What would follow if these actions were played from here; the game stays where it is.

        What was tried is not emulated again, neither in a trial nor when it is played.
        """
        moment, total = self._here, 0.0
        for action in actions:
            if action not in moment.following:
                if self._there.state is None:
                    self._there.state = self.ale.cloneState()
                self._go(moment)
                moment.following[action] = self._there = self._advance([action] * SKIP)
            moment = moment.following[action]
            total += moment.reward
            yield Glimpse(ram=moment.ram, score=total, lives=moment.lives)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frames, dict[str, Any]]:
        if self._closed:
            raise gym.error.ResetNeeded("atari: the environment is closed; make another")
        super().reset(seed=seed)
        # Either alone leaves something of the game before: in Seaquest the colours, in Q*bert a clock.
        self.ale.reset_game()
        self.ale.restoreSystemState(self._fresh)
        self._held, self._steps, self._over = 0, 0, False
        self._advance(self._held_for(FIRE))
        # After FIRE, since before it nothing moves in some games, and all episodes would be the same.
        waits = int(self.np_random.integers(1, self.protocol.no_ops + 1)) if self.protocol.no_ops else 0
        for _ in range(waits):
            self.ale.act(self._actions[0])
        self._here = self._there = self._advance(self._held_for(0))
        self._show()
        self._frames[:] = self._frames[-1]
        return self._frames.copy(), {"lives": self.lives}

    def step(self, action: np.int64) -> tuple[Frames, float, bool, bool, dict[str, Any]]:
        if self._over:
            raise gym.error.ResetNeeded("atari: the episode is over; call reset before step")
        if not self.action_space.contains(action):
            raise gym.error.InvalidAction(f"atari: actions are 0 .. {len(self._actions) - 1}, got {action!r}")
        # A frame with a sticky action is not known before, and a picture is only there after emulation.
        tried = None if self.protocol.sticky or self.render_mode else self._here.following.get(int(action))
        if tried is None:
            self._go(self._here)
            tried = self._there = self._advance(self._held_for(int(action)))
        self._here = tried
        self._show()
        self._steps += 1
        truncated = not tried.over and self._steps >= self.protocol.max_steps
        self._over = tried.over or truncated
        return self._frames.copy(), tried.reward, tried.over, truncated, {"lives": tried.lives}

    def _held_for(self, action: int) -> Iterator[int]:
        """The actions of the frames of a step, of which some are those of the frame before if they are sticky."""
        sticky = self.protocol.sticky
        for _ in range(SKIP):
            if not sticky or self.np_random.random() >= sticky:
                self._held = action
            yield self._held

    def _go(self, moment: Moment) -> None:
        """Bring the emulator to a moment."""
        if self._there is not moment:
            self.ale.restoreState(moment.state)

    def _advance(self, actions: Iterable[int]) -> Moment:
        """Play a step from where the emulator is: an action for each frame."""
        reward, screens = 0.0, np.empty((2, *self._screen), np.uint8)
        for frame, action in enumerate(actions):
            reward += self.ale.act(self._actions[action])
            if frame >= SKIP - 2:
                self.ale.getScreenGrayscale(screens[frame - (SKIP - 2)])
        over = bool(self.ale.game_over())
        return Moment(ram=self.ale.getRAM(), screens=screens, reward=reward, lives=self.ale.lives(), over=over)

    def _show(self) -> None:
        """Put the newest frame into the stack: sprites that flicker are on one of the last two frames."""
        self._frames[:-1] = self._frames[1:]
        self._frames[-1] = self._resize(self._here.screens.max(0))

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
