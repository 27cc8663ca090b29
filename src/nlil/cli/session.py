"""What every command shares: common options, output, and error handling.

stdout holds the result (one JSON document with --json), stderr everything else. The exit code is 0, or 2 after bad
input, with one sentence on stderr, or 130 after Ctrl-C.
"""

from __future__ import annotations

import codecs
import errno
import functools
import inspect
import io
import json
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import typer

from ..errors import UNSAFE, CacheWarning, ConfigError, NlilError, printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from ..config import LearnerConfig
    from ..data.dataset import DataOptions, Dataset
    from ..learning.opening import OpenedRun
    from ..progress import Progress

PLAIN_WIDTH = 160
"""Width of tables that are not shown on a terminal, so that rules stay on one line."""

Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
Source = Annotated[
    str, typer.Argument(metavar="DATA", help="A built-in or catalogue name, a path, or duckdb:///FILE?QUERY.")
]


@dataclass(frozen=True)
class AppliedRun:
    """The argument RUN with the options --data, --theory and --size, for commands that apply the rules of a run.

    `folder` is the run; `data` are facts to apply its rules to (None: its own); `theory`: only its theories are used,
    with `size` rules per target (None: as learned).
    """

    folder: Path
    data: str | None = None
    theory: bool = False
    size: int | None = None

    def __post_init__(self) -> None:
        if self.size is not None and not self.theory:
            raise ConfigError("--size: expected with --theory, whose rules it limits")

    def __str__(self) -> str:
        return str(self.folder)


@dataclass(frozen=True)
class Session:
    """The common options of one call; None if not given.

    `as_json`: write one JSON document; `seed`, `device`, `threads` and `memory` are settings, as are `columns` and
    `encoding`, which say how data is read; `quiet` suppresses notes; `debug` shows tracebacks.
    """

    as_json: bool = False
    seed: int | None = None
    device: str | None = None
    threads: int | None = None
    memory: str | None = None
    columns: str | None = None
    encoding: str | None = None
    quiet: bool = False
    debug: bool = False

    def configure(self, config: LearnerConfig) -> LearnerConfig:
        """Return `config` with the common options that were given."""
        given = {"seed": self.seed, "device": self.device, "threads": self.threads, "memory": self.memory}
        given |= self.reading
        return config.with_values({k: v for k, v in given.items() if v is not None}, "command line")

    @property
    def reading(self) -> dict[str, Any]:
        """The options of this call for reading data."""
        given = {"columns": self.columns, "encoding": self.encoding}
        return {key: value for key, value in given.items() if value is not None}

    def read_data(self, source: str, seed: int, options: DataOptions | None = None) -> Dataset:
        """Load the data set `source` with this `seed` and `options`; the notes of its reader go to stderr."""
        from ..data.dataset import DataOptions
        from ..datasets import load_dataset

        options = replace(options or DataOptions(), **self.reading)
        dataset = load_dataset(source, seed=seed, options=options)
        self.notes(data_notes(dataset))
        return dataset

    def open_run(self, run: AppliedRun) -> OpenedRun:
        """Open `run` with the data to apply its rules to; warnings and notes go to stderr."""
        from ..learning.opening import open_run

        opened = open_run(run.folder, run.data, run.theory, self.reading, run.size)
        self.notes(data_notes(opened.dataset))
        for warning in opened.warnings:
            self.warn(warning)
        self.notes(opened.notes)
        return replace(opened, config=self.configure(opened.config))

    def note(self, text: str) -> None:
        """Print the note `text` on stderr."""
        if not self.quiet:
            print(printable(text), file=sys.stderr)

    def notes(self, texts: Iterable[str]) -> None:
        """Print the notes `texts` on stderr, one per line."""
        for text in texts:
            self.note(text)

    def warn(self, text: str) -> None:
        """Print the warning `text` on stderr, even with --quiet."""
        print(f"warning: {printable(text)}", file=sys.stderr)

    def show(self, document: Any, *views: RenderableType) -> None:
        """Write the result: the `document` as JSON, or the `views` for people."""
        if self.as_json:
            sys.stdout.write(json_text(document, indent=2) + "\n")
            return
        console = terminal()
        for view in views:
            console.print(view, markup=False)  # names from data may look like markup

    @contextmanager
    def workers(self, cluster: str | None, threads: int) -> Iterator[Callable[[], tuple[str, ...]]]:
        """Run the work of this block on the `cluster`, or on `threads` of this machine.

        Yields a function that returns notes on the nodes that have worked.
        """
        from ..kernel.cluster import cluster as connected

        with connected(cluster, threads) as done:
            yield lambda: (f"{done.total():,} tasks on nodes of the cluster: {dict(done)}",) if cluster else ()

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """Provide a progress reporter: a bar after two seconds, or a plain line now and then."""
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


