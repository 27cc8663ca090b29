"""Truth values of statements at every tuple that the rules of one head are asked about, as one array."""

from __future__ import annotations

import numpy as np

from ..data.arrays import Mask
from ..errors import LimitError
from ..logic.formula import Statement
from ..logic.rule import Rule
from .batch import BatchStatistics, EntityHead, OpenHead
from .bodies import IdLine
from .kept import Outgrown

MOST_TUPLES = 100_000
"""Of a head p(X, Y): with more pairs of entities there is no table."""


class TruthTable:
    """`label` says which tuples are facts of the target; `of` where a statement holds, each fact hidden for itself.

    With given negatives the tuples are the facts and those; otherwise all that the head can name.
    """

    def __init__(self, counts: BatchStatistics, rule: Rule) -> None:
        self.rule = Rule(rule.head, rule.body)  # entities need not be distinct
        self.table = table = counts.table(rule)
        self.listed = table.against_negatives
        self.num_entities = counts.evaluator.kb.num_entities
        self.label = np.zeros(0, bool)
        if not self.exists:
            return
        if self.listed:
            self.label = np.arange(len(table.x)) < table.num_facts
        elif isinstance(table, EntityHead):
            self.asked = table.place[: table.num_facts]
            self.usable = table.unknown.copy()
            self.usable[self.asked] = True
            self.label = self._with_facts(np.zeros(self.num_entities, bool), np.ones(len(self.asked), bool))
        else:
            self.asked = table.x * self.num_entities + table.y
            self.usable = np.ones(self.num_entities**2, bool)
            self.label = self._with_facts(np.zeros(len(self.usable), bool), np.ones(len(self.asked), bool))

    @property
    def exists(self) -> bool:
        """Whether the tuples are few enough."""
        if self.listed or isinstance(self.table, EntityHead):
            return True
        return (
            isinstance(self.table, OpenHead)
            and self.table.pairs.as_bits
            and self.num_entities**2 <= MOST_TUPLES
            and self.table.evaluator.kb.graph_of is None
        )

    def of(self, statement: Statement) -> Mask | None:
        """None where the answers of the statement outgrow the memory budget."""
        try:
            return self._of(statement)
        except (Outgrown, LimitError):
            return None

    def _of(self, statement: Statement) -> Mask:
        table, rule = self.table, self.rule
        if self.listed:
            return np.broadcast_to(table.holds(rule, statement), table.x.shape)
        if isinstance(table, EntityHead):
            truth = table.answers_of(rule, statement)
        else:
            assert isinstance(table, OpenHead)
            truth = self._unpacked(table.pairs.words(rule, statement))
        if table.hidden.touches(IdLine.of(table.evaluator.kb, statement)):
            return self._with_facts(truth, table.holds(rule, statement)[: table.num_facts])
        return truth[self.usable]

    def _unpacked(self, words: np.ndarray) -> Mask:
        n = self.num_entities
        bits = np.unpackbits(np.ascontiguousarray(words).astype("<u8").view(np.uint8), axis=-1, bitorder="little")
        whole = bits[:, :1] if words.shape[1] == 1 and n > 64 else bits[:, :n]
        return np.broadcast_to(whole.astype(bool), (n, n)).ravel()

    def _with_facts(self, truth: Mask, of_facts: Mask) -> Mask:
        truth = truth.copy()
        truth[self.asked] = of_facts
        return truth[self.usable]
