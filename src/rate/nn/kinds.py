"""The kinds that configurations choose from, apart from the networks, so that a configuration needs no torch."""

from __future__ import annotations

from typing import Literal

Clock = Literal["learned", "sinusoidal"]
ValveStart = Literal["random", "aligned"]
NoiseUnit = Literal["one", "memory"]
Cell = Literal["lstm", "gru"]
HeadKind = Literal["imitation", "value"]
"""imitation: predict the action of the data; value: for objectives that choose actions by their return."""
