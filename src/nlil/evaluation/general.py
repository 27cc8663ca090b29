"""Firings of rules that the fast path does not know, from the general engine, as (candidate, evidence) rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..data.arrays import Ids
from ..data.kb import KnowledgeBase
from ..engine.evaluator import Evaluator
from ..rules import RuleSet
from .evidence import evidence

NOTHING = np.zeros((0, 2), np.int64)


def general_evidence(rules: RuleSet, kb: KnowledgeBase, direction: int, known: Ids, hidden: Ids,
                     memory: int) -> Iterator[np.ndarray]:
    """For each query in order its firings; a rule that holds to degree v counts with v times its weight."""
    if not len(rules):
        for _ in known:
            yield NOTHING
        return
    evaluator = Evaluator(kb, memory=memory)
    weight = rules.weights
    # One dense row per query and rule while a block is open.
    block = max(1, memory // (16 * kb.num_entities * 8))
    for begin in range(0, len(known), block):
        some = known[begin : begin + block].astype(np.int64)
        firings: list[list[np.ndarray]] = [[] for _ in some]
        for row in range(len(rules)):
            rule = rules.rule(row)
            answers = evaluator.objects(rule, some) if direction == 0 else evaluator.subjects(rule, some)
            for rows, dense in answers:
                for i, values in zip(np.arange(len(some))[rows], dense):
                    values = np.array(values)
                    end = int(hidden[begin + i])
                    if end >= 0:
                        x, y = (some[i], end) if direction == 0 else (end, some[i])
                        values[end] = evaluator.values(rule, np.array([x]), np.array([y]), hide=True)[0]
                    fired = np.flatnonzero(values > 0)
                    power = evidence(values[fired] * weight[row])
                    firings[i].append(np.stack((fired, power), axis=1))
        for rows_of_query in firings:
            yield np.concatenate(rows_of_query) if rows_of_query else NOTHING
