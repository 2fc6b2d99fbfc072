"""The documentation runs: its Python, its commands, its examples, its links.

`python` and `console` blocks run as written, in page order and in one directory per page. `bash` blocks are for what
takes long: their `rate` lines must parse and their `make` targets must exist; those of the README also run, made small.
A `python` block whose first line is a comment with the name of a file is saved as that file and imported.
"""

from __future__ import annotations

import functools
import importlib
import re
import runpy
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

import pytest
import torch

import rate
from rate.cli import commands, data, export, inspect, listing, play, probe, share, suite
from rate.cli.main import build, main
from rate.cli.train import read_arguments
from rate.envs import ENVS
from rate.models import CONFIG_CLASSES, MODELS, ModelConfig
from rate.nn.encoding import ENCODERS
from rate.nn.memory import VALVES
from rate.objectives import OBJECTIVES, ObjectiveConfig
from rate.recipes import RECIPES, SUITES
from rate.training.loggers import LOGGERS

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
RUN = [README, *sorted((ROOT / "docs").rglob("*.md"))]
"""Pages whose blocks run."""
PAGES = [*RUN, *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"))]
LANGUAGES = {"python", "console", "bash", "text", "layers"}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
COMMANDS = ("collect", "evaluate", "report", "doctor", "bench")
DATA_COMMANDS = ("info", "check", "import_file", "export")

EXAMPLES: dict[str, Callable[[], list[str]]] = {
    "quickstart.py": lambda: ["--out", "runs/quick", *tiny(), "--eval.cases", "length=9"],
    "act.py": lambda: [trained("runs/tiny"), "--length", "9"],
    "own_data.py": lambda: ["5"],
    "camera.py": lambda: ["data/camera", "5"],
}


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str
    line: int

    def lines(self, prompt: str = "") -> list[str]:
        """The commands in it, those that are continued with a backslash as one."""
        joined = self.text.replace("\\\n", " ").splitlines()
        return [line.removeprefix(prompt).strip() for line in joined if line.startswith(prompt) and line.strip()]


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    return [Block(found[1], found[2], text[: found.start(2)].count("\n")) for found in FENCE.finditer(text)]


def commands_in(page: Path) -> list[list[str]]:
    """The `rate` lines of the bash blocks of a page, split into words."""
    lines = [line for block in blocks(page) if block.language == "bash" for line in block.lines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("rate ")]


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text())


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


each_page = pytest.mark.parametrize("page", PAGES, ids=name_of)
each_running_page = pytest.mark.parametrize("page", RUN, ids=name_of)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty directory to run in; what a page registers is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RATE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    monkeypatch.syspath_prepend(tmp_path)  # as for a script that is started there
    for registry in (ENVS, MODELS, CONFIG_CLASSES, RECIPES, SUITES, VALVES, ENCODERS, OBJECTIVES, LOGGERS):
        monkeypatch.setattr(registry, "_values", dict(registry._values))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield tmp_path
    torch.set_num_threads(threads)
    for name in [path.stem for path in tmp_path.glob("*.py")]:
        sys.modules.pop(name, None)


def tiny() -> list[str]:
    """Options that make any training a matter of a second."""
    return ["--train.steps", "2", "--train.batch-size", "8", "--data.episodes", "20", "--eval.episodes", "2"]


def trained(out: str) -> str:
    assert main(["train", "tmaze/rate", "--out", out, *tiny()]) == 0
    return out


def small(words: list[str]) -> list[str] | None:
    """A command that does the same with less; None where there is no such thing."""
    command, rest = words[0], words[1:]
    if command == "train" and not rest[0].startswith("-"):
        return [*words, *tiny()]
    if command == "eval":
        return [command, *(re.sub(r"length=\d+", "length=9", word) for word in rest), "--episodes", "2"]
    if command == "probe":
        return [command, *(re.sub(r"length=\d+", "length=30", word) for word in rest), "--episodes", "2"]
    if command == "inspect":
        return [command, *(re.sub(r"length=\d+", "length=30", word) for word in rest), "--episodes", "10"]
    if command == "collect":
        return [*words, "--episodes", "20"]
    return None if command == "bench" else words


@each_page
def test_blocks_say_what_they_are(page: Path) -> None:
    assert {block.language for block in blocks(page)} <= LANGUAGES
    assert len(re.findall("^```", page.read_text(), flags=re.MULTILINE)) == 2 * len(blocks(page))


