"""Firings of rules that the fast path does not know, from the general engine, as (candidate, evidence) rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ..data.arrays import Ids, Longs, offsets
from ..data.kb import KnowledgeBase
from ..kernel.aggregation import evidence
from ..kernel.bodies import X_NODE, Y_NODE
from ..kernel.ruleset import RuleSet
from ..logic.rule import Rule

if TYPE_CHECKING:
    from ..kernel.evaluator import Evaluator
    from ..kernel.relations import Relations

NOTHING = np.zeros((0, 2), np.int64)
FEW = 64
"""With fewer queries than one for so many entities, the pairs of all entities are not worth looking at."""


def general_evidence(
    rules: RuleSet,
    kb: KnowledgeBase,
    code: int,
    known: Ids,
    hidden: Ids,
    memory: int,
    relations: Relations | None = None,
) -> Iterator[np.ndarray]:
    """For each query in order its firings; a rule that holds to degree v counts with v times its weight.

    `code` is the step code of the queries' target and direction. A query whose own fact (known, hidden) is
    in the base is evaluated on the base without it: exact, and slow, but only then. For all others a rule over
    crisp facts is one relation: a caller with more queries passes the `relations` of this base.
    """
    if not len(rules):
        for _ in known:
            yield NOTHING
        return
    from ..kernel.evaluator import Evaluator  # imports torch, which most rule sets do not need
    from ..kernel.relations import Relations

    evaluator = Evaluator(kb, memory=memory) if relations is None else relations.evaluator
    crisp = kb.facts.weight is None
    if crisp and relations is None and FEW * len(known) >= kb.num_entities:
        relations = Relations(evaluator)
    if not crisp:
        evaluator, relations = Evaluator(kb, memory=memory), None
    # While a block is open each of its queries holds a dense row or two.
    block = max(1, memory // (64 * kb.num_entities))
    own = _own_facts(kb, code, known, hidden)
    for begin in range(0, len(known), block):
        some = known[begin : begin + block].astype(np.int64)
        whole = own[begin : begin + block] < 0
        firings = iter(_firings(rules, evaluator, relations, code & 1, some[whole]))
        for i, a in enumerate(some):
            if whole[i]:
                yield next(firings)
                continue
            rest = kb.with_facts(kb.facts[np.arange(len(kb.facts)) != own[begin + i]])
            yield _firings(rules, Evaluator(rest, memory=memory), None, code & 1, np.array([a]))[0]


def _own_facts(kb: KnowledgeBase, code: int, known: Ids, hidden: Ids) -> Longs:
    """The row of each query's own fact in the base; -1 where it has none."""
    subject, object_ = (known, hidden) if code & 1 == 0 else (hidden, known)
    mine = np.flatnonzero(kb.facts.predicate == code >> 1)
    width = kb.num_entities + 1
    keys = kb.facts.subject[mine].astype(np.int64) * width + kb.facts.object[mine]
    order = np.argsort(keys, kind="stable")
    wanted = subject.astype(np.int64) * width + object_
    place = np.searchsorted(keys[order], wanted)
    rows = np.append(mine[order], -1)
    found = (np.append(keys[order], -1)[place] == wanted) & (hidden >= 0)
    return np.where(found, rows[place], -1)


def _firings(
    rules: RuleSet, evaluator: Evaluator, relations: Relations | None, direction: int, known: Longs
) -> list[np.ndarray]:
    """For each known entity (candidate, evidence) of all that fires, rule by rule."""
    parts: list[tuple[Longs, Longs, Longs]] = []
    for row, weight in enumerate(rules.weights):
        rule = rules.rule(row)
        found = None if relations is None else relations.answers(rule, known, Y_NODE if direction else X_NODE)
        if found is not None:
            parts.append((*found, np.full(len(found[0]), evidence(weight))))
            continue
        for begin, dense in _dense(rule, evaluator, direction, known):
            query, node = np.nonzero(dense > 0)
            parts.append((query + begin, node, evidence(dense[query, node] * weight)))
    none = np.zeros(0, np.int64)
    query, *columns = (np.concatenate((none, *(part[i] for part in parts))) for i in range(3))
    order = np.argsort(query, kind="stable")
    rows = np.stack(columns, axis=1)[order]
    bounds = offsets(query[order], len(known))
    return [rows[low:high] for low, high in pairwise(bounds)]


def _dense(rule: Rule, evaluator: Evaluator, direction: int, known: Longs) -> Iterator[tuple[int, np.ndarray]]:
    answers = evaluator.objects(rule, known) if direction == 0 else evaluator.subjects(rule, known)
    return ((rows.start, dense) for rows, dense in answers)
