"""Every command by name, in the order of the help page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points

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

COMMANDS: Mapping[str, Callable[..., None]] = {
    "demo": demo,
    "datasets": datasets,
    "inspect": inspect,
    "learn": learn,
    "rules": rules,
    "evaluate": evaluate,
    "predict": predict,
    "explain": explain,
    "check": check,
    "materialize": materialize,
    "serve": serve,
    "report": report,
}


def installed_commands() -> Iterator[tuple[str, Callable[..., None]]]:
    """The commands above, then those that packages add as entry points of `nlil.commands`: `nlil bench` is one."""
    yield from COMMANDS.items()
    for point in entry_points(group="nlil.commands"):
        yield point.name, point.load()
