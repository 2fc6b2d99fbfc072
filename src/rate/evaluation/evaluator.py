"""The evaluator: cases of an environment, episodes in batches, one record per episode.

Reported episodes have seeds of their own; neither data nor checkpoint selection ever sees them.
"""

from __future__ import annotations

import inspect
import time
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rate.data.distinct import first_digests
from rate.data.space_json import same_form
from rate.envs.spec import EnvSpec, EvalCase
from rate.envs.success import Rule
from rate.errors import ConfigError
from rate.evaluation.familiar import share_familiar
from rate.evaluation.intervals import Interval, estimate, mean_sem, wilson_interval
from rate.models.acting import PROMPTS, read_intervention
from rate.models.values import check_number
from rate.options import parse_options
from rate.registry import check_names
from rate.score import Score
from rate.seeding import Purpose, episode_seeds
from rate.serial import check_types
from rate.types import EpisodeRecord, Spaces

if TYPE_CHECKING:
    from rate.evaluation.rollout import Episodes, Watch
    from rate.models.actor import Actor
    from rate.models.interventions import Intervention
    from rate.models.policy import SequencePolicy

OnStep = Callable[[EvalCase, int], None]


@dataclass(frozen=True, kw_only=True)
class EvalConfig:
    """How a run is judged."""

    cases: tuple[str, ...] = ()
    """Arguments of the environment, a case each: "length=90", or "size=11,view=3" for several arguments."""
    episodes: int = 100
    batch: int = 100
    """Episodes that run in lock-step."""
    sample: bool = False
    """Sample actions instead of taking the most likely one."""
    seed: int = 0
    target_return: float | None = None
    """Return to ask for; None: the one that the environment's case names."""
    prompt: str = "countdown"
    """Which return-to-go is shown: countdown, constant, per-segment, or none (a policy without return tokens)."""
    max_steps: int | None = None
    """Episodes are cut here; None: where the case says."""

    def __post_init__(self) -> None:
        check_types(self, "eval.")
        if self.episodes < 1:
            raise ConfigError(f"eval.episodes is {self.episodes}; it must be at least 1")
        if self.batch < 1:
            raise ConfigError(f"eval.batch is {self.batch}; it must be at least 1")
        check_names([self.prompt], PROMPTS, "prompt")
        if self.max_steps is not None and self.max_steps < 1:
            raise ConfigError(f"eval.max_steps is {self.max_steps}; it must be at least 1, or None")
        if self.target_return is not None:
            check_number("eval.target_return", self.target_return)


@dataclass(frozen=True, kw_only=True)
class CaseResult:
    """One evaluated case."""

    case: EvalCase
    records: list[EpisodeRecord]
    score: Score
    seconds: float
    env_steps: int
    """Lock-step steps of all batches: the number of times the policy was asked."""
    batch: int
    cut: int = 0
    """Episodes that the environment had not ended when the steps of the case were over."""
    known: int | None = None
    """First observations that differ among the episodes of training; None: that is not known."""

    @property
    def scored(self) -> Interval:
        """The mean score, as a report has it."""
        return estimate(self.score.values(self.records), rate=self.score.is_rate)

    @property
    def success_rate(self) -> Interval | None:
        """Share of successes with its Wilson 95 % interval; None where the environment has no notion of success."""
        known = [record.success for record in self.records if record.success is not None]
        return wilson_interval(sum(known), len(known)) if known else None

    @property
    def return_mean(self) -> Interval:
        return mean_sem([record.episode_return for record in self.records])

    @property
    def familiar(self) -> float | None:
        """Share of the episodes whose first observation training held; None: not known."""
        return share_familiar(self.records)

    @property
    def ms_per_step(self) -> float:
        return 1e3 * self.seconds / max(1, self.env_steps)


def cases_of(spec: EnvSpec, texts: Sequence[str]) -> list[EvalCase]:
    """The cases named on the command line or in a configuration."""
    if isinstance(texts, str) or not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise ConfigError(f'cases are {texts!r}; they must be texts such as "length=90"')
    return [_case(spec, parse_options([type(text)(part) for part in text.split(",") if part])) for text in texts]


def _case(spec: EnvSpec, options: dict[str, Any]) -> EvalCase:
    known = inspect.signature(spec.case).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        check_names(options, known, f"argument of {spec.name}:")
    return spec.case(**options)


def target_of(case: EvalCase, config: EvalConfig) -> float:
    """The return to ask for: the configuration's, or that of the case."""
    target = case.target_return if config.target_return is None else config.target_return
    if target is None and not PROMPTS.get(config.prompt).asks:
        return 0.0
    if target is None:
        raise ConfigError(f"the case {case.name!r} names no return to ask for; give eval.target_return")
    return target


def limited(case: EvalCase, config: EvalConfig) -> EvalCase:
    """The case, cut where the configuration says."""
    return case if config.max_steps is None else replace(case, max_steps=config.max_steps)


def check_fit(case: EvalCase, spaces: Spaces, trained: Spaces) -> None:
    """Refuse a case whose observations or actions are of another form than those that the policy was trained on."""
    for kind in ("observation", "action"):
        here, there = getattr(spaces, kind), getattr(trained, kind)
        if not same_form(here, there):
            raise ConfigError(f"the case {case.name!r} has {kind}s {here}, the policy was trained on {there}")


