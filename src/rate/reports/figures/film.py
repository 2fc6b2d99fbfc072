"""Frames of an episode as a film (GIF, MP4) or as coloured half blocks for a terminal.

Text is drawn in the monospace font that Matplotlib brings along; below each picture stands a caption.
"""

from __future__ import annotations

import importlib.util
import io
import re
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont
from rich.text import Text

from rate.errors import ConfigError, MissingExtraError
from rate.system.files import check_writable, write_atomically
from rate.types import Array

WIDTH = 448
"""Pixels: films are at least this wide."""
LARGEST = (720, 480)
"""Width and height that pictures are brought near to."""
MARGIN, SIZE = 12, 14
LINES, SMALLEST = 2, 8
"""Of a caption: lines of the usual print that it has room for, and its smallest print."""
PAPER, INK = (255, 255, 255), (29, 36, 48)
HOLD = 1.5
"""Seconds for which the last frame stays."""
ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
"""Colours of a terminal, which some environments put into their text."""


class Slide(NamedTuple):
    """A picture, (height, width, 3) bytes or text, and the line below it."""

    picture: Array | str
    caption: str
    panel: Callable[[], Image.Image] | None = None
    """Draws what stands beside it in a film, of one size in all slides; called late, as slides may be kept."""


def check_film(path: Path) -> None:
    """Refuse, before anything is played, a file that could not be written."""
    if path.suffix.lower() not in WRITERS:
        raise ConfigError(f"{path} is none of {', '.join(WRITERS)}; give a file with one of these endings")
    if not path.parent.is_dir():
        raise ConfigError(f"the directory {path.parent} does not exist; make it first")
    if path.is_dir():
        raise ConfigError(f"{path} is a directory; give a file")
    check_writable(path)
    if path.suffix.lower() == ".mp4" and importlib.util.find_spec("imageio_ffmpeg") is None:
        raise MissingExtraError("imageio[ffmpeg]", "video")


def write_film(path: Path, slides: Iterable[Slide], fps: float) -> None:
    """Write the film whole or not at all; the ending of the file says what it is."""
    check_film(path)
    write_atomically(path, WRITERS[path.suffix.lower()](slides, fps))


def half_blocks(picture: Array, columns: int) -> Text:
    """A coarse picture of two pixels per character."""
    height, width = picture.shape[:2]
    columns = max(1, min(columns, width))
    rows = max(1, round(columns * height / width / 2))
    small = Image.fromarray(rgb_bytes(picture)).resize((columns, 2 * rows), Image.Resampling.BOX)
    pairs = np.asarray(small).reshape(rows, 2, columns, 3)
    text = Text(no_wrap=True)
    for upper, lower in pairs:
        for above, below in zip(upper, lower, strict=True):
            text.append("▀", style=f"rgb({','.join(map(str, above))}) on rgb({','.join(map(str, below))})")
        text.append("\n")
    return text


# ----------------------------------------------------------------------------------------------------- writers


def _gif(slides: Iterable[Slide], fps: float) -> bytes:
    # Palettes at once: a long film in full colour would fill the memory.
    images = (image.quantize(128, dither=Image.Dither.NONE) for image in _images(slides, fps))
    buffer = io.BytesIO()
    duration = max(20, round(1000 / fps))  # viewers slow down what is shorter
    next(images).save(buffer, format="GIF", save_all=True, append_images=images, duration=duration, loop=0)
    return buffer.getvalue()


def _mp4(slides: Iterable[Slide], fps: float) -> bytes:
    import imageio_ffmpeg

    with tempfile.TemporaryDirectory() as place:
        path, writer = Path(place) / "film.mp4", None
        for image in _images(slides, fps):
            if writer is None:
                writer = imageio_ffmpeg.write_frames(str(path), image.size, fps=fps, macro_block_size=2, quality=7)
                writer.send(None)
            writer.send(image.tobytes())
        if writer is not None:
            writer.close()
        return path.read_bytes()


def _text(slides: Iterable[Slide], fps: float) -> bytes:
    return "\n".join(f"{slide.caption}\n{plain_text(slide.picture)}\n" for slide in slides).encode()


def plain_text(picture: Array | str) -> str:
    """A picture in characters, without the colours of a terminal."""
    return ESCAPE.sub("", picture).rstrip("\n") if isinstance(picture, str) else f"picture of {picture.shape}"


WRITERS: dict[str, Callable[[Iterable[Slide], float], bytes]] = {".gif": _gif, ".mp4": _mp4, ".txt": _text}


# ----------------------------------------------------------------------------------------------------- drawing


