"""What every command shares: the common options, where output goes, and how trouble ends.

stdout holds the answer (one JSON document with --json), stderr everything else.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from ..learning.config import LearnerConfig
    from ..progress import Progress

PLAIN_WIDTH = 160
"""Columns of a table that is not shown on a terminal; rules should stay on one line there."""


@dataclass(frozen=True)
class Session:
    """The common options of one call; None where the user said nothing."""

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

    def note(self, text: str) -> None:
        """One line for the person, on stderr."""
        if not self.quiet:
            print(text, file=sys.stderr)

    def warn(self, text: str) -> None:
        """A line that must be seen even with --quiet."""
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

        if self.quiet:
            yield silent
            return
        from .bar import Bar

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
