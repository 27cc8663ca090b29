"""ClassTable: the evidence of every class for every object of all scenes, computed beside the requests.

`class(?)` ranks all objects, which takes seconds; the rules do not change while people look at them, so it is computed
once, on a thread of its own. Until it is there, and for a class whose rules were judged since, queries are computed
when they come.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

import numpy as np

from ..data.arrays import Ids, Longs
from ..evaluation.members import MemberScorer
from ..evaluation.prediction import Predictor

MAX_CELLS = 2**24
"""Objects times classes of a table: 128 MiB."""
BLOCK = 1024
"""Objects scored at once: what is allocated for them stays small."""


class ClassTable:
    """Columns are the targets of `scorer`. Reading is for any thread."""

    def __init__(self, scorer: MemberScorer) -> None:
        self.scorer = scorer
        self.position = {int(target): place for place, target in enumerate(scorer.targets)}
        self._table: Longs | None = None
        self._newer: dict[int, Longs | None] = {}
        """Columns of classes whose rules were judged since; None while they are computed."""
        self._verdicts: Counter[int] = Counter()
        self.fits = scorer.kb.num_entities * len(self.position) <= MAX_CELLS

    def start(self) -> threading.Thread | None:
        """Compute it in the background, where it is not too large to keep."""
        return _in_background(self._fill) if self.fits else None

    def judged(self, target: int, scorer: Callable[[], MemberScorer]) -> threading.Thread | None:
        """The rules of the class are other ones from now on; `scorer` makes one for them."""
        self._newer[target] = None
        self._verdicts[target] += 1
        number = self._verdicts[target]
        return _in_background(lambda: self._replace(target, scorer(), number)) if self.fits else None

    @property
    def is_complete(self) -> bool:
        """Whether nothing is being computed any more."""
        is_waiting = any(column is None for column in list(self._newer.values()))
        return not self.fits or (self._table is not None and not is_waiting)

    def column(self, target: int) -> Longs | None:
        """The evidence of the class for every entity; None where nobody has computed it yet."""
        if target in self._newer:
            return self._newer[target]
        table, place = self._table, self.position.get(target)
        return None if table is None or place is None else table[:, place]

    def row(self, entity: int) -> Longs | None:
        """The evidence of every class for the entity."""
        table = self._table
        if table is None:
            return None
        found = table[entity].copy()
        for target, column in list(self._newer.items()):
            if column is None:
                return None
            found[self.position[target]] = column[entity]
        return found

    def _fill(self) -> None:
        number = self.scorer.kb.num_entities
        table = np.zeros((number, len(self.position)), np.int64)
        for begin in range(0, number, BLOCK):
            some = np.arange(begin, min(begin + BLOCK, number), dtype=np.int32)
            table[some] = self.scorer.evidence(some)
        self._table = table

    def _replace(self, target: int, scorer: MemberScorer, number: int) -> None:
        column = scorer.evidence(np.arange(scorer.kb.num_entities, dtype=np.int32))[:, 0]
        if self._verdicts[target] == number:  # else somebody judged again meanwhile
            self._newer[target] = column


def _in_background(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)  # it must not keep a viewer alive that was stopped
    thread.start()
    return thread


class TablePredictor(Predictor):
    """A Predictor that looks evidence of classes up where a table has it."""

    table: ClassTable | None = None

    def member_evidence(self, target: int, entities: Ids) -> Longs:
        column = None if self.table is None else self.table.column(target)
        return super().member_evidence(target, entities) if column is None else column[entities]
