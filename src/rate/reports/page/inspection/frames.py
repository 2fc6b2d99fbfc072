"""Pictures of an episode for a page: texts as they are, images small enough that hundreds of them fit."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

from PIL import Image

from rate.reports.figures.film import plain_text, rgb_bytes
from rate.types import Array

WIDTHS = (480, 320, 240, 160, 96)
"""Pixels: the largest with which all pictures fit."""
ROOM = 1_400_000
"""Bytes of all pictures of a run."""
COLOURS = 64
"""Of a palette; what is drawn flat needs fewer, and a photograph is smaller as JPEG."""


def embed(pictures: Sequence[str | Array]) -> dict[str, list[int] | list[dict[str, str]]]:
    """Each different picture once, and which of them is seen at every step."""
    keys = [picture if isinstance(picture, str) else (picture.shape, picture.tobytes()) for picture in pictures]
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    different = dict(zip(keys, pictures, strict=True))
    for width in WIDTHS:
        made = [_made(different[key], width) for key in places]
        if sum(len(text) for one in made for text in one.values()) <= ROOM:
            break
    return {"at": [places[key] for key in keys], "different": made}


def _made(picture: str | Array, width: int) -> dict[str, str]:
    if isinstance(picture, str):
        return {"text": plain_text(picture)}
    image = Image.fromarray(rgb_bytes(picture))
    if image.width > width:
        image = image.resize((width, max(1, round(image.height * width / image.width))), Image.Resampling.LANCZOS)
    flat = _saved(image.quantize(COLOURS, dither=Image.Dither.NONE), "PNG", optimize=True)
    smooth = _saved(image, "JPEG", quality=70)
    kind, content = min(("png", flat), ("jpeg", smooth), key=lambda one: len(one[1]))
    return {"image": f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"}


def _saved(image: Image.Image, kind: str, **options: int | bool) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()
