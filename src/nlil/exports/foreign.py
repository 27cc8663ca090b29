"""Rules that other systems wrote, atom by atom, as rules of ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import RuleError
from ..logic.parse import clause_rule
from ..logic.predicate import Predicate
from ..logic.rule import Rule
from ..logic.syntax import Atom, Clause, Term, TrueMark
from ..logic.tokens import Fault

REASONS = {
    "joined by three": "with a variable that three binary atoms share",
    "in a ring": "with a ring of variables in the body",
    "joined to itself": "with a body variable twice in one atom",
    "twice in the head": "with one variable twice in the head",
    "head needs a variable": "with no variable in the head",
}
"""What the parser says of one rule -> what is said of many."""
OTHER = "with another shape than nlil's rules"


@dataclass(frozen=True, slots=True)
class ForeignAtom:
    """p(s, t) by name, and which of the terms are variables."""

    predicate: str
    terms: tuple[str, str]
    variables: tuple[bool, bool]


@dataclass(frozen=True, slots=True)
class Unsayable:
    """A sound rule of another system that is none of ours; `reason` goes on after "12 rules"."""

    reason: str


def foreign_rule(head: ForeignAtom, body: Sequence[ForeignAtom], distinct: bool) -> Rule | Unsayable:
    """The rule that these atoms say, or why it cannot be one of ours."""
    # Offsets only tell occurrences apart here: the text is not ours.
    atoms = [
        Atom(
            Predicate(a.predicate, 2),
            tuple(Term(t, v, 3 * i + 1 + j) for j, (t, v) in enumerate(zip(a.terms, a.variables))),
            3 * i,
        )
        for i, a in enumerate((head, *body))
    ]
    clause = Clause(atoms[0], (tuple(atoms[1:]) or (TrueMark(0),),), 0)
    try:
        rule = clause_rule(clause)
        return Rule(rule.head, rule.body, distinct)
    except (Fault, RuleError) as fault:
        return Unsayable(next((many for one, many in REASONS.items() if one in str(fault)), OTHER))
