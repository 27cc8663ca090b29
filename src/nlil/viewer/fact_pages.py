"""The pages about facts: answers to a question, why a fact scores what it scores, and why not more."""

from __future__ import annotations

from collections.abc import Sequence

from ..data.arrays import Longs
from ..errors import ConfigError
from ..evaluation import Answer
from ..explanation import Explainer, Explanation
from ..explanation.explanation import Side
from ..explanation.sharing import share_out
from ..explanation.why import SIDES, closed
from ..explanation.why_not import explain_why_not
from ..logic.predicate import Fact, Predicate
from ..logic.query import Query, parse_query
from ..logic.text import fact_text
from .desk import Desk, predicate_of
from .page import Ask, Document, Page, entity_document, fact_document, predicate_document, query_of
from .proof import linked_picture
from .rule_pages import rule_document, short
from .wanted import page_of

ANSWERS = 10
"""Answers of one page."""
MOST_ANSWERS = 1000
"""A question has as many answers as there are entities; nobody turns to the hundredth page."""
STRIPS = 8
"""Rules of an answer whose shares are drawn apart."""
SUPPORTS, MISSES = 12, 4
REMEDIES = (4, 3)
"""Rules that fail, and facts that would help each; of an object of a scene fewer, since each is tried out on all the
rules of its class."""
REMEDIES_OF_OBJECT = (3, 2)


def ask_page(ask: Ask) -> Page:
    """p(a, ?) in one field, or its predicate, entity and place in three."""
    desk, wanted = ask.desk, ask.wanted
    if not (wanted.text("q") or wanted.text("predicate")):
        return Page("ask.html", "Ask", {"query": None})
    query = asked_query(ask)
    open_place = next((place for place, name in enumerate(query.arguments) if name is None), None)
    if open_place is None and len(query.arguments) == 2:
        return explain_page(Ask(desk, type(wanted)({"q": str(query)})))
    found = desk.answers(query, MOST_ANSWERS)
    part = page_of(wanted.whole("page", 1, 1), len(found), ANSWERS, "answers")
    begin = (part["page"] - 1) * ANSWERS
    shown = found[begin : begin + ANSWERS]
    side = SIDES[1 if open_place == 0 and len(query.arguments) == 2 else 0]
    predicate = predicate_of(query)
    facts = [fact_of(predicate, query, answer) for answer in shown]
    explainer, rows = desk.explainer(
        predicate, [*query.arguments, *(answer.entity for answer in shown)], only_firing=True
    )
    answers = [answer_document(desk, explainer, rows, fact, answer, side) for fact, answer in zip(facts, shown)]
    for rank, document in enumerate(answers, start=begin + 1):
        document["rank"] = rank
    chosen = wanted.whole("answer", begin + 1, 1)
    waterfall = None
    if facts:
        place = min(max(chosen - begin - 1, 0), len(facts) - 1)
        explanation = explainer.explain(facts[place], top=SUPPORTS, groundings=0, misses=0, side=side)
        waterfall = {**answers[place], **waterfall_document(desk, explanation, explainer, rows)}
    known = next((name for name in query.arguments if name is not None), None)
    document = {
        "query": str(query),
        "label": desk.labels.query(query),
        "side": side,
        "predicate": predicate_document(desk, desk.kb.predicate_id(predicate)),
        "about": None if known is None else entity_document(desk, desk.kb.entities.id(known)),
        **part,
        "first": begin,
        "answers": answers,
        "waterfall": waterfall,
    }
    return Page("ask.html", str(document["label"]), document)


def asked_query(ask: Ask) -> Query:
    desk, wanted = ask.desk, ask.wanted
    if wanted.text("q"):
        return desk.resolved(parse_query(wanted.text("q")))
    text, entity = wanted.text("predicate"), wanted.text("entity")
    if not entity:
        raise ConfigError(
            "entity: expected the name of an entity, got nothing; type a part of it and choose one", "entity"
        )
    ids = [id for id, name in enumerate(desk.predicates.names) if name == text] or desk.predicates.called(text)
    predicate = desk.kb.predicates[ids[0]] if len(ids) == 1 else desk.kb.predicate(text)
    place = ("subject", "object").index(wanted.choice("place", ("subject", "object"), "subject"))
    return query_of(predicate, desk.kb.entities.name(desk.entity_id(entity)), place)


def fact_of(predicate: Predicate, query: Query, answer: Answer) -> Fact:
    return Fact(predicate, tuple(answer.entity if name is None else name for name in query.arguments))


