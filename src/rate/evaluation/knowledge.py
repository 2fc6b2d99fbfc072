"""What a policy knows while it acts: a linear probe of a fact of the episode, step by step.

The probe learns from episodes of the validation seeds, and is judged on those that a report would use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from torch import Tensor

from rate.envs.batch import SerialBatch
from rate.envs.spec import EnvSpec, EvalCase
from rate.errors import ConfigError
from rate.evaluation.evaluator import Evaluator, OnStep, fact_text
from rate.evaluation.inspected import Curve, Knowledge
from rate.evaluation.intervals import wilson_interval
from rate.evaluation.linear_probe import Floats, Labels, fit_probe
from rate.evaluation.rollout import LockStep
from rate.models.interventions import Recorder
from rate.models.policies.segment import carries_memory
from rate.models.policy import SequencePolicy
from rate.registry import check_names
from rate.seeding import Purpose
from rate.types import Array

POINTS = 200
"""Steps at which hidden vectors are probed, at most: those of a long episode lie apart."""
VALUES = 20
"""Different values of a fact that a probe is to tell apart, at most."""
FEWEST = 10
"""Episodes to learn from or to be judged on, at least; where fewer go on, the curve ends."""


BySteps: TypeAlias = dict[int, tuple[Array, Floats]]
"""Step -> some episodes, and a vector of each."""


@dataclass(frozen=True, kw_only=True)
class Vectors:
    """What was seen inside of a policy, and the fact of every episode."""

    facts: Array
    memory: BySteps
    """Empty where none is carried."""
    hidden: BySteps


def facts_told(spec: EnvSpec, case: EvalCase) -> list[str]:
    """The facts of an episode that `reset` tells and a probe could tell apart, those that it names first."""
    env = spec.make(**case.kwargs)
    try:
        told = env.reset(seed=0)[1]
    finally:
        env.close()
    single = [name for name, value in told.items() if np.ndim(value) == 0 and np.asarray(value).dtype.kind in "biufUS"]
    named = [name for name in (*spec.tags, *spec.oracle) if name in single]
    return list(dict.fromkeys([*named, *single]))


def choose_fact(spec: EnvSpec, case: EvalCase, name: str | None) -> str:
    """The fact of this name; None: the first that there is, or none."""
    told = facts_told(spec, case)
    if name is None:
        return told[0] if told else ""
    if not told:
        raise ConfigError(f"{spec.name} tells no single fact of an episode when it is reset, so there is no {name!r}")
    check_names([name], told, f"info of {spec.name}:")
    return name


def telling(spec: EnvSpec, case: EvalCase, fact: str) -> EnvSpec:
    """The environment with a batched form that tells the fact, if need be one instance per episode."""
    batch = spec.make_batch(**case.kwargs)
    try:
        batch.reset(np.zeros(1, np.int64))
        if fact in batch.info:
            return spec
    finally:
        batch.close()
    return replace(spec, make_batch=partial(_serial, spec, fact))


def _serial(spec: EnvSpec, fact: str, **kwargs: Any) -> SerialBatch:
    def make() -> gym.Env[Any, Any]:
        return spec.make(**kwargs)

    return SerialBatch(make, [fact])


def vectors_of(
    policy: SequencePolicy[Any], evaluator: Evaluator, case: EvalCase, fact: str, on_step: OnStep | None = None
) -> Vectors:
    """Play the episodes of an evaluation in one batch, and keep hidden vectors and memories of them."""
    record, every = Recorder(memory=True, hidden=True), max(1, -(-case.max_steps // POINTS))
    memory, hidden = BySteps(), BySteps()

    def watch(at: LockStep) -> None:
        step, rows = at.number - 1, at.rows[at.alive]
        for one in record.of("memory"):
            memory[step] = rows, _flat(one.value[at.alive])
        for one in record.of("hidden") if step % every == 0 else ():
            hidden[step] = rows, _flat(one.value[at.alive])
        record.seen.clear()
        if on_step is not None:
            on_step(case, at.number)

    config = replace(evaluator.config, batch=evaluator.config.episodes)
    ((_, episodes),) = replace(evaluator, config=config).play(policy, case, watch, [record])
    if carries_memory(policy):  # the learnt start, which knows nothing yet
        memory[0] = np.arange(config.episodes), _flat(policy.initial_state(config.episodes).memory.detach().cpu())
    return Vectors(facts=episodes.facts[fact], memory=memory if 0 in memory else {}, hidden=hidden)


def _flat(value: Tensor) -> Floats:
    """(B, ...) -> (B, features)"""
    return value.flatten(1).double().numpy()


def know(
    policy: SequencePolicy[Any],
    evaluator: Evaluator,
    case: EvalCase,
    fact: str,
    shown: Mapping[str, Mapping[int, Floats]],
    on_step: OnStep | None = None,
) -> Knowledge:
    """Probe a fact in every place that there is; `shown` are the vectors of the episode that is looked at."""
    evaluator = replace(evaluator, spec=telling(evaluator.spec, case, fact))
    learn, judge = (
        vectors_of(policy, replace(evaluator, purpose=purpose), case, fact, on_step)
        for purpose in (Purpose.VALIDATION, Purpose.REPORT)
    )
    values = sorted(set(learn.facts.tolist()) | set(judge.facts.tolist()))
    if not 1 < len(values) <= VALUES:
        many = f"{len(values)} different values" if len(values) > 1 else "one value"
        raise ConfigError(f"the info {fact!r} has {many} in {len(learn.facts)} episodes; a probe needs 2 to {VALUES}")
    labels = [np.searchsorted(values, part.facts) for part in (learn, judge)]
    pairs = {"memory": (learn.memory, judge.memory), "hidden": (learn.hidden, judge.hidden)}
    curves = [_curve(of, *pair, labels, values, shown[of]) for of, pair in pairs.items() if all(pair)]
    return Knowledge(
        fact=fact,
        values=[fact_text(value) for value in values],
        chance=float(np.bincount(labels[1]).max() / len(labels[1])),
        learnt_from=len(labels[0]),
        judged_on=len(labels[1]),
        curves=curves,
    )


def _curve(
    of: str,
    learn: BySteps,
    judge: BySteps,
    labels: Sequence[Labels],
    values: Sequence[Any],
    shown: Mapping[int, Floats],
) -> Curve:
    steps, accuracy, guesses = list[int](), [], list[str | None]()
    for step in sorted(learn.keys() & judge.keys()):
        (rows, vectors), (others, theirs) = learn[step], judge[step]
        known, wanted = labels[0][rows], labels[1][others]
        if min(len(rows), len(others)) < FEWEST or len(set(known.tolist())) < 2:
            break
        probe = fit_probe(vectors, known, len(values))
        right = int((probe.guess(theirs) == wanted).sum())
        steps.append(step)
        accuracy.append(wilson_interval(right, len(wanted)))
        seen = shown.get(step)
        guesses.append(None if seen is None else fact_text(values[int(probe.guess(seen.reshape(1, -1))[0])]))
    return Curve(of=of, steps=steps, accuracy=accuracy, guesses=guesses)
