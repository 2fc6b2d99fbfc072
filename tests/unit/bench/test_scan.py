"""The loops that the scan is held against compute the same."""

from __future__ import annotations

import torch

from rate.bench import scan


def test_the_loops_compute_what_the_scan_computes() -> None:
    torch.manual_seed(0)
    given = (
        torch.randn(2, 20, 8),
        torch.rand(2, 20, 8),
        -torch.rand(4, 8),
        torch.randn(2, 20, 4),
        torch.randn(2, 20, 4),
        torch.randn(2, 4, 8),
    )
    expected, last = scan.SCANS["scan"](*given)
    for name in ("plain_loop", "careful_loop"):
        outputs, state = scan.SCANS[name](*given)
        torch.testing.assert_close(outputs, expected, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(state, last, rtol=1e-5, atol=1e-5)


def test_the_scan_is_compared_with_two_loops() -> None:
    figures = scan.scan(1, tokens=8, batch=2, inner=4, state=2)
    assert figures["plain_loop_over_scan"] > 0 and figures["careful_loop_over_scan"] > 0
