"""Counting rules together counts what counting each alone does: bits, keys, given negatives, any memory."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from nlil.kernel import pairs
from nlil.kernel.array_cache import ArrayCache
from nlil.kernel.batch import BatchStatistics
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.statistics import rule_stats
from nlil.logic.rule import Head
from property.engine_cases import BIG, bases, heads, rules
from property.test_engine import TINY


@st.composite
def families(draw):
    """A few rules of one or two heads, in turn: what is kept for one rule serves or spoils the next."""
    some = draw(st.lists(heads, min_size=1, max_size=2))
    return [draw(rules(st.just(head))) for head in some for _ in range(2)]


@pytest.mark.parametrize("most_pairs", [2**26, 0], ids=["bits", "keys"])
@given(kb=bases(), family=families(), negatives=st.none() | bases(graphs=False))
@settings(deadline=None, max_examples=40)
def test_statistics_are_those_of_each_rule_alone(most_pairs, kb, family, negatives):
    false = None if negatives is None else negatives.facts
    evaluator = Evaluator(kb)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "MOST_PAIRS", most_pairs)
        batch = BatchStatistics(evaluator, false)
        expected = [rule_stats(evaluator, rule, false) for rule in family]
        assert [batch.stats(rule) for rule in family] == expected, [str(rule) for rule in family]
        assert [batch.stats(rule) for rule in reversed(family)] == expected[::-1]


@given(kb=bases(weighted=False), family=st.lists(rules(st.just(Head.of(BIG))), min_size=2, max_size=4))
@settings(deadline=None, max_examples=60)
def test_objects_are_asked_for_their_class_with_their_classes_hidden(kb, family):
    """Also those of other classes: nothing in a body may tell that BIG is wrong because the object is RED."""
    kb = replace(kb, classes=frozenset([0, 3]))
    batch, world = BatchStatistics(Evaluator(kb)), oracle.World.of(kb)
    for rule in family:
        stats = rule_stats(Evaluator(kb), rule)
        assert (stats.support, stats.body_size, stats.head_size, stats.pca_body) == oracle.stats(world, rule)
        assert batch.stats(rule) == stats


@given(kb=bases(), family=families())
@settings(deadline=None, max_examples=15)
def test_the_memory_budget_changes_nothing(kb, family):
    batch, large = BatchStatistics(Evaluator(kb, memory=TINY)), Evaluator(kb)
    batch.pairs.cache = ArrayCache(30)  # answers are forgotten all the time
    expected = [rule_stats(large, rule) for rule in family]
    assert [batch.stats(rule) for rule in family] == expected, [str(rule) for rule in family]
    assert [batch.stats(rule) for rule in reversed(family)] == expected[::-1]