def answer_document(desk: Desk, explainer: Explainer, rows: Longs, fact: Fact, answer: Answer, side: Side) -> Document:
    """An answer with the shares of its strongest rules; `other_share` is what all others add."""
    fired = explainer.fired(*explainer.ids(fact), side)
    shares = share_out(fired, explainer.rules.aggregation)
    strips = [
        {"row": int(rows[fired.rows[position]]), "share": float(share)}
        for position, share in zip(shares.order[:STRIPS], shares.share[:STRIPS])
    ]
    return {
        "entity": entity_document(desk, desk.kb.entities.id(answer.entity)),
        "fact": fact_text(fact),
        "score": answer.score,
        "probability": desk.probability(fact, answer.score),
        "known": answer.known,
        "shares": strips,
        "other_share": float(shares.share[STRIPS:].sum()),
        "num_counted": len(shares.order),
    }


def waterfall_document(desk: Desk, explanation: Explanation, explainer: Explainer, rows: Longs) -> Document:
    """The shares one after the other: each begins where the one before it ended."""
    steps, begin = [], 0.0
    for support in explanation.supports:
        row = desk.row_of(support.rule, explainer, rows)
        steps.append(
            {
                "row": row,
                "address": f"/rule/{row}",
                "rule": str(support.rule),
                "short": short(desk, support.rule),
                "share": support.share,
                "begin": begin,
            }
        )
        begin += support.share
    unshown = explanation.num_counted - len(explanation.supports)
    return {"steps": steps, "other_share": explanation.other_share, "num_others": unshown, "score": explanation.score}


def asked_fact(ask: Ask) -> tuple[Fact, Side]:
    query = parse_query(ask.wanted.text("q"))
    return closed(ask.desk.resolved(query)), SIDES[SIDES.index(ask.wanted.choice("side", SIDES, SIDES[0]))]  # type: ignore[arg-type]


def explain_page(ask: Ask) -> Page:
    desk = ask.desk
    if not ask.wanted.text("q"):
        raise ConfigError("q: expected a fact to explain such as uncle(alice, bob), got nothing", "q")
    fact, side = asked_fact(ask)
    explainer, rows = desk.explainer(fact.predicate, fact.arguments)
    explanation = explainer.explain(fact, top=SUPPORTS, groundings=3, misses=MISSES, side=side)
    document = {
        **explanation.to_dict(),
        "side": side,
        "links": fact_document(desk, fact),
        "query_label": desk.labels.query(explanation.query),
        "probability": desk.probability(fact, explanation.score),
        "waterfall": waterfall_document(desk, explanation, explainer, rows),
        "image": desk.kb.image_of(desk.kb.entities.id(fact.arguments[0])),
    }
    for listed, support in zip(document["supports"], explanation.supports):
        listed |= linked_rule(desk, desk.row_of(support.rule, explainer, rows))
        for way, grounding in zip(listed["groundings"], support.groundings):
            way["links"] = linked_facts(desk, grounding.facts)
    for listed, miss in zip(document["misses"], explanation.misses):
        listed |= linked_rule(desk, desk.row_of(miss.rule, explainer, rows))
    if desk.has_scenes:
        classes = desk.object_classes(desk.kb.entities.id(fact.arguments[0]))
        document["object"] = None if classes is None else classes.to_dict()
    return Page("explain.html", desk.labels.fact(fact), document, {"picture": linked_picture(desk, explanation)})


def why_not_page(ask: Ask) -> Page:
    desk = ask.desk
    if not ask.wanted.text("q"):
        return Page("why_not.html", "Why not", {"fact": None})
    fact, side = asked_fact(ask)
    explainer, rows = desk.explainer(fact.predicate, fact.arguments)
    top, facts = REMEDIES_OF_OBJECT if desk.has_scenes else REMEDIES
    found = explain_why_not(explainer, fact, top=top, facts=facts, side=side)
    document = {**found.to_dict(), "side": side, "links": fact_document(desk, fact)}
    for listed, hindered in zip(document["rules"], found.rules):
        listed |= linked_rule(desk, desk.row_of(hindered.rule, explainer, rows))
        for remedy, tried in zip(listed["remedies"], hindered.remedies):
            remedy["links"] = fact_document(desk, tried.change.fact)
    return Page("why_not.html", f"Why not {desk.labels.fact(fact)}", document)


def linked_rule(desk: Desk, row: int) -> Document:
    rule = rule_document(desk, row)
    return {name: rule[name] for name in ("row", "address", "short", "distinct", "verdict")}


def linked_facts(desk: Desk, facts: Sequence[Fact]) -> list[Document]:
    return [fact_document(desk, fact) for fact in facts]
