"""The `rate` command: finds the command, runs it, and tells a user's mistake in one line.

Exit codes: 0 done, 1 the doctor found something bad, 2 the user can put it right, 130 interrupted (and saved where
there was something to save).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from rate.errors import RateError
from rate.registry import Registry
from rate.training.signals import Interrupted

Command = Callable[[Sequence[str]], int | None]
"""The words after its name -> its exit code; None: 0."""


def _plain(function: Callable[..., int | None], prog: str) -> Command:
    from rate.cli.parse import parse

    return lambda args: parse(_deferred(function), args, prog)()


def _deferred(function: Callable[..., int | None]) -> Callable[..., Callable[[], int | None]]:
    """Parsing and running apart, so that what a command prints is not caught with what the parser says."""
    import functools

    @functools.wraps(function)
    def later(*args: object, **kwargs: object) -> Callable[[], int | None]:
        return lambda: function(*args, **kwargs)

    later.__annotations__ = {**function.__annotations__, "return": object}
    return later


def _group(commands: Registry[Command], prog: str) -> Command:
    def run(args: Sequence[str]) -> int | None:
        if not args or args[0] in ("-h", "--help"):
            print(f"usage: {prog} {{{','.join(commands.names())}}} ...")
            return 0
        return commands.get(args[0])(args[1:])

    return run


def build() -> Registry[Command]:
    from rate.cli import commands as c
    from rate.cli import data as d
    from rate.cli import play as v
    from rate.cli import probe as p
    from rate.cli import suite as s
    from rate.cli.train import train

    data: Registry[Command] = Registry("command of rate data")
    inner: dict[str, Callable[..., int | None]] = {"info": d.info, "check": d.check}
    inner |= {"import": d.import_file, "export": d.export}
    for name, function in inner.items():
        data.add(name, _plain(function, f"rate data {name}"))
    table: Registry[Command] = Registry("command")
    table.add("data", _group(data, "rate data"))
    table.add("train", train)
    named: dict[str, Callable[..., int | None]] = {
        "list": c.list_names,
        "collect": c.collect,
        "eval": c.evaluate,
        "report": c.report,
        "suite": s.suite,
    }
    named |= {"play": v.play, "probe": p.probe, "bench": c.bench, "doctor": c.doctor}
    for name, function in named.items():
        table.add(name, _plain(function, f"rate {name}"))
    return table


HELP = """usage: rate COMMAND ...

  list      environments, models, recipes, suites, valves, encoders, objectives
  collect   a data set from an environment's expert
  data      info, check: what a data set holds, and what is wrong with it; import, export: other formats
  train     a recipe, or --data of your own, edited by options; --resume goes on after any interruption
  eval      a run, at any horizon: rate eval RUN --set length=1000000
  play      one episode to look at: rate play ENV [--run RUN] --out episode.gif
  report    tables, figures and one page from runs
  probe     how a run keeps its memory: rate probe RUN --set length=900
  suite     train, evaluate and report many runs; start it again to go on
  bench     measure acting and training, as ratios within one run
  doctor    check this installation

rate COMMAND --help shows the options and their defaults; rate --version the version."""


def main(args: Sequence[str] | None = None) -> int:
    """Run one command; the return value is the exit code."""
    words = list(sys.argv[1:] if args is None else args)
    if not words or words[0] in ("-h", "--help"):
        print(HELP)
        return 0
    if words[0] == "--version":
        import rate

        print(f"rate {rate.__version__}")
        return 0
    return _run(words)


def _run(words: list[str]) -> int:
    try:
        return build().get(words[0])(words[1:]) or 0
    except RateError as error:
        print(f"rate: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"rate: {error.filename or 'file'}: {error.strerror or error}", file=sys.stderr)
        return 2
    except Interrupted as stop:
        print(f"rate: {stop}", file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        print("rate: interrupted", file=sys.stderr)
        return 130


def entry() -> None:
    """The console script."""
    code = main()
    sys.stdout.flush()
    os._exit(code) if code == 130 else sys.exit(code)
