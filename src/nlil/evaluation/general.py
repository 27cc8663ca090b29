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


def general_evidence(rules: RuleSet, kb: KnowledgeBase, code: int, known: Ids, hidden: Ids,
                     memory: int) -> Iterator[np.ndarray]:
    """For each query in order its firings; a rule that holds to degree v counts with v times its weight.

    `code` is the step code of the queries' target and direction. A query whose own fact (known, hidden) is
    in the base is evaluated on the base without it: exact, and slow, but only then.
    """
    if not len(rules):
        for _ in known:
            yield NOTHING
        return
    evaluator = Evaluator(kb, memory=memory)
    # While a block is open each of its queries holds a dense row or two.
    block = max(1, memory // (64 * kb.num_entities))
    own = [_fact_row(kb, code, int(a), int(b)) for a, b in zip(known, hidden)]
    for begin in range(0, len(known), block):
        some = known[begin : begin + block]
        firings = _firings(rules, evaluator, code & 1, some)
        for i, a in enumerate(some):
            row = own[begin + i]
            if row is None:
                yield firings[i]
                continue
            without = Evaluator(kb.with_facts(kb.facts[np.arange(len(kb.facts)) != row]), memory=memory)
            yield _firings(rules, without, code & 1, np.array([a]))[0]


def _fact_row(kb: KnowledgeBase, code: int, known: int, hidden: int) -> int | None:
    """The row of the query's own fact in the base."""
    subject, object_ = (known, hidden) if code & 1 == 0 else (hidden, known)
    facts = kb.facts
    found = np.flatnonzero((facts.predicate == code >> 1) & (facts.subject == subject) & (facts.object == object_))
    return int(found[0]) if hidden >= 0 and len(found) else None


def _firings(rules: RuleSet, evaluator: Evaluator, direction: int, known: Ids) -> list[np.ndarray]:
    firings: list[list[np.ndarray]] = [[NOTHING] for _ in known]
    weight = rules.weights
    for row in range(len(rules)):
        rule = rules.rule(row)
        ids = known.astype(np.int64)
        answers = evaluator.objects(rule, ids) if direction == 0 else evaluator.subjects(rule, ids)
        for rows, dense in answers:
            for i, values in zip(range(rows.start, rows.stop), dense):
                fired = np.flatnonzero(values > 0)
                firings[i].append(np.stack((fired, evidence(values[fired] * weight[row])), axis=1))
    return [np.concatenate(parts) for parts in firings]
