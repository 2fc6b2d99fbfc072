"""Damage that is a function of a seed: bytes are flipped, cut and repeated, JSON values are put in the place of others.

It knows nothing of what it damages; `artefacts.py` says what is damaged and who reads it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

NESTED = 100_000
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 255, 10**6, 2**31, 2**63, -(2**63) - 1, 10**30, 10**4000, 0.5, -0.0, 1e-300,
    1e308, float("nan"), float("inf"), "", "x", "nan", "1e999", "step_1", "../..", "os:system", "CartPole-v1", "tmaze",
    "rate", "\x1b[2J\x1b]0;owned\x07", "\u202e", "[/red]", "$\\frac{$", "\x00", "x" * 5000, [], [[]], {}, [0] * 1000,
    [-1, -1],
    [10**12, 10**12], {"type": "RunConfig"}, {"type": []}, {"a": {"b": []}}, ["length=9"], ["length=-1"],
    ["=", "a=b=c"],
)  # fmt: skip
"""What a file might hold where something else belongs."""


def mutations(content: bytes, count: int, seed: int) -> Iterator[bytes]:
    """So many damaged forms of a content; half of them are still JSON, where it is."""
    random = Random(seed)
    document = _parsed(content)
    for _ in range(count):
        if document is not None and random.random() < 0.6:
            yield _written(_changed(document, random), random)
        else:
            yield random.choice(BYTES)(content, random)


# ---------------------------------------------------------------------------------------------------- bytes


def _flip(content: bytes, random: Random) -> bytes:
    damaged = bytearray(content or b"\0")
    for _ in range(random.choice((1, 1, 2, 8))):
        damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
    return bytes(damaged)


def _cut(content: bytes, random: Random) -> bytes:
    return content[: random.randrange(len(content) + 1)]


def _lose(content: bytes, random: Random) -> bytes:
    at = random.randrange(len(content) + 1)
    return content[:at] + content[at + random.choice((1, 4, 64)) :]


def _insert(content: bytes, random: Random) -> bytes:
    at = random.randrange(len(content) + 1)
    return content[:at] + random.randbytes(random.choice((1, 4, 64))) + content[at:]


def _repeat(content: bytes, random: Random) -> bytes:
    at, size = random.randrange(len(content) + 1), random.choice((1, 16, 256))
    return content[:at] + content[at : at + size] * random.choice((2, 50)) + content[at:]


def _overwrite(content: bytes, random: Random) -> bytes:
    """The first bytes are where formats keep their sizes."""
    at = random.choice((0, 0, random.randrange(len(content) + 1)))
    filler = random.choice((b"\0", b"\xff", b"9", b"[", b'{"a":')) * random.choice((1, 8, 16))
    return content[:at] + filler + content[at + len(filler) :]


OTHERS = (b"", b"\n", b"null", b"[]", b"{}", b"1" * 5000, b"[" * NESTED, b"\xff\xfe\0", b"PK\x03\x04", b'"')


def _other(content: bytes, random: Random) -> bytes:
    return random.choice(
        (b"", b"\n", b"null", b"[]", b"{}", b"1" * 5000, b"[" * NESTED, b"\xff\xfe\0", b"PK\x03\x04", b'"')
    )


BYTES: tuple[Callable[[bytes, Random], bytes], ...] = (_flip, _flip, _cut, _lose, _insert, _repeat, _overwrite, _other)


# ----------------------------------------------------------------------------------------------------- JSON


def _parsed(content: bytes) -> Any:
    """A JSON document, or the lines of one, as a list that `_written` joins again; None where it is neither."""
    try:
        return json.loads(content)
    except ValueError:
        pass
    try:
        return Lines(json.loads(line) for line in content.splitlines())
    except ValueError:
        return None


class Lines(list[Any]):
    """The objects of JSON lines."""


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from _places(inner, (*path, key))


def _changed(document: Any, random: Random) -> Any:
    """One or two places of a copy are given other values, lost, added, or wrapped."""
    copy = Lines(json.loads(json.dumps(document))) if isinstance(document, Lines) else json.loads(json.dumps(document))
    for _ in range(random.choice((1, 1, 1, 2))):
        places = list(_places(copy))
        if not places:
            return random.choice(VALUES)
        *path, last = random.choice(places)
        holder = copy
        for key in path:
            holder = holder[key]
        _change(holder, last, random)
    return copy


def _change(holder: Any, key: Any, random: Random) -> None:
    what = random.random()
    if what < 0.7:
        holder[key] = random.choice(VALUES)
    elif what < 0.85:
        del holder[key]
    elif what < 0.95 or not isinstance(holder, dict):
        holder[key] = [holder[key]]
    else:
        holder[random.choice(("type", "seed", "name", "x"))] = random.choice(VALUES)


def _written(value: Any, random: Random) -> bytes:
    if isinstance(value, Lines):
        return b"".join(_written(line, random) + b"\n" for line in value)
    return json.dumps(value, ensure_ascii=random.random() < 0.5, indent=random.choice((None, 2))).encode(
        "utf-8", "replace"
    )
