"""nlil bench speed: how long learning takes, the paper's method beside Neural-LP, one thread of the CPU, in one run.

Ours is all of learning: paths, training, reading, exact counting. On a set of many targets a sample of them is learned
and the seconds are scaled by their number. Neural-LP has the settings of its authors; one epoch is scaled up from a
sample of its queries and counted as often as it has epochs. Reading the facts counts for neither, compiling neither.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from nlil.progress import Progress

from .record import machine, peak_memory_mb, versions

if TYPE_CHECKING:
    from nlil.data import Dataset
    from nlil.learning.config import LearnerConfig
    from nlil.logic.predicate import Predicate

DATA = ("fb15k-237", "wn18")
QUICK_DATA = ("wn18",)
OURS, CHAINS = "nlil", "neural-lp"
SETTINGS = ("preset=paper", "top_rules=1")
MOST_TARGETS = 20
"""A set of more is measured on a sample of them."""
SAMPLE, QUICK_SAMPLE = 8, 2
QUERIES, QUICK_QUERIES = 4096, 128
"""Of Neural-LP's epoch; they cost very different amounts, so a few say little."""
COMPILED_ON, COMPILED_TARGETS = "kin", 4


def jobs(data: str, seed: int, quick: bool) -> list[dict[str, Any]]:
    """One for each model; their figures are compared, so they belong together."""
    return [{"bench": "speed", "data": data, "model": model, "seed": seed, "quick": quick} for model in (OURS, CHAINS)]


def measure(job: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """One model on one set."""
    from nlil.datasets import load_dataset

    dataset = load_dataset(job["data"])
    timed = _ours if job["model"] == OURS else _neural_lp
    found = timed(dataset, job, progress)
    return {
        "data": job["data"],
        "model": job["model"],
        "quick": job["quick"],
        "checksum": dataset.checksum,
        **found,
        "seed": job["seed"],
        "peak_memory_mb": peak_memory_mb(),
        "machine": machine(),
        "versions": versions(),
    }


def _ours(dataset: Dataset, job: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from nlil.kernel.threads import one_torch_thread
    from nlil.learning.learner import Learner

    config = learner_config(job["seed"])
    targets = sampled(dataset.targets, job["seed"], job["quick"])
    with one_torch_thread():
        _compile(config)
        begin = time.perf_counter()
        learned = Learner(config).fit(dataset.kb, targets, dataset.splits, progress=progress)
        seconds = time.perf_counter() - begin
    return {
        "targets": len(dataset.targets),
        "measured": len(targets),
        "sample": [str(t) for t in targets],
        "num_rules": len(learned.rules),
        "config": config.to_dict(),
        "seconds": {"measured": seconds, "learn": seconds * len(dataset.targets) / len(targets)},
    }


def learner_config(seed: int) -> LearnerConfig:
    from nlil.learning.config import LearnerConfig

    return LearnerConfig().with_settings((*SETTINGS, "threads=1", "device=cpu", f"seed={seed}"))


def sampled(targets: tuple[Predicate, ...], seed: int, quick: bool) -> list[Predicate]:
    """All of a few targets; of many a random sample, in their own order."""
    size = QUICK_SAMPLE if quick else len(targets) if len(targets) <= MOST_TARGETS else SAMPLE
    size = min(size, len(targets))
    chosen = np.random.default_rng(seed).choice(len(targets), size, replace=False)
    return [targets[i] for i in sorted(chosen.tolist())]


def _compile(config: LearnerConfig) -> None:
    """Learn something small first, with rules to count: scaled up, the compiler's seconds would count many times."""
    from nlil.datasets import load_dataset
    from nlil.learning.learner import Learner

    small = load_dataset(COMPILED_ON)
    Learner(config.with_values({"epochs": 1})).fit(small.kb, small.targets[:COMPILED_TARGETS], small.splits)


def _neural_lp(dataset: Dataset, job: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from .baselines.neural_lp import NeuralLP, chain_epoch_seconds

    settings = NeuralLP(seed=job["seed"])
    progress("neural-lp, one epoch", 0, 1)
    epoch = chain_epoch_seconds(
        dataset.kb,
        dataset.targets,
        settings.steps,
        seed=settings.seed,
        queries=QUICK_QUERIES if job["quick"] else QUERIES,
    )
    return {
        "queries": epoch.queries,
        "measured": epoch.measured,
        "config": asdict(settings),
        "seconds": {
            "measured": epoch.seconds * epoch.measured / max(epoch.queries, 1),
            "epoch": epoch.seconds,
            "learn": epoch.seconds * settings.epochs,
        },
    }


def key(entry: Mapping[str, Any]) -> str:
    return " ".join([entry["data"], entry["model"], *(["quick"] if entry["quick"] else [])])
