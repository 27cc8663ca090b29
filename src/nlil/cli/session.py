"""What every command shares: the common options, where output goes, and how trouble ends.

stdout holds the answer (one JSON document with --json), stderr everything else. Exit code 0; 2 and one sentence on
stderr for what the user can mend; 130 after Ctrl-C.
"""

from __future__ import annotations

import errno
import functools
import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import typer

from ..errors import NlilError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from ..config import LearnerConfig
    from ..data.dataset import DataOptions, Dataset
    from ..learning.opening import OpenedRun
    from ..progress import Progress

PLAIN_WIDTH = 160
"""Columns of a table that is not shown on a terminal; rules should stay on one line there."""

Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
Source = Annotated[str, typer.Argument(metavar="DATA", help="A built-in or catalogue name, or a path.")]
OtherData = Annotated[str | None, typer.Option(metavar="DATA", help="Apply the rules to this data.")]


@dataclass(frozen=True)
class Session:
    """The common options of one call; None where the user said nothing.

    `as_json`: results are one JSON document; `seed`, `device`, `threads` and `memory` are settings; `quiet` leaves
    notes out; `debug` shows tracebacks.
    """

    as_json: bool = False
    seed: int | None = None
    device: str | None = None
    threads: int | None = None
    memory: str | None = None
    quiet: bool = False
    debug: bool = False

    def configure(self, config: LearnerConfig) -> LearnerConfig:
        """`config` with the common options that were given on the command line."""
        given = {"seed": self.seed, "device": self.device, "threads": self.threads, "memory": self.memory}
        return config.with_values({k: v for k, v in given.items() if v is not None}, "command line")

    def read_data(self, source: str, seed: int, options: DataOptions | None = None) -> Dataset:
        """Read the data set `source` with this `seed` and `options`; what its reader decided is said on stderr."""
        from ..data.dataset import DataOptions
        from ..datasets import load_dataset

        dataset = load_dataset(source, seed=seed, options=options or DataOptions())
        self.notes(f"{dataset.name}: {note}" for note in dataset.notes)
        return dataset

    def open_run(self, run: Path, data: str | None, theory: bool = False) -> OpenedRun:
        """A run, or its `theory`, with the data its rules are to be applied to; what is left out is said on stderr."""
        from ..learning.opening import open_run

        opened = open_run(run, data, theory)
        self.notes(f"{opened.dataset.name}: {note}" for note in opened.dataset.notes)
        for warning in opened.warnings:
            self.warn(warning)
        self.notes(opened.notes)
        return replace(opened, config=self.configure(opened.config))

    def note(self, text: str) -> None:
        """Say `text` to the person in one line, on stderr."""
        if not self.quiet:
            print(text, file=sys.stderr)

    def notes(self, texts: Iterable[str]) -> None:
        """Say `texts` to the person, a line each, on stderr."""
        for text in texts:
            self.note(text)

    def warn(self, text: str) -> None:
        """Say `text` in a line that must be seen even with --quiet."""
        print(f"warning: {text}", file=sys.stderr)

    def show(self, document: Any, *views: RenderableType) -> None:
        """The answer: the document as JSON, or the views for reading."""
        if self.as_json:
            sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
            return
        console = terminal()
        for view in views:
            console.print(view, markup=False)  # names from data may look like markup

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """Where long work reports itself: a bar after two seconds, or a plain line now and then."""
        from ..progress import silent
        from .bar import Bar

        if self.quiet:
            yield silent
            return
        bar = Bar()
        try:
            yield bar
        finally:
            bar.close()


