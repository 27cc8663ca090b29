"""Fast paths beside the plain code that does the same: the same results, and how many times the CPU time.

    python benchmarks/fast_paths.py [DATA ...]      default: kin:1000

Every row is the sum over the same work, done by both in one process and one thread, compiled before.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from nlil.data.arrays import run_starts
from nlil.data.facts import Facts
from nlil.data.kb import KnowledgeBase
from nlil.datasets import load_dataset
from nlil.exports.rule_columns import RuleColumns, RuleTexts
from nlil.kernel.counting import _count_chain
from nlil.kernel.graph import Graph
from nlil.kernel.hidden import HiddenFact
from nlil.kernel.ruleset import RuleSet
from nlil.kernel.walk import FEW, NO_LIMIT, reach, walk_space
from nlil.logic.parse import parse_program
from nlil.search.chains import ChainCounter
from nlil.search.longer import Proposer, synonyms, unpack
from nlil.search.options import CountingTask, CountOptions
from nlil.search.two_steps import two_step_chains

CHAINS = 60
"""Chains of three steps that are counted."""
MOST_CODES = 100
"""With more step codes, all chains of two steps are too many to count one by one, and those of five to sample."""
LEAST_SECONDS, MOST_SECONDS = 0.5, 5.0
"""Work is repeated until the faster one has taken the first, or the other one the second."""


def compared(name: str, fast: Callable[[], Any], plain: Callable[[], Any], same: Callable[[Any, Any], bool]) -> None:
    """Print the CPU time of both, after one call of each that is not timed, and whether the results are the same."""
    is_same = same(fast(), plain())
    took = [0.0, 0.0]
    repeats = 0
    while min(took) < LEAST_SECONDS and max(took) < MOST_SECONDS:
        for place, work in enumerate((fast, plain)):
            begin = time.process_time()
            work()
            took[place] += time.process_time() - begin
        repeats += 1
    verdict = "" if is_same else "  DIFFERENT RESULTS"
    print(
        f"{name:44} {took[0] / repeats:10.4f} s {took[1] / repeats:10.4f} s {took[1] / took[0]:6.1f}{verdict}",
        flush=True,
    )


def arrays_equal(one: Any, two: Any) -> bool:
    """Return whether two tuples or lists of arrays are the same."""
    return all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def chain_task(kb: KnowledgeBase) -> CountingTask:
    """Return the task of counting all binary targets."""
    binary = np.array([i for i, p in enumerate(kb.predicates) if p.arity == 2], np.int32)
    options = CountOptions(min_support=1, min_confidence=0.0, samples=100)
    return CountingTask.of(kb, Graph.of(kb), binary, options)


def plain_counts(task: CountingTask, steps: np.ndarray) -> list[Any]:
    """Count chains by `walk.reach`: (support, body size, PCA body) of each row of `steps`."""
    space, size = walk_space(task.graph.num_entities, steps.shape[1]), len(task.targets)
    found: list[Any] = []
    for row in steps.astype(np.int64):
        support, pca, lost = np.zeros((3, size), np.int64)
        touched = np.zeros(size, bool)  # distinct variables of two steps or more cannot use the fact itself
        codes = 2 * task.targets.astype(np.int64)
        body = _count_chain(task.graph, space, row, True, task.facts, codes, touched, support, pca, lost)
        found += [support, body, pca]
    return found


def some_chains(task: CountingTask, length: int) -> np.ndarray:
    """Return some chains of `length` steps that occur between the ends of facts."""
    proposer = Proposer(task, length, synonyms(task.graph))
    bodies = [proposer.proposals(target, 40) for target in range(min(len(task.targets), 12))]
    steps = unpack(np.unique(np.concatenate(bodies)), length, task.graph.num_codes)
    steps = steps[np.sort(np.random.default_rng(0).permutation(len(steps))[:CHAINS])]
    return steps[np.lexsort(steps.T)]


def compare_on(name: str) -> None:
    """Print a row for each fast path on the data set `name`."""
    kb = load_dataset(name).kb.crisp
    task = chain_task(kb)
    graph, steps, counter = task.graph, some_chains(task, 3), ChainCounter(task, 3)
    compared(
        f"{name}: count {len(steps)} chains of 3 (chains.py)",
        lambda: [column for row in steps for column in counter.count(row)],
        lambda: plain_counts(task, steps),
        arrays_equal,
    )
    if graph.num_codes <= MOST_CODES:
        pairs = np.indices((graph.num_codes, graph.num_codes)).reshape(2, -1).T.astype(np.int32)
        by_chain = ChainCounter(task, 2)
        compared(
            f"{name}: all chains of 2 (two_steps.py)",
            lambda: two_step_chains(task)[1].sum(axis=1)[1:],
            lambda: np.sum([by_chain.rows(row)[1].sum(axis=1)[1:] for row in pairs], axis=0),
            np.array_equal,
        )
        nothing = HiddenFact(-1, -1, -1, -1, graph.is_unary)
        starts = np.random.default_rng(0).permutation(graph.num_entities)[:200].tolist()
        rows = some_chains(task, 5)[:20].astype(np.int64)

        def walk(few: int) -> list[int]:
            space = walk_space(graph.num_entities, 5, few=few)
            return [reach(graph, space, row, 5, a, True, nothing, NO_LIMIT, -1) for row in rows for a in starts]

        what = f"{name}: walk {len(rows)} chains of 5 (is_needless)"
        compared(what, lambda: walk(FEW), lambda: walk(2**31), np.array_equal)
    facts = replace(kb.facts, weight=None)
    compared(f"{name}: distinct facts (Facts.unique)", facts.unique, lambda: sorted_unique(facts), same_facts)
    rules = task.chain_rules(two_step_chains(task))
    lines = [str(rules.rule(row)) for row in range(min(len(rules), 3000))]
    what = f"{name}: read {len(lines)} rules (RuleTexts)"
    compared(what, lambda: by_texts(lines), lambda: parsed(lines), same_rules)


def sorted_unique(facts: Facts) -> Facts:
    """Return the distinct `facts` by sorting three columns."""
    ordered = facts[np.lexsort((facts.object, facts.subject, facts.predicate))]
    return ordered[run_starts(ordered.predicate, ordered.subject, ordered.object)]


def same_facts(one: Facts, two: Facts) -> bool:
    """Return whether both have the same facts in the same order."""
    return arrays_equal((one.predicate, one.subject, one.object), (two.predicate, two.subject, two.object))


def by_texts(lines: list[str]) -> RuleSet:
    """Read one rule per line, each pattern of a body once."""
    columns = RuleColumns()
    texts = RuleTexts(columns)
    for number, line in enumerate(lines):
        assert texts.add(line, number)
    return columns.rules()


def parsed(lines: list[str]) -> RuleSet:
    """Parse every rule."""
    columns = RuleColumns()
    for rule, number in parse_program("\n".join(lines))[0]:
        columns.add(rule, number)
    return columns.rules()


def same_rules(one: RuleSet, two: RuleSet) -> bool:
    """Return whether both have the same rules in the same order."""
    return len(one) == len(two) and all(str(one.rule(row)) == str(two.rule(row)) for row in range(0, len(one), 50))


def main(names: list[str]) -> None:
    """Print the rows of the data sets `names`."""
    print(f"{'':44} {'fast':>12} {'plain':>12} {'ratio':>6}")
    for name in names:
        compare_on(name)


if __name__ == "__main__":
    main(sys.argv[1:] or ["kin:1000"])
