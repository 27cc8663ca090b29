"""Composition: programs learned from kinship stories of 2 to 4 relations, applied to stories of 5 to 10.

A story is a chain of relations, father(a, b), sister(b, c), and the question is how its last person is related to its
first. The programs of all relations are learned in rounds: those of longer stories read what those of shorter ones
derive. Bodies lead forward from the first person to the last (directions), so no relation is read backwards.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nlil.program.base import Base, Tuples, base_of
from nlil.program.bias import Bias
from nlil.program.clause import Clause, Literal, Symbol
from nlil.program.fixpoint import derive
from nlil.program.induce import induce
from nlil.program.task import Task

NAMES = {
    "parent": ("father", "mother"), "child": ("son", "daughter"), "spouse": ("husband", "wife"),
    "sibling": ("brother", "sister"), "grandparent": ("grandfather", "grandmother"),
    "grandchild": ("grandson", "granddaughter"), "uncle": ("uncle", "aunt"), "nephew": ("nephew", "niece"),
    "cousin": ("male_cousin", "female_cousin"), "parent_in_law": ("father_in_law", "mother_in_law"),
    "child_in_law": ("son_in_law", "daughter_in_law"), "sibling_in_law": ("brother_in_law", "sister_in_law"),
}  # fmt: skip
"""Kind of a relation -> its names for a man and for a woman."""
STEPS = ("parent", "child", "spouse", "sibling")
COMPOSED = {
    "parent": {"parent": "grandparent", "spouse": "parent", "sibling": "uncle", "child": "sibling"},
    "child": {"child": "grandchild", "spouse": "child_in_law", "sibling": "child", "parent": "spouse"},
    "spouse": {"parent": "parent_in_law", "child": "child", "sibling": "sibling_in_law"},
    "sibling": {"parent": "parent", "child": "nephew", "spouse": "sibling_in_law", "sibling": "sibling"},
    "grandparent": {"spouse": "grandparent"},
    "grandchild": {"sibling": "grandchild"},
    "uncle": {"child": "cousin", "parent": "grandparent"},
    "nephew": {"sibling": "nephew"},
    "cousin": {"sibling": "cousin"},  # its parent may be an uncle by marriage, whose parents are no grandparents
    "parent_in_law": {"spouse": "parent_in_law"},
    "child_in_law": {"child": "grandchild", "spouse": "child"},
    "sibling_in_law": {},
}
"""Kind of a relation -> step -> the relation to the person that the step leads to, where there is only one."""
TRAINED, TESTED = (2, 3, 4), (5, 6, 7, 8, 9, 10)
"""Relations of a story."""
NUM_TRAINED, NUM_TESTED = 400, 100
"""Stories of each length."""
SYMBOLS = tuple(Symbol(name, 2) for names in NAMES.values() for name in names)


class Story(NamedTuple):
    """The relation of each person to the one before (`steps`), and of the last one to the first (`answer`)."""

    steps: tuple[str, ...]
    answer: str


def story(rng: random.Random, length: int) -> Story:
    """Draw a story of `length` relations."""
    while True:
        kind, steps = "", list[str]()
        for _ in range(length):
            following = COMPOSED[kind] if kind else {step: step for step in STEPS}
            if not following:
                break
            step = rng.choice(sorted(following))
            kind, sex = following[step], rng.randint(0, 1)
            steps.append(NAMES[step][sex])
        else:
            return Story(tuple(steps), NAMES[kind][sex])


def base_of_stories(stories: Sequence[Story]) -> tuple[Base, Tuples]:
    """Return the relations of the `stories` as facts, each about people of its own, and their first and last people."""
    facts: dict[Symbol, list[tuple[int, int]]] = {}
    ends, count = [], 0
    for one in stories:
        for i, name in enumerate(one.steps):
            facts.setdefault(Symbol(name, 2), []).append((count + i, count + i + 1))
        ends.append((count, count + len(one.steps)))
        count += len(one.steps) + 1
    tables = {symbol: np.array(rows, np.int64) for symbol, rows in facts.items()}
    return base_of([f"p{i}" for i in range(count)], tables, {}), np.array(ends, np.int64)


def learned(stories: Sequence[Story]) -> list[Clause]:
    """Return the clauses of all relations, learned from the short `stories` first."""
    clauses: list[Clause] = []
    for length in sorted({len(one.steps) for one in stories}):
        of_length = [one for one in stories if len(one.steps) == length]
        base, ends = base_of_stories(of_length)
        base = _closed(base, clauses)
        answers = np.array([one.answer for one in of_length])
        told = _told(base, ends)
        for symbol in SYMBOLS:
            is_one = answers == symbol.name
            left = is_one & np.array([symbol.name not in one for one in told])
            if left.any():
                clauses += _program(base, symbol, ends[left], ends[~is_one])
    return list(dict.fromkeys(clauses))


def _closed(base: Base, clauses: Sequence[Clause]) -> Base:
    """Return the `base` with all that the `clauses` derive."""
    kinds = {symbol: (next(iter(base.domains)),) * 2 for symbol in SYMBOLS}
    return base.with_relations(derive(base, clauses) if clauses else {}, kinds)


def _program(base: Base, symbol: Symbol, positives: Tuples, negatives: Tuples) -> list[Clause]:
    """Return clauses of `symbol`; its bodies may use it too, so that it is learned under another name."""
    target = Symbol(f"new {symbol.name}", 2)
    bias = Bias(SYMBOLS, 3, 2, 30, False, False, False, directions=dict.fromkeys(SYMBOLS, (True, False)))
    base = replace(base, types={**base.types, target: base.types[symbol]})
    program = induce(Task(symbol.name, base, target, positives, negatives, bias))
    return [Clause(Literal(symbol, clause.head.args), clause.body) for clause in program.clauses]


def _told(base: Base, ends: Tuples) -> list[set[str]]:
    """Return the relations of the last person of every story to the first."""
    told: list[set[str]] = [set() for _ in ends]
    for symbol in SYMBOLS:
        for i in np.flatnonzero(base.relation(symbol).contains(list(ends.T), (0, 1))).tolist():
            told[i].add(symbol.name)
    return told


def accuracy(clauses: Sequence[Clause], stories: Sequence[Story]) -> float:
    """Return the share of `stories` for which the `clauses` derive the right relation and no other one."""
    base, ends = base_of_stories(stories)
    told = _told(_closed(base, clauses), ends)
    return sum(found == {one.answer} for found, one in zip(told, stories)) / len(stories)


def measured_stories(seed: int) -> tuple[list[Clause], Mapping[str, float]]:
    """Learn from stories of one `seed`; return the clauses, and the accuracy by number of relations."""
    rng = random.Random(f"stories {seed}")
    clauses = learned([story(rng, length) for length in TRAINED for _ in range(NUM_TRAINED)])
    return clauses, {str(n): accuracy(clauses, [story(rng, n) for _ in range(NUM_TESTED)]) for n in TESTED}
