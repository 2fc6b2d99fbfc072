"""Episodes in lock-step: the same returns and lengths as one by one, whatever the batch, and seeds that no data has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from rate.envs import ENVS
from rate.envs.batch import SerialBatch
from rate.envs.spec import EnvSpec, EvalCase
from rate.envs.tmaze_env import clue_of
from rate.errors import ConfigError, RateError
from rate.evaluation.evaluator import EvalConfig, Evaluator, cases_of
from rate.evaluation.rollout import Episodes, rollout
from rate.models import MODELS, SequencePolicy
from rate.models.actor import Actor
from rate.seeding import Purpose, episode_seeds
from rate.types import EpisodeRecord

torch.set_num_threads(1)

TMAZE = ENVS.get("tmaze")


class Countdown(gym.Env[Any, Any]):
    """Lasts seed % 23 + 1 steps; the reward depends on every action and observation so far."""

    observation_space = gym.spaces.Dict(
        {"here": gym.spaces.Box(-1, 1, (3,), np.float32), "kind": gym.spaces.Discrete(3)}
    )
    action_space = gym.spaces.Discrete(4)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        assert seed is not None
        self.left, self.seed, self.code = seed % 23 + 1, seed, float(seed % 7)
        return self._observation(), {}

    def _observation(self) -> Any:
        return {"here": self.np_random.uniform(-1, 1, 3).astype(np.float32), "kind": int(self.np_random.integers(3))}

    def step(self, action: Any) -> Any:
        assert self.left > 0, "stepped after the end"
        self.left -= 1
        self.code = (3 * self.code + int(action) + 1) % 11
        return self._observation(), self.code / 10, self.left == 0 and self.seed % 2 == 0, self.left == 0, {}


COUNTDOWN = EnvSpec(
    name="countdown",
    summary="",
    make=Countdown,
    make_batch=lambda: SerialBatch(Countdown),
    expert=lambda request: iter(()),
    expert_defaults={},
    case=lambda: EvalCase(name="countdown", target_return=2.0, max_steps=40),
)


def policy_for(spec: EnvSpec, seed: int = 1) -> SequencePolicy[Any]:
    env = spec.make_batch()
    torch.manual_seed(seed)
    policy = MODELS.get("rate")(9, layers=1, width=16, heads=2, head_width=8).build(env.spaces)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(2)
    return policy.eval()


def run(spec: EnvSpec, seeds: list[int], max_steps: int = 40) -> Episodes:
    actor = Actor(policy_for(spec), target_return=2.0)
    return rollout(actor, spec.make_batch(), np.array(seeds), max_steps)


# ------------------------------------------------------------------------------------------------------ rollout


def test_mixed_lengths_are_as_one_by_one() -> None:
    """Finished rows leave the batch in several rounds."""
    seeds = [0, 22, 5, 13, 1, 18, 9, 44, 3, 45, 70]
    together = run(COUNTDOWN, seeds)
    alone = [run(COUNTDOWN, [seed]) for seed in seeds]
    assert together.lengths.tolist() == [seed % 23 + 1 for seed in seeds]
    assert together.lengths.tolist() == [one.lengths[0] for one in alone]
    assert together.returns == pytest.approx([one.returns[0] for one in alone], abs=1e-12)
    assert len(set(together.returns.tolist())) > 5


def test_rows_do_leave_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    genuine = Actor.act

    def act(self: Actor, observation: Any) -> Any:
        sizes.append(len(observation["here"]))
        return genuine(self, observation)

    monkeypatch.setattr(Actor, "act", act)
    run(COUNTDOWN, [0, 1, 2, 3, 4, 5, 6, 20])
    assert sizes[0] == 8 and sizes[-1] == 1 and len(set(sizes)) >= 3


def test_max_steps_cuts() -> None:
    found = run(COUNTDOWN, [22, 3, 21], max_steps=6)
    assert found.lengths.tolist() == [6, 4, 6]


def test_on_step_counts_lock_steps() -> None:
    seen: list[int] = []
    actor = Actor(policy_for(COUNTDOWN), target_return=1.0)
    rollout(actor, COUNTDOWN.make_batch(), np.array([2, 9]), 40, lambda at: seen.append(at.number))
    assert seen == list(range(1, 11))


def test_an_actor_may_be_used_again() -> None:
    actor, env = Actor(policy_for(COUNTDOWN), target_return=2.0), COUNTDOWN.make_batch()
    first = rollout(actor, env, np.array([4, 21, 7]), 40)
    rollout(actor, env, np.array([8, 1]), 40)
    again = rollout(actor, env, np.array([4, 21, 7]), 40)
    assert np.array_equal(first.returns, again.returns) and np.array_equal(first.lengths, again.lengths)


# ---------------------------------------------------------------------------------------------------- evaluator


def judged(spec: EnvSpec, case: EvalCase, purpose: Purpose = Purpose.REPORT, **fields: Any) -> list[Any]:
    evaluator = Evaluator(spec=spec, config=EvalConfig(**{"episodes": 13, **fields}), purpose=purpose)
    result = evaluator.run(policy_for(spec), case, checkpoint="last", step=7)
    assert result.env_steps >= max(record.length for record in result.records)
    assert len({record.evaluation for record in result.records}) == 1
    return unmarked(result.records)


def unmarked(records: list[EpisodeRecord]) -> list[EpisodeRecord]:
    """Records to compare: the mark of an evaluation is its own."""
    return [replace(record, evaluation="") for record in records]


@pytest.mark.parametrize(("spec", "case"), [(TMAZE, TMAZE.case(length=12)), (COUNTDOWN, COUNTDOWN.case())])
def test_the_batch_changes_nothing(spec: EnvSpec, case: EvalCase) -> None:
    records = [judged(spec, case, batch=batch) for batch in (1, 4, 13, 100)]
    assert records[0] == records[1] == records[2] == records[3]
    assert len({record.episode_return for record in records[0]}) > 1 or spec is TMAZE


def test_records_say_what_was_run() -> None:
    records = judged(TMAZE, TMAZE.case(length=12), seed=4)
    assert [record.seed for record in records] == episode_seeds(Purpose.REPORT, 4, 13).tolist()
    for record in records:
        assert (record.case, record.checkpoint, record.step) == ("length=12", "last", 7)
        assert record.tags == {"length": "12", "clue": str(clue_of(np.array([record.seed]))[0])}
        assert record.target_return == 1.0
        assert record.success is (record.episode_return > 0.5)
        assert 1 <= record.length <= 12


def test_without_a_notion_of_success() -> None:
    records = judged(COUNTDOWN, COUNTDOWN.case())
    assert {record.success for record in records} == {None}


def test_the_target_that_is_asked_for() -> None:
    assert {record.target_return for record in judged(COUNTDOWN, COUNTDOWN.case(), target_return=0.5)} == {0.5}
    assert {record.target_return for record in judged(COUNTDOWN, COUNTDOWN.case())} == {2.0}


def test_purposes_share_no_seed() -> None:
    blocks = [{record.seed for record in judged(COUNTDOWN, COUNTDOWN.case(), purpose)} for purpose in Purpose]
    assert len(set.union(*blocks)) == 3 * 13


def test_the_mode_and_the_random_state_are_left_as_they_were() -> None:
    policy = policy_for(COUNTDOWN)
    evaluator = Evaluator(spec=COUNTDOWN, config=EvalConfig(episodes=3, sample=True))
    for mode in (True, False):
        policy.train(mode)
        before = torch.get_rng_state()
        evaluator.run(policy, COUNTDOWN.case(), checkpoint="last", step=0)
        assert policy.training is mode
        assert torch.equal(torch.get_rng_state(), before)


def test_samples_are_a_function_of_the_seed() -> None:
    policy, found = policy_for(COUNTDOWN), []
    for state, config in ((1, EvalConfig(sample=True)), (2, EvalConfig(sample=True)), (1, EvalConfig())):
        torch.manual_seed(state)
        evaluator = Evaluator(spec=COUNTDOWN, config=config)
        found.append(unmarked(evaluator.run(policy, COUNTDOWN.case(), checkpoint="last", step=0).records))
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_cases_are_read_from_text() -> None:
    names = [case.name for case in cases_of(TMAZE, ("", "length=9", "length=90"))]
    assert names == ["length=30", "length=9", "length=90"]


@pytest.mark.parametrize("text", ["lenght=9", "length", "length=2", "length=9,length=10", "length=9.5"])
def test_cases_that_are_none(text: str) -> None:
    with pytest.raises(RateError):
        cases_of(TMAZE, (text,))


@pytest.mark.parametrize("field", ["episodes", "batch"])
def test_nothing_is_run_zero_times(field: str) -> None:
    with pytest.raises(ConfigError, match=f"eval.{field} is 0"):
        replace(EvalConfig(), **{field: 0})


def test_a_tag_must_be_a_fact_of_the_batch() -> None:
    with pytest.raises(ConfigError, match="the tag 'colour', which its batch does not give"):
        judged(replace(COUNTDOWN, tags=("colour",)), COUNTDOWN.case())
