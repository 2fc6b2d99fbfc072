"""Films: every frame is in them, readable, and a file is there whole or not at all."""

from __future__ import annotations

import importlib.util
import io
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from rate.errors import ConfigError, MissingExtraError
from rate.reports.figures.film import MARGIN, WIDTH, Slide, _fitted, cell, check_film, half_blocks, write_film

TEXTS = [Slide("o..", "step 0"), Slide(".o.\n  #", "step 1"), Slide("\x1b[41m..o\x1b[0m\n  #\n  #", "step 2")]


def squares(count: int, size: int = 20) -> list[Slide]:
    """A red square that walks to the right on black."""
    pictures = np.zeros((count, size, size, 3), np.uint8)
    for at, picture in enumerate(pictures):
        picture[:4, at * 4 : at * 4 + 4] = (255, 0, 0)
    return [Slide(picture, f"step {at}") for at, picture in enumerate(pictures)]


def frames(path: Path) -> list[np.ndarray]:
    with Image.open(path) as film:
        count = film.n_frames
        found = []
        for at in range(count):
            film.seek(at)
            found.append(np.asarray(film.convert("RGB")).astype(int))
        return found


def test_a_gif_holds_every_text_and_its_caption(tmp_path: Path) -> None:
    write_film(tmp_path / "a.gif", TEXTS, 4)
    found = frames(tmp_path / "a.gif")
    assert len(found) == 3 and len({frame.shape for frame in found}) == 1
    dark = [frame.sum(axis=2) < 380 for frame in found]
    assert all((one != other).any() for one, other in itertools.pairwise(dark))
    assert all(frame[-50:].any() for frame in dark)  # the caption
    assert [frame[:-40].sum() for frame in dark] == sorted(frame[:-40].sum() for frame in dark)  # lines are added
    with Image.open(tmp_path / "a.gif") as film:
        film.seek(2)
        assert film.info["duration"] >= 1500  # the end stays


def test_small_pictures_grow_by_whole_pixels(tmp_path: Path) -> None:
    write_film(tmp_path / "a.gif", squares(5), 50)
    found = frames(tmp_path / "a.gif")
    red = [(frame[..., 0] > 200) & (frame[..., 1] < 60) for frame in found]
    assert [frame.sum() for frame in red] == [96 * 96] * 5  # 4 pixels, 24 times as large
    columns = [np.flatnonzero(frame.any(axis=0))[0] for frame in red]
    assert np.diff(columns).tolist() == [96] * 4


@pytest.mark.parametrize("slides", [TEXTS, squares(3)])
def test_a_panel_stands_beside_the_picture(slides: list[Slide], tmp_path: Path) -> None:
    """At the right, and what was there before is the same."""
    write_film(tmp_path / "a.gif", slides, 4)
    panels = [Image.new("RGB", (90, 31 + 400 * high), (0, 0, 255)) for high in (0, 1)]
    for panel in panels:
        write_film(tmp_path / "b.gif", [slide._replace(panel=panel.copy) for slide in slides], 4)
        for alone, both in zip(frames(tmp_path / "a.gif"), frames(tmp_path / "b.gif"), strict=True):
            height, width = alone.shape[:2]
            assert both.shape[1] >= width + 90 and both.shape[0] >= max(height, panel.height)
            assert ((both[:, width:, 2] > 200) & (both[:, width:, 0] < 60)).sum() == 90 * panel.height
            top = (both.shape[0] - height) // 2
            assert np.abs(both[top : top + height, :width] - alone).max() < 60  # palettes differ


def test_long_texts_are_not_printed_large(tmp_path: Path) -> None:
    write_film(tmp_path / "a.gif", [Slide("\n".join("0123"), "few"), Slide("\n".join("0123" * 6), "many")], 4)
    with Image.open(tmp_path / "a.gif") as film:
        assert film.height < 600


def test_an_mp4_holds_every_frame(tmp_path: Path) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    write_film(tmp_path / "a.mp4", squares(5), 10)
    count, seconds = ffmpeg.count_frames_and_secs(str(tmp_path / "a.mp4"))
    assert count == 5 + 15 and seconds == pytest.approx(2.0)


def test_text_has_no_colours_of_the_terminal(tmp_path: Path) -> None:
    write_film(tmp_path / "a.txt", TEXTS, 4)
    assert (tmp_path / "a.txt").read_text() == "step 0\no..\n\nstep 1\n.o.\n  #\n\nstep 2\n..o\n  #\n  #\n"


def test_what_breaks_off_leaves_the_old_file(tmp_path: Path) -> None:
    def broken() -> Iterator[Slide]:
        yield from TEXTS
        raise RuntimeError("the environment broke")

    write_film(tmp_path / "a.txt", TEXTS[:1], 4)
    for ending in ("txt", "gif", "mp4"):
        with pytest.raises(RuntimeError):
            write_film(tmp_path / f"a.{ending}", broken(), 4)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "step 0\no..\n"


def test_files_that_cannot_be_written_are_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"none of .gif, .mp4, .txt"):
        check_film(tmp_path / "a.avi")
    with pytest.raises(ConfigError, match="does not exist; make it"):
        check_film(tmp_path / "no" / "a.gif")
    (tmp_path / "d.gif").mkdir()
    with pytest.raises(ConfigError, match="is a directory"):
        check_film(tmp_path / "d.gif")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"rate-rl\[video\]"):
        check_film(tmp_path / "a.mp4")


def test_half_blocks_keep_the_colours() -> None:
    picture = np.zeros((4, 4, 3), np.uint8)
    picture[0], picture[1] = (255, 0, 0), (0, 0, 255)
    console = Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", width=80)
    console.print(half_blocks(picture, 4))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert len([line for line in lines if "▀" in line]) == 2
    assert "38;2;255;0;0;48;2;0;0;255" in lines[0] and lines[0].count("▀") == 4


@pytest.mark.parametrize("numbers", [1, 6, 17])
def test_captions_are_whole(numbers: int) -> None:
    """Actions of many components are set in two lines, and smaller where they must be."""
    caption = f"step 7 · action [{' '.join(['-0.123'] * numbers)}] · reward -0.01234 · return -123.4"
    _, lines = _fitted(caption, WIDTH - 2 * MARGIN, 2 * cell()[1])
    assert " ".join(lines) == caption


def test_a_caption_that_fits_in_no_print_is_cut_at_its_end() -> None:
    font, lines = _fitted("x " * 900, WIDTH - 2 * MARGIN, 2 * cell()[1])
    assert lines[-1].endswith("…") and len(lines) * cell(font)[1] <= 2 * cell()[1]
