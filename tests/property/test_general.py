"""Formula rules answered for a batch of queries against single queries; conjunctions counted against the engine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlil.data.kb import KnowledgeBase
from nlil.evaluation.programs import program_evidence
from nlil.kernel.aggregation import evidence
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.ruleset import RuleSet
from nlil.kernel.statistics import rule_stats
from nlil.logic.formula import X, Y
from nlil.logic.rule import Head, RuleStats, ScoredRule
from nlil.search.conjunctions import Conjunctions
from nlil.search.count import count_rules
from nlil.search.options import CountOptions
from property import engine_cases
from property.test_counting import bases

KNOWS = engine_cases.KNOWS
binary_heads = st.one_of(
    st.just(Head.of(KNOWS)),
    engine_cases.constants.map(lambda c: Head(KNOWS, (X, c))),
    engine_cases.constants.map(lambda c: Head(KNOWS, (c, Y))),
)


def firings_of(rules: RuleSet, kb: KnowledgeBase, direction: int, known: int, hidden: int) -> list[list[int]]:
    """One query on the base without its own fact, rule by rule, as the documentation says it."""
    subject, object_ = (known, hidden) if direction == 0 else (hidden, known)
    own = (kb.facts.predicate == kb.predicate_id(KNOWS)) & (kb.facts.subject == subject) & (kb.facts.object == object_)
    evaluator = Evaluator(kb.with_facts(kb.facts[~own]) if hidden >= 0 else kb)
    everyone = np.arange(kb.num_entities)
    found = []
    for scored in rules:
        ends = (np.full_like(everyone, known), everyone)
        values = evaluator.values(scored.rule, ends[direction], ends[1 - direction])
        found += [[int(b), int(evidence(values[b] * scored.weight))] for b in np.flatnonzero(values > 0)]
    return found


@pytest.mark.parametrize("memory", [2**30, 1], ids=["all at once", "one query at a time"])
@given(kb=engine_cases.bases(), data=st.data(), direction=st.integers(0, 1), hide=st.booleans())
@settings(deadline=None, max_examples=100)
def test_a_batch_has_the_answers_of_single_queries(memory, kb, data, direction, hide):
    bodies = data.draw(st.lists(engine_cases.rules(binary_heads), min_size=1, max_size=3))
    rules = RuleSet.of(kb, [ScoredRule(r, RuleStats(1, 2, 3), w) for r, w in zip(bodies, (0.5, 0.25, 1.0))])
    known = np.arange(kb.num_entities, dtype=np.int32)
    hidden = np.roll(known, 1) if hide else np.full_like(known, -1)
    code = 2 * kb.predicate_id(KNOWS) + direction
    found = [rows.tolist() for rows in program_evidence(rules, kb, code, known, hidden, memory)]
    assert found == [firings_of(rules, kb, direction, int(a), int(b)) for a, b in zip(known, hidden)]


@settings(deadline=None, max_examples=30)
@given(kb=bases())
def test_conjunctions_have_exact_statistics(kb: KnowledgeBase) -> None:
    options = CountOptions(min_support=1, min_confidence=0.0)
    rules = count_rules(kb, np.arange(kb.num_predicates), options).rules
    search, evaluator = Conjunctions(kb, None, options), Evaluator(kb)
    for target in np.flatnonzero([p.arity == 2 for p in kb.predicates]):
        found = search.proposals(rules, int(target), 50)
        assert len({scored.rule for scored in found}) == len(found)
        for scored in found:
            assert scored.stats == rule_stats(evaluator, scored.rule), str(scored.rule)
