"""Truth values by hand, for tests of what becomes of rules after training."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nlil.data.arrays import Mask
from nlil.logic.formula import ANY, And, Formula, Not, Or, Statement, X
from nlil.logic.parse import parse_rule
from nlil.logic.predicate import Predicate, Step
from nlil.logic.rule import Head
from nlil.logic.simplify import formula_key, simplify_formula
from nlil.neural.refine import Parts, Refiner

HEAD = Head.of(Predicate("h", 1))
NO_PARTS = Parts((), (), (ANY,))


def atom(name: str) -> Statement:
    return Statement(X, (Step(Predicate(name, 1)),))


def body(text: str) -> Formula:
    return parse_rule(f"h(X) :- {text}.").body


def meaning(formula: Formula) -> Any:
    """The same for formulas that differ in the order of their parts."""
    return formula_key(simplify_formula(formula))


class Rows:
    """Truth values by hand: a row for each class."""

    def __init__(self, label: Sequence[Any] | Mask, rows: Mapping[str, Any]) -> None:
        self.label = np.asarray(label, bool)
        self.rows = {atom(name): np.asarray(row, bool) for name, row in rows.items()}

    def of(self, statement: Statement) -> Mask | None:
        return self.rows.get(statement)

    def values(self, formula: Formula) -> list[bool]:
        """Tuple by tuple, in plain Python: nothing of this is shared with the code under test."""
        return [self._holds(formula, i) for i in range(len(self.label))]

    def _holds(self, formula: Formula, i: int) -> bool:
        match formula:
            case Not(argument):
                return not self._holds(argument, i)
            case And(arguments):
                return all(self._holds(a, i) for a in arguments)
            case Or(arguments):
                return any(self._holds(a, i) for a in arguments)
            case Statement():
                return bool(self.rows[formula][i])
            case _:
                raise AssertionError(formula)

    def wrong(self, formula: Formula) -> int:
        return sum(value != truth for value, truth in zip(self.values(formula), self.label.tolist()))

    def f1(self, formula: Formula) -> float:
        values, label = self.values(formula), self.label.tolist()
        both = sum(v and t for v, t in zip(values, label))
        return 2 * both / max(1, sum(values) + sum(label))


def every_case(*names: str, times: int = 1) -> dict[str, np.ndarray]:
    """Rows such that each combination of truth values occurs."""
    cases = np.array(list(itertools.product([False, True], repeat=len(names))) * times)
    return {name: cases[:, i] for i, name in enumerate(names)}


def refined(table: Rows, *bodies: Formula, parts: Parts = NO_PARTS) -> list[Formula]:
    return [rule.body for rule in Refiner(HEAD, table, parts).refined(bodies)]
