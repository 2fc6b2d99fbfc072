"""Nothing asks for the name of an environment, a model or a recipe, except the files that own these names.

The public code of the paper has 124 branches on the environment's name; here a name is an argument, never a condition.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import rate
from rate import ENVS, MODELS, RECIPES

ROOT = Path(rate.__file__).parent
NAMES = {*ENVS.names(), *MODELS.names(), *RECIPES.names()}
OWNERS = ("models", "recipes")
"""Packages whose files own names; an environment's file owns its own."""

METHODS = {"startswith", "endswith", "removeprefix", "find", "count", "index"}


def owns(path: Path) -> bool:
    parts = path.relative_to(ROOT).parts
    return parts[0] in OWNERS or (parts[0] == "envs" and path.stem in ENVS)


def constants(node: ast.AST) -> set[str]:
    return {inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant) and isinstance(inner.value, str)}


def branches(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of every comparison, `in`, match, string test and table lookup on a registered name."""
    for node in ast.walk(tree):
        tested: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            tested = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            tested = [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            tested = list(node.args)
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Dict):
            tested = [key for key in node.value.keys if key is not None]
        for part in tested:
            found = {text for text in constants(part) if _is_name(text)}
            yield from ((getattr(node, "lineno", part.lineno), text) for text in sorted(found))  # type: ignore[attr-defined]


def _is_name(text: str) -> bool:
    return text in NAMES or text.rstrip("/-_") in set(ENVS.names())


FILES = [path for path in sorted(ROOT.rglob("*.py")) if not owns(path)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_branch_on_a_name(path: Path) -> None:
    assert not list(branches(ast.parse(path.read_text())))


def test_there_are_names_and_files() -> None:
    assert {"tmaze", "rate", "dt", "tmaze/rate"} <= NAMES
    stems = {path.stem for path in FILES}
    assert {"trainer", "evaluator", "train", "doctor", "reading", "spec"} <= stems
    assert not {"tmaze"} & stems


@pytest.mark.parametrize(
    "text",
    [
        'if env == "tmaze": pass',
        'x = 1 if config.model.name != "dt" else 2',
        'if name in ("rate", "x"): pass',
        'if "tmaze" in name: pass',
        'if name.startswith("tmaze/"): pass',
        'match name:\n    case "rmt" | "trxl": pass',
        'make = {"rate": f, "dt": g}[name]',
        'while kind not in {"dt"}: pass',
    ],
)
def test_branches_are_found(text: str) -> None:
    assert list(branches(ast.parse(text)))


@pytest.mark.parametrize(
    "text",
    ['ENVS.get("tmaze")', 'MODELS.get("rate")(9)', 'f(model="dt")', 'x = {"rate": 1}', 'if key == "steps": pass'],
)
def test_use_is_no_branch(text: str) -> None:
    assert not list(branches(ast.parse(text)))
