"""Page: what a page says as plain data (its JSON), the template that shows it, and drawings that only people need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..logic.predicate import Fact, Predicate
from ..logic.query import Query
from ..logic.text import fact_text
from .desk import Desk
from .wanted import Wanted

Document = dict[str, Any]


@dataclass(frozen=True)
class Page:
    """`drawings` are SVG texts in which everything from data is escaped."""

    template: str
    title: str
    document: Document
    drawings: Mapping[str, str] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True)
class Ask:
    """One request: the desk, the values of the address, and the number in its path (0 where it has none)."""

    desk: Desk
    wanted: Wanted
    number: int = 0


def entity_document(desk: Desk, id: int) -> Document:
    """An entity to link to; objects of scenes mostly have a number for a name, so their classes are told too."""
    named: Document = dict(desk.entities.named(id).to_dict())
    return named | {"classes": [desk.predicates.labels[c] for c in desk.classes_of(id)]} if desk.has_scenes else named


def predicate_document(desk: Desk, id: int) -> Document:
    predicate = desk.kb.predicates[id]
    return {**desk.predicates.named(id).to_dict(), "arity": predicate.arity, "num_rules": int(desk.num_rules[id])}


def fact_document(desk: Desk, fact: Fact) -> Document:
    """A fact with everything that a page links to: its predicate, its entities, its explanation."""
    return {
        "fact": fact_text(fact),
        "label": desk.labels.fact(fact),
        "predicate": predicate_document(desk, desk.kb.predicate_id(fact.predicate)),
        "arguments": [entity_document(desk, desk.kb.entities.id(name)) for name in fact.arguments],
    }


def query_of(predicate: Predicate, name: str, place: int) -> Query:
    """p(a, ?) for the place 0, p(?, a) for 1; p(a) for a unary predicate."""
    if predicate.arity == 1:
        return Query(predicate.name, (name,))
    return Query(predicate.name, (name, None) if place == 0 else (None, name))
