"""The training loop: what it optimises, when it stops, what it keeps, and that nothing else changes the result."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from integration.tiny import assert_same_run, config, metrics, same_tensors, tensors
from rate.errors import ConfigError, DivergedError
from rate.experiment import Run, train_run
from rate.models import SequencePolicy
from rate.objectives import BehaviourCloning, BehaviourCloningConfig, Loss, Objective
from rate.system.signals import Interrupted
from rate.training.checkpoint import load_checkpoint, without_prefix
from rate.training.config import TrainConfig
from rate.training.trainer import Trainer
from rate.types import Segment
from unit.training.making import trainer_of

Train = Callable[..., Path]


def weights_of(policy: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in policy.state_dict().items()}


# ------------------------------------------------------------------------------------------- determinism


def test_the_same_seed_gives_the_same_weights(train: Train) -> None:
    assert_same_run(train("one"), train("two"))


@pytest.mark.parametrize("changed", [{"seed": 1}, {"learning_rate": 2e-3}, {"bptt_segments": 1}, {"batch_size": 9}])
def test_another_run_has_other_weights(train: Train, changed: dict[str, Any]) -> None:
    one, other = (tensors(train(name, steps=3, **more)) for name, more in (("one", {}), ("other", changed)))
    assert not same_tensors(one, other)


def test_dropout_draws_on_the_state_that_is_saved(train: Train, tmp_path: Path) -> None:
    """A trainer that forgot the random state would go another way from here; this one must be seen to use it."""
    states = [tensors(train(f"{steps}", steps=steps))["random.cpu"] for steps in (3, 4)]
    assert not torch.equal(*states)


def test_evaluation_during_training_changes_nothing(train: Train) -> None:
    plain, judged = train("plain"), train("judged", evaluate_every=4, evaluate_episodes=5)
    assert same_tensors(tensors(plain), tensors(judged))
    logged = [line for line in metrics(judged) if any(name.startswith("eval/") for name in line)]
    assert [line["step"] for line in logged] == [4, 8, 12, 16, 20, 24, 28]
    assert all(0 <= line["eval/length=9/success_rate"] <= 1 for line in logged)
    assert [line for line in metrics(judged) if line not in logged] == metrics(plain)


def test_sampled_evaluation_during_training_changes_nothing(tmp_path: Path) -> None:
    base = config(evaluate_every=5, evaluate_episodes=4)
    sampled = replace(base, eval=replace(base.eval, sample=True, seed=9))
    train_run(base, tmp_path / "best"), train_run(sampled, tmp_path / "sampled")
    assert same_tensors(tensors(tmp_path / "best"), tensors(tmp_path / "sampled"))


def test_how_often_it_logs_validates_and_saves_changes_nothing(train: Train) -> None:
    often = train("often", log_every=1, validate_every=1, checkpoint_every=1)
    seldom = train("seldom", log_every=30, validate_every=30, checkpoint_every=30)
    assert same_tensors(tensors(often), tensors(seldom))


# --------------------------------------------------------------------------------------------------- loss


def test_the_loss_is_the_mean_over_real_steps(tmp_path: Path) -> None:
    """A plain loop over whole episodes without padding gives the number that validation logs."""
    trainer = trainer_of(tmp_path / "run", steps=3)
    trainer.fit()
    assert trainer.valid is not None
    policy, store = trainer.policy.eval(), trainer.valid.store
    total, right, count = 0.0, 0.0, 0
    for index in trainer.valid.ids:
        episode = store[int(index)]
        length = len(episode)
        window = Segment(
            observation=torch.tensor(episode.observations[None, :length]),
            action=torch.tensor(episode.actions[None]),
            return_to_go=torch.tensor(episode.rewards[::-1].cumsum()[::-1].copy()[None]).float(),
            reward=torch.tensor(episode.rewards[None]),
            terminated=torch.tensor(episode.terminations[None]),
            timestep=torch.arange(length)[None],
            mask=torch.ones(1, length, dtype=torch.bool),
        )
        state, logits = policy.initial_state(1), []
        for segment in window.split(policy.segment_len):
            output, state = policy(segment, state)
            logits.append(output.prediction[0])
        per_step = nn.functional.cross_entropy(torch.cat(logits), window.action[0], reduction="none")
        assert per_step.shape == (length,)
        total, count = total + per_step.sum().item(), count + length
        right += (torch.cat(logits).argmax(-1) == window.action[0]).sum().item()
    lengths = store.lengths[trainer.valid.ids]
    assert len(set(lengths.tolist())) > 1, "all episodes are of one length: padding is not tested"
    found = trainer.validate()
    assert found["valid/loss"] == pytest.approx(total / count, rel=1e-5)
    assert found["valid/accuracy"] == pytest.approx(right / count, rel=1e-6)


def test_validation_does_not_depend_on_the_batch(tmp_path: Path) -> None:
    """Batches differ in how many real steps they hold; the last one is smaller."""
    losses = [trainer_of(tmp_path / str(size), batch_size=size).validate()["valid/loss"] for size in (1, 7, 20)]
    assert losses == pytest.approx([losses[0]] * 3, rel=1e-5)


def test_validation_has_no_dropout_and_leaves_the_random_state(tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path / "run")
    before = torch.get_rng_state()
    assert trainer.validate() == trainer.validate()
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("segments", [None, 1, 2])
def test_bptt_reaches_the_objective(segments: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def build(self: BehaviourCloningConfig, policy: Any, run: Any) -> BehaviourCloning:
        seen.append(run.keywords["bptt_segments"])
        return BehaviourCloning(run)

    monkeypatch.setattr(BehaviourCloningConfig, "build", build)
    train_run(config(steps=1, bptt_segments=segments), tmp_path / "run")
    assert set(seen) == {segments}


def test_bptt_of_all_segments_is_the_default(train: Train) -> None:
    whole, three, two = (tensors(train(f"b{n}", steps=4, bptt_segments=n)) for n in (None, 3, 2))
    assert same_tensors(whole, three)
    assert not same_tensors(whole, two)


# ------------------------------------------------------------------------------------------- divergence


class Exploding(Objective):
    """Behaviour cloning until one step, where the loss or its gradient is not finite."""

    def __init__(self, at: int, how: str) -> None:
        super().__init__()
        self.inner, self.left, self.how = BehaviourCloning(), at, how

    def forward(self, policy: SequencePolicy[Any], window: Segment) -> Loss:
        loss = self.inner(policy, window)
        if not torch.is_grad_enabled():
            return loss
        self.left -= 1
        if self.left > 0:
            return loss
        if self.how == "gradient":  # sqrt has none at zero
            return replace(loss, total=loss.total + torch.sqrt(0 * loss.total))
        return replace(loss, total=loss.total * float(self.how))


@pytest.mark.parametrize("how", ["nan", "inf", "gradient"])
def test_a_loss_that_is_not_finite_stops_before_the_weights_change(how: str, tmp_path: Path) -> None:
    sound = trainer_of(tmp_path / "sound", steps=12, checkpoint_every=6, validate_every=100)
    sound.fit()
    trainer = trainer_of(
        tmp_path / "run", Exploding(13, how), steps=30, checkpoint_every=6, validate_every=100, schedule="constant"
    )
    before: dict[str, Tensor] = {}

    def remember(step: int, _: Any) -> None:
        before.update(weights_of(trainer.policy))

    trainer.on_step = remember
    with pytest.raises(DivergedError) as caught:
        trainer.fit()
    assert "at step 12;" in str(caught.value) and str(tmp_path / "run") in str(caught.value)
    assert same_tensors(before, weights_of(trainer.policy))
    assert all(value.isfinite().all() for value in before.values())
    kept = load_checkpoint(tmp_path / "run" / "checkpoints" / "step_12", training=True)
    assert same_tensors(without_prefix("policy", kept.training), before)
    assert Run.load(tmp_path / "run").step == 12


def test_the_gradient_is_clipped(tmp_path: Path) -> None:
    """With Adam a clipped gradient shows in the second moment: it is below the square of the limit."""
    limit = 1e-3
    trainer = trainer_of(tmp_path / "run", steps=1, clip=limit)
    trainer.fit()
    norm = math.sqrt(sum(float(parameter.grad.square().sum()) for parameter in trainer.policy.parameters()))
    assert norm == pytest.approx(limit, rel=1e-3)
    assert metrics(tmp_path / "run")[0]["train/grad_norm"] > 10 * limit, "what is logged is the norm before"


def test_no_clipping(tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path / "run", steps=1, clip=0.0)
    trainer.fit()
    norm = math.sqrt(sum(float(parameter.grad.square().sum()) for parameter in trainer.policy.parameters()))
    assert norm == pytest.approx(metrics(tmp_path / "run")[0]["train/grad_norm"], rel=1e-4)


# -------------------------------------------------------------------------------------- stopping and best


def scripted(trainer: Trainer, losses: list[float]) -> Trainer:
    """Validation says what the script says."""
    script = iter(losses)
    trainer.validate = lambda: {"valid/loss": next(script)}  # type: ignore[method-assign]
    return trainer


def checkpoint_names(run: Path) -> dict[str, str]:
    return {name: (run / "checkpoints" / name).read_text().split()[0] for name in ("last", "best")}


def test_best_is_the_lowest_validation_loss(tmp_path: Path) -> None:
    losses = [3.0, 1.0, 2.0, 1.5, 1.0]
    trainer = scripted(trainer_of(tmp_path / "run", steps=10, validate_every=2, checkpoint_every=3), losses)
    trainer.fit()
    assert checkpoint_names(tmp_path / "run") == {"last": "step_10", "best": "step_4"}
    kept = {path.name for path in (tmp_path / "run" / "checkpoints").iterdir()}
    assert kept == {"last", "best", "step_4", "step_10"}
    assert Run.load(tmp_path / "run", "best").step == 4


def test_best_of_a_real_run(train: Train) -> None:
    run = train(validate_every=3)
    losses = {line["step"]: line["valid/loss"] for line in metrics(run) if "valid/loss" in line}
    assert checkpoint_names(run)["best"] == f"step_{min(losses, key=lambda step: losses[step])}"
    assert load_checkpoint(run / "checkpoints" / checkpoint_names(run)["best"]).progress["best_loss"] == repr(
        min(losses.values())
    )


@pytest.mark.parametrize(("patience", "stops_at"), [(1, 6), (2, 12), (3, 14), (0, 20)])
def test_patience(patience: int, stops_at: int, tmp_path: Path) -> None:
    losses = [3.0, 2.0, 2.5, 1.0, 1.1, 1.0, 1.2, 1.3, 1.4, 1.5]
    trainer = trainer_of(tmp_path / "run", steps=20, validate_every=2, checkpoint_every=100, patience=patience)
    progress = scripted(trainer, losses).fit()
    assert progress.step == stops_at
    assert Run.load(tmp_path / "run").step == stops_at
    best = 4 if stops_at == 6 else 8
    assert checkpoint_names(tmp_path / "run") == {"last": f"step_{stops_at}", "best": f"step_{best}"}


def test_a_run_that_lost_patience_stays_stopped(tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path / "run", steps=20, validate_every=2, patience=1)
    scripted(trainer, [1.0, 2.0]).fit()
    again = trainer_of(tmp_path / "other", steps=20, validate_every=2, patience=1)
    again.run = trainer.run
    again.resume()
    assert again.fit().step == 4


def test_without_validation_there_is_no_best(tmp_path: Path) -> None:
    run = train_run(config(steps=4, data={"validation_fraction": 0.0}), tmp_path / "run")
    assert run.step == 4
    assert not (tmp_path / "run" / "checkpoints" / "best").exists()


# -------------------------------------------------------------------------------------------- interruption


class Killed(BaseException):
    """Not an Exception: nothing may catch it and go on."""


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("unbroken") / "run"
    train_run(config(steps=9, validate_every=3, checkpoint_every=2), out)
    return out


@pytest.mark.parametrize("call", [*range(1, 16), *range(31, 37)])  # a run begins, saves, saves its best; it ends
def test_killed_at_a_rename(call: int, unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file appears by a rename: whichever of them does not come to pass, resuming ends as if it had."""
    plan, out, left, genuine = (
        config(steps=9, validate_every=3, checkpoint_every=2),
        tmp_path / "run",
        [call],
        os.replace,
    )

    def replace_or_die(*paths: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Killed
        genuine(*paths)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace_or_die)
        with pytest.raises(Killed):
            train_run(plan, out)
    train_run(plan, out, resume=True)
    assert_same_run(out, unbroken)


