"""Acts with an exported policy: `policy = Policy(DIR); policy.reset(); action = policy.act(observation, reward)`.

It needs NumPy and onnxruntime. Observations with one axis more than their space are a batch of episodes, in step.
"""

import hashlib
import json
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort


class Policy:
    def __init__(self, folder: Any, threads: int = 1) -> None:
        self.card, options = json.loads(Path(folder, "card.json").read_text(encoding="utf-8")), ort.SessionOptions()
        for name, known in self.card["checksums"].items():
            if hashlib.sha256(Path(folder, name).read_bytes()).hexdigest() != known:
                raise ValueError(f"{name} is not the file that was exported")
        options.intra_op_num_threads, self.start = threads, dict(np.load(Path(folder, "start.npz")))
        self.graphs = [ort.InferenceSession(str(Path(folder, name)), options) for name in self.card["graphs"]]

    def reset(self, oracle: Any = None, target_return: float | None = None) -> None:
        """Begin new episodes; `oracle` is the fact of each that some policies are told."""
        target = self.card["target_return"] if target_return is None else target_return
        self.time, self.facts = 0, {"target": target / self.card["return_scale"], "oracle": oracle}

    def act(self, observation: Any, reward: Any = 0.0) -> Any:
        """The action for an observation; `reward` is what followed the action before it."""
        leaves = self.card["leaves"]
        values = [np.asarray(reduce(lambda x, key: x[key], leaf["keys"], observation)) for leaf in leaves]
        if self.time == 0:
            self._begin(values[0].shape[: values[0].ndim - len(leaves[0]["shape"])])
        now, after, binding = self.sides[self.time % 2]
        for value, leaf in zip(values, leaves, strict=True):
            if value.shape != (*self.batch, *leaf["shape"]):
                raise ValueError(f"{leaf['name']}: {value.shape} is not the shape {(*self.batch, *leaf['shape'])}")
            now[leaf["name"]][...] = value
        now["reward"][...], now["timestep"][...] = reward, self.time
        if self.time and self.graphs[1:] and self.time % self.card["segment"] == 0:
            results = self.graphs[1].run(None, {item.name: now[item.name] for item in self.graphs[1].get_inputs()})
            for item, value in zip(self.graphs[1].get_outputs(), results, strict=True):
                now[item.name.removeprefix("next.")][:, : value.shape[1]] = value
        self.graphs[0].run_with_iobinding(binding)
        self.time, self.prediction = self.time + 1, after["prediction"].copy()
        return after["action"].copy() if self.batch else after["action"][0].copy()

    def _begin(self, batch: tuple[int, ...]) -> None:  # on one side lies what a step takes, on the other what it makes
        one = {name: rows.repeat(*batch or [1], 0) if rows.ndim else rows.copy() for name, rows in self.start.items()}
        one.update({name: np.full_like(one[name], fact) for name, fact in self.facts.items() if name in one})
        two = {**one, **{name: one[name].copy() for name in self.card["swapped"]}}
        self.batch, self.sides = batch, [(*sides, self.graphs[0].io_binding()) for sides in ((one, two), (two, one))]
        for now, after, binding in self.sides:
            for item in self.graphs[0].get_inputs():
                binding.bind_ortvalue_input(item.name, ort.OrtValue.ortvalue_from_numpy(now[item.name]))
            for item in self.graphs[0].get_outputs():
                made = ort.OrtValue.ortvalue_from_numpy(after[item.name.removeprefix("next.")])
                binding.bind_ortvalue_output(item.name, made)
