"""nlil bench check: facts of a graph are replaced by random wrong ones; how many of them does `nlil check` find?

One binary training fact in twenty is replaced by one of the right type that is in no split
(`nlil.evaluation.wrongness`). The rules are learned from the result, without validation facts. Then all binary facts
are ordered.

    nlil             by the probability that they are wrong, as `nlil check` does
    popularity       by how rarely their entities stand at their place of the predicate
    transe, rotate   by the filtered rank of their object and subject (PyKEEN); validation facts, which have no wrong
                     ones among them, decide when to stop
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nlil.errors import NlilError
from nlil.progress import Progress

from .cells import machine_text, markdown, measured, share_text, source_text
from .registry import Bench, Request
from .results import Entries, Entry, Job, job_key, seed_of

if TYPE_CHECKING:
    from nlil.config import LearnerConfig
    from nlil.data.arrays import Doubles, Mask
    from nlil.data.dataset import Dataset
    from nlil.data.facts import Facts

DATA = ("kin:600", "umls", "family", "kinship")
QUICK_DATA = ("kin:100",)
SHARE = 0.05
OURS, POPULARITY, *EMBEDDINGS = METHODS = ("nlil", "popularity", "transe", "rotate")
FIRST = 100
"""Facts at the top whose precision is given."""
COMMAND = "nlil bench check"


def spoilt(dataset: Dataset, seed: int) -> tuple[Dataset, Facts]:
    """The data with one binary training fact in twenty replaced, and the wrong facts; the targets are binary."""
    from nlil.data.facts import Splits
    from nlil.evaluation.wrongness import plant

    random = np.random.default_rng((seed, 20))
    rows = np.flatnonzero(~dataset.kb.facts.is_unary)
    chosen = random.permutation(rows)[: round(SHARE * len(rows))]
    kb, wrong = plant(dataset.kb, chosen, dataset.splits.all(), random)
    splits = Splits(kb.facts, dataset.splits.valid, dataset.splits.test)
    return replace(dataset, kb=kb, splits=splits), wrong


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """Find the planted facts by one method."""
    from nlil.config import LearnerConfig
    from nlil.datasets import load_dataset

    seed, method = seed_of(job), job["method"]
    dataset, wrong = spoilt(load_dataset(job["data"], seed=seed, may_download=False), seed)
    facts = dataset.kb.binary
    begin = time.perf_counter()
    probability = None
    if method == OURS:
        config = LearnerConfig(seed=seed).with_values(dict(job["options"]), "options")
        doubt, probability = by_rules(config, dataset, facts, progress)
    elif method == POPULARITY:
        doubt = by_popularity(facts)
    else:
        doubt = by_embedding(job, dataset, facts, seed, progress)
    seconds = time.perf_counter() - begin
    about = {"method": method, "checksum": dataset.checksum, "facts": len(facts), "planted": len(wrong)}
    return {**about, **figures(doubt, facts.isin(wrong), probability), "seconds": seconds}


def figures(doubt: Doubles, is_wrong: Mask, probability: Doubles | None = None) -> dict[str, float]:
    """What the order by `doubt` finds, and how far off the probabilities `probability` are.

    >>> figures(np.array([0.1, 0.9, 0.3, 0.8]), np.array([False, True, True, False]))
    {'precision': 0.5, 'recall': 0.5}
    """
    order = np.argsort(-doubt, kind="stable")
    top = order[: int(is_wrong.sum())]
    found = {"precision": float(is_wrong[order[:FIRST]].mean()), "recall": float(is_wrong[top].mean())}
    if probability is not None:
        found |= {"mean_said": float(probability[top].mean()), "brier": float(np.mean((probability - is_wrong) ** 2))}
    return found


def by_rules(
    config: LearnerConfig, dataset: Dataset, facts: Facts, progress: Progress
) -> tuple[Doubles, Doubles]:  # fmt: skip
    """The place of each of `facts` in what `nlil check` shows, from the end, and the probability that it is wrong."""
    from nlil.explanation.disputes import doubtful
    from nlil.kernel.aggregation import RESOLUTION
    from nlil.kernel.binding import bind
    from nlil.learning.learner import Learner

    kb = dataset.kb
    targets = [kb.predicates[p] for p in np.unique(facts.predicate).tolist()]
    learned = Learner(config).fit(kb, targets, None, progress)
    cases = doubtful(
        *(bind(learned.rules, kb).rules, kb, None, 0, learned.rules.calibration),
        *(config.seed, config.threads, config.memory, progress),
    )
    place = {case[:3]: i for i, case in enumerate(cases)}
    rows = zip(facts.predicate.tolist(), facts.subject.tolist(), facts.object.tolist())
    places = np.array([place.get(row, len(cases)) for row in rows])
    probability = np.array([max(case.wrong, 0) for case in cases] + [0]) * RESOLUTION
    return -places.astype(np.float64), probability[places]


def by_popularity(facts: Facts) -> Doubles:
    """The negative logarithm of how often subject and object stand in facts of the predicate."""
    total = np.zeros(len(facts))
    for end in (facts.subject, facts.object):
        pairs = np.stack((facts.predicate, end))
        _, number, count = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)
        total -= np.log(count[number.ravel()])
    return total


def by_embedding(job: Job, dataset: Dataset, facts: Facts, seed: int, progress: Progress) -> Doubles:
    """The logarithm of the filtered ranks of both ends."""
    from .baselines import make_baseline
    from .baselines.batch_ranking import batch_ranks
    from .baselines.embeddings import Embedding

    baseline = make_baseline(job["method"], (), dict(job["options"]))
    assert isinstance(baseline, Embedding)
    baseline.fit(dataset, seed, progress)
    ranks = batch_ranks(baseline.scores, facts, dataset.kb.facts, dataset.kb.num_entities, 64)
    total = np.zeros(len(facts))
    np.add.at(total, ranks.fact, np.log(ranks.realistic))
    return total


def jobs(request: Request, data: str) -> Sequence[Job]:
    """One for each method; embeddings only where PyKEEN is installed."""
    from importlib.util import find_spec

    found = []
    for method in METHODS if request.model is None else (request.model,):
        if method in EMBEDDINGS and find_spec("pykeen") is None:
            if request.model is not None:
                raise NlilError(f"{method} needs PyKEEN; install it with: pip install 'nlil[kge]'")
            request.session.note(f"{data}, {method}: not run, since PyKEEN is not installed")
            continue
        found.append(request.job("check", data, method=method))
    return found


def key(entry: Entry, job: Job) -> str:
    """The data set and the method."""
    return job_key(entry, job, entry["data"], entry["method"])


def check_table(entries: Entries) -> str:
    """A row for each data set and method."""
    shown = measured(entries)
    places = {data: place for place, data in enumerate(DATA)}
    order = sorted(
        shown.values(), key=lambda e: (places.get(e["data"], len(DATA)), e["data"], METHODS.index(e["method"]))
    )
    rows = [
        (
            entry["data"],
            entry["method"],
            f"{entry['planted']:,} of {entry['facts']:,}",
            share_text(entry["precision"]),
            share_text(entry["recall"]),
            share_text(entry.get("mean_said")),
            f"{entry['seconds']:.0f} s",
            machine_text(entry["machine"]),
        )
        for entry in order
    ]
    head = ("data", "method", "wrong facts", "precision at 100", "recall", "mean probability", "time", "machine")
    return markdown(
        head,
        rows,
        range(2, 7),
        "Recall: of as many facts at the top as there are wrong ones, the share that is wrong. Mean probability: "
        "the mean predicted probability that these facts are wrong. Time: learning and ordering.",
        source_text(COMMAND, shown),
    )


BENCH = Bench(
    measure,
    {"check": check_table},
    DATA,
    QUICK_DATA,
    options=frozenset({"data", "model"}),
    models=METHODS,
    jobs=jobs,
    key=key,
)
