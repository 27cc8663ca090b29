"""From a task to a program: plain bodies first, then richer languages, invented predicates, and finally noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..data.arrays import Longs, Mask
from ..progress import Stop
from .candidates import PLAIN, Language
from .clause import Clause
from .invention import inventions
from .search import INFINITE, MAX_TRIED, MORE_TRIED, Found, Search
from .task import Program, Task, holds

STAGES = (
    PLAIN,
    Language(distinct=True, constants=True, numbers=True),
    Language(distinct=True, constants=True, numbers=True, negation=True),
)
"""The constructs of bodies, the plainest first."""
MAX_ROUGH_CANDIDATES = 4_000
"""Limit of the clauses that a program with errors is chosen from."""
ROUGH = 0.7
"""With noise, a program with errors must need at most this share of the description length of a correct one."""

SHORT_CLAUSE = 5
"""The search ends with a plain clause of at most this many literals, the head included."""
FIRST_EXAMPLES, MORE_EXAMPLES, MAX_ROUNDS = 300, 50, 8
"""Positive and negative examples in the first sample, misclassified ones added in each round, and the most rounds."""


class Induction:
    """The induction of a program for one task. `stop` ends the search early."""

    def __init__(self, task: Task, stop: Stop) -> None:
        self.task, self.stop = task, stop
        self.best: Found | None = None
        self.searches: list[Search] = []

    def run(self) -> Program:
        """Return the smallest program found; with noise, the one with the least description length."""
        task = self.task
        for language in STAGES if task.bias.tests else STAGES[:1]:
            self._search(task, language)
            if self._is_convincing():
                break
        if task.bias.invention or (task.bias.invention is None and not self._is_convincing()):
            self._invent()
        clauses = self._rough() or (self.best.clauses if self.best is not None else ())
        return judged(task, clauses, self._is_least(), sum(search.num_tried for search in self.searches))

    def _search(self, task: Task, language: Language, cost: int = 0, definitions: tuple[Clause, ...] = ()) -> None:
        """Search once; `definitions`, with this `cost`, are part of every program found."""
        most = INFINITE if self.best is None else self.best.cost - cost
        if most <= 2:
            return
        effort = MAX_TRIED if self.best is None and not definitions else MORE_TRIED
        search = Search(task, language, most, effort, self.stop)
        self.searches.append(search)
        found = search.run()
        if found is not None:
            used = {literal.symbol for clause in found.clauses for literal in clause.body}
            needed = definitions if any(clause.head.symbol in used for clause in definitions) else ()
            self.best = replace(found, clauses=(*found.clauses, *needed), cost=found.cost + cost)

    def _invent(self) -> None:
        """Try invented predicates."""
        for invented in inventions(self.task):
            self._search(invented.added_to(self.task), STAGES[0], invented.cost, invented.clauses)

    def _is_convincing(self) -> bool:
        """Return whether the best program is much shorter than the list of examples, or has the form of `_is_one`."""
        return self.best is not None and (self._is_one() or 2 * self.best.cost <= len(self.task.positives))

    def _is_one(self) -> bool:
        """Return whether the best program is one short plain clause, or a plain recursion of up to three clauses."""
        clauses = self.best.clauses if self.best is not None else ()
        is_recursive = any(clause.is_recursive() for clause in clauses)
        is_short = len(clauses) <= 3 if is_recursive else len(clauses) == 1 and clauses[0].size <= SHORT_CLAUSE
        return is_short and self._is_plain()

    def _is_plain(self) -> bool:
        """Return whether the best program has atoms over variables only."""
        return self.best is not None and all(b.is_plain for clause in self.best.clauses for b in clause.body)

    def _is_least(self) -> bool:
        return self.best is not None and self.best.is_least and not any(search.was_cut for search in self.searches)

    def _rough(self) -> tuple[Clause, ...]:
        """Return a program with errors, if its description is much shorter than that of the best correct one."""
        if self._is_convincing() and self._is_plain():
            return ()
        nodes = [pair for search in self.searches[: len(STAGES)] for pair in search.all_nodes]
        rough = least_description(self.task, nodes)
        if rough is None or (self.best is not None and rough.length > ROUGH * self.best.cost):
            return ()
        self.best = None
        return rough.clauses


def induce(task: Task, stop: Stop | None = None) -> Program:
    """Return the smallest program for the task; with noise, the one with the least description length.

    If there are many examples, the search starts with a sample and adds examples that its program gets wrong. `stop`
    ends the search early.
    """
    stop = stop or Stop()
    chosen = [_drawn(len(rows)) for rows in (task.positives, task.negatives)]
    tried = 0
    for _ in range(MAX_ROUNDS):
        some = replace(task, positives=task.positives[chosen[0]], negatives=task.negatives[chosen[1]])
        found = Induction(some, stop).run()
        tried += found.num_tried
        missed = ~holds(task, found.clauses, task.positives) & ~chosen[0]
        wrong = holds(task, found.clauses, task.negatives) & ~chosen[1]
        if not found.is_solved or stop() or not (missed.any() or wrong.any()):
            break
        for mask, bad in zip(chosen, (missed, wrong)):
            mask[np.flatnonzero(bad)[:MORE_EXAMPLES]] = True
    return judged(task, found.clauses, found.is_least, tried)


def _drawn(count: int) -> Mask:
    """Return which examples are in the first sample: the same for every seed."""
    mask = np.zeros(count, bool)
    mask[np.random.default_rng(0).permutation(count)[:FIRST_EXAMPLES]] = True
    return mask


def judged(task: Task, clauses: tuple[Clause, ...], is_least: bool, num_tried: int) -> Program:
    """Return the program, judged by what its clauses derive together; `is_least` and `num_tried` as in Program."""
    adds, before = [], np.zeros(len(task.positives), bool)
    own = [clause for clause in clauses if clause.head.symbol == task.target]
    definitions = [clause for clause in clauses if clause.head.symbol != task.target]
    for count in range(1, len(own) + 1):
        covered = holds(task, [*own[:count], *definitions], task.positives)
        adds.append(int((covered & ~before).sum()))
        before = covered
    wrong = task.negatives[holds(task, clauses, task.negatives)]
    missed = task.positives[~before]
    rows = [tuple(map(tuple, part.tolist())) for part in (missed, wrong)]
    return Program((*own, *definitions), (*adds, *(0 for _ in definitions)), rows[0], rows[1], is_least, num_tried)


# noise: the least description length, literals plus wrong answers -----------------------------------------


class Rough(NamedTuple):
    """A program with wrong answers: its `clauses`, and its `length`: their cost plus the number of wrong answers."""

    clauses: tuple[Clause, ...]
    length: int


def least_description(task: Task, nodes: Sequence[tuple[Clause, Mask]]) -> Rough | None:
    """Return the program with the least description length found; None if the empty one is shortest.

    `nodes` are clauses with the examples that each covers. A clause is added, removed or exchanged as long as that
    shortens the description.
    """
    num = len(task.positives)
    gains = [(int(m[:num].sum()) - int(m[num:].sum()) - c.cost, -c.cost, -i) for i, (c, m) in enumerate(nodes)]
    order = sorted((i for i, gain in enumerate(gains) if gain[0] > 0), key=lambda i: gains[i], reverse=True)
    order = order[:MAX_ROUGH_CANDIDATES]
    if not order:
        return None
    masks = np.array([nodes[i][1] for i in order])
    costs = np.array([nodes[i][0].cost for i in order])
    sign = np.where(np.arange(masks.shape[1]) < num, 1, -1)
    chosen = _improved(masks, costs, sign, task.bias.max_clauses)
    if not chosen:
        return None
    length = num + _length(masks, costs, sign, chosen)
    return Rough(tuple(nodes[order[i]][0] for i in chosen), length)


def _improved(masks: Mask, costs: Longs, sign: Longs, most: int) -> list[int]:
    """Add the clause that shortens the description most, until none does; then try to remove or exchange each."""
    chosen: list[int] = []
    while True:
        grown = _added(masks, costs, sign, chosen, most)
        for one in list(grown):
            rest = [i for i in grown if i != one]
            other = _added(masks, costs, sign, rest, most)
            if _length(masks, costs, sign, other) < _length(masks, costs, sign, grown):
                grown = other
        if grown == chosen:
            return chosen
        chosen = grown


def _added(masks: Mask, costs: Longs, sign: Longs, chosen: list[int], most: int) -> list[int]:
    """Add clauses greedily, as long as one shortens the description and there are fewer than `most`."""
    chosen = list(chosen)
    while len(chosen) < most:
        gain = (masks & ~masks[chosen].any(axis=0)) @ sign - costs
        best = int(gain.argmax())
        if gain[best] <= 0:
            break
        chosen.append(best)
    return chosen


def _length(masks: Mask, costs: Longs, sign: Longs, chosen: list[int]) -> int:
    """Return the cost of the chosen clauses, minus the positive and plus the negative examples that they cover."""
    return int(costs[chosen].sum()) - int(sign[masks[chosen].any(axis=0)].sum())
