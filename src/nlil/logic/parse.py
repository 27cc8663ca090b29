"""From text to rules: the exact inverse of text.py, and lenient with hand-written rules.

tokens.py turns characters into tokens, syntax.py tokens into a tree, and this file the tree into a Rule. Atoms are
grouped into statements, each closed over its own body variables. In a conjunction, the atoms that share body variables
form one statement, and an atom without body variables is a statement of its own. A parenthesised group of plain atoms
is one statement if it forms one line; otherwise the parentheses have no effect. The content of `\\+` and each branch of
`;` is a conjunction of its own.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import combinations

from ..errors import RuleSyntaxError
from .formula import ANY, TRUE, And, Formula, Not, Or, Statement
from .predicate import Predicate, Step
from .rule import Rule
from .syntax import (
    Atom,
    Clause,
    Conjunction,
    Denial,
    Disjunction,
    Equation,
    Group,
    Inequality,
    Item,
    Literal,
    Negation,
    Term,
    TrueMark,
    read_program,
)
from .tokens import Fault

_SHAPE = "a statement is two paths that meet"


def parse_rule(text: str) -> Rule:
    """Parse `text` as one rule. Variables may have any names, and the final dot may be missing.

    >>> str(parse_rule("uncle(A, B) <= brother(A, P), parent(P, B)"))
    'uncle(X, Y) :- brother(X, Z1), parent(Z1, Y).'
    """
    try:
        match read_program(text, denials=False):
            case [Clause() as clause]:
                return clause_rule(clause)
            case clauses:
                offset = clauses[1].offset if clauses else len(text)
                raise Fault(f"expected one rule such as p(X, Y) :- q(X, Y), got {len(clauses)}", offset)
    except Fault as fault:
        raise RuleSyntaxError(fault.message, text, fault.offset + 1) from None


def parse_program(text: str) -> tuple[list[tuple[Rule, int]], list[tuple[tuple[Predicate, Step], int]]]:
    """Parse every rule and every denial of `text`, with the line number that each begins on.

    A denial `:- p(X, Y), q(X, Y).` is returned as (p, step along q). Clauses end with a dot; `%` begins a comment.
    Raises RuleSyntaxError.
    """
    begins = [0, *(match.end() for match in re.finditer("\n", text))]
    rules, denials = [], []
    try:
        for clause in read_program(text):
            line = bisect_right(begins, clause.offset)
            if isinstance(clause, Clause):
                rules.append((clause_rule(clause), line))
            else:
                denials.append((_denied(clause), line))
    except Fault as fault:
        number = bisect_right(begins, fault.offset)
        begin = begins[number - 1]
        line_text = text[begin:].partition("\n")[0]
        place = number if "\n" in text.strip() else None
        raise RuleSyntaxError(fault.message, line_text, fault.offset - begin + 1, place) from None
    return rules, denials


def clause_rule(clause: Clause) -> Rule:
    """Return the rule that a clause of the syntax tree denotes; raises Fault if it denotes none."""
    body = _Body()
    formula = body.disjunction(clause.body)
    if body.compares and body.missing:
        one, two, offset = min(body.missing, key=lambda pair: pair[2])
        raise Fault(
            f"this statement lacks {two.shown} \\= {one.shown}; a rule keeps all variables of every statement apart, "
            f"or leaves all inequalities out",
            offset,
        )
    return Rule(clause.head, formula, distinct=body.compares)


def _denied(denial: Denial) -> tuple[Predicate, Step]:
    """Return the predicate that a denial rules out, and the step that rules it out."""
    match denial.body:
        case ((Atom(target, terms), Atom(other, others)),) if len({*terms}) == len(terms) == len(others) == 2:
            step = Step(other, others == terms[::-1])
            known = all(term.is_variable for term in terms) and others in (terms, terms[::-1])
            if known and step != Step(target):
                return target, step
    raise Fault(
        "a denial names two binary predicates of the same two variables, as in :- p(X, Y), q(X, Y)", denial.offset
    )


# from the tree to a formula: which atoms form a statement -------------------------------------------


class _Body:
    """Parses a body and records what it says about distinct variables.

    `compares`: the body contains an inequality such as `Z1 \\\\= X`. `missing`: pairs of variables of one statement
    without an inequality, and the offset of that statement.
    """

    def __init__(self) -> None:
        self.compares = False
        self.missing: list[tuple[Term, Term, int]] = []

    def disjunction(self, branches: Disjunction) -> Formula:
        formulas = [self._conjunction(branch) for branch in branches]
        return formulas[0] if len(formulas) == 1 else Or(*formulas)

    def _conjunction(self, conjunction: Conjunction) -> Formula:
        """Return the items, ordered by their first atoms."""
        items = _without_brackets(conjunction)
        _check_closed(items)
        found: list[tuple[int, Formula]] = []
        statements: list[Sequence[Literal]] = []
        loose: list[Literal] = []
        for item in items:
            match item:
                case Atom() | Equation():
                    loose.append(item)
                case TrueMark(offset):
                    found.append((offset, TRUE))
                case Negation(body, offset):
                    found.append((offset, Not(self.disjunction(body))))
                case Group([literals], _) if _is_statement(item, items):
                    statements.append(literals)  # type: ignore[arg-type]
                case Group([literals], _):
                    loose += literals  # type: ignore[arg-type]
                case Group(body, offset):
                    found.append((offset, self.disjunction(body)))
        statements += _components(loose)
        self._compare(statements, [item for item in items if isinstance(item, Inequality)])
        found += [(literals[0].offset, _statement(literals)) for literals in statements]
        formulas = [formula for _, formula in sorted(found, key=lambda pair: pair[0])]
        return formulas[0] if len(formulas) == 1 else And(*formulas)

    def _compare(self, statements: Sequence[Sequence[Literal]], inequalities: Sequence[Inequality]) -> None:
        """Record the pairs of variables without an inequality; an inequality without effect is a Fault."""
        given = {frozenset(inequality.terms) for inequality in inequalities}
        wanted: set[frozenset[Term]] = set()
        for literals in statements:
            variables = dict.fromkeys(t for literal in literals for t in literal.terms if t.is_variable)
            pairs = list(combinations(variables, 2))
            wanted.update(map(frozenset, pairs))
            self.missing += [(*pair, literals[0].offset) for pair in pairs if frozenset(pair) not in given]
        for inequality in inequalities:
            if frozenset(inequality.terms) not in wanted:
                left, right = (term.shown for term in inequality.terms)
                raise Fault(
                    f"{left} \\= {right} must compare two variables of one statement beside it; "
                    f"elsewhere write \\+ {left} = {right}",
                    inequality.offset,
                )
        self.compares = self.compares or bool(inequalities)


def _without_brackets(items: Conjunction) -> list[Item]:
    """Remove the parentheses except around `;` and plain atoms; inequalities belong to the whole conjunction."""
    result: list[Item] = []
    for item in items:
        match item:
            case Group([inner], offset):
                inner_items = _without_brackets(inner)
                plain = [i for i in inner_items if not isinstance(i, Inequality)]
                if len(plain) > 1 and all(isinstance(i, Atom | Equation) for i in plain):
                    result.append(Group((tuple(plain),), offset))
                    result += [i for i in inner_items if isinstance(i, Inequality)]
                else:
                    result += inner_items
            case _:
                result.append(item)
    return result


def _variables(item: Item) -> dict[Term, Term]:
    """Return the body variables of an item, each with its first occurrence."""
    match item:
        case Atom() | Equation():
            return {t: t for t in reversed(_body_variables(item))}
        case Negation(body) | Group(body):
            found: dict[Term, Term] = {}
            for conjunction in body:
                for inner in conjunction:
                    found = _variables(inner) | found
            return found
        case _:
            return {}


def _check_closed(items: Sequence[Item]) -> None:
    """Check that no body variable is used both inside and outside of a `\\\\+` or a disjunction."""
    seen: dict[Term, Item] = {}
    for item in items:
        for variable, occurrence in _variables(item).items():
            earlier = seen.setdefault(variable, item)
            border = next((i for i in (item, earlier) if _closes(i)), None)
            if earlier is not item and border is not None:
                where = "\\+ ( ... )" if isinstance(border, Negation) else "a branch of ;"
                raise Fault(
                    f"{variable.shown} occurs inside and outside of {where}, but a statement is closed over its own "
                    f"variables; rename one of them",
                    occurrence.offset,
                )


def _closes(item: Item) -> bool:
    return isinstance(item, Negation) or (isinstance(item, Group) and len(item.body) > 1)


def _is_statement(group: Group, items: Sequence[Item]) -> bool:
    """Return whether the atoms in parentheses form one line and share no variables with other items."""
    inside = _variables(group)
    if any(v in inside for item in items if item is not group for v in _variables(item)):
        return False
    try:
        _statement(group.body[0])  # type: ignore[arg-type]
    except Fault:
        return False
    return True


def _components(literals: Sequence[Literal]) -> list[list[Literal]]:
    """Group the atoms that share body variables, directly or through others; each group in text order."""
    components: list[tuple[set[Term], list[Literal]]] = []
    for literal in literals:
        variables, atoms = set(_body_variables(literal)), [literal]
        apart = []
        for known, others in components:
            if known & variables:
                variables, atoms = known | variables, others + atoms
            else:
                apart.append((known, others))
        components = [*apart, (variables, atoms)]
    return [sorted(atoms, key=lambda a: a.offset) for _, atoms in components]


# from atoms to a statement: they must form a line of nodes, that is, two paths that meet ------------


def _body_variables(literal: Literal) -> list[Term]:
    return [term for term in literal.terms if term.anchor == ANY]


def _statement(literals: Sequence[Literal]) -> Statement:
    """Return the statement that these atoms form; a Fault says why they form none."""
    equations = [e for e in literals if isinstance(e, Equation)]
    filters = [a for a in literals if isinstance(a, Atom) and a.predicate.arity == 1]
    moves = [a for a in literals if isinstance(a, Atom) and a.predicate.arity == 2]
    for equation in equations:
        _check_equation(equation)
    if len(equations) > (0 if moves else 1):
        raise Fault("an equation is a statement of its own", equations[-1].offset)
    return _walk(moves, filters) if moves else _one_node(filters, equations)


def _check_equation(equation: Equation) -> None:
    left, right = equation.terms
    if left == right:
        raise Fault(f"{left.shown} = {right.shown} always holds; leave it out", equation.offset)
    for term, other in ((left, right), (right, left)):
        if term.anchor == ANY:
            raise Fault(f"write {other.shown} in place of {term.shown} and leave the equation out", term.offset)


def _one_node(filters: Sequence[Atom], equations: Sequence[Equation]) -> Statement:
    """car(X), big(X), X = c: all atoms are about one entity."""
    ends = equations[0].terms if equations else filters[0].terms
    for atom in filters:
        if atom.terms[0] not in ends:
            raise Fault(f"{atom.terms[0].shown} is not joined to the atoms before it; {_SHAPE}", atom.offset)
    steps = tuple(Step(a.predicate) for a in filters)
    return Statement(ends[0].anchor, steps, ends[1].anchor if equations else ANY)


def _walk(moves: Sequence[Atom], filters: Sequence[Atom]) -> Statement:
    """Follow the binary atoms from one end of the line to the other."""
    joined = _joints(moves)
    filters_left: dict[Term, list[Step]] = {}
    for filter in filters:
        filters_left.setdefault(filter.terms[0], []).append(Step(filter.predicate))
    atom, forward = _first_move(moves, joined)
    start = node = atom.terms[0 if forward else 1]
    moves_left = {a.offset for a in moves}
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
    return Statement(start.anchor, tuple(steps), node.anchor)


def _joints(moves: Sequence[Atom]) -> dict[Term, list[Atom]]:
    """Return the binary atoms at each body variable: one at the end of a line, two inside it."""
    joined: dict[Term, list[Atom]] = {}
    for atom in moves:
        variables = _body_variables(atom)
        if len(variables) == 2 and variables[0] == variables[1]:
            raise Fault(f"{variables[0].shown} is joined to itself; {_SHAPE}", atom.offset)
        for term in variables:
            atoms = joined.setdefault(term, [])
            atoms.append(atom)
            if len(atoms) == 3:
                raise Fault(f"{term.shown} is joined by three binary atoms; {_SHAPE}", term.offset)
    return joined


def _first_move(moves: Sequence[Atom], joined: Mapping[Term, Sequence[Atom]]) -> tuple[Atom, bool]:
    """Return an atom at an end of the line, and whether it leads forward from there."""
    for atom in moves:
        for term, forward in zip(atom.terms, (True, False)):
            if term.anchor != ANY or len(joined[term]) == 1:
                return atom, forward
    names = " and ".join(dict.fromkeys(term.shown for atom in moves for term in atom.terms))
    raise Fault(f"{names} are joined in a ring; {_SHAPE}", moves[-1].offset)
