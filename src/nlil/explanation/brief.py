"""An explanation in a dozen lines: one sentence, further independent reasons, and the evidence against the fact.

`explanation` is the result of `explain`; `width` is that of a screen in characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..kernel.calibration import Probability
from ..logic.english import fact_clause, query_clause, statement_clause
from ..logic.figures import number, number_pair, plural
from ..logic.formula import Constant, Not, Statement
from ..logic.labels import Labels
from ..logic.predicate import Fact
from ..logic.rule import Rule
from .outline import Item, about, known_text, masked
from .reasons import KINDS, Reason

if TYPE_CHECKING:
    from .why import Explanation, Miss

MAX_LINES = 12
"""Lines of a brief explanation at the width of the screen."""
MAX_FURTHER = 3
"""Reasons shown after the first."""
MAX_AGAINST = 2
"""Rules shown that speak against the fact."""
MAX_ALIKE = 4
"""Entities listed after "likewise with"."""
IMPROBABLE = 0.01
"""Below this probability the sentence does not claim the fact."""
MIN_FREQUENCY_SHARE = 0.0005
"""A smaller share of frequency is not shown."""


def brief(
    explanation: Explanation, further: int = MAX_FURTHER, against: int = MAX_AGAINST, alike: int = MAX_ALIKE
) -> Item:
    """Return the explanation in a few lines, with at most this many `further` reasons and rules `against` it.

    At most `alike` entities are listed after "likewise with".
    """
    return Item(sentence(explanation), "", tuple(_lines(explanation, further, against, alike)))


def fitting(explanation: Explanation, width: int, max_lines: int = MAX_LINES) -> Item:
    """Return the brief explanation with as many reasons as fit into `max_lines` at this `width`."""
    sizes = [(MAX_FURTHER, MAX_AGAINST), *((further, 1) for further in range(MAX_FURTHER, -1, -1)), (0, 0), (0, 0, 1)]
    items = [brief(explanation, *size) for size in sizes]
    return next((item for item in items if num_lines(item, width) <= max_lines), items[-1])


def num_lines(item: Item, width: int, depth: int = 0) -> int:
    """Count the lines of the tree of `item` on a screen of this `width`; `depth` is its indentation."""
    room = max(width - 4 * depth, 1)
    text = f"{item.text}   {item.note}" if item.note else item.text
    return -(-len(text) // room) + sum(num_lines(part, width, depth + 1) for part in item.below)


def sentence(explanation: Explanation) -> str:
    """Return the strongest reason as a sentence."""
    fact, labels = explanation.fact, explanation.labels
    claim = fact_clause(fact, labels)
    if explanation.excluded is not None:
        text = f"it is ruled out that {claim}, because {fact_clause(explanation.excluded.by, labels)}"
    elif not explanation.reasons:
        text = f"no rule says that {claim}"
    elif explanation.reasons[0].kind in ("facts", "absence"):
        reason = replace(explanation.reasons[0], rival=None).because(fact, labels)
        found = explanation.probability
        if found is not None and found.value < IMPROBABLE:
            text = f"it is improbable that {claim}; the strongest reason for it is that {reason}"
        else:
            text = f"{claim}, because {reason}"
    else:
        text = f"{claim}, only because that is frequent"
    names = tuple(labels.entities.get(name, name) for name in fact.arguments)
    return f"{text}." if text.startswith(names) else f"{text[:1].upper()}{text[1:]}."


def probability_text(found: Probability | None, score: float) -> tuple[str, str]:
    """Return the main figure, and a note with the other one: the probability (`found`) comes before the `score`."""
    if found is None:
        return f"score {number(score)}", ""
    interval = "" if found.low is None or found.high is None else f" ({chance(found.low)} to {chance(found.high)})"
    return f"probability {chance(found.value)}{interval}", f"score {number(score)}; "


Figure = tuple[Probability | None, float]
"""A probability, if known, and the score."""


def change_texts(before: Figure, after: Figure) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the main figures before and after a change, and the scores if there are probabilities. Figures that differ
    also look different.

    >>> change_texts((None, 0.5), (None, 0.25))
    (('score .500', 'score .250'), ('', ''))
    >>> change_texts((Probability(0.4, 0.3, 0.5), 0.8), (Probability(0.1), 0.3))
    (('probability .400 (.300 to .500)', 'probability .100'), ('score .800', 'score .300'))
    """
    one, two = (f"score {text}" for text in number_pair(before[1], after[1]))
    if before[0] is None or after[0] is None:
        return (one, two), ("", "")
    first, second = (probability_text(*figure)[0] for figure in (before, after))
    if first == second and before[0].value != after[0].value:
        first, second = (f"probability {text}" for text in number_pair(before[0].value, after[0].value))
    return (first, second), (one, two)


def chance(value: float) -> str:
    """Format the probability `value`, avoiding 1.000 and .000, which would look like certainty.

    >>> chance(0.95), chance(0.99996), chance(0.00002)
    ('.950', '>.999', '<.001')
    """
    return ">.999" if value >= 0.9995 else "<.001" if value < 0.0005 else number(value)


