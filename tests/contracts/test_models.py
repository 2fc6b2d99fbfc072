"""What every registered model promises: acting equals training, no look ahead, no leak, padding that is not there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces as gs
from torch import Tensor

from rate.errors import ConfigError
from rate.models import MODELS, ModelConfig, RateConfig, SequencePolicy, unroll
from rate.nn.encoders import EncoderConfig
from rate.nn.tokens import Tokens
from rate.types import Segment, Spaces, Tree, tree_leaves, tree_map

Policy = SequencePolicy[Any]

K, WINDOW = 3, 9
BATCH = 3
LENGTH = 4 * K + 2
"""Four segment boundaries and an open segment; longer than the longest cache below."""
SMALL = {"layers": 2, "width": 16, "heads": 4, "head_width": 8, "memory_tokens": 2, "feed_forward": 24, "conv_width": 8}
FIXED = {"rate": {"feed_forward": 0}, "trxl": {"memory_tokens": 0}, "gtrxl": {"memory_tokens": 0}}
"""Sizes that make a model what it is."""

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in MODELS.names()},
    "rate-short-cache": ("rate", {"cache_tokens": 7}),
    "rate-long-cache": ("rate", {"cache_tokens": 20}),
    "rate-grouped-heads": ("rate", {"kv_heads": 2, "valve_heads": 2, "cache_tokens": 13, "feed_forward": 24}),
    "rate-one-step": ("rate", {"segment_len": 1, "cache_tokens": 8}),
    "rmt-cache": ("rmt", {"cache_tokens": 10}),
    "rmt-all-heads": ("rmt", {"kv_heads": 4}),
    "trxl-short-cache": ("trxl", {"cache_tokens": 5}),
    # ca1 mixes its rows until they are alike and nothing more can be written: without a cache, borders would be walls.
    "rate-ca1": ("rate", {"valve": "ca1", "valve_heads": 2, "cache_tokens": 13}),
    "rate-ca2-feed-forward": ("rate", {"valve_feed_forward": 12}),
    "rate-gate": ("rate", {"valve": "gate"}),
    "rate-gru": ("rate", {"valve": "gru"}),
    "rate-lstm": ("rate", {"valve": "lstm"}),
    "rate-lstm-cache-one-step": ("rate", {"valve": "lstm", "segment_len": 1, "cache_tokens": 7}),
    "gtrxl-short-cache": ("gtrxl", {"cache_tokens": 5}),
    "rate-gated": ("rate", {"gated": True, "feed_forward": 0}),
    "rate-no-returns": ("rate", {"return_to_go": False, "valve_bias": 4.0, "timesteps": K + 1, "cache_tokens": 7}),
    "rate-observations": (
        "rate",
        {"return_to_go": False, "previous_action": False, "clock": "sinusoidal", "timesteps": 9},
    ),
    "trxl-no-actions": ("trxl", {"previous_action": False}),
    "dt-no-returns": ("dt", {"context": K, "return_to_go": False}),
    "oracle-dt-no-actions": ("oracle-dt", {"context": K, "previous_action": False}),
    "dmamba-clock": ("dmamba", {"return_to_go": False, "clock": "sinusoidal", "timesteps": K}),
    "dt-short": ("dt", {"context": K}),
    "dt-one-step": ("dt", {"context": 1, "feed_forward": 0}),
    "dt-timesteps": ("dt", {"context": K, "timesteps": K + 1, "kv_heads": 4}),
    "oracle-dt-short": ("oracle-dt", {"context": K, "timesteps": 2 * K}),
    "lsdt-short": ("lsdt", {"context": K, "kernel": 3 * K + 4}),
    "lsdt-one-step": ("lsdt", {"context": 1, "kernel": 2}),
    "lsdt-timesteps": ("lsdt", {"context": K, "timesteps": K + 1}),
}

ENCODED: dict[str, tuple[str, dict[str, Any]]] = {
    "rate-deep": ("rate", {"cache_tokens": 7, "encoder": EncoderConfig(name="image-deep", channels=(4, 8))}),
}
"""With an encoder that is not the default."""

SPACES: dict[str, Spaces] = {
    "vector": Spaces(observation=gs.Box(-1, 1, (4,)), action=gs.Discrete(3)),
    "tree": Spaces(
        observation=gs.Dict(
            place=gs.Box(-1, 1, (2, 2)),
            cards=gs.Tuple([gs.Discrete(3, start=1), gs.MultiDiscrete([2, 3]), gs.MultiBinary(2)]),
        ),
        action=gs.Discrete(4, start=-1),
    ),
    "category": Spaces(observation=gs.Discrete(5, start=2), action=gs.MultiDiscrete([3, 2], start=[1, 0])),
    "control": Spaces(observation=gs.MultiDiscrete([3, 4]), action=gs.Box(-1, 1, (2,))),
    "image": Spaces(observation=gs.Box(0, 255, (3, 36, 36), np.uint8), action=gs.Discrete(3)),
}
IMAGES: dict[str, Spaces] = {
    "grid": Spaces(observation=gs.Box(0, 255, (7, 7, 3), np.uint8), action=gs.Discrete(3)),
    "floats": Spaces(observation=gs.Box(0, 1, (3, 16, 16)), action=gs.Box(-1, 1, (2,))),
    "frames": Spaces(
        observation=gs.Dict(eye=gs.Box(0, 255, (2, 40, 36, 3), np.uint8), card=gs.Discrete(3)), action=gs.Discrete(3)
    ),
}
"""Three sizes, channels first and last."""


def config_of(variant: str) -> ModelConfig:
    """The preset, made small in the fields that its configuration has."""
    name, changes = {**VARIANTS, **ENCODED}[variant]
    preset = MODELS.get(name)(WINDOW)
    known = {item.name for item in fields(preset)}
    wanted = {**{key: SMALL[key] for key in SMALL if key in known}, **FIXED.get(name, {}), **changes}
    return replace(preset, **wanted)


ORACLE = gs.Box(-1, 1, (2,))


def spaces_of(config: ModelConfig, spaces: Spaces) -> Spaces:
    """With a privileged fact, for a model that is told one."""
    return replace(spaces, oracle=ORACLE) if getattr(config, "oracle", False) else spaces


def build(config: ModelConfig, spaces: Spaces, seed: int = 0) -> Policy:
    """In eval mode; with biases and norms away from 0 and 1, a row that should not be there cannot hide."""
    torch.manual_seed(seed)
    policy = config.build(spaces_of(config, spaces)).eval()
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter)) if parameter.dim() == 1 else parameter.mul_(1.5)
    return policy


@pytest.fixture(params=list(VARIANTS))
def config(request: pytest.FixtureRequest) -> ModelConfig:
    return config_of(request.param)


@pytest.fixture(params=[name for name in VARIANTS if getattr(config_of(name), "memory_tokens", 0)])
def memory_config(request: pytest.FixtureRequest) -> ModelConfig:
    return config_of(request.param)


CASES = [
    (variant, space) for variant in VARIANTS for space in SPACES if variant in MODELS or space in ("vector", "tree")
]
"""Every model with every space; variants of the mechanism with two of them."""
CASES += [("rate-deep", space) for space in IMAGES]
CASES += [("rate", "grid"), ("dt", "floats"), ("bc-lstm", "frames")]


@pytest.fixture(params=CASES, ids="-".join)
def policy(request: pytest.FixtureRequest) -> Policy:
    variant, space = request.param
    return build(config_of(variant), {**SPACES, **IMAGES}[space])


@pytest.fixture
def spaces(policy: Policy) -> Spaces:
    return policy.spaces


@pytest.fixture(params=[variant for variant in VARIANTS if build(config_of(variant), SPACES["vector"]).context])
def window_policy(request: pytest.FixtureRequest) -> Policy:
    return build(config_of(request.param), SPACES["tree"])


@pytest.fixture
def plain(config: ModelConfig) -> Policy:
    return build(config, SPACES["vector"])


def draw(space: gym.Space[Any], lead: tuple[int, ...], rng: np.random.Generator) -> Tree:
    """Random elements of a space as tensors."""
    if isinstance(space, gs.Dict):
        return {key: draw(part, lead, rng) for key, part in space.spaces.items()}
    if isinstance(space, gs.Tuple):
        return tuple(draw(part, lead, rng) for part in space.spaces)
    if isinstance(space, gs.Discrete):
        return torch.as_tensor(rng.integers(space.start, space.start + space.n, lead))
    if isinstance(space, gs.MultiDiscrete):
        return torch.as_tensor(rng.integers(space.start, space.start + space.nvec, (*lead, *space.shape)))
    if isinstance(space, gs.MultiBinary):
        return torch.as_tensor(rng.integers(0, 2, (*lead, *space.shape)).astype(np.int8))
    if space.dtype == np.uint8:
        return torch.as_tensor(rng.integers(0, 256, (*lead, *space.shape)).astype(np.uint8))
    return torch.as_tensor(rng.standard_normal((*lead, *space.shape)).astype(np.float32))


def other(space: gym.Space[Any], x: Tree) -> Tree:
    """A value of the space that differs everywhere."""
    if isinstance(space, gs.Dict):
        return {key: other(part, x[key]) for key, part in space.spaces.items()}
    if isinstance(space, gs.Tuple):
        return tuple(other(part, leaf) for part, leaf in zip(space.spaces, x, strict=True))
    if isinstance(space, gs.Discrete):
        return (x - int(space.start) + 1) % int(space.n) + int(space.start)
    if isinstance(space, gs.MultiDiscrete):
        start, sizes = torch.as_tensor(space.start), torch.as_tensor(space.nvec)
        return (x - start + 1) % sizes + start
    if isinstance(space, gs.MultiBinary):
        return 1 - x
    return 255 - x if space.dtype == np.uint8 else x + 3.0


def make_window(spaces: Spaces, length: int, batch: int = BATCH, seed: int = 0) -> Segment:
    rng = np.random.default_rng(seed)
    return Segment(
        observation=draw(spaces.observation, (batch, length), rng),
        action=draw(spaces.action, (batch, length), rng),
        return_to_go=torch.as_tensor(rng.standard_normal((batch, length)).astype(np.float32)),
        reward=torch.as_tensor(rng.standard_normal((batch, length)).astype(np.float32)),
        terminated=torch.zeros(batch, length, dtype=torch.bool),
        timestep=torch.arange(length).repeat(batch, 1),
        mask=torch.ones(batch, length, dtype=torch.bool),
        oracle=None if spaces.oracle is None else draw(spaces.oracle, (batch, 1), rng).repeat(1, length, 1),
    )


def changed(window: Segment, spaces: Spaces, **where: Tensor) -> Segment:
    """Another window that differs in the given parts where (B, T) is true."""

    def pick(at: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
        return lambda new, old: torch.where(at.reshape(*at.shape, *[1] * (old.dim() - 2)), new, old)

    parts: dict[str, Tree] = {
        "observation": other(spaces.observation, window.observation),
        "action": other(spaces.action, window.action),
        "return_to_go": window.return_to_go + 3.0,
    }
    return replace(window, **{key: tree_map(pick(at), parts[key], getattr(window, key)) for key, at in where.items()})


def cut(window: Segment, start: int, stop: int) -> Segment:
    cut: Segment = tree_map(lambda leaf: leaf[:, start:stop], window)
    return cut


def rows(tree: Tree, index: Any) -> Tree:
    return tree_map(lambda leaf: leaf[index], tree)


def longest(policy: Policy) -> int:
    """How many steps `unroll` is asked for."""
    return policy.context or LENGTH


def predict(policy: Policy, window: Segment) -> Tensor:
    with torch.no_grad():
        return unroll(policy, window).prediction


def carry(policy: Policy, window: Segment) -> tuple[Tensor, Any]:
    """As `unroll`, with the state that is left."""
    state, predictions = policy.initial_state(len(window.mask)), []
    for segment in window.split(policy.segment_len):
        output, state = policy(segment, state)
        predictions.append(output.prediction)
    return torch.cat(predictions, 1), state


def act(policy: Policy, window: Segment, start: int = 0, state: Any = None) -> Iterator[tuple[Tensor, Any]]:
    """Every step's prediction (B, P) and state."""
    state = policy.initial_state(len(window.mask)) if state is None else state
    for t in range(start, len(window)):
        with torch.no_grad():
            output, state = policy.step(window.at(t), state)
        yield output.prediction, state


