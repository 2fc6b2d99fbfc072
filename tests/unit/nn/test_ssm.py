"""The scan against its loop, carried states, padding, and the initialisation that memory hangs on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from gymnasium import spaces as gs
from torch import Tensor, nn

from rate.errors import ConfigError
from rate.models import MODELS
from rate.models.presets.mamba import MambaConfig
from rate.nn import ssm
from rate.nn.ssm import CHUNK, Mamba, Mixer, loop_scan, selective_scan
from rate.types import Spaces, tree_leaves, tree_map

B, L, N, E, D = 3, 2 * CHUNK + 5, 4, 6, 8
SPACES = Spaces(observation=gs.Box(-1, 1, (4,)), action=gs.Discrete(3))
Scan = Callable[..., tuple[Tensor, Tensor]]


def inputs(batch: int = B, length: int = L, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """x, delta, A, B, C and the first state."""
    torch.manual_seed(0)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=dtype)

    delta, A = F.softplus(draw(batch, length, E) - 2), -torch.exp(draw(N, E))
    rest = draw(batch, length, N), draw(batch, length, N), draw(batch, N, E)
    return [v.requires_grad_() for v in (draw(batch, length, E), delta, A, *rest)]


def results(scan: Scan, given: list[Tensor]) -> list[Tensor]:
    """Outputs, the last state, and the gradients to all that is given."""
    y, state = scan(*given)
    torch.manual_seed(1)
    loss = (y * torch.randn(y.shape)).sum() + (state * torch.randn(state.shape)).sum()
    return [y, state, *torch.autograd.grad(loss, given)]


def close(actual: Any, expected: Any, tolerance: float = 1e-5) -> None:
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


def backbone(seed: int = 0, **changes: Any) -> Mamba:
    torch.manual_seed(seed)
    inner = {"state": N, "expand": 2, "conv": 4}
    outer: dict[str, Any] = {"layers": 2, "feed_forward": 12, "dropout": 0.0}
    mixer = partial(Mixer, **{name: changes.pop(name, size) for name, size in inner.items()})
    return Mamba(D, mixer=mixer, **{**outer, **changes})


def some_state(model: Mamba, batch: int) -> Any:
    return tree_map(torch.randn_like, model.initial_state(batch))


# The scan.


@pytest.mark.parametrize("length", [1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, L])
def test_the_scan_is_the_loop(length: int) -> None:
    given = inputs(length=length)
    close(results(selective_scan, given), results(loop_scan, given))


@pytest.mark.parametrize("group", [1, 2 * N * E, 10**6])
def test_groups_of_rows_change_nothing(group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssm, "GROUP", group)
    given = inputs(batch=5)
    close(results(selective_scan, given), results(loop_scan, given))


def test_gradients_are_those_of_finite_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssm, "CHUNK", 2)
    assert torch.autograd.gradcheck(selective_scan, inputs(batch=2, length=5, dtype=torch.float64), fast_mode=False)


def test_large_steps_forget_and_stay_finite() -> None:
    x, delta, A, *rest = inputs()
    given = [x, (1e4 * delta).detach().requires_grad_(), A, *rest]
    assert all(v.isfinite().all() for v in results(selective_scan, given))
    close(selective_scan(*given[:5], 100 * rest[-1])[1], selective_scan(*given)[1])


def test_the_scan_keeps_a_state_per_chunk_and_not_per_token() -> None:
    kept: list[int] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda v: kept.append(v.numel()) or v, lambda v: v):
        selective_scan(*inputs(length=10 * CHUNK))
    assert 10 * B * N * E in kept
    assert max(kept) < 10 * CHUNK * B * N * E


# Carried states.


@pytest.mark.parametrize("at", [1, 2, 3, 5, CHUNK, L - 1])
def test_two_parts_are_one_pass(at: int) -> None:
    model = backbone()
    x, start = torch.randn(B, L, D), some_state(model, B)
    whole, last = model(x, start)
    first, carried = model(x[:, :at], start)
    second, after = model(x[:, at:], carried)
    close(torch.cat([first, second], 1), whole)
    close(tree_leaves(after), tree_leaves(last))


@pytest.mark.parametrize("changes", [{}, {"conv": 1}, {"feed_forward": 0}, {"layers": 1, "expand": 1}])
def test_steps_are_one_pass(changes: dict[str, int]) -> None:
    model = backbone(**changes)
    x, state = torch.randn(B, L, D), some_state(model, B)
    whole, last = model(x, state)
    for t in range(L):
        y, state = model.step(x[:, t], state)
        close(y, whole[:, t])
    close(tree_leaves(state), tree_leaves(last))


def test_gradients_reach_the_first_state() -> None:
    model = backbone()
    state = tree_map(Tensor.requires_grad_, some_state(model, B))
    x = torch.randn(B, L, D)
    y, _ = model(x, state)
    gradients = torch.autograd.grad(y[:, -1].square().sum(), tree_leaves(state))
    assert all(gradient.abs().max() > 0 for gradient in gradients[1::2])


def test_states_are_batch_first_and_of_fixed_size() -> None:
    model = backbone()
    sizes = [(B, 3, 2 * D), (B, N, 2 * D)] * 2
    assert [tuple(leaf.shape) for leaf in tree_leaves(model.initial_state(B))] == sizes
    assert not any(leaf.any() for leaf in tree_leaves(model.initial_state(B)))
    _, state = model.step(torch.randn(B, D), model.initial_state(B))
    assert [tuple(leaf.shape) for leaf in tree_leaves(state)] == sizes


def test_half_precision_around_the_scan() -> None:
    model, x = backbone(), torch.randn(B, L, D)
    expected, _ = model(x, model.initial_state(B))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y, state = model(x, model.initial_state(B))
    assert {leaf.dtype for leaf in tree_leaves(state)} == {torch.float32}
    close(y.float(), expected, 0.1)
    y.float().square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


# Initialisation.


def test_step_sizes_spread_from_a_thousandth_to_a_tenth() -> None:
    torch.manual_seed(0)
    delta = F.softplus(Mixer(1024, N, 2, 4).dt_proj.bias).detach()
    assert 1e-3 <= delta.min() < 1.1e-3 and 0.09 < delta.max() <= 0.1 + 1e-6
    assert float(delta.log10().mean()) == pytest.approx(-2, abs=0.05)  # log-uniform


def test_decay_rates_and_skips() -> None:
    mixer = Mixer(40, N, 2, 4)
    assert mixer.A_log.exp().detach() == pytest.approx(torch.arange(1.0, N + 1)[:, None].expand(N, 80))
    assert (mixer.D == 1).all()
    assert mixer.rank == 3
    assert mixer.dt_proj.weight.abs().max() <= 3**-0.5
    assert mixer.conv_weight.abs().max() <= 0.5


def test_slow_decay_and_large_steps() -> None:
    mixer = Mixer(40, N, 2, 4, decay=1e-3, steps=(0.1, 1.0))
    assert mixer.A_log.exp().detach() == pytest.approx(1e-3 * torch.arange(1.0, N + 1)[:, None].expand(N, 80))
    delta = F.softplus(mixer.dt_proj.bias).detach()
    assert delta.min() >= 0.1 - 1e-6 and 0.5 < delta.max() <= 1 + 1e-6


@pytest.mark.parametrize(
    ("field", "value"),
    [("decay", 0.0), ("decay", float("nan")), ("steps", (0.1, 0.01)), ("steps", (0.0, 1.0)), ("steps", (1.0,))],
)
def test_initial_values_that_cannot_be(field: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"model.{field}"):
        MambaConfig(**{field: value})


def test_the_reference_forgets_at_once() -> None:
    torch.manual_seed(0)
    ours, reference = (MambaConfig(reference_init=flag).build(SPACES) for flag in (False, True))
    linears = [module for module in reference.modules() if isinstance(module, nn.Linear)]
    assert all(module.weight.std() < 0.05 for module in linears)
    assert not any(module.bias.any() for module in linears if module.bias is not None)
    biases = [policy.backbone._blocks()[0].mixer.dt_proj.bias for policy in (ours, reference)]  # type: ignore[operator,union-attr]
    assert F.softplus(biases[0]).max() < 0.11 and not biases[1].any()  # softplus(0) = 0.69


def test_the_dynamics_do_not_decay() -> None:
    marked = {name for name, p in backbone(layers=1).named_parameters() if getattr(p, "no_decay", False)}
    assert marked == {"blocks.0.mixer.A_log", "blocks.0.mixer.conv_weight"}  # the rest of them has one axis


# Configuration.


@pytest.mark.parametrize("field", ["layers", "width", "state", "expand", "conv"])
def test_sizes_are_at_least_one(field: str) -> None:
    with pytest.raises(ConfigError, match=f"model.{field} is 0; it must be at least 1"):
        MambaConfig(**{field: 0})


def test_other_refusals() -> None:
    with pytest.raises(ConfigError, match=r"model\.dropout is 1\.0"):
        MambaConfig(dropout=1.0)
    with pytest.raises(ConfigError, match=r"model\.feed_forward is -1"):
        MambaConfig(feed_forward=-1)


def test_the_preset_takes_fields() -> None:
    config = MODELS.get("dmamba")(30, width=32, feed_forward=0)
    assert isinstance(config, MambaConfig) and config.width == 32
    blocks = config.build(SPACES).backbone.blocks
    assert len(blocks) == 2 and all(block.feed_forward is None for block in blocks)
