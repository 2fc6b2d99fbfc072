"""Data that was made to do harm, written on the spot: nothing of it is kept in the repository.

`FILES` are foreign files to import, `STORES` change a data set that is in order, `MINARI` a Minari data set.
"""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rate.data.columns import crc32

STEPS = 10
MODULE = "hostile_payload"
"""The module that the artefacts name; importing it would leave a mark."""


def columns() -> dict[str, Any]:
    """Ten steps that are in order."""
    time = np.arange(STEPS)
    return {
        "observations": np.zeros((STEPS, 2), np.float32),
        "actions": time % 2,
        "rewards": np.ones(STEPS, np.float32),
        "terminals": time == STEPS - 1,
    }


def _hdf5(path: Path, change: Callable[[Any, Any], Any], leave_out: str = "rewards") -> Path:
    import h5py

    path = path.with_suffix(".hdf5")
    with h5py.File(path, "w") as file:
        for name, values in columns().items():
            if name != leave_out:
                file[name] = values
        change(file, h5py)
    return path


def _virtual(file: Any, h5py: Any) -> None:
    layout = h5py.VirtualLayout(shape=(STEPS,), dtype="f4")
    layout[:] = h5py.VirtualSource("elsewhere.hdf5", "rewards", shape=(STEPS,))
    file.create_virtual_dataset("rewards", layout)


def _link_cycle(file: Any, h5py: Any) -> None:
    file["a"], file["rewards"] = h5py.SoftLink("/rewards"), h5py.SoftLink("/a")


def _group_cycle(file: Any, h5py: Any) -> None:
    file["infos/deep/goal"] = np.zeros(STEPS)
    file["infos/deep/again"] = file["infos"]


def _external(file: Any, h5py: Any) -> None:
    file.create_dataset("rewards", (STEPS,), "u1", external=[("/etc/passwd", 0, STEPS)])


def _terabytes(file: Any, h5py: Any) -> None:
    for name in ("observations", "actions", "rewards", "terminals"):
        del file[name]
        file.create_dataset(name, (1 << 40,), "f4", chunks=(1 << 16,), fillvalue=1)


def _wide_chunk(file: Any, h5py: Any) -> None:
    file.create_dataset("rewards", (STEPS,), "f4", chunks=((1 << 29) - 1,), maxshape=(None,), fillvalue=1)


def _npz(path: Path, **members: bytes) -> Path:
    path = path.with_suffix(".npz")
    np.savez(path, **{name: values for name, values in columns().items() if name not in members})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return path