def acted(policy: Policy, window: Segment) -> Tensor:
    return torch.stack([prediction for prediction, _ in act(policy, window)], 1)


def loss_of(policy: Policy, prediction: Tensor, window: Segment) -> Tensor:
    losses = policy.head.loss(prediction, window.action)
    return torch.where(window.mask, losses, 0).sum() / window.mask.sum()


def gradients(policy: Policy, loss: Tensor) -> dict[str, Tensor | None]:
    names, parameters = zip(*policy.named_parameters(), strict=True)
    return dict(zip(names, torch.autograd.grad(loss, parameters, allow_unused=True), strict=True))


def state_bytes(state: Any) -> int:
    return sum(leaf.numel() * leaf.element_size() for leaf in tree_leaves(state))


def integers(state: Any) -> list[int]:
    """The counters of a state."""
    if isinstance(state, int):
        return [state]
    if is_dataclass(state):
        return [number for item in fields(state) for number in integers(getattr(state, item.name))]
    return []


def close(actual: Any, expected: Any, tolerance: float = 1e-5) -> None:
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


# Acting equals training.


def test_step_equals_forward(policy: Policy, spaces: Spaces) -> None:
    steps = 2 * policy.context + 3 if policy.context else LENGTH
    window = make_window(spaces, steps)
    seen = acted(policy, window)
    assert seen.shape == (BATCH, steps, policy.head.size)
    assert seen.dtype == torch.float32
    if policy.context:
        for t in range(steps):
            last = cut(window, max(0, t + 1 - policy.context), t + 1)
            close(seen[:, t], predict(policy, last)[:, -1])
    else:
        for length in (1, K - 1, K, K + 1, 2 * K + 1, 3 * K, LENGTH):
            close(seen[:, :length], predict(policy, cut(window, 0, length)))


