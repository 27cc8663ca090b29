"""Progress on stderr: bars on a terminal, an occasional plain line elsewhere, nothing for short work."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

from ..errors import printable

SHOW_AFTER_S = 2.0
"""Seconds of work before anything is shown."""

SECONDS_BETWEEN_LINES = 15.0
"""Seconds between two lines when stderr is not a terminal."""

MAX_ROWS = 8
"""Stages shown at once, if several are active (targets that are trained together)."""

WIDE_COLUMNS = 110
"""Width of a terminal with room for everything."""

FORGET_AFTER_S = 30.0
"""Seconds after which a silent stage gives up its row to another one."""


@dataclass
class Stage:
    """One stage of the work: when it was first reported (`started`), and how far it was then (`first_done`).

    `last_done` and `heard` belong to the last report; times are in seconds. `is_complete`: everything is done; `task`
    is that of a bar.
    """

    started: float
    first_done: int
    last_done: int
    heard: float
    is_complete: bool = False
    task: Any = None

    def left(self, now: float, done: int, total: int) -> float | None:
        """Return the seconds left at the pace so far: at the time `now`, `done` of `total` pieces are complete.

        Returns None without a pace, or if everything known is done.
        """
        pace = (done - self.first_done) / (now - self.started) if now > self.started else 0.0
        return (total - done) / pace if pace > 0 and done < total else None


class Bar:
    """A Progress that becomes visible after SHOW_AFTER_S seconds."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._last_line = self._start
        self._live: Any = None
        self._stages: dict[str, Stage] = {}

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        now = time.monotonic()
        known = self._stage(stage, done, now)
        known.heard, known.is_complete = now, done >= total
        if now - self._start >= SHOW_AFTER_S:
            note = " ".join(printable(note).split())
            if sys.stderr.isatty():
                self._draw(stage, known, done, total, note)
            elif now - self._last_line >= SECONDS_BETWEEN_LINES:
                self._last_line = now
                self._print(stage, known, done, total, note)

    def _stage(self, name: str, done: int, now: float) -> Stage:
        """Return the stage of this name; a new one replaces those that are complete."""
        known = self._stages.get(name)
        if known is not None and not (known.is_complete and done < known.last_done):
            known.last_done = done
            return known
        for other in [n for n, s in self._stages.items() if s.is_complete]:
            self._forget(other)
        return self._stages.setdefault(name, Stage(now, done, done, now))

    def _print(self, name: str, stage: Stage, done: int, total: int, note: str) -> None:
        now = time.monotonic()
        left = stage.left(now, done, total)
        times = f", {clock(now - stage.started)} so far" + (f", about {clock(left)} left" if left is not None else "")
        print(f"{name}: {done:,} of {total:,}{times}" + (f" ({note})" if note else ""), file=sys.stderr, flush=True)

    def _draw(self, name: str, stage: Stage, done: int, total: int, note: str) -> None:
        if self._live is None:
            self._live = _live_bars()
            self._live.start()
        if stage.task is None:
            self._make_room(stage.heard)
            stage.task = self._live.add_task(name, total=total, completed=done, note=note)
        self._live.update(stage.task, completed=done, total=total, note=note)

    def _make_room(self, now: float) -> None:
        """Remove the rows of silent stages, and the one that was silent longest if there are too many."""
        shown = sorted((s.heard, name) for name, s in self._stages.items() if s.task is not None)
        surplus = len(shown) - MAX_ROWS + 1
        for position, (heard, name) in enumerate(shown):
            if position < surplus or now - heard > FORGET_AFTER_S:
                self._forget(name)

    def _forget(self, name: str) -> None:
        stage = self._stages.pop(name, None)
        if stage is not None and stage.task is not None:
            self._live.remove_task(stage.task)

    def close(self) -> None:
        """Remove the bars from the terminal."""
        if self._live is not None:
            self._live.stop()


def _live_bars() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.table import Column

    rest = Column(no_wrap=True, overflow="ellipsis", ratio=1)
    # markup=False: a rule or a name from the data may look like markup.
    console = Console(stderr=True)
    # On a narrow terminal the note (loss, best rule so far) is more useful than a bar.
    drawn = (BarColumn(bar_width=12),) if console.width >= WIDE_COLUMNS else ()
    elapsed = (TimeElapsedColumn(),) if console.width >= WIDE_COLUMNS else ()
    columns = (
        TextColumn("{task.description}", markup=False),
        *drawn,
        TextColumn("{task.percentage:>3.0f} %"),
        *elapsed,
        TextColumn("left"),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[note]}", markup=False, table_column=rest),
    )
    return Progress(*columns, console=console, transient=True, speed_estimate_period=120.0, expand=True)


def clock(seconds: float) -> str:
    """Format `seconds` as minutes and seconds, with hours if necessary.

    >>> clock(65.2), clock(3725)
    ('1:05', '1:02:05')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