@dataclass(frozen=True, kw_only=True)
class Evaluator:
    """Judges a policy in one environment."""

    spec: EnvSpec
    config: EvalConfig
    return_scale: float = 1.0
    oracle: str = ""
    """The privileged fact that the policy is given; empty: none."""
    purpose: Purpose = Purpose.REPORT
    success: Rule | None = None
    """When an episode is a success; None: as the environment says."""
    intervene: Sequence[str] = ()
    """Interventions under which the policy acts, such as "memory-noise=0.5"."""
    known: Collection[str] | None = None
    """Digests of the first observations that training held; None: nobody knows."""

    @property
    def intervention(self) -> str:
        """The interventions as one name, by which an evaluation is known; empty: there is none."""
        return "+".join(read_intervention(text)[0] for text in self.intervene)

    def run(
        self, policy: SequencePolicy[Any], case: EvalCase, *, checkpoint: str, step: int, on_step: OnStep | None = None
    ) -> CaseResult:
        """Evaluate one case."""
        began, case = time.perf_counter(), limited(case, self.config)
        batches = self.play(policy, case, watch=_counting(on_step, case))
        mark, target, score = uuid.uuid4().hex[:12], target_of(case, self.config), self.score
        records = [
            EpisodeRecord(
                case=case.name,
                evaluation=mark,
                seed=int(seed),
                episode_return=float(total),
                length=int(length),
                success=self.succeeded(float(total), int(length)),
                target_return=target,
                checkpoint=checkpoint,
                step=step,
                tags={**case.tags, **tags},
                intervention=self.intervention,
                prompt=self.config.prompt,
                familiar=familiar,
            )
            for seeds, found in batches
            for seed, total, length, tags, familiar in zip(
                seeds, found.returns, found.lengths, self._tags(found), self._familiar(found, policy), strict=True
            )
        ]
        return CaseResult(
            case=case,
            records=records,
            score=score,
            seconds=time.perf_counter() - began,
            env_steps=sum(int(found.lengths.max()) for _, found in batches),
            batch=len(batches[0][0]),
            cut=sum(found.cut for _, found in batches),
            known=None if self.known is None else len(self.known),
        )

    @property
    def score(self) -> Score:
        """That of the environment, unless success is named."""
        return self.spec.score if self.success is None else Score(kind="success")

    def succeeded(self, episode_return: float, length: int) -> bool | None:
        """Whether an episode was a success; None where nobody says what that is."""
        if self.success is not None:
            return self.success(episode_return, length)
        return self.spec.score.succeeded(episode_return)

    def play(
        self,
        policy: SequencePolicy[Any],
        case: EvalCase,
        watch: Watch | None = None,
        inside: Sequence[Intervention] = (),
    ) -> list[tuple[NDArray[np.int64], Episodes]]:
        """The seeds and episodes of a case, batch by batch; mode and random state of the caller stay as they were.

        `watch` sees every step, `inside` what goes on in the policy.
        """
        from rate.evaluation.rollout import acting, rollout
        from rate.models.interventions import intervene

        config, case = self.config, limited(case, self.config)
        target = target_of(case, config)
        seeds = episode_seeds(self.purpose, config.seed, config.episodes)
        batches = [seeds[at : at + config.batch] for at in range(0, len(seeds), config.batch)]
        env = self.spec.make_batch(**case.kwargs)
        try:
            check_fit(case, env.spaces, policy.spaces)
            with acting(policy, config.seed):
                actor = self.actor(policy, target)
                with intervene(actor, *self.intervene, *inside, seed=config.seed):
                    return [(part, rollout(actor, env, part, case.max_steps, watch, self.oracle)) for part in batches]
        finally:
            env.close()

    def _tags(self, found: Episodes) -> list[dict[str, str]]:
        """Of each episode, by the facts that the environment names."""
        absent = [name for name in self.spec.tags if name not in found.facts]
        if absent:
            raise ConfigError(f"{self.spec.name} has the tag {absent[0]!r}, which its batch does not give in `info`")
        columns = [[(name, fact_text(value)) for value in found.facts[name]] for name in self.spec.tags]
        return [dict(row) for row in zip(*columns, strict=True)] if columns else [{} for _ in found.returns]

    def _familiar(self, found: Episodes, policy: SequencePolicy[Any]) -> list[bool | None]:
        """Whether training held what each episode saw first."""
        if self.known is None:
            return [None for _ in found.returns]
        return [digest in self.known for digest in first_digests(found.first, policy.spaces.observation)]

    def actor(self, policy: SequencePolicy[Any], target: float) -> Actor:
        """Who acts as this evaluation has it."""
        from rate.models.actor import Actor

        how, scale = self.config, self.return_scale
        return Actor(policy, target_return=target, return_scale=scale, sample=how.sample, prompt=how.prompt)


def fact_text(value: Any) -> str:
    """A fact of an episode as a text."""
    return f"{value:g}" if isinstance(value, (int, float, np.number)) else str(value)


def _counting(on_step: OnStep | None, case: EvalCase) -> Watch | None:
    return None if on_step is None else lambda at: on_step(case, at.number)
