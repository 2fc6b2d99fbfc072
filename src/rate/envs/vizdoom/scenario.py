"""The scenario of Two-Colors, written from text: a room, items of two colours, a pillar that vanishes.
`write` makes two_colors.wad beside this file, byte for byte the one that is shipped.

The maps differ in the pillar alone, so a seed gives the same items whichever colour it has. Health and rewards are
counted in `env`, from the numbers of items that were taken.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

WAD = Path(__file__).with_name("two_colors.wad")

SKIP = 2
"""Tics of the engine in a step."""
WALL = 640
"""The room reaches this far from its middle, where the pillar is."""
REACH = 580
"""Items lie within this distance of the middle, along both axes."""
START = (0, -320)
APART = 96
"""No item appears nearer to the player than this."""
ITEMS, EVERY = 10, 30
"""Items of each colour at first; tics between two later ones, of either colour in turn."""
FIRST = 90
"""Tics until the first of the later ones."""

RED, GREEN = "Red", "Green"
PILLARS = {(RED, 45): "MAP01", (GREEN, 45): "MAP02", (RED, 90): "MAP04", (GREEN, 90): "MAP05"}
"""(colour, steps for which it is shown) to map."""
BARE = "MAP03"
ACTORS = {f"{colour}Pillar{steps}": 20001 + number for number, (colour, steps) in enumerate(PILLARS)}
"""Actor of a pillar to its number."""
MAPS = dict(sorted([*zip(PILLARS.values(), ACTORS, strict=True), (BARE, "")]))
"""Map to the actor of its pillar."""

ZMAPINFO = 'gameinfo\n{\n  playerclasses = "Runner"\n}\n' + "".join(
    f'map {name} "{name}"\n{{\n  nointermission\n}}\n' for name in MAPS
)

PLAYER = """
actor Runner : DoomPlayer
{
  Player.DisplayName "Runner"
  Player.StartItem "Nothing"
  Player.WeaponSlot 1, "RedCounter"
  Player.WeaponSlot 2, "GreenCounter"
  ReactionTime 0
  +NODAMAGE
}
actor Nothing : Inventory
{
  States
  {
  Spawn:
    TNT1 A -1
    stop
  }
}
"""

# Each kind is ammunition of a weapon that the player never owns: the engine then tells how many were taken.
ITEM = """
actor {colour}Item : Ammo
{{
  Radius 20
  Height 40
  Inventory.Amount 1
  Inventory.MaxAmount 30000
  Inventory.PickupMessage ""
  Inventory.PickupSound ""
  +INVENTORY.QUIET
  +SYNCHRONIZED
  States
  {{
  Spawn:
    TNT1 A 0 NoDelay A_CheckProximity("Elsewhere", "Runner", {apart}, 1)
  Lie:
    {sprite} A -1 Bright
    stop
  Elsewhere:
    TNT1 A 0 A_Warp(AAPTR_MASTER, random(-{reach}, {reach}), random(-{reach}, {reach}), 0, 0, WARPF_NOCHECKPOSITION)
    TNT1 A 0 A_CheckProximity("Elsewhere", "Runner", {apart}, 1)
    goto Lie
  }}
}}
actor {colour}Counter : Weapon
{{
  Weapon.AmmoType "{colour}Item"
  Weapon.AmmoUse 1
  States
  {{
  Ready:
    TNT1 A 1 A_WeaponReady
    loop
  Deselect:
    TNT1 A 1 A_Lower
    loop
  Select:
    TNT1 A 1 A_Raise
    loop
  Fire:
    TNT1 A 1
    goto Ready
  }}
}}
"""

PILLAR = """
actor {name} {number}
{{
  Radius 40
  Height 120
  +SOLID
  +SYNCHRONIZED
  States
  {{
  Spawn:
    {sprite} B {tics} Bright
    stop
  }}
}}
"""

DIRECTOR = """
actor Director 20000
{{
  +NOBLOCKMAP
  +NOGRAVITY
  +SYNCHRONIZED
  States
  {{
  Spawn:
    TNT1 A 0 NoDelay
{first}
    TNT1 A {wait}
  Later:
    TNT1 A {every} {green}
    TNT1 A {every} {red}
    loop
  }}
}}
"""
SPRITES = {RED: "REDI", GREEN: "GRNI"}
COLOURS = {RED: (255, 0, 0), GREEN: (75, 255, 63)}
"""From the ramps of the game's palette."""


def decorate() -> str:
    """The actors."""
    spawn = {
        colour: f'A_SpawnItemEx("{colour}Item", random(-{REACH}, {REACH}), random(-{REACH}, {REACH}), 0, 0, 0, 0, 0, '
        "SXF_SETMASTER | SXF_NOCHECKPOSITION)"
        for colour in (RED, GREEN)
    }
    first = "\n".join(f"    TNT1 A 0 {spawn[colour]}" for _ in range(ITEMS) for colour in (RED, GREEN))
    parts = [PLAYER]
    parts += [ITEM.format(colour=colour, sprite=SPRITES[colour], apart=APART, reach=REACH) for colour in (RED, GREEN)]
    parts += [
        PILLAR.format(name=name, number=number, sprite=SPRITES[colour], tics=SKIP * steps)
        for (name, number), (colour, steps) in zip(ACTORS.items(), PILLARS, strict=True)
    ]
    return "".join(parts) + DIRECTOR.format(first=first, wait=FIRST, every=EVERY, red=spawn[RED], green=spawn[GREEN])


