"""Recursive targets judged by their least fixpoint, in addition to the one-step figures.

Only confident rules take part, and exclusions apply, as in `materialize`. The effort is bounded by counts that are
known before anything is derived: for a large rule set, only its columns are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..data.arrays import Ids, Longs, ranges
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..errors import LimitError, RuleError
from ..kernel.bodies import NO_STEP
from ..kernel.fixpoint import compare_facts, least_fixpoint
from ..kernel.ruleset import RuleSet
from ..logic.predicate import Predicate
from .metrics import decision_figures

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CONFIDENT = 0.95
"""Least standard confidence of a rule that takes part; the default of `materialize`."""

MAX_RULES = 1_000
"""With more rules, no fixpoint is judged."""

MAX_FACTS = 200_000
"""With more derived facts, a fixpoint with binary predicates is not judged. Unary facts are at most the entities."""


@dataclass(frozen=True)
class Judged:
    """Figures of all recursive targets together (`values`) and of each (`per_predicate`).

    `notes` say what was not judged and why.
    """

    values: Mapping[str, float]
    per_predicate: Mapping[str, Mapping[str, float]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Cycle:
    """Mutually recursive `predicates`, and the heads of all rules that they need (`needed`), by id."""

    predicates: Longs
    needed: Longs


def judge_fixpoints(
    rules: RuleSet, kb: KnowledgeBase, known: Facts, requested: Ids, facts: Facts, negatives: Facts | None
) -> Judged:
    """Return fixpoint_precision, fixpoint_recall and fixpoint_f1 of the recursive ones of the `requested` predicates.

    Their facts are removed, and what the rules derive from the rest of `kb` is compared with all `known` facts. With
    `negatives`, also fixpoint_accuracy: the share of the `facts` and negatives of a split that they classify correctly.
    """
    requested = requested[~np.isin(requested, list(kb.classes))]
    confident = np.flatnonzero(rules.confidence >= CONFIDENT) if len(requested) else np.zeros(0, np.int64)
    cycles = list(_cycles(rules, confident, requested))
    if not cycles:
        return Judged({}, {})
    needed = np.unique(np.concatenate([cycle.needed for cycle in cycles]))
    num_rules = int(np.bincount(rules.head[confident], minlength=len(rules.predicates))[needed].sum())
    if num_rules > MAX_RULES:
        note = (
            f"fixpoints not evaluated: {num_rules:,} confident rules are recursive, the limit is {MAX_RULES:,}; "
            "learn fewer, for example with --set constants=off or --set top_rules=20"
        )
        return Judged({}, {}, (note,))
    totals, labelled = np.zeros(3, np.int64), np.zeros(2, np.int64)
    per_predicate: dict[str, dict[str, float]] = {}
    notes = []
    truth = known + kb.facts
    for cycle in cycles:
        names = [kb.predicates[p] for p in cycle.predicates]
        chosen = [rules.rule(int(row)) for row in confident[np.isin(rules.head[confident], cycle.needed)]]
        bound = None if all(rule.target.arity == 1 for rule in chosen) else MAX_FACTS
        try:
            derived = least_fixpoint(kb, chosen, set(names), bound, rules.exclusions)
        except (RuleError, LimitError) as error:
            notes.append(f"fixpoint of {_listed(names)} not evaluated: {error}")
            continue
        if len(names) > 1:
            notes.append(f"fixpoint: {_listed(names)} are mutually recursive, so their facts were removed together")
        for predicate in np.intersect1d(cycle.predicates, requested):
            stats = compare_facts(kb, derived, truth, kb.predicates[predicate])
            counts = (stats.support, stats.body_size, stats.head_size)
            totals += counts
            right = _right(kb, derived, facts, negatives, kb.predicates[predicate])
            labelled += right
            per_predicate[str(kb.predicates[predicate])] = _figures(*counts) | _accuracy(*right)
    values = _figures(*totals.tolist()) | _accuracy(*labelled.tolist()) if per_predicate else {}
    return Judged(values, per_predicate, tuple(notes))


def _right(
    kb: KnowledgeBase, derived: Facts, facts: Facts, negatives: Facts | None, target: Predicate
) -> tuple[int, int]:
    """Return how many facts and negatives of `target` the derived facts are right about, and how many there are."""
    if negatives is None or not len(negatives.of(kb.predicate_id(target))):
        return 0, 0
    good, bad = (compare_facts(kb, derived, part, target) for part in (facts, negatives))
    return good.support + bad.head_size - bad.support, good.head_size + bad.head_size


def _accuracy(right: int, total: int) -> dict[str, float]:
    return {"fixpoint_accuracy": right / total} if total else {}


def _cycles(rules: RuleSet, rows: Longs, requested: Ids) -> Iterator[Cycle]:
    """Yield every cycle of predicates in the rules of these rows that contains a requested predicate."""
    from scipy.sparse.csgraph import breadth_first_order, connected_components  # a quarter of a second

    graph = _dependencies(rules, rows)
    _, component = connected_components(graph, connection="strong")
    is_recursive = (np.bincount(component)[component] > 1) | (graph.diagonal() > 0)
    for label in np.unique(component[requested[is_recursive[requested]]]):
        members = np.flatnonzero(component == label)
        yield Cycle(members, breadth_first_order(graph, members[0], return_predecessors=False))


def _dependencies(rules: RuleSet, rows: Longs) -> csr_array:
    """Return a matrix [head, p], 1 if the body of a rule of `head` uses p."""
    from scipy.sparse import csr_array

    size, bodies = len(rules.predicates), rules.bodies
    # Take distinct (head, body) pairs: many rules share both and differ only in constants.
    pairs = np.unique(rules.head[rows].astype(np.int64) * max(len(bodies), 1) + rules.body[rows])
    head, body = np.divmod(pairs, max(len(bodies), 1))
    count = np.diff(bodies.pointer)[body]
    op = bodies.ops[ranges(bodies.pointer[body], count)]
    head, line = np.repeat(head, count)[op >= 0], op[op >= 0]
    steps = bodies.lines.steps[line].astype(np.int64)
    real = steps != NO_STEP
    # Each pair once and 32 bits wide: with others, the search for components of older scipy fails or never ends.
    uses = np.unique(np.repeat(head, real.sum(axis=1)) * size + (steps[real] >> 1))
    where = [part.astype(np.int32) for part in np.divmod(uses, size)]
    return csr_array((np.ones(len(uses), np.int32), (where[0], where[1])), shape=(size, size))


def _figures(support: int, derived: int, actual: int) -> dict[str, float]:
    return {f"fixpoint_{name}": value for name, value in decision_figures(support, derived, actual).items()}


def _listed(names: list[Predicate], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more
