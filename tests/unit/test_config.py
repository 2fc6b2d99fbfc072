"""RunConfig: exact in JSON, checked when it is made, and compared by field."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest

from rate.cli.train import read_arguments
from rate.config import RunConfig, config_from_json, config_to_json, differences, edit
from rate.errors import CheckpointError, ConfigError, RateError, UnknownNameError
from rate.nn.encoders import EARLIER
from rate.recipes import RECIPES, recipe


@pytest.fixture
def config() -> RunConfig:
    return recipe("tmaze/rate")


@pytest.mark.parametrize("name", RECIPES.names())
def test_recipes_survive_json(name: str) -> None:
    made = recipe(name)
    text = json.dumps(config_to_json(made), allow_nan=False)
    again = config_from_json(json.loads(text), "here")
    assert json.dumps(config_to_json(again)) == json.dumps(config_to_json(made))
    assert replace(again, eval=replace(again.eval, target_return=0.0)) == replace(
        made, eval=replace(made.eval, target_return=0.0)
    )
    assert type(again.model) is type(made.model)
    assert differences(json.loads(text), config_to_json(again)) == []


@pytest.mark.parametrize("name", RECIPES.names())
def test_recipes_are_named_after_what_they_hold(name: str) -> None:
    assert recipe(name).recipe == name
    assert name.rpartition("/")[0] == recipe(name).env.name


def test_odd_values_survive_json(config: RunConfig) -> None:
    odd = replace(
        config,
        train=replace(config.train, bptt_segments=2, betas=(0.5, 0.75), learning_rate=1 / 3),
        eval=replace(config.eval, target_return=-1e30, cases=()),
        data=replace(config.data, options=("length=9", 'lengths="exact"')),
        seed=12345678901,
    )
    assert config_from_json(json.loads(json.dumps(config_to_json(odd))), "here") == odd


def test_it_is_frozen(config: RunConfig) -> None:
    with pytest.raises(FrozenInstanceError):
        config.seed = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("part", "changes", "error"),
    [
        ("env", {"name": "nowhere"}, UnknownNameError),
        ("model", {"name": "nothing"}, UnknownNameError),
        ("model", {"valve": "nothing"}, UnknownNameError),
        ("model", {"segment_len": 7}, ConfigError),
        ("objective", {"name": "nothing"}, UnknownNameError),
        ("train", {"window": 31}, ConfigError),
        ("train", {"segment_lens": (30, 10)}, ConfigError),  # not as the model acts
        ("train", {"segment_lens": (7, 5)}, ConfigError),  # not a part of the window
        ("train", {"segment_lens": (0, 5)}, ConfigError),
        ("train", {"cache_tokens": (30, 5)}, ConfigError),  # not as the model acts
        ("train", {"cache_tokens": (-1, 0)}, ConfigError),
        ("eval", {"cases": ("length=1",)}, ConfigError),
        ("eval", {"cases": ("depth=9",)}, RateError),
        ("data", {"options": ("length",)}, ConfigError),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_made(
    config: RunConfig, part: str, changes: dict[str, Any], error: type[RateError]
) -> None:
    with pytest.raises(error):
        replace(config, **{part: replace(getattr(config, part), **changes)})


def test_a_length_of_segments_that_does_not_fit_is_named(config: RunConfig) -> None:
    with pytest.raises(ConfigError, match=r"train\.segment_lens holds 7, which does not divide train\.window = 30"):
        replace(config, train=replace(config.train, segment_lens=(7, 5)))


def test_segments_in_stages_need_a_model_with_segments(config: RunConfig) -> None:
    for lengths in ((30, 5), (30, 10, 5)):
        assert replace(config, train=replace(config.train, segment_lens=lengths)).train.segment_lens == lengths
    with pytest.raises(ConfigError, match="dt has no segments"):
        edit(recipe("tmaze/dt"), {"train.segment_lens": (30, 10)})


def test_a_cache_in_stages_needs_one_that_ends_as_the_model_has_it(config: RunConfig) -> None:
    assert replace(config, train=replace(config.train, cache_tokens=(90, 0))).train.cache_tokens == (90, 0)
    with pytest.raises(
        ConfigError, match=r"cache_tokens = 90 30 must end with the policy's own: model\.cache_tokens = 0"
    ):
        edit(config, {"train.cache_tokens": (90, 30)})
    with pytest.raises(ConfigError, match=r"dt has no cache; leave train\.cache_tokens empty"):
        edit(recipe("tmaze/dt"), {"train.cache_tokens": (90, 0)})
    with pytest.raises(ConfigError, match="trxl has no memory: nothing would be carried"):
        edit(recipe("tmaze/trxl"), {"train.cache_tokens": (0, 9), "model.cache_tokens": 9})


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_a_seed_that_no_generator_takes(config: RunConfig, seed: int) -> None:
    with pytest.raises(ConfigError, match=f"seed is {seed}"):
        replace(config, seed=seed)
    with pytest.raises(ConfigError, match=rf"eval\.seed is {seed}"):
        replace(config, eval=replace(config.eval, seed=seed))


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop("model"),
        lambda data: data["train"].update(steps="many"),
        lambda data: data["train"].update(steps=None),
        lambda data: data["train"].update(unheard=1),
        lambda data: data["model"].update(type="Unheard"),
        lambda data: data["model"].update(segment_len=7),
        lambda data: data.update(train=[1]),
        lambda data: data["data"].update(return_scale="x"),
    ],
)
def test_json_that_is_no_configuration_names_the_file(config: RunConfig, change: Any) -> None:
    data = json.loads(json.dumps(config_to_json(config)))
    change(data)
    with pytest.raises(CheckpointError, match=r"here/config\.json"):
        config_from_json(data, "here/config.json")


def test_differences_are_named_by_field(config: RunConfig) -> None:
    one = config_to_json(config)
    other = config_to_json(
        replace(config, seed=2, train=replace(config.train, clip=3.0), model=replace(config.model, width=32))
    )
    assert differences(one, other) == ["model.width", "seed", "train.clip"]
    assert differences(one, one) == []
    assert differences(one, [1]) == [""]


# ---------------------------------------------------------------------------------------------------------- edit


def test_edit_takes_dots_and_mappings(config: RunConfig) -> None:
    changed = edit(config, {"seed": 1, "train": {"steps": 5}, "train.batch_size": 2, "model.width": 32})
    assert (changed.seed, changed.train.steps, changed.train.batch_size) == (1, 5, 2)
    assert changed.model == replace(config.model, width=32)
    assert edit(config, {}) == config


@pytest.mark.parametrize("turned", [False, True])
def test_edit_takes_a_whole_part_before_what_is_in_it(config: RunConfig, turned: bool) -> None:
    model = replace(config.model, layers=1)
    changes = list({"model": model, "model.width": 32}.items())
    assert edit(config, dict(changes[::-1] if turned else changes)).model == replace(model, width=32)


def test_edit_of_a_tuple(config: RunConfig) -> None:
    assert edit(config, {"eval.cases": "length=9"}).eval.cases == ("length=9",)
    assert edit(config, {"eval.cases": ["length=9", "length=12"]}).eval.cases == ("length=9", "length=12")
    assert edit(config, {"train.betas": [0.5, 0]}).train.betas == (0.5, 0)
    assert edit(config, {"train.bptt_segments": None, "train.clip": 2}).train.clip == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("train.steps", "5"),
        ("train.steps", 5.0),
        ("train.steps", True),
        ("train.steps", None),
        ("train.bptt_segments", 1.5),
        ("train.clip", "1"),
        ("train.clip", False),
        ("train.recompute", 1),
        ("train.schedule", "warm"),
        ("train.betas", (0.9,)),
        ("train.betas", 0.9),
        ("eval.cases", (9,)),
        ("model", 3),
        ("model.width.x", 1),
        ("seed", {"x": 1}),
        ("seed", "0"),
    ],
)
def test_edit_refuses_other_types(config: RunConfig, name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=name.removesuffix(".x").split(".")[-1]):
        edit(config, {name: value})


def test_edit_of_an_unknown_field(config: RunConfig) -> None:
    for changes in ({"trian.steps": 1}, {"train": {"stepz": 1}}, {"train.stepz": 1}):
        with pytest.raises(UnknownNameError):
            edit(config, changes)


BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PUBLISHED = [path for name in ("aar", "minigrid-memory") for path in (BENCHMARKS / name).glob("*/*/config.json")]


def test_published_configurations_are_those_of_before() -> None:
    """What was stored before a model named its encoder is read as it was trained."""
    assert PUBLISHED
    for path in PUBLISHED:
        stored = json.loads(path.read_text())
        assert "encoder" not in stored["model"]
        config = config_from_json(stored, path)
        assert config.model.encoder == EARLIER


def test_the_encoder_is_edited_like_any_part(config: RunConfig) -> None:
    changed = edit(config, {"model.encoder": {"name": "image-deep", "channels": [16, 32]}})
    assert changed.model.encoder == replace(config.model.encoder, name="image-deep", channels=(16, 32))
    assert config_from_json(json.loads(json.dumps(config_to_json(changed))), "here") == changed
    words = ["tmaze/rate", "--model.encoder.channels", "16", "32", "--model.encoder.name", "image-deep"]
    assert read_arguments(words).config == changed


def test_lengths_of_segments_follow_the_window_and_the_segments_of_the_policy() -> None:
    config = recipe("tmaze/rate")
    assert config.train.segment_lens == (30, 15, 10, 5, 5, 5)
    assert edit(config, {"model.segment_len": 6}).train.segment_lens == (30, 15, 10, 6, 6, 6)
    assert edit(config, {"train": {"window": 60}}).train.segment_lens == (60, 30, 20, 5, 5, 5)
    assert edit(recipe("aar/rate"), {"model.segment_len": 18}).train.segment_lens == (90, 45, 30, 18, 18, 6)
    assert edit(config, {"model.segment_len": 15, "train.segment_lens": (15,)}).train.segment_lens == (15,)
    assert edit(config, {"model.width": 32}).train.segment_lens == config.train.segment_lens
    own = {"model": replace(config.model, segment_len=3), "train.window": 9}
    assert edit(config, own).train.segment_lens == (9, 3, 3, 3, 3)  # half of nine is no length
    assert edit(config, {"model": recipe("tmaze/dt").model}).train.segment_lens == ()
