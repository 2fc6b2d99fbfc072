"""The trainer: the only training loop of the library.

A batch is a function of the step, the learning rate is too, so a checkpoint resumes bit for bit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from rate.data.windows import Windows
from rate.errors import CheckpointError, DivergedError
from rate.models.policy import SequencePolicy, unroll
from rate.objectives.objective import Loss, Objective
from rate.system.device import autocast, check_compiles, uncompiled
from rate.system.files import reading
from rate.system.signals import Interrupted, StopOnSignal
from rate.training.average import Average
from rate.training.checkpoint import (
    Checkpoint,
    load_checkpoint,
    load_optimizer,
    load_weights,
    not_finite,
    optimizer_tensors,
    prefixed,
    resolve_checkpoint,
    save_checkpoint,
    without_prefix,
)
from rate.training.config import TrainConfig
from rate.training.logging import MetricLog
from rate.training.optim import build_optimizer, learning_rate
from rate.training.progress import Progress
from rate.training.ranks import Ranks, stacked
from rate.training.run_dir import RunDir
from rate.types import to_tensor

Evaluate = Callable[[SequencePolicy[Any], int, float], Mapping[str, float]]
"""(policy, step, seconds of training so far) -> what was found; nothing where it was left out."""
OnStep = Callable[[int, Mapping[str, float]], None]

PROBED = 8
"""Windows on which weights must act before they are kept."""


class Trainer:
    """Trains one policy in one run directory."""

    def __init__(
        self,
        *,
        policy: SequencePolicy[Any],
        objective: Objective,
        config: TrainConfig,
        run: RunDir,
        train: Windows,
        valid: Windows | None,
        device: torch.device,
        stored_config: Any,
        evaluate: Evaluate | None = None,
        on_step: OnStep | None = None,
        ranks: Ranks | None = None,
    ) -> None:
        self.policy, self.objective = policy.to(device), objective.to(device)
        self.config, self.run, self.device, self.stored_config = config, run, device, stored_config
        self.train, self.valid, self.evaluate, self.on_step = train, valid, evaluate, on_step
        self.ranks = ranks or Ranks()
        self.optimizer = build_optimizer(config, (policy, objective))
        self.average = Average(self.policy, config)
        if config.compile:
            check_compiles(device)
            self.policy.compile()  # in place: weights keep their names, and acting, which is not compiled, its code
        self.progress = Progress()
        self.resumed_with: tuple[str, ...] = ()
        """Options that the command to go on needs: an environment that is code must be named again."""
        self.loggers: Sequence[str] = ()
        """Where metrics also go."""
        self.on_save: Callable[[], None] | None = None
        """Called by the process that writes, after every checkpoint."""
        self.saved: int | None = None
        """The step of the last checkpoint."""
        self._clock = time.perf_counter()

    def fit(self) -> Progress:
        """Train to the last step, to the end of patience, or to an interrupt (which saves and raises)."""
        log, self._clock = MetricLog(self.run, self.loggers), time.perf_counter()
        with log, StopOnSignal() as stop:
            if self.saved is None:
                self.save()  # so that there is a good one, whatever comes
            while not self.progress.is_over(self.config):
                began = time.perf_counter()
                metrics = self._update()
                metrics["time/steps_per_second"] = 1 / (time.perf_counter() - began)
                self._count_time()
                metrics["time/training_seconds"] = self.progress.seconds
                self._after_step(metrics, log)
                if self.ranks.any(stop.requested):
                    self._save_if_new()
                    again = f"continue with: {self.run.resume_command(self.resumed_with)}"
                    raise Interrupted(f"stopped at step {self.progress.step} and saved; {again}")
            self._save_if_new()
        return self.progress

    def _update(self) -> dict[str, float]:
        """One optimiser step."""
        step, config = self.progress.step, self.config
        rate = learning_rate(config, step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.policy.train()
        self.policy.trained = step / config.steps
        self.ranks.draw_apart(self.train.seed, step)
        size = config.batch_size_at(step)
        length = config.window_at(step)
        drawn = self.train.batch(step, size, self.ranks.rows(size), length=length, thinned=config.thinned)
        window = to_tensor(drawn, self.device)
        self.optimizer.zero_grad(set_to_none=True)
        # Backward too: it may run segments again. Outside, the policy has the segments that it acts with.
        with self.policy.segments_of(config.segment_len_at(step), config.cache_tokens_at(step)):
            with autocast(config.precision, self.device):
                loss = self.ranks.weighed(self.objective(self.policy, window))
            loss.total.backward()  # type: ignore[no-untyped-call]
        self.ranks.sum_gradients(self._parameters())
        norm = nn.utils.clip_grad_norm_(self._parameters(), config.clip or math.inf)
        metrics = self._fetched(loss, rate, norm)
        self._guard(metrics["train/loss"], metrics["train/grad_norm"])
        self.optimizer.step()
        self.objective.after_step(self.policy)
        self.progress.step = step + 1
        self.average.follow(self.progress.step)
        return metrics

    def _fetched(self, loss: Loss, rate: float, norm: Tensor) -> dict[str, float]:
        """What the guard needs at each step, and what is logged, where this step will be."""
        parts = loss.parts if self._is_logged(self.progress.step + 1) else {}
        total, *rest = self.ranks.fetch([loss.total, *parts.values()], [norm])
        found = {f"train/{name}": value for name, value in zip(parts, rest, strict=False)}
        return {"train/loss": total, "train/lr": rate, "train/grad_norm": rest[-1], **found}

    def _is_logged(self, step: int) -> bool:
        return step % self.config.log_every == 0 or step == self.config.steps

    def _parameters(self) -> list[nn.Parameter]:
        return [parameter for group in self.optimizer.param_groups for parameter in group["params"]]

    def _guard(self, loss: float, norm: float) -> None:
        if math.isfinite(loss) and math.isfinite(norm):
            return
        raise self._diverged(f"the loss is {loss} and the gradient norm {norm}")

    def _diverged(self, what: str) -> DivergedError:
        at = f"{what} at step {self.progress.step}"
        if self.saved is None:
            return DivergedError(f"{at}, before any training; look for values that are too large: rate data check DATA")
        kept = f"the last good checkpoint, of step {self.saved}, is kept in {self.run.checkpoints}"
        return DivergedError(f"{at}; {kept}; try a lower train.learning-rate or a smaller train.clip")

    @torch.no_grad()
    def _check_good(self, weights: Mapping[str, Tensor]) -> None:
        """Refuse to keep weights that are not finite, or that act on data with something that is not."""
        bad = not_finite(weights)
        if bad is not None:
            raise self._diverged(f"the weights are not finite (first in {bad})")
        was_training = self.policy.training
        window = to_tensor(self.train.batch(0, PROBED), self.device)
        with uncompiled(self.config.compile):
            prediction = unroll(self.policy.eval(), window).prediction
        self.policy.train(was_training)
        if not prediction.float().square().isfinite().all():  # a squared error must be finite too
            raise self._diverged("the weights are too large to act with")

    def _after_step(self, metrics: dict[str, float], log: MetricLog) -> None:
        step, config, writes = self.progress.step, self.config, self.ranks.writes
        last = step == config.steps
        marks: list[str] = []
        if writes and self._is_logged(step):
            log.write(step, metrics)
        if self.valid is not None and (step % config.validate_every == 0 or last):
            with self.average.acting():
                valid = self.validate() if writes else {}
            loss = self.ranks.of_first(valid.get("valid/loss", math.nan))
            marks += ["best"] if self.progress.has_less_loss(loss, config) else []
            self._note(step, valid, metrics, log)
        if self.evaluate is not None and writes and config.evaluates_at(step):
            with self.average.acting():
                judged = self.evaluate(self.policy, step, self.progress.seconds)
            marks += ["best-return"] if self.progress.has_more_return(judged) else []
            self._note(step, judged, metrics, log)
        if marks or last or step % config.checkpoint_every == 0:
            self.save(marks)
        if self.on_step is not None and writes:
            self.on_step(step, metrics)

    def _note(self, step: int, found: Mapping[str, float], metrics: dict[str, float], log: MetricLog) -> None:
        metrics.update(found)
        if found:
            log.write(step, found)

    def _count_time(self) -> None:
        now = time.perf_counter()
        self.progress.seconds += now - self._clock
        self._clock = now

    @torch.no_grad()
    def validate(self) -> dict[str, float]:
        """Mean loss over the held-out windows, weighted by real steps."""
        assert self.valid is not None
        self.policy.eval()
        with uncompiled(self.config.compile):
            losses: list[Loss] = [
                self.objective(self.policy, to_tensor(window, self.device))
                for window in self.valid.fixed(self.config.batch_size)
            ]
        names = ("loss", *losses[0].parts)
        rows = torch.stack([stacked([loss.total, *loss.parts.values()]) for loss in losses]).tolist()
        weights = [int(loss.weight) for loss in losses]
        columns = zip(names, zip(*rows, strict=True), strict=True)
        return {
            f"valid/{name}": sum(value * weight for value, weight in zip(column, weights, strict=True)) / sum(weights)
            for name, column in columns
        }

    def save(self, marks: Collection[str] = ()) -> None:
        training = {
            **prefixed("optimizer", optimizer_tensors(self.optimizer)),
            **prefixed("objective", self.objective.state_dict()),
            "random.cpu": torch.get_rng_state(),
        }
        if self.device.type == "cuda":
            training["random.cuda"] = torch.cuda.get_rng_state(self.device)
        if self.average.steps and self.progress.step:  # before the first step the mean is what the weights are
            training |= prefixed("policy", self._weights())
        with self.average.acting():
            weights = self._weights()
            self._check_good(weights)
        self._count_time()
        checkpoint = Checkpoint(
            weights=weights,
            training=_stored(training),
            step=self.progress.step,
            progress=self.progress.to_json(),
            config=self.stored_config,
            spaces=self.policy.spaces,
        )
        if self.ranks.writes:
            save_checkpoint(self.run.checkpoints, checkpoint, marks=marks)
            if self.on_save is not None:
                self.on_save()
        self.saved = self.progress.step

    def _weights(self) -> dict[str, Tensor]:
        return {name: tensor.clone() for name, tensor in _stored(self.policy.state_dict()).items()}

    def _save_if_new(self) -> None:
        """Save, unless this step is saved: overwriting the last checkpoint would leave a moment without one."""
        if self.saved != self.progress.step:
            self.save()

    def resume(self) -> None:
        """Go back to the last checkpoint of the run, or to the start if it was stopped before the first."""
        if not (self.run.checkpoints / "last").exists():
            self._cut_metrics(0)
            return
        path = resolve_checkpoint(self.run.checkpoints, "last")
        checkpoint = load_checkpoint(path, training=True)
        load_weights(self.policy, checkpoint.weights, path)
        with reading(path):
            self.average.begin()
            if self.average.steps and checkpoint.step:
                load_weights(self.policy, without_prefix("policy", checkpoint.training), path)
            load_weights(self.objective, without_prefix("objective", checkpoint.training), path)
            state = without_prefix("optimizer", checkpoint.training)
            if checkpoint.step and not state:
                raise CheckpointError(f"{path} holds no state of the optimiser; use another checkpoint")
            load_optimizer(self.optimizer, state)
            torch.set_rng_state(checkpoint.training["random.cpu"])
            if "random.cuda" in checkpoint.training and self.device.type == "cuda":
                torch.cuda.set_rng_state(checkpoint.training["random.cuda"], self.device)
        self.progress = Progress.of(checkpoint)
        self.saved = checkpoint.step
        self._cut_metrics(checkpoint.step)

    def _cut_metrics(self, step: int) -> None:
        if self.ranks.writes:
            self.run.cut_metrics(step)


def _stored(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
