"""The entities of which a statement with one head variable is true: sets of entities, moved along a line step by step.

A walk keeps apart where it came from, which a truth value does not need: one set for the far end, moved back to the
variable, costs one pass over the edges of each step, whatever the number of entities asked about.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..data.arrays import Ids, Mask
from ..data.kb import KnowledgeBase
from .bodies import ANY_NODE, X_NODE, Y_NODE, IdLine


class Sets:
    """Sets of entities of one base, nothing hidden, facts without weights."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb.crisp

    @cached_property
    def _by_code(self) -> tuple[np.ndarray, Ids, Ids]:
        """(offsets, node, neighbour) of all edges, in the order of their codes."""
        edges = self.kb.adjacency
        order = np.argsort(edges.code, kind="stable")
        first = np.searchsorted(edges.code[order], np.arange(self.kb.num_codes + 1))
        return first, edges.node[order], edges.neighbour[order]

    @cached_property
    def _by_class(self) -> tuple[np.ndarray, Ids]:
        """(offsets, entity) of all unary facts, in the order of their predicates."""
        unary = self.kb.unary
        order = np.argsort(unary.predicate, kind="stable")
        first = np.searchsorted(unary.predicate[order], np.arange(self.kb.num_predicates + 1))
        return first, unary.subject[order]

    @cached_property
    def _crosses(self) -> bool:
        """Whether some edge leads from one graph to another: then it matters where a line came from."""
        graph, edges = self.kb.graph_of, self.kb.adjacency
        return graph is not None and bool((graph[edges.node] != graph[edges.neighbour]).any())

    def members(self, line: IdLine) -> Mask | None:
        """For which values of its one variable the line holds; None where it has not one variable at one end.

        Body variables may take the same entity: under `distinct` a set does not say enough.
        """
        if line.equal is not None or self._crosses:
            return None
        variables = [end in (X_NODE, Y_NODE) for end in (line.anchors[0], line.anchors[-1])]
        if len(line.anchors) == 1:
            return self._filtered(np.ones(self.kb.num_entities, bool), line.filters[0]) if variables[0] else None
        if variables[0] == variables[1]:
            return None
        if variables[1]:
            line = line.reversed()
        far = line.anchors[-1]
        reached = np.full(self.kb.num_entities, far == ANY_NODE)
        if far != ANY_NODE:
            reached[far] = True
        reached = self._filtered(reached, line.filters[-1])
        first, node, neighbour = self._by_code
        for code, filters in zip(line.codes[::-1], line.filters[-2::-1]):
            edges = slice(first[code], first[code + 1])
            before = np.zeros_like(reached)
            before[node[edges][reached[neighbour[edges]]]] = True
            reached = self._filtered(before, filters)
        return reached

    def _filtered(self, entities: Mask, filters: tuple[int, ...]) -> Mask:
        first, entity = self._by_class
        for predicate in filters:
            kept = np.zeros_like(entities)
            mine = entity[first[predicate] : first[predicate + 1]]
            kept[mine] = entities[mine]
            entities = kept
        return entities
