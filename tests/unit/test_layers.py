"""Imports point down: a file imports files of its own layer or of lower ones, inside of functions too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import rate

ROOT = Path(rate.__file__).parent

LAYERS = [
    {"errors"},
    {"system"},
    {"registry", "types", "score", "seeding", "serial", "options", "spaces", "images"},
    {"plugins"},
    {"nn"},
    {"models"},
    {"envs"},
    {"data"},
    {"objectives"},
    {"evaluation"},
    {"training"},
    {"config"},
    {"facts"},
    {"standard"},
    {"experiment"},
    {"export"},
    {"recipes"},
    {"reports"},
    {"api"},  # what `import rate` gives
    {"rate"},  # the package itself: it imports the environments, and the rest when it is asked for
    {"bench", "testing"},
    {"cli"},
    {"__main__"},
]
"""From low to high."""

LOW = {"errors", "system", "registry", "types", "score", "seeding", "serial", "options", "spaces", "images", "plugins"}
READ = {"data.windows", "data.space_json"}
ONLY = {
    "nn": LOW,
    "models": {*LOW, "nn"},
    "envs": LOW,
    "data": {*LOW, "envs.spec"},
    "objectives": {*LOW, "models", "nn"},
    "evaluation": {*LOW, "models", "envs.spec", "envs.batch", "envs.success", *READ, "data.distinct"},
    "training": {*LOW, "models", "objectives", *READ},
    "reports": {
        *("errors", "system.files", "types", "score", "serial"),
        *("evaluation.intervals", "evaluation.familiar", "evaluation.inspected"),
    },
}
"""Packages that may import less than their layer allows; a package names all of its files, a file itself only."""

LEVEL = {package: number for number, layer in enumerate(LAYERS) for package in layer}


def module_of(path: Path) -> str:
    """src/rate/nn/heads.py -> nn.heads; the package itself is `rate`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts).removesuffix("__init__").removesuffix(".") or "rate"


MODULES = {module_of(path): path for path in sorted(ROOT.rglob("*.py"))}


def package_of(module: str) -> str:
    return module.split(".")[0]


def imports(path: Path, module: str, *, whole_file: bool = True) -> Iterator[str]:
    """The files of the library that a file imports; `whole_file`: also inside of functions."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree) if whole_file else _on_import(tree):
        if isinstance(node, ast.Import):
            yield from (_own(item.name) for item in node.names if package_of(item.name) == "rate")
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, module)
            if package_of(base) == "rate":
                inner = {_own(f"{base}.{item.name}") for item in node.names} & MODULES.keys()
                yield from inner or {_own(base)}


def _on_import(tree: ast.Module) -> Iterator[ast.stmt]:
    todo: list[ast.stmt] = list(tree.body)
    while todo:
        node = todo.pop()
        yield node
        for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if not for_types and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            todo += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]


def _absolute(node: ast.ImportFrom, module: str) -> str:
    assert node.level == 0, f"{module} has a relative import; write it out"
    return node.module or ""


def _own(name: str) -> str:
    return name.removeprefix("rate").removeprefix(".") or "rate"


def violations(module: str, imported: Iterator[str] | list[str]) -> list[str]:
    package, found = package_of(module), []
    for target in imported:
        other = package_of(target)
        if other == package:
            continue
        narrow = ONLY.get(package)
        if LEVEL[other] > LEVEL[package]:
            found.append(f"{module} imports {target} of a higher layer")
        elif narrow is not None and not {other, target} & narrow:
            found.append(f"{module} imports {target}, which {package} has no need of")
    return found


def test_reports_read_then_tabulate_then_draw() -> None:
    order = ["reading", "tables", "figures", "page", "report"]
    for module, path in MODULES.items():
        if module.startswith("reports."):
            own = order.index(module.split(".")[1])
            used = [target for target in imports(path, module) if target.startswith("reports.")]
            assert all(order.index(target.split(".")[1]) <= own for target in used), module


def test_every_package_has_a_layer() -> None:
    assert {package_of(module) for module in MODULES} == LEVEL.keys()


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_down(module: str) -> None:
    assert not violations(module, imports(MODULES[module], module))


def test_no_circles_between_files() -> None:
    graph = {module: set(imports(path, module, whole_file=False)) - {module} for module, path in MODULES.items()}
    while graph:
        free = {module for module, needs in graph.items() if not needs & graph.keys()}
        assert free, f"these files import each other in a circle: {sorted(graph)}"
        graph = {module: needs for module, needs in graph.items() if module not in free}


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("nn.heads", "from rate.models import MODELS"),
        ("nn.heads", "def f():\n    import rate.cli.main"),
        ("models.presets.rate", "from rate.training.config import TrainConfig"),
        ("evaluation.rollout", "from rate.envs import ENVS"),
        ("reports.reading.runs", "from rate.evaluation.evaluator import CaseResult"),
        ("reports.reading.runs", "from rate import config"),
        ("training.trainer", "from rate.evaluation.evaluator import Evaluator"),
        ("errors", "if True:\n    from rate.types import Spaces"),
    ],
)
def test_the_test_can_fail(module: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text(text)
    assert violations(module, imports(tmp_path / "x.py", module))


def test_the_test_can_pass(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("import torch\nfrom rate.types import Spaces\nfrom rate.nn import heads")
    assert sorted(imports(tmp_path / "x.py", "models.presets.rate")) == ["nn.heads", "types"]
    assert not violations("models.presets.rate", imports(tmp_path / "x.py", "models.presets.rate"))
