"""ClassTable: the evidence of every class for every object of all scenes, computed in the background.

`class(?)` ranks all objects, which takes seconds, so the viewer computes the table once, in a separate thread. Until it
is complete, and for a class whose rules were judged since, queries are computed on request.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

import numpy as np

from ..data.arrays import Ids, Longs
from ..evaluation.members import MemberScorer
from ..evaluation.prediction import Predictor

MAX_CELLS = 2**24
"""Limit of objects times classes: 128 MiB."""
BLOCK = 1024
"""Objects scored at once, which bounds the memory."""


class ClassTable:
    """A table with a column for each target of `scorer`. Any thread may read it."""

    def __init__(self, scorer: MemberScorer) -> None:
        self.scorer = scorer
        self.position = {int(target): place for place, target in enumerate(scorer.targets)}
        self.fits = scorer.kb.num_entities * len(self.position) <= MAX_CELLS
        self._table: Future[Longs] = Future()
        self._newer: dict[int, Future[Longs]] = {}
        """The columns of classes whose rules were judged since."""

    def start(self) -> Future[Longs]:
        """Compute the table in the background, unless it would be too large."""
        return self._fill(self._table, lambda: self.scorer)

    def judged(self, target: int, scorer: Callable[[], MemberScorer]) -> None:
        """Compute the column of the class `target` again, since its rules have changed.

        `scorer` returns their scorer.
        """
        self._newer[target] = self._fill(Future(), scorer)

    def _fill(self, table: Future[Longs], scorer: Callable[[], MemberScorer]) -> Future[Longs]:
        if self.fits:  # daemon: it must not keep a stopped viewer alive
            threading.Thread(target=lambda: self._compute(table, scorer), daemon=True).start()
        return table

    @staticmethod
    def _compute(table: Future[Longs], scorer: Callable[[], MemberScorer]) -> None:
        try:
            table.set_result(_evidence(scorer()))
        except BaseException as error:  # pages compute what the table lacks, and show an error that they meet too
            table.set_exception(error)

    @property
    def is_complete(self) -> bool:
        """Whether all computations are finished."""
        return not self.fits or all(table.done() for table in (self._table, *list(self._newer.values())))

    def column(self, target: int) -> Longs | None:
        """Return the evidence of the class `target` for every entity; None if it is not computed yet."""
        if target in self._newer:
            return self._newer[target].result()[:, 0] if _is_filled(self._newer[target]) else None
        is_known = _is_filled(self._table) and target in self.position
        return self._table.result()[:, self.position[target]] if is_known else None

    def row(self, entity: int) -> Longs | None:
        """Return the evidence of every class for the entity; None if it is not computed yet."""
        if not (self.fits and all(map(_is_filled, (self._table, *list(self._newer.values()))))):
            return None
        found = self._table.result()[entity].copy()
        for target, table in list(self._newer.items()):
            found[self.position[target]] = table.result()[entity, 0]
        return found


def _is_filled(table: Future[Longs]) -> bool:
    return table.done() and table.exception() is None


def _evidence(scorer: MemberScorer) -> Longs:
    """(entities, targets)."""
    everyone = np.arange(scorer.kb.num_entities, dtype=np.int32)
    blocks = [scorer.evidence(everyone[begin : begin + BLOCK]) for begin in range(0, len(everyone), BLOCK)]
    return np.concatenate(blocks) if blocks else np.zeros((0, len(scorer.targets)), np.int64)


class TablePredictor(Predictor):
    """A Predictor that looks up the evidence of classes in a table if possible."""

    table: ClassTable | None = None

    def member_evidence(self, target: int, entities: Ids) -> Longs:
        """Return the evidence of the class `target` for the entities."""
        column = None if self.table is None else self.table.column(target)
        return super().member_evidence(target, entities) if column is None else column[entities]
