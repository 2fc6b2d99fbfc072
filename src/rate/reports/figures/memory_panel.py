"""What a policy sees and remembers at one step, to stand beside the picture of an episode.

From top to bottom: the observation, if it is an image; the rows of memory with what the last border of segments changed
in each; and how much every border so far changed the whole.
"""

from __future__ import annotations

from matplotlib import colormaps
from PIL import Image, ImageDraw

from rate.evaluation.inspected import MemoryNow
from rate.reports.figures.film import INK, MARGIN, PAPER, cell, font, picture_size, scaled
from rate.types import Array

WIDTH, GAP, PRINT = 320, 8, 12
"""Pixels: of the panel, between its parts, and the size of letters."""
SIGHT = (WIDTH, 200)
"""Width and height that an observation is brought near to."""
MAP = 192
"""Width of the map of memory; beside it stand the changes of its rows."""
TALLEST, ROW = 240, 24
"""Height of the map of memory, and of a row of it, at most."""
COLOURS, RANGE = colormaps["RdBu_r"], 3.0
"""Memory begins with numbers of size 1. A range that stays lets colours mean the same in every frame and film."""
TIMES, BAR = 40, 8
"""Height of the time line, and width of one of its bars."""
PALE, ACCENT = (176, 188, 204), (213, 94, 0)


def memory_panel(memory: MemoryNow, seen: Array | None = None) -> Image.Image:
    """The panel of one step; `seen` is the observation as (height, width, 3) bytes."""
    parts = [_rows(memory), _times(memory)]
    if seen is not None:
        parts.insert(0, _sight(seen))
    image = Image.new("RGB", (WIDTH, sum(part.height for part in parts) + MARGIN * (len(parts) - 1)), PAPER)
    top = 0
    for part in parts:
        image.paste(part, (0, top))
        top += part.height + MARGIN
    return image


def _sight(seen: Array) -> Image.Image:
    height, width = seen.shape[:2]
    drawn = scaled(seen, picture_size(seen, SIGHT))
    image = _titled(f"observation, {height} × {width}", drawn.height)
    image.paste(drawn, (0, _line()))
    return image


def _rows(memory: MemoryNow) -> Image.Image:
    """The map of memory and the change of each row; framed at the step at which it changed."""
    count, width = memory.rows.shape
    tall = min(ROW, TALLEST / count)
    height = round(tall * count)
    image = _titled(f"segment {memory.segment} · step {memory.step} of {memory.segment_len}", _line() + height)
    draw, top, left = ImageDraw.Draw(image), 2 * _line(), MAP + GAP
    _write(draw, (0, _line()), f"memory, {count} × {width}, ±{RANGE:g}")
    if memory.changes:
        _write(draw, (left, _line()), "rows changed by")
    image.paste(_heat(memory.rows, (MAP, height)), (0, top))
    if memory.at_border:
        draw.rectangle((0, top, MAP - 1, top + height - 1), outline=ACCENT, width=2)
    numbered = tall >= _line() - 3
    room = WIDTH - left - numbered * (GAP + round(cell(PRINT)[0] * len(percent(1))))
    for row, change in enumerate(memory.row_changes if memory.changes else ()):
        upper, lower = top + round(row * tall), top + round((row + 1) * tall) - 2
        draw.rectangle((left, upper, left + round(room * min(1.0, change)), max(upper, lower)), fill=PALE)
        if numbered:
            draw.text((WIDTH, (upper + lower) / 2), percent(change), fill=INK, font=font(PRINT), anchor="rm")
    return image


def _heat(rows: Array, size: tuple[int, int]) -> Image.Image:
    """Blue below, red above zero."""
    shares = (rows / RANGE).clip(-1, 1) / 2 + 0.5
    colours = Image.fromarray(COLOURS(shares, bytes=True)[..., :3].copy())
    fits = size[0] >= colours.width and size[1] >= colours.height
    return colours.resize(size, Image.Resampling.NEAREST if fits else Image.Resampling.BOX)


def _times(memory: MemoryNow) -> Image.Image:
    """The change of the whole memory at the borders so far, the newest last; the tallest bar is the largest of them."""
    changes = memory.changes[-(WIDTH // BAR) :]
    title = f"memory changed by {percent(changes[-1])}" if changes else "no segment has ended yet"
    image = _titled(title, TIMES)
    draw, bottom, largest = ImageDraw.Draw(image), _line() + TIMES - 1, max(changes, default=0.0)
    draw.line((0, bottom, WIDTH, bottom), fill=PALE)
    for at, change in enumerate(changes):
        height = round((TIMES - 2) * change / max(largest, 1e-12))
        colour = ACCENT if at == len(changes) - 1 else PALE
        draw.rectangle((at * BAR, bottom - height, (at + 1) * BAR - 2, bottom), fill=colour)
    if changes:
        draw.text((WIDTH, 0), f"tallest {percent(largest)}", fill=INK, font=font(PRINT), anchor="ra")
    return image


def _titled(title: str, height: int) -> Image.Image:
    """A part of this height below its title."""
    image = Image.new("RGB", (WIDTH, _line() + height), PAPER)
    _write(ImageDraw.Draw(image), (0, 0), title)
    return image


def _write(draw: ImageDraw.ImageDraw, place: tuple[int, int], text: str) -> None:
    draw.text(place, text, fill=INK, font=font(PRINT))


def _line() -> int:
    return cell(PRINT)[1] + 3


def percent(share: float) -> str:
    """`0.4 %`, `12 %`."""
    return f"{100 * share:.{int(share < 0.1)}f} %"
