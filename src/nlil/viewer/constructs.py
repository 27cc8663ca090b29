"""What a rule is made of, as people filter by it: chain, constant, type, negation. Rules are looked at by column."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..data.arrays import Longs, Mask
from ..kernel.coding import FREE, NO_STEP, OTHER
from ..kernel.ruleset import RuleSet
from ..logic.formula import And, Formula, Not, Or, Statement, Truth, statements
from ..logic.rule import Rule

CONSTRUCTS = ("chain", "constant", "type", "prior", "conjunction", "disjunction", "negation", "unanchored")
"""chain: a path from X to Y; constant: names an entity; type: says what an entity is, by a unary predicate;
unanchored: something of the graph that no path joins to X or Y."""


def bit(construct: str) -> int:
    return 1 << CONSTRUCTS.index(construct)


def constructs(rules: RuleSet) -> np.ndarray:
    """For each row the bits of what it is made of."""
    lines, found = rules.num_lines, np.zeros(len(rules), np.uint8)
    is_unary: Mask = np.array([p.arity == 1 for p in rules.predicates], bool)
    length = line_lengths(rules)
    is_filter = np.zeros(lines, bool)
    for step in rules.steps.T:
        is_filter |= (step != NO_STEP) & is_unary[step >> 1]
    for construct, mask in (
        ("chain", rules.end == OTHER),
        ("type", is_filter),
        ("prior", length == 0),
        ("constant", (rules.end >= 0) | (rules.head_entity != FREE)),
    ):
        found[:lines][mask] |= bit(construct)
    for row, rule in enumerate(rules.general, start=lines):
        found[row] = sum(bit(construct) for construct in set(parts(rule)))
    return found


def lengths(rules: RuleSet) -> Longs:
    """The number of body atoms of each row."""
    size = np.zeros(len(rules), np.int64)
    size[: rules.num_lines] = line_lengths(rules)
    size[rules.num_lines :] = [rule.length for rule in rules.general]
    return size


def line_lengths(rules: RuleSet) -> np.ndarray:
    """Step by step, because a sum along short rows is slow."""
    size = np.zeros(rules.num_lines, np.int16)
    for step in rules.steps.T:
        size += step != NO_STEP
    return size


def parts(rule: Rule) -> Iterator[str]:
    """The constructs of one rule, some of them more than once."""
    if rule.constants:
        yield "constant"
    yield from _formula_parts(rule.body)
    for statement in statements(rule.body):
        names = {anchor.name for anchor in (statement.start, statement.end) if hasattr(anchor, "name")}
        if {"X", "Y"} <= names:
            yield "chain"
        if not names:
            yield "unanchored"
        if any(step.is_filter for step in statement.steps):
            yield "type"


def _formula_parts(formula: Formula) -> Iterator[str]:
    match formula:
        case Truth():
            yield "prior"
        case Not(argument):
            yield "negation"
            yield from _formula_parts(argument)
        case And(arguments):
            yield "conjunction"
            for argument in arguments:
                yield from _formula_parts(argument)
        case Or(arguments):
            yield "disjunction"
            for argument in arguments:
                yield from _formula_parts(argument)
        case Statement():
            return


def construct_names(bits: int) -> list[str]:
    return [construct for construct in CONSTRUCTS if bits & bit(construct)]
