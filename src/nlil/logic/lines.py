"""Atoms to one Statement: they must draw a line of nodes, which is two paths that meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .formula import ANY, Anchor, Constant, Statement, Variable
from .predicate import Step
from .syntax import Atom, Equation, Literal, Term
from .tokens import Fault

HeadVariables = Mapping[str, Variable]
"""The variables of the head as the user wrote them: A, B of p(A, B) are X, Y."""

_SHAPE = "a statement is two paths that meet"


def body_variables(literal: Literal, head: HeadVariables) -> list[Term]:
    return [t for t in literal.terms if t.is_variable and t.text not in head]


def anchor_of(term: Term, head: HeadVariables) -> Anchor:
    if not term.is_variable:
        return Constant(term.text)
    return head.get(term.text, ANY)


def statement_of(literals: Sequence[Literal], head: HeadVariables) -> Statement:
    """The one statement that these atoms draw, or a Fault that says why they draw none."""
    equations = [e for e in literals if isinstance(e, Equation)]
    filters = [a for a in literals if isinstance(a, Atom) and a.predicate.arity == 1]
    moves = [a for a in literals if isinstance(a, Atom) and a.predicate.arity == 2]
    for equation in equations:
        _check_equation(equation, head)
    if len(equations) > (0 if moves else 1):
        raise Fault("an equation is a statement of its own", equations[-1].offset)
    return _walk(moves, filters, head) if moves else _one_node(filters, equations, head)


def _check_equation(equation: Equation, head: HeadVariables) -> None:
    left, right = equation.terms
    if left == right:
        raise Fault(f"{left.shown} = {right.shown} always holds; leave it out", equation.offset)
    for term, other in ((left, right), (right, left)):
        if anchor_of(term, head) == ANY:
            raise Fault(f"write {other.shown} in place of {term.shown} and leave the equation out", term.offset)


def _one_node(filters: Sequence[Atom], equations: Sequence[Equation], head: HeadVariables) -> Statement:
    """car(X), big(X), X = c: everything is said of one entity."""
    ends = equations[0].terms if equations else filters[0].terms
    for atom in filters:
        if atom.terms[0] not in ends:
            raise Fault(f"{atom.terms[0].shown} is not joined to the atoms before it; {_SHAPE}", atom.offset)
    steps = tuple(Step(a.predicate) for a in filters)
    return Statement(anchor_of(ends[0], head), steps, anchor_of(ends[1], head) if equations else ANY)


def _walk(moves: Sequence[Atom], filters: Sequence[Atom], head: HeadVariables) -> Statement:
    """Follow the binary atoms from one end of the line to the other."""
    joined = _joints(moves, head)
    atom, forward = _first_move(moves, joined, head)
    start = node = atom.terms[0 if forward else 1]
    moves_left = {a.offset for a in moves}
    filters_left = _filters_by_node(filters)
    steps = filters_left.pop(node, [])
    while True:
        moves_left.remove(atom.offset)
        node = atom.terms[1 if forward else 0]
        steps = [*steps, Step(atom.predicate, inverse=not forward), *filters_left.pop(node, [])]
        onward = [a for a in joined.get(node, []) if a.offset in moves_left]
        if not onward:
            break
        atom = onward[0]
        forward = atom.terms[0] == node
    for literal in (*moves, *filters):
        if literal.offset in moves_left or literal.terms[0] in filters_left:
            raise Fault(f"this atom is not on the line of the others; {_SHAPE}", literal.offset)
    return Statement(anchor_of(start, head), tuple(steps), anchor_of(node, head))


def _joints(moves: Sequence[Atom], head: HeadVariables) -> dict[Term, list[Atom]]:
    """The binary atoms at each body variable: one at an end of the line, two inside it."""
    joined: dict[Term, list[Atom]] = {}
    for atom in moves:
        variables = body_variables(atom, head)
        if len(variables) == 2 and variables[0] == variables[1]:
            raise Fault(f"{variables[0].shown} is joined to itself; {_SHAPE}", atom.offset)
        for term in variables:
            atoms = joined.setdefault(term, [])
            atoms.append(atom)
            if len(atoms) == 3:
                raise Fault(f"{term.shown} is joined by three binary atoms; {_SHAPE}", term.offset)
    return joined


def _first_move(moves: Sequence[Atom], joined: Mapping[Term, Sequence[Atom]], head: HeadVariables) -> tuple[Atom, bool]:
    """An atom at an end of the line, and whether it leads forward from there."""
    for atom in moves:
        for term, forward in zip(atom.terms, (True, False)):
            if anchor_of(term, head) != ANY or len(joined[term]) == 1:
                return atom, forward
    names = " and ".join(dict.fromkeys(term.shown for atom in moves for term in atom.terms))
    raise Fault(f"{names} are joined in a ring; {_SHAPE}", moves[-1].offset)


def _filters_by_node(filters: Sequence[Atom]) -> dict[Term, list[Step]]:
    by_node: dict[Term, list[Step]] = {}
    for atom in filters:
        by_node.setdefault(atom.terms[0], []).append(Step(atom.predicate))
    return by_node
