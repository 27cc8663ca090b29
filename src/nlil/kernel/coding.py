"""One rule as a row of integers, and back.

A *line rule* is a prior or a single statement that starts at the head's first variable:

    p(X, Y) :- line from X to Y          end = OTHER
    p(X, c) :- line from X to d or any   fixed = SECOND, end = d or FREE
    p(c, Y) :- line from Y to d or any   fixed = FIRST,  end = d or FREE
    p(X)    :- line from X to d or any                   end = d or FREE

Everything else (conjunction, disjunction, negation, unanchored sets) stays a `Rule` value.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..data.kb import KnowledgeBase
from ..logic.formula import ANY, TRUE, Anchor, Anything, Constant, Statement, Truth, Variable, X, Y
from ..logic.predicate import Predicate, Step
from ..logic.rule import Head, Rule

FREE = -1
"""The far end of a line is any entity."""
OTHER = -2
"""The far end of a line is the other head variable."""
NO_STEP = -1
"""Filler behind the last step of a row."""

FIRST, SECOND = 1, 2
"""`fixed`: which argument of the head is a constant; 0 where none is."""


@dataclass(frozen=True, slots=True)
class Row:
    head: int
    head_entity: int
    fixed: int
    steps: tuple[int, ...]
    end: int
    distinct: bool


def encode(rule: Rule, kb: KnowledgeBase) -> Row | None:
    """The row of a line rule; None for a rule of another shape."""
    head = kb.predicate_id(rule.head.predicate)
    fixed, head_entity = 0, FREE
    for place, argument in enumerate(rule.head.arguments, start=1):
        if isinstance(argument, Constant):
            fixed, head_entity = place, kb.entities.id(argument.name)
    if isinstance(rule.body, Truth):
        if rule.target.arity == 2 and not fixed:
            return None
        return Row(head, head_entity, fixed, (), FREE, False)
    if not isinstance(rule.body, Statement) or rule.body.start != (Y if fixed == FIRST else X):
        return None
    match rule.body.end:
        case Variable("Y") if rule.target.arity == 2 and not fixed:
            end = OTHER
        case Constant(name) if rule.target.arity == 1 or fixed:
            end = kb.entities.id(name)
        case Anything() if rule.target.arity == 1 or fixed:
            end = FREE
        case _:
            return None
    steps = tuple(kb.code(step) for step in rule.body.steps)
    return Row(head, head_entity, fixed, steps, end, rule.distinct) if steps else None


def decode(row: Row, predicates: tuple[Predicate, ...], entity_name: dict[int, str]) -> Rule:
    """The rule of a row; `entity_name` holds the names of the row's constants."""
    predicate = predicates[row.head]
    head = Head.of(predicate)
    start: Anchor = X
    if row.fixed == FIRST:
        head, start = Head(predicate, (Constant(entity_name[row.head_entity]), Y)), Y
    elif row.fixed == SECOND:
        head = Head(predicate, (X, Constant(entity_name[row.head_entity])))
    if not row.steps:
        return Rule(head, TRUE)
    end: Anchor = ANY
    if row.end == OTHER:
        end = Y
    elif row.end != FREE:
        end = Constant(entity_name[row.end])
    steps = tuple(Step(predicates[code >> 1], bool(code & 1)) for code in row.steps)
    return Rule(head, Statement(start, steps, end), row.distinct)
