"""nlil bench folds: learning with and without a validation file, on random splits of a set's training facts.

A tenth of the training facts is for validation and a tenth for testing. The rules are learned from the rest, with the
validation facts, without them (training facts are held out in their place), and with neither. All
facts of the set are filtered. The original test facts of the set are measured too: if the set did not choose them at
random, they differ from facts that are held out at random.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from nlil.progress import Progress

from .cells import markdown, measured, share_text, source_text
from .registry import Bench, Request
from .results import Entries, Entry, Job, job_key

if TYPE_CHECKING:
    from nlil.data.dataset import Dataset
    from nlil.data.facts import Splits
    from nlil.data.kb import KnowledgeBase
    from nlil.learning.run import Learned

DATA = ("family", "umls", "kinship", "wn18", "fb15k-237")
QUICK_DATA = ("kin",)
PART = 10
"""One in so many facts is for validation, and one for testing."""
WAYS: Mapping[str, str] = {
    "given": "validation facts",
    "held_out": "none: training facts held out",
    "nothing": "none, hold_out=0",
}
"""What is chosen by: key in an entry -> in words."""
COMMAND = "nlil bench folds --data DATA --seeds N"


def random_split(dataset: Dataset, seed: int) -> tuple[KnowledgeBase, Splits]:
    """The training facts cut in three."""
    from nlil.data.facts import Splits

    facts = dataset.kb.facts
    order = np.random.default_rng((seed, 99)).permutation(len(facts))
    size = len(facts) // PART
    test, valid, train = (facts[np.sort(rows)] for rows in np.split(order, [size, 2 * size]))
    return dataset.kb.with_facts(train), Splits(train, valid, test)


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """MRR on test facts, the estimate and the seconds, for each of WAYS."""
    from nlil.config import LearnerConfig
    from nlil.data.facts import Splits
    from nlil.datasets import load_dataset
    from nlil.evaluation.protocol import evaluate
    from nlil.learning.learner import Learner

    dataset = load_dataset(job["data"])
    seed = job["split_seed"]
    kb, splits = random_split(dataset, seed) if seed else (dataset.kb, dataset.splits)
    everything = Splits(splits.train + dataset.splits.all(), splits.valid, splits.test)
    config = LearnerConfig().with_values(dict(job["options"]), "options")
    found: dict[str, dict[str, Any]] = {}
    for way in WAYS:
        own_config = config.with_values({"hold_out": 0.0}) if way == "nothing" else config
        began = time.perf_counter()
        learned = Learner(own_config).fit(
            kb, list(dataset.targets), splits if way == "given" else None, progress=progress
        )
        seconds = time.perf_counter() - began
        budget: dict[str, Any] = {"threads": own_config.threads, "memory": own_config.memory}
        metrics = evaluate(learned.rules, kb, splits.test, splits=everything, progress=progress, **budget)
        found[way] = {"mrr": metrics["mrr"], "hits@10": metrics["hits@10"], "seconds": seconds} | estimated(learned)
    return {"split_seed": seed, "ways": found}


def estimated(learned: Learned) -> dict[str, float]:
    """What `learn` expects, where it does."""
    return {} if learned.estimate is None else {"estimate": learned.estimate.figures["mrr"]}


def jobs(request: Request, data: str) -> list[Job]:
    """The set's own split (seed 0), then so many random splits of its training facts."""
    return [request.job("folds", data, split_seed=seed) for seed in range(request.seeds + 1)]


def key(entry: Entry, job: Job) -> str:
    """The data set and the split."""
    return job_key(entry, job, entry["data"], f"split={job['split_seed']}" if job["split_seed"] else "own")


def folds_table(entries: Entries) -> str:
    """MRR by what was chosen by, on random splits and on the set's own test facts."""
    shown = measured(entries)
    lines = []
    for data in sorted({entry["data"] for entry in shown.values()}):
        of_data = [entry for entry in shown.values() if entry["data"] == data]
        for is_own in (False, True):
            some = [entry["ways"] for entry in of_data if (entry["split_seed"] == 0) is is_own]
            if some:
                split = "own test facts" if is_own else f"{len(some)} random"
                lines.append((data, split, *cells(some)))
    head = ("data", "split", *WAYS.values(), "held out - given", "time, held out / given")
    return markdown(head, lines, range(2, len(head)), source_text(COMMAND, shown))


def cells(splits: list[Mapping[str, Any]]) -> list[str]:
    """The figures of one line: means over the splits."""
    means = [share_text(mean(ways[way]["mrr"] for ways in splits)) for way in WAYS]
    differences = [ways["held_out"]["mrr"] - ways["given"]["mrr"] for ways in splits]
    error = f" ± {stdev(differences) / len(splits) ** 0.5:.4f}" if len(splits) > 1 else ""
    times = mean(ways["held_out"]["seconds"] / ways["given"]["seconds"] for ways in splits)
    return [*means, f"{mean(differences):+.4f}{error}", f"{times:.1f}"]


BENCH = Bench(
    measure, {"folds": folds_table}, DATA, QUICK_DATA, options=frozenset({"data", "seeds"}), jobs=jobs, key=key
)
