"""The workers of a Ray cluster: the same contract as threads, on many machines.

    with cluster("ray"):                  # a cluster of this machine alone, as many workers as cores
    with cluster("ray://10.0.0.1:6379"):  # the cluster that `ray start --head` made there; this machine is one of it
        ...                               # pools of `workers` run their tasks there

Ray schedules tasks, moves objects, and runs the tasks of a dead worker again. What is here is how work is packed.
A function and its tasks are packed once for all workers. Large arrays and tables of names are not in the package: each
of them goes to the object store when it is first seen, so that it travels once to each machine, however many tasks and
stages name it, and its workers map it into their memory. On the way back, results name what they share with the caller.
"""

from __future__ import annotations

import ctypes
import io
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pickle import Unpickler
from typing import Any
from weakref import ref

import numpy as np

from ..errors import ClusterError, ConfigError, require
from ..progress import Progress, Stop, silent
from .pool import REPORT_EVERY, Pool, Result, Scratch, Task, executing

PARTS = 16
"""Parts of the tasks for each processor: machines that join late still find some left."""
SHARED_BYTES = 2**16
"""Smaller arrays are packed with the tasks."""
SCHEME = "ray://"
ANSWER = 10.0
"""Seconds in which the head of a cluster must answer."""
LAST_PARTS = 2.0
"""Seconds that running tasks have to return what they have found once it is time to stop."""


@contextmanager
def cluster(address: str | None, threads: int = 0) -> Iterator[Counter[str]]:
    """Run the tasks of `workers` on the cluster at `address` inside this block; None: on threads here, as usual.

    Yields how many tasks each node has done so far.

    Args:
        address: `ray`: a cluster of this machine alone; `ray://HOST:PORT`: the one with this head.
        threads: workers of a cluster of this machine alone; 0: all cores.
    """
    done: Counter[str] = Counter()
    if address is None:
        yield done
        return
    if address != "ray" and not re.fullmatch(f"{SCHEME}[^:/]+:[0-9]+", address):
        raise ConfigError(f"expected ray or ray://HOST:PORT, got {address!r}", "cluster")
    ray = require("ray", "cluster", "work on a cluster")
    ours = not ray.is_initialized() or address != "ray"
    if ours:
        here: dict[str, Any] = {"include_dashboard": False, "num_cpus": threads or None} if address == "ray" else {}
        try:
            if address != "ray":  # Ray would try for minutes
                host, _, port = address.removeprefix(SCHEME).partition(":")
                socket.create_connection((host, int(port)), ANSWER).close()
            place = "local" if address == "ray" else address.removeprefix(SCHEME)
            ray.init(place, log_to_driver=False, logging_level="error", **here)
        except (OSError, OverflowError, RuntimeError, ValueError) as error:
            raise ClusterError(f"{address}: no cluster answers there ({_first_line(error)})") from error
    try:
        packages = Packages()
        with executing(lambda make, threads: RayPool(packages, done, make, threads)):
            yield done
    finally:
        if ours:
            ray.shutdown()


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


# packages -------------------------------------------------------------------------------------------------------------


def _is_shared(value: Any) -> bool:
    """Whether a value goes to the object store by itself: a large array, or a large column of Arrow."""
    if type(value) is np.ndarray:
        return value.nbytes >= SHARED_BYTES and not value.dtype.hasobject
    return type(value).__module__ == "pyarrow.lib" and getattr(value, "nbytes", 0) >= SHARED_BYTES


def _pack(value: Any, key: Callable[[Any], Any]) -> bytes:
    """Pack a value; what has a `key` that is not None is left out, and named by it."""
    from ray.cloudpickle import CloudPickler

    class Packer(CloudPickler):
        def persistent_id(self, value: Any) -> Any:
            return key(value)

    file = io.BytesIO()
    Packer(file, protocol=5).dump(value)
    return file.getvalue()


def _unpack(packed: Any, shared: Sequence[Any]) -> Any:
    """The value of a package whose keys are places in `shared`."""

    class Opener(Unpickler):
        def persistent_load(self, key: Any) -> Any:
            return shared[key]

    return Opener(io.BytesIO(packed)).load()


class Packages:
    """Makes packages of work, and remembers what is in the object store already, as long as its owner keeps it."""

    def __init__(self) -> None:
        self._stored: dict[int, tuple[ref[Any], Any]] = {}

    def make(self, value: Any) -> tuple[bytes, list[Any], list[Any]]:
        """Return the package of a `value`, the large values that it names, and where they are in the object store."""
        places: dict[int, int] = {}
        shared: list[Any] = []

        def key(part: Any) -> int | None:
            if not _is_shared(part):
                return None
            if id(part) not in places:
                places[id(part)] = len(shared)
                shared.append(part)
            return places[id(part)]

        packed = _pack(value, key)
        return packed, shared, [self._place(part) for part in shared]

    def _place(self, value: Any) -> Any:
        import ray

        number = id(value)
        if number not in self._stored:
            stored = ray.put(value)
            self._stored[number] = ref(value, lambda _: self._stored.pop(number, None)), stored
        return self._stored[number][1]


