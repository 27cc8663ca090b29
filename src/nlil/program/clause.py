"""Clauses as values, their cost, and their text as Prolog that runs.

An argument is the number of a variable, or ~id for the entity of that id. Head variables are numbered first, from 0.
A negated literal is closed over the variables that occur nowhere else in the clause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..logic.predicate import Symbol as Symbol
from ..logic.text import atom_text

EQUAL, DIFFERENT = Symbol("=", 2), Symbol("\\=", 2)
LESS, AT_MOST, AT_LEAST, MORE = Symbol("<", 2), Symbol("=<", 2), Symbol(">=", 2), Symbol(">", 2)
COMPARISONS = (LESS, AT_MOST, AT_LEAST, MORE)
BUILT_IN = frozenset({EQUAL, DIFFERENT, *COMPARISONS})
"""Predicates that are evaluated, not looked up."""
APART = 2
"""What it costs that a body says something about each argument of the head, and nothing about them together."""
HEAD_NAMES = ("X", "Y", "U", "V", "W")


@dataclass(frozen=True, slots=True, order=True)
class Literal:
    """An atom of a body: a `symbol`, its `args`, and whether it is `negated`.

    `extra` is its additional cost: naming one of many entities takes more information.
    """

    symbol: Symbol
    args: tuple[int, ...]
    negated: bool = False
    extra: int = field(default=0, compare=False)

    @property
    def cost(self) -> int:
        """1, plus 1 if it is negated, plus the cost of its entities."""
        return 1 + self.negated + self.extra

    @property
    def is_plain(self) -> bool:
        """Whether it is an atom over variables, not negated."""
        return not self.negated and self.symbol not in BUILT_IN and all(a >= 0 for a in self.args)

    @property
    def variables(self) -> tuple[int, ...]:
        """The variables among its arguments."""
        return tuple(a for a in self.args if a >= 0)


@dataclass(frozen=True, slots=True, order=True)
class Clause:
    """head :- body. The arguments of a learned head are the variables 0, 1, ..."""

    head: Literal
    body: tuple[Literal, ...]

    @property
    def cost(self) -> int:
        """1 for the head, the costs of the literals, and 2 if the body does not join the arguments of the head."""
        return 1 + sum(literal.cost for literal in self.body) + (0 if self.joins_head() else APART)

    def joins_head(self) -> bool:
        """Return whether shared variables lead from each variable of the head to each other one."""
        wanted, reached = {*self.head.variables}, {*self.head.args[:1]}
        left = [{*literal.variables} for literal in self.body if not literal.negated and literal.symbol != DIFFERENT]
        while found := next((one for one in left if one & reached), None):
            left.remove(found)
            reached |= found
        return wanted <= reached

    @property
    def size(self) -> int:
        """The number of literals, the head included."""
        return 1 + len(self.body)

    @property
    def num_vars(self) -> int:
        """One more than the largest variable."""
        return 1 + max((a for literal in (self.head, *self.body) for a in literal.args), default=-1)

    def is_recursive(self) -> bool:
        """Return whether the predicate of the head occurs in the body."""
        return any(literal.symbol == self.head.symbol for literal in self.body)


def clause_text(clause: Clause, names: Sequence[str]) -> str:
    """Return the clause as Prolog; an equation with an entity is written into the other literals."""
    clause = substituted(clause)
    shown = _variable_names(clause)
    uses = Counter(a for literal in (clause.head, *clause.body) for a in {*literal.variables})

    def argument(literal: Literal, position: int) -> str:
        number = literal.args[position]
        if number < 0:
            return names[~number]
        is_alone = uses[number] == 1 and literal.args.count(number) == 1 and literal is not clause.head
        return "_" if is_alone else shown[number]

    def text(literal: Literal) -> str:
        arguments = [argument(literal, position) for position in range(len(literal.args))]
        if literal.symbol in BUILT_IN:
            return f"{arguments[0]} {literal.symbol.name} {arguments[1]}"
        plain = atom_text(literal.symbol.name) + (f"({', '.join(arguments)})" if arguments else "")
        return f"\\+ {plain}" if literal.negated else plain

    body = ", ".join(map(text, clause.body))
    return f"{text(clause.head)} :- {body}." if body else f"{text(clause.head)}."


def substituted(clause: Clause) -> Clause:
    """Return the clause with the variables that equal an entity replaced by it."""
    values: Mapping[int, int] = {
        literal.args[0]: literal.args[1]
        for literal in clause.body
        if literal.symbol == EQUAL and not literal.negated and literal.args[1] < 0
    }

    def replaced(literal: Literal) -> Literal:
        return Literal(literal.symbol, tuple(values.get(a, a) for a in literal.args), literal.negated)

    body = tuple(replaced(one) for one in clause.body if not (one.symbol == EQUAL and one.args[0] in values))
    return Clause(replaced(clause.head), body)


def _variable_names(clause: Clause) -> dict[int, str]:
    """X, Y, ... for the variables of the head, Z1, Z2, ... for the others in the order in which they are read."""
    shown: dict[int, str] = {}
    for position, number in enumerate(clause.head.args):
        if number >= 0 and number not in shown:
            shown[number] = HEAD_NAMES[position] if len(clause.head.args) <= len(HEAD_NAMES) else f"X{position + 1}"
    inner = (a for literal in clause.body for a in literal.args if a >= 0 and a not in shown)
    for i, number in enumerate(dict.fromkeys(inner)):
        shown[number] = f"Z{i + 1}"
    return shown
