"""The pages about rules: those of a predicate, one rule with its instances, and what people said of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..explanation.rule_card import wilson_interval
from ..learning.feedback import VERDICTS, verdict_document
from ..logic.rule import Rule
from .constructs import construct_names, constructs
from .desk import Desk
from .page import Ask, Document, Page, entity_document, fact_document, predicate_document
from .table import BY_VERDICT, SORTS, Filter
from .wanted import NoSuchPage, page_of

ROWS = 25
"""Rules of one page."""
INSTANCES = 10
"""Examples, and counterexamples, of one page."""


def predicate_page(ask: Ask) -> Page:
    desk, wanted = ask.desk, ask.wanted
    check_number(ask.number, desk.kb.num_predicates, "predicate")
    table = desk.shelf(ask.number).table
    sort = wanted.choice("sort", SORTS, "weight")
    is_rising = wanted.choice("order", ("rising", "falling"), "rising" if sort == "length" else "falling") == "rising"
    chosen = Filter(
        wanted.whole("min_support", 0),
        wanted.share("min_confidence"),
        wanted.whole("min_length", 0),
        wanted.whole("max_length", 10**6, 0, 10**6),
        wanted.choice("construct", table.present),
        wanted.choice("verdict", BY_VERDICT),
    )
    positions = table.matching(chosen, desk.verdicts[table.rows])
    part = page_of(wanted.whole("page", 1, 1), len(positions), ROWS, "rules")
    begin = (part["page"] - 1) * ROWS
    rows = table.rows[table.part(positions, sort, is_rising, begin, begin + ROWS)]
    shown = predicate_document(desk, ask.number)
    predicate = desk.kb.predicates[ask.number]
    document: Document = {
        "predicate": shown,
        "num_facts": int(desk.kb.predicate_counts[ask.number]),
        "exclusions": [str(e) for e in desk.rules.exclusions if e.target == predicate],
        "sort": sort,
        "order": "rising" if is_rising else "falling",
        "constructs": table.present,
        **part,
        "first": begin,
        "rules": [rule_document(desk, int(row)) for row in rows],
    }
    return Page("predicate.html", str(shown["label"]), document)


def rule_page(ask: Ask) -> Page:
    desk, wanted = ask.desk, ask.wanted
    check_number(ask.number, len(desk.rules), "rule")
    examples, against = wanted.whole("examples", 1, 1), wanted.whole("counterexamples", 1, 1)
    scored = desk.rules[ask.number]
    stats = scored.stats
    parts = {
        "examples": page_of(examples, stats.support, INSTANCES, "examples"),
        "counterexamples": page_of(against, stats.body_size - stats.support, INSTANCES, "counterexamples"),
    }
    first = desk.cards.card(ask.number, examples=INSTANCES, counterexamples=0, offset=(examples - 1) * INSTANCES)
    second = desk.cards.card(ask.number, examples=0, counterexamples=INSTANCES, offset=(against - 1) * INSTANCES)
    card = first.to_dict()
    said = second.to_dict()
    card["predictions"], card["counterexamples"] = said["predictions"], said["counterexamples"]
    for name, instances in (
        ("examples", first.examples),
        ("counterexamples", second.counterexamples),
        ("predictions", second.predictions),
    ):
        for listed, instance in zip(card[name], instances):
            listed["links"] = fact_document(desk, instance.fact)
            ways = () if instance.grounding is None else instance.grounding.facts
            listed["known_links"] = [entity_document(desk, desk.kb.entities.id(known)) for known in instance.known]
            listed["because"] = [fact_document(desk, fact) for fact in ways]
    document = {**card, **rule_document(desk, ask.number), "english": english(desk, scored.rule), "pages": parts}
    return Page("rule.html", str(document["short"]), document)


def feedback_page(ask: Ask) -> Page:
    """All rules that somebody has accepted or rejected, the last verdict first."""
    desk = ask.desk
    rows = np.flatnonzero(desk.verdicts)
    last = {text: place for place, text in enumerate(desk.feedback)}
    judged = sorted((rule_document(desk, int(row)) for row in rows), key=lambda rule: -last.get(rule["rule"], 0))
    part = page_of(ask.wanted.whole("page", 1, 1), len(judged), ROWS, "verdicts")
    begin = (part["page"] - 1) * ROWS
    return Page("feedback.html", "Verdicts", {**part, "first": begin, "rules": judged[begin : begin + ROWS]})


def rule_document(desk: Desk, row: int) -> Document:
    """A rule in a list: its text, its counts, what was said of it."""
    scored = desk.rules[row]
    rule = scored.rule
    bits = int(constructs(desk.rules.take(np.array([row])))[0])
    return {
        "row": row,
        "address": f"/rule/{row}",
        "rule": str(rule),
        "label": desk.labels.rule(rule),
        "short": short(desk, rule),
        "target": predicate_document(desk, int(desk.rules.head[row])),
        "length": rule.length,
        "distinct": rule.distinct,
        "constructs": construct_names(bits),
        "weight": scored.weight,
        **scored.stats.to_dict(),
        "confidence_interval": list(wilson_interval(scored.stats.support, scored.stats.body_size)),
        "verdict": verdict_document(desk.feedback, str(rule)),
    }


def short(desk: Desk, rule: Rule) -> str:
    from ..explanation.phrases import short_rule

    return short_rule(rule, desk.labels)


def english(desk: Desk, rule: Rule) -> str:
    from ..exports.english import rule_sentence

    return rule_sentence(rule, desk.labels)


def judge(desk: Desk, row: int, form: dict[str, Any]) -> None:
    """What the form on a rule's page says."""
    from .wanted import Wanted

    check_number(row, len(desk.rules), "rule")
    values = Wanted(form)
    verdict = values.choice("verdict", (*VERDICTS, "none"), "none")
    desk.judge(row, "" if verdict == "none" else verdict, values.text("note"))


def check_number(number: int, total: int, what: str) -> None:
    if not 0 <= number < total:
        raise NoSuchPage(f"{what} {number:,}: there are {total:,}, numbered from 0; search for it by name")
