"""The command line: `nlil COMMAND`. Each command is one file; heavy imports happen inside it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Annotated

import typer

from .. import __version__
from ..learning.config import settings_help
from .check import check
from .datasets import datasets
from .demo import demo
from .evaluate import evaluate
from .explain import explain
from .inspect_data import inspect
from .learn import learn
from .materialize import materialize
from .predict import predict
from .report import report
from .rules import rules
from .serve import serve
from .session import command, complain

USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[2]
"""ClickException: typer carries click under one name or another, this is the class it raises from."""

COMMANDS: Mapping[str, Callable[..., None]] = {
    function.__name__: function
    for function in (
        *(demo, datasets, inspect, learn, rules, evaluate),
        *(predict, explain, check, materialize, serve, report),
    )
}
"""Every command by name, in the order of the help page."""

app = typer.Typer(
    name="nlil",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"nlil {__version__}")
        raise typer.Exit


@app.callback()
def nlil(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Learn first-order rules from facts, complete and check the facts with them, and explain every answer.

    DATA is a built-in or catalogue name (even:1000, kin, fb15k-237) or a path; RUN is a folder that learn writes.
    """


def installed_commands() -> Iterator[tuple[str, Callable[..., None]]]:
    """The commands above, then those that packages add as entry points of `nlil.commands`: `nlil bench` is one."""
    yield from COMMANDS.items()
    for point in entry_points(group="nlil.commands"):
        yield point.name, point.load()


for _name, _function in installed_commands():
    app.command(_name, epilog=settings_help() if _name == "learn" else None)(command(_function))


def run(arguments: Sequence[str]) -> int:
    """The exit code of one call."""
    try:
        result = app(list(arguments) or ["--help"], prog_name="nlil", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except USAGE_ERROR as error:
        complain(usage_sentence(error))
        return 2
    except typer.Abort:
        complain("interrupted")
        return 130


def usage_sentence(error: BaseException) -> str:
    """typer's complaint as one sentence with the place to look."""
    message = error.format_message()  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "nlil"
    return f"{message.strip().rstrip('.')}; see: {path} --help"


def main() -> None:
    sys.exit(run(sys.argv[1:]))
