"""Exclusions: pairs of relations that never hold together, and hardly by chance.

For a binary target p and a step code c, where out(x) is the number of objects of x under p, and in(y) the number of
subjects of y:

    together(p, c)  pairs (x, y) with p(x, y) and an edge c from x to y
    expected(p, c)  sum over the edges c from x to y of out(x) * in(y) / |p|

The latter is the configuration model: the mean of `together` if every subject of p kept its number of objects and every
object its number of subjects, and they were paired at random. Relations that are expected to coincide e times never do
with probability exp(-e) even if nothing keeps them apart. How many pairs of relations something keeps apart differs: in
kinship, where two people stand in one relation, nearly all; between countries hardly any. With this share r

    P(kept apart | never together) = r / (r + (1 - r) exp(-e))

and r is the share that makes the observed pairs most likely, over all binary predicates of the base. An exclusion is a
pair for which this is at least LEAST_PROBABILITY, and that no validation fact of p together with a training fact
contradicts.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

import numpy as np

from ..data.arrays import Doubles, Ids, Longs
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..kernel.compiled import SmallWork, compiled
from ..kernel.exclusion import Exclusion
from ..kernel.graph import Graph, span_edges
from ..logic.predicate import Predicate, Step
from ..progress import Stop

LEAST_EXPECTED = 1.0
"""Relations that are expected to coincide less often say nothing about each other."""
LEAST_PROBABILITY = 0.3
"""Least probability that something keeps the relations of an exclusion apart. A true exclusion removes many wrong
candidates, a false one a few right ones. Chosen on random splits of the training facts of nations, UMLS and kinship."""
MAX_ROUNDS = 200
"""Steps of expectation maximisation; the share settles in a few dozen."""


def find_exclusions(
    kb: KnowledgeBase,
    targets: Iterable[int],
    valid: Facts | None = None,
    sure: float = LEAST_PROBABILITY,
    allowed: Container[int] | None = None,
    stop: Stop | None = None,
) -> tuple[Exclusion, ...]:
    """Find the exclusions of the targets, target by target, the largest expected number first.

    Args:
        kb: the training facts.
        targets: predicate ids; unary ones have no exclusions.
        valid: validation facts, which can refute an exclusion.
        sure: the least probability that the relations of an exclusion are kept apart.
        allowed: the ids of predicates whose facts may exclude (None: all).
        stop: ends the search; there are no exclusions then, since how sure they are is not known.
    """
    meetings = _Meetings(kb)
    vetoes = Facts.empty() if valid is None else valid.crisp()
    pairs: dict[int, tuple[int, Longs, Longs]] = {}
    for predicate, about in enumerate(kb.predicates):
        if stop is not None and stop():
            return ()
        if about.arity == 2:
            pairs[predicate] = meetings.of(predicate)
    share = share_apart([_expected(target, *counts) for target, counts in pairs.items()])
    found: list[Exclusion] = []
    for target in dict.fromkeys(int(t) for t in targets if t in pairs):
        size, _, chance = pairs[target]
        expected, together = _expected(target, *pairs[target])
        apart = (together + meetings.with_facts(vetoes.of(target)) == 0) & (expected >= LEAST_EXPECTED)
        apart &= probability_apart(share, expected) >= sure
        for code in sorted(np.flatnonzero(apart).tolist(), key=lambda code: (-chance[code], code)):
            if allowed is None or code >> 1 in allowed:
                found.append(Exclusion(kb.predicates[target], kb.step(code), float(expected[code]), size))
    return tuple(found)


def _expected(target: int, size: int, together: Longs, chance: Longs) -> tuple[Doubles, Longs]:
    """Return `expected` and `together` of each code, from the counts of `_Meetings.of`; 0 for the target itself."""
    expected = chance / max(size, 1)
    expected[2 * target] = 0.0
    return expected, together


def share_apart(pairs: Sequence[tuple[Doubles, Longs]]) -> float:
    """Return the share of pairs of relations that something keeps apart: the most likely one, one half without pairs.

    Args:
        pairs: for each target, `expected` and `together` of every code.
    """
    counted = [
        (expected[some], together[some]) for expected, together in pairs if (some := expected >= LEAST_EXPECTED).any()
    ]
    share = 0.5
    if counted:
        expected, together = (np.concatenate(column) for column in zip(*counted))
        for _ in range(MAX_ROUNDS):  # expectation maximisation, with one pair of either sort added
            apart = np.where(together == 0, probability_apart(share, expected), 0.0)
            share = (float(apart.sum()) + 1) / (len(apart) + 2)
    return share


def probability_apart(share: float, expected: Doubles) -> Doubles:
    """Return the probability that relations which never coincide are kept apart, given the `expected` number.

    `share` is that of all pairs of relations that are kept apart.
    """
    return np.asarray(share / (share + (1 - share) * np.exp(-expected)))


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
