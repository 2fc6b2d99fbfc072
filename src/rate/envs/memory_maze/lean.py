"""dm_control's environment without observables, and without textures that no wall has: 88 of them, 280 MB a maze.

Imported only where a maze is made, since it needs dm_control.
"""

from __future__ import annotations

from typing import Any

from dm_control import composer, mjcf
from lxml import etree


class LeanEnvironment(composer.Environment):  # type: ignore[misc]
    """Compiles a maze and places the ball in it; who wants to see it draws it."""

    def __init__(self, task: Any, **options: Any) -> None:
        for observable in task.observables.values():
            observable.enabled = False
        super().__init__(task=task, **options)

    def _recompile_physics(self) -> None:
        old: Any = getattr(self, "_physics", None)
        if old:
            old.free()
        root = self._task.root_entity.mjcf_model
        self._physics: Any = mjcf.Physics.from_xml_string(_without_unused(root.to_xml()), root.get_assets())
        self._physics.legacy_step = self._legacy_step


def _without_unused(xml: Any) -> bytes:
    used = {material.get("texture") for material in xml.iter("material")}
    for texture in list(xml.iter("texture")):
        if texture.get("type") != "skybox" and texture.get("name") not in used:
            texture.getparent().remove(texture)
    return bytes(etree.tostring(xml))
