"""Task: target, examples and background; Program: the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..data.arrays import Mask
from .base import Base, Relation, Tuples
from .bias import Bias
from .clause import Clause, Symbol, clause_text
from .fixpoint import covered, derive


def no_rows(symbol: Symbol) -> Tuples:
    """Return an empty table of tuples of `symbol`."""
    return np.zeros((0, symbol.arity), np.int64)


@dataclass(frozen=True, eq=False)
class Task:
    """Examples of a `target`, and the `base` and the `bias` of its clauses.

    `positives`, `negatives`, `test_positives` and `test_negatives` are tuples of the target. With `closed_world`, no
    negatives were given, so all other tuples of entities of the right types are negative. `notes` say what the reader
    decided.
    """

    name: str
    base: Base
    target: Symbol
    positives: Tuples
    negatives: Tuples
    bias: Bias = field(default_factory=Bias)
    closed_world: bool = False
    test_positives: Tuples = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    test_negatives: Tuples = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    notes: tuple[str, ...] = ()

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The predicates of bodies, except the target itself."""
        allowed = sorted(self.base.relations) if self.bias.body is None else self.bias.body
        return tuple(symbol for symbol in allowed if symbol != self.target and symbol in self.base.types)


@dataclass(frozen=True)
class Program:
    """The `clauses` found for a task, in the order in which they are tried.

    `adds` has for each clause the positive examples that the clauses before it do not derive; `missed` are the positive
    examples that the program does not derive, `wrong` the negative ones that it does. `is_least` says whether no
    smaller program exists within the bounds. `num_tried` counts the literals that were evaluated; `notes` say what was
    decided or could not be done.
    """

    clauses: tuple[Clause, ...]
    adds: tuple[int, ...]
    missed: tuple[tuple[int, ...], ...]
    wrong: tuple[tuple[int, ...], ...]
    is_least: bool
    num_tried: int
    notes: tuple[str, ...] = ()

    @property
    def is_solved(self) -> bool:
        """Whether every positive example is derived and no negative one."""
        return not self.missed and not self.wrong

    @property
    def size(self) -> int:
        """The number of literals, heads included."""
        return sum(clause.size for clause in self.clauses)

    def texts(self, task: Task) -> list[str]:
        """Return the clauses as Prolog."""
        return [clause_text(clause, task.base.names) for clause in self.clauses]


def holds(task: Task, clauses: Sequence[Clause], queries: Tuples) -> Mask:
    """Return which of the queries the clauses derive, to their fixpoint, with no fact of the target given.

    Without recursion of the target its clauses are evaluated for the queries only: they may derive far more.
    """
    own = [clause for clause in clauses if clause.head.symbol == task.target]
    found = np.zeros(len(queries), bool)
    if not own or not len(queries):
        return found
    if any(literal.symbol == task.target for clause in clauses for literal in clause.body):
        rows = derive(task.base, clauses).get(task.target, no_rows(task.target))
        return Relation(rows, task.base.num_entities).contains(list(queries.T), tuple(range(task.target.arity)))
    invented = derive(task.base, [clause for clause in clauses if clause.head.symbol != task.target])
    known = {**task.base.relations, **{s: Relation(rows, task.base.num_entities) for s, rows in invented.items()}}
    for clause in own:
        found |= covered(clause, queries, known, task.base)
    return found


def solves(task: Task, clauses: Sequence[Clause]) -> bool:
    """Return whether the clauses derive every positive example and no negative one."""
    examples = np.concatenate((task.positives, task.negatives))
    found = holds(task, clauses, examples)
    return bool(found[: len(task.positives)].all() and not found[len(task.positives) :].any())