def _lines(explanation: Explanation, further: int, against: int, most_alike: int) -> list[Item]:
    labels, fact, reasons = explanation.labels, explanation.fact, explanation.reasons
    figure, score = probability_text(explanation.probability, explanation.score)
    answers = f"answers {labels.query(explanation.query)}; " if fact.predicate.arity == 2 else ""
    lines = [Item(figure, f"{score}{answers}{known_text(explanation.known)}")]
    if explanation.excluded is not None:
        return [*lines, Item("the two never hold together", explanation.excluded.exclusion.counts)]
    families = told_families(explanation, further)
    shown_facts: set[Fact] = set()
    for place, (first, *alike) in enumerate(families):
        text, share = first.clause(fact, labels, shown_facts) if place else "this reason", first.share
        shown_facts.update(first.facts)
        if alike and place:
            text, share = f"{text}; likewise with {_named_by(alike, labels, most_alike)}", share + _total(alike)
        lines.append(Item(f"+{number(share)}  {text}", first.note(labels, is_told=not place)))
        if alike and not place:
            named = _named_by(alike, labels, most_alike)
            lines.append(Item(f"+{number(_total(alike))}  likewise with {named}"))
    shown = {id(reason) for family in families for reason in family}
    rest = {kind: [r for r in reasons if r.kind == kind and id(r) not in shown] for kind in KINDS}
    weaker = rest["facts"] + rest["other"]
    if weaker:
        lines.append(Item(f"+{number(_total(weaker))}  {plural(len(weaker), 'weaker reason')}"))
    if rest["absence"]:
        what = plural(len(rest["absence"]), "reason") + ": what is absent"
        lines.append(Item(f"+{number(_total(rest['absence']))}  {what}", rest["absence"][0].clause(fact, labels)))
    frequent = [r for r in rest["frequency"] if r.share >= MIN_FREQUENCY_SHARE or not families]
    lines += [Item(f"+{number(reason.share)}  frequency", reason.note(labels)) for reason in frequent]
    missed = explanation.against[:against]
    return lines + [Item(f"against: {against_text(miss, fact, labels)}", _right(miss)) for miss in missed]


def told_families(explanation: Explanation, further: int = MAX_FURTHER) -> list[list[Reason]]:
    """Return the reasons to tell: the first and at most `further` more, each with the reasons of the same pattern."""
    reasons = explanation.reasons
    return _families([r for r in reasons if r.kind == reasons[0].kind in ("facts", "absence")])[: further + 1]


def _total(reasons: Sequence[Reason]) -> float:
    return sum(reason.share for reason in reasons)


def against_text(miss: Miss, fact: Fact, labels: Labels) -> str:
    """Say in plain words why the strong rule of `miss` does not hold."""
    entities = dict(zip(("X", "Y"), fact.arguments))
    if isinstance(miss.statement, Not) and isinstance(miss.statement.argument, Statement):
        place = "the image" if fact.predicate.arity == 1 else "the data"
        return statement_clause(about(miss.statement.argument, entities), labels, place=place)
    if miss.missing:
        more = " or the like" if len(miss.at) > 1 else ""
        return f"not known that {query_clause(miss.missing[0], labels)}{more}"
    if miss.reached == miss.rule.length:
        return f"{labels.short_rule(miss.rule)} holds only if two variables stand for the same entity"
    return f"not known: {labels.formula(miss.statement, miss.rule.distinct)}"


def _right(miss: Miss) -> str:
    stats = miss.stats
    if not stats.body_size:
        return ""
    if isinstance(miss.statement, Not):
        return f"without it right in {stats.support:,} of {stats.body_size:,} cases"
    return f"with it right in {stats.support:,} of {stats.body_size:,} cases"


# reasons that differ in one entity ------------------------------------------------------------------------


def _families(reasons: Sequence[Reason]) -> list[list[Reason]]:
    """Group reasons of one pattern that name different entities, in the order of their first members."""
    families: dict[object, list[Reason]] = {}
    for place, reason in enumerate(reasons):
        pattern = None if reason.strongest is None else _pattern(reason.strongest.rule)
        families.setdefault(place if pattern is None else pattern, []).append(reason)
    return list(families.values())


def _pattern(rule: Rule) -> object | None:
    """Return the rule with a mask in place of the one entity in its body; None if there is none."""
    name = _named(rule)
    return None if name is None else (rule.head, masked(rule.body, name), rule.distinct)


def _named(rule: Rule) -> str | None:
    body = rule.body
    if not isinstance(body, Statement) or not body.steps:
        return None
    names = [anchor.name for anchor in (body.start, body.end) if isinstance(anchor, Constant)]
    return names[0] if len(names) == 1 else None


def _named_by(reasons: Sequence[Reason], labels: Labels, most: int) -> str:
    rules = [reason.strongest.rule for reason in reasons if reason.strongest is not None]
    names = [labels.entities.get(name, name) for name in map(_named, rules) if name is not None]
    shown = names[:most]
    if len(names) > len(shown):
        shown = [*shown, plural(len(names) - len(shown), "other")]
    return ", ".join(shown[:-1]) + (" and " if len(shown) > 1 else "") + shown[-1]
