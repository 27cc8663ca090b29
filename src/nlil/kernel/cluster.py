"""The workers of a Ray cluster: the same contract as threads, on many machines.

    with cluster("ray"):                  # this machine only, one worker per core
    with cluster("ray://10.0.0.1:6379"):  # the cluster that `ray start --head` made there; this machine is a node of it
        ...                               # pools of `workers` run their tasks there

Ray schedules tasks, moves objects, and reruns the tasks of a dead worker. This file decides how work is packed.
A function and its tasks are packed once for all workers. Large arrays and tables of names are stored separately: each
is put into the object store when it first occurs and copied once to each machine, where the workers map it into memory,
however many tasks and stages refer to it. Results refer to shared objects in the same way.
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
"""Batches of tasks per processor: enough that machines that join late still get some."""
SHARED_BYTES = 2**16
"""Smaller arrays are packed with the tasks."""
SCHEME = "ray://"
ANSWER = 10.0
"""Seconds to wait for the head node of a cluster."""
LAST_PARTS = 2.0
"""Seconds that running tasks have to return their results once it is time to stop."""


@contextmanager
def cluster(address: str | None, threads: int = 0) -> Iterator[Counter[str]]:
    """Run the tasks of `workers` on the cluster at `address` inside this block.

    Yields the number of tasks that each node has finished so far.

    Args:
        address: `ray`: only this machine; `ray://HOST:PORT`: the cluster with this head node; None: threads, as usual.
        threads: the number of workers if the cluster is only this machine; 0: all cores.
    """
    done: Counter[str] = Counter()
    if address is None:
        yield done
        return
    if address != "ray" and not re.fullmatch(f"{SCHEME}[^:/]+:[0-9]+", address):
        raise ConfigError(f"expected ray or ray://HOST:PORT, got {address!r}", "cluster")
    ray = require("ray", "cluster", "work on a cluster")
    is_owner = not ray.is_initialized() or address != "ray"
    if is_owner:
        options: dict[str, Any] = {"include_dashboard": False, "num_cpus": threads or None} if address == "ray" else {}
        try:
            if address != "ray":  # Ray itself would keep trying for minutes
                host, _, port = address.removeprefix(SCHEME).partition(":")
                socket.create_connection((host, int(port)), ANSWER).close()
            place = "local" if address == "ray" else address.removeprefix(SCHEME)
            ray.init(place, log_to_driver=False, logging_level="error", **options)
        except (OSError, OverflowError, RuntimeError, ValueError) as error:
            raise ClusterError(f"{address}: no cluster answers there ({_first_line(error)})") from error
    try:
        packages = Packages()
        with executing(lambda make, threads: RayPool(packages, done, make, threads)):
            yield done
    finally:
        if is_owner:
            ray.shutdown()


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


# packages -------------------------------------------------------------------------------------------------------------


def _is_shared(value: Any) -> bool:
    """Return whether a value is stored separately: a large array, or a large Arrow column."""
    if type(value) is np.ndarray:
        return value.nbytes >= SHARED_BYTES and not value.dtype.hasobject
    return type(value).__module__ == "pyarrow.lib" and getattr(value, "nbytes", 0) >= SHARED_BYTES


def _pack(value: Any, key: Callable[[Any], Any]) -> bytes:
    """Pack a value; parts with a `key` other than None are left out and referred to by this key."""
    from ray.cloudpickle import CloudPickler

    class Packer(CloudPickler):
        def persistent_id(self, value: Any) -> Any:
            return key(value)

    file = io.BytesIO()
    Packer(file, protocol=5).dump(value)
    return file.getvalue()


def _unpack(packed: Any, shared: Sequence[Any]) -> Any:
    """Return the value of a package whose keys are positions in `shared`."""

    class Opener(Unpickler):
        def persistent_load(self, key: Any) -> Any:
            return shared[key]

    return Opener(io.BytesIO(packed)).load()


class Packages:
    """Packs work, and remembers which objects are already in the object store, as long as they are alive here."""

    def __init__(self) -> None:
        self._stored: dict[int, tuple[ref[Any], Any]] = {}

    def make(self, value: Any) -> tuple[bytes, list[Any], list[Any]]:
        """Return the package of a `value`, the large objects that it refers to, and their references in the store."""
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
    """A function with all its tasks, unpacked by a worker from `packed`; `shared` are the large objects it uses."""

    def __init__(self, packed: Any, shared: list[Any]) -> None:
        self.shared = [_writable(value) if isinstance(value, np.ndarray) else value for value in shared]
        self._owners = shared  # keeps the memory that `self.shared` maps alive
        self.places = {id(value): place for place, value in enumerate(self.shared)}
        make, self.function, self.tasks, self.stop = _unpack(packed, self.shared)
        self.scratch = make()

    def run(self, part: int, parts: int) -> bytes:
        """Return the numbers and results of every `parts`-th task, starting at task `part`, packed."""
        found = []
        for number in range(part, len(self.tasks), parts):
            if self.stop is not None and self.stop():
                break
            found.append((number, self.function(self.scratch, self.tasks[number])))
        return _pack(found, lambda value: self.places.get(id(value)))


def _writable(array: np.ndarray) -> np.ndarray:
    """Return the same memory as a writable array: compiled functions would be compiled again for read-only ones."""
    memory = (ctypes.c_byte * array.nbytes).from_address(array.ctypes.data)
    return np.ndarray(array.shape, array.dtype, memoryview(memory), 0, array.strides)


_opened: dict[str, Work] = {}
"""The current work of this worker process; its tasks share one scratch."""


def _run(work: list[Any], part: int, parts: int) -> tuple[str, bytes, bool]:
    """Run one Ray task: return the node, the results, and whether time was up by the clock of the node.

    `work` holds a reference to (package, references to its shared objects).
    """
    import ray

    key = work[0].hex()
    if key not in _opened:
        _opened.clear()  # first: scratch may be large
        packed, stored = ray.get(work[0])
        _opened[key] = Work(packed, ray.get(stored))
    try:
        packed, stop = _opened[key].run(part, parts), _opened[key].stop
        return ray.get_runtime_context().get_node_id()[:8], packed, stop is not None and stop.is_late
    except BaseException:
        _opened.clear()  # its scratch may be inconsistent
        raise


class RayPool(Pool[Scratch]):
    """A pool whose `map` runs on the cluster.

    `packages` belong to the connection; `done` counts the tasks of each node; `make_scratch` and `threads` as in
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
                stop.set()  # loops may have been cut short there, even if time is not up by the local clock
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
        """Return the results of `function` for `tasks`, in order; `stage`, `progress` and `stop` as in `Pool`."""
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
            stop()  # records that tasks were left out
        return [results[number] for number in sorted(results) if results[number] is not None]
