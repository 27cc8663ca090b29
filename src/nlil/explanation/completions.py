"""Which single change would make a rule hold: a fact to add that completes it, or one that stands in its way.

Along the line of a statement that fails, the nodes that are reached from its start and those from which its end is
reached are known; a fact that joins the two completes it. What is proposed here is tried out by `why_not`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np

from ..data.arrays import Ids, Longs
from ..data.kb import KnowledgeBase
from ..engine.lines import FREE, Hidden, IdLine
from ..engine.normal import Leaf, alternatives, normal_form
from ..engine.witnesses import LineQuery
from ..logic.predicate import Fact
from ..logic.rule import Rule

ENDS = 30
"""Entities tried on each side of a missing fact, those first of which the predicate says most."""
WITNESSES = 200
"""Ways in which a denied statement holds that are compared; a single fact is hardly behind more."""


@dataclass(frozen=True, order=True)
class Change:
    """One fact more or fewer."""

    action: Literal["add", "remove"]
    fact: Fact


def completions(kb: KnowledgeBase, rule: Rule, x: int, y: int | None) -> Iterator[Change]:
    """Changes that may make the rule's body hold, the query's own fact hidden; the likeliest of each place first."""
    hidden = Hidden.of(kb, rule)

    def query(leaf: Leaf, distinct: bool) -> LineQuery:
        return LineQuery(kb, IdLine.of(kb, leaf.statement), distinct, x, y, hidden)

    def fails(leaf: Leaf) -> bool:
        # Without `distinct` first: it is cheap at a hub, and what fails without fails with it.
        if kb.facts.weight is not None:
            value = min(1.0, query(leaf, rule.distinct).totals()[1])
            return value >= 1.0 if leaf.negated else value <= 0.0
        holds = all(next(query(leaf, d).witnesses(), None) is not None for d in {False, rule.distinct})
        return holds == leaf.negated

    for leaves in alternatives(normal_form(rule.body)):
        failing = leaves if len(leaves) == 1 else tuple(leaf for leaf in leaves if fails(leaf))
        if len(failing) == 1:
            (leaf,) = failing
            yield from _blockers(leaf, query(leaf, rule.distinct)) if leaf.negated else _missing(query(leaf, False))


def _blockers(leaf: Leaf, query: LineQuery) -> Iterator[Change]:
    """The facts that every way has in common in which the denied statement holds."""
    line, kb = query.line, query.kb
    ways = []
    for witness in islice(query.witnesses(), WITNESSES):
        facts = [kb.fact(p, node) for node, run in zip(witness.nodes, line.filters) for p in run]
        for code, (one, two) in zip(line.codes, zip(witness.nodes, witness.nodes[1:])):
            facts.append(kb.fact(code >> 1, two, one) if code & 1 else kb.fact(code >> 1, one, two))
        ways.append(set(facts))
    if ways:
        yield from (Change("remove", fact) for fact in sorted(set.intersection(*ways)))


def _missing(query: LineQuery) -> Iterator[Change]:
    """Facts that join what is reached from the start with what leads to the end, the last steps first."""
    reached = _Reached.of(query)
    line, kb = query.line, query.kb
    for i in reversed(range(len(line.anchors))):
        for predicate in line.filters[i]:
            nodes = reached.nodes_without(i, predicate)
            yield from (Change("add", kb.fact(predicate, int(node))) for node in nodes[:ENDS])
        if i:
            yield from (Change("add", kb.fact(*ids)) for ids in reached.edges(i - 1))


@dataclass(frozen=True, eq=False)
class _Reached:
    """before[i]: entities that the line reaches at node i, its filters not yet asked; after[i]: those that pass."""

    query: LineQuery
    before: tuple[Ids, ...]
    after: tuple[Ids, ...]

    @classmethod
    def of(cls, query: LineQuery) -> _Reached:
        before: list[Ids] = []
        after: list[Ids] = []
        for i in range(len(query.line.anchors)):
            here = _allowed(query, i)
            if i:
                there = query._sources(after[-1], query.line.codes[i - 1] ^ 1)
                here = there if here is None else np.intersect1d(here, there)
            elif here is None:
                here = query.block
            before.append(here)
            for predicate in query.line.filters[i]:
                here = np.intersect1d(here, query.kb.members(predicate))
            after.append(here)
        return cls(query, tuple(before), tuple(after))

    def nodes_without(self, i: int, predicate: int) -> Ids:
        """Entities at node i that lack nothing but this filter."""
        query = self.query
        nodes = self.before[i]
        for other in query.line.filters[i]:
            if other != predicate:
                nodes = np.intersect1d(nodes, query.kb.members(other))
        if i < len(query.line.codes):
            onward = self._onward(i + 1)
            if onward is not None:
                nodes = np.intersect1d(nodes, query._sources(onward, query.line.codes[i]))
        return np.setdiff1d(nodes, query.kb.members(predicate))

    def edges(self, i: int) -> Iterator[tuple[int, int, int]]:
        """(predicate, subject, object) that join node i and node i + 1, plausible ones first."""
        query = self.query
        code = query.line.codes[i]
        onward = self._onward(i + 1)
        ends = query.block if onward is None else onward
        ends = ends if query.line.anchors[i + 1] != FREE else np.intersect1d(ends, query.block)
        facts = query.kb.binary.of(code >> 1)
        said_of = (facts.object, facts.subject) if code & 1 else (facts.subject, facts.object)
        sources, out = _busiest(self.after[i], said_of[0], query.kb.num_entities)
        targets, into = _busiest(ends, said_of[1], query.kb.num_entities)
        pairs = [(int(s), int(t)) for s in sources for t in targets]
        # A fact is likely where the predicate is said of both its ends, elsewhere.
        pairs.sort(key=lambda p: (-min(out[p[0]], 1) - min(into[p[1]], 1), -out[p[0]] - into[p[1]], p))
        for s, t in pairs:
            yield (code >> 1, t, s) if code & 1 else (code >> 1, s, t)

    def _onward(self, i: int) -> Ids | None:
        """Entities at node i from which the rest of the line holds; None: any."""
        return self.query.hopeful[i]


def _allowed(query: LineQuery, i: int) -> Ids | None:
    """The entities that may stand at node i at all; None: any."""
    known = query.known(query.line.anchors[i])
    if known is not None:
        equal = query.line.equal
        return np.asarray([known] if equal is None or query.known(equal) == known else [], np.int32)
    return None if query.kb.graph_of is None else query.block


def _busiest(nodes: Ids, said: Ids, num_entities: int) -> tuple[Longs, Longs]:
    """The nodes of which the predicate says most, and how often it is said of every entity."""
    counts = np.bincount(said, minlength=num_entities)
    return nodes[np.lexsort((nodes, -counts[nodes]))][:ENDS].astype(np.int64), counts


def apart(fact: Fact, changes: Iterator[Change]) -> Iterator[Change]:
    """Each change once, without the fact that is asked about: it is hidden, so it helps nobody."""
    seen = {Change("add", fact), Change("remove", fact)}
    for change in changes:
        if change not in seen:
            seen.add(change)
            yield change
