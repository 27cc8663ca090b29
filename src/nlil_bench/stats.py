"""nlil bench stats: the paper's Table 2 (facts, entities, predicates) beside our counts, and for the built-in sets
how many of the rules that were planted in them the search finds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nlil.progress import Progress

from .record import machine, peak_memory_mb, versions

if TYPE_CHECKING:
    from nlil.data import Dataset

DATA = ("even:10", "even:50", "even:1000", "wn18", "fb15k-237", "kin", "street", "gqa")
QUICK_DATA = ("even:10", "even:50", "even:1000", "kin", "street")


def job(data: str, seed: int, quick: bool) -> dict[str, Any]:
    return {"bench": "stats", "data": data, "seed": seed, "quick": quick}


def measure(job: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Counts of one data set; nothing is downloaded for it. `seconds`: reading and counting, then the search."""
    from nlil.datasets import load_dataset, summarise

    begin = time.perf_counter()
    dataset = load_dataset(job["data"], seed=job["seed"], may_download=False)
    summary = summarise(dataset)
    counted = time.perf_counter()
    planted = recovery(dataset, job["seed"]) if dataset.planted else None
    kept = (
        "num_facts",
        "num_entities",
        "num_predicates",
        "num_unary_facts",
        "num_binary_facts",
        "num_graphs",
        "splits",
    )
    return {
        "data": job["data"],
        "quick": job["quick"],
        "checksum": dataset.checksum,
        **{name: getattr(summary, name) for name in kept},
        "planted": planted,
        "seed": job["seed"],
        "seconds": {"load": counted - begin, "learn": time.perf_counter() - counted},
        "peak_memory_mb": peak_memory_mb(),
        "machine": machine(),
        "versions": versions(),
    }


def recovery(dataset: Dataset, seed: int) -> dict[str, int]:
    """How many planted rules are learned, and how many of those hold without exception (confidence 1)."""
    from nlil.learning.config import LearnerConfig
    from nlil.learning.learner import Learner

    # The base case even(X) :- zero(X) explains one fact.
    least = 1 if dataset.name.startswith("even") else LearnerConfig().min_support
    config = LearnerConfig(seed=seed, search="count", min_support=least)
    learned = Learner(config).fit(dataset.kb, dataset.targets, dataset.splits)
    found = {scored.rule: scored.stats for scored in learned.rules}
    stats = [found[rule] for rule in dataset.planted if rule in found]
    exact = sum(s.support == s.body_size for s in stats)
    return {"rules": len(dataset.planted), "found": len(stats), "exact": exact, "min_support": least}


def key(entry: Mapping[str, Any], job: Mapping[str, Any]) -> str:
    return " ".join([entry["data"], *(["quick"] if entry["quick"] else [])])