@each_running_page
def test_python_and_console_blocks_run(page: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("page_of_the_documentation")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in blocks(page):
        if block.language == "python":
            if saved := re.match(r"# (\w+)\.py\n", block.text):
                (workplace / f"{saved[1]}.py").write_text(block.text)
                importlib.invalidate_caches()
                module.__dict__.update(vars(importlib.import_module(saved[1])))  # what it registers, it registers once
                continue
            source = "\n" * block.line + block.text
            exec(compile(source, name_of(page), "exec"), module.__dict__)
        if block.language == "console":
            for line in block.lines(prompt="$ "):
                program, *words = shlex.split(line)
                assert program == "rate", f"{name_of(page)}:{block.line}: only rate commands run: {line}"
                assert main(words) == 0, line


@each_running_page
def test_long_commands_parse(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    for name in COMMANDS:
        real = getattr(commands, name)
        monkeypatch.setattr(commands, name, silent(real, called))
    for name in DATA_COMMANDS:
        monkeypatch.setattr(data, name, silent(getattr(data, name), called))
    monkeypatch.setattr(listing, "list_names", silent(listing.list_names, called))
    monkeypatch.setattr(play, "play", silent(play.play, called))
    monkeypatch.setattr(probe, "probe", silent(probe.probe, called))
    monkeypatch.setattr(inspect, "inspect", silent(inspect.inspect, called))
    monkeypatch.setattr(export, "export", silent(export.export, called))
    monkeypatch.setattr(suite, "suite", silent(suite.suite, called))
    for name in ("push", "pull"):
        monkeypatch.setattr(share, name, silent(getattr(share, name), called))
    for words in commands_in(page):
        if words[0] != "train":
            called.clear()
            assert main(words) == 0 and len(called) == 1, words
        elif words[1].startswith("-"):
            assert {"--out", "--resume"} <= set(words) or "--data" in words, words
        else:
            read_arguments(words[1:])


def silent(command: Callable[..., None], called: list[str]) -> Callable[..., None]:
    """A command with the same options that only notes that it was called."""

    @functools.wraps(command)
    def stand_in(*args: Any, **kwargs: Any) -> None:
        called.append(command.__name__)

    return stand_in


def test_the_tour_of_the_readme_runs_when_made_small(workplace: Path) -> None:
    tour = [words for words in map(small, commands_in(README)) if words]
    assert {words[0] for words in tour} == set(build().names()) - {"bench"}
    for words in tour:
        assert main(words) == 0, words


@each_page
def test_commands_that_are_named_exist(page: Path) -> None:
    named = set(re.findall(r"`rate ([a-z]+)", prose(page)))
    assert named <= set(build().names())


@each_page
def test_make_targets_that_are_named_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    shell = [line for block in blocks(page) if block.language == "bash" for line in block.lines()]
    said = [*re.findall(r"`(make [^`]*)`", prose(page)), *(line for line in shell if line.startswith("make"))]
    named = {word for line in said for word in line.split()[1:] if "=" not in word}
    assert named <= targets


def test_the_readme_names_every_command_and_the_main_targets() -> None:
    text = README.read_text()
    assert all(f"rate {name}" in text for name in build().names())
    assert "make quickstart" in text and "make test" in text


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to headings."""
    headings = re.findall(r"^#+ (.+)$", prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_page
def test_links_and_images_exist(page: Path) -> None:
    for target in re.findall(r"!?\[[^\]]*\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = unquote(target).partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{name_of(page)} links to {target}, which is not there"
        assert not anchor or anchor in anchors(linked), f"{name_of(page)} links to {target}, which has no such heading"


def rows_of(page: Path, heading: str) -> dict[str, str]:
    """First and second column of the table under a heading."""
    section = re.split(r"^## ", page.read_text(), flags=re.MULTILINE)
    text = next(part for part in section if part.startswith(heading))
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", text, flags=re.MULTILINE)
    return {name: value.strip("`") for name, value in rows}


def with_page() -> list[str]:
    """Configurations of models and objectives that have fields; what has only a name needs no page."""
    kinds = {name: CONFIG_CLASSES.get(name) for name in CONFIG_CLASSES}
    shown = {name: kind for name, kind in kinds.items() if issubclass(kind, (ModelConfig, ObjectiveConfig))}
    return [name for name, kind in shown.items() if [item.name for item in fields(kind)] != ["name"]]


@pytest.mark.parametrize("kind", with_page())
def test_every_field_of_a_model_is_described(kind: str) -> None:
    described = fields(CONFIG_CLASSES.get(kind))
    defaults = {item.name: str(item.default) for item in described if item.default is not MISSING}
    assert rows_of(ROOT / f"docs/models/{defaults['name']}.md", "Fields") == defaults


def test_every_model_and_environment_is_described() -> None:
    """Each has a page of its name, or is named in one; a family of environments has one page."""
    models = {path: path.read_text() for path in (ROOT / "docs" / "models").glob("*.md")}
    for name in MODELS:
        assert any(path.stem == name or f"`{name}`" in text for path, text in models.items()), name
    pages = {path.stem for path in (ROOT / "docs" / "environments").glob("*.md")}
    assert {name.partition("/")[0] for name in ENVS} <= pages


def test_every_option_of_the_tmaze_expert_is_described() -> None:
    defaults = {name: str(value) for name, value in ENVS.get("tmaze").expert_defaults.items()}
    assert rows_of(ROOT / "docs/environments/tmaze.md", "Expert and data") == defaults


def test_every_example_is_short_and_runs_here() -> None:
    scripts = sorted((ROOT / "examples").glob("*.py"))
    assert {script.name for script in scripts} == set(EXAMPLES)
    assert all(len(script.read_text().splitlines()) < 75 for script in scripts)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name: str, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [name, *EXAMPLES[name]()])
    try:
        runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
    except SystemExit as leave:
        assert leave.code in (0, None)


def test_versions_agree() -> None:
    assert f"## [{rate.__version__}]" in (ROOT / "CHANGELOG.md").read_text()
    assert f"\nversion: {rate.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_places_for_measured_numbers_are_kept() -> None:
    text = README.read_text()
    for name in ("results", "speed"):
        assert 0 <= text.find(f"<!-- {name}:begin -->") < text.find(f"<!-- {name}:end -->")
