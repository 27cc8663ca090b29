"""An explanation as an outline of short lines, and the outline as text, as a rich tree, as HTML."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

from ..engine.grounding import Grounding
from ..logic.formula import Not
from ..logic.predicate import Fact
from ..logic.rule import Rule
from .explanation import Excluded, Explanation, Miss, Support
from .labels import Labels

if TYPE_CHECKING:
    from rich.tree import Tree


@dataclass(frozen=True)
class Item:
    """One line, what is said beside it in a quieter voice, and the lines below it."""

    text: str
    note: str = ""
    below: tuple[Item, ...] = ()


def outline(explanation: Explanation) -> Item:
    labels = explanation.labels
    below = tuple(_support(s, labels) for s in explanation.supports)
    unshown = explanation.num_counted - len(explanation.supports)
    if explanation.excluded is not None:
        below = (_excluded(explanation.excluded, explanation.fact, labels), *below)
    if unshown > 0:
        below += (Item(f"+{number(explanation.other_share)}", f"{_many(unshown, 'weaker rule')} beside these"),)
    if explanation.misses:
        below += (Item("these do not hold", "", tuple(_miss(m, labels) for m in explanation.misses)),)
    state = "in the data, hidden here" if explanation.known else "not in the data"
    fired = _many(explanation.num_fired, "rule") if explanation.num_fired else "no rule"
    verb = "fires" if explanation.num_fired <= 1 else "fire"
    title = f"{labels.fact(explanation.fact)}  score {number(explanation.score)}"
    asked = ""
    if explanation.fact.predicate.arity == 2:
        asked = f"answers {labels.query(explanation.query)}; "
    return Item(title, f"{asked}{state}; {fired} {verb}", below)


def _excluded(excluded: Excluded, fact: Fact, labels: Labels) -> Item:
    return Item(f"excluded: {labels.fact(fact)} and {labels.fact(excluded.by)} never hold together "
                f"({excluded.exclusion.counts})")


def _support(support: Support, labels: Labels) -> Item:
    shown = tuple(_grounding(g, support.rule.distinct, labels) for g in support.groundings)
    below = tuple(Item(line) for line in shown if line)
    if support.num_groundings > len(shown):
        below += (Item(f"and {_many(support.num_groundings - len(shown), 'other way')}"),)
    note = _statistics(support)
    if support.value < 1.0:
        note += f", holds to degree {number(support.value)}"
    return Item(f"+{number(support.share)}  {_short(support.rule, labels)}", note, below)


def _short(rule: Rule, labels: Labels) -> str:
    """The rule without its inequalities: the note says that they are there."""
    return labels.rule(replace(rule, distinct=False))


def _statistics(item: Support | Miss) -> str:
    stats = item.stats
    note = f"weight {number(item.weight)}"
    if stats.body_size:
        note = f"confidence {number(stats.confidence)} ({stats.support:,} of {stats.body_size:,})"
    return f"{note}, variables differ" if item.rule.distinct else note


def _grounding(grounding: Grounding, distinct: bool, labels: Labels) -> str:
    parts = [labels.fact(fact) for fact in grounding.facts]
    parts += [f"no {labels.formula(statement, distinct)}" for statement in grounding.absent]
    weight = "" if grounding.weight == 1.0 else f"  ({number(grounding.weight)})"
    return ", ".join(parts) + weight if parts else ""


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
    return Item(_short(miss.rule, labels), _statistics(miss), (Item(reason),))


def number(value: float) -> str:
    """
    >>> number(0.95), number(1.0), number(0.0004)
    ('.950', '1.000', '.0004')
    """
    text = f"{value:.3f}" if value == 0 or value >= 0.001 else f"{value:.1g}"
    return text[1:] if text.startswith("0.") else text


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")


# three ways to show it ----------------------------------------------------------------------------------


def as_text(item: Item, indent: int = 0) -> str:
    note = f"   {item.note}" if item.note else ""
    return "\n".join(["  " * indent + item.text + note, *[as_text(part, indent + 1) for part in item.below]])


def as_tree(item: Item) -> Tree:
    from rich.text import Text  # Text, never markup: names from data may look like it
    from rich.tree import Tree

    def line(item: Item, style: str) -> Text:
        return Text.assemble((item.text, style), (f"   {item.note}" if item.note else "", "dim"))

    def grow(tree: Tree, item: Item) -> None:
        for part in item.below:
            grow(tree.add(line(part, "")), part)

    tree = Tree(line(item, "bold"), guide_style="dim")
    grow(tree, item)
    return tree


def as_html(item: Item) -> str:
    return f"<div class='nlil-explanation'><p><b>{escape(item.text)}</b>{_html_note(item)}</p>{_html_list(item)}</div>"


def _html_list(item: Item) -> str:
    if not item.below:
        return ""
    parts = (f"<li><code>{escape(part.text)}</code>{_html_note(part)}{_html_list(part)}</li>" for part in item.below)
    return f"<ul>{''.join(parts)}</ul>"


def _html_note(item: Item) -> str:
    return f" <small>{escape(item.note)}</small>" if item.note else ""
