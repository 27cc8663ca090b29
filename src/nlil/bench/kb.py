"""nlil bench kb: learn and evaluate on knowledge graphs, the paper's figures beside ours."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..progress import Progress
from .record import machine, peak_memory_mb, versions

DATA = ("wn18", "fb15k-237", "family", "kinship", "umls")
QUICK_DATA = ("kin", "kinship")

SETTINGS: Mapping[str, tuple[str, ...]] = {}
"""Settings that differ from the defaults on one data set, `key=value` as in --set."""


def job(data: str, settings: tuple[str, ...], options: Mapping[str, Any], quick: bool) -> dict[str, Any]:
    """What the measuring process is told. `options`: seed, device, threads, memory where the user gave them."""
    chosen = (*SETTINGS.get(data, ()), *(("max_length=2",) if quick else ()), *settings)
    return {"bench": "kb", "data": data, "settings": list(chosen), "options": dict(options), "quick": quick}


def measure(job: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Load, learn, evaluate; seconds of each and the peak memory of all three."""
    from ..data import load_dataset
    from ..engine.device import resolve_device
    from ..evaluation import evaluate
    from ..learning.config import LearnerConfig
    from ..learning.learner import Learner

    config = LearnerConfig().with_settings(job["settings"]).with_values(job["options"], "options")
    begin = time.perf_counter()
    dataset = load_dataset(job["data"], seed=config.seed)
    loaded = time.perf_counter()
    learned = Learner(config).fit(dataset.kb, list(dataset.targets), dataset.splits, progress=progress)
    learnt = time.perf_counter()
    metrics = evaluate(learned.rules, dataset.kb, dataset.splits.test, splits=dataset.splits, split="test",
                       threads=config.threads, memory=config.memory, device=config.device,
                       progress=progress)
    end = time.perf_counter()
    values = metrics.to_dict()
    values.pop("per_predicate", None)
    return {
        "data": job["data"],
        "checksum": dataset.checksum,
        "quick": job["quick"],
        "num_rules": len(learned.rules),
        "partial": learned.partial,
        "metrics": values,
        "seconds": {"load": loaded - begin, "learn": learnt - loaded, "evaluate": end - learnt},
        "peak_memory_mb": peak_memory_mb(),
        "seed": config.seed,
        "config": config.to_dict(),
        "machine": machine(resolve_device(config.device)),
        "versions": versions(),
    }


def key(entry: Mapping[str, Any], job: Mapping[str, Any]) -> str:
    """What tells entries apart: data, device, and every option or setting the user gave."""
    device = "cpu" if entry["machine"]["device"] == "cpu" else "cuda"
    extra = [f"{k}={v}" for k, v in sorted(job["options"].items()) if k != "device"]
    given = [s for s in job["settings"] if s not in SETTINGS.get(job["data"], ())]
    return " ".join([entry["data"], device, *extra, *given, *(["quick"] if entry["quick"] else [])])
