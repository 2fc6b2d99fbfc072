"""Windows of episodes as batches of tensors, for training.

A batch is a pure function of (seed, step): training resumes at any step without a saved sampler state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rate.data.checks import check_values
from rate.data.columns import chunks, escaped, space_form, unpack
from rate.data.returns import returns_to_go
from rate.data.sampling import Ids, Sampler
from rate.data.shift import Shift
from rate.data.store import AROUND, TrajectoryStore
from rate.errors import ConfigError, DataError
from rate.types import Array, Segment

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Start", "Windows", "returns_to_go", "split_episodes"]

Start = Literal["first", "random"]

# Torch computes little in the wider unsigned types.
_TORCH_DTYPES = {"float64": np.float32, "uint16": np.int32, "uint32": np.int64, "uint64": np.int64}


def split_episodes(episodes: int, validation_fraction: float, seed: int) -> tuple[Ids, Ids]:
    """Ids of the training and of the validation episodes, each sorted; the same for the same arguments."""
    if episodes < 1:
        raise DataError("there is no episode to split; collect some")
    held_out = round(episodes * validation_fraction)
    if validation_fraction > 0:
        held_out = min(max(held_out, 1), episodes - 1)
    order = np.random.default_rng([seed, 0, 2]).permutation(episodes).astype(np.int64)
    return np.sort(order[held_out:]), np.sort(order[:held_out])


def check_oracle(store: TrajectoryStore, name: str, space: gym.Space[Any]) -> None:
    """Refuse data that does not hold a fact of its episodes, or other values of it than its space has."""
    for shard in store.shards:
        column = shard.columns.get(f"infos.{escaped(name)}")
        if column is None:
            raise DataError(f"{store.path} does not hold {name!r} of its episodes; collect it with that information")
        for part in chunks(column):
            check_values(f"infos.{name}", part.astype(space.dtype), space)


def _check_excess(length: int, longest: int) -> None:
    """Some excess is needed, since a window is a multiple of the segment; twice the data is a mistake."""
    if length >= 2 * longest:
        found = f"train.window = {length} but the longest episode has {longest} steps"
        raise ConfigError(f"{found}; lower train.window or use longer episodes")


class Windows:
    """Windows of `length` steps, one per episode and epoch.

    Past the end of an episode its last step is repeated, since zero need not lie in a space; the mask tells. The
    observation there is the one after the last step. `lookahead` more steps follow those of the window.
    """

    def __init__(
        self,
        store: TrajectoryStore,
        episode_ids: Sequence[int] | Ids,
        *,
        length: int,
        start: Start = "first",
        return_scale: float = 1.0,
        oracle: str = "",
        lookahead: int = 0,
        seed: int = 0,
        weights: NDArray[np.float64] | None = None,
        shift: int = 0,
    ) -> None:
        """`weights`: how likely each episode is to be drawn; None: each once per epoch. `shift`: see DataConfig."""
        self.ids: Ids = np.asarray(episode_ids, dtype=np.int64)
        if len(self.ids) == 0:
            raise DataError("no episode to take windows from; collect more or lower data.validation_fraction")
        if length < 1:
            raise ConfigError(f"the length of a window must be positive, got {length}")
        self.longest = int(store.lengths.max())
        """Steps of the longest episode of the whole store, so that a held-out part is judged alike."""
        _check_excess(length, self.longest)
        self.store, self.length, self.start, self.seed = store, length, start, seed
        self.lengths = store.lengths[self.ids]
        """Steps of each of its episodes."""
        self._form = space_form(store.spaces.observation)
        self._lookahead = lookahead
        self._oracle, self._return_scale = f"infos.{escaped(oracle)}" if oracle else "", return_scale
        self._action_dtype = np.float32 if isinstance(store.spaces.action, gym.spaces.Box) else np.int64
        self._return_to_go = store.suffix_sums(self.ids, return_scale, np.float32)
        self._return_start = np.concatenate([[0], np.cumsum(self.lengths)[:-1]])
        self._sampler = Sampler(len(self.ids), seed, weights)
        self._shift = Shift(store.spaces.observation, shift)

    def __len__(self) -> int:
        return len(self.ids)

    def batch(
        self,
        index_step: int,
        batch_size: int,
        rows: slice = slice(None),
        *,
        length: int | None = None,
        thinned: bool = False,
    ) -> Segment:
        """Batch number `index_step` of an endless run, or some `rows` of it.

        `length`: another than its own. `thinned`: a shorter one is the first step of a whole one and others drawn from
        it, in order.
        """
        length = length or self.length
        items = self._sampler.batch(index_step, batch_size)
        if thinned and length < self.length:
            timestep = self._thinned(items, index_step, length)
        else:
            timestep = self._starts(items, index_step, length)[:, None] + np.arange(length + self._lookahead)
        return self._shift.moved(
            self._gather(items[rows], timestep[rows]), [self.seed, index_step, 4], batch_size, rows
        )

    def _starts(self, items: Ids, index_step: int, length: int) -> Ids:
        if self.start == "first":
            return np.zeros(len(items), dtype=np.int64)
        choices = np.maximum(self.lengths[items] - length, 0) + 1
        return np.random.default_rng([self.seed, index_step, 1]).integers(0, choices)

    def _thinned(self, items: Ids, index_step: int, length: int) -> Ids:
        """Steps of episodes, those past the end last."""
        assert not self._lookahead, "the steps after those of a window are not the next ones of a thinned one"
        starts = self._starts(items, index_step, self.length)
        order = np.random.default_rng([self.seed, index_step, 5]).random((len(items), self.length))
        order[starts[:, None] + np.arange(self.length) >= self.lengths[items][:, None]] = 2
        order[:, 0] = -1
        return starts[:, None] + np.sort(np.argsort(order, axis=1)[:, :length], axis=1)

    def fixed(self, batch_size: int) -> Iterator[Segment]:
        """Every window once, in order: the first of each episode, or with start="random" all that tile it."""
        tiles = np.ones_like(self.lengths) if self.start == "first" else -(-self.lengths // self.length)
        items = np.repeat(np.arange(len(self.ids)), tiles)
        starts = np.concatenate([np.arange(count) for count in tiles]) * self.length
        for at in range(0, len(items), batch_size):
            timestep = starts[at : at + batch_size, None] + np.arange(self.length + self._lookahead)
            yield self._gather(items[at : at + batch_size], timestep)

    def _gather(self, items: Ids, timestep: Ids) -> Segment:
        import torch

        lengths, ids = self.lengths[items][:, None], self.ids[items]
        mask, steps = timestep < lengths, np.minimum(timestep, lengths - 1)
        first = self.store.first_step[ids][:, None]
        rows, first_seen = first + steps, first + self.store.episode_in_shard[ids][:, None]
        seen = first_seen + np.minimum(timestep, lengths)
        read = _Reader(self.store, self.store.shard_of[ids])
        reward = read("rewards", rows).astype(np.float32) / np.float32(self._return_scale)
        return Segment(
            observation=unpack(self._form, "observations", lambda name: _tensor(read(name, seen))),
            action=torch.from_numpy(read("actions", rows).astype(self._action_dtype, copy=False)),
            return_to_go=torch.from_numpy(self._return_to_go[self._return_start[items][:, None] + steps] * mask),
            reward=torch.from_numpy(reward * mask),
            terminated=torch.from_numpy(read("terminations", rows)),
            timestep=torch.from_numpy(timestep),
            mask=torch.from_numpy(mask),
            oracle=_tensor(read(self._oracle, first_seen + 0 * steps)) if self._oracle else None,
        )


class _Reader:
    """Reads the rows of one batch from whichever shards hold them."""

    def __init__(self, store: TrajectoryStore, shards: Ids) -> None:
        self._store, self._shards, self._used = store, shards, np.unique(shards)

    def __call__(self, name: str, rows: Ids) -> Array:
        """(B, T, ...), a copy."""
        columns = [self._store.shards[shard].columns[name] for shard in self._used]
        if len(columns) == 1:
            plain = isinstance(columns[0], np.ndarray)
            values: Array = np.take(columns[0], rows, axis=0) if plain else columns[0][rows]
        else:
            # Data sets that are mixed may have other types of rewards.
            dtype = np.result_type(*(column.dtype for column in columns))
            values = np.empty((*rows.shape, *columns[0].shape[1:]), dtype=dtype)
            for shard, column in zip(self._used, columns, strict=True):
                chosen = self._shards == shard
                values[chosen] = column[rows[chosen]]
        touched = values.nbytes + len(rows) * AROUND
        self._store.count_read(min(touched, sum(column.nbytes for column in columns)))
        return values


def _tensor(values: Array) -> Tensor:
    import torch

    if values.dtype.kind in "SU":
        raise DataError("text observations cannot be turned into tensors; encode them as numbers when collecting")
    return torch.from_numpy(values.astype(_TORCH_DTYPES.get(str(values.dtype), values.dtype), copy=False))
