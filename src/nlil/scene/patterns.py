"""Patterns: the possible bodies of class rules, and the objects for which each holds.

    k(X, Z1), r(Z1, Z2), u(Z2)   a path from X to a class or an attribute     k(X, Z1)   a bare relation
    k(X, Z1), u(Z1), v(Z1)       a class and an attribute of a neighbour      u(Z1)      X's graph has a u
    u(X)                         an attribute of X itself, never its class

All variables are distinct, and every class of X is hidden. Predicates made from boxes and numbers (`kb.geometry`) only
occur as filters of X and in one step: `size_over_12pct(X)`, `above(X, Z1), car(Z1)`; they have too many longer paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from ..data.arrays import Ids, Longs, offsets, ranges, run_starts
from ..data.kb import KnowledgeBase
from ..kernel.bodies import ANY_NODE, NO_STEP, X_NODE, Bodies, Lines, step_dtype, unary_mask
from ..kernel.graph import Graph, num_paths
from ..kernel.hidden import Hidden, hidden_mask
from ..kernel.pool import Pool
from ..search.unary import Numbering, list_bodies

BYTES_OF_ENTRY = 48
"""Bytes per (object, pattern) pair while patterns are listed and numbered."""
BLOCK = 2**14
"""Objects per task."""


TABLE_SPAN = 8
"""Values are numbered by a table of their range if the range is at most this many times their count."""

Occurrences = tuple[Ids, Longs]
"""(row of an object, number of a pattern that holds for it), as two columns."""


def rows_of(pointer: Longs, chosen: Longs) -> tuple[Longs, Longs]:
    """Concatenate the ranges pointer[i] .. pointer[i + 1] of the chosen i: return (new pointer, positions)."""
    count = np.diff(pointer)[chosen]
    return np.concatenate(([0], np.cumsum(count))), ranges(pointer[chosen], count)


def numbered(values: Longs) -> tuple[Longs, Ids, Longs]:
    """Return the distinct values in ascending order, the position of each value among them, and their counts.

    A table of the range of values, if it fits, is faster than hashing and much faster than sorting.
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


@dataclass(frozen=True, eq=False)
class Patterns:
    """held[i, j] is true if pattern j holds for entities[i] of `kb`; `bodies` are the bodies of the patterns."""

    kb: KnowledgeBase
    entities: Ids
    held: sparse.csr_array
    bodies: Bodies

    def __len__(self) -> int:
        return len(self.bodies)

    @property
    def sizes(self) -> Longs:
        """The number of objects of each pattern."""
        return np.bincount(self.held.indices, minlength=len(self)).astype(np.int64)

    @property
    def groups(self) -> Ids:
        """The graph of each of `entities`; without graphs each is alone."""
        return self.entities if self.kb.graph_of is None else self.kb.graph_of[self.entities]

    def joined(self, others: Patterns) -> Patterns:
        """Return these patterns and the `others`, of the same entities; all are single lines."""
        lines = Lines.join([self.bodies.lines, others.bodies.lines])
        held = sparse.hstack((self.held, others.held), format="csr")
        return replace(self, held=held, bodies=Bodies.of_lines(lines))

    def with_programs(self, programs: Sequence[Sequence[int]], rows: Sequence[Ids]) -> Patterns:
        """Return these patterns and those of `programs` over their lines.

        `rows[k]` are the positions where program k holds.
        """
        if not programs:
            return self
        pointer = np.cumsum([0, *map(len, rows)])
        column = np.repeat(np.arange(len(programs), dtype=np.int32), np.diff(pointer))
        shape = len(self.entities), len(programs)
        new = sparse.csr_array((np.ones(pointer[-1], bool), (np.concatenate(rows), column)), shape=shape)
        bodies = self.bodies.with_programs(programs)
        return replace(self, held=sparse.hstack((self.held, new), format="csr"), bodies=bodies)


def find_patterns(
    kb: KnowledgeBase, entities: Ids, moves: int, min_objects: int, memory: int, threads: int = 0
) -> Patterns:
    """Return the patterns that hold for enough objects; of several that hold for the same objects, the simplest.

    Args:
        kb: The facts that bodies may use; soft facts of weight .5 or more count.
        entities: The objects, as entity ids.
        moves: The most relations of a path; fewer if the paths of all objects would not fit into `memory`.
        min_objects: The fewest objects for which a pattern must hold.
        memory: Bytes, half of which the pairs of object and pattern may take.
        threads: CPU threads; 0: all cores.
    """
    kb = kb.crisp
    numbering = Numbering.of(Graph.of(kb), kb.num_predicates, moves)
    parts = list(_listed(kb, entities, numbering, memory, threads))
    owner = np.concatenate([part[0] for part in parts])
    number = np.concatenate([part[1] for part in parts])
    del parts
    known, place, count = numbered(number)
    del number
    kept = _simplest(place, count, owner, min_objects)
    index = np.full(len(known), -1, np.int32)
    index[kept] = np.arange(len(kept), dtype=np.int32)
    column = index[place]
    row, column = owner[column >= 0], column[column >= 0]
    held = sparse.csr_array((np.ones(len(row), bool), (row, column)), shape=(len(entities), len(kept)))
    return Patterns(kb, entities, held, Bodies.of_lines(_lines(kb, numbering, known[kept])))


