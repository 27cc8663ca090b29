"""The command line: `nlil COMMAND`. Each command is a module that is imported, with its dependencies, when called."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Annotated

import typer

from .. import __version__
from .session import command, complain, never_fail_to_print
from .signals import INTERRUPTED, ending_soon

USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[2]
"""ClickException; typer bundles click under varying names, so it is found through a class that inherits from it."""

MMAP_THRESHOLD, LARGE_ARRAY = -3, 4 * 2**20
"""The number of the parameter M_MMAP_THRESHOLD of mallopt, and the least bytes of an array with its own mapping."""
TRIM_THRESHOLD, FREE_AT_TOP = -1, 2 * LARGE_ARRAY
"""The number of M_TRIM_THRESHOLD, and the free bytes that may stay at the end of a heap."""

SHOW_CURSOR = "\x1b[?25h"

MAX_SUMMARY = 62
"""Characters of the help of a command in the list of all, on a terminal of 80 columns."""

COMMANDS: Mapping[str, str] = {
    name: name
    for name in (
        *(
            "demo",
            "datasets",
            "inspect",
            "split",
            "settings",
            "plan",
            "learn",
            "program",
            "theory",
            "rules",
            "evaluate",
        ),
        *("predict", "complete", "score", "explain", "check", "materialize", "serve", "report"),
    )
} | {"inspect": "inspect_data"}
"""The module of every command, in the order of the help page."""


def _version(wanted: bool) -> None:
    if wanted:
        print(f"nlil {__version__}")
        raise typer.Exit


def nlil(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Learn first-order rules from facts, complete and check the facts with them, and explain every answer.

    DATA is a built-in or catalogue name (even:1000, kin, fb15k-237) or a path; RUN is a folder that learn writes.

    \b
    nlil demo                               the whole way on built-in data
    nlil learn facts.tsv --out RUN          rules from your table
    nlil complete RUN; nlil check RUN       what is missing, what is wrong
    nlil explain RUN "aunt(vera1, kate2)"   why, in a dozen lines
    nlil serve RUN                          all of it in the browser
    """


def installed_commands() -> dict[str, Callable[..., None]]:
    """Return the commands above and those of other packages (entry points of `nlil.commands`), such as `nlil bench`."""
    from importlib.metadata import entry_points

    own = {name: own_command(name) for name in COMMANDS}
    return own | {point.name: point.load() for point in entry_points(group="nlil.commands")}


def own_command(name: str) -> Callable[..., None]:
    """Return the function of our command `name`."""
    found: Callable[..., None] = getattr(import_module(f".{COMMANDS[name]}", __package__), name)
    return found


def application(commands: Mapping[str, Callable[..., None]]) -> typer.Typer:
    """Return the typer application with these `commands`."""
    app = typer.Typer(
        name="nlil",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(nlil)
    for name, function in commands.items():
        made = command(function)
        epilog = settings_help() if name == "learn" else None
        app.command(name, short_help=short_help(made.__doc__ or ""), epilog=epilog)(made)
    return app


def short_help(text: str) -> str:
    """Return the first sentence of a help `text` for the list of commands, cut so that it stays on one line.

    >>> short_help("Rank the answers to a query; known facts are marked.")
    'Rank the answers to a query; known facts are marked.'
    >>> short_help("Show the theory of a predicate: a few rules that do nearly the work of all rules.")
    'Show the theory of a predicate.'
    """
    first = " ".join(text.partition("\n\n")[0].split())
    return first if len(first) <= MAX_SUMMARY else re.split(r"[:;,] ", first)[0].removesuffix(".") + "."


def settings_help() -> str:
    """Return every setting with its default and help, as text."""
    from .. import config

    return config.settings_help()


def run(arguments: Sequence[str]) -> int:
    """Run one command line, given by its `arguments`, and return the exit code."""
    words = list(arguments) or ["--help"]
    # Loading all commands takes longer than running many of them.
    commands = {words[0]: own_command(words[0])} if words[0] in COMMANDS else installed_commands()
    try:
        result = application(commands)(words, prog_name="nlil", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except USAGE_ERROR as error:
        complain(usage_sentence(error))
        return 2
    except typer.Abort:
        complain("interrupted")
        return INTERRUPTED


def usage_sentence(error: BaseException) -> str:
    """Return the typer `error` as one sentence with a pointer to the help."""
    message = error.format_message()  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "nlil"
    return f"{message.strip().rstrip('.')}; see: {path} --help"


def return_memory() -> None:
    """Make the C library return freed arrays to the system, so that free memory does not count against --memory.

    Otherwise glibc keeps freed arrays of up to 32 MB: half of 1.1 GB after counting a million facts. With one threshold
    set it adapts none, so both are: by default it gives back, and asks for again, every 128 KB at the end of a heap
    (a quarter of the CPU time of learning classes).
    """
    import ctypes

    with suppress(AttributeError, OSError, TypeError):  # there is no mallopt outside of glibc
        library = ctypes.CDLL(None)
        library.mallopt(MMAP_THRESHOLD, LARGE_ARRAY)
        library.mallopt(TRIM_THRESHOLD, FREE_AT_TOP)


def main() -> None:
    """Run the command line and exit."""
    return_memory()
    never_fail_to_print()
    with ending_soon(say_interrupted):
        code = run(sys.argv[1:])
    if code == INTERRUPTED:  # at once: threads may be inside long loops, whose results nobody needs
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def say_interrupted() -> None:
    """Say that the command ends, and show the cursor of the terminal, which a progress bar hides."""
    complain("interrupted")
    if sys.stderr.isatty():
        print(SHOW_CURSOR, end="", file=sys.stderr, flush=True)
