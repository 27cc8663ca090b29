"""How many times as long evaluation takes with soft facts: same base, same rules, same queries.

    python benchmarks/soft_facts.py
    python benchmarks/soft_facts.py --data umls --runs 5 --set top_rules=200

Rules are learned from the crisp base. Then every fact gets a weight near .9, drawn by the seed, and both bases are
evaluated in turn.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from statistics import median

import numpy as np

from nlil.config import LearnerConfig
from nlil.data.facts import Facts
from nlil.datasets import load_dataset
from nlil.evaluation.protocol import evaluate
from nlil.learning.learner import Learner

LOWEST, HIGHEST = 0.85, 0.95
"""Bounds of the weights."""
RUNS = 5


def softened(facts: Facts, seed: int) -> Facts:
    """The same facts, each with a weight between LOWEST and HIGHEST."""
    weight = np.random.default_rng(seed).uniform(LOWEST, HIGHEST, len(facts)).astype(np.float32)
    return Facts(facts.predicate, facts.subject, facts.object, weight)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", default="kin", help="a built-in or catalogue name, or a path (kin)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="one setting of learn")
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N", help=f"runs of each base ({RUNS})")
    parser.add_argument("--queries", type=int, metavar="N", help="at most so many test facts")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="CPU threads; 0: all cores (1)")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    given = parser.parse_args()
    dataset = load_dataset(given.data, seed=given.seed)
    config = LearnerConfig(seed=given.seed, search="count", threads=given.threads).with_settings(given.set)
    rules = Learner(config).fit(dataset.kb, list(dataset.targets), dataset.splits).rules
    kb, splits = dataset.kb, dataset.splits
    context = {split: softened(facts, given.seed) for split, facts in splits.context.items()}
    soft = replace(kb, facts=softened(kb.facts, given.seed)), replace(splits, context=context)
    bases = {"crisp": (kb, splits), "soft": soft}
    seconds: dict[str, list[float]] = {name: [] for name in bases}
    for run in range(given.runs + 1):
        for name, (base, parts) in bases.items():
            begin = time.perf_counter()
            found = evaluate(rules, base, parts.test[: given.queries], splits=parts, threads=given.threads)
            if run:  # the first time is for the compiler
                seconds[name].append(time.perf_counter() - begin)
            else:
                print(f"{name}: {found}")
    a, b = (median(seconds[name]) for name in bases)
    print(f"crisp {a:.3f} s, soft {b:.3f} s (medians of {given.runs}); soft / crisp {b / a:.2f}")


if __name__ == "__main__":
    main()
