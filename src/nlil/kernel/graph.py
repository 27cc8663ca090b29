"""Graph: the facts of a knowledge base as flat arrays, in the orders that the compiled loops walk.

A named tuple of arrays, so that numba kernels take it as one argument. An *item* (k, d) is the set of
entities x with an edge k to d: the body of an anchored rule `k(X, d)` and the head of one `q(X, c)`.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..data.arrays import Ids, Longs, offsets
from ..data.kb import KnowledgeBase


class Graph(NamedTuple):
    """Build it with `Graph.of`: one for each base, kept as long as the base."""

    num_entities: int
    num_codes: int
    # edges of both directions by (node, code, neighbour)
    pointer: Longs
    code: Ids
    neighbour: Ids
    item_of_edge: Ids
    # the same edges by (code, node, neighbour)
    code_pointer: Longs
    code_node: Ids
    code_neighbour: Ids
    # items by (code, entity), numbered in the order of item_key = code * num_entities + entity; members ascending
    item_key: Longs
    item_code: Ids
    item_entity: Ids
    item_pointer: Longs
    item_member: Ids
    # the codes of each node, each once
    node_code_pointer: Longs
    node_code: Ids
    # unary predicates of each entity, ascending
    unary_pointer: Longs
    unary_predicate: Ids

    @classmethod
    def of(cls, kb: KnowledgeBase) -> Graph:
        """The graph of the facts of `kb`; loops that know no weights take that of `kb.crisp`."""
        found = _kept.get(kb)
        if found is None:
            found = _build(kb)
            if len(kb.facts) <= MOST_KEPT:
                _kept[kb] = found
        return found


MOST_KEPT = 2_000_000
"""Facts up to which the graph of a base is kept as long as the base: some 100 MB; larger ones are made when needed."""
_kept: WeakKeyDictionary[KnowledgeBase, Graph] = WeakKeyDictionary()


def _build(kb: KnowledgeBase) -> Graph:
    num_entities, num_codes = kb.num_entities, max(kb.num_codes, 1)
    edges = kb.adjacency
    node = edges.node
    by_code = np.lexsort((edges.neighbour, node, edges.code))
    item_key = edges.code.astype(np.int64) * num_entities + edges.neighbour
    keys, item_of_edge = np.unique(item_key, return_inverse=True)
    item_of_edge = item_of_edge.astype(np.int32)
    by_item = np.argsort(item_of_edge, kind="stable")
    node_code = np.unique(node.astype(np.int64) * num_codes + edges.code)
    unary = kb.unary
    by_entity = np.lexsort((unary.predicate, unary.subject))
    return Graph(
        num_entities,
        num_codes,
        edges.pointer,
        edges.code,
        edges.neighbour,
        item_of_edge,
        offsets(edges.code[by_code], num_codes),
        node[by_code],
        edges.neighbour[by_code],
        keys,
        (keys // num_entities).astype(np.int32),
        (keys % num_entities).astype(np.int32),
        offsets(item_of_edge[by_item], len(keys)),
        node[by_item],
        offsets(node_code // num_codes, num_entities),
        (node_code % num_codes).astype(np.int32),
        offsets(unary.subject[by_entity], num_entities),
        unary.predicate[by_entity],
    )


class TargetFacts(NamedTuple):
    """Binary facts of the targets: by (subject, object), and the target predicates of each subject."""

    pointer: Longs
    object: Ids
    target: Ids
    subject_pointer: Longs
    subject_target: Ids
    size: Longs


def target_facts(kb: KnowledgeBase, targets: Ids) -> TargetFacts:
    """Facts whose predicate is `targets[i]`, coded by the position i."""
    position = np.full(kb.num_predicates, -1, np.int32)
    position[targets] = np.arange(len(targets), dtype=np.int32)
    facts = kb.crisp.binary
    facts = facts[position[facts.predicate] >= 0]
    target = position[facts.predicate]
    order = np.lexsort((target, facts.object, facts.subject))
    count = max(len(targets), 1)
    pairs = np.unique(facts.subject.astype(np.int64) * count + target)
    return TargetFacts(
        offsets(facts.subject[order], kb.num_entities),
        facts.object[order],
        target[order],
        offsets(pairs // count, kb.num_entities),
        (pairs % count).astype(np.int32),
        np.bincount(target, minlength=len(targets)).astype(np.int64),
    )


def num_paths(graph: Graph, longest: int) -> list[float]:
    """How many paths of 1, 2, ... steps there are; steps between the same two entities are one."""
    n = max(graph.num_entities, 1)
    pair = np.unique(np.repeat(np.arange(n, dtype=np.int64), np.diff(graph.pointer)) * n + graph.neighbour)
    node, neighbour = np.divmod(pair, n)
    ways: np.ndarray = np.ones(n)
    found = []
    for _ in range(longest):
        ways = np.bincount(node, weights=ways[neighbour], minlength=n)
        found.append(float(ways.sum()))
    return found