def _images(slides: Iterable[Slide], fps: float) -> Iterator[Image.Image]:
    """Images of one size; the last one comes as often as it takes to be seen."""
    iterator = iter(slides)
    first = next(iterator)
    if isinstance(first.picture, str):  # texts differ in size, and are small enough to be kept
        kept = [first, *iterator]
        page = _page([plain_text(slide.picture) for slide in kept])
        images = (_framed(_drawn(plain_text(slide.picture), page), slide) for slide in kept)
    else:
        size = picture_size(first.picture)
        images = (_framed(scaled(slide.picture, size), slide) for slide in chain([first], iterator))
    for image in images:
        yield image
    for _ in range(round(HOLD * fps)):
        yield image


class Page(NamedTuple):
    """What texts are drawn on."""

    width: int
    height: int
    font: int = SIZE


def _page(texts: Sequence[str]) -> Page:
    """Room for the largest of the texts; few and short lines are printed larger, up to three times."""
    columns = max(len(line) for text in texts for line in text.split("\n"))
    rows = max(text.count("\n") + 1 for text in texts)
    for size in range(3 * SIZE, SIZE - 1, -1):
        advance, line = cell(size)
        if columns * advance <= WIDTH - 2 * MARGIN and rows * line <= LARGEST[1]:
            break
    return Page(round(columns * advance) + 1, rows * line, size)


def _drawn(text: str, page: Page) -> Image.Image:
    image = Image.new("RGB", (page.width, page.height), PAPER)
    for row, line in enumerate(text.split("\n")):
        ImageDraw.Draw(image).text((0, row * cell(page.font)[1]), line, fill=INK, font=font(page.font))
    return image


def picture_size(picture: Array, largest: tuple[int, int] = LARGEST) -> tuple[int, int]:
    """Small pictures grow by a whole factor, so that their pixels stay square; large ones shrink."""
    height, width = picture.shape[:2]
    factor = min(largest[0] / width, largest[1] / height)
    factor = int(factor) or factor
    return round(width * factor), round(height * factor)


def scaled(picture: Array | str, size: tuple[int, int]) -> Image.Image:
    if isinstance(picture, str):  # an environment that cannot draw one of its states
        return _drawn(plain_text(picture), Page(*size))
    image = Image.fromarray(rgb_bytes(picture))
    grows = size[0] > image.width
    return image.resize(size, Image.Resampling.NEAREST if grows else Image.Resampling.LANCZOS)


def _framed(picture: Image.Image, slide: Slide) -> Image.Image:
    """On white, with the caption below and the panel beside it."""
    _, line = cell()
    width = max(WIDTH, picture.width + 2 * MARGIN)
    height = picture.height + LINES * line + 3 * MARGIN
    image = _paper(width, height)
    image.paste(picture, ((width - picture.width) // 2, MARGIN))
    size, lines = _fitted(slide.caption, width - 2 * MARGIN, LINES * line)
    top = picture.height + 2 * MARGIN
    for row, text in enumerate(lines):
        ImageDraw.Draw(image).text((MARGIN, top + row * cell(size)[1]), text, fill=INK, font=font(size))
    return image if slide.panel is None else _beside(image, slide.panel())


def _beside(picture: Image.Image, panel: Image.Image) -> Image.Image:
    """Both at half height, the panel at the right."""
    image = _paper(picture.width + panel.width + MARGIN, max(picture.height, panel.height + 2 * MARGIN))
    image.paste(picture, (0, (image.height - picture.height) // 2))
    image.paste(panel, (picture.width, (image.height - panel.height) // 2))
    return image


def _paper(width: int, height: int) -> Image.Image:
    """White, and both sides even, as films need them."""
    return Image.new("RGB", (width + width % 2, height + height % 2), PAPER)


def _fitted(caption: str, width: int, height: int) -> tuple[int, list[str]]:
    """The largest print in which a caption fits whole, and its lines; one that fits in none is cut."""
    for size in range(SIZE, SMALLEST - 1, -1):
        advance, line = cell(size)
        lines = textwrap.wrap(caption, int(width / advance)) or [""]
        if len(lines) <= height // line:
            return size, lines
    kept = lines[: height // line]
    return SMALLEST, [*kept[:-1], f"{kept[-1][:-1]}…"]


def rgb_bytes(picture: Array) -> Array:
    """(height, width, 3) bytes of what may be grey, or have an alpha channel."""
    picture = np.asarray(picture, dtype=np.uint8)
    return np.repeat(picture[..., None], 3, axis=2) if picture.ndim == 2 else np.ascontiguousarray(picture[..., :3])


@cache
def font(size: int = SIZE) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSansMono.ttf"), size)


def cell(size: int = SIZE) -> tuple[float, int]:
    """Width of a character and height of a line."""
    return font(size).getlength("0"), round(1.25 * size)
