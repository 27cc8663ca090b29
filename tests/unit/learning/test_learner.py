"""What the settings of a search leave out and what they must not."""

from __future__ import annotations

import numpy as np

from nlil.config import LearnerConfig
from nlil.data.facts import Facts, Splits
from nlil.data.kb import KnowledgeBase
from nlil.datasets import load_dataset
from nlil.evaluation.protocol import evaluate
from nlil.learning.learner import Learner

CHAIN = [("a", "p", "b"), ("b", "p", "c"), ("c", "p", "d"), ("a", "q", "c"), ("b", "q", "d")]


def found(kb: KnowledgeBase, target: str, splits: Splits | None = None, **settings: object) -> dict[str, float]:
    config = LearnerConfig().with_values({"search": "count", "min_support": 1, **settings})
    rules = Learner(config).fit(kb, [target], splits).rules
    return {str(scored.rule): scored.stats.confidence for scored in rules}


def test_a_target_that_bodies_may_not_use_keeps_its_constants() -> None:
    kb = KnowledgeBase.from_facts(CHAIN)
    everything = found(kb, "p", max_length=1)
    allowed = {rule: confidence for rule, confidence in everything.items() if "p(" not in rule.partition(":-")[2]}
    assert found(kb, "p", max_length=1, not_body="p") == allowed
    assert {"p(X, b) :- q(X, c).", "p(X, b) :- q(X, Z1), Z1 \\= X.", "p(X, b) :- true."} <= set(allowed)
    assert found(kb, "p", max_length=1, body="q") == allowed


def test_a_small_exact_chain_of_three_survives_a_high_min_confidence() -> None:
    facts = [(f"{x}{i}", k, f"{y}{i}") for i in range(3) for x, k, y in ("apb", "bqc", "crd", "atd")]
    rules = found(KnowledgeBase.from_facts(facts), "t", min_support=2, min_confidence=0.9, constants=False)
    assert any(rule.startswith("t(X, Y) :- p(X, Z1), q(Z1, Z2), r(Z2, Y)") for rule in rules)


def test_one_fact_is_enough_for_a_longer_chain_with_min_support_1() -> None:
    kb = KnowledgeBase.from_facts(["apb", "bqc", "crd", "atd"])
    rules = found(kb, "t", constants=False)
    assert any(rule.startswith("t(X, Y) :- p(X, Z1), q(Z1, Z2), r(Z2, Y)") for rule in rules)


def test_chains_too_long_to_be_numbered_are_left_out_aloud() -> None:
    facts = [(f"e{i}", f"r{i}", f"e{i + 1}") for i in range(400)] + [("a", "t", "b"), ("c", "t", "d")]
    learned = Learner(LearnerConfig(max_length=8, constants=False)).fit(KnowledgeBase.from_facts(facts), ["t"])
    assert any("chains of length 7 left out" in note for note in learned.notes)
    kb = KnowledgeBase.from_facts([*facts, ("e0", "u"), ("e1", "u")])
    assert len(Learner(LearnerConfig(max_length=8)).fit(kb, ["u"]).rules) > 0


def test_given_negatives_of_another_target_change_nothing() -> None:
    kb = KnowledgeBase.from_facts(CHAIN)
    ids = kb.predicate_id(kb.predicate("q")), kb.entities.id("d"), kb.entities.id("a")
    false = Facts(*(np.array([i], np.int32) for i in ids))
    assert found(kb, "p", Splits(kb.facts, negatives={"train": false})) == found(kb, "p")


def test_scenes_of_another_split_are_scored_in_their_own_graphs() -> None:
    dataset = load_dataset("street:20")
    learned = Learner(LearnerConfig(search="count")).fit(dataset.kb, None, dataset.splits)
    plain = evaluate(learned.rules, dataset.kb, dataset.splits.test)
    assert plain.values == evaluate(learned.rules, dataset.kb, dataset.splits.test, splits=dataset.splits).values
    assert plain["r@1"] > 0.6
