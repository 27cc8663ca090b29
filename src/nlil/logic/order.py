"""One order of formulas, the same whatever the order of their arguments."""

from __future__ import annotations

from typing import Any

from .formula import And, Formula, Not, Or, Statement, Truth, anchor_key


def formula_key(formula: Formula) -> tuple[int, Any]:
    """A sort key that does not depend on the order of arguments: statements first, then Or, And, Not, TRUE."""
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
