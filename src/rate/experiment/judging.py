"""Evaluation during training, on seeds that no report uses: what the bar shows, and what `best-return` is chosen by.

Where the configuration leaves open how often, it takes at most a share of the time; weights never depend on it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rate.config import RunConfig
from rate.envs.find import find_env
from rate.envs.spec import EvalCase
from rate.evaluation.evaluator import Evaluator, OnStep, cases_of
from rate.evaluation.recall import demonstrations, has_recall, recall
from rate.models import SequencePolicy
from rate.seeding import Purpose
from rate.training.trainer import Evaluate

SHARE = 0.05
"""Of the time of training that may be spent."""
WORTHWHILE = 0.5
"""Seconds below which nothing is begun: a first evaluation may take any time."""


class OverBudgetError(Exception):
    """An evaluation takes longer than it may."""


@dataclass
class Budget:
    """What may be spent of the time of training; an attempt that was given up is tried again with twice its time."""

    share: float = SHARE
    spent: float = 0.0
    expected: float = WORTHWHILE
    """Seconds of the next evaluation."""
    since: float = 0.0
    """Seconds of training when this process began."""
    done: int = 0
    given_up: int = 0
    _began: float = field(default=0.0, repr=False)
    _allowed: float = field(default=0.0, repr=False)

    def begin(self, seconds: float) -> bool:
        """Whether there is time for an evaluation after so many seconds of training."""
        self._began, self._allowed = time.perf_counter(), self.share * (seconds - self.since) - self.spent
        return self._allowed >= self.expected

    def check(self, case: EvalCase, step: int) -> None:
        if time.perf_counter() - self._began > self._allowed:
            raise OverBudgetError

    def end(self, whole: bool) -> None:
        taken = time.perf_counter() - self._began
        self.spent += taken
        self.expected = taken if whole else 2 * taken
        self.done, self.given_up = self.done + whole, self.given_up + (not whole)


def periodic(config: RunConfig, budget: Budget | None) -> Evaluate:
    """The evaluation of a run; within a budget, or whenever it is due."""
    judge, remember = _judge(config), _remember(config) if budget is None else None

    def evaluate(policy: SequencePolicy[Any], step: int, seconds: float) -> Mapping[str, float]:
        if budget is None:
            return {**judge(policy, step, None), **(remember(policy) if remember else {})}
        if not budget.begin(seconds):
            return {}
        try:
            found = judge(policy, step, budget.check)
        except OverBudgetError:
            budget.end(whole=False)
            return {}
        budget.end(whole=True)
        return found

    return evaluate


def _cases(config: RunConfig) -> list[EvalCase]:
    return cases_of(find_env(config.env.name), config.train.evaluate_cases or config.eval.cases[:1] or ("",))


def _judge(config: RunConfig) -> Callable[[SequencePolicy[Any], int, OnStep | None], dict[str, float]]:
    """Return and score in each case."""
    evaluator = Evaluator(
        spec=find_env(config.env.name),
        config=replace(config.eval, episodes=config.train.evaluate_episodes),
        return_scale=config.data.return_scale,
        oracle=config.data.oracle,
        purpose=Purpose.VALIDATION,
        success=config.env.rule,
    )
    cases = _cases(config)

    def judge(policy: SequencePolicy[Any], step: int, on_step: OnStep | None) -> dict[str, float]:
        values: dict[str, float] = {}
        for case in cases:
            result = evaluator.run(policy, case, checkpoint="training", step=step, on_step=on_step)
            found = {"return_mean": result.return_mean.value, result.score.name: result.scored.value}
            values |= {f"eval/{case.name}/{name}": value for name, value in found.items()}
        return values

    return judge


def _remember(config: RunConfig) -> Callable[[SequencePolicy[Any]], dict[str, float]] | None:
    """What a policy recalls in each case; None where no cue decides the last action of the expert."""
    spec, data, cases = find_env(config.env.name), config.data, _cases(config)
    if not has_recall(spec):
        return None
    count, seed = config.train.evaluate_episodes, config.eval.seed
    shown = {case.name: demonstrations(spec, case, count, seed) for case in cases}

    def remember(policy: SequencePolicy[Any]) -> dict[str, float]:
        values: dict[str, float] = {}
        for name, episodes in shown.items():
            found = recall(policy, episodes, spec.cue, return_scale=data.return_scale, oracle=data.oracle)
            values |= {f"eval/{name}/{key}": value for key, value in found.metrics().items()}
        return values

    return remember


def too_dear(budget: Budget | None) -> Sequence[str]:
    """What is to be said of a training that wanted to evaluate itself and could not."""
    if budget is None or budget.done or not budget.given_up:
        return ()
    more = "train.evaluate_every = N does it anyway, with train.evaluate_episodes"
    return (f"training did not evaluate itself: that takes more than {SHARE:.0%} of its time; {more}",)
