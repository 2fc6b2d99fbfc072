"""What recurrent policies are fed and in which order; the recurrent and the reactive presets and their refusals."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import gymnasium as gym
import pytest
import torch
from torch import Tensor

from rate.errors import ConfigError
from rate.models import MODELS, ModelConfig, unroll
from rate.models.policies.recurrent import RecurrentPolicy
from rate.models.presets.mlp import MlpConfig
from rate.models.presets.rnn import RnnConfig
from rate.nn.backbone import Backbone
from rate.nn.tokens import Tokens, TokensConfig
from rate.types import Segment, Spaces, Tree

B, T, D, ACTIONS = 3, 6, 8, 3
SPACES = Spaces(observation=gym.spaces.Box(-1, 1, (2,)), action=gym.spaces.Discrete(ACTIONS))
TOLD = list(product([False, True], repeat=2))
"""Whether the return-to-go and the previous action are told."""


def make_window(batch: int = B, steps: int = T) -> Segment:
    torch.manual_seed(1)
    return Segment(
        observation=torch.randn(batch, steps, 2),
        action=torch.randint(ACTIONS, (batch, steps)),
        return_to_go=torch.randn(batch, steps),
        reward=torch.randn(batch, steps),
        terminated=torch.zeros(batch, steps, dtype=torch.bool),
        timestep=torch.arange(steps).repeat(batch, 1),
        mask=torch.ones(batch, steps, dtype=torch.bool),
    )


def build(config: ModelConfig) -> RecurrentPolicy:
    torch.manual_seed(0)
    policy = config.build(SPACES).eval()
    assert isinstance(policy, RecurrentPolicy)
    return policy


@torch.no_grad()
def predict(policy: RecurrentPolicy, window: Segment) -> Tensor:
    return unroll(policy, window).prediction


def acted(policy: RecurrentPolicy, window: Segment) -> Tensor:
    state, predictions = policy.initial_state(len(window.mask)), []
    for t in range(len(window)):
        output, state = policy.step(window.at(t), state)
        predictions.append(output.prediction)
    return torch.stack(predictions, 1)


def close(actual: Any, expected: Any) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-6)


# The tokens, as a backbone sees them.


class Echo(Backbone):
    """Gives back what it is fed, and notes it."""

    def __init__(self) -> None:
        super().__init__()
        self.width, self.fed = D, list[Tensor]()

    def initial_state(self, batch: int) -> Tree:
        return ()

    def forward(self, x: Tensor, state: Tree) -> tuple[Tensor, Tree]:
        self.fed = list(x.unbind(1))
        return x, state

    def step(self, x: Tensor, state: Tree) -> tuple[Tensor, Tree]:
        self.fed.append(x)
        return x, state


def echo(*, returns: bool = True, actions: bool = True, separate: bool) -> tuple[RecurrentPolicy, Echo]:
    torch.manual_seed(0)
    backbone, tokens = Echo(), Tokens(SPACES, TokensConfig(width=D, dropout=0.0, returns=returns, actions=actions))
    return RecurrentPolicy(SPACES, tokens, backbone, separate=separate), backbone


def tokens_of(policy: RecurrentPolicy, window: Segment) -> list[list[Tensor]]:
    """What is told at every step, in the order a_{t-1}, R_t, o_t."""
    tokens, steps = policy.tokens, []
    for t in range(len(window)):
        step = [tokens.observation(window.observation[:, t])]
        if tokens.returns is not None:
            step.insert(0, tokens.returns(window.return_to_go[:, t, None]))
        if tokens.actions is not None and t:
            step.insert(0, tokens.actions(window.action[:, t - 1]))
        steps.append(step)
    return steps


@pytest.mark.parametrize(("returns", "actions"), TOLD)
def test_separate_tokens_come_one_after_the_other(returns: bool, actions: bool) -> None:
    policy, backbone = echo(returns=returns, actions=actions, separate=True)
    window = make_window()
    expected = [token for step in tokens_of(policy, window) for token in step]
    prediction = policy(window, ())[0].prediction
    assert len(backbone.fed) == T * (1 + returns + actions) - actions
    close(torch.stack(backbone.fed), torch.stack(expected))
    close(prediction, policy.readout(policy.tokens.observation(window.observation)))


@pytest.mark.parametrize(("returns", "actions"), TOLD)
def test_a_merged_token_is_the_sum(returns: bool, actions: bool) -> None:
    policy, backbone = echo(returns=returns, actions=actions, separate=False)
    window = make_window()
    expected = torch.stack([torch.stack(step).sum(0) for step in tokens_of(policy, window)], 1)
    prediction = policy(window, ())[0].prediction
    close(torch.stack(backbone.fed, 1), expected)
    close(prediction, policy.readout(expected))


@pytest.mark.parametrize("separate", [True, False])
@pytest.mark.parametrize(("returns", "actions"), TOLD)
def test_acting_feeds_the_tokens_of_training(returns: bool, actions: bool, separate: bool) -> None:
    policy, backbone = echo(returns=returns, actions=actions, separate=separate)
    window = make_window()
    policy(window, ())
    trained, backbone.fed = backbone.fed, []
    acted(policy, window)
    close(torch.stack(backbone.fed), torch.stack(trained))


def test_the_first_step_has_no_action_token() -> None:
    policy, backbone = echo(separate=True)
    window, counts = make_window(), []
    for t in range(3):
        backbone.fed = []
        policy.step(window.at(t), ())
        counts.append(len(backbone.fed))
    assert counts == [2, 3, 3]


# Recurrent networks.

VARIANTS: dict[str, ModelConfig] = {
    **{name: MODELS.get(name)(T, hidden=16) for name in ("bc-mlp", "cql-mlp", "bc-lstm", "cql-lstm", "dlstm", "dgru")},
    "mlp-told": MlpConfig(hidden=16, return_to_go=True, previous_action=True),
    "lstm-merged": RnnConfig(hidden=16, return_to_go=True, previous_action=True),
    "gru-two-layers": RnnConfig(hidden=16, cell="gru", layers=2, previous_action=True, separate_tokens=True),
}
RECURRENT = [name for name, config in VARIANTS.items() if isinstance(config, RnnConfig)]
REACTIVE = [name for name, config in VARIANTS.items() if isinstance(config, MlpConfig)]
each_recurrent = pytest.mark.parametrize("name", RECURRENT)


@pytest.mark.parametrize("name", VARIANTS)
def test_acting_is_training(name: str) -> None:
    policy, window = build(VARIANTS[name]), make_window()
    close(acted(policy, window), predict(policy, window))


@pytest.mark.parametrize("name", VARIANTS)
def test_rows_do_not_mix(name: str) -> None:
    policy, window = build(VARIANTS[name]), make_window()
    moved = replace(window, observation=window.observation.clone())
    moved.observation[0] += 1.0
    for run in (predict, acted):
        before, after = run(policy, window), run(policy, moved)
        close(after[1:], before[1:])
        assert ((after[0] - before[0]).abs().amax(-1) > 1e-4).all()


@each_recurrent
def test_one_episode_alone_is_remembered(name: str) -> None:
    """A recurrence over the batch axis would leave a batch of one without memory."""
    policy, window = build(VARIANTS[name]), make_window(batch=1)
    moved = replace(window, observation=window.observation.clone())
    moved.observation[:, 0] += 1.0
    for run in (predict, acted):
        difference = (run(policy, moved) - run(policy, window)).abs().amax(-1)
        assert (difference > 1e-5).all()


@pytest.mark.parametrize("name", REACTIVE)
def test_a_reactive_policy_has_no_past(name: str) -> None:
    policy, window = build(VARIANTS[name]), make_window()
    moved = replace(
        window,
        observation=torch.cat([window.observation[:, :-1] + 1, window.observation[:, -1:]], 1),
        return_to_go=torch.cat([window.return_to_go[:, :-1] + 1, window.return_to_go[:, -1:]], 1),
        action=torch.cat([(window.action[:, :-2] + 1) % ACTIONS, window.action[:, -2:]], 1),
    )
    for run in (predict, acted):
        before, after = run(policy, window), run(policy, moved)
        close(after[:, -1], before[:, -1])
        assert ((after[:, :-1] - before[:, :-1]).abs().amax(-1) > 1e-4).all()
    assert policy.initial_state(B) == ()


@pytest.mark.parametrize("kind", [MlpConfig, RnnConfig])
@pytest.mark.parametrize(("returns", "actions"), TOLD)
def test_what_is_not_told_changes_nothing(
    kind: type[MlpConfig] | type[RnnConfig], returns: bool, actions: bool
) -> None:
    policy, window = build(kind(hidden=16, return_to_go=returns, previous_action=actions)), make_window()
    before = predict(policy, window)
    other_return = predict(policy, replace(window, return_to_go=window.return_to_go + 1))
    other_action = predict(policy, replace(window, action=(window.action + 1) % ACTIONS))
    assert bool((other_return != before).any()) is returns
    assert bool((other_action != before).any()) is actions
    assert torch.equal(other_action[:, 0], before[:, 0])


@each_recurrent
def test_nothing_is_carried_past_a_window(name: str) -> None:
    policy = build(VARIANTS[name])
    start = policy.initial_state(B)
    assert policy(make_window(), start)[1] is start
    assert not any(part.any() for part in start)


@pytest.mark.parametrize(("name", "updates"), [("bc-lstm", 1), ("dlstm", 3), ("dgru", 3)])
def test_updates_per_step(name: str, updates: int, monkeypatch: pytest.MonkeyPatch) -> None:
    policy, window, calls = build(VARIANTS[name]), make_window(), list[int]()
    step = policy.backbone.step
    monkeypatch.setattr(policy.backbone, "step", lambda x, state: calls.append(1) or step(x, state))
    acted(policy, window)
    assert len(calls) == T * updates - (updates == 3)


# Configuration.


def test_presets_are_what_their_names_say() -> None:
    triples = {"return_to_go": True, "previous_action": True, "separate_tokens": True}
    expected: dict[str, ModelConfig] = {
        "bc-mlp": MlpConfig(),
        "cql-mlp": MlpConfig(name="cql-mlp", head="value"),
        "bc-lstm": RnnConfig(),
        "cql-lstm": RnnConfig(name="cql-lstm", head="value"),
        "dlstm": RnnConfig(name="dlstm", **triples),
        "dgru": RnnConfig(name="dgru", cell="gru", **triples),
    }
    for name, config in expected.items():
        assert MODELS.get(name)(T) == config
        assert MODELS.get(name)(T, hidden=7) == replace(config, hidden=7)  # type: ignore[call-arg]
        values = 2 if config.head == "value" else 1  # type: ignore[attr-defined]
        assert build(config).readout.out_features == values * ACTIONS


@pytest.mark.parametrize("name", VARIANTS)
def test_any_window_will_do(name: str) -> None:
    for window in (1, 7, 1000):
        VARIANTS[name].check_window(window)
    assert build(VARIANTS[name]).segment_len is None
    assert predict(build(VARIANTS[name]), make_window(steps=1)).shape[:2] == (B, 1)


REFUSED: list[tuple[dict[str, Any], str]] = [
    *(({field: 0}, rf"model\.{field} is 0; it must be at least 1") for field in ("layers", "width", "hidden")),
    *(({"dropout": share}, rf"model\.dropout is {share}; it must be at least 0 and below 1") for share in (-0.1, 1.0)),
    ({"head": "values"}, r"model\.head is 'values'; it must be one of imitation, value"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
@pytest.mark.parametrize("kind", [MlpConfig, RnnConfig])
def test_what_cannot_work_is_refused(
    kind: type[MlpConfig] | type[RnnConfig], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        kind(**changes)


def test_unknown_cells_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"model\.cell is 'rnn'; it must be one of lstm, gru"):
        RnnConfig(cell="rnn")  # type: ignore[arg-type]
