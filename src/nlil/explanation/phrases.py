"""The short lines that every explanation is made of: a rule, what was counted for it, one way in which it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..kernel.grounding import Grounding
from ..logic.formula import Anchor, Constant, Statement, Variable
from ..logic.labels import Labels
from ..logic.rule import Rule, RuleStats
from ..logic.text import fact_text, formula_text
from .shown import number


def short_rule(rule: Rule, labels: Labels) -> str:
    """The rule without its inequalities: the note beside it says that they are there."""
    return labels.rule(replace(rule, distinct=False))


def statistics_note(rule: Rule, stats: RuleStats, weight: float) -> str:
    note = f"weight {number(weight)}"
    if stats.body_size:
        note = f"confidence {number(stats.confidence)} ({stats.support:,} of {stats.body_size:,})"
    return f"{note}, variables differ" if rule.distinct else note


def grounding_line(grounding: Grounding, distinct: bool, labels: Labels) -> str:
    """Its facts and what it found absent; empty where a rule asks for nothing."""
    parts = [labels.fact(fact) for fact in grounding.facts]
    parts += [absent_text(statement, grounding, distinct, labels) for statement in grounding.absent]
    weight = "" if grounding.weight == 1.0 else f"  ({number(grounding.weight)})"
    return ", ".join(parts) + weight if parts else ""


def grounding_document(grounding: Grounding, distinct: bool, labels: Labels) -> dict[str, Any]:
    """For JSON: names of the data, and beside them the same for people."""
    return {
        "bindings": dict(grounding.bindings),
        "facts": [fact_text(f) for f in grounding.facts],
        "labels": [labels.fact(f) for f in grounding.facts],
        "absent": [formula_text(s, distinct) for s in grounding.absent],
        "absent_labels": [absent_text(s, grounding, distinct, labels) for s in grounding.absent],
        "weight": grounding.weight,
    }


def absent_text(statement: Statement, grounding: Grounding, distinct: bool, labels: Labels) -> str:
    """What a negated statement did not find, with the entities in place of X and Y: no father(ann, Z1)."""
    text = labels.formula(_about(statement, dict(grounding.bindings)), False)
    differ = distinct and statement.line.num_variables > 1
    return f"no {text}" + (" where variables differ" if differ else "")


def _about(statement: Statement, entities: Mapping[str, str]) -> Statement:
    def named(anchor: Anchor) -> Anchor:
        return Constant(entities[anchor.name]) if isinstance(anchor, Variable) else anchor

    if not statement.steps:
        return statement  # an equation of an entity with itself is none
    return Statement(named(statement.start), statement.steps, named(statement.end))