def test_step_takes_over_from_forward(plain: Policy) -> None:
    if plain.segment_len is None:
        pytest.skip("no segments")
    window = make_window(plain.spaces, LENGTH)
    for segments in (1, 3):
        start = segments * plain.segment_len
        with torch.no_grad():
            _, state = carry(plain, cut(window, 0, start))
        seen = torch.stack([prediction for prediction, _ in act(plain, window, start, state)], 1)
        close(seen, predict(plain, window)[:, start:])


def test_a_policy_that_is_cut_anew_is_the_one_that_is_built_so(memory_config: RateConfig) -> None:
    spaces = SPACES["vector"]
    policy, built = (build(replace(memory_config, segment_len=length), spaces) for length in (K, K + 2))
    built.load_state_dict(policy.state_dict())
    window = make_window(spaces, LENGTH)
    policy.resegment(K + 2)
    assert torch.equal(predict(policy, window), predict(built, window))
    assert torch.equal(acted(policy, window), acted(built, window))


def test_a_model_without_segments_is_not_cut() -> None:
    with pytest.raises(ConfigError, match="no segments"):
        build(MODELS.get("dt")(K), SPACES["vector"]).resegment(3)


def test_step_sees_nothing_that_left_the_window(window_policy: Policy) -> None:
    policy, spaces = window_policy, window_policy.spaces
    assert policy.context
    steps = 3 * policy.context + 2
    window = make_window(spaces, steps)
    # The newest step that is outside of the last window: all of it, its action too, must be gone.
    left = (torch.arange(steps) < steps - policy.context).expand(BATCH, -1)
    moved = changed(window, spaces, observation=left, action=left, return_to_go=left)
    seen, again = acted(policy, window), acted(policy, moved)
    assert torch.equal(seen[:, -1], again[:, -1])
    assert not torch.equal(seen[:, -2], again[:, -2])


