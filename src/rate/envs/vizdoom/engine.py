"""One engine of ViZDoom with the scenario in it: started, played a tic at a time, and gone with the process."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rate.envs.vizdoom import guard
from rate.envs.vizdoom.scenario import SKIP, WAD
from rate.errors import MissingExtraError, RateError

SHOWN = ("hud", "crosshair", "weapon", "decals", "particles", "effects_sprites", "messages", "corpses")
"""What the engine is told not to draw."""
BUTTONS = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (0, 1, 1))
"""Action to (turn left, turn right, forward)."""


class Engine:
    """One engine. It is a process of its own, and the guard sees to it that it ends with this one."""

    def __init__(self) -> None:
        vizdoom = load()
        self._folder = Path(tempfile.mkdtemp(prefix="rate-vizdoom-"))
        self._game, self._error = vizdoom.DoomGame(), vizdoom.ViZDoomErrorException
        try:
            _set_up(vizdoom, self._game, self._folder)
            self._game.init()
        except (vizdoom.ViZDoomErrorException, vizdoom.FileDoesNotExistException, OSError) as reason:
            self.close()
            raise RateError(f"the engine of ViZDoom does not start: {' '.join(str(reason).split())}") from reason
        except BaseException:
            self.close()
            raise

    def begin(self, level: str, seed: int) -> None:
        """A new episode: a function of the map and the seed."""
        self._game.set_doom_map(level)
        self._game.set_seed(seed)
        self._game.new_episode()

    def act(self, action: int) -> None:
        """Hold the buttons of an action for the tics of a step."""
        self._game.make_action(list(BUTTONS[action]), SKIP)

    @property
    def state(self) -> Any:
        """The engine's own: `screen_buffer`, `game_variables` (red taken, green taken, x, y, angle), `objects`."""
        state = self._game.get_state()
        if state is None:
            raise RateError("the engine of ViZDoom ended the episode by itself")
        return state

    @property
    def screen(self) -> NDArray[np.uint8]:
        """(144, 256, 3)"""
        screen: NDArray[np.uint8] = self.state.screen_buffer
        return screen

    def close(self) -> None:
        self._game.close()
        shutil.rmtree(self._folder, ignore_errors=True)


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