def terminal() -> Console:
    """stdout for people; wide when it is a file or a pipe, so that rules are not broken."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise  # the BrokenPipeError at hand: rich would exit with 1, `guarded` knows better

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PLAIN_WIDTH
    return Screen(file=sys.stdout, width=width, highlight=False)


# from a function to a command -------------------------------------------------------------------------


def _common(kind: Any, default: Any, *names: str, **about: Any) -> tuple[Any, Any]:
    return Annotated[kind, typer.Option(*names, rich_help_panel="Common options", **about)], default


COMMON: dict[str, tuple[Any, Any]] = {
    "as_json": _common(bool, False, "--json", help="One JSON document on stdout."),
    "seed": _common(int | None, None, min=0, help="All randomness comes from here."),
    "device": _common(str | None, None, metavar="NAME", help="auto, cpu or cuda."),
    "threads": _common(int | None, None, min=0, help="CPU threads; 0: all cores."),
    "memory": _common(str | None, None, metavar="SIZE", help="Budget that block sizes are chosen for, e.g. 2GiB."),
    "quiet": _common(bool, False, "--quiet", help="No progress, no notes."),
    "debug": _common(bool, False, "--debug", help="Show the traceback of an error."),
}
"""The fields of Session: type with option, and default."""


@dataclass(frozen=True)
class Bounds:
    """In the annotation of a number: the least, `min`, and the largest, `max`, that is taken; None: no bound."""

    min: int | None = None
    max: int | None = None


def command(function: Callable[..., None]) -> Callable[..., None]:
    """function(session, ...) as typer sees it: the same parameters, with the common options after them.

    Parameters that may be given by place are arguments, the others options; the docstring has the help of each.
    """
    signature = inspect.signature(function, eval_str=True)
    about, _, described = (inspect.getdoc(function) or "").partition("\n\nArgs:\n")
    own = [_parameter(parameter, described) for parameter in list(signature.parameters.values())[1:]]
    keyword = inspect.Parameter.KEYWORD_ONLY
    shared = [inspect.Parameter(n, keyword, default=d, annotation=a) for n, (a, d) in COMMON.items()]

    @functools.wraps(function)
    def run(**values: Any) -> None:
        session = Session(**{name: values.pop(name) for name in COMMON})
        code = guarded(session, lambda: function(session, **values))
        if code:
            raise typer.Exit(code)

    run.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in (*own, *shared)}
    run.__doc__ = about
    del run.__wrapped__  # typer would look through it and miss the common options
    return run


def _parameter(parameter: inspect.Parameter, described: str) -> inspect.Parameter:
    """The parameter as its line `name (--flag METAVAR): help` of the docstring says, unless its annotation does."""
    annotation = parameter.annotation
    kind, *about = get_args(annotation) if get_origin(annotation) is Annotated else [annotation]
    is_option = parameter.kind is inspect.Parameter.KEYWORD_ONLY
    if not about or isinstance(about[0], Bounds):
        line = re.search(rf"^    {parameter.name}(?: \((.+?)\))?: (.+(?:\n {{8}}.+)*)", described, re.M)
        mark, text = line.groups(default="") if line else ("", "")
        flag, _, metavar = mark.rpartition(" ")
        flags = [flag] if flag else [f"--{parameter.name.replace('_', '-')}"] if kind is bool else []
        bounds = vars(about[0]) if about else {}
        make = typer.Option if is_option else typer.Argument
        about = [make(*flags, metavar=metavar or None, help=" ".join(text.split()), **bounds)]
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, about[0]])


def guarded(session: Session, work: Callable[[], None]) -> int:
    """Do the `work`; return the exit code it ends with."""
    try:
        work()
        sys.stdout.flush()
        return 0
    except KeyboardInterrupt:
        complain("interrupted")
        return 130
    except BrokenPipeError:
        # The reader of a pipe went away (`nlil rules run | head`); nothing more can be said on stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (NlilError, OSError, MemoryError) as error:
        if session.debug:
            raise
        complain(sentence(error))
        return 2


def complain(text: str) -> None:
    """Print `text` as exactly one line on stderr."""
    print("nlil: " + " ".join(text.split()), file=sys.stderr)


def sentence(error: Exception) -> str:
    """Say what went wrong by `error`, where, what to do."""
    match error:
        case OSError(errno=errno.ENOSPC):
            where = f"{error.filename}: " if error.filename else ""
            return f"{where}no space left on the device; free some space or write elsewhere"
        case OSError(strerror=str(reason)) if error.filename is not None:
            return f"{error.filename}: {reason[:1].lower()}{reason[1:]}"
        case MemoryError():
            return "not enough memory; give a smaller budget with --memory, for example --memory 1GiB"
        case _:
            return str(error) or type(error).__name__
