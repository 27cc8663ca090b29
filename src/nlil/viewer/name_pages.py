"""The first page, the search by name, and the page of an entity."""

from __future__ import annotations

import numpy as np

from ..data.arrays import Ids, Longs
from ..logic.predicate import Fact
from ..logic.query import Query
from ..logic.text import fact_text
from .desk import Desk
from .page import Ask, Document, Page, entity_document, predicate_document, query_of
from .rule_pages import check_number
from .wanted import page_of

TARGETS = 30
FACTS = 30
SUGGESTIONS = 10
QUESTIONS = 12
"""Questions that an entity's page proposes."""
CANDIDATES = 8
"""Classes named for an object of a scene."""


def home_page(ask: Ask) -> Page:
    """What the run is, and its predicates, those with most rules first."""
    desk = ask.desk
    targets: Longs = np.flatnonzero(desk.num_rules > 0).astype(np.int64)
    targets = targets[np.lexsort((targets, -desk.num_rules[targets]))]
    part = page_of(ask.wanted.whole("page", 1, 1), len(targets), TARGETS, "predicates")
    begin = (part["page"] - 1) * TARGETS
    counts = desk.kb.predicate_counts
    shown = [
        {**predicate_document(desk, int(id)), "num_facts": int(counts[id])} for id in targets[begin : begin + TARGETS]
    ]
    example = example_query(desk, targets)
    verdicts = [verdict.verdict for verdict in desk.feedback.values()]
    document = {
        "run": desk.run.path.name,
        "data": desk.run.dataset.name,
        "num_rules": len(desk.rules),
        "num_facts": len(desk.run.dataset.kb.facts),
        "num_entities": desk.kb.num_entities,
        "num_predicates": desk.kb.num_predicates,
        "num_graphs": desk.kb.num_graphs if desk.kb.graph_of is not None else None,
        "num_accepted": verdicts.count("accepted"),
        "num_rejected": verdicts.count("rejected"),
        "is_warm": desk.is_warm,
        **desk.run.summary,
        **part,
        "targets": shown,
        "example": None if example is None else str(example),
        "example_label": None if example is None else desk.labels.query(example),
    }
    return Page("home.html", f"{document['run']}: rules of {document['data']}", document)


def example_query(desk: Desk, targets: Longs) -> Query | None:
    """A question that has an answer, to begin with: about the first fact of the predicate with most rules."""
    for target in targets[:1].tolist():
        facts = desk.kb.facts.of(target)
        if len(facts):
            name = desk.kb.entities.name(int(facts.subject[0]))
            return query_of(desk.kb.predicates[target], name, 0)
    return None


def search_page(ask: Ask) -> Page:
    """Predicates, then entities, whose label or name holds what was typed."""
    desk, wanted = ask.desk, ask.wanted
    typed = wanted.text("q")
    kind = wanted.choice("kind", ("entity", "predicate"))
    limit = wanted.whole("limit", SUGGESTIONS, 1, 100)
    predicates = [] if kind == "entity" else desk.predicates.find(typed, limit)
    entities = [] if kind == "predicate" else desk.entities.find(typed, limit)
    room = max(limit - len(predicates[: limit // 2]), limit - len(entities)) if not kind else limit
    found = [*predicates[: limit - min(len(entities), limit // 2)], *entities[:room]][:limit]
    suggestions = [
        {**predicate_document(desk, n.id), **n.to_dict()} if n.kind == "predicate" else n.to_dict() for n in found
    ]
    return Page(
        "search.html",
        f"Search: {typed}" if typed else "Search",
        {"query": typed, "limit": limit, "suggestions": suggestions},
    )


def entity_page(ask: Ask) -> Page:
    desk = ask.desk
    check_number(ask.number, desk.kb.num_entities, "entity")
    edges = desk.kb.adjacency
    low, high = (int(end) for end in edges.pointer[ask.number : ask.number + 2])
    part = page_of(ask.wanted.whole("page", 1, 1), high - low, FACTS, "facts")
    begin = low + (part["page"] - 1) * FACTS
    some = slice(begin, min(begin + FACTS, high))
    name = desk.kb.entities.name(ask.number)
    unary = sorted(desk.unary_of(ask.number), key=lambda p: p not in desk.kb.classes)
    document: Document = {
        "entity": entity_document(desk, ask.number),
        "image": desk.kb.image_of(ask.number),
        "unary": [
            {**predicate_document(desk, p), "fact": fact_text(Fact(desk.kb.predicates[p], (name,)))} for p in unary
        ],
        **part,
        "first": begin - low,
        "facts": [
            edge_document(desk, ask.number, code, other)
            for code, other in zip(edges.code[some].tolist(), edges.neighbour[some].tolist())
        ],
        "questions": questions(desk, ask.number, edges.code[low:high]),
    }
    classes = desk.object_classes(ask.number)
    if classes is not None:
        document["object"] = {
            **(told := classes.to_dict(CANDIDATES)),
            "candidates": [
                {**candidate, "fact": fact_text(Fact(p, (name,))), "is_true": p in classes.true}
                for (p, _), candidate in zip(classes.ranked, told["candidates"])
            ],
        }
    return Page("entity.html", str(document["entity"]["label"]), document)


def edge_document(desk: Desk, entity: int, code: int, other: int) -> Document:
    """A binary fact of the entity, seen from it."""
    ends = (other, entity) if code & 1 else (entity, other)
    return {
        "predicate": predicate_document(desk, code >> 1),
        "is_subject": not code & 1,
        "other": entity_document(desk, other),
        "fact": fact_text(desk.kb.fact(code >> 1, *ends)),
    }


def questions(desk: Desk, entity: int, codes: Ids) -> list[Document]:
    """Questions with rules to answer them, in which the entity stands where it stands in facts."""
    name = desk.kb.entities.name(entity)
    found = []
    for code in np.unique(codes).tolist():
        if desk.num_rules[code >> 1]:
            query: Query = query_of(desk.kb.predicates[code >> 1], name, code & 1)
            found.append({"query": str(query), "label": desk.labels.query(query)})
    return found[:QUESTIONS]
