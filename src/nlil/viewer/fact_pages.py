"""The pages about facts: answers to a query, explanations, contrasts, and why not."""

from __future__ import annotations

from collections.abc import Mapping

from ..data.arrays import Longs
from ..errors import ConfigError
from ..evaluation.prediction import Answer
from ..explanation.brief import sentence
from ..explanation.contrast import explain_contrast, rival_of
from ..explanation.why import SIDES, Explainer, Explanation, Side, as_fact
from ..explanation.why_not import explain_why_not
from ..kernel.calibration import probability_document
from ..logic.predicate import Fact
from ..logic.query import Query, parse_query
from ..logic.text import fact_text
from ..scene.canvas import as_svg
from ..scene.picture import draw
from .page_data import PageData, query_of
from .pages import (
    Document,
    Maker,
    Page,
    Parameters,
    entity_document,
    fact_document,
    first_of,
    linked_rule,
    predicate_document,
)

ANSWERS_PER_PAGE = 10
MAX_ANSWERS = 1000
"""Limit of the answers listed; nobody reads the hundredth page."""
MAX_STRIPS = 8
"""Rules of an answer with separate shares."""
MAX_SUPPORTS, MAX_MISSES = 12, 4
"""Rules shown in an explanation that fire, and that do not."""
MAX_REASONS = 8
"""Reasons shown."""
MAX_FACTS = 20
"""Facts shown with their value."""
REMEDIES = (4, 3)
"""Rules shown that do not fire, and facts that would help each."""
REMEDIES_OF_OBJECT = (3, 2)
"""Fewer for objects, since each change is tried on all rules of the class."""
WIDE_PICTURE = 1000
"""Pictures wider than this many pixels are scrollable on a narrow screen."""


def ask_page(data: PageData, parameters: Parameters, number: int) -> Page:
    """Show the answers to p(a, ?), given in one field, or as predicate, entity and position."""
    if not (parameters.text("q") or parameters.text("predicate")):
        return Page("ask.html", "Ask", {"query": None})
    query = query_from(data, parameters)
    open_place = next((place for place, name in enumerate(query.arguments) if name is None), None)
    if open_place is None and len(query.arguments) == 2:
        return explain_page(data, Parameters({"q": str(query)}), number)
    found = data.answers(query, MAX_ANSWERS)
    part = parameters.part(len(found), ANSWERS_PER_PAGE, "answers")
    begin = first_of(part)
    shown = found[begin : begin + ANSWERS_PER_PAGE]
    side = SIDES[1 if open_place == 0 and len(query.arguments) == 2 else 0]
    predicate = query.target
    facts = [Fact(predicate, tuple(a.entity if name is None else name for name in query.arguments)) for a in shown]
    names = [*query.arguments, *(answer.entity for answer in shown)]
    explainer, rows = data.explainer(predicate, names, only_firing=True)
    answers = [
        {**answer_document(data, explainer, rows, fact, answer, side, open_place is not None), "rank": rank}
        for rank, (fact, answer) in enumerate(zip(facts, shown), start=begin + 1)
    ]
    chosen = parameters.whole("answer", begin + 1, 1)
    waterfall = None
    if facts:
        place = min(max(chosen - begin - 1, 0), len(facts) - 1)
        explanation = explainer.explain(facts[place], top=MAX_SUPPORTS, groundings=0, misses=0, side=side)
        fall = waterfall_document(data, explanation, explainer, rows)
        waterfall = {**answers[place], **fall, "sentence": sentence(explanation)}
    known = next((name for name in query.arguments if name is not None), None)
    document = {
        "query": str(query),
        "label": data.labels.query(query),
        "side": side,
        "predicate": predicate_document(data, data.kb.predicate_id(predicate)),
        "about": None if known is None else entity_document(data, data.kb.entities.id(known)),
        **part,
        "first": begin,
        "answers": answers,
        "waterfall": waterfall,
        "object": object_document(data, facts[0]) if facts and len(query.arguments) == 1 else None,
    }
    return Page("ask.html", str(document["label"]), document)


def query_from(data: PageData, parameters: Parameters) -> Query:
    """Return the query of the `parameters`, with names of the data."""
    if parameters.text("q"):
        return data.resolved(parse_query(parameters.text("q")))
    text, entity = parameters.text("predicate"), parameters.text("entity")
    if not entity:
        raise ConfigError(
            "entity: expected the name of an entity, got nothing; type a part of it and choose one", "entity"
        )
    ids = [id for id, name in enumerate(data.predicates.names) if name == text] or data.predicates.called(text)
    predicate = data.kb.predicates[ids[0]] if len(ids) == 1 else data.kb.predicate(text)
    place = ("subject", "object").index(parameters.choice("place", ("subject", "object"), "subject"))
    return query_of(predicate, data.kb.entities.name(data.entity_id(entity)), place)


