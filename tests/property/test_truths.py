"""The truth table of a head, and sets moved along lines, say what the engine says of each rule alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nlil.kernel.batch import BatchStatistics, TruthTable
from nlil.kernel.bodies import IdHead, Line
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.pairs import line_members
from nlil.kernel.statistics import rule_stats
from nlil.logic.formula import statements
from nlil.logic.rule import Rule
from property.engine_cases import bases, heads, rules


@given(kb=bases(), rule=rules(heads), negatives=st.none() | bases(graphs=False))
@settings(deadline=None, max_examples=80)
def test_the_table_counts_what_statistics_count(kb, rule, negatives):
    false = None if negatives is None else negatives.facts
    table = TruthTable(BatchStatistics(Evaluator(kb), false), rule)
    if not table.exists:
        assert IdHead.of(kb, rule).is_open
        assert kb.graph_of is not None
        return
    for statement in statements(rule.body):
        stats = rule_stats(Evaluator(kb), Rule(rule.head, statement), false)
        truth = table.of(statement)
        assert truth is not None
        assert (int((truth & table.label).sum()), int(truth.sum()), int(table.label.sum())) == (
            stats.support,
            stats.body_size,
            stats.head_size,
        ), str(statement)


@given(kb=bases(), rule=rules(heads))
@settings(deadline=None, max_examples=80)
def test_sets_moved_along_a_line_are_its_members(kb, rule):
    evaluator, everyone = Evaluator(kb).crisp, np.arange(kb.num_entities)
    if rule.target.arity == 2:
        return
    for statement in statements(rule.body):
        members = line_members(evaluator, Line.of(kb, statement))
        if members is not None:
            expected = evaluator.values(Rule(rule.head, statement), everyone) > 0
            assert members.tolist() == expected.tolist(), str(statement)
