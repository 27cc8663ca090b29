"""Work in parallel with the same result as one after the other: results in the order of the tasks.

A `Pool` runs tasks on threads. These share memory: functions that `map_here` runs may write into arrays of the caller.
`map` is for pure functions, whose results depend only on what they are given. If `workers` made the pool and a cluster
is in use (`cluster.py`), their tasks run there; the caller does not know.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

import numpy as np

from ..progress import Progress, Stop, silent

Task = TypeVar("Task")
Result = TypeVar("Result")
Scratch = TypeVar("Scratch")

SCRATCH_SHARE = 0.15
"""The scratch of all threads of a pool takes no more than this share of the memory: with the facts and rules that fill
the rest, and two pools at a time, a run stays below 1.2 times its budget and 500 MB."""
REPORT_EVERY = 0.05
"""Seconds between two reports of progress."""


class Pool(Generic[Scratch]):
    """Runs compiled functions (which release the lock) over tasks; each thread makes its own scratch once.

    Threads take the next task from a shared iterator: ten thousand small tasks cost no more than their own time, where
    an object that waits for each of them would take as long as the task. `make_scratch` makes that of one thread;
    `threads` of 0 are as many as there are cores.
    """

    def __init__(self, make_scratch: Callable[[], Scratch], threads: int = 0) -> None:
        self._make, self._local = make_scratch, threading.local()
        self._free: list[Scratch] = []
        self.threads = threads or os.cpu_count() or 1

    def scratch(self) -> Scratch:
        """Return the scratch of the calling thread."""
        if not hasattr(self._local, "scratch"):
            self._local.scratch = self._make()
        return self._local.scratch

    def _borrowed(self) -> Scratch:
        try:
            return self._free.pop()
        except IndexError:
            return self._make()

    def map(
        self,
        function: Callable[[Scratch, Task], Result],
        tasks: Sequence[Task],
        stage: str = "",
        progress: Progress = silent,
        stop: Stop | None = None,
    ) -> list[Result]:
        """The same as `map_here`, for a pure `function` of `tasks`: pools of other kinds run it elsewhere.

        `stage`, `progress` and `stop` as there.
        """
        return self.map_here(function, tasks, stage, progress, stop)

    def map_here(
        self,
        function: Callable[[Scratch, Task], Result],
        tasks: Sequence[Task],
        stage: str = "",
        progress: Progress = silent,
        stop: Stop | None = None,
    ) -> list[Result]:
        """[function(scratch, task) for task in tasks]; once `stop` says so the rest is left out.

        `progress` is told of this `stage` how many tasks are done.
        """
        results: list[Result | None] = [None] * len(tasks)
        failures: list[tuple[int, BaseException]] = []
        waiting = iter(range(len(tasks)))  # its next number is taken under the interpreter lock: by one thread only
        done = [0] * min(self.threads, len(tasks))
        ended = threading.Event()

        def work(worker: int) -> None:
            i = -1
            try:
                scratch = self._borrowed()
                while not ended.is_set():
                    is_late = stop is not None and stop.is_late
                    i = next(waiting, -1)
                    if i < 0 or is_late:
                        break
                    results[i] = function(scratch, tasks[i])
                    done[worker] += 1
                self._free.append(scratch)  # not after a failure: it may hold half of something
            except BaseException as failure:  # raised again by the thread that waits
                failures.append((i, failure))
                ended.set()

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(len(done))]
        try:
            for thread in threads:
                thread.start()
            reported = 0
            while reported < len(tasks):
                alive = next((thread for thread in threads if thread.is_alive()), None)
                if alive is not None:
                    alive.join(REPORT_EVERY)
                if sum(done) > reported:
                    reported = sum(done)
                    progress(stage, reported, len(tasks))
                elif alive is None:
                    break  # the rest was left out
            for thread in threads:
                thread.join()
        except BaseException:
            ended.set()
            raise
        if stop is not None and sum(done) < len(tasks) and not failures:
            stop()  # so that it knows that something was left out
        if failures:
            raise min(failures, key=lambda pair: pair[0])[1]
        return [result for result in results if result is not None]

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process has one thread and no scratch yet. The state comes after the object, since
        `make_scratch` often refers to the owner of the pool."""
        return _empty_pool, (), {"_make": self._make, "threads": 1}


def _empty_pool() -> Pool[Any]:
    return Pool(lambda: None, 1)


Executor = Callable[[Callable[[], Any], int], Pool[Any]]
"""What makes pools for pure functions, such as `Pool` itself."""

_executor: ContextVar[Executor] = ContextVar("executor", default=Pool)


def scratch_bytes(scratch: Any) -> int:
    """Return the size of the arrays of `scratch`: named tuples of them, or an object with these in `scratch.arrays`."""
    if isinstance(scratch, tuple):
        return sum(map(scratch_bytes, scratch))
    return scratch.nbytes if isinstance(scratch, np.ndarray) else scratch_bytes(getattr(scratch, "arrays", ()))


def threads_that_fit(make_scratch: Callable[[], Any], threads: int, memory: int) -> int:
    """Return how many of `threads` (0: all cores) have room for their scratch in `memory` bytes; one always has.

    `make_scratch` makes that of one thread.
    """
    most = int(SCRATCH_SHARE * memory) // max(scratch_bytes(make_scratch()), 1)
    return max(1, min(threads or os.cpu_count() or 1, most))


def workers(make_scratch: Callable[[], Scratch], threads: int = 0, memory: int = 0) -> Pool[Scratch]:
    """Return a pool for pure functions: threads here, or the workers of `executing`.

    `make_scratch` and `threads` as for `Pool`; fewer threads where their scratch does not fit into the budget of
    `memory` bytes (0: no budget), which changes no result. Functions and tasks may be copied to other machines. They
    must not write to what they are given, nor may anybody else while the pool is in use.
    """
    threads = threads_that_fit(make_scratch, threads, memory) if memory else threads
    return _executor.get()(make_scratch, threads)


@contextmanager
def executing(executor: Executor) -> Iterator[None]:
    """Let `executor` make the pools of `workers` inside this block, in this thread.

    Like a joblib backend it is no argument: it changes where work is done, never its result.
    """
    before = _executor.set(executor)
    try:
        yield
    finally:
        _executor.reset(before)