def data_notes(dataset: Dataset) -> list[str]:
    """Return the notes of the reader of a data set; each begins with the name of the file or of the set."""
    name = f"{dataset.name}: "
    return [note if note.startswith(name) else name + note for note in dataset.notes]


def json_text(document: Any, indent: int | None = None) -> str:
    """Return the `document` as JSON for stdout, on several lines with an `indent`.

    Control characters, and what stdout cannot encode, are escaped.
    """
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(document, ensure_ascii=not is_unicode, indent=indent, allow_nan=False)
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def write_text(text: str) -> None:
    """Write the `text` of a program to stdout: unchanged to a file or a pipe, escaped as `printable` to a terminal."""
    sys.stdout.write(printable(text) if sys.stdout.isatty() else text)


ASCII = {"≠": "!=", "…": "...", "→": "->", "±": "+-", "─": "-", "│": "|", "–": "-", "—": "-", "×": "x"}
"""Replacements for characters of our own output that the encoding of stdout lacks."""


def readable_escape(error: UnicodeError) -> tuple[str, int]:
    """Replace a character that stdout cannot encode: a handler of `error` for `codecs.register_error`."""
    assert isinstance(error, UnicodeEncodeError)
    lost = error.object[error.start : error.end]
    return "".join(ASCII.get(c) or c.encode("ascii", "backslashreplace").decode() for c in lost), error.end


def never_fail_to_print() -> None:
    """Make stdout and stderr accept any text: pipes may be Latin-1, and names may contain lone surrogates."""
    codecs.register_error("nlil", readable_escape)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="nlil")


def terminal() -> Console:
    """Return a console for stdout; wide if it is a file or a pipe, so that rules are not wrapped."""
    from rich.console import Console
    from rich.segment import Segment

    class Screen(Console):
        def render(self, *arguments: Any, **options: Any) -> Iterator[Segment]:
            """Escape control characters in names; those that style the text are not part of it."""
            for text, style, control in super().render(*arguments, **options):
                yield Segment(text if control else printable(text), style, control)

        def on_broken_pipe(self) -> None:
            raise  # re-raise the BrokenPipeError; rich would exit with 1, `guarded` handles it better

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PLAIN_WIDTH
    return Screen(file=sys.stdout, width=width, highlight=False)


# from a function to a command -------------------------------------------------------------------------


def _common(kind: Any, default: Any, *names: str, **about: Any) -> tuple[Any, Any]:
    return Annotated[kind, typer.Option(*names, rich_help_panel="Common options", **about)], default


COMMON: dict[str, tuple[Any, Any]] = {
    "as_json": _common(bool, False, "--json", help="Write one JSON document to stdout."),
    "seed": _common(int | None, None, "--seed", min=0, help="Seed of all randomness."),
    "device": _common(str | None, None, "--device", metavar="NAME", help="auto, cpu or cuda."),
    "threads": _common(int | None, None, "--threads", min=0, help="CPU threads; 0: all cores."),
    "memory": _common(str | None, None, "--memory", metavar="SIZE", help="Memory budget, e.g. 2GiB."),
    "columns": _common(
        str | None,
        None,
        "--columns",
        metavar="ROLE=COLUMN,...",
        help="Columns of a table: subject=source,predicate=type,object=3.",
    ),
    "encoding": _common(str | None, None, "--encoding", metavar="NAME", help="Encoding of text files, e.g. latin-1."),
    "quiet": _common(bool, False, "--quiet", help="No progress, no notes."),
    "debug": _common(bool, False, "--debug", help="Show the traceback of an error."),
}
"""The fields of Session: type with option, and default."""

