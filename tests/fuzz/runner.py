"""Runs many inputs in several processes, keeps what was found, and continues where it was stopped."""

from __future__ import annotations

import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from .subjects import SUBJECTS, input_of, write
from .worker import ENVIRONMENT, MAX_SECONDS

CHUNK = 500
"""Inputs that a worker takes at a time, and after which the state is written."""
PER_PROCESS = 40 * CHUNK
"""Inputs after which a process is replaced. It takes several seconds to start, and little remains of an input."""
PATIENCE_S = 1_800.0
"""Seconds on the clock after which a worker that says nothing is ended: it waits for itself. Processor time is limited
to far less, but on a busy machine a process of low priority may wait for minutes."""
KEPT = 3
"""Inputs kept of each finding."""
TESTS, SOURCE = Path(__file__).parents[1], Path(__file__).parents[2] / "src"


@dataclass
class State:
    """What has been run of one seed: the `chunks` that are complete, the `findings`, and the time it took.

    `cpu` is the processor time of the inputs, without that of starting processes.
    """

    seed: int
    chunks: set[int] = field(default_factory=set)
    findings: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    cpu: float = 0.0

    @classmethod
    def at(cls, folder: Path, seed: int) -> State:
        """Read the state in a folder; a new one if there is none of this seed."""
        file = folder / f"seed-{seed}.json"
        if not file.is_file():
            return cls(seed)
        stored = json.loads(file.read_text())
        return cls(**{**stored, "chunks": set(stored["chunks"])})

    def save(self, folder: Path) -> None:
        """Write the state into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        stored = {**self.__dict__, "chunks": sorted(self.chunks)}
        temporary = folder / f"seed-{self.seed}.part"
        temporary.write_text(json.dumps(stored, indent=1))
        temporary.replace(folder / f"seed-{self.seed}.json")

    @property
    def by_place(self) -> Counter[str]:
        """The number of findings by subject, kind and place."""
        return Counter(key_of(one) for one in self.findings)


def key_of(found: dict[str, Any]) -> str:
    """Return the subject, the kind and the place of a finding: one fault has one key."""
    return f"{found['subject']} {found['kind']} {found['where']}"


def fuzz(
    seed: int,
    inputs: int,
    workers: int,
    folder: Path | None,
    say: Callable[[str], None] = print,
    most_seconds: float = float("inf"),
) -> State:
    """Run the first `inputs` inputs of a `seed` that have not been run yet; return the state.

    Args:
        seed: Of the inputs.
        inputs: How many.
        workers: Processes.
        folder: For the state and what is found; None: nothing is stored.
        say: Called with each new finding, and now and then with the progress.
        most_seconds: After this time no more inputs are begun.
    """
    state = State(seed) if folder is None else State.at(folder, seed)
    chunks = [(begin // CHUNK, range(begin, min(begin + CHUNK, inputs))) for begin in range(0, inputs, CHUNK)]
    left: queue.Queue[tuple[int, range]] = queue.Queue()
    for chunk in chunks:
        if chunk[0] not in state.chunks:
            left.put(chunk)
    lock, begun, before, failures = threading.Lock(), time.monotonic(), state.seconds, list[BaseException]()
    for one in SUBJECTS:
        if one.missing:
            say(f"skipped: {one.name}, which needs {', '.join(one.missing)}")

    def note(number: int, found: dict[str, Any]) -> None:
        subject, files = input_of(seed, number)
        found = {"number": number, "subject": subject.name, **found}
        with lock:
            count = state.by_place[key_of(found)]
            state.findings.append(found)
        if count == 0:
            say(f"input {number}: {key_of(found)}\n{found['text'][-800:]}")
        if folder is not None and count < KEPT:
            write(files, folder / "found" / subject.name / str(number))

    def work() -> None:
        process: Process | None = None
        try:
            while not failures and time.monotonic() - begun < most_seconds:
                number, inputs = left.get_nowait()
                unread = list(inputs)
                while unread:
                    if process is not None and process.num_read >= PER_PROCESS:
                        process = process.end()
                    process = process or Process(seed)
                    for cpu, found in process.read(unread):
                        with lock:
                            state.cpu += cpu
                        one = unread.pop(0)
                        if found is not None:
                            note(one, found)
                    if unread:  # an input ended the process
                        process = process.end()
                with lock:
                    if len(inputs) == CHUNK:
                        state.chunks.add(number)
                    state.seconds = before + time.monotonic() - begun
                    if folder is not None:
                        state.save(folder)
                say(f"{number * CHUNK + len(inputs):,} of {inputs_text}")
        except queue.Empty:
            pass
        except BaseException as error:
            failures.append(error)
        finally:
            if process is not None:
                process.end()

    inputs_text = f"{inputs:,} inputs"
    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    state.seconds = before + time.monotonic() - begun
    if folder is not None:
        state.save(folder)
    return state


class Process:
    """A worker (worker.py) for the inputs of a seed."""

    def __init__(self, seed: int) -> None:
        self.num_read = 0
        self._unread = b""
        path = os.pathsep.join([str(SOURCE), str(TESTS), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.worker", str(seed)],
            env={**os.environ, **ENVIRONMENT, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        if self._line() != "ready":
            self.end()
            raise RuntimeError("a worker did not start: a valid input is refused, or it took too long (see above)")

    def read(self, numbers: Sequence[int]) -> Iterator[tuple[float, dict[str, Any] | None]]:
        """Read inputs; yield for each the processor time it took, and what is wrong. One that ends the process is last.

        The worker gets all numbers at once: on a busy machine it would wait longer for each than it works on it.
        """
        self._stdin.write("".join(f"{number}\n" for number in numbers).encode())
        self._stdin.flush()
        for _ in list(numbers):
            self.num_read += 1
            answer = self._line()
            if not answer:
                yield self._last()
                return
            found: dict[str, Any] = json.loads(answer)
            cpu: float = found.pop("cpu")
            yield cpu, found or None

    def _last(self) -> tuple[float, dict[str, Any]]:
        """Return what is wrong with the input that ended the process."""
        code = self._process.wait()
        if code == -signal.SIGPROF:
            return MAX_SECONDS, {"kind": "hang", "where": "", "text": f"more than {MAX_SECONDS} s of processor time"}
        return 0.0, {"kind": "died", "where": f"exit code {code}", "text": ""}

    def end(self) -> None:
        """End the process."""
        self._stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    @property
    def _stdin(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    def _line(self) -> str:
        """Return the next line; "" if the process ends or says nothing for too long."""
        assert self._process.stdout is not None
        while b"\n" not in self._unread:
            if not select.select([self._process.stdout], [], [], PATIENCE_S)[0]:
                self._process.kill()
            more = os.read(self._process.stdout.fileno(), 1 << 16)
            if not more:
                return ""
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode()
