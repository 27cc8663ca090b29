"""From a task to a program: plain bodies first, then what costs more to say, invented predicates, and noise last."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..data.arrays import Mask
from ..progress import Stop
from .clause import Clause
from .invention import inventions
from .noise import least_description
from .refinement import PLAIN, LanguageBias
from .search import INFINITE, MAX_TRIED, MORE_TRIED, Search, Solution
from .task import Program, Task, holds

STAGES = (
    PLAIN,
    LanguageBias(distinct=True, constants=True, numbers=True),
    LanguageBias(distinct=True, constants=True, numbers=True, negation=True),
)
"""What bodies may have, from the plainest on."""
NOISY_TRIED = 250
"""Literals that are evaluated for an invented predicate if the examples are noisy."""
ROUGH = 0.7
"""With noise, a program with wrong answers must describe the examples in this share of what a right one needs."""

SHORT_CLAUSE = 5
"""Literals, the head included, of a plain clause that nothing shorter is looked for."""
FIRST_EXAMPLES, MORE_EXAMPLES, MAX_ROUNDS = 300, 50, 8
"""Positive and negative examples that are looked at first, that are added where a program is wrong, and how often."""


class Induction:
    """One task on its way to a program. `stop` ends the search early."""

    def __init__(self, task: Task, stop: Stop) -> None:
        self.task, self.stop = task, stop
        self.best: Solution | None = None
        self.searches: list[Search] = []

    def run(self) -> Program:
        """Return the smallest program that was found; with noise, the one of least description length."""
        task = self.task
        for language in STAGES if task.bias.tests else STAGES[:1]:
            self._search(task, language)
            if self._is_convincing():
                break
        is_settled = self._is_convincing() and self._is_plain()
        if task.bias.invention or (task.bias.invention is None and not is_settled):
            self._invent()
        clauses = self._rough() or (self.best.clauses if self.best is not None else ())
        return judged(task, clauses, self._is_least(), sum(search.num_tried for search in self.searches))

    def _search(self, task: Task, language: LanguageBias, cost: int = 0, definitions: tuple[Clause, ...] = ()) -> None:
        """Search once; `definitions`, which cost `cost`, belong to every program that is found."""
        most = INFINITE if self.best is None else self.best.cost - cost
        if most <= 2:
            return
        effort = MAX_TRIED if self.best is None and not definitions else MORE_TRIED
        if any(search.rough is not None for search in self.searches):
            effort = NOISY_TRIED if definitions else effort
            task = replace(task, bias=replace(task.bias, recursion=False))  # it must fit all examples
        search = Search(task, language, most, effort, self.stop)
        self.searches.append(search)
        found = search.run()
        if found is not None:
            used = {literal.symbol for clause in found.clauses for literal in clause.body}
            needed = definitions if any(clause.head.symbol in used for clause in definitions) else ()
            self.best = replace(found, clauses=(*found.clauses, *needed), cost=found.cost + cost)

    def _invent(self) -> None:
        """Try invented predicates; in a recursion of the target only if they are asked for."""
        recursion = self.task.bias.recursion and self.task.bias.invention is True
        task = replace(self.task, bias=replace(self.task.bias, recursion=recursion))
        for invented in inventions(task):
            self._search(invented.added_to(task), STAGES[0], invented.cost, invented.clauses)

    def _is_convincing(self) -> bool:
        """Return whether the best program says much less than the list of the examples would, or is a single idea."""
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
        """Return a program with wrong answers, if it describes the examples much better than the best right one."""
        if self._is_convincing() and self._is_plain():
            return ()
        nodes = [pair for search in self.searches[: len(STAGES)] for pair in search.all_nodes]
        found = [least_description(self.task, nodes), *(search.rough_recursion() for search in self.searches[:1])]
        rough = min((one for one in found if one is not None), key=lambda one: one.length, default=None)
        if rough is None or (self.best is not None and rough.length > ROUGH * self.best.cost):
            return ()
        self.best = None
        return rough.clauses


def induce(task: Task, stop: Stop | None = None) -> Program:
    """Return the smallest program for the task; with noise, the one of least description length.

    Of many examples a sample is looked at first, and then what its program gets wrong. `stop` ends the search early.
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
    """Return which examples are looked at first: the same for every seed."""
    mask = np.zeros(count, bool)
    mask[np.random.default_rng(0).permutation(count)[:FIRST_EXAMPLES]] = True
    return mask


def judged(task: Task, clauses: tuple[Clause, ...], is_least: bool, num_tried: int) -> Program:
    """Return the program with what its clauses derive together; `is_least` and `num_tried` are those of Program."""
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