def test_step_keeps_no_graph(plain: Policy) -> None:
    assert torch.is_grad_enabled()
    window = make_window(plain.spaces, 2 * K)
    state = plain.initial_state(BATCH)
    for t, expected in enumerate(acted(plain, window).unbind(1)):
        output, state = plain.step(window.at(t), state)
        assert not output.prediction.requires_grad
        close(output.prediction, expected)


# Causality, rows, padding.


def repeated(spaces: Spaces, steps: int) -> Segment:
    """One episode in as many rows as it has steps, so that row t can differ in step t."""
    window: Segment = rows(make_window(spaces, steps, batch=1), [0] * steps)
    return window


def test_the_future_changes_nothing(policy: Policy, spaces: Spaces) -> None:
    steps = longest(policy)
    window = repeated(spaces, steps)
    known = torch.ones(steps, steps).tril().bool()  # row t knows the steps up to t, and the actions before it
    acts = torch.ones(steps, steps).tril(-1).bool()
    moved = changed(window, spaces, observation=~known, action=~acts, return_to_go=~known)
    before, after = predict(policy, window), predict(policy, moved)
    close(after[known], before[known], 1e-6)
    here = torch.eye(steps).bool()
    difference = (predict(policy, changed(window, spaces, observation=here)) - before).abs().amax(2)
    assert (difference[here] > 1e-4).all()
    assert (difference[acts] < 1e-6).all()


