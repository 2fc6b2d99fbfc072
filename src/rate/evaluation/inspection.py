"""One episode of a policy, looked into: what it sees, where it looks, what its memory does and what it knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rate.envs.spec import EnvSpec, EvalCase
from rate.errors import ConfigError
from rate.evaluation.episode import Frame, describe, make_to_watch, picture_of, play
from rate.evaluation.evaluator import Evaluator, OnStep, check_fit, fact_text, limited, target_of
from rate.evaluation.inspected import Attention, Inspected, MemoryCourse
from rate.evaluation.knowledge import FEWEST, choose_fact, know
from rate.evaluation.linear_probe import Floats
from rate.evaluation.memory_watch import apart
from rate.evaluation.rollout import acting
from rate.models.actor import Actor
from rate.models.interventions import Recorder, Seen, intervene
from rate.models.looking import looked_at, token_kinds
from rate.models.policies.segment import carries_memory
from rate.models.policy import SequencePolicy
from rate.types import Spaces

LONGEST = 2000
"""Steps of an episode that a page can hold."""


def inspect_policy(
    policy: SequencePolicy[Any],
    evaluator: Evaluator,
    case: EvalCase,
    *,
    seed: int,
    info: str | None = None,
    on_step: OnStep | None = None,
) -> Inspected:
    """Play the episode of a seed and look into it; probes of the fact `info` learn from episodes of the evaluator."""
    case = limited(case, evaluator.config)
    if case.max_steps > LONGEST:
        long = f"episodes of {case.name} may take {case.max_steps} steps, and a page holds {LONGEST}"
        raise ConfigError(f"{long}; cut them by --max-steps")
    if evaluator.config.episodes < FEWEST:
        raise ConfigError(f"--episodes is {evaluator.config.episodes}; a probe needs at least {FEWEST}")
    fact = choose_fact(evaluator.spec, case, info)
    frames, record, value = _played(policy, evaluator, case, seed, fact)
    total, length = frames[-1].episode_return, frames[-1].step
    found = Inspected(
        pictures=[frame.picture for frame in frames],
        told=[describe(frame.observation) for frame in frames],
        actions=[" ".join(describe(frame.action).split()) for frame in frames[1:]],
        rewards=[frame.reward for frame in frames[1:]],
        probabilities=[_probabilities(policy, one.value) for one in record.of("prediction")],
        success=evaluator.succeeded(total, length),
        fact=value,
        carries_memory=carries_memory(policy),
        attention=_attention(policy, record.seen),
        memory=_course(policy, record.of("valve")),
    )
    if not fact:
        return found
    shown = {where: {one.at.timestep: _vector(one) for one in record.of(where)} for where in ("memory", "hidden")}
    return replace(found, knowledge=know(policy, evaluator, case, fact, shown, on_step))


def _played(
    policy: SequencePolicy[Any], evaluator: Evaluator, case: EvalCase, seed: int, fact: str
) -> tuple[list[Frame], Recorder, str | None]:
    """The frames of the episode, what was recorded in it, and the value of the fact."""
    env = _watched(evaluator.spec, case)
    record = Recorder(memory=True, attention=True, hidden=True, valve=True)
    try:
        check_fit(case, Spaces(observation=env.observation_space, action=env.action_space), policy.spaces)
        value = fact_text(env.reset(seed=seed)[1][fact]) if fact else None
        with acting(policy, evaluator.config.seed):
            actor: Actor = evaluator.actor(policy, target_of(case, evaluator.config))
            with intervene(actor, record):
                return list(play(env, actor, seed, case.max_steps, evaluator.oracle)), record, value
    finally:
        env.close()


def _watched(spec: EnvSpec, case: EvalCase) -> gym.Env[Any, Any]:
    """The environment with pictures, if what draws them is installed."""
    env = make_to_watch(spec, case.kwargs, ("rgb_array", "ansi"))
    try:
        picture_of(env, env.reset(seed=0)[0])
    except ConfigError:
        env.close()
        return spec.make(**case.kwargs)
    return env


def _vector(one: Seen) -> Floats:
    return np.asarray(one.value.flatten(), np.float64)


def _probabilities(policy: SequencePolicy[Any], prediction: Tensor) -> list[list[float]]:
    return [shares[0].tolist() for shares in policy.head.probabilities(prediction)]


def _attention(policy: SequencePolicy[Any], seen: Sequence[Seen]) -> Attention | None:
    """The weights of the last token of every step; None where a model has no attention that tells them."""
    layers = list(dict.fromkeys(one.where for one in seen if one.value.dim() == 4 and one.where != "valve"))
    if not layers:
        return None
    # At the border of segments memory is written first, by a call of its own: the later one chooses the action.
    by_step = {(one.at.timestep, one.where): one.value[0, :, -1].numpy() for one in seen if one.where in layers}
    steps = sorted({step for step, _ in by_step})
    weights = [[by_step[step, layer] for layer in layers] for step in steps]
    return Attention(
        layers=layers,
        weights=weights,
        slots=[looked_at(policy, step, of[0].shape[-1]) for step, of in zip(steps, weights, strict=True)],
        kinds=token_kinds(policy),
        observed=policy.tokens.config.observed,
    )


def _course(policy: SequencePolicy[Any], updates: Sequence[Seen]) -> MemoryCourse | None:
    if not carries_memory(policy) or not updates:
        return None
    incoming, written, kept, idle = torch.stack([one.value[0] for one in updates]).double().unbind(1)  # (N, M, D) each
    memories = torch.cat([incoming[:1], kept])
    unit = F.normalize(memories, dim=-1)
    return MemoryCourse(
        segment_len=policy.slots.steps,
        steps=[one.at.timestep for one in updates],
        wrote=apart(written, incoming).numpy(),
        through=apart(idle, kept).numpy(),
        change=apart(kept, incoming).numpy(),
        rows_alike=(unit @ unit.transpose(1, 2)).numpy(),
        memories_alike=(torch.einsum("amd,bmd->ab", unit, unit) / unit.shape[1]).numpy(),
    )
