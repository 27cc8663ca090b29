"""The data of the current run: other processes may store verdicts on its rules, or replace it."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable

from ..learning.changing import MARKER, read_whole, stamp
from ..learning.feedback import load_feedback
from ..learning.run import FEEDBACK
from .page_data import PageData


class CurrentPages:
    """Returns the page data for the current state of the run folder when called.

    Args:
        data: The opened run.
        reopen: Reads the run again after it was replaced; None: the opened run is shown until the end.
    """

    def __init__(self, data: PageData, reopen: Callable[[], PageData] | None = None) -> None:
        self.data, self.reopen = data, reopen
        self._lock = threading.Lock()
        self._run, self._verdicts = self._stamps()

    def __call__(self) -> PageData:
        """Return the current data. Raises RunError if the run is gone or cannot be read."""
        if self._stamps() != (self._run, self._verdicts):
            with self._lock:
                self._follow()
        return self.data

    def _stamps(self) -> tuple[object, object]:
        path = self.data.run.path
        return stamp(path, [MARKER]), stamp(path, [FEEDBACK])

    def _follow(self) -> None:
        path = self.data.run.path
        run, verdicts = read_whole(path, self._stamps)
        if run != self._run and self.reopen is not None:
            gc.unfreeze()  # the old run was excluded from garbage collection; it is garbage now
            self.data = self.reopen()
            gc.collect()
            gc.freeze()
        elif verdicts != self._verdicts:
            feedback = load_feedback(path)
            with self.data.lock:
                self.data.use_feedback(feedback)
        self._run, self._verdicts = run, verdicts
