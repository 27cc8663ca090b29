"""Work on several threads with the same result as on one: tasks in order, results in order."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from ..progress import Progress, Stop, silent

Task = TypeVar("Task")
Result = TypeVar("Result")
Scratch = TypeVar("Scratch")


class Pool(Generic[Scratch]):
    """Runs compiled functions (which release the lock) over tasks; each thread makes its own scratch once."""

    def __init__(self, make_scratch: Callable[[], Scratch], threads: int = 0) -> None:
        self._make, self._local = make_scratch, threading.local()
        self.threads = threads or os.cpu_count() or 1

    def scratch(self) -> Scratch:
        """The scratch of the calling thread."""
        if not hasattr(self._local, "scratch"):
            self._local.scratch = self._make()
        return self._local.scratch

    def map(self, function: Callable[[Scratch, Task], Result], tasks: Sequence[Task], stage: str = "",
            progress: Progress = silent, stop: Stop | None = None) -> list[Result]:
        """[function(scratch, task) for task in tasks]; once `stop` says so the rest is left out."""
        results: list[Result] = []

        def work(task: Task) -> Result | None:
            if stop is not None and stop():
                return None
            return function(self.scratch(), task)

        with ThreadPoolExecutor(self.threads) as executor:
            try:
                for done, result in enumerate(executor.map(work, tasks), start=1):
                    if result is not None:
                        results.append(result)
                    progress(stage, done, len(tasks))
            except BaseException:
                executor.shutdown(wait=False, cancel_futures=True)
                raise
        return results
