"""Pages in headless Chromium, without a network: what they look like, what they hold, and what they complain about."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--virtual-time-budget=4000",
]
WAITING = """<pre id=found></pre><script>(async () => {
while (document.documentElement.dataset.step === undefined) await new Promise((done) => setTimeout(done, 10));
document.getElementById("found").textContent = JSON.stringify((%s)());
})()</script>"""

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on PATH")


def run(address: str, profile: Path, *flags: str, size: tuple[int, int] = (1280, 2400)) -> str:
    """What is printed for an address; a word of the page's console fails."""
    window = f"--window-size={size[0]},{size[1]}"
    command = [str(CHROMIUM), *FLAGS, window, f"--user-data-dir={profile}", *flags, address]
    done = subprocess.run(command, check=True, capture_output=True, timeout=60, text=True)
    assert "CONSOLE" not in done.stderr, done.stderr
    return done.stdout


def picture(address: str, place: Path, size: tuple[int, int] = (1280, 2400)) -> Any:
    """The page as (height, width, 3) numbers from 0 to 255."""
    file = place / "page.png"
    run(address, place / "profile", f"--screenshot={file}", size=size)
    return (imread(file)[..., :3] * 255).round().astype(int)


def ask(page: Path, script: str, place: Path, size: tuple[int, int] = (1280, 2400)) -> Any:
    """What a function finds in the page once that has drawn itself."""
    copy = place / "asked.html"
    copy.write_text(page.read_text(encoding="utf-8").replace("</body>", f"{WAITING % script}</body>"), encoding="utf-8")
    text = run(copy.as_uri(), place / "profile", "--dump-dom", size=size)
    found = re.search(r"<pre id=\"found\">(.*?)</pre>", text, re.DOTALL)
    assert found is not None
    return json.loads(unescape(found[1]))


def pixels_of(image: Any, colour: tuple[int, int, int]) -> int:
    """How many pixels have about this colour."""
    return int((np.abs(image - colour).max(axis=-1) < 8).sum())
