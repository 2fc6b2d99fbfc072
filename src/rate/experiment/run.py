"""Run: a trained run that is loaded, acts and is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from rate.config import RunConfig, check_seed, config_from_json
from rate.data.space_json import same_space
from rate.envs.find import find_env
from rate.envs.spec import EvalCase
from rate.errors import CheckpointError, ConfigError, DataError
from rate.evaluation.evaluator import CaseResult, EvalConfig, Evaluator, OnStep, cases_of, target_of
from rate.evaluation.held_out import HeldOut, action_error
from rate.experiment.data import check_same_data, cut_windows, prepare_data
from rate.experiment.familiar import known_first
from rate.experiment.model_card import write_card
from rate.models import ModelConfig, SequencePolicy
from rate.models.actor import Actor
from rate.models.rebuild import build_policy
from rate.serial import to_dict
from rate.system.device import pick_device
from rate.system.files import as_path, check_writable, reading, write_json
from rate.training.checkpoint import CARD, Checkpoint, load_checkpoint, load_weights, resolve_checkpoint
from rate.training.run_dir import RunDir
from rate.types import Spaces

BEFORE = {"intervention": "", "prompt": "countdown"}
"""What evaluations were before they named it."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A trained run: its configuration, and one of its checkpoints as a policy that can act."""

    path: Path
    config: RunConfig
    policy: SequencePolicy[Any]
    spaces: Spaces
    checkpoint: str
    step: int

    @classmethod
    def load(cls, path: Path | str, checkpoint: str = "last", device: str = "cpu", env: str | None = None) -> Run:
        """Load a run directory, or one checkpoint directory copied out of it. Nothing that it names is imported.

        `env` names its environment anew: `module:factory`, which a file cannot have imported, or where it is now.
        """
        root = as_path(path, "a run")
        inside = root if (root / CARD).exists() else None
        where = inside or resolve_checkpoint(RunDir.open(root).checkpoints, checkpoint)
        loaded = load_checkpoint(where)
        config = config_from_json(loaded.config, where)
        policy = _rebuilt(config.model, loaded, where)
        load_weights(policy, loaded.weights, where)
        if env is not None:
            config = replace(config, env=replace(config.env, name=env))
        return cls(
            path=root,
            config=config,
            policy=policy.to(pick_device(device)).eval(),
            spaces=loaded.spaces,
            checkpoint=checkpoint if inside is None else where.name,
            step=loaded.step,
        )

    def actor(self, target_return: float | None = None, *, sample: bool | None = None) -> Actor:
        """A stateful actor for one environment or a batch; None: the return that the run is evaluated with."""
        return Actor(
            self.policy,
            target_return=self._target() if target_return is None else target_return,
            return_scale=self.config.data.return_scale,
            sample=self.config.eval.sample if sample is None else sample,
            prompt=self.config.eval.prompt,
        )

    def _target(self) -> float:
        """The return that the run knows to ask for: that of its configuration, or of its first case."""
        target = self.config.eval.target_return
        if target is not None:
            return target
        if not self.config.env.name:
            raise ConfigError("this run names no return to ask for; give actor(target_return=...)")
        return target_of(self.cases()[0], self.config.eval)

    def evaluate(
        self,
        cases: str | Sequence[str] = (),
        *,
        config: EvalConfig | None = None,
        intervene: str | Sequence[str] = (),
        skip_done: bool = False,
        on_step: OnStep | None = None,
        on_case: Callable[[CaseResult], None] | None = None,
    ) -> list[CaseResult]:
        """Evaluate on cases such as "length=90" (none: those of the configuration) and record every episode.

        `intervene` names what is changed in the policy meanwhile, such as "memory-noise=0.5". `skip_done` leaves out
        what is recorded already. A checkpoint on its own is evaluated without a record.
        """
        chosen = config or self.config.eval
        if not isinstance(chosen, EvalConfig):
            raise ConfigError(f"config is {chosen!r}; it must be an EvalConfig")
        check_seed("eval.seed", chosen.seed)
        spec, run, results = find_env(self.config.env.name), None if self.alone else RunDir.open(self.path), []
        for file in () if run is None else (run.episodes, run.evaluations):
            check_writable(file)
        data = self.config.data
        evaluator = Evaluator(
            spec=spec,
            config=chosen,
            return_scale=data.return_scale,
            oracle=data.oracle,
            success=self.config.env.rule,
            intervene=(intervene,) if isinstance(intervene, str) else tuple(intervene),
            known=known_first(run),
        )
        for case in self.cases(cases, chosen):
            if skip_done and run is not None and self._is_done(run, case, chosen, evaluator.intervention):
                continue
            result = evaluator.run(self.policy, case, checkpoint=self.checkpoint, step=self.step, on_step=on_step)
            if run is not None:
                run.add_episodes(result.records, self._cost(result, chosen))
            results.append(result)
            if on_case is not None:
                on_case(result)
        if run is not None and results:
            write_card(run, self.policy.parameter_count())
        return results

    def held_out(self) -> HeldOut:
        """How well it predicts the actions of the episodes that were held out; own data needs no environment.

        The errors are recorded in held_out.json, unless this is a checkpoint on its own.
        """
        config = self.config
        if not self.alone:
            check_writable(self.path / "held_out.json")
        store = prepare_data("" if config.data.path else config.env.name, config.data)
        if not same_space(store.spaces.action, self.spaces.action):
            raise DataError(f"{store.path} has actions {store.spaces.action}, the run {self.spaces.action}")
        if not self.alone:
            check_same_data(RunDir.open(self.path), store)
        valid = cut_windows(config, store)[1]
        if valid is None:
            raise ConfigError(f"{self.path} holds out no episode; train with a larger data.validation_fraction")
        found = action_error(self.policy, valid, config.train.batch_size)
        if not self.alone:
            about = {"checkpoint": self.checkpoint, "step": self.step, "data": str(store.path)}
            write_json(self.path / "held_out.json", {**about, **asdict(found)})
        return found

    @property
    def alone(self) -> bool:
        """A checkpoint directory outside of its run, where nothing is recorded."""
        return (self.path / CARD).exists()

    def cases(self, cases: str | Sequence[str] = (), config: EvalConfig | None = None) -> list[EvalCase]:
        """The cases that `evaluate` takes."""
        texts = cases or (config or self.config.eval).cases or ("",)
        return cases_of(find_env(self.config.env.name), (texts,) if isinstance(texts, str) else texts)

    def cases_left(self) -> list[EvalCase]:
        """The cases of the configuration that are not recorded for this checkpoint."""
        run, config = RunDir.open(self.path), self.config.eval
        return [case for case in self.cases() if not self._is_done(run, case, config)]

    def _is_done(self, run: RunDir, case: EvalCase, config: EvalConfig, intervention: str = "") -> bool:
        """Whether one evaluation of this checkpoint holds these episodes; older records tell less of how."""
        target = target_of(case, config)
        what = {"case": case.name, "checkpoint": self.checkpoint, "step": self.step}
        how = {"seed": config.seed, "target_return": to_dict(target), "sample": config.sample}
        how |= {"max_steps": config.max_steps, "intervention": intervention, "prompt": config.prompt}
        with reading(run.evaluations):
            return any(
                {**how, **BEFORE, **line}.items() >= {**what, **how}.items() and line["episodes"] >= config.episodes
                for line in run.read_evaluations()
            )

    def _cost(self, result: CaseResult, config: EvalConfig) -> dict[str, Any]:
        return {
            "case": result.case.name,
            "evaluation": result.records[0].evaluation,
            "checkpoint": self.checkpoint,
            "step": self.step,
            "seed": config.seed,
            "target_return": to_dict(result.records[0].target_return),
            "sample": config.sample,
            "max_steps": config.max_steps,
            "intervention": result.records[0].intervention,
            "prompt": config.prompt,
            "episodes": len(result.records),
            "return_mean": to_dict(result.return_mean.value),
            "success_rate": asdict(success) if (success := result.success_rate) else None,
            "seconds": result.seconds,
            "env_steps": result.env_steps,
            "ms_per_step": result.ms_per_step,
            "batch": result.batch,
            "threads": torch.get_num_threads(),
        }


def _rebuilt(model: ModelConfig, loaded: Checkpoint, where: Path) -> SequencePolicy[Any]:
    """The policy of a checkpoint, built only if the configuration is that of its weights."""
    with reading(where):
        try:
            return build_policy(model, loaded.spaces, {name: value.shape for name, value in loaded.weights.items()})
        except ConfigError as reason:
            raise CheckpointError(f"{where} does not fit together: {reason}") from None


def load(path: Path | str, checkpoint: str = "last", device: str = "cpu", env: str | None = None) -> Run:
    """Load a trained run; `env` names its environment anew, which one that is code (`module:factory`) needs."""
    return Run.load(path, checkpoint, device, env)
