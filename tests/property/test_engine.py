"""The engine equals brute force on random bases, for every construct; block sizes, joins and names change nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings

import oracle
from nlil.data.facts import Facts
from nlil.data.kb import KnowledgeBase
from nlil.data.vocabulary import Vocabulary
from nlil.kernel.evaluator import BYTES_PER_ROW, Evaluator, sparse_answers
from nlil.kernel.statistics import rule_stats
from property.engine_cases import NAMES, SIZE, bases, rules

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
X_IDS, Y_IDS = (a.ravel() for a in np.meshgrid(np.arange(SIZE), np.arange(SIZE), indexing="ij"))
TINY = 700 * BYTES_PER_ROW  # one query of a distinct walk over five nodes makes up to 600 rows, a block of them more


def values(evaluator, rule, hide=False):
    if rule.target.arity == 1:
        return evaluator.values(rule, np.arange(SIZE), hide=hide)
    return evaluator.values(rule, X_IDS, Y_IDS, hide=hide)


def all_answers(evaluator, rule, ids):
    """The values of p(x, y) for x in ids and every y; the blocks cover the ids in order."""
    dense, end = np.zeros((len(ids), SIZE)), 0
    for block, rows in sparse_answers(evaluator, rule, evaluator.ids(ids)):
        assert block.start == end < block.stop
        end = block.stop
        dense[block.start + rows.query.cpu().numpy(), rows.node.cpu().numpy()] = rows.value.cpu().numpy()
    assert end == len(ids)
    return dense


def expected(kb, rule, hide=False):
    world = oracle.World.of(kb)
    return [oracle.value(world, rule, query, hide) for query in oracle.queries(world, rule)]


@pytest.mark.parametrize("device", DEVICES)
@given(kb=bases(), rule=rules())
@settings(deadline=None, max_examples=150)
def test_values_equal_brute_force(device, kb, rule):
    evaluator = Evaluator(kb, device)
    assert values(evaluator, rule).tolist() == expected(kb, rule)
    assert values(evaluator, rule, hide=True).tolist() == expected(kb, rule, hide=True)


@pytest.mark.parametrize("device", DEVICES)
@given(kb=bases(), rule=rules())
@settings(deadline=None, max_examples=80)
def test_all_answers_equal_brute_force(device, kb, rule):
    assume(rule.target.arity == 2)
    matrix, ids = np.asarray(expected(kb, rule)).reshape(SIZE, SIZE), np.asarray([3, 0, 0, 4, 1, 2])
    assert np.array_equal(all_answers(Evaluator(kb, device), rule, ids), matrix[ids])


@pytest.mark.parametrize("device", DEVICES)
@given(kb=bases(), rule=rules(), negatives=bases(graphs=False))
@settings(deadline=None, max_examples=80)
def test_statistics_equal_brute_force(device, kb, rule, negatives):
    evaluator, world = Evaluator(kb, device), oracle.World.of(kb)
    stats = rule_stats(evaluator, rule)
    assert (stats.support, stats.body_size, stats.head_size, stats.pca_body) == oracle.stats(world, rule)
    stats = rule_stats(evaluator, rule, negatives.facts)
    false = list(oracle.World.of(negatives).crisp().weight)
    if not len(negatives.facts.of(kb.predicate_id(rule.target))):
        false = None  # without negatives of its own target a rule is judged by all tuples
    assert (stats.support, stats.body_size, stats.head_size, stats.pca_body) == oracle.stats(world, rule, false)


@given(kb=bases(), rule=rules())
@settings(deadline=None, max_examples=50)
def test_the_memory_budget_changes_nothing(kb, rule):
    small, large = Evaluator(kb, memory=TINY), Evaluator(kb)
    for hide in (False, True):
        assert values(small, rule, hide).tobytes() == values(large, rule, hide).tobytes()
    assert rule_stats(small, rule) == rule_stats(large, rule)
    if rule.target.arity == 2:
        one, two = (all_answers(evaluator, rule, np.arange(SIZE)) for evaluator in (small, large))
        assert one.tobytes() == two.tobytes()


def joined(kb: KnowledgeBase, other: KnowledgeBase) -> KnowledgeBase:
    """Both bases side by side, each a graph (or graphs) of its own; the second one's names get a prime."""
    shifted = Facts(
        other.facts.predicate,
        other.facts.subject + SIZE,
        np.where(other.facts.is_unary, other.facts.object, other.facts.object + SIZE),
        other.facts.weight,
    )
    first = np.zeros(SIZE, np.int32) if kb.graph_of is None else kb.graph_of
    second = np.zeros(SIZE, np.int32) if other.graph_of is None else other.graph_of
    graph_of = np.concatenate((first, second + first.max() + 1)).astype(np.int32)
    names = [*NAMES, *(n + "'" for n in NAMES)]
    return KnowledgeBase(Vocabulary(names), kb.predicates, (kb.facts + shifted).unique(), graph_of, kb.classes)


@given(kb=bases(), other=bases(), rule=rules())
@settings(deadline=None, max_examples=50)
def test_joining_bases_changes_no_value(kb, other, rule):
    both = joined(kb, other)
    for hide in (False, True):
        alone, together = values(Evaluator(kb), rule, hide), values(Evaluator(both), rule, hide)
        assert alone.tolist() == together.tolist()


@given(kb=bases(), rule=rules())
@settings(deadline=None, max_examples=40)
def test_renaming_entities_changes_nothing(kb, rule):
    order = np.asarray([2, 4, 1, 0, 3], np.int32)  # entity i becomes entity order[i]
    facts = Facts(
        kb.facts.predicate,
        order[kb.facts.subject],
        np.where(kb.facts.is_unary, kb.facts.object, order[kb.facts.object]),
        kb.facts.weight,
    )
    names, graph_of = [""] * SIZE, None if kb.graph_of is None else np.zeros(SIZE, np.int32)
    for i, name in enumerate(NAMES):
        names[order[i]] = name
        if graph_of is not None:
            graph_of[order[i]] = kb.graph_of[i]
    moved = KnowledgeBase(Vocabulary(names), kb.predicates, facts.unique(), graph_of, kb.classes)
    unary = rule.target.arity == 1
    x, y = (np.arange(SIZE), None) if unary else (X_IDS, Y_IDS)
    for hide in (False, True):
        one = Evaluator(kb).values(rule, x, y, hide)
        two = Evaluator(moved).values(rule, order[x], None if unary else order[y], hide)
        assert one.tolist() == two.tolist()
    assert rule_stats(Evaluator(kb), rule) == rule_stats(Evaluator(moved), rule)
