"""Readable output: an outline of short lines, as text, as a rich tree, or as HTML; and lines that outlines share.

`item` is always an outline; `found` is a rule with its statistics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from ..kernel.grounding import Grounding
from ..logic.figures import number
from ..logic.formula import Anchor, And, Constant, Formula, Not, Or, Statement, Variable
from ..logic.labels import Labels
from ..logic.predicate import Fact
from ..logic.rule import Rule, RuleStats, ScoredRule
from ..logic.text import fact_text, formula_text

if TYPE_CHECKING:
    from rich.tree import Tree


MASK = Constant("")
"""Stands for any entity when rules are compared that differ in one."""
MAX_REPR = 200
"""Limit of the characters of a `repr`."""


@dataclass(frozen=True)
class Item:
    """One line (`text`) with a less prominent `note`, and the lines `below` it."""

    text: str
    note: str = ""
    below: tuple[Item, ...] = ()


class HasOutline(ABC):
    """A value with an outline that `str`, a terminal and a notebook show; `repr` is its first line.

    Dataclasses must say `repr=False`: otherwise they would print every field.
    """

    @abstractmethod
    def outline(self) -> Item:
        """Return the outline."""

    def __str__(self) -> str:
        return as_text(self.outline())

    def __repr__(self) -> str:
        text = self.outline().text
        return f"<{type(self).__name__}: {shortened(text)}>"

    def __rich__(self) -> Tree:
        return as_tree(self.outline())

    def to_html(self) -> str:
        """Return an unstyled HTML fragment; everything from the data is escaped."""
        return as_html(self.outline())

    def _repr_html_(self) -> str:
        return self.to_html()


def shortened(text: str) -> str:
    """Return the first line of `text`, with at most MAX_REPR characters."""
    line = text.partition("\n")[0]
    return line if len(line) <= MAX_REPR else f"{line[: MAX_REPR - 3]}..."


def known_text(known: bool) -> str:
    """Say whether the data has the fact (`known`)."""
    return "in the data, hidden here" if known else "not in the data"


# three ways to show an outline --------------------------------------------------------------------------


def as_text(item: Item, indent: int = 0) -> str:
    """Return indented lines; `indent` is the depth of the first."""
    note = f"   {item.note}" if item.note else ""
    return "\n".join(["  " * indent + item.text + note, *[as_text(part, indent + 1) for part in item.below]])


def as_tree(item: Item) -> Tree:
    """Return a rich tree for a terminal."""
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
    """Return a nested HTML list; text from the data is escaped."""
    return f"<div class='nlil-explanation'><p><b>{escape(item.text)}</b>{_html_note(item)}</p>{_html_list(item)}</div>"


def _html_list(item: Item) -> str:
    if not item.below:
        return ""
    parts = (f"<li><code>{escape(part.text)}</code>{_html_note(part)}{_html_list(part)}</li>" for part in item.below)
    return f"<ul>{''.join(parts)}</ul>"


def _html_note(item: Item) -> str:
    return f" <small>{escape(item.note)}</small>" if item.note else ""


# lines that outlines share, and the same for JSON --------------------------------------------------------


def rule_item(found: ScoredRule, labels: Labels, below: Sequence[Item] = (), share: float | None = None) -> Item:
    """Return the rule with its statistics, after its `share` of a score if it has one.

    `below` are the lines below it.
    """
    before = "" if share is None else f"+{number(share)}  "
    note = statistics_note(found.rule, found.stats, found.weight)
    return Item(before + labels.short_rule(found.rule), note, tuple(below))


def rule_document(found: ScoredRule, labels: Labels) -> dict[str, Any]:
    """Return the exact text, the label and the figures, for JSON."""
    rule = found.rule
    return {"rule": str(rule), "label": labels.rule(rule), "weight": found.weight, **found.stats.to_dict()}


def fact_document(fact: Fact, labels: Labels, **more: Any) -> dict[str, Any]:
    """Return the names of the data, the `label`, and the values of `more`, for JSON."""
    return {"fact": fact_text(fact), "label": labels.fact(fact), **more}


def statistics_note(rule: Rule, stats: RuleStats, weight: float) -> str:
    """Return the confidence of `stats` with its counts, or the `weight` of a rule without statistics."""
    note = f"weight {number(weight)}"
    if stats.body_size:
        note = f"confidence {number(stats.confidence)} ({stats.support:,} of {stats.body_size:,})"
    return f"{note}, variables differ" if rule.distinct else note


def grounding_line(grounding: Grounding, distinct: bool, labels: Labels) -> str:
    """Return the facts of `grounding` and its absences; empty for a prior."""
    parts = [labels.fact(fact) for fact in grounding.facts]
    parts += [absent_text(statement, grounding, distinct, labels) for statement in grounding.absent]
    weight = "" if grounding.weight == 1.0 else f"  ({number(grounding.weight)})"
    return ", ".join(parts) + weight if parts else ""


def grounding_document(grounding: Grounding, distinct: bool, labels: Labels) -> dict[str, Any]:
    """Return `grounding` for JSON: names of the data, and labels."""
    return {
        "bindings": dict(grounding.bindings),
        "facts": [fact_text(f) for f in grounding.facts],
        "labels": [labels.fact(f) for f in grounding.facts],
        "absent": [formula_text(s, distinct) for s in grounding.absent],
        "absent_labels": [absent_text(s, grounding, distinct, labels) for s in grounding.absent],
        "weight": grounding.weight,
    }


def absent_text(statement: Statement, grounding: Grounding, distinct: bool, labels: Labels) -> str:
    """Say what is absent: no father(ann, Z1). The entities of `grounding` replace X and Y in `statement`."""
    text = labels.formula(about(statement, dict(grounding.bindings)), False)
    differ = distinct and statement.num_variables > 1
    return f"no {text}" + (" where variables differ" if differ else "")


def about(statement: Statement, entities: Mapping[str, str]) -> Statement:
    """Return the statement with `entities` in place of X and Y."""

    def named(anchor: Anchor) -> Anchor:
        return Constant(entities[anchor.name]) if isinstance(anchor, Variable) else anchor

    if not statement.steps:
        return statement  # an equation of an entity with itself says nothing
    return Statement(named(statement.start), statement.steps, named(statement.end))


def masked(formula: Formula, name: str) -> Formula:
    """Return `formula` with MASK in place of the entity `name`."""
    match formula:
        case Statement(start, steps, end):
            first, last = (MASK if anchor == Constant(name) else anchor for anchor in (start, end))
            return formula if (first, last) == (start, end) else Statement(first, steps, last)
        case Not(argument):
            return Not(masked(argument, name))
        case And(arguments) | Or(arguments):
            return type(formula)(*(masked(argument, name) for argument in arguments))
        case _:
            return formula
