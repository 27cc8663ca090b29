"""Exclusions: pairs of relations that never hold together, although they would by chance.

For a binary target p and a step code c, where out(x) is the number of objects of x under p, and in(y) the number of
subjects of y:

    together(p, c)  pairs (x, y) with p(x, y) and an edge c from x to y
    expected(p, c)  sum over the edges c from x to y of out(x) * in(y) / |p|

The latter is the configuration model: the mean of `together` if every subject of p kept its number of objects and every
object its number of subjects, and they were paired at random. The relations of an exclusion are expected to coincide at
least once, and never do: neither in the training facts nor for a validation fact of p and a training fact.
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
    """Find the exclusions of the targets, target by target, the largest expected number first.

    Args:
        valid: validation facts, which can refute an exclusion.
        least_expected: relations expected to coincide less often exclude nothing.
        allowed: the ids of predicates whose facts may exclude (None: all).
        stop: targets that come after it get no exclusions.
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
        apart &= chance >= least_expected * size  # never p itself: it coincides with itself
        for code in sorted(np.flatnonzero(apart).tolist(), key=lambda code: (-chance[code], code)):
            if allowed is None or code >> 1 in allowed:
                found.append(Exclusion(kb.predicates[target], kb.step(code), int(chance[code]) / size, size))
    return tuple(found)


def count_exclusions(kb: KnowledgeBase, denials: Iterable[tuple[Predicate, Step]]) -> tuple[Exclusion, ...]:
    """Return an exclusion for each distinct one of `denials`, written by a person, with its counts in `kb`."""
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
    """Counts over the crisp facts; integers, so that the order of additions does not matter."""

    def __init__(self, kb: KnowledgeBase) -> None:
        kb = kb.crisp
        self.kb, self.graph, self._small = kb, Graph.of(kb), SmallWork()
        # last_seen[y] numbers the last (target, x) that had y as an object.
        self.last_seen, self.clock = np.full(kb.num_entities, -1, np.int64), 0

    def of(self, target: int) -> tuple[int, Longs, Longs]:
        """Return the number of facts of the target, and for each code `together` and |p| times `expected`."""
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
        """Return for each code how often it leads from the subject of one of these facts to its object."""
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
