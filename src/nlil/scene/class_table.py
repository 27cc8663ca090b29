"""ClassTable: the evidence of every class for every object of all scenes, computed beside the requests.

`class(?)` ranks all objects, which takes seconds; the rules do not change while people look at them, so it is computed
once, on a thread of its own. Until it is there, and for a class whose rules were judged since, queries are computed
when they come.
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
"""Objects times classes of a table: 128 MiB."""
BLOCK = 1024
"""Objects scored at once: what is allocated for them stays small."""


class ClassTable:
    """Columns are the targets of `scorer`. Reading is for any thread."""

    def __init__(self, scorer: MemberScorer) -> None:
        self.scorer = scorer
        self.position = {int(target): place for place, target in enumerate(scorer.targets)}
        self.fits = scorer.kb.num_entities * len(self.position) <= MAX_CELLS
        self._table: Future[Longs] = Future()
        self._newer: dict[int, Future[Longs]] = {}
        """Tables of one class each, whose rules were judged since."""

    def start(self) -> Future[Longs]:
        """Compute the table in the background; one that is too large to keep stays empty."""
        return self._fill(self._table, lambda: self.scorer)

    def judged(self, target: int, scorer: Callable[[], MemberScorer]) -> None:
        """The rules of the class `target` are other ones from now on; `scorer` makes one for them."""
        self._newer[target] = self._fill(Future(), scorer)

    def _fill(self, table: Future[Longs], scorer: Callable[[], MemberScorer]) -> Future[Longs]:
        if self.fits:  # daemon: it must not keep a viewer alive that was stopped
            threading.Thread(target=lambda: table.set_result(_evidence(scorer())), daemon=True).start()
        return table

    @property
    def is_complete(self) -> bool:
        """Whether nothing is being computed any more."""
        return not self.fits or all(table.done() for table in (self._table, *list(self._newer.values())))

    def column(self, target: int) -> Longs | None:
        """Return the evidence of the class `target` for every entity; None where it is not computed yet."""
        if target in self._newer:
            return self._newer[target].result()[:, 0] if self._newer[target].done() else None
        is_known = self._table.done() and target in self.position
        return self._table.result()[:, self.position[target]] if is_known else None

    def row(self, entity: int) -> Longs | None:
        """The evidence of every class for the entity; None where it is not computed yet."""
        if not (self.fits and self.is_complete):
            return None
        found = self._table.result()[entity].copy()
        for target, table in list(self._newer.items()):
            found[self.position[target]] = table.result()[entity, 0]
        return found


def _evidence(scorer: MemberScorer) -> Longs:
    """(entities, targets)."""
    everyone = np.arange(scorer.kb.num_entities, dtype=np.int32)
    blocks = [scorer.evidence(everyone[begin : begin + BLOCK]) for begin in range(0, len(everyone), BLOCK)]
    return np.concatenate(blocks) if blocks else np.zeros((0, len(scorer.targets)), np.int64)


class TablePredictor(Predictor):
    """A Predictor that looks evidence of classes up where a table has it."""

    table: ClassTable | None = None

    def member_evidence(self, target: int, entities: Ids) -> Longs:
        """The evidence of the class `target` for the entities."""
        column = None if self.table is None else self.table.column(target)
        return super().member_evidence(target, entities) if column is None else column[entities]
