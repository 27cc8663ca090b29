"""Several seeds as one entry: every seed is measured in a process of its own, figures are means with their spread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import mean, stdev
from typing import Any

from .registry import Request
from .results import Entry, Job, seed_of

EACH = ("seed", "metrics", "seconds", "peak_memory_mb", "num_rules")
"""What is kept of every seed."""


def over_seeds(
    jobs: Callable[[Request, str], Sequence[Job]], key: Callable[[Entry, Job], str]
) -> Callable[[Request, str], Iterator[dict[str, Entry]]]:
    """Return the `entries` of a bench (see `Bench`) that measures every job with all seeds of the request.

    Args:
        jobs: The jobs of one data set; `seeds` of a job says how many.
        key: The key of an entry and its job.
    """

    def entries(request: Request, data: str) -> Iterator[dict[str, Entry]]:
        for job in jobs(request, data):
            entry = combined([request.measure(part) for part in seed_jobs(job)])
            yield {key(entry, job): entry}

    return entries


def seed_jobs(job: Job) -> list[Job]:
    """One for each seed, from the one that the user gave."""
    if job["seeds"] == 1:
        return [job]
    said = f"{job['note']}, " if "note" in job else ""
    return [
        {
            **job,
            "options": {**job["options"], "seed": seed_of(job) + i},
            "note": f"{said}{i + 1} of {job['seeds']} seeds",
        }
        for i in range(job["seeds"])
    ]


def seeds_word(job: Job) -> str:
    """Return the word of a key that tells several seeds from one."""
    return f"seeds={job['seeds']}" * (job["seeds"] > 1)


def combined(entries: Sequence[Entry]) -> dict[str, Any]:
    """One entry for several seeds: means, and the sample standard deviation of each figure; the most memory."""
    first = dict(entries[0])
    if len(entries) == 1:
        return first
    numbers = [
        name
        for name, value in first["metrics"].items()
        if isinstance(value, float) and all(isinstance(e["metrics"].get(name), float) for e in entries)
    ]
    means = {name: mean(e["metrics"][name] for e in entries) for name in numbers}
    if "calibration" in first:
        first["calibration"] = {name: mean(e["calibration"][name] for e in entries) for name in first["calibration"]}
    return {
        **first,
        "metrics": {**first["metrics"], **means},
        "deviation": {name: stdev(e["metrics"][name] for e in entries) for name in numbers},
        "seconds": {part: mean(e["seconds"][part] for e in entries) for part in first["seconds"]},
        "peak_memory_mb": max(e["peak_memory_mb"] for e in entries),
        "num_rules": round(mean(e["num_rules"] for e in entries)),
        "partial": any(e["partial"] for e in entries),
        "seeds": [e["seed"] for e in entries],
        "runs": [{name: e[name] for name in EACH} for e in entries],
    }
