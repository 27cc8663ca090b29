"""What can be said of one entity: `q(X, c)`, `q(X, Z)` with any Z, `u(X)`; each with the entities that it holds of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from ..data.arrays import Ids, Longs, Mask, ranges
from ..data.kb import KnowledgeBase
from ..kernel.bodies import ANY_NODE
from ..kernel.graph import Graph
from ..logic.formula import ANY, Anchor, Constant, Statement, Variable


class Filters(NamedTuple):
    """Filter i is `step(V, end)`: code[i] the step (2 * predicate of a unary one), end[i] an entity or ANY_NODE.

    The same filters serve X and Y. `member` is (filters, entities), ones where a filter holds.
    """

    code: Ids
    end: Ids
    member: csr_matrix

    def statement(self, kb: KnowledgeBase, row: int, variable: Variable) -> Statement:
        end: Anchor = ANY if self.end[row] == ANY_NODE else Constant(kb.entities.name(int(self.end[row])))
        return Statement(variable, (kb.step(int(self.code[row])),), end)

    def holds(self, row: int, num_entities: int) -> Mask:
        found = np.zeros(num_entities, bool)
        found[self.member.indices[self.member.indptr[row] : self.member.indptr[row + 1]]] = True
        return found


def all_filters(graph: Graph, constants: bool, least: int) -> Filters:
    """Those that hold of `least` entities or more, and not of all."""
    sets: list[tuple[Ids, Ids, Longs, Ids]] = []  # code, end, set sizes, members one set after the other
    if constants and graph.num_spans:
        code = graph.span_code ^ 1
        order = np.lexsort((graph.span_node, code))
        size = np.diff(graph.span_pointer)[order]
        member = graph.neighbour[ranges(graph.span_pointer[order], size)]
        sets.append((code[order], graph.span_node[order], size, member))
    # `q(X, Z)` of distinct variables: an edge to oneself is none.
    leaves = graph.leaves()
    sets.append(_grouped(graph.span_code[leaves], graph.span_node[leaves], graph))
    entity = np.repeat(np.arange(graph.num_entities), np.diff(graph.unary_pointer))
    sets.append(_grouped(2 * graph.unary_predicate.astype(np.int64), entity, graph))
    code, end, size, member = (np.concatenate(column) for column in zip(*sets))
    pointer = np.concatenate(([0], np.cumsum(size)))
    matrix = csr_matrix((np.ones(len(member), np.float32), member, pointer), (len(code), graph.num_entities))
    useful = (size >= least) & (size < graph.num_entities)
    return Filters(code[useful], end[useful], matrix[np.flatnonzero(useful)])


def _grouped(code: np.ndarray, entity: np.ndarray, graph: Graph) -> tuple[Ids, Ids, Longs, Ids]:
    """The entities of each code, each once."""
    pairs = np.unique(code.astype(np.int64) * graph.num_entities + entity)
    codes, size = np.unique(pairs // max(graph.num_entities, 1), return_counts=True)
    member = pairs % max(graph.num_entities, 1)
    return codes.astype(np.int32), np.full(len(codes), ANY_NODE, np.int32), size, member.astype(np.int32)
