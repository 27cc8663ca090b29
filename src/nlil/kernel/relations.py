"""Rules p(X, Y) as relations: a statement is answered once for all pairs of entities, then any rows are looked up."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..data.arrays import Longs, Mask
from ..errors import LimitError
from ..logic.rule import Rule
from .bits import ALL, Words, look_up, pack
from .bodies import X_NODE, IdHead
from .evaluator import Evaluator
from .kept import Outgrown
from .pairs import Pairs, combined
from .threads import one_torch_thread


class Relations:
    """Which pairs rules hold for, over the facts that count, nothing hidden; kept within the memory budget."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator.crisp
        self.pairs = Pairs(self.evaluator)

    def answers(self, rule: Rule, ids: Longs, given: int) -> tuple[Longs, Longs] | None:
        """(position in ids, answer) of all answers of p(id, ?) or p(?, id), in order; None where that is too much."""
        if not self.pairs.as_bits or not IdHead.of(self.evaluator.kb, rule).is_open:
            return None
        try:
            with one_torch_thread():
                words = combined(rule.body, lambda s: self.pairs.words(rule, s), ALL)
        except (Outgrown, LimitError):
            return None
        n = self.pairs.n
        words = np.broadcast_to(words, (n, -(-n // 64)))
        words = words if self._one_graph is None else words & self._one_graph
        holds = _rows(words, ids, n) if given == X_NODE else look_up(words, np.arange(n)[None, :], ids[:, None])
        query, node = np.nonzero(holds)
        return query, node

    @cached_property
    def _one_graph(self) -> Words | None:
        graph_of = self.evaluator.kb.graph_of
        return None if graph_of is None else pack(graph_of[:, None] == graph_of[None, :])


def _rows(words: Words, ids: Longs, n: int) -> Mask:
    """The bits of some rows; those beyond n say nothing."""
    part = np.ascontiguousarray(words[ids]).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(part, axis=-1, bitorder="little")[:, :n].astype(bool)
