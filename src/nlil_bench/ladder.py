"""nlil bench ladder: learn and evaluate generated graphs of 0.3 to 20 million facts; time, memory, rules found.

Each graph is written by `skewed.py` into a temporary folder. Commands run as a user would run them, one after the
other, and are watched from outside. A graph is read once before, so that reading text is not measured.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nlil.errors import ConfigError
from nlil.progress import Progress

from .cells import Panel, PictureLine, draw_panels, machine_text, markdown, measured, share_text, source_text
from .registry import Bench, Request
from .results import Entries, Entry, Job, entry_key, seed_of
from .skewed import Written, write_skewed
from .watched import run_nlil

SIZES = (0.3, 1.0, 3.0, 10.0, 20.0)
"""Millions of facts."""
QUICK_SIZES = (0.02,)
MEMORY = "12GiB"
"""The budget where the user names none."""


def names(request: Request) -> Sequence[str]:
    """The millions of facts that --sizes names, as text."""
    if request.sizes is None:
        return [f"{size:g}" for size in (QUICK_SIZES if request.quick else SIZES)]
    try:
        sizes = [float(word) for word in request.sizes.split(",")]
        if min(sizes) <= 0:
            raise ValueError
    except ValueError:
        raise ConfigError(f"--sizes {request.sizes}: expected millions of facts such as 0.3,1,3") from None
    return [f"{size:g}" for size in sizes]


def jobs(request: Request, size: str) -> list[Job]:
    """One graph."""
    options = {"memory": MEMORY, **request.options}
    return [request.job("ladder", f"{size} million facts", size=float(size), options=options)]


def key(entry: Entry, job: Job) -> str:
    """The size, the settings and the budget."""
    return entry_key(entry, f"{job['size']:g}", *job["settings"], str(job["options"]["memory"]))


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """The figures of one size."""
    from nlil.data.catalog import CACHE_VARIABLE

    with tempfile.TemporaryDirectory(prefix="nlil-ladder-") as folder:
        graph, run = Path(folder) / "graph", Path(folder) / "run"
        written = write_skewed(graph, round(job["size"] * 1e6), seed_of(job))
        environment = {CACHE_VARIABLE: str(Path(folder) / "cache")}
        options = [word for name, value in job["options"].items() for word in (f"--{name}", str(value))]
        settings = [word for setting in job["settings"] for word in ("--set", setting)]
        run_nlil(["inspect", str(graph)], environment)
        learned = run_nlil(["learn", str(graph), "--out", str(run), *settings, *options, "--json"], environment)
        evaluated = run_nlil(["evaluate", str(run), *options, "--json"], environment)
        planned = run_nlil(["plan", str(graph), *settings, *options, "--json"], environment)
        found = planted_found(run, written)
        text = sum(path.stat().st_size for path in graph.glob("*.tsv"))
    told, figures = learned.document, evaluated.document
    return {
        "num_facts": written.train,
        "file_mb": text / 1e6,
        "memory": job["options"]["memory"],
        "num_rules": told["num_rules"],
        "kinds": told["kinds"],
        "partial": told["partial"],
        "notes": told["notes"],
        "planted": len(written.planted),
        "planted_found": found,
        "metrics": {name: figures[name] for name in ("mrr", "hits@1", "hits@10", "num_queries")},
        "planned": planned.document,
        "seconds": {"learn": learned.seconds, "evaluate": evaluated.seconds},
        "cpu_seconds": {"learn": learned.cpu_seconds, "evaluate": evaluated.cpu_seconds},
        "peak_mb": {"learn": learned.peak_mb, "evaluate": evaluated.peak_mb},
        "mapped_mb": {"learn": learned.mapped_mb, "evaluate": evaluated.mapped_mb},
        "load": os.getloadavg()[0],
    }


def planted_found(run: Path, written: Written) -> int:
    """How many of the planted rules a run has, with distinct variables or without."""
    from nlil.learning.run import load_run
    from nlil.logic.parse import parse_rule

    rules = load_run(run).rules
    planted = [parse_rule(text) for text in written.planted]
    return sum(any(len(rules.rows_of(replace(rule, distinct=d))) for d in (True, False)) for rule in planted)


# the table and the picture ---------------------------------------------------------------------------------


def ladder_table(entries: Entries) -> str:
    """A row for each size and budget."""
    shown = measured(entries)
    rows = [
        (
            f"{e['num_facts'] / 1e6:.1f}",
            e["memory"],
            f"{e['seconds']['learn']:,.0f} s",
            f"{e['cpu_seconds']['learn']:,.0f} s",
            f"{e['peak_mb']['learn']:,.0f} MB",
            f"{e['num_rules']:,}",
            f"{e['planted_found']} of {e['planted']}",
            f"{e['seconds']['evaluate']:,.0f} s",
            f"{e['peak_mb']['evaluate']:,.0f} MB",
            share_text(e["metrics"]["mrr"]),
            f"{e['load']:.0f}",
            machine_text(e["machine"]),
        )
        for e in sorted(shown.values(), key=lambda e: (e["num_facts"], e["memory"]))
    ]
    learn = ("learn", "CPU", "peak")
    head = ("million facts", "`--memory`", *learn, "rules", "planted", "evaluate", "peak", "MRR", "load", "machine")
    return markdown(head, rows, range(11), source_text("nlil bench ladder", shown))


PANELS = (("CPU seconds", "cpu_seconds", 1.0), ("peak memory, GB", "peak_mb", 1e-3))


def plot_ladder(entries: Entries, path: Path) -> Path:
    """CPU seconds and peak memory against the number of facts."""
    shown = sorted(entries.values(), key=lambda e: e["num_facts"])
    runs = [(what, memory) for what in ("learn", "evaluate") for memory in sorted({e["memory"] for e in shown})]
    panels = {}
    for label, name, unit in PANELS:
        lines = []
        for number, (what, memory) in enumerate(runs):
            points = [(e["num_facts"] / 1e6, unit * e[name][what]) for e in shown if e["memory"] == memory]
            lines.append(PictureLine(f"{what}, {memory}", points, f"C{number}"))
        panels[label] = Panel(lines, sorted({round(e["num_facts"] / 1e6, 1) for e in shown}), label)
    return draw_panels(path, panels, "million facts", log_y=True)


BENCH = Bench(
    measure,
    {"ladder": ladder_table},
    options=frozenset({"sizes", "set"}),
    names=names,
    jobs=jobs,
    key=key,
    draw=plot_ladder,
)
