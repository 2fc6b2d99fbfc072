"""Runs that somebody might send: each is a whole run with one thing in it that means harm. Nothing here is executable.

`python tests/hostile.py DIRECTORY RUN` writes them all, as copies of a run of one's own.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rate.training.checkpoint import CARD, sealed

MARKER = "marker"
"""What a payload would make."""
PAYLOAD = f"open({MARKER!r}, 'w').close()\n"
ESCAPES = "\x1b[2J\x1b]0;owned\x07\u202e"


def checkpoint(run: Path) -> Path:
    return run / "checkpoints" / (run / "checkpoints" / "last").read_text().split()[0]


def edit(run: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the configuration wherever the run keeps it, with checksums that agree."""
    config = json.loads((run / "config.json").read_text())
    change(config)
    (run / "config.json").write_text(json.dumps(config))
    card = json.loads((checkpoint(run) / CARD).read_text())
    change(card["config"])
    (checkpoint(run) / CARD).write_text(json.dumps(sealed(card)))


def of_code(name: str, *cases: str) -> Callable[[Path], None]:
    """A run of an environment that would have to be imported, with a payload beside it."""

    def make(run: Path) -> None:
        edit(
            run,
            lambda config: (
                config["env"].update(name=name),
                config["eval"].update(cases=list(cases), target_return=1.0),
            ),
        )
        for place in (run, run.parent, Path.cwd()):
            (place / "payload.py").write_text(PAYLOAD)

    return make


def of_model(**fields: Any) -> Callable[[Path], None]:
    return lambda run: edit(run, lambda config: config["model"].update(fields))


def of_field(part: str, **fields: Any) -> Callable[[Path], None]:
    return lambda run: edit(run, lambda config: config[part].update(fields))


def of_card(**fields: Any) -> Callable[[Path], None]:
    """A card with other values, and a checksum that agrees."""

    def make(run: Path) -> None:
        path = checkpoint(run) / CARD
        path.write_text(json.dumps(sealed({**json.loads(path.read_text()), **fields})))

    return make


def edited(run: Path) -> None:
    """By hand: the checksum is left as it was."""
    path = checkpoint(run) / CARD
    path.write_text(path.read_text().replace('"return_scale": 1.0', '"return_scale": 9.0'))


def of_text(name: str, text: str) -> Callable[[Path], None]:
    return lambda run: (run / name).write_text(text) and None


def of_lines(run: Path, **fields: Any) -> None:
    """Episodes and evaluations that say something else."""
    for path in (run / "eval.jsonl", run / "evaluations.jsonl"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps({**line, **fields}) + "\n" for line in lines))


def of_mark(text: str) -> Callable[[Path], None]:
    return of_text("checkpoints/last", text)


def of_link(name: str, target: str) -> Callable[[Path], None]:
    """A link in the place of a file of the run, to one beside the run that is not its own."""

    def make(run: Path) -> None:
        place, foreign = run / name, run.parent / "foreign"
        (foreign / "step_1").mkdir(parents=True, exist_ok=True)
        for file in (foreign / "file", foreign / "step_1" / "kept"):
            file.write_text("mine\n")
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        place.symlink_to(foreign / target)

    return make


def of_pipe(name: str) -> Callable[[Path], None]:
    def make(run: Path) -> None:
        (run / name).unlink(missing_ok=True)
        os.mkfifo(run / name)

    return make


