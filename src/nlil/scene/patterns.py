"""Patterns: every body that may speak about an object, and the objects for which it holds.

    k(X, Z1), r(Z1, Z2), u(Z2)   a path from X to a class or an attribute     k(X, Z1)   a bare relation
    k(X, Z1), u(Z1), v(Z1)       a class and an attribute of a neighbour      u(Z1)      X's graph has a u
    u(X)                         an attribute of X itself, never its class

All variables distinct, every class of X hidden. Predicates that come from boxes and numbers (`kb.geometry`) are said
about X itself and of one step: `size_over_12pct(X)`, `above(X, Z1), car(Z1)`; their longer paths are countless.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..data.arrays import Ids, Longs, offsets, ranges
from ..data.kb import KnowledgeBase
from ..kernel.bodies import NO_STEP
from ..kernel.graph import Graph, num_paths
from ..kernel.pool import Pool
from ..logic.formula import ANY, And, Formula, Statement, X
from ..logic.predicate import Step
from ..search.unary import Bodies, list_bodies

BYTES_OF_ENTRY = 48
"""Of one (object, pattern) pair while patterns are listed and numbered."""
BLOCK = 2**14
"""Objects of one task."""


TABLE_SPAN = 8
"""Numbers are found in a table of all values where it has at most so many times their count."""

Listing = tuple[Ids, Longs]
"""(row of an object, number of a pattern that holds for it), as two columns."""


def rows_of(pointer: Longs, chosen: Longs) -> tuple[Longs, Longs]:
    """The ranges pointer[i] .. pointer[i + 1] of the chosen i one after the other: (new pointer, places)."""
    count = np.diff(pointer)[chosen]
    return np.concatenate(([0], np.cumsum(count))), ranges(pointer[chosen], count)


def numbered(values: Longs) -> tuple[Longs, Ids, Longs]:
    """(distinct values ascending, place of each value among them, how often each occurs).

    With a table where that fits: to sort a hundred million values takes minutes.
    """
    span = int(values.max(initial=-1)) + 1
    if span > TABLE_SPAN * len(values):
        known, inverse, count = np.unique(values, return_inverse=True, return_counts=True)
        return known, inverse.astype(np.int32), count.astype(np.int64)
    occurs = np.zeros(span, bool)
    occurs[values] = True
    known = np.flatnonzero(occurs)
    table = np.empty(span, np.int32)
    table[known] = np.arange(len(known), dtype=np.int32)
    place = table[values]
    return known, place, np.bincount(place, minlength=len(known))


def gathered(owner: Ids, column: Ids, num_rows: int) -> tuple[Longs, Ids]:
    """(pointer, column) by owner, each row ascending, without the columns below 0; no pair occurs twice."""
    from scipy import sparse

    known = column >= 0
    entries = np.ones(np.count_nonzero(known), bool), (owner[known], column[known])
    rows = sparse.csr_array(entries, shape=(num_rows, int(column.max(initial=0)) + 1))
    rows.sort_indices()
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int32, copy=False)


@dataclass(frozen=True, eq=False)
class Patterns:
    """Row i of (pointer, column) has the patterns of entities[i], ascending. `body` says what a pattern is."""

    kb: KnowledgeBase
    entities: Ids
    pointer: Longs
    column: Ids
    body: tuple[Formula, ...]

    def __len__(self) -> int:
        return len(self.body)

    @property
    def sizes(self) -> Longs:
        """Objects of each pattern."""
        return np.bincount(self.column, minlength=len(self)).astype(np.int64)

    def rows(self, chosen: Longs) -> tuple[Longs, Ids]:
        """(pointer, column) of the given objects."""
        pointer, place = rows_of(self.pointer, chosen)
        return pointer, self.column[place]

    def members(self) -> tuple[Longs, Ids]:
        """(pointer, row) of each pattern: the other way round, rows ascending."""
        return gathered(self.column, self._owner, len(self))

    @property
    def _owner(self) -> Ids:
        """The row of each entry of `column`."""
        return np.repeat(np.arange(len(self.entities), dtype=np.int32), np.diff(self.pointer))

    def with_pairs(self, pairs: list[tuple[int, int]], rows: list[Ids]) -> Patterns:
        """These and the conjunctions of `pairs`, which hold for `rows`."""
        if not pairs:
            return self
        new = np.repeat(np.arange(len(self), len(self) + len(pairs), dtype=np.int32), [len(r) for r in rows])
        column = np.concatenate((self.column, new))
        pointer, column = gathered(np.concatenate((self._owner, *rows)), column, len(self.entities))
        body = self.body + tuple(And(self.body[i], self.body[j]) for i, j in pairs)
        return replace(self, pointer=pointer, column=column, body=body)


def find_patterns(
    kb: KnowledgeBase, entities: Ids, moves: int, min_objects: int, memory: int, threads: int = 0
) -> Patterns:
    """The patterns that hold for enough of the objects; of several for the same objects the simplest.

    Args:
        kb: The facts that bodies may use; facts with weights count where they are crisp.
        entities: The objects, as entity ids.
        moves: How many relations a path may have; fewer where the paths of all objects would not fit `memory`.
        min_objects: How many of the objects a pattern must hold for.
        memory: Bytes, half of which the listed pairs of object and pattern may take.
        threads: Threads of the walk; 0: one for each core.
    """
    kb = kb.crisp
    bodies = Bodies(Graph.of(kb.crisp), kb.num_predicates, moves)
    parts = list(_listed(kb, entities, bodies, memory, threads))
    owner = np.concatenate([part[0] for part in parts])
    number = np.concatenate([part[1] for part in parts])
    del parts
    known, place, count = numbered(number)
    del number
    kept = _simplest(place, count, owner, min_objects)
    index = np.full(len(known), -1, np.int32)
    index[kept] = np.arange(len(kept), dtype=np.int32)
    pointer, column = gathered(owner, index[place], len(entities))
    body = tuple(_body(kb, bodies, int(n)) for n in known[kept])
    return Patterns(kb, entities, pointer, column, body)


def _listed(kb: KnowledgeBase, entities: Ids, bodies: Bodies, memory: int, threads: int) -> Iterator[Listing]:
    """What holds for which object, by kind of pattern."""
    geometry = sorted(kb.geometry)
    plain = kb.without(geometry)
    unary = np.array([predicate.arity == 1 for predicate in kb.predicates])
    moves = bodies.moves
    graph = Graph.of(plain.crisp)
    while moves > 1 and sum(num_paths(graph, moves)) * BYTES_OF_ENTRY > memory / 2:
        moves -= 1
    yield _walked(plain, entities, bodies, moves, threads)
    if geometry:
        others = np.ones(kb.num_predicates, bool)
        others[geometry] = False
        about_itself = kb.without(np.flatnonzero(others | ~unary).tolist())
        yield _walked(about_itself, entities, bodies, 0, threads)
        near = others.copy()
        near[list(kb.classes)] = False
        near |= unary & ~others
        yield _walked(kb.without(np.flatnonzero(near).tolist()), entities, bodies, min(bodies.moves, 1), threads)
    yield _in_graph(kb, entities, bodies)
    if bodies.moves:
        yield _described(plain, entities, bodies)


def _described(kb: KnowledgeBase, entities: Ids, bodies: Bodies) -> Listing:
    """Neighbours by class and attribute: of each edge of X to Z1 every class of Z1 with every other unary of Z1."""
    graph = Graph.of(kb.crisp)
    is_class = np.zeros(kb.num_predicates, bool)
    is_class[list(kb.classes)] = True
    owner, there = rows_of(graph.pointer, entities.astype(np.int64))
    row = np.repeat(np.arange(len(entities), dtype=np.int32), np.diff(owner))
    code, node = graph.code[there].astype(np.int64), graph.neighbour[there]
    seen = node != entities[row]
    row, code, node = row[seen], code[seen], node[seen]
    pointer, place = rows_of(graph.unary_pointer, node.astype(np.int64))
    edge = np.repeat(np.arange(len(node)), np.diff(pointer))
    unary = graph.unary_predicate[place]
    of_class, of_other = is_class[unary], ~is_class[unary]
    # The classes of an edge's end, then for each of them the others of the same end.
    class_edge, classes = edge[of_class], unary[of_class]
    first = offsets(edge[of_other], len(node))
    pointer, place = rows_of(first, class_edge)
    pair = np.repeat(np.arange(len(class_edge)), np.diff(pointer))
    number = (code[class_edge[pair]] * bodies.ends + classes[pair]) * bodies.ends + unary[of_other][place]
    number += bodies.constants_from + bodies.ends
    key = np.unique(np.stack((row[class_edge[pair]].astype(np.int64), number)), axis=1)
    return key[0].astype(np.int32), key[1]


def _walked(kb: KnowledgeBase, entities: Ids, bodies: Bodies, moves: int, threads: int) -> Listing:
    """Of every object what a walk of up to `moves` edges finds, but for its own classes."""
    graph = Graph.of(kb.crisp)
    own_class = np.zeros(bodies.ends, bool)
    own_class[[p + 1 for p in kb.classes]] = True

    def walk(_: None, start: int) -> list[Listing]:
        found = []
        for begin, pointer, held in list_bodies(graph, entities[start : start + BLOCK], bodies, moves):
            first = start + begin
            owner = np.repeat(np.arange(first, first + len(pointer) - 1, dtype=np.int32), np.diff(pointer))
            keep = (held >= bodies.ends) | ~own_class[np.minimum(held, bodies.ends - 1)]
            found.append((owner[keep], held[keep]))
        return found

    pool: Pool[None] = Pool(lambda: None, threads)
    parts = [part for block in pool.map(walk, range(0, len(entities), BLOCK)) for part in block]
    return (
        np.concatenate([np.zeros(0, np.int32), *(part[0] for part in parts)]),
        np.concatenate([np.zeros(0, np.int64), *(part[1] for part in parts)]),
    )


def _in_graph(kb: KnowledgeBase, entities: Ids, bodies: Bodies) -> Listing:
    """Classes of the other objects of the same graph."""
    if kb.graph_of is None or not kb.classes:
        return np.zeros(0, np.int32), np.zeros(0, np.int64)
    graph = kb.graph_of.astype(np.int64)
    labels = kb.unary[np.isin(kb.unary.predicate, list(kb.classes))]
    key, count = np.unique(graph[labels.subject] * kb.num_predicates + labels.predicate, return_counts=True)
    pointer, place = rows_of(offsets(key // kb.num_predicates, kb.num_graphs), graph[entities])
    row = np.repeat(np.arange(len(entities), dtype=np.int32), np.diff(pointer))
    predicate = key[place] % kb.num_predicates
    own = np.sort(labels.subject.astype(np.int64) * kb.num_predicates + labels.predicate)
    mine = entities[row].astype(np.int64) * kb.num_predicates + predicate
    found = np.minimum(np.searchsorted(own, mine), max(len(own) - 1, 0))
    keep = (count[place] > 1) | (own[found] != mine)
    return row[keep], bodies.constants_from + predicate[keep]


def _simplest(place: Ids, count: Longs, owner: Ids, min_objects: int) -> Longs:
    """Of patterns that hold for the same objects, the one with the smallest number: fewest steps.

    Two sets of objects are taken for the same where the sums of random numbers of their objects are.
    """
    random = np.random.default_rng(0).integers(0, 2**63, int(owner.max(initial=0)) + 1, dtype=np.int64)
    fingerprint = np.zeros(len(count), np.int64)
    np.add.at(fingerprint, place, random[owner])  # sums that overflow are as good
    frequent = np.flatnonzero(count >= min_objects)
    order = np.lexsort((frequent, count[frequent], fingerprint[frequent]))
    prints, counts = fingerprint[frequent[order]], count[frequent[order]]
    first = np.ones(len(order), bool)
    first[1:] = (prints[1:] != prints[:-1]) | (counts[1:] != counts[:-1])
    return np.sort(frequent[order[first]])


def _body(kb: KnowledgeBase, bodies: Bodies, number: int) -> Statement:
    if number >= bodies.constants_from + bodies.ends:
        rest, other = divmod(number - bodies.constants_from - bodies.ends, bodies.ends)
        code, unary = divmod(rest, bodies.ends)
        return Statement(X, (kb.step(code), Step(kb.predicates[unary]), Step(kb.predicates[other])), ANY)
    if number >= bodies.constants_from:
        return Statement(ANY, (Step(kb.predicates[number - bodies.constants_from]),), ANY)
    steps, _ = bodies.decode(np.array([number]), bodies.moves + 1)
    return Statement(X, tuple(kb.step(int(code)) for code in steps[0] if code != NO_STEP), ANY)
