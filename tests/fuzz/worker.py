"""A process that reads inputs one after the other, and says which one it is reading.

    python -m fuzz.worker SEED        numbers on stdin, one per line; on stdout "ready", then a line of JSON for each
                                      number: the processor time that it took (`cpu`), and the finding if there is one

An input that takes more than MAX_SECONDS of processor time ends the process (SIGPROF), also inside compiled code; one
that takes more than MAX_BYTES of memory, beyond what the process had before it, gets a MemoryError.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

MAX_SECONDS = 5.0
MAX_BYTES = 2**30
MEMORY = "/dev/shm"
"""Where inputs are written if it exists: a file system in memory."""
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MPLBACKEND": "Agg",
}
"""Threads and allocators that would reserve address space, which counts as memory here."""


def finding(files: dict[str, bytes], read: Any, folder: Path) -> dict[str, Any] | None:
    """Read one input in an empty folder; return what is wrong, None if nothing is."""
    from nlil.errors import MAX_MESSAGE, UNSAFE, NlilError

    from .subjects import write

    write(files, folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read(folder)
    except NlilError as error:
        if len(str(error)) > MAX_MESSAGE + 200 or UNSAFE.search(str(error)):
            return {"kind": "message", "where": place_of(error), "text": str(error)[:500]}
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:  # the command line makes a sentence of it
            return None
        return {"kind": type(error).__name__, "where": place_of(error), "text": traceback.format_exc()[-3_000:]}
    return None


def place_of(error: BaseException) -> str:
    """Return the last line of our own code in the traceback of an error."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if f"{os.sep}nlil{os.sep}" in frame.filename] or frames
    return f"{own[-1].filename.rpartition(f'nlil{os.sep}')[2]}:{own[-1].name}"


def limit_memory() -> None:
    """Allow this process MAX_BYTES more than it has, where the system says how much that is."""
    try:
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (size + MAX_BYTES, resource.RLIM_INFINITY))


def main() -> None:
    """Read the numbers of inputs until stdin ends."""
    from .subjects import input_of, present_subjects

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    seed = int(sys.argv[1])
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as place:
        tempfile.tempdir = place
        os.environ["NLIL_CACHE"] = str(Path(place) / "cache")
        for subject in present_subjects():  # imports, compiled code, and the valid inputs, before the limits apply
            for number, files in enumerate(subject.seeds()):
                folder = Path(place) / f"seed-{subject.name}-{number}"
                folder.mkdir()
                found = finding(files, subject.read, folder)
                if found is not None:
                    print(json.dumps({**found, "subject": subject.name, "seed": number}), file=sys.stderr)
                    sys.exit(1)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        print("ready", file=answers, flush=True)
        for line in sys.stdin:
            begun = time.process_time()
            subject, files = input_of(seed, int(line))
            with tempfile.TemporaryDirectory() as folder:
                limit_memory()
                signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
                found = finding(files, subject.read, Path(folder))
                signal.setitimer(signal.ITIMER_PROF, 0)
            answer = {"cpu": round(time.process_time() - begun, 4), **(found or {})}
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
