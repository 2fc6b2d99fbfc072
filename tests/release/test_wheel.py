"""What is published: an sdist, the wheel that is built from it, and an environment with nothing else of ours in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import rate

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
INSIDE = "import rate, importlib.metadata as m; print(rate.__file__); print(m.version('rate-rl'), rate.__version__)"


def call(*words: object, cwd: Path) -> str:
    """Run a program that cannot see this repository; its standard output."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    made = subprocess.run([str(word) for word in words], cwd=cwd, env=clean, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    return made.stdout


def shipped() -> set[str]:
    """Every file of the package as the repository has it."""
    found = (path for path in (SOURCE / "rate").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(SOURCE).as_posix() for path in found}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the unpacked sdist alone."""
    pytest.importorskip("hatchling")
    place = tmp_path_factory.mktemp("dist")
    call(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", place, cwd=ROOT)
    (sdist,) = place.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        packed.extractall(place, filter="data")
    unpacked = place / sdist.name.removesuffix(".tar.gz")
    call(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", place, cwd=unpacked)
    (built,) = place.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty environment with the wheel; dependencies are those that are here, which saves minutes of copying."""
    place = tmp_path_factory.mktemp("empty") / "env"
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    call(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=place)
    (site,) = place.glob("lib/python3*/site-packages")
    # A line of a .pth file adds a directory and not what the .pth files in it add: the editable install stays out.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return place


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == shipped()
    for one in ("py.typed", "reports/page/inspection/page.html", "envs/mujoco/policies/hopper.json"):
        assert f"rate/{one}" in names
    assert "rate/envs/vizdoom/two_colors.wad" in names


@pytest.mark.slow
def test_the_installed_wheel_works_by_itself(installed: Path, tmp_path: Path) -> None:
    where, versions = call(installed / "bin" / "python", "-c", INSIDE, cwd=tmp_path).splitlines()
    assert Path(where).is_relative_to(installed)
    assert versions == f"{rate.__version__} {rate.__version__}"
    assert call(installed / "bin" / "rate", "--version", cwd=tmp_path) == f"rate {rate.__version__}\n"
    looked = json.loads(call(installed / "bin" / "rate", "doctor", "--json", cwd=tmp_path))
    states = {finding["what"]: finding["state"] for finding in looked}
    assert states["training and acting"] == "ok" and "bad" not in states.values()
