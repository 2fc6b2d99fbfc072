"""Grids: every combination once, with names that tell the runs apart."""

from __future__ import annotations

import pytest

from rate.errors import UnknownNameError
from rate.recipes import grid, recipe


def test_every_combination_with_every_seed() -> None:
    runs = grid(recipe("tmaze/rate"), {"model.layers": (1, 2, 4), "train.learning_rate": (1e-3, 3e-4)}, seeds=(0, 5))
    assert [run.name for run in runs[:3]] == [
        "layers=1,learning_rate=0.001/seed0",
        "layers=1,learning_rate=0.0003/seed0",
        "layers=2,learning_rate=0.001/seed0",
    ]
    found = {(run.config.model.layers, run.config.train.learning_rate, run.config.seed) for run in runs}  # type: ignore[attr-defined]
    assert len(found) == len({run.name for run in runs}) == len(runs) == 12 and (4, 3e-4, 5) in found


def test_fields_of_one_name_are_written_in_full() -> None:
    runs = grid(
        recipe("tmaze/rate"), {"seed": (3,), "eval.seed": (7,), "eval.cases": (("length=9", "length=30"),)}, (3,)
    )
    assert runs[0].name == "seed=3,eval.seed=7,eval.cases=length=9-length=30/seed3"


def test_an_axis_must_be_a_field() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'layers'"):
        grid(recipe("tmaze/rate"), {"model.layer": (1, 2)})