def npy(shape: str, dtype: str = "<f4", content: bytes = b"") -> bytes:
    """An array whose header may say anything."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}}}".encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


def pickled() -> bytes:
    """An array of objects, whose pickle imports the module."""
    return npy(f"({STEPS},)", "|O", f"c{MODULE}\nrun\n(tR.".encode())


def _bomb(path: Path) -> Path:
    path = _npz(path, rewards=bytes(1 << 26))
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as file:
        info = file.getinfo("rewards.npy")
    real = struct.pack("<I", info.file_size)  # it stands twice: before the member, and in the list at the end
    return _written(path, bytes(content).replace(real, struct.pack("<I", (1 << 32) - 2)))


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


FILES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "a link to another file": (
        lambda path: _hdf5(path, lambda file, h5: file.__setitem__("rewards", h5.ExternalLink("other.hdf5", "/x"))),
        "is a link to another place",
    ),
    "a dangling link": (
        lambda path: _hdf5(path, lambda file, h5: file.__setitem__("rewards", h5.SoftLink("/nowhere"))),
        "is a link to another place",
    ),
    "links in a cycle": (lambda path: _hdf5(path, _link_cycle), "is a link to another place"),
    "a group in itself": (lambda path: _hdf5(path, _group_cycle, ""), "contains itself"),
    "values in another file": (lambda path: _hdf5(path, _external), "stored in other files"),
    "values of other files": (lambda path: _hdf5(path, _virtual), "stored in other files"),
    "terabytes": (lambda path: _hdf5(path, _terabytes, ""), "declares 4,398,046,511,104 bytes and stores 0"),
    "a wide chunk": (lambda path: _hdf5(path, _wide_chunk), "declares 2,147,483,644 bytes"),
    "a zip bomb": (_bomb, "bytes"),
    "a zip bomb that says so": (lambda path: _npz(path, rewards=npy(f"({1 << 27},)")), "declares 536,870,912 bytes"),
    "objects": (lambda path: _npz(path, rewards=pickled()), "Python objects"),
    "a negative shape": (lambda path: _npz(path, rewards=npy("(-10,)")), "shape"),
    "a shape without end": (lambda path: _npz(path, rewards=npy(f"({10**30},)")), "declares"),
}


def card_of(store: Path) -> dict[str, Any]:
    return dict(json.loads((store / "card.json").read_text()))


def change_card(store: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    card = card_of(store)
    change(card)
    (store / "card.json").write_text(json.dumps(card))


def _rename_shard(store: Path) -> None:
    (store / "shard-00000").rename(store.parent / "outside")
    change_card(store, lambda card: card["shards"][0].update(name="../outside"))


def _rename_file(store: Path) -> None:
    (store / "shard-00000" / "rewards.npy").rename(store / "rewards.npy")
    files = card_of(store)["shards"][0]["files"]
    change_card(
        store,
        lambda card: card["shards"][0].update(
            files={("../rewards.npy" if name == "rewards.npy" else name): file for name, file in files.items()}
        ),
    )


def _link_shard(store: Path) -> None:
    (store / "shard-00000").rename(store.parent / "outside")
    (store / "shard-00000").symlink_to(store.parent / "outside")


def put_column(store: Path, name: str, content: bytes) -> None:
    """Another column, with a card that agrees."""
    path = store / "shard-00000" / f"{name}.npy"
    path.write_bytes(content)
    size = {"size": len(content), "crc32": crc32(path)}
    change_card(store, lambda card: card["shards"][0]["files"].update({path.name: size}))


def _spaces(store: Path, **space: Any) -> None:
    change_card(store, lambda card: card["spaces"].update(observation=space))


DEEP: Any = {"type": "Discrete", "n": 2, "start": 0, "dtype": "int64"}
for _ in range(400):
    DEEP = {"type": "Tuple", "spaces": [DEEP]}

STORES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a shard outside": (_rename_shard, "not a plain name"),
    "a column outside": (_rename_file, "not a plain name"),
    "a shard that is a link": (_link_shard, "symbolic link"),
    "a pickled column": (lambda store: put_column(store, "rewards", pickled()), "Python objects"),
    "a column without end": (lambda store: put_column(store, "rewards", npy(f"({1 << 50},)")), "declares"),
    "a space without end": (
        lambda store: _spaces(store, type="Box", dtype="float32", shape=[1 << 40], low=0, high=1),
        "one value of a space",
    ),
    "a text without end": (
        lambda store: _spaces(store, type="Text", max_length=1 << 40, min_length=0, charset="a"),
        "one value of a space",
    ),
    "classes without end": (
        lambda store: _spaces(store, type="Discrete", n=10**12, start=0, dtype="int64"),
        "1,000,000,000,000 classes",
    ),
    "spaces in spaces": (lambda store: change_card(store, lambda card: card["spaces"].update(observation=DEEP)), ""),
    "a long number": (
        lambda store: (store / "card.json").write_text('{"format": "rate-trajectories", "version": ' + "1" * 9999),
        "cannot be read",
    ),
    "a deep card": (lambda store: (store / "card.json").write_text("[" * 200_000), "nested too deeply"),
    "shards that are none": (lambda store: change_card(store, lambda card: card.update(shards=7)), "cannot be read"),
    "a shard twice": (
        lambda store: change_card(store, lambda card: card.update(shards=card["shards"] * 2)),
        "does not hold the episodes",
    ),
    "infos that are not there": (
        lambda store: change_card(store, lambda card: card.update(infos={"dict": [["gone", None]]})),
        "infos that are not there",
    ),
    "options that are none": (lambda store: change_card(store, lambda card: card.update(options=[1])), "'options'"),
    "an environment that is none": (
        lambda store: change_card(store, lambda card: card["options"].update(env_spec="[7]")),
        "description of an environment",
    ),
}


def change_metadata(data: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    raw = json.loads((data / "metadata.json").read_text())
    change(raw)
    (data / "metadata.json").write_text(json.dumps(raw))


def _without_spaces(raw: dict[str, Any]) -> None:
    """Minari itself would import the module to make the environment."""
    del raw["observation_space"], raw["action_space"]
    raw.pop("rate", None)
    spec = {"id": "Harm-v0", "entry_point": f"{MODULE}:run", "kwargs": {}, "additional_wrappers": []}
    raw["env_spec"] = json.dumps(spec)


def _change_episode(data: Path, change: Callable[[Any, Any], Any]) -> None:
    import h5py

    with h5py.File(data / "main_data.hdf5", "a") as file:
        del file["episode_1/rewards"]
        change(file["episode_1"], h5py)


MINARI: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no spaces": (lambda data: change_metadata(data, _without_spaces), "'observation_space' is missing"),
    "a link to another file": (
        lambda data: _change_episode(
            data, lambda group, h5: group.__setitem__("rewards", h5.ExternalLink("x.hdf5", "/y"))
        ),
        "is a link to another place",
    ),
    "a link to itself": (
        lambda data: _change_episode(
            data, lambda group, h5: group.__setitem__("rewards", h5.SoftLink("/episode_1/rewards"))
        ),
        "is a link to another place",
    ),
    "terabytes": (
        lambda data: _change_episode(
            data, lambda group, h5: group.create_dataset("rewards", (1 << 40,), "f4", chunks=(1 << 16,))
        ),
        "declares",
    ),
    "episodes without end": (
        lambda data: change_metadata(data, lambda raw: raw.update(total_episodes=1 << 60)),
        "episodes where its metadata.json names",
    ),
    "another format": (lambda data: change_metadata(data, lambda raw: raw.update(data_format="arrow")), "only hdf5"),
    "a list": (lambda data: (data / "metadata.json").write_text("[]"), "metadata.json cannot be read"),
}
