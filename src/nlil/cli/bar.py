"""Progress on stderr: a bar on a terminal, an occasional plain line elsewhere, nothing for short work."""

from __future__ import annotations

import sys
import time
from typing import Any

PATIENCE = 2.0
"""Seconds of work before anything is shown."""

PLAIN_PAUSE = 15.0
"""Seconds between two lines when stderr is not a terminal."""


class Bar:
    """A Progress. Starts to show itself after PATIENCE seconds."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._last_line = self._start
        self._live: Any = None
        self._task: Any = None
        self._stage = ""

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        now = time.monotonic()
        if now - self._start < PATIENCE:
            return
        if sys.stderr.isatty():
            self._draw(stage, done, total, note)
        elif now - self._last_line >= PLAIN_PAUSE:
            self._last_line = now
            print(f"{stage}: {done:,} of {total:,}" + (f" ({note})" if note else ""), file=sys.stderr, flush=True)

    def _draw(self, stage: str, done: int, total: int, note: str) -> None:
        if self._live is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"),
                       TimeElapsedColumn(), TextColumn("{task.fields[note]}"))
            self._live = Progress(*columns, console=Console(stderr=True), transient=True)
            self._live.start()
        if stage != self._stage:
            if self._task is not None:
                self._live.remove_task(self._task)
            self._stage, self._task = stage, self._live.add_task(stage, total=total, note=note)
        self._live.update(self._task, completed=done, total=total, note=note)

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