def textmap(pillar: str) -> str:
    """One square room."""
    corners = ((-WALL, -WALL), (-WALL, WALL), (WALL, WALL), (WALL, -WALL))
    text = 'namespace = "zdoom";\n'
    text += "".join(f"vertex {{ x = {x}.0; y = {y}.0; }}\n" for x, y in corners)
    text += "".join(
        f"linedef {{ v1 = {at}; v2 = {(at + 1) % 4}; sidefront = {at}; blocking = true; }}\n"
        f'sidedef {{ sector = 0; texturemiddle = "ROOMWALL"; offsetx = 0; }}\n'
        for at in range(4)
    )
    text += 'sector { heightfloor = 0; heightceiling = 128; texturefloor = "ROOMFLR"; textureceiling = "ROOMCEIL"; '
    text += "lightlevel = 255; }\n"
    things = [(*START, 90, 1), (0, 0, 0, 20000)] + ([(0, 0, 0, ACTORS[pillar])] if pillar else [])
    flags = "".join(f"skill{level} = true; " for level in range(1, 6)) + "single = true; "
    text += "".join(
        f"thing {{ x = {x}.0; y = {y}.0; angle = {angle}; type = {kind}; {flags}}}\n" for x, y, angle, kind in things
    )
    return text


# ------------------------------------------------------------------------------------------------------ pictures

Picture = NDArray[np.uint8]


def ball(colour: tuple[int, int, int], size: int = 48) -> Picture:
    """A disc with a darker rim, so that items before each other stay apart."""
    y, x = np.mgrid[:size, :size] - (size - 1) / 2
    distance = np.hypot(x, y) / (size / 2)
    return _filled(distance <= 1, colour, distance > 0.82)


def column(colour: tuple[int, int, int], width: int = 96, height: int = 120) -> Picture:
    """A bar with darker edges."""
    x = np.abs(np.arange(width) - (width - 1) / 2) / (width / 2)
    return _filled(np.ones((height, width), bool), colour, np.broadcast_to(x > 0.9, (height, width)))


def _filled(inside: NDArray[np.bool_], colour: tuple[int, int, int], rim: NDArray[np.bool_]) -> Picture:
    picture = np.zeros((*inside.shape, 4), np.uint8)
    picture[inside] = (*colour, 255)
    picture[inside & rim, :3] = np.array(colour) // 2
    return picture


def tiles(dark: int, bright: int, blue: int, cells: int = 2, size: int = 64) -> Picture:
    """Squares of two shades, which show how one moves."""
    at = np.arange(size) * cells // size
    shade = np.where((at[:, None] + at) % 2, bright, dark).astype(np.uint8)
    return np.stack([shade, shade, shade + np.uint8(blue), np.full_like(shade, 255)], -1)


def png(picture: Picture, offset: tuple[int, int] | None = None) -> bytes:
    """RGBA as a PNG of few colours; `offset` is where a sprite stands, in a chunk of the engine's own."""
    height, width, _ = picture.shape
    colours, pixels = np.unique(picture.reshape(-1, 4), axis=0, return_inverse=True)
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, width).astype(np.uint8)], 1)
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))]
    chunks += [(b"grAb", struct.pack(">ii", *offset))] if offset else []
    chunks += [(b"PLTE", colours[:, :3].tobytes()), (b"tRNS", colours[:, 3].tobytes())]
    chunks += [(b"IDAT", _stored(rows.tobytes())), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def _stored(data: bytes) -> bytes:
    """A zlib stream that is not compressed: how much others save differs between versions of zlib."""
    blocks = [data[at : at + 65535] for at in range(0, len(data), 65535)]
    body = b"".join(
        struct.pack("<BHH", at == len(blocks) - 1, len(block), len(block) ^ 0xFFFF) + block
        for at, block in enumerate(blocks)
    )
    return b"\x78\x01" + body + struct.pack(">I", zlib.adler32(data))


# ---------------------------------------------------------------------------------------------------------- file


def lumps() -> Iterable[tuple[str, bytes]]:
    """The parts of the file, each with its name of at most eight letters."""
    yield "ZMAPINFO", ZMAPINFO.encode()
    yield "DECORATE", decorate().encode()
    yield "TX_START", b""
    yield "ROOMWALL", png(tiles(40, 56, 24, cells=4))
    yield "ROOMFLR", png(tiles(120, 144, 8))
    yield "ROOMCEIL", png(tiles(136, 136, 16))
    yield "TX_END", b""
    yield "S_START", b""
    for colour, sprite in SPRITES.items():
        item, pillar = ball(COLOURS[colour]), column(COLOURS[colour])
        yield f"{sprite}A0", png(item, (item.shape[1] // 2, item.shape[0]))
        yield f"{sprite}B0", png(pillar, (pillar.shape[1] // 2, pillar.shape[0]))
    yield "S_END", b""
    for name, pillar_actor in MAPS.items():
        yield name, b""
        yield "TEXTMAP", textmap(pillar_actor).encode()
        yield "ENDMAP", b""


def wad() -> bytes:
    """The whole file: a header, the parts, and where they stand."""
    body, directory, count = b"", b"", 0
    for name, data in lumps():
        directory += struct.pack("<II8s", 12 + len(body), len(data), name.encode())
        body, count = body + data, count + 1
    return struct.pack("<4sII", b"PWAD", count, 12 + len(body)) + body + directory


def write() -> None:
    """Write the file that is shipped."""
    WAD.write_bytes(wad())
