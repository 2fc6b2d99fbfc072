"""One engine of ViZDoom with the scenario in it: started, played a tic at a time, and gone with the process."""

from __future__ import annotations

import atexit
import contextlib
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rate.envs.vizdoom import guard
from rate.envs.vizdoom.scenario import SKIP, WAD
from rate.errors import MissingExtraError, RateError

SHOWN = ("hud", "crosshair", "weapon", "decals", "particles", "effects_sprites", "messages", "corpses")
"""What the engine is told not to draw."""
BUTTONS = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (0, 1, 1))
"""Action to (turn left, turn right, forward)."""


MOST_IDLE = 2
"""Engines that are kept for the next environment: to start one costs as much as two hundred steps."""
_IDLE: list[Engine] = []


class Engine:
    """One engine. It is a process of its own, and the guard sees to it that it ends with this one."""

    def __init__(self) -> None:
        vizdoom = load()
        self._folder, self._game = Path(tempfile.mkdtemp(prefix="rate-vizdoom-")), vizdoom.DoomGame()
        self._errors = tuple(getattr(vizdoom, name) for name in dir(vizdoom) if name.endswith("Exception"))
        try:
            with self._one_line():
                _set_up(vizdoom, self._game, self._folder)
                self._game.init()
        except BaseException:
            self.close()
            raise

    def begin(self, level: str, seed: int) -> None:
        """A new episode: a function of the map and the seed."""
        with self._one_line():
            self._game.set_doom_map(level)
            self._game.set_seed(seed)
            self._game.new_episode()

    def act(self, action: int) -> None:
        """Hold the buttons of an action for the tics of a step."""
        with self._one_line():
            self._game.make_action(list(BUTTONS[action]), SKIP)

    @property
    def state(self) -> Any:
        """The engine's own: `screen_buffer`, `game_variables` (red taken, green taken, x, y, angle), `objects`."""
        with self._one_line():
            return self._game.get_state()

    @property
    def runs(self) -> bool:
        return bool(self._game.is_running())

    def close(self) -> None:
        self._game.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    @contextlib.contextmanager
    def _one_line(self) -> Iterator[None]:
        try:
            yield
        except self._errors as reason:
            raise RateError(f"the engine of ViZDoom has ended: {' '.join(str(reason).split())}") from reason


def borrow() -> Engine:
    """An engine that is not used."""
    return _IDLE.pop() if _IDLE else Engine()


def give_back(engine: Engine) -> None:
    """Let another environment have it."""
    if engine.runs and len(_IDLE) < MOST_IDLE:
        _IDLE.append(engine)
    else:
        engine.close()


@atexit.register
def _close_idle() -> None:
    while _IDLE:
        _IDLE.pop().close()


def load() -> Any:
    """The package, which is an extra."""
    try:
        import vizdoom
    except ImportError as error:
        raise MissingExtraError("vizdoom", "vizdoom") from error
    return vizdoom


def _set_up(vizdoom: Any, game: Any, folder: Path) -> None:
    game.set_vizdoom_path(_guarded(vizdoom.exe_path, folder))
    game.set_doom_config_path(str(folder / "engine.ini"))  # else it is written where the user is
    game.set_doom_scenario_path(str(WAD))
    game.set_screen_resolution(vizdoom.ScreenResolution.RES_256X144)
    game.set_screen_format(vizdoom.ScreenFormat.RGB24)
    for name in SHOWN:
        getattr(game, f"set_render_{name}")(False)
    game.set_render_screen_flashes(False)  # they would tell which item was the right one
    game.set_window_visible(False)
    game.set_sound_enabled(False)
    game.set_mode(vizdoom.Mode.PLAYER)
    game.set_episode_timeout(0)
    button, variable = vizdoom.Button, vizdoom.GameVariable
    game.set_available_buttons([button.TURN_LEFT, button.TURN_RIGHT, button.MOVE_FORWARD])
    counts = [variable.AMMO1, variable.AMMO2]
    game.set_available_game_variables([*counts, variable.POSITION_X, variable.POSITION_Y, variable.ANGLE])
    game.set_objects_info_enabled(True)


def _guarded(engine: str, folder: Path) -> str:
    """A program that starts the engine under the guard, where the system can tell of a parent's end."""
    if sys.platform != "linux":
        return engine
    words = [sys.executable, "-SEs", guard.__file__, str(os.getpid()), str(folder), engine]
    script = folder / "engine"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    script.chmod(0o700)
    return str(script)


def check_resize() -> Any:
    """OpenCV, which makes frames smaller."""
    try:
        import cv2
    except ImportError as error:
        raise MissingExtraError("opencv-python-headless", "vizdoom") from error
    return cv2