def test_every_token_is_read(policy: Policy, spaces: Spaces) -> None:
    """Return and observation count at once, the action from the next step on."""
    tokens = policy.tokens
    assert isinstance(tokens, Tokens)
    steps = longest(policy)
    window, here = repeated(spaces, steps), torch.eye(steps).bool()
    before = predict(policy, window)
    for part, lag, told in (("return_to_go", 0, tokens.returns), ("action", 1, tokens.actions)):
        difference = (predict(policy, changed(window, spaces, **{part: here})) - before).abs().amax(2)
        if told is None:
            assert not difference.any()
            continue
        assert (difference.diagonal(lag) > 1e-5).all()
        assert (difference[torch.ones_like(difference).tril(lag - 1).bool()] < 1e-6).all()


def test_memory_reaches_every_later_step(memory_config: RateConfig) -> None:
    policy = build(memory_config, SPACES["vector"])
    window, here = repeated(SPACES["vector"], LENGTH), torch.eye(LENGTH).bool()
    config = policy.tokens.config
    parts = {"return_to_go": (0, config.returns), "observation": (0, True), "action": (1, config.actions)}
    for part, (lag, given) in parts.items():
        if not given:
            continue
        moved = changed(window, SPACES["vector"], **{part: here})
        difference = (predict(policy, moved) - predict(policy, window)).abs().amax(2)
        assert (difference[torch.ones_like(difference).triu(lag).bool()] > 0).all()


def test_rows_do_not_mix(policy: Policy, spaces: Spaces) -> None:
    steps = longest(policy)
    window = make_window(spaces, steps)
    only = torch.zeros(BATCH, steps, dtype=torch.bool)
    only[1] = True
    moved = changed(window, spaces, observation=only, action=only, return_to_go=only)
    for run in (predict, acted):
        before, after = run(policy, window), run(policy, moved)
        close(after[[0, 2]], before[[0, 2]], 1e-6)
        assert (after[1] - before[1]).abs().max() > 1e-3
        order = [2, 0, 1]
        close(run(policy, rows(window, order)), before[order], 1e-6)


def padded(window: Segment, spaces: Spaces, lengths: list[int], extra: int, seed: int) -> Segment:
    """More steps at the end, and garbage in all that is not real."""
    garbage = make_window(spaces, len(window) + extra, len(lengths), seed)
    longer: Segment = tree_map(lambda new, old: torch.cat([old, new[:, len(window) :]], 1), garbage, window)
    mask = torch.arange(len(longer)) < torch.as_tensor(lengths)[:, None]
    worse = changed(longer, spaces, observation=~mask, action=~mask, return_to_go=~mask)
    return replace(worse, mask=mask)