BOX = {"type": "Box", "dtype": "float32", "low": 0.0, "high": 1.0}
ONE = {**BOX, "shape": [1]}
NAMES: dict[str, Callable[[Path], None]] = {
    "a shell command": of_code("os:system", f'command="touch {MARKER}"'),
    "a module inside": of_code("payload:make"),
    "an id that imports": of_code("payload:Any-v0"),
    "a relay": of_code("GymV21Environment-v0", "env_id=payload:Any-v0"),
    "an argument that imports": of_code("CartPole-v1", "sutton_barto_reward=payload:make"),
}
"""What would import code. They can be loaded; they cannot be played."""
BROKEN: dict[str, Callable[[Path], None]] = {
    "a billion layers": of_model(layers=10**9),
    "a width of terabytes": of_model(width=2 * 10**9),
    "segments of terabytes": of_model(segment_len=3 * 10**6),
    "sizes that overflow": of_model(memory_tokens=2**62),
    "negative sizes": of_model(width=-4),
    "a huge observation": of_card(spaces={"observation": {**BOX, "shape": [10**6, 10**6]}, "action": ONE}),
    "a negative shape": of_card(spaces={"observation": {**BOX, "shape": [-4]}, "action": ONE}),
    "spaces that are a list": of_card(spaces=[1]),
    "a step that is a list": of_card(step=[1]),
    "progress that is text": of_card(progress="far"),
    "a configuration that is a number": of_card(config=7),
    "checksums that are text": of_card(checksums="none"),
    "a card edited by hand": edited,
    "another class": of_field("env", type="RateConfig"),
    "a field of another type": of_field("data", path=5),
    "numbers beyond all bounds": of_field("train", steps=10**300),
    "deep": lambda run: (checkpoint(run) / CARD).write_text("[" * 200_000) and None,
    "long numbers": lambda run: (checkpoint(run) / CARD).write_text("9" * 100_000) and None,
    "a mark that leaves": of_mark("../../../etc"),
    "a mark of another place": of_mark("/etc\n"),
    "a mark with a wrong checksum": of_mark("step_4 00000000\n"),
    "a mark that is long": of_mark("step_" + "1" * 10_000),
    "a pipe for a card": lambda run: of_pipe(str((checkpoint(run) / CARD).relative_to(run)))(run),
}
"""What cannot be loaded."""
WRITES: dict[str, Callable[[Path], None]] = {
    "a link for episodes": of_link("eval.jsonl", "file"),
    "a link for evaluations": of_link("evaluations.jsonl", "file"),
    "a link for probes": of_link("probe", "."),
    "a link for errors": of_link("held_out.json", "file"),
    "a link beside errors": of_link(".held_out.json.tmp", "file"),
    "a link for the lock": of_link(".lock", "file"),
    "a link for metrics": of_link("metrics.jsonl", "file"),
    "a link for tensorboard": of_link("tensorboard", "."),
    "a link for checkpoints": of_link("checkpoints", "."),
}
"""What would have a command write to a foreign file."""
SHOWN: dict[str, Callable[[Path], None]] = {
    "escapes in a name": of_field("env", name=f"x{ESCAPES}"),
    "escapes in a recipe": lambda run: edit(run, lambda config: config.update(recipe=ESCAPES * 50)),
    "a model named in mathematics": of_text("config.json", json.dumps(
        {"model": {"name": f"$\\frac{{$ [/red] {ESCAPES}<script>"}, "env": {"name": f"{ESCAPES}<b>"}, "seed": 0})),
    "escapes in a prompt": lambda run: of_lines(run, intervention=ESCAPES, prompt=f"{ESCAPES}<script>"),
    "deep lines": of_text("metrics.jsonl", "[" * 200_000 + "\n{}\n"),
    "lines of other types": of_text("eval.jsonl", '{"case": [], "seed": {}, "length": 1e999}\n'),
    "huge numbers in lines": of_text("metrics.jsonl", '{"step": ' + "9" * 4000 + ', "train/loss": 1e308}\n' * 2),
    "a description that is a list": of_text("meta.json", "[1]"),
}  # fmt: skip
"""What would be printed, or read by a report."""
HOSTILE = {**NAMES, **BROKEN, **WRITES, **SHOWN}


def make(name: str, run: Path, place: Path) -> Path:
    """The hostile form of a copy of a run."""
    copy = Path(shutil.copytree(run, place, symlinks=True))
    HOSTILE[name](copy)
    return copy


if __name__ == "__main__":
    for _name in HOSTILE:
        make(_name, Path(sys.argv[2]), Path(sys.argv[1]) / _name.replace(" ", "-") / "run")
