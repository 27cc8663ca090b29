"""nlil bench speed: the learning time of the paper's method and of Neural-LP, on one CPU thread, in one run.

For nlil, all of learning is timed: paths, training, extraction, exact counting. On a set of many targets, a sample of
them is learned and the time is scaled by their number. Neural-LP has the settings of its authors; one epoch is scaled
up from a sample of its queries and multiplied by the number of epochs. Reading facts and compiling do not count for
either.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from nlil.progress import Progress

from .cells import NOT_MEASURED, machine_text, markdown, measured, source_text
from .published import KB
from .registry import Bench, Request
from .results import Entries, Entry, Job, entry_key, seed_of

if TYPE_CHECKING:
    from nlil.config import LearnerConfig
    from nlil.data.dataset import Dataset
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


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """One model on one set."""
    from nlil.datasets import load_dataset

    dataset = load_dataset(job["data"])
    timed = _ours if job["model"] == OURS else _neural_lp
    return {"model": job["model"], "checksum": dataset.checksum, **timed(dataset, job, progress)}


def _ours(dataset: Dataset, job: Job, progress: Progress) -> dict[str, Any]:
    from nlil.kernel.threads import one_torch_thread
    from nlil.learning.learner import Learner

    config = learner_config(seed_of(job))
    targets = sampled(dataset.targets, config.seed, job["quick"])
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
    from nlil.config import LearnerConfig

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


def _neural_lp(dataset: Dataset, job: Job, progress: Progress) -> dict[str, Any]:
    from .baselines.neural_lp import NeuralLP, chain_epoch_seconds

    settings = NeuralLP(seed=seed_of(job))
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


def key(entry: Entry) -> str:
    """Data and model."""
    return entry_key(entry, entry["data"], entry["model"])


def entries(request: Request, data: str) -> Iterator[dict[str, Entry]]:
    """Both models as one group: their figures are compared."""
    found = [request.measure(request.job("speed", data, model=model)) for model in (OURS, CHAINS)]
    yield {key(entry): entry for entry in found}


# the table ------------------------------------------------------------------------------------------------


def speed_table(entries: Entries) -> str:
    """Seconds of learning, how many times longer Neural-LP takes, and below what was scaled up."""
    shown = measured(entries)
    found = {(entry["data"], entry["model"]): entry for entry in shown.values()}
    sets = [
        data
        for data in dict.fromkeys((*DATA, *sorted(data for data, _ in found)))
        if (data, OURS) in found and (data, CHAINS) in found
    ]
    pairs = {data: (found[data, OURS], found[data, CHAINS]) for data in sets}
    if not pairs:
        return NOT_MEASURED
    rows = [
        (
            data,
            *(f"{entry['seconds']['learn']:,.0f} s" for entry in pair),
            _times(pair[1]["seconds"]["learn"] / pair[0]["seconds"]["learn"]),
            _published_times(data),
            machine_text(pair[0]["machine"]),
        )
        for data, pair in pairs.items()
    ]
    head = ("data", "**nlil**", "Neural-LP, our code", "Neural-LP / nlil", "in the paper", "machine")
    return markdown(head, rows, range(1, 5), _assumptions(pairs), source_text("nlil bench speed", shown))


def _assumptions(pairs: Mapping[str, Sequence[Entry]]) -> str:
    ours, chains = (entry["config"] for entry in next(iter(pairs.values())))
    targets = "; ".join(f"{data}: {entry['measured']:,} of {entry['targets']:,}" for data, (entry, _) in pairs.items())
    queries = "; ".join(f"{data}: {entry['measured']:,} of {entry['queries']:,}" for data, (_, entry) in pairs.items())
    return (
        f"One CPU thread, both in one run. nlil: `{' '.join(SETTINGS)}`, all of learning, scaled up by the "
        f"number of targets from a random sample ({targets}). Neural-LP: chains of length {chains['steps']}, rank "
        f"{chains['rank']}; one epoch, scaled up from a random sample of its queries ({queries}), times "
        f"{chains['epochs']} epochs. nlil trains on at most {ours['positives']} facts of each target, Neural-LP on "
        "all of them. This table compares time only; the table of all rows has the quality of the rules."
    )


def _times(ratio: float) -> str:
    """
    >>> _times(0.0512), _times(3.05), _times(1234.5)
    ('0.051', '3', '1,234')
    """
    return f"{ratio:.2g}" if ratio < 10 else f"{ratio:,.0f}"


def _published_times(data: str) -> str:
    """The quotient of the minutes in the paper's Table 1."""
    taken = {published.method: published.minutes for published in KB.get(data, ())}
    ours, chains = taken.get("NLIL, the paper"), taken.get("Neural-LP")
    return _times(chains / ours) if ours and chains else ""


BENCH = Bench(measure, {"speed": speed_table}, DATA, QUICK_DATA, entries=entries)
