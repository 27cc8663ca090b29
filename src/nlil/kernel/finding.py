"""Where a rule stands in a set: by value or by text, without writing out the rules of the set."""

from __future__ import annotations

import numpy as np

from ..data.arrays import Longs
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..errors import RuleError, RuleSyntaxError, UnknownName
from ..logic.parse import parse_rule
from ..logic.rule import Rule
from .coding import NO_STEP, encode
from .ruleset import RuleSet


def rows_of_rule(rules: RuleSet, rule: Rule) -> Longs:
    """The rows that hold `rule`, ascending: none where the set does not have it, one as a rule."""
    names = KnowledgeBase(rules.entities, rules.predicates, Facts.empty())
    try:
        row = encode(rule, names)
    except UnknownName:
        return np.zeros(0, np.int64)
    if row is None:
        return rules.num_lines + np.flatnonzero([other == rule for other in rules.general])
    if len(row.steps) > rules.steps.shape[1]:
        return np.zeros(0, np.int64)
    lines = slice(0, rules.num_lines)
    same = np.flatnonzero(
        (rules.head[lines] == row.head) & (rules.head_entity == row.head_entity) & (rules.end == row.end)
    )
    steps = np.full(rules.steps.shape[1], NO_STEP)
    steps[: len(row.steps)] = row.steps
    fits = (rules.fixed[same] == row.fixed) & (rules.distinct[same] == row.distinct)
    return same[fits & (rules.steps[same] == steps).all(axis=1)]


def rows_of_text(rules: RuleSet, text: str) -> Longs:
    """`rows_of_rule` of a rule as it is printed; text that is no rule is in no row."""
    try:
        rule = parse_rule(text)
    except (RuleSyntaxError, RuleError):
        return np.zeros(0, np.int64)
    return rows_of_rule(rules, rule)
