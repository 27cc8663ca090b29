"""Which operators, predicates and starts the rules of a target may use: the most frequent ones around its facts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..config import LearnerConfig
from ..data.arrays import Ids
from ..data.kb import KnowledgeBase
from ..kernel.graph import Graph
from .space import PADDING, Kind, Shape, Space, Start, operators_of

Hints = Mapping[int, np.ndarray]
"""Target -> the weight of every step code in its counted rules; the weights sum to 1."""

MOST_STARTS = 1000
"""A unary predicate with more entities (in one graph) can be a filter and a statement, but not a start: too costly."""
HINT_STRENGTH = 20.0
"""How much the operators of counted rules are preferred at the start."""


class Surroundings:
    """Counts over the base by which the vocabularies of all targets are chosen.

    `allowed` are the predicate ids that bodies may use (None: all).
    """

    def __init__(self, kb: KnowledgeBase, allowed: set[int] | None = None, hints: Hints | None = None) -> None:
        self.kb = kb
        self.hints = hints or {}
        self.allowed = set(range(kb.num_predicates)) if allowed is None else allowed
        graph = Graph.of(kb)
        self.edge_node, self.edge_predicate, self.edge_neighbour = graph.node, graph.code >> 1, graph.neighbour
        self.in_graph = _largest_in_a_graph(kb)

    def space(self, target: int, config: LearnerConfig) -> Space:
        """Choose the vocabulary of a target; `config` has its size."""
        kb = self.kb
        arity = kb.predicates[target].arity
        near = self._near(target)
        predicates = self._predicates(target, near, config)
        starts = [Start(Kind.X), *([Start(Kind.Y)] if arity == 2 else [])]
        if not is_linked(arity, config):
            starts += [
                Start(Kind.UNARY, int(p), kb.graph_of is not None)
                for p in predicates
                if kb.predicates[p].arity == 1 and 0 < self.in_graph[p] <= MOST_STARTS
            ]
            if kb.graph_of is None:
                starts += [
                    Start(Kind.CONSTANT, c, False) for c in self._constants(near, predicates, config.neural_constants)
                ]
            starts.append(Start(Kind.ANY))
        return Space(target, arity, operators_of(kb, predicates), predicates, tuple(starts))

    def _near(self, target: int) -> np.ndarray:
        """Return bool (N,): the entities of the target's facts."""
        facts = self.kb.facts.of(target)
        near = np.zeros(self.kb.num_entities, bool)
        near[facts.subject] = True
        near[facts.object[facts.object >= 0]] = True
        return near

    def _predicates(self, target: int, near: np.ndarray, config: LearnerConfig) -> Ids:
        """Return predicate ids, ascending, chosen by facts one step around the target's entities, then two."""
        kb = self.kb
        if config.domain:
            return self._domain(target, config)
        usable = [
            p
            for p in range(kb.num_predicates)
            if p in self.allowed and kb.predicate_counts[p] and (config.recursive or p != target)
        ]
        around = near.copy()
        around[self.edge_neighbour[near[self.edge_node]]] = True
        count = np.zeros(kb.num_predicates)
        for weight, entities in ((1.0, near), (1e-6, around)):
            count += weight * np.bincount(self.edge_predicate[entities[self.edge_node]], minlength=kb.num_predicates)
            unary = kb.unary
            count += weight * np.bincount(unary.predicate[entities[unary.subject]], minlength=kb.num_predicates)
        if target in self.hints:
            count += self.hints[target].reshape(-1, 2).sum(1) * (1 + count.max())
        best = sorted(usable, key=lambda p: (-count[p], p))[: config.vocabulary]
        return np.array(sorted(best), np.int32)

    def _domain(self, target: int, config: LearnerConfig) -> Ids:
        """Return the paper's choice for FB15k-237: rules for /film/... use /film/... predicates."""

        def root(p: int) -> str:
            return self.kb.predicates[p].name.strip("/").split("/")[0]

        same = [p for p in range(self.kb.num_predicates) if p in self.allowed and root(p) == root(target)]
        best = sorted(same, key=lambda p: (-self.kb.predicate_counts[p], p))[: config.domain]
        return np.array(sorted(best), np.int32)

    def _constants(self, near: np.ndarray, predicates: Ids, count: int) -> list[int]:
        """Return the entities that the target's entities, or their neighbours, point at most often."""
        usable = np.isin(self.edge_predicate, predicates)
        around = near.copy()
        around[self.edge_neighbour[near[self.edge_node] & usable]] = True
        hits = np.bincount(self.edge_neighbour[around[self.edge_node] & usable], minlength=self.kb.num_entities)
        order = np.argsort(-hits, kind="stable")[:count]
        return order[hits[order] > 1].tolist()


def is_linked(arity: int, config: LearnerConfig) -> bool:
    """Return whether only statements between X and Y count.

    Without formulas above statements, a target of `arity` 2 needs no others.
    """
    return arity == 2 and config.levels == 0


def _largest_in_a_graph(kb: KnowledgeBase) -> np.ndarray:
    """Return for each unary predicate its largest number of entities in one graph."""
    unary = kb.unary
    graph = np.zeros(kb.num_entities, np.int64) if kb.graph_of is None else kb.graph_of.astype(np.int64)
    keys, counts = np.unique(
        unary.predicate.astype(np.int64) * kb.num_graphs + graph[unary.subject], return_counts=True
    )
    most = np.zeros(kb.num_predicates, np.int64)
    np.maximum.at(most, keys // kb.num_graphs, counts)
    return most


def common_shape(spaces: list[Space], config: LearnerConfig) -> Shape:
    """Return the smallest shape that holds all spaces."""
    return Shape(
        max(len(s.operators) for s in spaces),
        max(len(s.predicates) for s in spaces),
        max(len(s.starts) for s in spaces),
        config.steps,
        config.heads,
        config.instances,
        (config.formulas,) * config.levels,
    )


def warm_start(hints: Hints, spaces: list[Space]) -> np.ndarray:
    """Return (G, O): a prior added to the scores of operators, so that those of counted rules are tried first.

    It is log(1 + HINT_STRENGTH * hint), so that no operator is excluded.
    """
    prior = np.zeros((len(spaces), len(spaces[0].operators)), np.float32)
    for g, space in enumerate(spaces):
        if space.target in hints:
            real = space.operators != PADDING
            prior[g, real] = np.log1p(HINT_STRENGTH * hints[space.target][space.operators[real]])
    return prior
