"""The instances of a rule, page by page: facts it supports, and tuples it predicts that are no facts.

In the order of ids: subject, then object. Only as much is evaluated as a page needs: candidates are asked in blocks,
the first ones small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..data.arrays import Longs, Mask
from ..data.facts import NO_OBJECT, Facts
from ..data.kb import KnowledgeBase
from ..kernel.answers import sparse_answers
from ..kernel.bodies import X_NODE, IdHead, IdLine
from ..kernel.evaluator import Evaluator
from ..kernel.statistics import fact_keys, matching
from ..logic.formula import And, Formula, Statement
from ..logic.rule import Rule

FIRST_BLOCK = 64
"""Candidates of the first block; each next one is twice as large."""

Tuple = tuple[int, int]
"""Subject and object; the object of a unary head is NO_OBJECT."""


@dataclass(frozen=True, eq=False)
class Instances:
    """One rule over one base; `most_examples` and `most_others` say where to stop, None where nobody counted."""

    evaluator: Evaluator
    rule: Rule
    most_examples: int | None = None
    most_others: int | None = None

    @property
    def kb(self) -> KnowledgeBase:
        return self.evaluator.kb

    def examples(self, offset: int, limit: int) -> list[Tuple]:
        """Facts of the head whose body holds, each with itself hidden."""
        return _page(self._supported(self.facts), offset, limit, self.most_examples)

    def covered(self, facts: Facts, offset: int, limit: int) -> list[Tuple]:
        """Of the given tuples (given negatives) those that are no facts and whose body holds."""
        some = matching(self.kb, self.rule, facts.crisp().unique())
        some = some[~np.isin(fact_keys(self.kb, some), self._known)]
        return _page(self._supported(some), offset, limit, None)

    def others(self, offset: int, limit: int, leave_out: Facts | None = None) -> list[Tuple]:
        """Head tuples whose body holds and that are no facts, nor in `leave_out`."""
        known, most = self._known, self.most_others
        if leave_out is not None:
            known = np.union1d(known, fact_keys(self.kb, matching(self.kb, self.rule, leave_out)))
            most = None
        return _page(self._predicted(known), offset, limit, most)

    @property
    def facts(self) -> Facts:
        return matching(self.kb, self.rule, self.kb.facts)

    @property
    def _known(self) -> Longs:
        return fact_keys(self.kb, self.facts)

    def _supported(self, facts: Facts) -> Iterator[Tuple]:
        is_binary = self.rule.target.arity == 2
        for low, high in _blocks(len(facts)):
            some = facts[low:high]
            x, y = some.subject.astype(np.int64), some.object.astype(np.int64) if is_binary else None
            holds = self.evaluator.values(self.rule, x, y, hide=True) > 0
            yield from zip(some.subject[holds].tolist(), some.object[holds].tolist())

    def _predicted(self, known: Longs) -> Iterator[Tuple]:
        subjects = self._subjects()
        size = self.kb.num_entities + 1
        for low, high in _blocks(len(subjects)):
            for x, y in self._answers(subjects[low:high]):
                new = ~np.isin(x * size + y + 1, known)
                yield from zip(x[new].tolist(), y[new].tolist())

    def _answers(self, x: Longs) -> Iterator[tuple[Longs, Longs]]:
        """Every head tuple of these subjects whose body holds, by (subject, object)."""
        if self.rule.target.arity == 1:
            holds: Mask = self.evaluator.values(self.rule, x) > 0
            yield x[holds], np.full(int(holds.sum()), NO_OBJECT)
            return
        for block, rows in sparse_answers(self.evaluator, self.rule, self.evaluator.ids(x), X_NODE):
            query, node = rows.query.cpu().numpy(), rows.node.cpu().numpy()
            order = np.lexsort((node, query))
            yield x[block][query[order]], node[order]

    def _subjects(self) -> Longs:
        """The entities that can be subjects, ascending: those that the body lets X be."""
        head = IdHead.of(self.kb, self.rule)
        if head.subject >= 0:
            return np.asarray([head.subject])
        possible = _possible_x(self.kb, self.rule.body)
        return np.arange(self.kb.num_entities) if possible is None else possible.astype(np.int64)


def _possible_x(kb: KnowledgeBase, body: Formula) -> Longs | None:
    """Entities with the first step of a statement that begins at X; None: no such statement has to hold."""
    match body:
        case And(arguments):
            return next((found for found in (_possible_x(kb, a) for a in arguments) if found is not None), None)
        case Statement():
            line = IdLine.of(kb, body)
            if line.anchors[0] != X_NODE:
                return None
            if line.filters[0]:
                return kb.members(line.filters[0][0]).astype(np.int64)
            if line.codes:
                code = line.codes[0]
                facts = kb.binary.of(code >> 1)
                return np.unique(facts.object if code & 1 else facts.subject)
            return None
        case _:
            return None


def _blocks(total: int) -> Iterator[tuple[int, int]]:
    low, size = 0, FIRST_BLOCK
    while low < total:
        yield low, min(low + size, total)
        low, size = low + size, 2 * size


def _page(found: Iterator[Tuple], offset: int, limit: int, most: int | None) -> list[Tuple]:
    """Items offset .. offset + limit - 1; `most` items are there, so nothing is looked for after them."""
    stop = offset + limit if most is None else min(offset + limit, most)
    result = []
    for place, item in enumerate(found if stop > offset else ()):
        if place >= offset:
            result.append(item)
        if place + 1 >= stop:
            break
    return result
