"""The notebooks run from their first cell to their last, made small; what git holds of them has no outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
SAID = {"tmaze_in_ten_minutes": "return: ", "own_data": "reward "}
"""What the last cell of each prints."""


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    for name, value in {"RATE_NOTEBOOK_STEPS": "2", "RATE_DATA": str(tmp_path / "data"), "MPLBACKEND": "agg"}.items():
        monkeypatch.setenv(name, value)
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells), "outputs do not belong in git"
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = "".join(output.get("text", "") for output in cells[-1].outputs)
    assert SAID[path.stem] in printed


def test_both_are_there() -> None:
    assert {path.stem for path in NOTEBOOKS} == SAID.keys()
