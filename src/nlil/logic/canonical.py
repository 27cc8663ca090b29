"""The canonical form of a rule: rules that say the same in another order are equal values in it."""

from __future__ import annotations

from .formula import And, Formula, Or
from .order import formula_key
from .rule import Rule
from .simplify import simplify_formula


def canonical(rule: Rule) -> Rule:
    """The simplified rule with the arguments of And and Or in the order of `formula_key`.

    Rules that differ in the order of arguments, in double negation or by De Morgan are equal in this form.
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