def answer_document(
    data: PageData, explainer: Explainer, rows: Longs, fact: Fact, answer: Answer, side: Side, is_ranked: bool
) -> Document:
    """Return an `answer` with the shares of its strongest rules; `other_share` is that of all others.

    If answers are ranked (`is_ranked`), the probability of a class is left out: it compares the classes of one object
    and could contradict the order of several objects. `side` is that of the answer in the fact.
    """
    found = explainer.scored(fact, side)
    shares, is_joint = found.shares, explainer.probabilities.is_joint(fact.predicate)
    strips = [
        {"row": int(rows[found.fired.rows[position]]), "share": float(share)}
        for position, share in zip(shares.order[:MAX_STRIPS], shares.share[:MAX_STRIPS])
    ]
    return {
        "entity": entity_document(data, data.kb.entities.id(answer.entity)),
        "fact": fact_text(fact),
        "score": answer.score,
        **probability_document(None if is_ranked and is_joint else data.probability(fact, answer.score)),
        "known": answer.known,
        "shares": strips,
        "other_share": float(shares.share[MAX_STRIPS:].sum()),
        "num_counted": len(shares.order),
    }


def waterfall_document(data: PageData, explanation: Explanation, explainer: Explainer, rows: Longs) -> Document:
    """Return the reasons of `explanation` as steps of a waterfall chart.

    Each begins where the one before it ended, and links to its strongest rule. Frequency comes last, after the
    `other_share` of reasons that are not shown.
    """
    reasons = [reason for reason in explanation.reasons if reason.kind != "frequency"]
    frequent = [reason for reason in explanation.reasons if reason.kind == "frequency"]
    others = reasons[MAX_REASONS:]
    other_share = sum(reason.share for reason in others)
    steps, begin = [], 0.0
    for reason in (*reasons[:MAX_REASONS], *frequent):
        begin += other_share if reason.kind == "frequency" else 0
        step = {**reason.to_dict(explanation.fact, data.labels), "begin": begin}
        if reason.strongest is not None:
            step |= linked_rule(data, data.row_of(reason.strongest.rule, explainer, rows))
            step["rule"] = str(reason.strongest.rule)
        steps.append(step)
        begin += reason.share
    return {"steps": steps, "other_share": other_share, "num_others": len(others), "score": explanation.score}


def fact_from(data: PageData, parameters: Parameters) -> tuple[Fact, Side]:
    """Return the fact of the `parameters`, and the side that is explained."""
    query = parse_query(parameters.text("q"))
    return as_fact(data.resolved(query), data.kb), SIDES[SIDES.index(parameters.choice("side", SIDES, SIDES[0]))]


def explain_page(data: PageData, parameters: Parameters, number: int) -> Page:
    """Show why a fact has its score."""
    if not parameters.text("q"):
        raise ConfigError("q: expected a fact to explain such as uncle(alice, bob), got nothing", "q")
    fact, side = fact_from(data, parameters)
    explainer, rows = data.explainer(fact.predicate, fact.arguments)
    explanation = explainer.explain(fact, top=MAX_SUPPORTS, groundings=3, misses=MAX_MISSES, side=side)
    subject = data.kb.entities.id(fact.arguments[0])
    document = {
        **explanation.to_dict(),
        "side": side,
        "links": fact_document(data, fact),
        "query_label": data.labels.query(explanation.query),
        "waterfall": waterfall_document(data, explanation, explainer, rows),
        "image": data.kb.image_of(subject),
    }
    for listed, support in zip(document["supports"], explanation.supports):
        listed |= linked_rule(data, data.row_of(support.rule, explainer, rows))
        for way, grounding in zip(listed["groundings"], support.groundings):
            way["links"] = [fact_document(data, one) for one in grounding.facts]
    for listed, miss in zip(document["misses"], explanation.misses):
        listed |= linked_rule(data, data.row_of(miss.rule, explainer, rows))
    document["facts"] = [
        {**listed, "links": fact_document(data, one.fact)}
        for listed, one in zip(document["facts"][:MAX_FACTS], explanation.facts)
    ]
    document["object"] = object_document(data, fact)
    return Page("explain.html", data.labels.fact(fact), document, {"picture": linked_picture(data, explanation)})


