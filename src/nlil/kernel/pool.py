"""Parallel work whose result does not depend on the number of threads: results come in the order of the tasks.

A `Pool` runs tasks on threads. Threads share memory, so functions that `map_here` runs may write into arrays of the
caller. `map` is for pure functions, whose results depend only on their arguments. If the pool comes from `workers` and
a cluster is in use (`cluster.py`), `map` runs there; the caller need not know.
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
"""Limit of the scratch of all threads of a pool, as a share of the memory budget. With facts, rules and two pools at a
time, a run stays below 1.2 times its budget plus 500 MB."""
REPORT_EVERY = 0.05
"""Seconds between two reports of progress."""


class Pool(Generic[Scratch]):
    """Runs compiled functions (which release the interpreter lock) over tasks; each thread makes its scratch once.

    Threads take the next task from a shared iterator: a future per task would cost as much as a small task itself.
    `make_scratch` makes the scratch of one thread; `threads` = 0 means all cores.
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

    def map_here(
        self,
        function: Callable[[Scratch, Task], Result],
        tasks: Sequence[Task],
        stage: str = "",
        progress: Progress = silent,
        stop: Stop | None = None,
    ) -> list[Result]:
        """Return [function(scratch, task) for task in tasks], without the tasks that `stop` left no time for.

        `progress` receives the `stage` and the number of finished tasks.
        """
        results: list[Result | None] = [None] * len(tasks)
        failures: list[tuple[int, BaseException]] = []
        waiting = iter(range(len(tasks)))  # `next` holds the interpreter lock: each number goes to one thread
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
                self._free.append(scratch)  # not after a failure: it may be inconsistent
            except BaseException as failure:  # raised again by the waiting thread
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
                    break  # the other tasks were left out
            for thread in threads:
                thread.join()
        except BaseException:
            ended.set()
            raise
        if stop is not None and sum(done) < len(tasks) and not failures:
            stop()  # records that tasks were left out
        if failures:
            raise min(failures, key=lambda pair: pair[0])[1]
        return [result for result in results if result is not None]

    map = map_here
    """The same for a pure `function`, which other kinds of pools run elsewhere."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy the pool for another process, with one thread and no scratch.

        The state is set after the object is made, since `make_scratch` often refers to the owner of the pool.
        """
        return _empty_pool, (), {"_make": self._make, "threads": 1}


def _empty_pool() -> Pool[Any]:
    return Pool(lambda: None, 1)


Executor = Callable[[Callable[[], Any], int], Pool[Any]]
"""Makes pools for pure functions; `Pool` itself is one."""

_executor: ContextVar[Executor] = ContextVar("executor", default=Pool)


def scratch_bytes(scratch: Any) -> int:
    """Return the bytes of the arrays of `scratch`: named tuples of arrays, or an object with these in `.arrays`."""
    if isinstance(scratch, tuple):
        return sum(map(scratch_bytes, scratch))
    return scratch.nbytes if isinstance(scratch, np.ndarray) else scratch_bytes(getattr(scratch, "arrays", ()))


def threads_that_fit(make_scratch: Callable[[], Any], threads: int, memory: int) -> int:
    """Return how many of `threads` (0: all cores) can have their scratch in `memory` bytes; at least one.

    `make_scratch` makes the scratch of one thread.
    """
    most = int(SCRATCH_SHARE * memory) // max(scratch_bytes(make_scratch()), 1)
    return max(1, min(threads or os.cpu_count() or 1, most))


def workers(make_scratch: Callable[[], Scratch], threads: int = 0, memory: int = 0) -> Pool[Scratch]:
    """Return a pool for pure functions: threads here, or the workers of `executing`.

    `make_scratch` and `threads` as in `Pool`; there are fewer threads if their scratch does not fit into `memory` bytes
    (0: no limit), which changes no result. Functions and tasks may be copied to other machines, so their arguments must
    not change while the pool is in use.
    """
    threads = threads_that_fit(make_scratch, threads, memory) if memory else threads
    return _executor.get()(make_scratch, threads)


@contextmanager
def executing(executor: Executor) -> Iterator[None]:
    """Let `executor` make the pools of `workers` inside this block, in this thread.

    Like a joblib backend, it is context rather than an argument: it changes where work is done, never the result.
    """
    before = _executor.set(executor)
    try:
        yield
    finally:
        _executor.reset(before)
