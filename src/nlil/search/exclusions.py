"""Exclusions: pairs of relations that never hold together though chance would have them meet.

For a binary target p and a step code c, with out and in the numbers of objects and of subjects that p has:

    together(p, c)  pairs (x, y) with p(x, y) and an edge c from x to y
    expected(p, c)  sum over the edges c from x to y of out(x) * in(y) / |p|

The latter is the configuration model: what `together` would be on average if every subject of p kept its number of
objects and every object its number of subjects, and they were paired at random. An exclusion is expected to meet
at least once and never does, neither in the training facts nor between a validation fact of p and a training fact.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

import numpy as np

from ..data.arrays import Ids, Longs
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..kernel.compiled import SmallWork, compiled
from ..kernel.exclusion import Exclusion
from ..kernel.graph import Graph, span_edges
from ..logic.predicate import Predicate, Step
from ..progress import Stop


def find_exclusions(
    kb: KnowledgeBase,
    targets: Iterable[int],
    valid: Facts | None = None,
    least_expected: float = 1.0,
    allowed: Container[int] | None = None,
    stop: Stop | None = None,
) -> tuple[Exclusion, ...]:
    """Find the exclusions of the targets: target by target, those that chance speaks most against first.

    `valid` facts veto, `allowed` predicate ids are those whose facts may exclude (None: all). Where chance would have
    two relations meet less than `least_expected` times, nothing is concluded. Targets that come after a `stop` have
    none.
    """
    meetings = _Meetings(kb)
    vetoes = Facts.empty() if valid is None else valid.crisp()
    found: list[Exclusion] = []
    for target in dict.fromkeys(int(t) for t in targets):
        if stop is not None and stop():
            break
        if kb.predicates[target].arity != 2:
            continue
        size, together, chance = meetings.of(target)
        apart = (together + meetings.with_facts(vetoes.of(target)) == 0) & (chance > 0)
        apart &= chance >= least_expected * size  # p itself is never among them: each of its facts meets itself
        for code in sorted(np.flatnonzero(apart).tolist(), key=lambda code: (-chance[code], code)):
            if allowed is None or code >> 1 in allowed:
                found.append(Exclusion(kb.predicates[target], kb.step(code), int(chance[code]) / size, size))
    return tuple(found)


def count_exclusions(kb: KnowledgeBase, denials: Iterable[tuple[Predicate, Step]]) -> tuple[Exclusion, ...]:
    """Return what a person denies, each of `denials` once, with what the facts of `kb` say about it."""
    meetings = _Meetings(kb)
    counts: dict[int, tuple[int, Longs, Longs]] = {}
    found = []
    for target, step in dict.fromkeys(denials):
        p, code = kb.predicate_id(target), kb.code(step)
        if p not in counts:
            counts[p] = meetings.of(p)
        size, together, chance = counts[p]
        found.append(Exclusion(target, step, int(chance[code]) / max(size, 1), size, int(together[code])))
    return tuple(found)


class _Meetings:
    """Counts over the facts that count; integers, so that nothing depends on an order."""

    def __init__(self, kb: KnowledgeBase) -> None:
        kb = kb.crisp
        self.kb, self.graph, self._small = kb, Graph.of(kb), SmallWork()
        # last_seen[y] is the number of the (target, x) that y was last an object of.
        self.last_seen, self.clock = np.full(kb.num_entities, -1, np.int64), 0

    def of(self, target: int) -> tuple[int, Longs, Longs]:
        """Return facts of the target; for each code, `together` and |p| times `expected`."""
        facts = self.kb.facts.of(target)
        together, chance = np.zeros((2, max(self.kb.num_codes, 1)), np.int64)
        if len(facts):
            in_degree = np.bincount(facts.object, minlength=self.kb.num_entities)
            subjects = np.unique(facts.subject)
            with self._small.of(int(self.graph.degree(subjects).sum())):
                _pair_up(self.graph, subjects, 2 * target, in_degree, self.last_seen, self.clock, together, chance)
            self.clock += len(subjects)
        return len(facts), together, chance

    def with_facts(self, facts: Facts) -> Longs:
        """For each code, how often it leads from the subject of one of these facts to its object."""
        together = np.zeros(max(self.kb.num_codes, 1), np.int64)
        with self._small.of(int(self.graph.degree(facts.subject).sum())):
            _meet(self.graph, facts.subject, facts.object, together)
        return together


@compiled
def _pair_up(
    graph: Graph,
    subjects: Ids,
    target_code: int,
    in_degree: Longs,
    last_seen: Longs,
    clock: int,
    together: Longs,
    chance: Longs,
) -> None:
    for i in range(len(subjects)):
        low, high = span_edges(graph, subjects[i], target_code)
        for e in range(low, high):
            last_seen[graph.neighbour[e]] = clock + i
        for e in range(graph.pointer[subjects[i]], graph.pointer[subjects[i] + 1]):
            chance[graph.code[e]] += (high - low) * in_degree[graph.neighbour[e]]
            together[graph.code[e]] += last_seen[graph.neighbour[e]] == clock + i


@compiled
def _meet(graph: Graph, subject: Ids, object: Ids, together: Longs) -> None:
    for i in range(len(subject)):
        for e in range(graph.pointer[subject[i]], graph.pointer[subject[i] + 1]):
            together[graph.code[e]] += graph.neighbour[e] == object[i]
