"""Rules that other systems wrote, atom by atom, as rules of ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import DataError, RuleError
from ..logic.parse import clause_rule
from ..logic.predicate import Predicate
from ..logic.rule import Rule
from ..logic.syntax import Atom, Clause, Term, TrueMark
from ..logic.tokens import Fault


@dataclass(frozen=True, slots=True)
class ForeignAtom:
    """p(s, t) by name, and which of the terms are variables."""

    predicate: str
    terms: tuple[str, str]
    variables: tuple[bool, bool]


def foreign_rule(
    head: ForeignAtom, body: Sequence[ForeignAtom], distinct: bool, path: object, line: int
) -> Rule:
    """The rule that these atoms say; what it cannot be among ours is told with its place."""
    # Offsets only tell occurrences apart here: the text is not ours.
    atoms = [Atom(Predicate(a.predicate, 2),
                  tuple(Term(t, v, 3 * i + 1 + j) for j, (t, v) in enumerate(zip(a.terms, a.variables))), 3 * i)
             for i, a in enumerate((head, *body))]
    clause = Clause(atoms[0], (tuple(atoms[1:]) or (TrueMark(0),),), 0)
    try:
        rule = clause_rule(clause)
        return Rule(rule.head, rule.body, distinct)
    except Fault as fault:
        raise DataError(f"this rule is none of ours: {fault.message}", path, line) from None
    except RuleError as error:
        raise DataError(str(error), path, line) from error
