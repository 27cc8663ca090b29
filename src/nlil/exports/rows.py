"""The facts side of an export: entities with their graphs, and the facts that count, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

import numpy as np

from ..data.facts import NO_OBJECT
from ..data.kb import KnowledgeBase
from ..errors import DataError
from ..logic.text import fact_text

ROWS_PER_BLOCK = 500
Item = TypeVar("Item")


def entity_rows(kb: KnowledgeBase) -> Iterator[tuple[str, int]]:
    """(name, graph) of every entity; one graph is graph 0."""
    graphs = np.zeros(kb.num_entities, np.int32) if kb.graph_of is None else kb.graph_of
    yield from zip(kb.entities, graphs.tolist())


def fact_rows(kb: KnowledgeBase) -> Iterator[tuple[str, str, str | None]]:
    """(subject, predicate, object) of the facts of weight >= .5; the object of a unary fact is None."""
    facts = kb.crisp.facts
    if kb.graph_of is not None:
        crossing = ~facts.is_unary & (kb.graph_of[facts.subject] != kb.graph_of[facts.object])
        if crossing.any():
            row = int(np.flatnonzero(crossing)[0])
            fact = kb.fact(int(facts.predicate[row]), int(facts.subject[row]), int(facts.object[row]))
            raise DataError(
                f"expected each fact within one graph, got {fact_text(fact)} across two; rules that are "
                "tied to one graph by their facts cannot be exported then"
            )
    names = list(kb.entities)
    predicates = [p.name for p in kb.predicates]
    for p, s, o in zip(facts.predicate.tolist(), facts.subject.tolist(), facts.object.tolist()):
        yield names[s], predicates[p], None if o == NO_OBJECT else names[o]


def blocks(items: Iterable[Item], size: int = ROWS_PER_BLOCK) -> Iterator[list[Item]]:
    iterator = iter(items)
    while block := list(islice(iterator, size)):
        yield block
