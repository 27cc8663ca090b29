"""nlil bench ladder: learn and evaluate generated graphs of 0.3 to 20 million facts; time, memory, rules found.

Each graph is written by `skewed.py` into a temporary folder. Commands run as a user would run them, one after the
other, and are watched from outside. A graph is read once before, so that reading text is not measured.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nlil.errors import ConfigError, NlilError
from nlil.progress import Progress

from .registry import Bench, Request
from .results import Entries, Entry, Job, entry_key, machine_text, markdown, measured, picture, share_text, source_text
from .skewed import Written, write_skewed
from .watched import Watched, watch

SIZES = (0.3, 1.0, 3.0, 10.0, 20.0)
"""Millions of facts."""
QUICK_SIZES = (0.02,)
MEMORY = "12GiB"
"""The budget where the user names none."""


def sizes_of(request: Request) -> tuple[float, ...]:
    """The millions of facts that --sizes names."""
    if request.sizes is None:
        return QUICK_SIZES if request.quick else SIZES
    try:
        sizes = tuple(float(word) for word in request.sizes.split(","))
        if min(sizes) <= 0:
            raise ValueError
    except ValueError:
        raise ConfigError(f"--sizes {request.sizes}: expected millions of facts such as 0.3,1,3") from None
    return sizes


def check(request: Request) -> None:
    """Complain about --sizes before anything runs."""
    sizes_of(request)


def names(request: Request) -> Sequence[str]:
    """The sizes as text."""
    return [f"{size:g}" for size in sizes_of(request)]


def entries(request: Request, size: str) -> Iterator[dict[str, Entry]]:
    """Write a graph, learn, evaluate, throw it away."""
    job: dict[str, Any] = {
        "bench": "ladder",
        "data": f"{size} million facts",
        "size": float(size),
        "quick": request.quick,
    }
    job |= {"options": {"memory": MEMORY, **request.options}, "settings": list(request.settings)}
    entry = request.measure(job)
    yield {entry_key(entry, size, *job["settings"], str(job["options"]["memory"])): entry}


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """The figures of one size."""
    from nlil.data.catalog import CACHE_VARIABLE

    with tempfile.TemporaryDirectory(prefix="nlil-ladder-") as folder:
        graph, run = Path(folder) / "graph", Path(folder) / "run"
        seed = int(job["options"].get("seed", 0))
        written = write_skewed(graph, round(job["size"] * 1e6), seed)
        environment = {CACHE_VARIABLE: str(Path(folder) / "cache")}
        options = [word for name, value in job["options"].items() for word in (f"--{name}", str(value))]
        settings = [word for setting in job["settings"] for word in ("--set", setting)]
        _run(["inspect", str(graph)], environment)
        learned = _run(["learn", str(graph), "--out", str(run), *settings, *options], environment)
        evaluated = _run(["evaluate", str(run), *options], environment)
        planned = _run(["plan", str(graph), *settings, *options], environment)
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


def _run(words: Sequence[str], environment: dict[str, str]) -> Watched:
    """One command of ours with --json; NlilError where it fails."""
    done = watch([sys.executable, "-m", "nlil", *words, "--json"], environment)
    if done.code:
        raise NlilError(f"nlil {words[0]} ended with {done.code}: {done.errors.strip()[-500:]}")
    return done


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
    table = markdown(head, rows, right=range(11))
    return f"{table}\n\n{source_text('nlil bench ladder', shown)}" if rows else table


PANELS = (("CPU seconds", "cpu_seconds", 1.0), ("peak memory, GB", "peak_mb", 1e-3))


def plot_ladder(entries: Entries, path: Path) -> Path:
    """CPU seconds and peak memory against the number of facts."""
    shown = sorted(entries.values(), key=lambda e: e["num_facts"])
    with picture(path, 8.4, 3.6) as figure:
        for place, (label, name, unit) in enumerate(PANELS, start=1):
            axes = figure.add_subplot(1, 2, place)
            for what, marker in (("learn", "o"), ("evaluate", "s")):
                for memory in sorted({e["memory"] for e in shown}):
                    mine = [e for e in shown if e["memory"] == memory]
                    facts, values = [e["num_facts"] for e in mine], [unit * e[name][what] for e in mine]
                    axes.plot(facts, values, marker=marker, markersize=4, label=f"{what}, {memory}")
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xlabel("facts")
            axes.set_ylabel(label)
            axes.grid(alpha=0.3)
            axes.legend(frameon=False, fontsize=8)
    return path


BENCH = Bench(
    measure,
    entries,
    {"ladder": ladder_table},
    options=frozenset({"sizes", "set"}),
    names=names,
    check=check,
    draw=plot_ladder,
)
