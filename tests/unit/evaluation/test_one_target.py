"""The rules of one target are judged on its own facts."""

from __future__ import annotations

from nlil.config import LearnerConfig
from nlil.datasets import load_dataset
from nlil.evaluation.protocol import evaluate
from nlil.learning.learner import Learner


def test_queries_of_other_targets_do_not_count() -> None:
    dataset = load_dataset("kin")
    config = LearnerConfig(search="count", max_length=2, hold_out=0.0)
    rules = Learner(config).fit(dataset.kb, splits=dataset.splits).rules
    whole = evaluate(rules, dataset.kb, dataset.splits.test, splits=dataset.splits)
    target = max(whole.per_predicate, key=lambda name: whole.per_predicate[name]["num_queries"])
    alone = evaluate(rules.for_target(target), dataset.kb, dataset.splits.test, splits=dataset.splits)
    assert [str(p) for p in rules.for_target(target).targets] == [target]
    assert alone["mrr"] == whole.per_predicate[target]["mrr"]
    assert alone.num_queries == whole.per_predicate[target]["num_queries"] < whole.num_queries
    left_out = len(dataset.splits.test) - alone.num_queries // 2
    assert alone.notes == (
        f"{left_out:,} of {len(dataset.splits.test):,} facts do not count: "
        "their predicate is not a target of the rules",
    )
    assert not any("not a target of the rules" in note for note in whole.notes)
