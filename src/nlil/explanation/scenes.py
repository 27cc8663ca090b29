"""Scenes are separate worlds: a query about the objects of a scene needs no other facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np

from ..data.arrays import Longs, offsets
from ..data.kb import KnowledgeBase

CACHED_SCENES = 64
"""Scenes kept; a list of instances often returns to the same ones."""


class Scenes:
    """The scenes of `kb`; a base with a single graph is its own only scene."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self._of_graphs = lru_cache(CACHED_SCENES)(self._scenes)

    def around(self, entities: Sequence[int]) -> KnowledgeBase:
        """Return the base with only the facts of the scenes of these entities."""
        graph_of = self.kb.graph_of
        return self.kb if graph_of is None else self._of_graphs(*np.unique(graph_of[list(entities)]).tolist())

    def _scenes(self, *graphs: int) -> KnowledgeBase:
        order, pointer = self._by_graph
        rows = [order[pointer[graph] : pointer[graph + 1]] for graph in graphs]
        # Keep the facts sorted.
        return replace(self.kb, facts=self.kb.facts[np.sort(np.concatenate([order[:0], *rows]))])

    @cached_property
    def _by_graph(self) -> tuple[Longs, Longs]:
        """The rows of the facts by graph, and the begin of each graph."""
        assert self.kb.graph_of is not None
        graph = self.kb.graph_of[self.kb.facts.subject]
        order = np.argsort(graph, kind="stable")
        return order, offsets(graph[order], self.kb.num_graphs)
