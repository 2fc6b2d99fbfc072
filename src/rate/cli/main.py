"""The `rate` command: finds the command, runs it, and tells a user's mistake in one line.

Exit codes: 0 done, 1 the doctor found something bad, 2 the user can put it right, 130 interrupted (and saved where
there was something to save).
"""

from __future__ import annotations

import functools
import importlib
import os
import shlex
import sys
from collections.abc import Callable, Sequence

import rate
from rate import plugins
from rate.errors import ConfigError, LeftError, RateError, StoredCodeError
from rate.registry import Registry
from rate.system.files import LONGEST_LINE, shown
from rate.system.signals import Interrupted

Command = Callable[[Sequence[str]], int | None]
"""The words after its name -> its exit code; None: 0."""


PLAIN = {
    "list": "rate.cli.listing:list_names",
    "collect": "rate.cli.commands:collect",
    "eval": "rate.cli.commands:evaluate",
    "report": "rate.cli.commands:report",
    "suite": "rate.cli.suite:suite",
    "play": "rate.cli.play:play",
    "probe": "rate.cli.probe:probe",
    "inspect": "rate.cli.inspect:inspect",
    "export": "rate.cli.export:export",
    "push": "rate.cli.share:push",
    "pull": "rate.cli.share:pull",
    "bench": "rate.cli.commands:bench",
    "doctor": "rate.cli.commands:doctor",
    "data info": "rate.cli.data:info",
    "data check": "rate.cli.data:check",
    "data import": "rate.cli.data:import_file",
    "data export": "rate.cli.data:export",
}
"""Commands whose options are the parameters of a function. It is imported when it is run: most import torch."""


def _plain(name: str) -> Command:
    def run(args: Sequence[str]) -> int | None:
        from rate.cli.parse import bare, parse

        module, _, function = PLAIN[name].partition(":")
        words = bare(args, "--ray")
        return parse(_deferred(getattr(importlib.import_module(module), function)), words, f"rate {name}")()

    return run


def _train(args: Sequence[str]) -> None:
    from rate.cli.train import train

    train(args)


def _suite(args: Sequence[str]) -> int | None:
    from rate.cli.suite import gather

    return _plain("suite")(gather(args))


def _deferred(function: Callable[..., int | None]) -> Callable[..., Callable[[], int | None]]:
    """Parsing and running apart, so that what a command prints is not caught with what the parser says."""

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
    data: Registry[Command] = Registry("command of rate data")
    table: Registry[Command] = Registry("command", "rate --help")
    table.add("train", _train)
    table.add("data", _group(data, "rate data"))
    for name in PLAIN:
        outer, _, inner = name.partition(" ")
        (data if inner else table).add(inner or outer, _suite if name == "suite" else _plain(name))
    return table


HELP = """usage: rate COMMAND ...

  list      environments, models, recipes, suites, valves, encoders, objectives, ...
  collect   a data set from an environment's expert
  data      info, check: what a data set holds, and what is wrong with it; import, export: other formats
  train     a recipe, or --data of your own, edited by options; --resume goes on after any interruption
  eval      a run, at any horizon: rate eval RUN --set length=1000000
  play      one episode to look at: rate play ENV [--run RUN] --out episode.gif
  report    tables, figures and one page from runs
  probe     how a run keeps its memory: rate probe RUN --set length=900
  inspect   one episode looked into, as a page: rate inspect RUN [RUN] --set length=90 --out page.html
  export    a run as ONNX, to act without this library: rate export RUN --out DIR
  push      a run to a directory or the Hugging Face Hub, with checksums: rate push RUN TO
  pull      a pushed run, checked: rate pull FROM --out RUN
  suite     train, evaluate and report many runs; start it again to go on
  bench     measure acting and training, as ratios within one run
  doctor    check this installation

Any command takes --import MODULE for models, environments, recipes and suites of your own (docs/howto/extend.md).
rate COMMAND --help shows the options and their defaults; rate --version the version."""


def main(args: Sequence[str] | None = None) -> int:
    """Run one command; the return value is the exit code."""
    words = list(sys.argv[1:] if args is None else args)
    try:
        words, named = _plugins_in(words)
        if not words or words[0] in ("-h", "--help"):
            print(HELP)
            return 0
        if words[0] == "--version":
            print(f"rate {rate.__version__}")
            return 0
        command = build().get(words[0])
        plugins.use(named)
        if words[0] != "doctor":  # which loads them itself, to tell how each of them is
            _load_installed()
        return command(words[1:]) or 0
    except StoredCodeError as error:
        again = shlex.join([*words, *plugins.options(), "--env", error.name])
        return _fail(f"{error}; to allow it: rate {again}")
    except LeftError:
        return 2
    except RateError as error:
        return _fail(error)
    except BrokenPipeError:
        raise
    except OSError as error:
        return _fail(f"{error.filename or 'file'}: {error.strerror or error}")
    except MemoryError as error:
        return _fail(f"this takes more memory than there is ({error or 'no more is known'})")
    except Interrupted as stop:
        return _fail(stop, 130)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)


def _fail(reason: object, code: int = 2) -> int:
    """One line of standard error, whatever a file wrote into it."""
    print(f"rate: {shown(reason, LONGEST_LINE)}", file=sys.stderr)
    return code


def _plugins_in(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words without `--import MODULE`, which may stand anywhere, and the modules."""
    rest, named, left = list[str](), list[str](), iter(words)
    for word in left:
        key, equals, value = word.partition("=")
        if key != "--import":
            rest.append(word)
            continue
        value = value if equals else next(left, "")
        if not value or value.startswith("-"):
            raise ConfigError("--import needs the name of a module: rate list models --import my_module")
        named.append(value)
    return rest, named


def _load_installed() -> None:
    for plugin in plugins.load_installed():
        if plugin.fault:
            failed = f"the plug-in {plugin.module} of the package {plugin.package} cannot be imported"
            print(f"note: {failed}: {plugin.fault}", file=sys.stderr)


def entry() -> None:
    """The console script."""
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:  # `rate list | head` has read enough
        os._exit(0)
    os._exit(code) if code == 130 else sys.exit(code)
