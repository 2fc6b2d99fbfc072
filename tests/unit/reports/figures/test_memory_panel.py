"""The panel beside a film: colours are the numbers of memory, bars its changes, and all panels are of one size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rate.evaluation.inspected import MemoryNow
from rate.reports.figures.memory_panel import ACCENT, COLOURS, MAP, PALE, RANGE, WIDTH, memory_panel, percent
from rate.types import Array

START = MemoryNow(
    segment=1, step=2, segment_len=5, rows=np.zeros((4, 8), np.float32), row_changes=np.zeros(4), changes=()
)
CHANGED = replace(
    START,
    segment=2,
    step=1,
    rows=np.linspace(-1.5 * RANGE, 1.5 * RANGE, 32, dtype=np.float32).reshape(4, 8),
    row_changes=np.array([0.1, 0.4, 0.8, 3.0]),
    changes=(0.5,),
)


def drawn(memory: MemoryNow, seen: Array | None = None) -> Array:
    return np.asarray(memory_panel(memory, seen))


def cells(panel: Array, rows: int, columns: int) -> Array:
    """The colours in the middle of the cells of the map, which is the largest block in the panel."""
    tall, wide = 24, MAP // columns
    top = panel.shape[0] - 40 - 18 - 12 - rows * tall  # above time line, its title and the margin
    return panel[top + tall // 2 : top + rows * tall : tall, wide // 2 : MAP : wide]


def count(panel: Array, colour: tuple[int, int, int]) -> int:
    return int((panel == colour).all(axis=2).sum())


def test_the_map_holds_the_numbers_of_memory() -> None:
    found = cells(drawn(replace(CHANGED, step=2)), 4, 8)
    expected = COLOURS(np.clip(CHANGED.rows / RANGE, -1, 1) / 2 + 0.5, bytes=True)[..., :3]
    np.testing.assert_array_equal(found, expected)
    assert found[0, 0, 2] > found[0, 0, 0] and found[-1, -1, 0] > found[-1, -1, 2]  # blue below, red above zero


def test_bars_grow_with_the_change_of_their_row_up_to_the_whole() -> None:
    panel = drawn(CHANGED)[:, MAP:]
    widths = (panel == PALE).all(axis=2).sum(axis=1)
    lengths = [int(width) for at, width in enumerate(widths) if width and width != widths[at - 1]]
    assert lengths[:4] == sorted(set(lengths[:4])) and len(lengths) == 5  # the last is the axis of the time line
    assert lengths[0] / lengths[2] == pytest.approx(0.1 / 0.8, abs=0.05)


def test_a_border_is_marked_when_it_is_passed() -> None:
    before, after = count(drawn(START), ACCENT), count(drawn(replace(CHANGED, step=2)), ACCENT)
    assert before == 0 < after < count(drawn(CHANGED), ACCENT) - 4 * MAP  # the newest bar; and the frame of the map


def test_the_time_line_keeps_the_newest() -> None:
    many = replace(CHANGED, segment=91, step=2, changes=(9.0,) * 50 + (0.5,) * 40)
    assert (drawn(many) == drawn(replace(many, changes=many.changes[-40:]))).all()


def test_panels_of_an_episode_are_of_one_size() -> None:
    seen = np.full((6, 9, 3), (0, 200, 0), np.uint8)
    sizes = {memory_panel(one, seen).size for one in (START, CHANGED, replace(CHANGED, changes=(0.5,) * 99))}
    assert len(sizes) == 1 and sizes.pop()[0] == WIDTH
    plain, seeing = drawn(START), drawn(START, seen)
    assert seeing.shape[0] > plain.shape[0] and (seeing[-plain.shape[0] :] == plain).all()
    assert count(seeing, (0, 200, 0)) == 6 * 9 * 33**2  # by a whole factor


@pytest.mark.parametrize("shape", [(1, 2), (5, 64), (15, 128), (200, 16), (300, 700)])
def test_memory_of_any_size_has_room(shape: tuple[int, int]) -> None:
    memory = replace(CHANGED, rows=np.ones(shape, np.float32), row_changes=np.ones(shape[0]))
    panel = drawn(memory)
    assert panel.shape[1] == WIDTH and panel.shape[0] < 400
    colour = tuple(int(part) for part in COLOURS(0.5 + 0.5 / RANGE, bytes=True)[:3])
    assert count(panel, colour) > 0.9 * MAP * min(24 * shape[0], 240) - 3 * MAP


def test_percent_is_short() -> None:
    assert [percent(share) for share in (0, 0.004, 0.123, 1.754)] == ["0.0 %", "0.4 %", "12 %", "175 %"]