def _listed(kb: KnowledgeBase, entities: Ids, numbering: Numbering, memory: int, threads: int) -> Iterator[Occurrences]:
    """Yield which pattern holds for which object, by kind of pattern."""
    geometry = sorted(kb.geometry)
    plain = kb.without(geometry)
    is_unary = unary_mask(kb.predicates)[:-1]
    moves = numbering.moves
    while moves > 1 and sum(num_paths(Graph.of(plain), moves)) * BYTES_OF_ENTRY > memory / 2:
        moves -= 1
    yield from _walked(plain, entities, numbering, moves, threads)
    if geometry:
        others = ~np.isin(np.arange(kb.num_predicates), geometry)
        about_itself = kb.without(np.flatnonzero(others | ~is_unary).tolist())
        yield from _walked(about_itself, entities, numbering, 0, threads)
        unused = np.where(is_unary, ~np.isin(np.arange(kb.num_predicates), list(kb.classes)), others)
        one_step = kb.without(np.flatnonzero(unused).tolist())
        yield from _walked(one_step, entities, numbering, min(numbering.moves, 1), threads)
    yield _in_graph(kb, entities, numbering)
    if numbering.moves:
        yield _described(plain, entities, numbering)


def _described(kb: KnowledgeBase, entities: Ids, numbering: Numbering) -> Occurrences:
    """List neighbours by class and attribute: for each edge from X to Z1, each class with each attribute of Z1."""
    graph = Graph.of(kb)
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
    number = (code[class_edge[pair]] * numbering.ends + classes[pair]) * numbering.ends + unary[of_other][place]
    number += numbering.constants_from + numbering.ends
    key = np.unique(np.stack((row[class_edge[pair]].astype(np.int64), number)), axis=1)
    return key[0].astype(np.int32), key[1]


def _walked(kb: KnowledgeBase, entities: Ids, numbering: Numbering, moves: int, threads: int) -> Iterator[Occurrences]:
    """Yield what a walk of up to `moves` edges from each object finds, without the facts hidden from its query."""
    graph = Graph.of(kb)
    is_hidden = hidden_mask(kb, kb.classes)

    def walk(_: None, start: int) -> list[Occurrences]:
        found = []
        for begin, pointer, held in list_bodies(graph, entities[start : start + BLOCK], numbering, moves):
            first = start + begin
            owner = np.repeat(np.arange(first, first + len(pointer) - 1, dtype=np.int32), np.diff(pointer))
            keep = (held >= numbering.ends) | ~is_hidden[np.where(held < numbering.ends, held - 1, -1)]
            found.append((owner[keep], held[keep]))
        return found

    pool: Pool[None] = Pool(lambda: None, threads)
    for block in pool.map(walk, range(0, len(entities), BLOCK)):
        yield from block


def _in_graph(kb: KnowledgeBase, entities: Ids, numbering: Numbering) -> Occurrences:
    """List the classes of the other objects of the same graph."""
    if kb.graph_of is None or not kb.classes:
        return np.zeros(0, np.int32), np.zeros(0, np.int64)
    own = Hidden.of_class(kb).own_facts(kb)
    shape, everyone = (kb.num_entities, kb.num_predicates), np.arange(kb.num_entities)
    classes = sparse.csr_array((np.ones(len(own), np.int32), (own.subject, own.predicate)), shape=shape)
    members = sparse.csr_array(
        (np.ones(len(everyone), np.int32), (kb.graph_of, everyone)), shape=(kb.num_graphs, len(everyone))
    )
    of_others = (members @ classes)[kb.graph_of[entities]] - classes[entities]
    row, predicate = of_others.nonzero()
    return row.astype(np.int32), numbering.constants_from + predicate.astype(np.int64)


def _simplest(place: Ids, count: Longs, owner: Ids, min_objects: int) -> Longs:
    """Of patterns that hold for the same objects, return the one with the smallest number, which has the fewest steps.

    Two sets of objects are considered equal if the sums of random numbers assigned to their objects are.
    """
    random = np.random.default_rng(0).integers(0, 2**63, int(owner.max(initial=0)) + 1, dtype=np.int64)
    fingerprint = np.zeros(len(count), np.int64)
    np.add.at(fingerprint, place, random[owner])  # overflow does no harm
    frequent = np.flatnonzero(count >= min_objects)
    order = np.lexsort((frequent, count[frequent], fingerprint[frequent]))
    by_print = frequent[order]
    return np.sort(by_print[run_starts(fingerprint[by_print], count[by_print])])


def _lines(kb: KnowledgeBase, numbering: Numbering, numbers: Longs) -> Lines:
    """Return the bodies with these numbers: paths, classes of the graph, neighbours by class and attribute."""
    in_graph = numbers >= numbering.constants_from
    described = numbers >= numbering.constants_from + numbering.ends
    width = numbering.moves + 1
    steps: np.ndarray = np.full((len(numbers), max(width, 3)), NO_STEP, step_dtype(kb.num_codes))
    steps[~in_graph, :width], _ = numbering.decode(numbers[~in_graph])
    steps[in_graph, 0] = 2 * (numbers[in_graph] - numbering.constants_from)
    rest, other = np.divmod(numbers[described] - numbering.constants_from - numbering.ends, numbering.ends)
    code, own_class = np.divmod(rest, numbering.ends)
    steps[described, :3] = np.stack((code, 2 * own_class, 2 * other), axis=1)
    lines = Lines.of(steps, np.where(in_graph & ~described, ANY_NODE, X_NODE))
    return lines._replace(distinct=lines.moves(unary_mask(kb.predicates)))