THEORY = "Use only the theories of the run: a few rules for each target (see: nlil theory)."
SIZE = "With --theory: maximum number of rules per target. Default: as learned."
APPLIED: dict[str, tuple[Any, Any]] = {
    "data": (
        Annotated[str | None, typer.Option("--data", metavar="DATA", help="Apply the rules to this data.")],
        None,
    ),
    "theory": (Annotated[bool, typer.Option("--theory", help=THEORY)], False),
    "size": (
        Annotated[int | None, typer.Option("--size", metavar="K", min=1, help=SIZE)],
        None,
    ),
}
"""The options of AppliedRun: type with option, and default."""


@dataclass(frozen=True)
class Bounds:
    """Annotates a number with its least (`min`) and largest (`max`) allowed value; None: no bound."""

    min: int | None = None
    max: int | None = None


@dataclass(frozen=True)
class Written:
    """Annotates the path of a file that the command writes; whether it is writable is checked before any work."""


def check_file(path: Path) -> None:
    """Raise ConfigError unless a file can be written at `path`."""
    if path.is_dir():
        raise ConfigError(f"{path}: expected the name of a file to write, got a folder")
    place = next(folder for folder in path.absolute().parents if folder.exists())
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise ConfigError(f"{path}: {place} is not a folder that can be written to; choose another place")


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Wrap function(session, ...) for typer: the same parameters, followed by the common options.

    Positional parameters become arguments, keyword-only ones options; the docstring contains their help.
    """
    signature = inspect.signature(function, eval_str=True)
    about, _, described = (inspect.getdoc(function) or "").partition("\n\nArgs:\n")
    given = list(signature.parameters.values())[1:]
    written = [p.name for p in given if Written() in get_args(p.annotation)]
    applied = [p.name for p in given if p.annotation is AppliedRun]
    given = [p.replace(annotation=Run) if p.name in applied else p for p in given]
    own = [_parameter(parameter, described) for parameter in given]
    keyword = inspect.Parameter.KEYWORD_ONLY
    if applied:
        own += [inspect.Parameter(n, keyword, default=d, annotation=a) for n, (a, d) in APPLIED.items()]
    shared = [inspect.Parameter(n, keyword, default=d, annotation=a) for n, (a, d) in COMMON.items()]

    def work(session: Session, values: dict[str, Any]) -> None:
        for name in written:
            if values[name] is not None:
                check_file(values[name])
        for name in applied:
            values[name] = AppliedRun(values[name], *(values.pop(option) for option in APPLIED))
        function(session, **values)

    @functools.wraps(function)
    def run(**values: Any) -> None:
        session = Session(**{name: values.pop(name) for name in COMMON})
        with warnings_as_notes(session):
            code = guarded(session, lambda: work(session, values))
        if code:
            raise typer.Exit(code)

    run.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in (*own, *shared)}
    run.__doc__ = about
    del run.__wrapped__  # typer would follow it and miss the common options
    return run


@contextmanager
def warnings_as_notes(session: Session) -> Iterator[None]:
    """Print our own warnings as notes of the `session`, each once; warnings of other packages are not changed."""
    shown: set[str] = set()
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
            if not issubclass(category, CacheWarning):
                usual(message, category, *where)
            elif str(message) not in shown:
                shown.add(str(message))
                session.note(str(message))

        warnings.showwarning = show  # type: ignore[assignment]
        yield


def _parameter(parameter: inspect.Parameter, described: str) -> inspect.Parameter:
    """Return the parameter with the help of its line `name (--flag METAVAR): help` in the docstring."""
    annotation = parameter.annotation
    kind, *about = get_args(annotation) if get_origin(annotation) is Annotated else [annotation]
    is_option = parameter.kind is inspect.Parameter.KEYWORD_ONLY
    if not about or isinstance(about[0], Bounds | Written):
        line = re.search(rf"^    {parameter.name}(?: \((.+?)\))?: (.+(?:\n {{8}}.+)*)", described, re.M)
        mark, text = line.groups(default="") if line else ("", "")
        flag, _, metavar = mark.rpartition(" ")
        # Named in any case: without it, typer 0.27 makes the flag of an option from its metavar.
        flags = [flag or f"--{parameter.name.replace('_', '-')}"] if is_option else []
        bounds = vars(about[0]) if about else {}
        make = typer.Option if is_option else typer.Argument
        about = [make(*flags, metavar=metavar or None, help=" ".join(text.split()), **bounds)]
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, about[0]])


def guarded(session: Session, work: Callable[[], None]) -> int:
    """Run `work` and return the exit code."""
    try:
        work()
        sys.stdout.flush()
        return 0
    except KeyboardInterrupt:
        complain("interrupted")
        return 130
    except BrokenPipeError:
        # The reader of a pipe has gone (`nlil rules run | head`); nothing more can be written to stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (NlilError, OSError, MemoryError, RuntimeError) as error:
        if session.debug or (isinstance(error, RuntimeError) and not NO_MEMORY.search(str(error))):
            raise
        complain(sentence(error, session))
        return 2


def complain(text: str) -> None:
    """Print `text` as one line on stderr."""
    print("nlil: " + " ".join(printable(text).split()), file=sys.stderr)


def sentence(error: Exception, session: Session) -> str:
    """Return a sentence for `error` in this `session`: what went wrong, where, what to do."""
    match error:
        case OSError(errno=errno.ENOSPC):
            where = f"{error.filename}: " if error.filename else ""
            return f"{where}no space left on the device; free some space or write elsewhere"
        case OSError(strerror=str(reason)) if error.filename is not None:
            return f"{error.filename}: {reason[:1].lower()}{reason[1:]}"
        case MemoryError():
            return memory_sentence(error, session)
        case RuntimeError() if NO_MEMORY.search(str(error)):
            return memory_sentence(MemoryError(str(error)), session)
        case _:
            return str(error) or type(error).__name__


NO_MEMORY = re.compile("can't start new thread|can't allocate memory|out of memory")
"""What a RuntimeError of Python, of torch on a CPU, and of torch on a GPU says if there is no memory."""


LEAST_BUDGET = 64 * 2**20
"""A smaller budget is not suggested, in bytes: the interpreter and its packages take several times as much."""


def memory_sentence(error: MemoryError, session: Session) -> str:
    """Return a sentence for `error`: what was in use, what was asked for, and a budget to try.

    The budget fits into what was in use, and is at most half of that of the `session`.
    """
    from ..config import LearnerConfig
    from ..search.cost import ROOM, SPARE

    used, missing = memory_in_use(), requested_bytes(error)
    facts = f"up to {_megabytes(used)} were in use" if used else ""
    if missing:
        facts += f"{' and ' if facts else ''}{_megabytes(missing)} more were needed"
    fitting = min((used - SPARE) / ROOM, session.configure(LearnerConfig()).memory / 2)
    advice = "free some memory, or use a larger machine"
    if fitting >= LEAST_BUDGET:
        advice = f"try --memory {int(fitting) >> 20}MiB"
    return f"not enough memory{': ' if facts else ''}{facts}; {advice}"


def _megabytes(size: float) -> str:
    return f"{size / 1e6:,.0f} MB"


def memory_in_use() -> int:
    """Return the most bytes of memory that this process had; 0 where the system does not say."""
    try:
        import resource
    except ImportError:  # there is none on Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def requested_bytes(error: MemoryError) -> int:
    """Return the bytes of the allocation that failed with `error`, as numpy, Arrow and torch say it; 0 if unknown."""
    shape, kind = getattr(error, "shape", None), getattr(error, "dtype", None)
    if shape is not None and kind is not None:  # of numpy
        return math.prod(shape) * int(kind.itemsize)
    found = re.search(r"of size (\d+) failed|tried to allocate (\d+) bytes", str(error))  # of Arrow, of torch
    return int(found[1] or found[2]) if found else 0
