"""Syntax tree to Formula: atoms are grouped into statements, each closed over its own body variables.

In a conjunction the atoms that share body variables are one statement; an atom without any is a
statement of its own; a parenthesised group of plain atoms is one statement where it draws one line,
and mere brackets otherwise. The content of `\\\\+` and each branch of `;` is a conjunction of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from .formula import TRUE, And, Formula, Not, Or
from .lines import HeadVariables, body_variables, statement_of
from .syntax import Atom, Conjunction, Disjunction, Equation, Group, Inequality, Item, Literal, Negation, Term, TrueMark
from .tokens import Fault


@dataclass(frozen=True, slots=True)
class Meaning:
    """A formula, and what its text says about distinctness.

    `inequality`: some `Z1 \\\\= X` stands in it. `missing`: a pair of variables of one statement
    that no inequality keeps apart, and the offset of that statement.
    """

    formula: Formula
    inequality: Inequality | None = None
    missing: tuple[Term, Term, int] | None = None


def disjunction_meaning(branches: Disjunction, head: HeadVariables) -> Meaning:
    meanings = [_conjunction_meaning(branch, head) for branch in branches]
    formulas = [m.formula for m in meanings]
    return _combined(formulas[0] if len(formulas) == 1 else Or(*formulas), meanings)


def _combined(formula: Formula, parts: Iterable[Meaning]) -> Meaning:
    inequality, missing = None, None
    for part in parts:
        inequality = inequality or part.inequality
        missing = missing or part.missing
    return Meaning(formula, inequality, missing)


def _conjunction_meaning(conjunction: Conjunction, head: HeadVariables) -> Meaning:
    """The items in the order of their first atoms; statements first found, then compared."""
    items = _without_brackets(conjunction)
    _check_closed(items, head)
    found: list[tuple[int, Meaning]] = []
    statements: list[Sequence[Literal]] = []
    loose: list[Literal] = []
    for item in items:
        match item:
            case Atom() | Equation():
                loose.append(item)
            case TrueMark(offset):
                found.append((offset, Meaning(TRUE)))
            case Negation(body, offset):
                inner = disjunction_meaning(body, head)
                found.append((offset, _combined(Not(inner.formula), [inner])))
            case Group([literals], _) if _is_statement(item, items, head):
                statements.append(literals)  # type: ignore[arg-type]
            case Group([literals], _):
                loose += literals  # type: ignore[arg-type]
            case Group(body, offset):
                found.append((offset, disjunction_meaning(body, head)))
    statements += _components(loose, head)
    inequalities = [item for item in items if isinstance(item, Inequality)]
    missing = _missing_pair(statements, inequalities)
    found += [(s[0].offset, Meaning(statement_of(s, head))) for s in statements]
    meanings = [meaning for _, meaning in sorted(found, key=lambda pair: pair[0])]
    formulas = [m.formula for m in meanings]
    own = Meaning(TRUE, inequalities[0] if inequalities else None, missing)
    return _combined(formulas[0] if len(formulas) == 1 else And(*formulas), [own, *meanings])


def _without_brackets(items: Conjunction) -> list[Item]:
    """Brackets kept only around `;` and around plain atoms; inequalities belong to the whole conjunction."""
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


def _variables(item: Item, head: HeadVariables) -> dict[Term, Term]:
    """The body variables of an item, each with its first occurrence."""
    match item:
        case Atom() | Equation():
            return {t: t for t in reversed(body_variables(item, head))}
        case Negation(body) | Group(body):
            found: dict[Term, Term] = {}
            for conjunction in body:
                for inner in conjunction:
                    found = _variables(inner, head) | found
            return found
        case _:
            return {}


def _check_closed(items: Sequence[Item], head: HeadVariables) -> None:
    """No body variable crosses the border of a `\\\\+` or of a disjunction."""
    seen: dict[Term, Item] = {}
    for item in items:
        for variable, occurrence in _variables(item, head).items():
            earlier = seen.setdefault(variable, item)
            border = next((i for i in (item, earlier) if _closes(i)), None)
            if earlier is not item and border is not None:
                where = "\\+ ( ... )" if isinstance(border, Negation) else "a branch of ;"
                raise Fault(
                    f"{variable.shown} stands inside and outside of {where}, but a statement closes over its own "
                    f"variables; rename one of them",
                    occurrence.offset,
                )


def _closes(item: Item) -> bool:
    return isinstance(item, Negation) or (isinstance(item, Group) and len(item.body) > 1)


def _is_statement(group: Group, items: Sequence[Item], head: HeadVariables) -> bool:
    """The bracketed atoms draw one line, and none of their variables goes on outside."""
    inside = _variables(group, head)
    if any(v in inside for item in items if item is not group for v in _variables(item, head)):
        return False
    try:
        statement_of(group.body[0], head)  # type: ignore[arg-type]
    except Fault:
        return False
    return True


def _components(literals: Sequence[Literal], head: HeadVariables) -> list[list[Literal]]:
    """Atoms that share body variables, directly or through others, together and in the order of the text."""
    components: list[tuple[set[Term], list[Literal]]] = []
    for literal in literals:
        variables, atoms = set(body_variables(literal, head)), [literal]
        apart = []
        for known, others in components:
            if known & variables:
                variables, atoms = known | variables, others + atoms
            else:
                apart.append((known, others))
        components = [*apart, (variables, atoms)]
    return [sorted(atoms, key=lambda a: a.offset) for _, atoms in components]


def _missing_pair(
    statements: Sequence[Sequence[Literal]], inequalities: Sequence[Inequality]
) -> tuple[Term, Term, int] | None:
    """The first pair of variables of a statement that is not kept apart; an idle inequality is a Fault."""
    given = {frozenset(i.terms) for i in inequalities}
    wanted: set[frozenset[Term]] = set()
    missing = None
    for literals in statements:
        variables = dict.fromkeys(t for literal in literals for t in literal.terms if t.is_variable)
        for one, two in combinations(variables, 2):
            wanted.add(frozenset((one, two)))
            if missing is None and frozenset((one, two)) not in given:
                missing = (one, two, literals[0].offset)
    for inequality in inequalities:
        if frozenset(inequality.terms) not in wanted:
            left, right = (term.shown for term in inequality.terms)
            raise Fault(
                f"{left} \\= {right} must compare two variables of one statement beside it; "
                f"elsewhere write \\+ {left} = {right}",
                inequality.offset,
            )
    return missing
