"""Simpler formulas with the same crisp truth value, in a canonical order.

For every knowledge base, value(simplify(r)) == value(r).

Negation is pushed down to the statements (De Morgan); then each conjunction and disjunction drops its redundant
arguments. And and Or are dual, so `_join` is written once for both:

                 unit (dropped)   zero (absorbs everything)   dual
    And          TRUE             FALSE                       Or
    Or           FALSE            TRUE                        And

This does not preserve soft truth values: weights multiply, so `a, a` differs from `a`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .formula import ANY, TRUE, And, Anything, Formula, Not, Or, Statement, Truth, anchor_key, flat
from .predicate import Step
from .rule import Rule

FALSE = Not(TRUE)


def simplify(rule: Rule) -> Rule:
    """Return the rule with a simpler body that has the same crisp truth value."""
    return Rule(rule.head, simplify_formula(rule.body), rule.distinct)


def canonical(rule: Rule) -> Rule:
    """Return the simplified rule with the arguments of And and Or sorted by `formula_key`.

    Rules that differ only in the order of arguments, in double negation or by De Morgan become equal.
    """
    return Rule(rule.head, _ordered(simplify_formula(rule.body)), rule.distinct)


def _ordered(formula: Formula) -> Formula:
    match formula:
        case And(arguments):
            return And(*map(_ordered, sorted(arguments, key=formula_key)))
        case Or(arguments):
            return Or(*map(_ordered, sorted(arguments, key=formula_key)))
        case _:
            return formula


def formula_key(formula: Formula) -> tuple[int, Any]:
    """Return a sort key of `formula` that ignores the order of arguments: statements, then Or, And, Not, TRUE."""
    match formula:
        case Statement(start, steps, end):
            return (0, (anchor_key(start), anchor_key(end), steps))
        case Or(arguments):
            return (1, tuple(sorted(map(formula_key, arguments))))
        case And(arguments):
            return (2, tuple(sorted(map(formula_key, arguments))))
        case Not(argument):
            return (3, formula_key(argument))
        case Truth():
            return (4, ())


def simplify_formula(formula: Formula) -> Formula:
    """Return `formula` with negations only before statements (or before TRUE: false) and without redundant parts.

    The crisp truth value stays the same.
    """
    return _simplify(formula, positive=True)


def _simplify(formula: Formula, positive: bool) -> Formula:
    """Simplify the formula, or its negation if `positive` is false."""
    match formula:
        case Truth():
            return TRUE if positive else FALSE
        case Not(argument):
            return _simplify(argument, not positive)
        case Statement():
            parts = _split(formula)
            return _join(And, parts) if positive else _join(Or, [Not(part) for part in parts])
        case And(arguments) | Or(arguments):
            kind = And if isinstance(formula, And) == positive else Or
            return _join(kind, [_simplify(argument, positive) for argument in arguments])


def _split(statement: Statement) -> list[Statement]:
    """Split `(car(X), inside(X, Z1))` into `car(X)` and `inside(X, Z1)`: filters of an anchored end stand alone.

    The remaining line has the same nodes, so `distinct` compares the same variables. Repeated filters of a node are
    dropped.
    """
    last = len(statement.moves)
    steps: list[Step] = []
    alone: list[Statement] = []
    for node, filters in enumerate(statement.filters):
        own = [Step(predicate) for predicate in dict.fromkeys(filters)]
        if isinstance(statement.anchors[node], Anything):
            steps += own
        else:
            alone += [Statement(statement.anchors[node], (step,)) for step in own]
        steps += statement.moves[node : node + 1]
    if steps or statement.equal is not None:
        end = statement.anchors[last] if last else statement.equal or ANY
        alone.append(Statement(statement.anchors[0], tuple(steps), end))
    return alone


def _join(kind: type[And] | type[Or], arguments: Sequence[Formula]) -> Formula:
    """Return the simplified kind(arguments); the arguments are already simplified."""
    unit, zero, dual = (TRUE, FALSE, Or) if kind is And else (FALSE, TRUE, And)
    while True:
        rest = [a for a in flat(kind, arguments) if a != unit]
        literals: set[Formula] = {a for a in rest if not isinstance(a, And | Or)}
        if zero in rest or any(_complement(a) in literals for a in literals):
            return zero
        arguments = [_given(argument, dual, literals, zero) for argument in rest]
        if arguments == rest:
            break
    kept = _absorb(dual, arguments)
    match kept:
        case []:
            return unit
        case [only]:
            return only
    return kind(*kept)


def _complement(literal: Formula) -> Formula:
    return literal.argument if isinstance(literal, Not) else Not(literal)


def _given(argument: Formula, dual: type[And] | type[Or], literals: set[Formula], zero: Formula) -> Formula:
    """a and (not a or b) is a and b: drop the complements of the outer literals from an inner formula."""
    if not isinstance(argument, dual):
        return argument
    remaining = [inner for inner in argument.arguments if _complement(inner) not in literals]
    match remaining:
        case []:
            return zero
        case [only]:
            return only
    return dual(*remaining)


def _absorb(dual: type[And] | type[Or], arguments: Sequence[Formula]) -> list[Formula]:
    """a and (a or b) is a; of equal arguments, in whatever order, keep the first."""
    parts = [frozenset(map(formula_key, flat(dual, [argument]))) for argument in arguments]
    kept = []
    for i, argument in enumerate(arguments):
        idle = any(parts[j] < parts[i] or (parts[j] == parts[i] and j < i) for j in range(len(parts)) if j != i)
        if not idle:
            kept.append(argument)
    return kept
