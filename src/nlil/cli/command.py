"""`@command`: a function of a Session becomes a command with the common options and the common endings.

Exit code 0; 2 and one sentence on stderr for what the user can mend; 130 after Ctrl-C.
"""

from __future__ import annotations

import errno
import functools
import inspect
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from ..errors import NlilError
from .session import Session

PANEL = "Common options"

COMMON: dict[str, Any] = {
    "as_json": (
        Annotated[bool, typer.Option("--json", help="One JSON document on stdout.", rich_help_panel=PANEL)],
        False,
    ),
    "seed": (
        Annotated[int | None, typer.Option(min=0, help="All randomness comes from here.", rich_help_panel=PANEL)],
        None,
    ),
    "device": (
        Annotated[str | None, typer.Option(help="auto, cpu or cuda.", metavar="NAME", rich_help_panel=PANEL)],
        None,
    ),
    "threads": (
        Annotated[int | None, typer.Option(min=0, help="CPU threads; 0: all cores.", rich_help_panel=PANEL)],
        None,
    ),
    "memory": (
        Annotated[
            str | None,
            typer.Option(
                help="Budget that block sizes are chosen for, e.g. 2GiB.", metavar="SIZE", rich_help_panel=PANEL
            ),
        ],
        None,
    ),
    "quiet": (Annotated[bool, typer.Option("--quiet", help="No progress, no notes.", rich_help_panel=PANEL)], False),
    "debug": (
        Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.", rich_help_panel=PANEL)],
        False,
    ),
}


def command(function: Callable[..., None]) -> Callable[..., None]:
    """function(session, ...) as typer sees it: the same parameters, with the common options after them."""
    signature = inspect.signature(function, eval_str=True)
    own = list(signature.parameters.values())[1:]
    keyword = inspect.Parameter.KEYWORD_ONLY
    shared = [inspect.Parameter(n, keyword, default=d, annotation=a) for n, (a, d) in COMMON.items()]

    @functools.wraps(function)
    def run(**values: Any) -> None:
        session = Session(**{name: values.pop(name) for name in COMMON})
        code = guarded(session, lambda: function(session, **values))
        if code:
            raise typer.Exit(code)

    run.__signature__ = inspect.Signature([p.replace(kind=keyword) for p in own] + shared)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in (*own, *shared)}
    del run.__wrapped__  # typer would look through it and miss the common options
    return run


def guarded(session: Session, work: Callable[[], None]) -> int:
    """Do the work; the exit code it ends with."""
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
    """Exactly one line on stderr."""
    print("nlil: " + " ".join(text.split()), file=sys.stderr)


def sentence(error: Exception) -> str:
    """What went wrong, where, what to do."""
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