# workers --------------------------------------------------------------------------------------------------------------


class Work:
    """A function with all its tasks, `packed`, as a worker opens it: `shared` are the large values that it names."""

    def __init__(self, packed: Any, shared: list[Any]) -> None:
        self.shared = [_writable(value) if isinstance(value, np.ndarray) else value for value in shared]
        self.kept = shared
        self.places = {id(value): place for place, value in enumerate(self.shared)}
        make, self.function, self.tasks, self.stop = _unpack(packed, self.shared)
        self.scratch = make()

    def run(self, part: int, parts: int) -> bytes:
        """Return, packed, the numbers and results of every `parts`-th task, from the task `part` on."""
        found = []
        for number in range(part, len(self.tasks), parts):
            if self.stop is not None and self.stop():
                break
            found.append((number, self.function(self.scratch, self.tasks[number])))
        return _pack(found, lambda value: self.places.get(id(value)))


def _writable(array: np.ndarray) -> np.ndarray:
    """The same memory without the mark that it must not be written to, for which all code would be compiled again."""
    memory = (ctypes.c_byte * array.nbytes).from_address(array.ctypes.data)
    return np.ndarray(array.shape, array.dtype, memoryview(memory), 0, array.strides)


_opened: dict[str, Work] = {}
"""The latest work of this worker process: its other tasks find its scratch there."""


def _run(work: list[Any], part: int, parts: int) -> tuple[str, bytes, bool]:
    """One task of Ray: returns the node, the results, and whether it was late by the clock of the node.

    `work` holds a reference to (package, references to what it names).
    """
    import ray

    key = work[0].hex()
    if key not in _opened:
        _opened.clear()  # before the next: scratch may be large
        packed, stored = ray.get(work[0])
        _opened[key] = Work(packed, ray.get(stored))
    try:
        packed, stop = _opened[key].run(part, parts), _opened[key].stop
        return ray.get_runtime_context().get_node_id()[:8], packed, stop is not None and stop.is_late
    except BaseException:
        _opened.clear()  # it may hold half of something
        raise


class RayPool(Pool[Scratch]):
    """A pool whose `map` runs on the cluster.

    `packages` are those of the connection; `done` counts the tasks of each node; `make_scratch` and `threads` as for
    `Pool`.
    """

    def __init__(
        self, packages: Packages, done: Counter[str], make_scratch: Callable[[], Scratch], threads: int = 0
    ) -> None:
        super().__init__(make_scratch, threads)
        self._packages, self._done = packages, done

    def _collect(self, ready: list[Any], shared: list[Any], results: dict[int, Any], stop: Stop | None) -> None:
        import ray

        for node, packed, is_late in ray.get(ready):
            if is_late and stop is not None:
                stop.set()  # its loops may have been cut short, though it is not time yet by the clock here
            found = _unpack(packed, shared)
            self._done[node] += len(found)
            results.update(found)

    def map(
        self,
        function: Callable[[Scratch, Task], Result],
        tasks: Sequence[Task],
        stage: str = "",
        progress: Progress = silent,
        stop: Stop | None = None,
    ) -> list[Result]:
        """Return what the `function` gives for `tasks`, in their order. `stage`, `progress` and `stop` as in `Pool`."""
        if len(tasks) < 2:
            return self.map_here(function, tasks, stage, progress, stop)
        import ray
        from ray.exceptions import RayError, RayTaskError

        try:
            packed, shared, stored = self._packages.make((self._make, function, list(tasks), stop))
            work = ray.put((np.frombuffer(packed, np.uint8), stored))
            parts = min(len(tasks), PARTS * max(int(ray.cluster_resources().get("CPU", 1)), 1))
            run = ray.remote(num_cpus=1)(_run)
            waiting = [run.remote([work], part, parts) for part in range(parts)]
            results: dict[int, Result] = {}
            while waiting and (stop is None or not stop.is_late):
                ready, waiting = ray.wait(waiting, num_returns=len(waiting), timeout=REPORT_EVERY)
                self._collect(ready, shared, results, stop)
                if ready:
                    progress(stage, len(results), len(tasks))
            if waiting:
                ready, late = ray.wait(waiting, num_returns=len(waiting), timeout=LAST_PARTS)
                for part in late:
                    ray.cancel(part, force=True)
                self._collect(ready, shared, results, stop)
        except RayTaskError as error:
            if "failed to import" in str(error.cause):
                raise ClusterError("a node of the cluster cannot import nlil; install this version there") from error
            raise (error.cause if isinstance(error.cause, Exception) else error) from error
        except (RayError, ConnectionError) as error:
            raise ClusterError(f"the cluster was lost ({_first_line(error)})") from error
        if stop is not None and len(results) < len(tasks):
            stop()  # so that it knows that something was left out
        return [results[number] for number in sorted(results) if results[number] is not None]
