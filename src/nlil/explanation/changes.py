"""A knowledge base with other facts: a few added or removed, or only those of some scenes.

Sorted arrays are edited instead of rebuilt: `necessary_facts` removes one fact after another, and rebuilding the
indexes of a base like FB15k-237 would take most of the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np

from ..data.arrays import Longs, offsets
from ..data.facts import NO_OBJECT, Facts
from ..data.kb import KnowledgeBase
from ..errors import ConfigError
from ..kernel.graph import Graph
from ..logic.predicate import Fact
from ..logic.query import parse_fact
from ..logic.text import fact_text

CACHED_SCENES = 64
"""Scenes kept; a list of instances often returns to the same ones."""
Ids3 = tuple[int, int, int]
"""Predicate, subject, object."""


def as_facts(facts: Iterable[str | Fact]) -> tuple[Fact, ...]:
    """Return the distinct `facts`, in order; text is parsed by `parse_fact`."""
    return tuple(dict.fromkeys(parse_fact(f) if isinstance(f, str) else f for f in facts))


def fact_ids(kb: KnowledgeBase, fact: Fact) -> Ids3:
    """Return predicate, subject and object (NO_OBJECT for a unary fact) in the ids of `kb`."""
    ids = [kb.entities.id(name) for name in fact.arguments]
    return kb.predicate_id(fact.predicate), ids[0], ids[1] if len(ids) == 2 else NO_OBJECT


def find_fact(facts: Facts, ids: Ids3) -> tuple[int, bool]:
    """Return the position of a fact among the sorted `facts`, or where it would be, and whether it is there.

    `ids` are predicate, subject and object.
    """
    low, high = 0, len(facts)
    # Use the dtype of the columns; otherwise numpy would convert a whole column.
    for column, value in zip((facts.predicate, facts.subject, facts.object), np.array(ids, facts.subject.dtype)):
        some = column[low:high]
        low, high = low + int(np.searchsorted(some, value, "left")), low + int(np.searchsorted(some, value, "right"))
    return low, high > low


def changed(kb: KnowledgeBase, add: Sequence[Fact] = (), without: Sequence[Fact] = ()) -> KnowledgeBase:
    """Return the base with the facts `add` and without the facts `without`; each must be a change of known names."""
    for fact in without:
        ids = fact_ids(kb, fact)
        row, is_there = find_fact(kb.facts, ids)
        if not is_there:
            raise ConfigError(f"without {fact_text(fact)}: this fact is not in the data; name one that is", "without")
        kb = _edited(kb, row, ids, is_added=False)
    for fact in add:
        ids = fact_ids(kb, fact)
        row, is_there = find_fact(kb.facts, ids)
        if is_there:
            raise ConfigError(f"add {fact_text(fact)}: this fact is already in the data; name one that is not", "add")
        kb = _edited(kb, row, ids, is_added=True)
    return kb


def _edited(kb: KnowledgeBase, row: int, ids: Ids3, is_added: bool) -> KnowledgeBase:
    """Add or remove one fact at `row` of the sorted facts."""
    facts = kb.facts
    predicate, subject, object = (
        _column(column, row, value, is_added)
        for column, value in zip((facts.predicate, facts.subject, facts.object), ids)
    )
    weight = None if facts.weight is None else _column(facts.weight, row, 1.0, is_added)
    new = replace(kb, facts=Facts(predicate, subject, object, weight))
    graph = Graph.of(kb)
    change = _with_member if ids[2] == NO_OBJECT else _with_fact
    graph = change(graph, ids, is_added, weight is not None)
    graph.keep_for(new)
    return new


def _with_fact(graph: Graph, ids: Ids3, is_added: bool, is_soft: bool) -> Graph:
    """Add or remove a binary fact."""
    predicate, subject, object = ids
    both = ((subject, 2 * predicate, object), (object, 2 * predicate + 1, subject))
    for node, code, neighbour in both:
        graph = _with_edge(graph, node, code, neighbour, is_added, is_soft)
    if is_added:
        for node, code, neighbour in both:
            low, high = graph.edges(node, code)
            row = low + np.searchsorted(graph.neighbour[low:high], np.int32(neighbour))
            graph.back_span[row] = graph.find_spans(neighbour, code ^ 1)
    return graph


def _with_edge(graph: Graph, node: int, code: int, neighbour: int, is_added: bool, is_soft: bool) -> Graph:
    """Add an edge, with a `back_span` that is still to be set, or remove one."""
    change = 1 if is_added else -1
    key = node * graph.num_codes + code
    span = int(np.searchsorted(graph.span_key, key))
    low, high = graph.edges(node, code)
    row = int(low + np.searchsorted(graph.neighbour[low:high], np.int32(neighbour)))
    graph = graph._replace(
        pointer=_shifted(graph.pointer, node + 1, change),
        code=_column(graph.code, row, code, is_added),
        neighbour=_column(graph.neighbour, row, neighbour, is_added),
        weight=_column(graph.weight, row, 1.0, is_added) if is_soft else graph.weight,
        back_span=_column(graph.back_span, row, 0, is_added),
        code_edges=_shifted(graph.code_edges, code, change, code + 1),
    )
    if high - low > (0 if is_added else 1):  # the span stays, or was there
        return graph._replace(span_pointer=_shifted(graph.span_pointer, span + 1, change))
    first, last = graph.code_pointer[code : code + 2]
    place = first + int(np.searchsorted(graph.span_node[graph.code_span[first:last]], np.int32(node)))
    code_span = graph.code_span if is_added else np.delete(graph.code_span, place)
    code_span = code_span + change * (code_span >= span).astype(code_span.dtype)
    return graph._replace(
        back_span=graph.back_span + change * (graph.back_span >= span).astype(graph.back_span.dtype),
        node_span=_shifted(graph.node_span, node + 1, change),
        span_pointer=_shifted(_column(graph.span_pointer, span, low, is_added), span + is_added, change),
        span_node=_column(graph.span_node, span, node, is_added),
        span_code=_column(graph.span_code, span, code, is_added),
        span_key=_column(graph.span_key, span, key, is_added),
        code_pointer=_shifted(graph.code_pointer, code + 1, change),
        code_span=np.insert(code_span, place, span) if is_added else code_span,
    )


def _with_member(graph: Graph, ids: Ids3, is_added: bool, is_soft: bool) -> Graph:
    """Add or remove a unary fact."""
    predicate, entity, _ = ids
    change = 1 if is_added else -1
    low, high = graph.unary_pointer[entity : entity + 2]
    of_entity = int(low + np.searchsorted(graph.unary_predicate[low:high], np.int32(predicate)))
    of_predicate = int(graph.member_pointer[predicate] + np.searchsorted(graph.members(predicate), np.int32(entity)))
    weight = graph.member_weight
    return graph._replace(
        unary_pointer=_shifted(graph.unary_pointer, entity + 1, change),
        unary_predicate=_column(graph.unary_predicate, of_entity, predicate, is_added),
        member_pointer=_shifted(graph.member_pointer, predicate + 1, change),
        member=_column(graph.member, of_predicate, entity, is_added),
        member_weight=_column(weight, of_predicate, 1.0, is_added) if is_soft else weight,
    )


def _shifted(values: np.ndarray, begin: int, change: int, end: int | None = None) -> np.ndarray:
    values = values.copy()
    values[begin:end] += change
    return values


def _column(values: np.ndarray, row: int, value: float, is_added: bool) -> np.ndarray:
    return np.insert(values, row, value) if is_added else np.delete(values, row)


# scenes are separate worlds: a query about the objects of a scene needs no other facts -----------------------


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
