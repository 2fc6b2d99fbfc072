"""What the ball sees: MuJoCo's own drawing, without walls and targets that are outside of the picture.

Leaving them out changes no pixel and is most of the time, since there are about two hundred planes in a maze.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rate.envs.memory_maze.graphics import drawing_context

CAMERA = "walker/egocentric"
HIDDEN = 5
"""A group of geometries that is not drawn."""
SLACK = 1.02
"""The picture is taken to be a little wider than it is."""


class View:
    """The camera of the ball in one compiled maze."""

    def __init__(self, model: Any, data: Any, side: int) -> None:
        import mujoco

        self._model, self._data, self._mujoco = model, data, mujoco
        # No light casts a shadow; the map for them would be 4096 x 4096.
        model.vis.quality.shadowsize = 0
        model.vis.global_.offwidth = model.vis.global_.offheight = side
        self._gl = drawing_context()
        self._gl.make_current()
        self._drawing: Any = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_50.value)
        self._scene, self._option = mujoco.MjvScene(model, maxgeom=model.ngeom + model.nsite + 1), mujoco.MjvOption()
        self._rect = mujoco.MjrRect(0, 0, side, side)
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._camera.fixedcamid = self._id = model.camera(CAMERA).id
        self._pixels = np.empty((side, side, 3), np.uint8)
        self._find_things()

    def _find_things(self) -> None:
        """Walls, floors and targets: what is drawn, has an end and stays where it is, with the corners around it."""
        model, data, kinds = self._model, self._data, self._mujoco.mjtGeom
        plane, sphere = model.geom_type == kinds.mjGEOM_PLANE, model.geom_type == kinds.mjGEOM_SPHERE
        drawn = self._option.geomgroup[np.clip(model.geom_group, 0, HIDDEN)] == 1
        stays = model.body_weldid[model.geom_bodyid] == 0
        half = np.where(sphere[:, None], model.geom_size[:, :1], model.geom_size * [1, 1, 0])
        ends = (sphere | plane) & (half[:, :2].min(1) > 0)
        self._things = np.flatnonzero(drawn & stays & ends)
        self._groups = model.geom_group[self._things].copy()
        turned, half = data.geom_xmat[self._things].reshape(-1, 3, 3), half[self._things]
        signs = np.array(list(itertools.product((-1, 1), repeat=3)))
        offsets = np.einsum("nij,nkj->nki", turned, signs * half[:, None])
        self._corners = data.geom_xpos[self._things][:, None] + offsets

    def draw(self) -> NDArray[np.uint8]:
        """The picture, a new array."""
        mujoco, model = self._mujoco, self._model
        model.geom_group[self._things] = np.where(self._seen(), self._groups, HIDDEN)
        every = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(model, self._data, self._option, None, self._camera, every, self._scene)
        self._gl.make_current()
        # Another maze may have drawn since.
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._drawing)
        mujoco.mjr_render(self._rect, self._scene, self._drawing)
        mujoco.mjr_readPixels(self._pixels, None, self._rect, self._drawing)
        return self._pixels[::-1].copy()

    def _seen(self) -> NDArray[np.bool_]:
        """Things all of whose corners lie on the far side of one side of the picture are not.

        The backs of walls are: they show through seams, here and there in a pixel.
        """
        position = self._data.cam_xpos[self._id]
        right, up, back = self._data.cam_xmat[self._id].reshape(3, 3).T
        wide = SLACK * np.tan(np.deg2rad(self._model.cam_fovy[self._id]) / 2)
        edges = np.stack([back - right / wide, back + right / wide, back - up / wide, back + up / wide])
        outside = (self._corners - position) @ edges.T > 0
        seen: NDArray[np.bool_] = ~outside.all(1).any(1)
        return seen

    def close(self) -> None:
        if self._drawing is not None:
            self._gl.make_current()
            self._drawing.free()
            self._drawing = None
