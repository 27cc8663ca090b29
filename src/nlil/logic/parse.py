"""Text to rules: the exact inverse of text.py, and kind to what people write by hand.

The way in: tokens.py (characters to tokens), syntax.py (tokens to a tree), scopes.py and lines.py
(tree to formula), this file (clause to Rule).
"""

from __future__ import annotations

from bisect import bisect_right

from ..errors import RuleSyntaxError
from .denial import denied
from .formula import Constant, Variable, X, Y
from .lines import HeadVariables
from .predicate import Predicate, Step
from .query import Query, parse_fact, parse_query
from .rule import Head, Rule
from .scopes import disjunction_meaning
from .syntax import Atom, Clause, read_clauses, read_program
from .tokens import Fault

__all__ = ["Query", "parse_fact", "parse_program", "parse_query", "parse_rule", "parse_rules"]


def parse_rule(text: str) -> Rule:
    """The one rule of the text; variables may have any names, the final dot may be missing.

    >>> str(parse_rule("uncle(A, B) <= brother(A, P), parent(P, B)"))
    'uncle(X, Y) :- brother(X, Z1), parent(Z1, Y).'
    """
    try:
        clauses = read_clauses(text)
        if len(clauses) != 1:
            offset = clauses[1].offset if clauses else len(text)
            raise Fault(f"expected one rule such as p(X, Y) :- q(X, Y), got {len(clauses)}", offset)
        return clause_rule(clauses[0])
    except Fault as fault:
        raise RuleSyntaxError(fault.message, text, fault.offset + 1) from None


def parse_rules(text: str) -> list[tuple[Rule, int]]:
    """Every rule of a file with the line it begins on; each ends with a dot, `%` begins a comment."""
    begins = _line_begins(text)
    try:
        return [(clause_rule(clause), bisect_right(begins, clause.offset)) for clause in read_clauses(text)]
    except Fault as fault:
        raise _in_line(fault, text, begins) from None


def parse_program(text: str) -> tuple[list[tuple[Rule, int]], list[tuple[tuple[Predicate, Step], int]]]:
    """`parse_rules`, and beside the rules every denial `:- p(X, Y), q(X, Y).` as (p, step along q) with its line."""
    begins = _line_begins(text)
    rules, denials = [], []
    try:
        for clause in read_program(text):
            line = bisect_right(begins, clause.offset)
            if isinstance(clause, Clause):
                rules.append((clause_rule(clause), line))
            else:
                denials.append((denied(clause), line))
    except Fault as fault:
        raise _in_line(fault, text, begins) from None
    return rules, denials


def _line_begins(text: str) -> list[int]:
    return [0, *(i + 1 for i, character in enumerate(text) if character == "\n")]


def _in_line(fault: Fault, text: str, begins: list[int]) -> RuleSyntaxError:
    number = bisect_right(begins, fault.offset)
    begin = begins[number - 1]
    line = text[begin:].partition("\n")[0]
    return RuleSyntaxError(f"{fault.message} (line {number})", line, fault.offset - begin + 1)


def clause_rule(clause: Clause) -> Rule:
    """What a clause of the syntax tree means; a Fault says why it means nothing."""
    head, variables = _head(clause.head)
    body = disjunction_meaning(clause.body, variables)
    if body.inequality and body.missing:
        one, two, offset = body.missing
        raise Fault(
            f"this statement lacks {two.shown} \\= {one.shown}; a rule keeps all variables of every statement apart, "
            f"or leaves all inequalities out",
            offset,
        )
    return Rule(head, body.formula, distinct=body.inequality is not None)


def _head(atom: Atom) -> tuple[Head, HeadVariables]:
    """p(A, B) is p(X, Y): the first argument is X, the second Y, whatever the user called them."""
    variables: dict[str, Variable] = {}
    arguments: list[Variable | Constant] = []
    for term, variable in zip(atom.terms, (X, Y)):
        if not term.is_variable:
            arguments.append(Constant(term.text))
            continue
        if term.text in variables:
            raise Fault(f"{term.shown} stands twice in the head; use two variables", term.offset)
        variables[term.text] = variable
        arguments.append(variable)
    if not variables:
        raise Fault("the head needs a variable, as in p(X), p(X, Y), p(X, c) or p(c, Y)", atom.offset)
    return Head(atom.predicate, tuple(arguments)), variables
