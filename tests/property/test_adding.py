"""A rule tried on top of others ranks the facts as the whole rule set with it does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nlil.data.facts import Facts
from nlil.data.kb import KnowledgeBase
from nlil.evaluation.ranking import Ranker
from nlil.kernel.aggregation import KINDS, Aggregation
from nlil.kernel.exclusion import Exclusion
from nlil.kernel.ruleset import RuleSet
from nlil.learning.conjunctions import CandidateEvidence
from nlil.search.conjunctions import Conjunctions
from nlil.search.count import count_rules
from nlil.search.options import CountOptions
from property.test_counting import bases

WEIGHED = tuple((1.0 / (1 + i), 0.5) for i in range(len(KINDS)))
AGGREGATIONS = [Aggregation("noisy-or", 5), Aggregation("noisy-or", 1), Aggregation("noisy-or", 2, WEIGHED)]


def reciprocal(rules: RuleSet, kb: KnowledgeBase, facts: Facts) -> np.ndarray:
    ranks = Ranker(rules, kb, 1).rank(facts, kb.facts + facts)
    return 1 / ranks.realistic[np.lexsort((ranks.fact, ranks.direction))]


@settings(deadline=None, max_examples=12)
@given(kb=bases(), aggregation=st.sampled_from(AGGREGATIONS), excluded=st.booleans())
def test_a_rule_on_top_ranks_as_the_whole_set(kb: KnowledgeBase, aggregation: Aggregation, excluded: bool) -> None:
    options = CountOptions(min_support=1, min_confidence=0.0)
    p, q = (kb.predicate_id(kb.predicate(name)) for name in "pq")
    rules = count_rules(kb, np.array([p], np.int32), options).rules
    exclusions = (Exclusion(kb.predicates[p], kb.step(2 * q), 1.0),) if excluded else ()
    rules = replace(rules, aggregation=aggregation, exclusions=exclusions)
    tried = Conjunctions(kb, None, options).proposals(rules, p, 4)
    assume(len(tried) > 1)
    everyone = [(a, b) for a in range(kb.num_entities) for b in range(kb.num_entities)]
    seen = set(zip(kb.facts.of(p).subject.tolist(), kb.facts.of(p).object.tolist()))
    x, y = np.array([pair for pair in everyone if pair not in seen], np.int32).T
    facts = Facts(np.full(len(x), p, np.int32), x, y)
    current = CandidateEvidence.of(Ranker(rules, kb, 1), p, facts, kb.facts + facts)
    assert (current.reciprocal() == reciprocal(rules, kb, facts)).all()
    for row, firing in enumerate(current.firings(tried)):
        rules = RuleSet.join([rules, tried.take(np.array([row]))])
        before = current.reciprocal()
        trial = current.copy()
        trial.add(firing)
        assert (trial.reciprocal() == reciprocal(rules, kb, facts)).all()
        assert (current.reciprocal() == before).all(), "a trial changes nothing"
        current = trial
