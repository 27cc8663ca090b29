"""Scenes: a scene is a world of its own, so a query about its objects needs no other facts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..data.arrays import Longs, offsets
from ..data.kb import KnowledgeBase

KEPT = 64
"""Scenes kept at hand: a list of instances comes back to the same ones."""


class Scenes:
    """The scenes of one base; a base that is one graph is its own only scene."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self._kept: OrderedDict[tuple[int, ...], KnowledgeBase] = OrderedDict()

    def around(self, entities: Sequence[int]) -> KnowledgeBase:
        """The base with the facts of the scenes of these entities only."""
        graph_of = self.kb.graph_of
        if graph_of is None:
            return self.kb
        graphs = tuple(np.unique(graph_of[list(entities)]).tolist())
        if graphs not in self._kept:
            order, pointer = self._by_graph
            rows = [order[pointer[graph] : pointer[graph + 1]] for graph in graphs]
            # Ascending, so that facts stay sorted.
            own = self.kb.facts[np.sort(np.concatenate([order[:0], *rows]))]
            self._kept[graphs] = replace(self.kb, facts=own)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(graphs)
        return self._kept[graphs]

    @cached_property
    def _by_graph(self) -> tuple[Longs, Longs]:
        """Rows of the facts by graph, and where each graph begins."""
        assert self.kb.graph_of is not None
        graph = self.kb.graph_of[self.kb.facts.subject]
        order = np.argsort(graph, kind="stable")
        return order, offsets(graph[order], self.kb.num_graphs)
