"""Which OpenGL draws without a screen, and the package `memory_maze`, imported without the old `gym` that it names."""

from __future__ import annotations

import ctypes
import importlib
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

import gymnasium as gym

from rate.errors import MissingExtraError, MissingLibraryError

LIBRARIES = {"egl": ("libEGL.so.1",), "osmesa": ("libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so")}
"""Ways to draw without a screen, the preferred one first, and the library that each needs."""
INSTALL = "apt-get install libosmesa6, or libegl1 with libgl1-mesa-dri"


def backend() -> str:
    """What MUJOCO_GL says; else the first way that is there."""
    wanted = os.environ.get("MUJOCO_GL", "").strip().lower()
    if wanted or sys.platform != "linux":
        return wanted or "glfw"
    for name, files in LIBRARIES.items():
        if any(_is_there(file) for file in files):
            return name
    raise MissingLibraryError(f"memory-maze: there is no OpenGL that draws without a screen; {INSTALL}")


def _is_there(file: str) -> bool:
    try:
        ctypes.CDLL(file)
    except OSError:
        return False
    return True


@cache
def package() -> ModuleType:
    """`memory_maze.tasks`."""
    # It sets this itself where it is not set, to what may not be there.
    os.environ["MUJOCO_GL"] = backend()
    try:
        with _gym_is_gymnasium():
            found = importlib.import_module("memory_maze.tasks")
    except ModuleNotFoundError as error:
        raise MissingExtraError("memory-maze", "memory-maze") from error
    except (ImportError, AttributeError, OSError, RuntimeError) as error:  # of a library that is not there
        raise MissingLibraryError(_cannot_draw(error)) from error
    # At every reset it says that a ball that rolls on joints has no free joint.
    logging.getLogger("absl").setLevel(logging.ERROR)
    return found


@contextmanager
def _gym_is_gymnasium() -> Iterator[None]:
    """The package imports `gym`, which has no release for this numpy, for its registry and spaces only."""
    names = ("gym", "gym.envs", "gym.envs.registration", "gym.spaces")
    before = {name: sys.modules.get(name) for name in names}
    modules = (gym, gym.envs, gym.envs.registration, gym.spaces)
    sys.modules.update(zip(names, modules, strict=True))
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def drawing_context() -> Any:
    """OpenGL for this thread of this process; all mazes in it share it."""
    return _context(os.getpid(), threading.get_ident())


@cache
def _context(process: int, thread: int) -> Any:
    name = backend()
    try:
        made = importlib.import_module(f"mujoco.{name}").GLContext(64, 64)
        made.make_current()
        _try_to_draw()
    except Exception as error:  # whatever a driver that is not there raises
        raise MissingLibraryError(_cannot_draw(error)) from error
    return made


def _try_to_draw() -> None:
    """Some contexts are made where there is no screen, and fail when they are first used."""
    import mujoco

    empty = mujoco.MjModel.from_xml_string("<mujoco/>")
    mujoco.MjrContext(empty, mujoco.mjtFontScale.mjFONTSCALE_50.value).free()


def _cannot_draw(error: Exception) -> str:
    reason = (str(error) or type(error).__name__).splitlines()[0]
    return f"memory-maze: MUJOCO_GL={backend()} cannot draw here ({reason}); set it to egl or osmesa, or {INSTALL}"
