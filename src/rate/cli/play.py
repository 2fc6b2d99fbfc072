"""`rate play`: one episode to look at, in the terminal or as a film."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
import tyro

from rate.cli.commands import print_json
from rate.cli.console import OUT, note
from rate.config import check_seed
from rate.data.space_json import same_space
from rate.envs.find import find_env
from rate.envs.spec import PLAYER_STREAM, EnvSpec, EvalCase, Player
from rate.envs.success import Rule
from rate.errors import ConfigError
from rate.evaluation.episode import Begin, Frame, by_chance, describe, make_to_watch
from rate.evaluation.episode import play as play_episode
from rate.evaluation.evaluator import cases_of, limited, target_of
from rate.evaluation.memory_watch import with_memory
from rate.evaluation.rollout import acting
from rate.experiment import Run
from rate.images import first_image
from rate.models.actor import Actor
from rate.options import parse_options
from rate.reports.figures.film import Slide, check_film, half_blocks, write_film
from rate.reports.figures.memory_panel import memory_panel, percent

FPS = 4
"""Frames per second where the environment does not say."""
COLUMNS = 64
"""Characters of a picture in the terminal."""


@dataclass(frozen=True, kw_only=True)
class Playing:
    """Who plays which case."""

    spec: EnvSpec
    case: EvalCase
    who: str
    plays: Actor | Begin
    oracle: str = ""
    """The fact that the actor is given."""
    success: Rule | None = None
    """When the episode is a success; None: as the environment says."""


def play(
    name: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="[ENV]")] = None,
    *,
    env: str | None = None,
    run: Path | None = None,
    set: str = "",
    seed: int = 0,
    max_steps: int | None = None,
    target_return: float | None = None,
    out: Path | None = None,
    memory: bool = True,
    json: bool = False,
) -> None:
    """Watch one episode of an expert or of a trained run, as text or as a film.

    Args:
        name: Environment; with --run it may be left out: the run's own.
        env: The same as an option. A run's own is not imported if it is module:factory: name it then.
        run: Run directory, or one checkpoint directory, that plays; None: the environment's expert.
        set: Arguments of the environment, and options of its expert, as name=value[,name=value].
        seed: Seed of the episode; eval.jsonl of a run has those of its evaluated episodes.
        max_steps: Stop after so many steps; None: where the evaluation stops.
        target_return: Return to ask a run for; None: the one that the case names.
        out: File to write: .gif, .mp4 or .txt; None: the terminal.
        memory: Show what a run sees and remembers beside the picture, if it carries memory between segments.
        json: Print JSON instead of frames.
    """
    check_seed("--seed", seed)
    env = name or env
    if out is not None:
        check_film(out)
    playing = _trained(env, run, set, seed, target_return) if run else _expert(env, set, seed)
    steps = playing.case.max_steps if max_steps is None else max_steps
    made = make_to_watch(playing.spec, playing.case.kwargs, _modes(out, json))
    if run is None and playing.spec.player is None:
        note(f"{playing.spec.name} has no expert that plays; actions are random")
    frames = play_episode(made, playing.plays, seed, steps, playing.oracle)
    if memory and isinstance(playing.plays, Actor):
        frames = with_memory(frames, playing.plays)
    watched = Watched(frames)
    try:
        with acting(playing.plays.policy, seed) if isinstance(playing.plays, Actor) else nullcontext():
            _show(watched, out, json, made)
    finally:
        made.close()
    _say_result(playing, watched.last, seed, out, json)


def _expert(name: str | None, text: str, seed: int) -> Playing:
    """The expert with its options; where there is none, chance."""
    if name is None:
        raise ConfigError("which environment? usage: rate play ENV, or rate play --run RUN")
    spec = find_env(name)
    parts = [part for part in text.split(",") if part]
    given = parse_options(parts)
    of_case = inspect.signature(spec.case).parameters
    case = _case(spec, [part for part in parts if not _only_of_expert(spec, part.partition("=")[0], of_case)])
    if spec.player is None:
        return Playing(spec=spec, case=case, who="random actions", plays=by_chance(seed))
    options = {**spec.expert_defaults, **{key: value for key, value in given.items() if key in spec.expert_defaults}}
    player = partial(spec.player, **options)

    def begin(env: gym.Env[Any, Any]) -> Player:
        return player(env, np.random.default_rng([seed, PLAYER_STREAM]))  # as when data is collected

    return Playing(spec=spec, case=case, who="the expert", plays=begin)


def _only_of_expert(spec: EnvSpec, name: str, of_case: Iterable[str]) -> bool:
    return name in spec.expert_defaults and name not in of_case


def _trained(name: str | None, path: Path, text: str, seed: int, target_return: float | None) -> Playing:
    run = Run.load(path)
    config = run.config
    spec = find_env(name or config.env.name)
    chosen = text or next(iter(config.eval.cases if spec.name == config.env.name else ()), "")
    case = limited(cases_of(spec, [chosen])[0], config.eval)
    _check_spaces(run, spec, case)
    asked = config.eval if target_return is None else replace(config.eval, target_return=target_return)
    actor = run.actor(target_of(case, asked))
    who = f"{config.model.name} of {path}"
    return Playing(spec=spec, case=case, who=who, plays=actor, oracle=config.data.oracle, success=config.env.rule)


def _case(spec: EnvSpec, parts: list[str]) -> EvalCase:
    return cases_of(spec, [",".join(parts)])[0]


def _check_spaces(run: Run, spec: EnvSpec, case: EvalCase) -> None:
    env = spec.make(**case.kwargs)
    env.close()
    for kind in ("observation", "action"):
        mine, theirs = getattr(run.spaces, kind), getattr(env, f"{kind}_space")
        if not same_space(mine, theirs):
            raise ConfigError(f"the run was trained with {kind}s {mine}, {spec.name} has {theirs}: they differ")


class Watched:
    """Frames, of which the last is remembered."""

    def __init__(self, frames: Iterator[Frame]) -> None:
        self._frames = frames

    def __iter__(self) -> Iterator[Frame]:
        for frame in self._frames:
            self.last = frame
            yield frame


def _modes(out: Path | None, json: bool) -> tuple[str, ...]:
    """How the environment is to draw, what is best first."""
    if out is None:
        return () if json else ("ansi", "rgb_array") if OUT.is_terminal else ("ansi",)
    return ("ansi",) if out.suffix.lower() == ".txt" else ("rgb_array", "ansi")


def _show(frames: Iterable[Frame], out: Path | None, json: bool, env: gym.Env[Any, Any]) -> None:
    if out is not None:
        slide = _text_slide if out.suffix.lower() == ".txt" else partial(_slide, env.observation_space)
        return write_film(out, map(slide, frames), env.metadata.get("render_fps") or FPS)
    for frame in frames:
        if not json:
            _print(frame)


def _slide(space: gym.Space[Any], frame: Frame) -> Slide:
    if frame.memory is None:
        return Slide(frame.picture, caption(frame))
    panel = partial(memory_panel, frame.memory, first_image(space, frame.observation))
    return Slide(frame.picture, caption(frame), panel)


def _text_slide(frame: Frame) -> Slide:
    return Slide(frame.picture, told(frame))


def _print(frame: Frame) -> None:
    print(told(frame))
    if isinstance(frame.picture, str):
        print(frame.picture.rstrip("\n"), end="\n\n")
    else:
        OUT.print(half_blocks(frame.picture, min(COLUMNS, OUT.width)))


def caption(frame: Frame) -> str:
    """`step 3 · action 0 · reward 0 · return 0`."""
    if frame.step == 0:
        return "step 0"
    action = " ".join(describe(frame.action).split())
    return f"step {frame.step} · action {action} · reward {frame.reward:.4g} · return {frame.episode_return:.4g}"


def told(frame: Frame) -> str:
    """The caption, and at the border of segments a line such as `segment 3 · memory changed by 12 %`."""
    memory = frame.memory
    if memory is None or not memory.at_border:
        return caption(frame)
    return f"{caption(frame)}\nsegment {memory.segment} · memory changed by {percent(memory.changes[-1])}"


def _say_result(playing: Playing, last: Frame, seed: int, out: Path | None, json: bool) -> None:
    rule = playing.success
    succeeded = rule(last.episode_return, last.step) if rule else playing.spec.score.succeeded(last.episode_return)
    facts = {
        "env": playing.spec.name,
        "case": playing.case.name,
        "player": playing.who,
        "seed": seed,
        "steps": last.step,
    }
    facts |= {"return": last.episode_return, "success": succeeded, "out": str(out) if out else None}
    if json:
        return print_json(facts)
    verdict = {None: "", True: ", success", False: ", no success"}[succeeded]
    place = f"\n{out}" if out else ""
    about = f"{playing.spec.name}, {playing.case.name}, seed {seed}: {playing.who}"
    OUT.print(f"{about}: {last.step} steps, return {last.episode_return:.4g}{verdict}{place}", markup=False)
