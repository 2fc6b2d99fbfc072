"""What every model promises: acting equals training, no look ahead, no leak, padding that is not there.

Each contract is a function of a policy that raises AssertionError where it is broken.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from rate.models.policy import unroll
from rate.testing.windows import (
    BATCH,
    LENGTH,
    K,
    Policy,
    act,
    acted,
    carry,
    changed,
    close,
    cut,
    gradients,
    integers,
    longest,
    loss_of,
    make_window,
    padded,
    predict,
    repeated,
    rows,
    state_bytes,
    without_dropout,
)
from rate.types import tree_leaves, tree_map


def step_equals_forward(policy: Policy) -> None:
    spaces = policy.spaces
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


def the_future_changes_nothing(policy: Policy) -> None:
    spaces = policy.spaces
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


def rows_do_not_mix(policy: Policy) -> None:
    spaces = policy.spaces
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


def padding_changes_nothing(policy: Policy) -> None:
    spaces = policy.spaces
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


def a_row_is_the_same_alone(policy: Policy) -> None:
    spaces = policy.spaces
    steps = longest(policy)
    lengths = sorted({1, K, K + 1, 3 * K, steps} & set(range(steps + 1)))
    window = padded(make_window(spaces, steps, len(lengths)), spaces, lengths, 0, seed=1)
    with torch.no_grad():
        prediction, state = carry(policy, window)
        for row, length in enumerate(lengths):
            alone, left = carry(policy, cut(rows(window, [row]), 0, length))
            close(prediction[[row], :length], alone)
            close(tree_leaves(left), tree_leaves(rows(state, [row])))


def every_parameter_learns(policy: Policy) -> None:
    spaces = policy.spaces
    window = make_window(spaces, longest(policy))
    loss = loss_of(policy, unroll(without_dropout(policy), window).prediction, window)
    for name, gradient in gradients(policy, loss).items():
        assert gradient is not None, name
        assert gradient.isfinite().all(), name
        unused = policy.context == 1 and "action" in name  # a window of one step holds no past action
        if gradient.numel() and not unused:
            assert gradient.abs().max() > 0, name


def step_takes_over_from_forward(policy: Policy) -> None:
    if policy.segment_len is None:
        return
    window = make_window(policy.spaces, LENGTH)
    for segments in (1, 3):
        start = segments * policy.segment_len
        with torch.no_grad():
            _, state = carry(policy, cut(window, 0, start))
        seen = torch.stack([prediction for prediction, _ in act(policy, window, start, state)], 1)
        close(seen, predict(policy, window)[:, start:])


def step_keeps_no_graph(policy: Policy) -> None:
    assert torch.is_grad_enabled()
    window = make_window(policy.spaces, 2 * K)
    state = policy.initial_state(BATCH)
    for t, expected in enumerate(acted(policy, window).unbind(1)):
        output, state = policy.step(window.at(t), state)
        assert not output.prediction.requires_grad
        close(output.prediction, expected)


def training_mode_differs_by_dropout_only(policy: Policy) -> None:
    window = make_window(policy.spaces, longest(policy))
    prediction = unroll(policy, window).prediction
    expected = gradients(policy, loss_of(policy, prediction, window))
    again = unroll(without_dropout(policy), window).prediction
    close(again, prediction)
    close(gradients(policy, loss_of(policy, again, window)), expected)


def bptt_changes_gradients_and_nothing_else(policy: Policy) -> None:
    window = make_window(policy.spaces, longest(policy))
    close(predict(policy, window), unroll(policy, window, 1).prediction.detach(), 1e-6)


def recomputing_changes_nothing(policy: Policy) -> None:
    window = make_window(policy.spaces, longest(policy))
    results = []
    for recompute in (False, True):
        prediction = unroll(policy, window, recompute=recompute).prediction
        results.append((prediction, gradients(policy, loss_of(policy, prediction, window))))
    close(results[0], results[1])


def half_precision_trains(policy: Policy) -> None:
    window = make_window(policy.spaces, longest(policy))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = loss_of(policy, unroll(policy.train(), window).prediction, window)
    assert all(gradient is not None and gradient.isfinite().all() for gradient in gradients(policy, loss).values())


def eval_is_deterministic(policy: Policy) -> None:
    window = make_window(policy.spaces, longest(policy))
    for run in (predict, acted):
        first = run(policy, window)
        torch.manual_seed(123)
        assert torch.equal(run(policy, window), first)


def initial_state_is_always_the_same(policy: Policy) -> None:
    first = tree_map(torch.clone, policy.initial_state(BATCH))
    acted(policy, make_window(policy.spaces, LENGTH))
    again = policy.initial_state(BATCH)
    close(tree_leaves(again), tree_leaves(first), 0)
    assert integers(again) == integers(first)
    for leaf in tree_leaves(again):
        assert len(leaf) == BATCH
        assert all(torch.equal(leaf[0], row) for row in leaf)


def state_does_not_grow(policy: Policy) -> None:
    size = (policy.segment_len or policy.context or 4) + 1
    window = make_window(policy.spaces, 6 * size)
    states = [(state_bytes(state), integers(state)) for _, state in act(policy, window)]
    sizes, counters = zip(*states, strict=True)
    assert len(set(sizes[size:])) == 1
    half = len(counters) // 2
    assert np.max(counters[half:], initial=0) <= np.max(counters[:half], initial=0)


def a_cloned_state_is_a_branch(policy: Policy) -> None:
    window = make_window(policy.spaces, 2 * K + 2)
    expected = acted(policy, window)[:, -1]
    *_, (_, state) = act(policy, cut(window, 0, 2 * K + 1))
    branch = tree_map(torch.clone, state)
    list(act(policy, make_window(policy.spaces, LENGTH, seed=5), 2 * K + 1, state))
    (prediction, _), *_ = act(policy, window, 2 * K + 1, branch)
    assert torch.equal(prediction, expected)


EVERYWHERE = (
    step_equals_forward,
    the_future_changes_nothing,
    rows_do_not_mix,
    padding_changes_nothing,
    a_row_is_the_same_alone,
    every_parameter_learns,
)
"""To be tried with every kind of space."""
ONCE = (
    step_takes_over_from_forward,
    step_keeps_no_graph,
    training_mode_differs_by_dropout_only,
    bptt_changes_gradients_and_nothing_else,
    recomputing_changes_nothing,
    half_precision_trains,
    eval_is_deterministic,
    initial_state_is_always_the_same,
    state_does_not_grow,
    a_cloned_state_is_a_branch,
)
"""Of the mechanism, whatever the space."""
