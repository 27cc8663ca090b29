"""The outline of an explanation."""

from __future__ import annotations

from ..logic.formula import Not
from ..logic.labels import Labels
from ..logic.predicate import Fact
from .explanation import Excluded, Explanation, Miss, Support
from .phrases import grounding_line, short_rule, statistics_note
from .shown import Item, many, number


def outline(explanation: Explanation) -> Item:
    labels = explanation.labels
    below = tuple(_support(s, labels) for s in explanation.supports)
    unshown = explanation.num_counted - len(explanation.supports)
    if explanation.excluded is not None:
        below = (_excluded(explanation.excluded, explanation.fact, labels), *below)
    if unshown > 0:
        below += (Item(f"+{number(explanation.other_share)}", f"{many(unshown, 'weaker rule')} beside these"),)
    if explanation.misses:
        below += (Item("these do not hold", "", tuple(_miss(m, labels) for m in explanation.misses)),)
    state = "in the data, hidden here" if explanation.known else "not in the data"
    fired = many(explanation.num_fired, "rule") if explanation.num_fired else "no rule"
    verb = "fires" if explanation.num_fired <= 1 else "fire"
    title = f"{labels.fact(explanation.fact)}  score {number(explanation.score)}"
    asked = ""
    if explanation.fact.predicate.arity == 2:
        asked = f"answers {labels.query(explanation.query)}; "
    return Item(title, f"{asked}{state}; {fired} {verb}", below)


def _excluded(excluded: Excluded, fact: Fact, labels: Labels) -> Item:
    return Item(
        f"excluded: {labels.fact(fact)} and {labels.fact(excluded.by)} never hold together "
        f"({excluded.exclusion.counts})"
    )


def _support(support: Support, labels: Labels) -> Item:
    shown = tuple(grounding_line(g, support.rule.distinct, labels) for g in support.groundings)
    below = tuple(Item(line) for line in shown if line)
    if support.num_groundings > len(shown):
        below += (Item(f"and {many(support.num_groundings - len(shown), 'other way')}"),)
    note = statistics_note(support.rule, support.stats, support.weight)
    if support.value < 1.0:
        note += f", holds to degree {number(support.value)}"
    return Item(f"+{number(support.share)}  {short_rule(support.rule, labels)}", note, below)


def _miss(miss: Miss, labels: Labels) -> Item:
    if isinstance(miss.statement, Not):
        reason = f"denied, but holds: {labels.formula(miss.statement.argument, miss.rule.distinct)}"
    elif miss.missing:
        reason = "missing: " + " or ".join(labels.query(query) for query in miss.missing)
        if len(miss.at) > len(miss.missing):
            reason += " or the like"
    elif miss.reached == miss.rule.length:
        reason = "holds only if two variables stand for the same entity"
    else:
        reason = f"fails: {labels.formula(miss.statement, miss.rule.distinct)}"
    return Item(short_rule(miss.rule, labels), statistics_note(miss.rule, miss.stats, miss.weight), (Item(reason),))
