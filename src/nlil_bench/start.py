"""nlil bench start: CPU seconds of small commands on a small run, and the first `nlil demo` without compiled code.

Compiled code is there for the small commands: each runs once before it is measured. For the demo the package is copied
without caches, and the places where compiled code could be kept are empty folders. What a second process compiles for
the demo meanwhile is not among its CPU seconds.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import nlil
from nlil.errors import NlilError
from nlil.progress import Progress

from .registry import Bench, Request
from .results import Entries, Entry, Job, entry_key, machine_text, markdown, measured, source_text

DATA = "kin"
REPEATS, QUICK_REPEATS = 5, 1
"""Runs of each command; the median counts."""
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "rules": ("rules", "{run}", "--target", "uncle", "--top", "5"),
    "predict": ("predict", "{run}", "uncle(?, vera1)"),
    "explain": ("explain", "{run}", "aunt(vera1, kate2)"),
    "inspect": ("inspect", DATA),
}
CACHE_VARIABLES = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
"""What says where compiled code is kept; each gets an empty folder for the demo."""


class Usage(NamedTuple):
    """What one command took: seconds on the clock, seconds of all processors."""

    wall: float
    cpu: float


def job(seed: int, quick: bool) -> dict[str, Any]:
    """What the measuring process is told."""
    return {"bench": "start", "data": DATA, "seed": seed, "quick": quick}


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """Learn, run each command once and then several times, then the demo. With --quick there is no demo."""
    repeats = QUICK_REPEATS if job["quick"] else REPEATS
    seconds: dict[str, dict[str, float]] = {}
    # The process that compiles ahead may still write there when the demo has ended.
    with tempfile.TemporaryDirectory(prefix="nlil-start-", ignore_cleanup_errors=True) as folder:
        bytecode = {"PYTHONPYCACHEPREFIX": str(Path(folder) / "bytecode")}
        run = Path(folder) / "run"
        progress("learn", 0, len(COMMANDS) + 2)
        run_nlil(["learn", DATA, "--out", str(run), "--seed", str(job["seed"]), "--quiet"])
        for done, (name, words) in enumerate(COMMANDS.items(), start=1):
            progress(name, done, len(COMMANDS) + 2)
            given = [word.format(run=run) for word in words]
            usages = [run_nlil(given, bytecode) for _ in range(repeats + 1)][1:]
            seconds[name] = {"cpu": median(u.cpu for u in usages), "wall": median(u.wall for u in usages)}
        if not job["quick"]:
            progress("demo", len(COMMANDS) + 1, len(COMMANDS) + 2)
            seconds["first demo"] = first_demo(Path(folder))._asdict()
    return {"seconds": seconds, "repeats": repeats, "load_average": os.getloadavg()[0]}


def first_demo(folder: Path) -> Usage:
    """`nlil demo` of a copy of the package that has no compiled code, in `folder`."""
    copy = folder / "src"
    source = Path(nlil.__file__).parent
    shutil.copytree(source, copy / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    empty = {name: str(folder / name.lower()) for name in CACHE_VARIABLES}
    return run_nlil(["demo"], {**empty, "PYTHONPATH": str(copy)})


def run_nlil(words: Sequence[str], environment: Mapping[str, str] | None = None) -> Usage:
    """Run `nlil` with these words and wait for its end; `environment` is added to ours."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        begin = time.perf_counter()
        child = subprocess.Popen(
            [sys.executable, "-m", "nlil", *words],
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **(environment or {})},
        )
        _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            errors.seek(0)
            raise NlilError((errors.read().strip().splitlines() or [f"nlil {words[0]} failed"])[-1])
    return Usage(wall, used.ru_utime + used.ru_stime)


def key(entry: Entry, job: Job) -> str:
    """The data set."""
    return entry_key(entry, entry["data"])


def entries(request: Request, data: str) -> Iterator[dict[str, Entry]]:
    """One entry."""
    yield from request.measure_each([job(request.seed, request.quick)], key)


def start_table(entries: Entries) -> str:
    """A row for each command."""
    shown = measured(entries)
    rows = [
        (
            "first `nlil demo`" if name == "first demo" else f"`nlil {name}`",
            f"{used['cpu']:.2f} s",
            f"{used['wall']:.2f} s",
            machine_text(entry["machine"]),
        )
        for entry in shown.values()
        for name, used in entry["seconds"].items()
    ]
    table = markdown(("command", "CPU", "wall", "machine"), rows, right=(1, 2))
    loads = ", ".join(f"{entry['load_average']:.1f}" for entry in shown.values() if "load_average" in entry)
    notes = f"On a run of `{DATA}`, medians; the first demo has no compiled code. Load average: {loads or 'unknown'}."
    return f"{table}\n\n{notes} {source_text('nlil bench start', shown)}" if rows else table


BENCH = Bench(measure, entries, {"start": start_table}, (DATA,), (DATA,), options=frozenset())
