"""DtConfig and LsdtConfig refuse what cannot work and say so; the presets are windows."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest

from rate.errors import ConfigError
from rate.models import MODELS
from rate.models.presets.dt import DtConfig
from rate.models.presets.lsdt import LsdtConfig
from rate.types import Spaces

SPACES = Spaces(observation=gym.spaces.Box(-1, 1, (2,)), action=gym.spaces.Discrete(2))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(({field: 0}, rf"model\.{field} is 0; it must be at least 1") for field in
          ("context", "layers", "width", "heads", "kv_heads", "head_width")),
        *(({field: -1}, rf"model\.{field} is -1; it must be at least 0") for field in ("feed_forward", "timesteps")),
        *(({field: 1.0}, rf"model\.{field} is 1.0; .*below 1") for field in ("dropout", "attention_dropout")),
        ({"heads": 4, "kv_heads": 3}, "not a multiple of model.kv_heads = 3"),
        ({"head_width": 7}, "head_width = 7 must be even"),
    ],
)  # fmt: skip
def test_dt_refuses_what_cannot_work(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        DtConfig(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(({field: 0}, rf"model\.{field} is 0; it must be at least 1") for field in
          ("context", "layers", "width", "heads", "conv_width")),
        ({"kernel": 1}, "model.kernel is 1; it must be at least 2"),
        ({"timesteps": -1}, "model.timesteps is -1; it must be at least 0"),
        *(({field: 1.0}, rf"model\.{field} is 1.0; .*below 1") for field in ("dropout", "kernel_dropout")),
        ({"conv_width": 30}, "conv_width = 30 is not a multiple of 4"),
        *(({"conv_width": width}, r"must be a positive multiple of 4") for width in (64, 68)),
        ({"heads": 3}, "= 32 must be a positive multiple of 6: model.heads share these channels"),
    ],
)  # fmt: skip
def test_lsdt_refuses_what_cannot_work(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        LsdtConfig(**changes)


@pytest.mark.parametrize("name", ["dt", "oracle-dt", "lsdt"])
def test_a_preset_is_a_window(name: str) -> None:
    config = MODELS.get(name)(12, width=48)
    assert isinstance(config, DtConfig | LsdtConfig)
    assert (config.name, config.context, config.width) == (name, 12, 48)
    config.check_window(12)
    for window in (6, 24):
        with pytest.raises(ConfigError, match=f"train.window = {window} differs from model.context = 12; .*both"):
            config.check_window(window)


@pytest.mark.parametrize("name", ["dt", "lsdt"])
def test_a_longer_window_has_the_same_weights(name: str) -> None:
    short, long, table = (MODELS.get(name)(2, **more).build(SPACES) for more in ({}, {"context": 50}, {"timesteps": 7}))
    assert short.parameter_count() == long.parameter_count() == table.parameter_count() - 7 * 64