def test_a_checkpoint_that_nothing_points_at_is_not_trusted(train: Train, tmp_path: Path) -> None:
    """The advice for a damaged checkpoint is to go back to another one; training writes it anew."""
    plan = config(steps=9, validate_every=9, checkpoint_every=9)
    out = train(run=plan)
    before, checkpoints = tensors(out), out / "checkpoints"
    (checkpoints / "last").unlink()
    (checkpoints / "step_9" / "weights.safetensors").write_bytes(b"damaged")
    train_run(plan, out, resume=True)
    assert same_tensors(tensors(out), before)


def test_the_best_loss_survives_a_resume(tmp_path: Path) -> None:
    first = trainer_of(tmp_path / "run", steps=8, validate_every=2)
    first.on_step = lambda step, _: signal.raise_signal(signal.SIGINT) if step == 4 else None
    with pytest.raises(Interrupted):
        scripted(first, [1.0, 2.0]).fit()
    second = trainer_of(tmp_path / "other", steps=8, validate_every=2)
    second.run = first.run
    second.resume()
    scripted(second, [1.5, 3.0]).fit()
    assert checkpoint_names(tmp_path / "run") == {"last": "step_8", "best": "step_2"}


def test_a_second_signal_leaves_at_once(tmp_path: Path) -> None:
    def twice(step: int, _: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    trainer = trainer_of(tmp_path / "run")
    trainer.on_step = twice
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        trainer.fit()
    assert trainer.progress.step == 1
    assert signal.getsignal(signal.SIGINT) is handler


def test_metrics_are_in_tensorboard_too(train: Train) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = train(steps=5)
    events = EventAccumulator(str(run / "tensorboard")).Reload()
    found = {event.step: event.value for event in events.Scalars("train/loss")}
    logged = {line["step"]: line["train/loss"] for line in metrics(run) if "train/loss" in line}
    assert found.keys() == logged.keys() and len(found) == 5
    assert all(found[step] == pytest.approx(logged[step]) for step in logged)


# ------------------------------------------------------------------------------------------- segments in stages


def test_the_lengths_of_segments_join_one_by_one_and_take_turns() -> None:
    train = TrainConfig(steps=18, segment_lens=(9, 3, 1))
    seen = [train.segment_len_at(step) for step in range(20)]
    assert seen == [9, 9, 9, 9, 9, 9, 9, 3, 9, 3, 9, 3, 9, 3, 1, 9, 3, 1, 9, 3]
    assert [train.is_last_stage(step) for step in (0, 11, 12, 17)] == [False, False, True, True]


def test_the_newest_length_may_come_at_every_other_step() -> None:
    train = TrainConfig(steps=18, segment_lens=(9, 3, 1), turns="newest")
    seen = [train.segment_len_at(step) for step in range(20)]
    assert seen == [9, 9, 9, 9, 9, 9, 9, 3, 9, 3, 9, 3, 9, 1, 3, 1, 9, 1, 3, 1]


def test_without_lengths_the_model_keeps_its_own() -> None:
    train = config().train
    assert train.segment_len_at(0) is None and train.is_last_stage(0)


def test_the_lengths_of_the_cache_follow_each_other() -> None:
    train = TrainConfig(steps=8, cache_tokens=(90, 30, 0))
    assert [train.cache_tokens_at(step) for step in range(9)] == [90, 90, 90, 30, 30, 30, 0, 0, 0]
    assert [train.is_last_stage(step) for step in (0, 5, 6, 7)] == [False, False, True, True]
    assert TrainConfig(cache_tokens=()).cache_tokens_at(0) is None


def test_it_trains_with_the_lengths_of_its_stage_and_is_judged_with_its_own(tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path / "run", steps=6, segment_lens=(9, 3), cache_tokens=(8, 5, 0), validate_every=1)
    trained: list[tuple[int | None, int]] = []
    judged: list[tuple[int | None, int]] = []
    objective = trainer.objective.forward

    def watched(policy: Any, window: Any) -> Any:
        (trained if policy.training else judged).append((policy.segment_len, policy.cache_tokens))
        return objective(policy, window)

    trainer.objective.forward = watched  # type: ignore[method-assign]
    trainer.fit()
    assert trained == [(9, 8), (9, 8), (9, 5), (3, 5), (9, 0), (3, 0)]
    assert set(judged) == {(3, 0)} == {(trainer.policy.segment_len, trainer.policy.cache_tokens)}


def test_it_trains_with_more_of_the_short_windows_and_is_judged_with_its_own(tmp_path: Path) -> None:
    fields = {"steps": 6, "window": 9, "windows": (1, 3, 9), "batch_size": 2, "validate_every": 1}
    trainer = trainer_of(tmp_path / "run", **fields)
    trained: list[tuple[int, ...]] = []
    judged: list[int] = []
    objective = trainer.objective.forward

    def watched(policy: Any, window: Any) -> Any:
        if policy.training:
            trained.append(tuple(window.mask.shape))
        else:
            judged.append(window.mask.shape[1])
        return objective(policy, window)

    trainer.objective.forward = watched  # type: ignore[method-assign]
    trainer.fit()
    assert trained == [(18, 1), (18, 1), (6, 3), (6, 3), (2, 9), (2, 9)] and set(judged) == {9}
    assert [trainer.config.is_last_stage(step) for step in (0, 3, 4)] == [False, False, True]


@pytest.mark.parametrize(("lengths", "named"), [((3, 6), "end with"), ((4, 9), "divide"), ((0, 9), "divide")])
def test_lengths_of_windows_divide_the_window_and_end_with_it(lengths: tuple[int, ...], named: str) -> None:
    with pytest.raises(ConfigError, match=f"train.windows.*{named}.* train.window = {9 if named == 'divide' else 18}"):
        TrainConfig(window=9 if named == "divide" else 18, windows=lengths)


DRAWN = {"bptt_segments": 2, "action_noise": 0.5, "borders": "drawn"}
STAGES = {"segment_lens": (9, 3), "cache_tokens": (12, 6, 0), "windows": (3, 9), "thinned": True}


@pytest.mark.parametrize(("stop", "fields"), [*((stop, STAGES) for stop in (1, 2, 3)), (2, DRAWN)])
def test_a_run_in_stages_or_with_drawn_errors_resumes_bit_for_bit(
    stop: int, fields: dict[str, Any], tmp_path: Path
) -> None:
    fields = {"steps": 4, "validate_every": 1, "checkpoint_every": 1, **fields}
    plan = config(**fields)
    train_run(plan, tmp_path / "whole")
    trainer = trainer_of(tmp_path / "part", **fields)

    def kill(step: int, _: object) -> None:
        if step == stop:
            raise KeyboardInterrupt

    trainer.on_step = kill
    with pytest.raises(KeyboardInterrupt):
        trainer.fit()
    train_run(plan, tmp_path / "part", resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "part")


def test_patience_does_not_end_a_stage_that_others_follow(tmp_path: Path) -> None:
    fields = {"steps": 7, "segment_lens": (9, 3), "validate_every": 1, "patience": 2}
    progress = scripted(trainer_of(tmp_path / "run", **fields), [1.0 + step for step in range(7)]).fit()
    assert progress.step == 6  # misses since step 2, but those before the last segments join, at step 5, do not count