def test_padding_changes_nothing(policy: Policy, spaces: Spaces) -> None:
    steps = min(2 * K + 1, max(1, longest(policy) - 2))
    lengths = sorted({1, K, K + 1, 2 * K, steps} & set(range(steps + 1)))
    real = torch.arange(steps) < torch.as_tensor(lengths)[:, None]
    window = replace(make_window(spaces, steps, len(lengths)), mask=real)
    prediction, state = carry(policy, window)
    loss = loss_of(policy, prediction, window)
    expected = gradients(policy, loss)
    for extra in (0, 1, 2, K + 2):
        if policy.context and steps + extra > policy.context:
            continue
        longer = padded(window, spaces, lengths, extra, seed=extra + 1)
        again, left = carry(policy, longer)
        close(again[:, :steps][real], prediction[real])
        close(tree_leaves(left), tree_leaves(state))
        same = loss_of(policy, again, longer)
        close(same, loss)
        close(gradients(policy, same), expected)


def test_a_row_is_the_same_alone(policy: Policy, spaces: Spaces) -> None:
    steps = longest(policy)
    lengths = sorted({1, K, K + 1, 3 * K, steps} & set(range(steps + 1)))
    window = padded(make_window(spaces, steps, len(lengths)), spaces, lengths, 0, seed=1)
    with torch.no_grad():
        prediction, state = carry(policy, window)
        for row, length in enumerate(lengths):
            alone, left = carry(policy, cut(rows(window, [row]), 0, length))
            close(prediction[[row], :length], alone)
            close(tree_leaves(left), tree_leaves(rows(state, [row])))


# Training.


def without_dropout(policy: Policy) -> Policy:
    """In training mode, with nothing random left."""
    for module in policy.train().modules():
        if isinstance(getattr(module, "dropout", None), float):
            module.dropout = 0.0
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return policy


def test_training_mode_differs_by_dropout_only(plain: Policy) -> None:
    window = make_window(plain.spaces, longest(plain))
    prediction = unroll(plain, window).prediction
    expected = gradients(plain, loss_of(plain, prediction, window))
    again = unroll(without_dropout(plain), window).prediction
    close(again, prediction)
    close(gradients(plain, loss_of(plain, again, window)), expected)


def test_every_parameter_learns(policy: Policy, spaces: Spaces) -> None:
    window = make_window(spaces, longest(policy))
    loss = loss_of(policy, unroll(without_dropout(policy), window).prediction, window)
    for name, gradient in gradients(policy, loss).items():
        assert gradient is not None, name
        assert gradient.isfinite().all(), name
        unused = policy.context == 1 and "action" in name  # a window of one step holds no past action
        if gradient.numel() and not unused:
            assert gradient.abs().max() > 0, name


def test_gradients_cross_segments_as_far_as_they_may(memory_config: RateConfig) -> None:
    spaces = SPACES["vector"]
    policy, length = build(memory_config, spaces), memory_config.segment_len
    window = make_window(spaces, 4 * length)

    def reach(bptt_segments: int | None) -> list[bool]:
        """Whether the loss of the last of four segments reaches the observations of each."""
        seen = replace(window, observation=window.observation.clone().requires_grad_())
        losses = policy.head.loss(unroll(policy, seen, bptt_segments).prediction, seen.action)
        (gradient,) = torch.autograd.grad(losses[:, -length:].sum(), seen.observation)
        return [bool(part.abs().max() > 0) for part in gradient.split(length, 1)]

    assert reach(None) == [True] * 4
    assert reach(4) == [True] * 4
    assert reach(3) == [False, False, False, True]
    assert reach(2) == [False, False, True, True]
    assert reach(1) == [False, False, False, True]


def test_the_valve_learns_only_across_segments(memory_config: RateConfig) -> None:
    policy = build(memory_config, SPACES["vector"])
    window = make_window(SPACES["vector"], LENGTH)
    for bptt_segments in (None, 2, 1):
        loss = loss_of(policy, unroll(policy, window, bptt_segments).prediction, window)
        learning = {name: bool((g is not None) and g.any()) for name, g in gradients(policy, loss).items()}
        valve = [learns for name, learns in learning.items() if name.startswith("valve.")]
        assert bool(valve) is (memory_config.valve != "none")
        assert all(learns is (bptt_segments != 1) for learns in valve)


