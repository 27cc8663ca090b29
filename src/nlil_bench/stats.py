"""nlil bench stats: the paper's Table 2 (facts, entities, predicates) and nlil's counts, and for the built-in sets
how many of the planted rules the search finds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nlil.progress import Progress

from .cells import markdown, measured, source_text
from .methods import learn
from .published import TABLE_2
from .registry import Bench
from .results import Entries, Job, seed_of

if TYPE_CHECKING:
    from nlil.data.dataset import Dataset
    from nlil.kernel.evaluator import Evaluator
    from nlil.logic.rule import Rule

DATA = ("even:10", "even:50", "even:1000", "wn18", "fb15k-237", "kin", "street", "gqa")
QUICK_DATA = ("even:10", "even:50", "even:1000", "kin", "street")
COUNTS = (
    "num_facts",
    "num_entities",
    "num_predicates",
    "num_unary_facts",
    "num_binary_facts",
    "num_graphs",
    "splits",
)


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """Counts of one data set; nothing is downloaded for it. `seconds`: reading and counting, then the search."""
    from nlil.datasets import load_dataset, summarise

    begin = time.perf_counter()
    dataset = load_dataset(job["data"], seed=seed_of(job), may_download=False)
    summary = summarise(dataset)
    counted = time.perf_counter()
    return {
        "checksum": dataset.checksum,
        **{name: getattr(summary, name) for name in COUNTS},
        "planted": planted_counts(dataset, seed_of(job)) if dataset.planted else None,
        "seconds": {"load": counted - begin, "learn": time.perf_counter() - counted},
    }


def planted_counts(dataset: Dataset, seed: int) -> dict[str, int]:
    """How many planted rules are learned, and how many of those hold without exception (confidence 1).

    A rule may lack parts whose removal changes no count: in `street` only bicycles are ridden.
    """
    from nlil.config import LearnerConfig
    from nlil.kernel.evaluator import Evaluator

    # The base case even(X) :- zero(X) explains one fact.
    min_support = 1 if dataset.name.startswith("even") else LearnerConfig().min_support
    config = LearnerConfig(seed=seed, search="count", min_support=min_support)
    learned, _ = learn(config, dataset)
    found = {scored.rule: scored.stats for scored in learned.rules}
    evaluator = Evaluator(dataset.kb)
    learned_as = [next((r for r in lean(evaluator, rule) if r in found), None) for rule in dataset.planted]
    stats = [found[rule] for rule in learned_as if rule is not None]
    exact = sum(s.support == s.body_size for s in stats)
    return {"rules": len(dataset.planted), "found": len(stats), "exact": exact, "min_support": min_support}


def lean(evaluator: Evaluator, rule: Rule) -> Iterator[Rule]:
    """Yield the rule, and what is left of it without parts whose removal changes no count."""
    from nlil.kernel.statistics import rule_stats
    from nlil.logic.parts import removals

    counts = rule_stats(evaluator, rule)
    waiting = [rule]
    while waiting:
        one = waiting.pop()
        yield one
        shorter = (replace(one, body=rest) for _, rest in removals(one.body, atoms=True))
        waiting += [left for left in shorter if rule_stats(evaluator, left) == counts]


def stats_table(entries: Entries) -> str:
    """Our counts, then those of the paper."""
    shown = measured(entries)
    found = {entry["data"]: entry for entry in shown.values()}
    rows = []
    for data in (*TABLE_2, *sorted(set(found) - set(TABLE_2))):
        if data not in found:
            continue
        name, *paper = TABLE_2.get(data, ("", "", "", ""))
        ours = [f"{found[data][column]:,}" for column in COUNTS[:3]]
        planted = found[data].get("planted")
        recovered = "" if not planted else f"{planted['found']} of {planted['rules']}, {planted['exact']} exact"
        rows.append((data, *ours, name, *paper, recovered))
    counts = ("facts", "entities", "predicates")
    head = ("data", *counts, "in the paper", *counts, "planted rules found")
    return markdown(head, rows, (1, 2, 3, 5, 6, 7), source_text("nlil bench stats", shown))


BENCH = Bench(measure, {"stats": stats_table}, DATA, QUICK_DATA)