def object_document(data: PageData, fact: Fact) -> Document | None:
    """Return the classes of an object of a scene, most probable first, each with its fact; None for other entities."""
    classes = data.object_classes(data.kb.entities.id(fact.arguments[0])) if data.has_scenes else None
    if classes is None:
        return None
    shown = classes.to_dict()
    facts = [Fact(predicate, fact.arguments[:1]) for predicate, _ in classes.ranked]
    is_class = fact.predicate.arity == 1
    candidates = [
        {**candidate, "fact": fact_text(one), "is_other": is_class and one != fact}
        for candidate, one in zip(shown["candidates"], facts)
    ]
    return {**shown, "candidates": candidates}


def contrast_page(data: PageData, parameters: Parameters, number: int) -> Page:
    """Show why one answer rather than another, or one class rather than another."""
    if not (parameters.text("q") and parameters.text("than")):
        raise ConfigError(
            "q, than: expected a fact such as uncle(alice, bob) and what it is compared with, such as "
            "uncle(alice, carl), got nothing",
            "than",
        )
    fact, side = fact_from(data, parameters)
    rival = rival_from(data, fact, parameters.text("than"), side)
    places = [data.explainer(one.predicate, (*fact.arguments, *rival.arguments)) for one in (fact, rival)]
    found = explain_contrast(places[0][0], places[1][0], fact, rival, side)
    document = {"side": side, "names": list(found.names), **found.to_dict()}
    for name, preference, (explainer, rows) in zip(("first", "second"), (found.first, found.second), places):
        shown = document[name]
        shown["links"] = fact_document(data, preference.fact)
        for listed, reason in zip(shown["reasons"], preference.reasons):
            listed["links"] = [fact_document(data, one) for one in reason.facts]
            if reason.strongest is not None:
                listed |= linked_rule(data, data.row_of(reason.strongest.rule, explainer, rows))
        shown["num_weaker"] = max(len(shown["reasons"]) - MAX_REASONS, 0)
        shown["weaker_share"] = sum(reason.share for reason in preference.reasons[MAX_REASONS:])
        shown["reasons"] = shown["reasons"][:MAX_REASONS]
    one, two = found.names
    return Page("contrast.html", f"Why {one} rather than {two}", document)


def rival_from(data: PageData, fact: Fact, than: str, side: Side) -> Fact:
    """Return the fact to compare with: given as a fact, or as the name or label of another answer or class.

    Args:
        data: The data of the run.
        fact: The explained fact.
        than: The fact or the name.
        side: The side of the fact that is explained.
    """
    if "(" in than and data.kb.entities.find(than) is None:
        than = fact_text(as_fact(data.resolved(parse_query(than)), data.kb))
    elif len(fact.arguments) == 2:
        than = data.kb.entities.name(data.entity_id(than))
    return rival_of(data.kb, fact, than, side)


def linked_picture(data: PageData, explanation: Explanation) -> str:
    """Draw `explanation` as SVG: a proof graph, or a scene with its boxes; every entity links to its page."""

    def page(name: str) -> tuple[str, str] | None:
        id = data.kb.entities.find(name)
        return None if id is None else (f"/entity/{id}", data.entities.labels[id])

    drawn = draw(explanation, data.kb)
    text = as_svg(drawn, page)
    return text.replace("<svg ", '<svg class="wide" ', 1) if drawn.width > WIDE_PICTURE else text


def why_not_page(data: PageData, parameters: Parameters, number: int) -> Page:
    """Show why a fact does not have a higher score."""
    if not parameters.text("q"):
        return Page("why_not.html", "Why not", {"fact": None})
    fact, side = fact_from(data, parameters)
    explainer, rows = data.explainer(fact.predicate, fact.arguments)
    top, facts = REMEDIES_OF_OBJECT if data.has_scenes else REMEDIES
    found = explain_why_not(explainer, fact, top=top, facts=facts, side=side)
    document = {**found.to_dict(), "side": side, "links": fact_document(data, fact)}
    for listed, hindered in zip(document["rules"], found.rules):
        listed |= linked_rule(data, data.row_of(hindered.rule, explainer, rows))
        for remedy, tried in zip(listed["remedies"], hindered.remedies):
            remedy["links"] = fact_document(data, tried.change.fact)
    return Page("why_not.html", f"Why not {data.labels.fact(fact)}", document)


FACT_PAGES: Mapping[str, Maker] = {
    "/ask": ask_page,
    "/explain": explain_page,
    "/contrast": contrast_page,
    "/why-not": why_not_page,
}
"""By address."""
