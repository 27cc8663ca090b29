"""The pages: the content of each as plain data (its JSON), its template, and drawings for people.

A page is made from the data of the run, the parameters of its address, and the number in its path (0 without one).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import numpy as np

from ..data.arrays import Ids, Longs
from ..errors import ConfigError, NlilError
from ..evaluation.metrics import wilson_interval
from ..kernel.constructs import construct_names, constructs
from ..kernel.graph import Graph
from ..learning.feedback import VERDICTS, verdict_document
from ..logic.english import rule_sentence
from ..logic.labels import Labels
from ..logic.predicate import Fact
from ..logic.text import fact_text, step_text
from ..report.contents import target_chart, training_parts
from ..scene.object_classes import classes_of
from ..theory.listing import TargetTheory, TheoryRule, adds_text, same_rules, ties_sentence
from .neighbourhood import neighbourhood, opened_entities
from .page_data import PageData, query_of
from .rule_store import BY_VERDICT, NO_MAX_LENGTH, SORTS

MAX_CHARACTERS = 2000
"""Limit of a parameter; names and facts are much shorter."""
FACTS_PER_PAGE = 30
RULES_PER_PAGE = 25
INSTANCES_PER_PAGE = 10
"""Examples per page, and counterexamples."""
MAX_SUGGESTIONS = 10
MAX_QUERIES = 12
"""Queries proposed on the page of an entity."""
MAX_SAME = 10
"""Limit of the listed rules that a rule of a theory represents; a link leads to all of them."""
POOL_PARAMETERS = (
    *("sort", "order", "page", "family", "construct", "verdict"),
    *("min_support", "min_confidence", "min_length", "max_length"),
)
"""Parameters of the table of all rules; an address with one of them opens the table."""
MAX_CLASSES = 8
"""Classes listed for an object of a scene."""

Document = dict[str, Any]
Maker = Callable[[PageData, "Parameters", int], "Page"]


class NoSuchPage(NlilError):
    """The address is well-formed, but there is nothing at it."""


@dataclass(frozen=True)
class Page:
    """A page: its `document`, plain data, the `template` that shows it, and its `title`.

    `drawings` are SVG texts in which everything from the data is escaped.
    """

    template: str
    title: str
    document: Document
    drawings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Parameters:
    """The `values` of the query parameters of an address, by name; an invalid one raises an error with one sentence."""

    values: Mapping[str, str]

    def text(self, name: str, default: str = "") -> str:
        """Return the stripped text of the parameter `name`; `default` if it is missing."""
        value = self.values.get(name, default)
        if len(value) > MAX_CHARACTERS:
            raise ConfigError(f"{name}: expected at most {MAX_CHARACTERS:,} characters, got {len(value):,}", name)
        return value.strip()

    def choice(self, name: str, allowed: Sequence[str], default: str = "") -> str:
        """Return one of the `allowed` values; `default` if the parameter `name` is empty."""
        value = self.text(name) or default
        if value and value not in allowed:
            raise ConfigError(f"{name}: expected {', '.join(allowed)}, got {value[:80]!r}", name)
        return value

    def whole(self, name: str, default: int, low: int = 0, high: int = 10**9) -> int:
        """Return an integer from `low` to `high`; `default` if the parameter `name` is empty."""
        value = self.text(name)
        # isdecimal accepts digits of every script, as int does, but no sign and no blank.
        if value and not (value.isdecimal() and len(value) <= 10 and low <= int(value) <= high):
            raise ConfigError(f"{name}: expected a whole number from {low:,} to {high:,}, got {value[:80]!r}", name)
        return int(value) if value else default

    def share(self, name: str, default: float = 0.0) -> float:
        """Return a number from 0 to 1; `default` if the parameter `name` is empty."""
        value = self.text(name)
        try:
            number = float(value) if value else default
        except ValueError:
            number = math.nan
        if not 0 <= number <= 1:
            raise ConfigError(f"{name}: expected a number from 0 to 1, got {value[:80]!r}", name)
        return number

    def part(self, total: int, size: int, what: str, name: str = "page") -> Document:
        """Return the part of a list that a page shows; raise NoSuchPage beyond its end. An empty list has one page.

        Args:
            total: The number of items.
            size: The items per page.
            what: What the items are, for the message.
            name: The parameter with the page number.
        """
        number, pages = self.whole(name, 1, 1), max(1, -(-total // size))
        if number > pages:
            count = f"there is {pages:,} page" if pages == 1 else f"there are {pages:,} pages"
            raise NoSuchPage(f"page {number:,} of the {what}: {count}; choose one of them")
        return {"page": number, "pages": pages, "size": size, "total": total}

    def linked(self, **changes: Any) -> str:
        """Return the same address with `changes`; empty values are left out."""
        values = {**self.values, **{name: str(value) for name, value in changes.items()}}
        return "?" + urlencode({name: value for name, value in values.items() if value != ""})


def first_of(part: Document) -> int:
    """Return the first item of the `part` of a list that a page shows."""
    return int((part["page"] - 1) * part["size"])


def check_number(number: int, total: int, what: str) -> None:
    """Raise NoSuchPage unless `number` is below `total`; `what` names the things."""
    if not 0 <= number < total:
        raise NoSuchPage(f"{what} {number:,}: there are {total:,}, numbered from 0; search for it by name")


# linked things ------------------------------------------------------------------------------------------


def entity_document(data: PageData, id: int) -> Document:
    """Return an entity to link to; for an object of a scene with its classes, since its name is often a number."""
    named = data.entities.document(id)
    if data.has_scenes:
        named["classes"] = [data.predicates.labels[c] for c in classes_of(data.kb, id)]
    return named


def predicate_document(data: PageData, id: int) -> Document:
    """Return a predicate to link to."""
    predicate = data.kb.predicates[id]
    return {**data.predicates.document(id), "arity": predicate.arity, "num_rules": int(data.num_rules[id])}


def fact_document(data: PageData, fact: Fact) -> Document:
    """Return a fact with everything that it links to: its predicate, its entities, its explanation."""
    return {
        "fact": fact_text(fact),
        "label": data.labels.fact(fact),
        "predicate": predicate_document(data, data.kb.predicate_id(fact.predicate)),
        "arguments": [entity_document(data, data.kb.entities.id(name)) for name in fact.arguments],
    }


def rule_documents(data: PageData, rows: Sequence[int]) -> list[Document]:
    """Return the rules of the `rows` for a list: text, statistics, verdicts."""
    found = []
    for row, bits in zip(rows, constructs(data.rules.take(np.asarray(rows, np.int64)))):
        scored = data.rules[row]
        rule, text = scored.rule, str(scored.rule)
        found.append(
            {
                **linked_rule(data, row),
                "rule": text,
                "label": data.labels.rule(rule),
                "target": predicate_document(data, int(data.rules.head[row])),
                "length": rule.length,
                "constructs": construct_names(int(bits)),
                "weight": scored.weight,
                **scored.stats.to_dict(),
                "confidence_interval": list(wilson_interval(scored.stats.support, scored.stats.body_size)),
            }
        )
    return found


def linked_rule(data: PageData, row: int) -> Document:
    """Return the rule of a `row` to link to."""
    rule = data.rules.rule(row)
    return {
        "row": row,
        "address": f"/rule/{row}",
        "short": data.labels.short_rule(rule),
        "distinct": rule.distinct,
        "verdict": verdict_document(data.feedback, str(rule)) if data.feedback else None,
    }


# theories -----------------------------------------------------------------------------------------------


def what_it_adds(data: PageData, rule: TheoryRule) -> Document:
    """Return what a rule of a theory adds, and some of the rules that it represents."""
    assert data.theory is not None
    same = same_rules(data.rules, data.theory, rule.number, MAX_SAME)
    return {
        "english": rule_sentence(rule.scored.rule, data.labels),
        "place": rule.place,
        "explained": rule.adds,
        "backs_up": rule.backs_up,
        "gain": rule.gain,
        "adds": adds_text(rule.adds, rule.backs_up),
        "num_same": rule.num_same,
        "same": [linked_rule(data, int(row)) for row in same],
    }


def theory_summary(theory: TargetTheory | None, labels: Labels) -> Document | None:
    """Return a theory in one line: its size, the facts it explains, and its first rule, with `labels`."""
    if theory is None or not theory.rules:
        return None
    first = theory.rules[0]
    return {
        "num_rules": len(theory.rules),
        "explained": theory.explained,
        "tried": theory.tried,
        "mrr": None if theory.scores is None else theory.scores.pool,
        "first": labels.short_rule(first.scored.rule),
        "first_address": f"/rule/{first.row}",
    }


def theory_part(data: PageData, number: int) -> tuple[Document | None, dict[str, str]]:
    """Return the theory of a predicate, and a drawing of its quality by size; nothing without a theory.

    Args:
        data: Of the run.
        number: The predicate id.
    """
    theory = data.theories_of([number]).get(number)
    if theory is None or data.theory is None:
        return None, {}
    scores = theory.scores
    document = {
        **(theory_summary(theory, data.labels) or {}),
        "rules": [
            {**document, **what_it_adds(data, rule)}
            for document, rule in zip(rule_documents(data, [rule.row for rule in theory.rules]), theory.rules)
        ],
        "exclusions": [str(e) for e in theory.exclusions],
        "never_with": [step_text(e.step, data.labels.predicate) for e in theory.exclusions],
        "author": theory.author,
        "authorship": theory.authorship,
        "breaks_ties_by_frequency": data.theory.aggregation.by_frequency,
        "ties": ties_sentence(data.theory, [theory.predicate]),
        "pool_mrr": None if scores is None else scores.pool,
        "curve": [] if scores is None else [{"size": one.size, "mrr": one.mrr} for one in scores.sizes],
    }
    drawn = target_chart(data.theory, theory)
    return document, {} if drawn is None else {"sizes": drawn}


def place_in_theory(data: PageData, row: int) -> Document | None:
    """Return the place of a rule in a theory, or the rule of the theory that represents it, or None."""
    theory = data.theory
    if theory is None:
        return None
    own, same = np.flatnonzero(theory.rows == row), theory.family[theory.family_row == row]
    number = int(own[0]) if len(own) else int(same[0]) if len(same) else None
    if number is None or theory.place[number] >= theory.size:
        return None
    return {
        "place": int(theory.place[number]) + 1,
        "adds": adds_text(int(theory.explained[number]), int(theory.backs_up[number])),
        "is_own": bool(len(own)),
        **linked_rule(data, int(theory.rows[number])),
    }


# search, entity -----------------------------------------------------------------------------------


def search_page(data: PageData, parameters: Parameters, number: int) -> Page:
    """Show predicates, then entities, whose label or name contains the typed text."""
    typed = parameters.text("q")
    kind = parameters.choice("kind", ("entity", "predicate"))
    limit = parameters.whole("limit", MAX_SUGGESTIONS, 1, 100)
    predicates = [] if kind == "entity" else data.predicates.find(typed, limit)
    entities = [] if kind == "predicate" else data.entities.find(typed, limit)
    room = max(limit - len(predicates[: limit // 2]), limit - len(entities)) if not kind else limit
    suggestions = [predicate_document(data, id) for id in predicates[: limit - min(len(entities), limit // 2)]]
    suggestions += [data.entities.document(id) for id in entities[:room]]
    document = {"query": typed, "limit": limit, "suggestions": suggestions[:limit]}
    return Page("search.html", f"Search: {typed}" if typed else "Search", document)


def entity_page(data: PageData, parameters: Parameters, number: int) -> Page:
    """Show an entity: its facts, queries about it, and the classes of an object."""
    check_number(number, data.kb.num_entities, "entity")
    graph = Graph.of(data.kb)
    low, high = (int(end) for end in graph.pointer[number : number + 2])
    part = parameters.part(high - low, FACTS_PER_PAGE, "facts")
    begin = low + first_of(part)
    some = slice(begin, min(begin + FACTS_PER_PAGE, high))
    name = data.kb.entities.name(number)
    own = graph.unary_predicate[slice(*graph.unary_pointer[number : number + 2])].tolist()
    unary = sorted(own, key=lambda p: p not in data.kb.classes)
    document: Document = {
        "entity": entity_document(data, number),
        "image": data.kb.image_of(number),
        "unary": [
            {**predicate_document(data, p), "fact": fact_text(Fact(data.kb.predicates[p], (name,)))} for p in unary
        ],
        **part,
        "first": begin - low,
        "facts": [
            edge_document(data, number, code, other)
            for code, other in zip(graph.code[some].tolist(), graph.neighbour[some].tolist())
        ],
        "questions": proposed_queries(data, number, graph.code[low:high]),
    }
    classes = data.object_classes(number)
    if classes is not None:
        document["object"] = {
            **(listed := classes.to_dict(MAX_CLASSES)),
            "candidates": [
                {**candidate, "fact": fact_text(Fact(p, (name,))), "is_true": p in classes.true}
                for (p, _), candidate in zip(classes.ranked, listed["candidates"])
            ],
        }
    opened = opened_entities(parameters.text("open"), data.kb.num_entities)
    document["graph"], drawn = neighbourhood(data, number, opened)
    return Page("entity.html", str(document["entity"]["label"]), document, {"graph": drawn} if drawn else {})


def edge_document(data: PageData, entity: int, code: int, other: int) -> Document:
    """Return a binary fact of `entity`: along the step `code` to the entity `other`."""
    ends = (other, entity) if code & 1 else (entity, other)
    return {
        "predicate": predicate_document(data, code >> 1),
        "is_subject": not code & 1,
        "other": entity_document(data, other),
        "fact": fact_text(data.kb.fact(code >> 1, *ends)),
    }


def proposed_queries(data: PageData, entity: int, codes: Ids) -> list[Document]:
    """Return queries that rules can answer, with `entity` where it occurs in facts, by step `codes`."""
    name = data.kb.entities.name(entity)
    with_rules = [code for code in np.unique(codes).tolist() if data.num_rules[code >> 1]]
    queries = [query_of(data.kb.predicates[code >> 1], name, code & 1) for code in with_rules[:MAX_QUERIES]]
    return [{"query": str(query), "label": data.labels.query(query)} for query in queries]


# rules --------------------------------------------------------------------------------------------------


def predicate_page(data: PageData, parameters: Parameters, number: int) -> Page:
    """Show the theory of a predicate and all its rules."""
    check_number(number, data.kb.num_predicates, "predicate")
    table = data.store(number)
    sort = parameters.choice("sort", SORTS, "weight")
    order = parameters.choice("order", ("rising", "falling"), "rising" if sort == "length" else "falling")
    positions = table.matching(
        data.verdicts[table.rows],
        min_support=parameters.whole("min_support", 0),
        min_confidence=parameters.share("min_confidence"),
        min_length=parameters.whole("min_length", 0),
        max_length=parameters.whole("max_length", NO_MAX_LENGTH, 0, NO_MAX_LENGTH),
        construct=parameters.choice("construct", table.present),
        verdict=parameters.choice("verdict", BY_VERDICT),
    )
    theory, drawings = theory_part(data, number)
    family = parameters.whole("family", 0)
    if family:
        positions = positions[np.isin(table.rows[positions], family_rows(data, theory, family))]
    part = parameters.part(len(positions), RULES_PER_PAGE, "rules")
    begin = first_of(part)
    rows = table.rows[table.part(positions, sort, order == "rising", begin, begin + RULES_PER_PAGE)]
    shown = predicate_document(data, number)
    predicate = data.kb.predicates[number]
    document: Document = {
        "predicate": shown,
        "num_facts": int(data.kb.predicate_counts[number]),
        "exclusions": [str(e) for e in data.rules.exclusions if e.target == predicate],
        "theory": theory,
        "training": f"/training/{number}" if predicate in data.trained else None,
        "family": family or None,
        "is_pool_open": theory is None or any(parameters.text(name) for name in POOL_PARAMETERS),
        "sort": sort,
        "order": order,
        "constructs": table.present,
        **part,
        "first": begin,
        "rules": rule_documents(data, rows.tolist()),
    }
    return Page("predicate.html", str(shown["label"]), document, drawings)


def family_rows(data: PageData, theory: Document | None, place: int) -> Longs:
    """Return the rows of the rule at `place` of a theory and of the rules that it represents."""
    own = [rule["row"] for rule in theory["rules"] if rule["place"] == place] if theory else []
    if not own or data.theory is None:
        raise NoSuchPage(f"family {place:,}: the theory has no rule of this number; choose one of its rules")
    number = int(np.flatnonzero(data.theory.rows == own[0])[0])
    return np.append(same_rules(data.rules, data.theory, number), own[0])


def training_page(data: PageData, parameters: Parameters, number: int) -> Page:
    """Show the attentions and training curves of a predicate."""
    check_number(number, data.kb.num_predicates, "predicate")
    predicate, learned = data.kb.predicates[number], data.run.learned
    shown = predicate_document(data, number)
    if predicate not in data.trained:
        raise NoSuchPage(f"{shown['label']} was not trained in this run, so there are no attentions to show")
    # Use the ids of the run's own data, even if other data is shown.
    parts = training_parts(learned, predicate, data.run.dataset.kb.num_graphs)
    document = {
        "predicate": shown,
        **parts["attended"].to_dict(Labels.of(learned.rules)),
        "history": [dict(record) for record in learned.history if record.get("target") == str(predicate)],
    }
    drawings = {f"training {i}": drawn for i, drawn in enumerate(parts["training"])}
    return Page("training.html", f"Training of {shown['label']}", document, drawings)


def rule_page(data: PageData, parameters: Parameters, number: int) -> Page:
    """Show one rule with its instances."""
    check_number(number, len(data.rules), "rule")
    scored = data.rules[number]
    stats, size = scored.stats, INSTANCES_PER_PAGE
    parts = {
        "examples": parameters.part(stats.support, size, "examples", "examples"),
        "counterexamples": parameters.part(stats.body_size - stats.support, size, "counterexamples", "counterexamples"),
    }
    first = data.cards.card(number, examples=size, counterexamples=0, offset=first_of(parts["examples"]))
    second = data.cards.card(number, examples=0, counterexamples=size, offset=first_of(parts["counterexamples"]))
    card = first.to_dict()
    further = second.to_dict()
    card["predictions"], card["counterexamples"] = further["predictions"], further["counterexamples"]
    for name, instances in (
        ("examples", first.examples),
        ("counterexamples", second.counterexamples),
        ("predictions", second.predictions),
    ):
        for listed, instance in zip(card[name], instances):
            listed["links"] = fact_document(data, instance.fact)
            ways = () if instance.grounding is None else instance.grounding.facts
            listed["known_links"] = [entity_document(data, data.kb.entities.id(known)) for known in instance.known]
            listed["because"] = [fact_document(data, fact) for fact in ways]
    english = rule_sentence(scored.rule, data.labels)
    document = {**card, **rule_documents(data, [number])[0], "english": english, "pages": parts}
    document["theory"] = place_in_theory(data, number)
    return Page("rule.html", str(document["short"]), document)


def feedback_page(data: PageData, parameters: Parameters, number: int) -> Page:
    """Show all accepted or rejected rules, the latest verdict first."""
    rows = np.flatnonzero(data.verdicts)
    last = {text: place for place, text in enumerate(data.feedback)}
    judged = sorted(rule_documents(data, rows.tolist()), key=lambda rule: -last.get(rule["rule"], 0))
    part = parameters.part(len(judged), RULES_PER_PAGE, "verdicts")
    begin = first_of(part)
    return Page("feedback.html", "Verdicts", {**part, "first": begin, "rules": judged[begin : begin + RULES_PER_PAGE]})


def judge(data: PageData, row: int, form: Mapping[str, str]) -> None:
    """Store the verdict of the `form` on the page of the rule `row`."""
    check_number(row, len(data.rules), "rule")
    values = Parameters(form)
    verdict = values.choice("verdict", (*VERDICTS, "none"), "none")
    data.judge(row, "" if verdict == "none" else verdict, values.text("note"))


PAGES: Mapping[str, Maker] = {
    "/search": search_page,
    "/feedback": feedback_page,
    "/predicate/{number}": predicate_page,
    "/entity/{number}": entity_page,
    "/rule/{number}": rule_page,
    "/training/{number}": training_page,
}
"""By address; the number in the path is that of a predicate, an entity or a rule. See `HOME_PAGES`, `FACT_PAGES`."""
