"""Finds the exponent of every task's `paper-like` grade: the table of rate.envs.popgym.grades.

An episode errs at a share epsilon = u ** gamma of its steps. The mean return at fixed shares is measured once per
task; then gamma is the one at which the mean over u is the paper's, found by bisection.

    python benchmarks/popgym/calibrate.py [--episodes 20] [--only Autoencode ...]
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from rate.envs.demonstrate import demonstrate
from rate.envs.popgym import FAMILIES, LEVELS, Family
from rate.envs.popgym.grades import WORSE_THAN_RANDOM, err, random_player
from rate.envs.popgym.wrap import make
from rate.seeding import Purpose, episode_seeds

SHARES = np.linspace(0.0, 1.0, 21) ** 2
"""Closer together where little error does much."""
STEPWISE = ("Autoencode", "CountRecall", "HigherLower", "RepeatFirst", "RepeatPrevious")
"""Games in which a step pays for itself alone: the return is linear in the share, so that its two ends suffice."""
SEED = 77
"""The measurement in `experts` uses another one."""


def returns_at_shares(family: Family, level: str, episodes: int) -> NDArray[np.float64]:
    """Mean return at every share of errors; (21,)."""
    if family.name in STEPWISE:
        return np.interp(SHARES, [0.0, 1.0], measured(family, level, 10 * episodes, np.array([0.0, 1.0])))
    return measured(family, level, episodes, SHARES)


def measured(family: Family, level: str, episodes: int, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean return of these many episodes at each share."""
    task = f"{family.name}-{level}"
    good = random_player if task in WORSE_THAN_RANDOM else family.player
    means = []
    for at, share in enumerate(shares):
        player = err(good, lambda rng, share=share: float(share), repeat=task in WORSE_THAN_RANDOM)
        seeds = episode_seeds(Purpose.COLLECT, SEED, episodes, first=at * episodes).tolist()
        played = demonstrate(make(family.name, level), player, seeds)
        means.append(np.mean([item.rewards.sum() for item in played]))
    return np.array(means)


def mean_return(gamma: float, means: NDArray[np.float64]) -> float:
    """Over episodes whose share of errors is u ** gamma, u ~ U[0, 1]."""
    u = (np.arange(4000) + 0.5) / 4000
    return float(np.interp(u**gamma, SHARES, means).mean())


def exponent(wanted: float, means: NDArray[np.float64]) -> float:
    """The gamma of a mean return; 0 or infinity where no mixture is as bad or as good as that."""
    low, high = 1e-3, 1e3
    if wanted <= mean_return(low, means):
        return 0.0
    if wanted >= mean_return(high, means):
        return float("inf")
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if mean_return(middle, means) < wanted else (low, middle)
    return low


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=20, help="per share of errors, of which there are 21")
    parser.add_argument("--only", nargs="*", help="these families")
    options = parser.parse_args()
    for family in FAMILIES:
        if options.only and family.name not in options.only:
            continue
        found = []
        for level, wanted in zip(LEVELS, family.paper, strict=True):
            means = returns_at_shares(family, level, options.episodes)
            found.append(exponent(wanted, means))
            print(f"# {level}: paper {wanted:+.2f}, without errors {means[0]:+.3f}, all errors {means[-1]:+.3f}")
        print(f'    "{family.name}": ({", ".join(f"{gamma:.3g}" for gamma in found)}),', flush=True)


if __name__ == "__main__":
    main()