def test_bptt_changes_gradients_and_nothing_else(plain: Policy) -> None:
    window = make_window(plain.spaces, longest(plain))
    close(predict(plain, window), unroll(plain, window, 1).prediction.detach(), 1e-6)


def test_recomputing_changes_nothing(plain: Policy) -> None:
    window = make_window(plain.spaces, longest(plain))
    results = []
    for recompute in (False, True):
        prediction = unroll(plain, window, recompute=recompute).prediction
        results.append((prediction, gradients(plain, loss_of(plain, prediction, window))))
    close(*results)


def test_half_precision_trains(plain: Policy) -> None:
    window = make_window(plain.spaces, longest(plain))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = loss_of(plain, unroll(plain.train(), window).prediction, window)
    assert all(gradient is not None and gradient.isfinite().all() for gradient in gradients(plain, loss).values())


# State.


def test_eval_is_deterministic(plain: Policy) -> None:
    window = make_window(plain.spaces, longest(plain))
    for run in (predict, acted):
        first = run(plain, window)
        torch.manual_seed(123)
        assert torch.equal(run(plain, window), first)


def test_initial_state_is_always_the_same(plain: Policy) -> None:
    first = tree_map(torch.clone, plain.initial_state(BATCH))
    acted(plain, make_window(plain.spaces, LENGTH))
    again = plain.initial_state(BATCH)
    close(tree_leaves(again), tree_leaves(first), 0)
    assert integers(again) == integers(first)
    for leaf in tree_leaves(again):
        assert len(leaf) == BATCH
        assert all(torch.equal(leaf[0], row) for row in leaf)


def test_state_does_not_grow(plain: Policy) -> None:
    size = (plain.segment_len or plain.context or 4) + 1
    window = make_window(plain.spaces, 6 * size)
    states = [(state_bytes(state), integers(state)) for _, state in act(plain, window)]
    sizes, counters = zip(*states, strict=True)
    assert len(set(sizes[size:])) == 1
    half = len(counters) // 2
    assert np.max(counters[half:], initial=0) <= np.max(counters[:half], initial=0)


def test_a_cloned_state_is_a_branch(plain: Policy) -> None:
    window = make_window(plain.spaces, 2 * K + 2)
    expected = acted(plain, window)[:, -1]
    *_, (_, state) = act(plain, cut(window, 0, 2 * K + 1))
    branch = tree_map(torch.clone, state)
    list(act(plain, make_window(plain.spaces, LENGTH, seed=5), 2 * K + 1, state))
    (prediction, _), *_ = act(plain, window, 2 * K + 1, branch)
    assert torch.equal(prediction, expected)


def test_state_dict_round_trip(config: ModelConfig) -> None:
    policy, twin = build(config, SPACES["tree"]), build(config, SPACES["tree"], seed=1)
    window = make_window(policy.spaces, longest(policy))
    assert not torch.equal(predict(twin, window), predict(policy, window))
    twin.load_state_dict(policy.state_dict())
    assert torch.equal(predict(twin, window), predict(policy, window))
    assert torch.equal(acted(twin, window), acted(policy, window))


def test_presets_fit_their_window(config: ModelConfig) -> None:
    preset = MODELS.get(config.name)(WINDOW)
    preset.check_window(WINDOW)
    assert preset.name == config.name


@pytest.mark.parametrize("cached_segments", [4, 6])
def test_a_cache_that_holds_all_is_one_pass(cached_segments: int) -> None:
    spaces = SPACES["vector"]
    base = config_of("trxl")
    pieces = build(replace(base, segment_len=K, cache_tokens=3 * K * cached_segments), spaces)
    whole = build(replace(base, segment_len=LENGTH, cache_tokens=3), spaces, seed=1)
    whole.load_state_dict(pieces.state_dict())
    window = make_window(spaces, LENGTH)
    close(predict(pieces, window), predict(whole, window))
    close(acted(pieces, window), predict(whole, window))
