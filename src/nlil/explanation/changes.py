"""A knowledge base with a few facts more or fewer, its sorted arrays carried over and not sorted again.

What happens without a fact is asked fact after fact; at the size of FB15k-237 building the indexes anew would take
most of the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..data.facts import NO_OBJECT, Facts
from ..data.kb import Adjacency, KnowledgeBase
from ..errors import ConfigError
from ..kernel.graph import Graph
from ..logic.predicate import Fact
from ..logic.query import parse_fact
from ..logic.text import fact_text

Ids3 = tuple[int, int, int]
"""Predicate, subject, object."""


def as_facts(facts: Iterable[str | Fact]) -> tuple[Fact, ...]:
    """Each once, in order; text is read as `parse_fact` does."""
    return tuple(dict.fromkeys(parse_fact(f) if isinstance(f, str) else f for f in facts))


def fact_ids(kb: KnowledgeBase, fact: Fact) -> Ids3:
    ids = [kb.entities.id(name) for name in fact.arguments]
    return kb.predicate_id(fact.predicate), ids[0], ids[1] if len(ids) == 2 else NO_OBJECT


def place(facts: Facts, ids: Ids3) -> tuple[int, bool]:
    """Where a fact stands or would stand among sorted facts, and whether it stands there."""
    low, high = 0, len(facts)
    # In the type of the columns: numpy would otherwise copy a whole column into that of the value.
    for column, value in zip((facts.predicate, facts.subject, facts.object), np.array(ids, facts.subject.dtype)):
        some = column[low:high]
        low, high = low + int(np.searchsorted(some, value, "left")), low + int(np.searchsorted(some, value, "right"))
    return low, high > low


def changed(kb: KnowledgeBase, add: Sequence[Fact] = (), without: Sequence[Fact] = ()) -> KnowledgeBase:
    """The base with the facts `add` and without the facts `without`; names must be known, and each a change."""
    for fact in without:
        ids = fact_ids(kb, fact)
        row, is_there = place(kb.facts, ids)
        if not is_there:
            raise ConfigError(f"without {fact_text(fact)}: the data has no such fact; name one that it has", "without")
        kb = _edited(kb, row, ids, is_added=False)
    for fact in add:
        ids = fact_ids(kb, fact)
        row, is_there = place(kb.facts, ids)
        if is_there:
            raise ConfigError(f"add {fact_text(fact)}: the data has this fact already; name one that it has not", "add")
        kb = _edited(kb, row, ids, is_added=True)
    return kb


def walking_graph(graph: Graph, kb: KnowledgeBase, has_other_members: bool = True) -> Graph:
    """`graph` with what a walk reads taken from the changed base; what only counting reads stays as it was.

    `has_other_members`: whether unary facts changed; those of a large scene base take a while to sort.
    """
    if kb.facts.weight is not None:
        return Graph.of(kb.crisp)
    there = kb.adjacency
    graph = graph._replace(pointer=there.pointer, code=there.code, neighbour=there.neighbour)
    if not has_other_members:
        return graph
    unary = kb.unary
    order = np.lexsort((unary.predicate, unary.subject))
    pointer = np.concatenate(([0], np.cumsum(np.bincount(unary.subject, minlength=kb.num_entities))))
    return graph._replace(unary_pointer=pointer, unary_predicate=unary.predicate[order])


def _edited(kb: KnowledgeBase, row: int, ids: Ids3, is_added: bool) -> KnowledgeBase:
    """One fact more or fewer at `row` of the sorted facts."""
    facts = kb.facts
    predicate, subject, object = (
        _column(column, row, value, is_added)
        for column, value in zip((facts.predicate, facts.subject, facts.object), ids)
    )
    weight = None if facts.weight is None else _column(facts.weight, row, 1.0, is_added)
    new = replace(kb, facts=Facts(predicate, subject, object, weight))
    # The indexes are cached properties: what is put in their place is not computed.
    vars(new)["adjacency"] = kb.adjacency
    if ids[2] != NO_OBJECT:
        edges = _edge(kb.adjacency, ids[1], 2 * ids[0], ids[2], is_added)
        vars(new)["adjacency"] = _edge(edges, ids[2], 2 * ids[0] + 1, ids[1], is_added)
    return new


def _edge(edges: Adjacency, node: int, code: int, neighbour: int, is_added: bool) -> Adjacency:
    low, high = edges.pointer[node : node + 2]
    low, high = low + np.searchsorted(edges.code[low:high], [code, code + 1])
    row = int(low + np.searchsorted(edges.neighbour[low:high], neighbour))
    pointer = edges.pointer.copy()
    pointer[node + 1 :] += 1 if is_added else -1
    weight = None if edges.weight is None else _column(edges.weight, row, 1.0, is_added)
    return Adjacency(
        pointer, _column(edges.code, row, code, is_added), _column(edges.neighbour, row, neighbour, is_added), weight
    )


def _column(values: np.ndarray, row: int, value: float, is_added: bool) -> np.ndarray:
    return np.insert(values, row, value) if is_added else np.delete(values, row)
