"""nlil bench kb: learn and evaluate on knowledge graphs, baselines and the paper's figures beside ours."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from nlil.errors import NlilError
from nlil.progress import Progress

from .record import machine, peak_memory_mb, versions

if TYPE_CHECKING:
    from nlil.evaluation import Metrics

DATA = ("wn18", "fb15k-237", "family", "kinship", "umls")
QUICK_DATA = ("kin", "kinship")
OURS = "nlil"
"""As `nlil learn` has it without further options."""
SEARCHES = ("count", "neural", "both")
"""Models that are ours with one way of searching; all others are baselines."""

SETTINGS: Mapping[str, tuple[str, ...]] = {}
"""Settings that differ from the defaults on one data set, `key=value` as in --set."""
QUICK_SETTINGS: Mapping[str, tuple[str, ...]] = {
    OURS: ("max_length=2",),
    "neural-lp": ("epochs=1",),
    "transe": ("epochs=4", "check_every=2", "dim=50", "negatives=8"),
    "rotate": ("epochs=4", "check_every=2", "dim=50", "negatives=8"),
}
"""To see that it works; given settings come after these."""


def job(
    data: str,
    settings: Sequence[str],
    options: Mapping[str, Any],
    quick: bool,
    model: str = OURS,
    seeds: int = 1,
    split: str = "test",
) -> dict[str, Any]:
    """What the measuring process is told. `options`: seed, device, threads, memory where the user gave them."""
    special = SETTINGS.get(data, ()) if model == OURS else ()
    chosen = (*special, *(QUICK_SETTINGS.get(model, ()) if quick else ()), *settings)
    return {
        "bench": "kb",
        "data": data,
        "model": model,
        "settings": list(chosen),
        "options": dict(options),
        "quick": quick,
        "seeds": seeds,
        "split": split,
        "data_seed": int(options.get("seed", 0)),
    }


def seed_jobs(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One for each seed; the data stay those of the first."""
    if job["seeds"] == 1:
        return [dict(job)]
    return [{**job, "options": {**job["options"], "seed": job["data_seed"] + i}} for i in range(job["seeds"])]


def measure(job: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Load, learn, evaluate; seconds of each and the peak memory of all three."""
    from nlil.datasets import load_dataset

    begin = time.perf_counter()
    dataset = load_dataset(job["data"], seed=job["data_seed"])
    loaded = time.perf_counter()
    run = _ours if job["model"] == OURS else _baseline
    metrics, learnt, end, about = run(dataset, job, progress)
    if not metrics.num_queries:
        raise NlilError(f"expected {job['split']} facts to ask about, found none; choose another split or another set")
    values = metrics.to_dict()
    values.pop("per_predicate", None)
    return {
        "data": job["data"],
        "model": job["model"],
        "split": job["split"],
        "checksum": dataset.checksum,
        "quick": job["quick"],
        "metrics": values,
        "seconds": {"load": loaded - begin, "learn": learnt - loaded, "evaluate": end - learnt},
        "peak_memory_mb": peak_memory_mb(),
        **about,
    }


Outcome = tuple["Metrics", float, float, dict[str, Any]]
"""Figures, when learning and evaluation ended, what else the entry should say."""


def _ours(dataset: Any, job: Mapping[str, Any], progress: Progress) -> Outcome:
    from nlil.evaluation import evaluate
    from nlil.kernel.device import resolve_device
    from nlil.learning.calibrating import measured_calibration
    from nlil.learning.config import LearnerConfig
    from nlil.learning.learner import Learner

    config = LearnerConfig().with_settings(job["settings"]).with_values(job["options"], "options")
    learned = Learner(config).fit(dataset.kb, list(dataset.targets), dataset.splits, progress=progress)
    learnt = time.perf_counter()
    metrics = evaluate(
        learned.rules,
        dataset.kb,
        dataset.splits[job["split"]],
        splits=dataset.splits,
        split=job["split"],
        threads=config.threads,
        memory=config.memory,
        device=config.device,
        progress=progress,
    )
    end = time.perf_counter()
    figures = measured_calibration(
        learned.rules, dataset, job["split"], config.seed, config.threads, config.memory, progress
    )
    about = {
        "calibration": figures,
        "num_rules": len(learned.rules),
        "partial": learned.partial,
        "seed": config.seed,
        "config": config.to_dict(),
        "machine": machine(resolve_device(config.device)),
        "versions": versions(),
    }
    return metrics, learnt, end, about


def _baseline(dataset: Any, job: Mapping[str, Any], progress: Progress) -> Outcome:
    """On a GPU where there is one, unless told otherwise, as ours."""
    from dataclasses import asdict
    from importlib.metadata import version

    from nlil.kernel.device import resolve_device

    from .baselines import make_baseline

    made = make_baseline(job["model"], job["settings"], {"device": "auto", **job["options"]})
    seed = int(job["options"].get("seed", 0))
    made.fit(dataset, seed, progress)
    learnt = time.perf_counter()
    metrics = made.evaluate(job["split"], progress)
    end = time.perf_counter()
    about = {
        "num_rules": 0,
        "partial": False,
        "seed": seed,
        "config": asdict(made.settings),
        "machine": machine(resolve_device(getattr(made.settings, "device", "cpu"))),
        "versions": {**versions(), **{package: version(package) for package in made.packages}},
    }
    return metrics, learnt, end, about


def combined(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
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
    kept = ("seed", "metrics", "seconds", "peak_memory_mb", "num_rules")
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
        "runs": [{name: e[name] for name in kept} for e in entries],
    }


def key(entry: Mapping[str, Any], job: Mapping[str, Any]) -> str:
    """What tells entries apart: data, device, model, seeds, split, and every option or setting the user gave."""
    device = "cpu" if entry["machine"]["device"] == "cpu" else "cuda"
    model = [] if entry["model"] == OURS else [f"model={entry['model']}"]
    seeds = [] if job["seeds"] == 1 else [f"seeds={job['seeds']}"]
    split = [] if job["split"] == "test" else [f"split={job['split']}"]
    extra = [f"{k}={v}" for k, v in sorted(job["options"].items()) if k != "device"]
    given = [s for s in job["settings"] if s not in SETTINGS.get(job["data"], ())]
    return " ".join(
        [entry["data"], device, *model, *seeds, *split, *extra, *given, *(["quick"] if entry["quick"] else [])]
    )
