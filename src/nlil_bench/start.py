"""nlil bench start: CPU seconds of small commands on a small run, and the first `nlil demo` without compiled code.

For the small commands, compiled code exists: each runs once before it is measured. For the demo, the package is copied
without caches, and the folders for compiled code are empty. The CPU seconds of the demo do not include those of the
second process, which compiles for it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import nlil
from nlil.progress import Progress

from .cells import machine_text, markdown, measured, source_text
from .registry import Bench
from .results import Entries, Job, seed_of
from .watched import Watched, run_nlil

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


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """Learn, run each command once and then several times, then the demo. With --quick there is no demo."""
    repeats = QUICK_REPEATS if job["quick"] else REPEATS
    seconds: dict[str, dict[str, float]] = {}
    # The process that compiles ahead may still write there when the demo has ended.
    with tempfile.TemporaryDirectory(prefix="nlil-start-", ignore_cleanup_errors=True) as folder:
        bytecode = {"PYTHONPYCACHEPREFIX": str(Path(folder) / "bytecode"), "PYTHONDONTWRITEBYTECODE": ""}
        run = Path(folder) / "run"
        progress("learn", 0, len(COMMANDS) + 2)
        run_nlil(["learn", DATA, "--out", str(run), "--seed", str(seed_of(job)), "--quiet"])
        for done, (name, words) in enumerate(COMMANDS.items(), start=1):
            progress(name, done, len(COMMANDS) + 2)
            given = [word.format(run=run) for word in words]
            runs = [run_nlil(given, bytecode) for _ in range(repeats + 1)][1:]
            seconds[name] = {"cpu": median(r.cpu_seconds for r in runs), "wall": median(r.seconds for r in runs)}
        if not job["quick"]:
            progress("demo", len(COMMANDS) + 1, len(COMMANDS) + 2)
            demo = first_demo(Path(folder))
            seconds["first demo"] = {"cpu": demo.cpu_seconds, "wall": demo.seconds}
    return {"seconds": seconds, "repeats": repeats, "load_average": os.getloadavg()[0]}


def first_demo(folder: Path) -> Watched:
    """`nlil demo` of a copy of the package that has no compiled code, in `folder`."""
    copy = folder / "src"
    source = Path(nlil.__file__).parent
    shutil.copytree(source, copy / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    empty = {name: str(folder / name.lower()) for name in CACHE_VARIABLES}
    return run_nlil(["demo"], {**empty, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": ""})


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
    loads = ", ".join(f"{entry['load_average']:.1f}" for entry in shown.values() if "load_average" in entry)
    notes = f"On a run of `{DATA}`, medians; the first demo has no compiled code. Load average: {loads or 'unknown'}."
    source = source_text("nlil bench start", shown)
    return markdown(("command", "CPU", "wall", "machine"), rows, (1, 2), f"{notes} {source}")


BENCH = Bench(measure, {"start": start_table}, (DATA,), (DATA,), options=frozenset())
