"""Rules of object classes as the learner makes them: repeatable, as many as asked for, of what may be used, honest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nlil
from nlil.config import LearnerConfig
from nlil.data.dataset import Dataset
from nlil.data.facts import Facts
from nlil.errors import ConfigError
from nlil.evaluation.members import MemberScorer
from nlil.kernel.ruleset import RuleSet
from nlil.learning.learner import Learner
from nlil.learning.run import Learned
from nlil.logic.formula import Not, Truth, statements
from nlil.logic.predicate import Predicate
from nlil.progress import Stop

FEW = 6
"""Rules for each class: what is tested here is the same with more, and quick."""


@pytest.fixture(scope="module")
def street() -> Dataset:
    return nlil.load_dataset("street:30")


def learned(dataset: Dataset, *targets: str, **settings: object) -> Learned:
    chosen = [dataset.kb.predicate(name) for name in targets] or dataset.targets
    config = LearnerConfig().with_values({"preset": "scene", "threads": 1, "top_rules": FEW, **settings})
    return Learner(config).fit(dataset.kb, chosen, dataset.splits)


@pytest.fixture(scope="module")
def rules(street: Dataset) -> RuleSet:
    found = learned(street, time_limit=600)
    assert not found.partial
    return found.rules


def written(rules: RuleSet) -> list[tuple[str, float, object]]:
    return [(str(scored.rule), scored.weight, scored.stats) for scored in rules]


def others(rules: RuleSet) -> int:
    """Rules that are no priors."""
    return sum(not isinstance(scored.rule.body, Truth) for scored in rules)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_change_nothing(street: Dataset, rules: RuleSet, threads: int) -> None:
    assert written(learned(street, threads=threads).rules) == written(rules)


def test_every_class_is_told_from_the_others(street: Dataset, rules: RuleSet) -> None:
    assert rules.targets == street.targets
    assert (rules.aggregation.kind, rules.aggregation.top) == ("noisy-or", 0)
    assert {s.rule.target for s in rules} == set(street.targets)
    assert any(isinstance(s.rule.body, Truth) for s in rules)
    assert any(isinstance(s.rule.body, Not) for s in rules), "a pattern that speaks against a class"


@pytest.mark.parametrize("top_rules", [1, 3])
def test_as_many_rules_as_asked_for_on_average(street: Dataset, rules: RuleSet, top_rules: int) -> None:
    few = learned(street, top_rules=top_rules).rules
    # One rule beside the prior is the least that tells classes apart; a class without a prior leaves room for another.
    assert others(few) > 0
    assert len(few) <= max(top_rules, 2) * len(street.targets)
    assert len(few) < len(rules) <= FEW * len(street.targets)


def test_planted_rules_are_found() -> None:
    dataset = nlil.load_dataset("street:60")
    evaluator, everyone = nlil.Evaluator(dataset.kb), np.flatnonzero(dataset.kb.domain)
    found = learned(dataset, top_rules=20).rules

    def rows(rule: nlil.Rule) -> bytes:
        return (evaluator.values(rule, everyone, hide=True) > 0).tobytes()

    def is_found(planted: nlil.Rule) -> bool:
        """Of bodies that hold for the same objects the shortest is kept, so objects are compared and not words."""
        stats, wanted = nlil.rule_stats(evaluator, planted), rows(planted)
        mine = found.for_target(planted.target)
        return any(s.stats.support == stats.support and rows(s.rule) == wanted for s in mine)

    assert {rule.target for rule in dataset.planted if is_found(rule)} == set(dataset.targets)


def test_an_end_in_time_is_marked(street: Dataset) -> None:
    cut = learned(street, time_limit=1e-6)
    assert cut.partial
    assert [s.rule.target for s in cut.rules] == list(street.targets), "priors are what is known at once"


def test_an_end_in_the_middle_keeps_what_was_found(street: Dataset, rules: RuleSet) -> None:
    stop = Stop()

    def progress(stage: str, done: int, total: int, note: str = "") -> None:
        if stage == "rules of classes" and done == 5:
            stop.set()

    learner = Learner(preset="scene", threads=1, top_rules=FEW)
    cut = learner.fit(street.kb, street.targets, street.splits, progress, stop)
    assert cut.partial
    assert 0 < others(cut.rules) < others(rules)


def test_targets_that_are_not_all_classes(street: Dataset) -> None:
    attribute = next(p.name for i, p in enumerate(street.kb.predicates) if p.arity == 1 and i not in street.kb.classes)
    with pytest.raises(ConfigError) as raised:
        learned(street, "person", attribute)
    assert str(raised.value) == (
        f"joint: expected targets that are all object classes, got {attribute!r} among them; "
        "name the targets with --target, or use --set joint=off"
    )
    assert learned(street, "person", attribute, joint=False, search="count").rules.aggregation.top == 5


def test_targets_of_another_kind_are_learned_as_ever(street: Dataset) -> None:
    assert learned(street, "wearing", search="count").rules.aggregation.top == 5


def names_of(rules: RuleSet) -> set[str]:
    return {step.predicate.name for s in rules for statement in statements(s.rule.body) for step in statement.steps}


def test_only_what_a_body_may_use(street: Dataset, rules: RuleSet) -> None:
    assert {"person", "of"} < names_of(rules)
    allowed = learned(street, body=("of", "on", "person"))
    assert names_of(allowed.rules) == {"of", "on", "person"}
    barred = learned(street, not_body=("person", "of"))
    assert names_of(barred.rules)
    assert names_of(barred.rules).isdisjoint({"person", "of"})
    assert learned(street, not_body=[p.name for p in street.kb.predicates]).rules.is_program.sum() == 0


@pytest.mark.parametrize(("not_body", "max_length", "min_support"), [(("person", "of"), 3, 2), ((), 1, 10)])
def test_counts_are_those_of_the_engine(
    street: Dataset, not_body: tuple[str, ...], max_length: int, min_support: int
) -> None:
    """Also where bodies may not use every fact, and up to the asked lengths."""
    kb = street.kb
    found = learned(street, top_rules=3, not_body=not_body, max_length=max_length, min_support=min_support).rules
    assert others(found)
    evaluator, everyone = nlil.Evaluator(kb), np.flatnonzero(kb.domain)
    for scored in found:
        holds = everyone[evaluator.values(scored.rule, everyone, hide=True) > 0]
        own = kb.members(kb.predicate_id(scored.rule.target))
        assert (scored.stats.support, scored.stats.body_size) == (int(np.isin(holds, own).sum()), len(holds))
        assert scored.stats.support >= min_support or isinstance(scored.rule.body, Truth), str(scored.rule)
        assert all(len(s.steps) <= max_length for s in statements(scored.rule.body)), str(scored.rule)


def test_one_target_against_all_others(street: Dataset) -> None:
    kb, found = street.kb, learned(street, "person").rules
    assert found.targets == (Predicate("person", 1),)
    assert {s.rule.target for s in found} == {Predicate("person", 1)}
    assert 1 < len(found) <= FEW
    target = kb.predicate_id(Predicate("person", 1))
    everyone = np.flatnonzero(kb.domain).astype(np.int32)
    evidence = MemberScorer(found, kb, np.array([target])).evidence(everyone)[:, 0]
    is_person = np.isin(everyone, kb.members(target))
    assert np.median(evidence[is_person]) > np.quantile(evidence[~is_person], 0.95)


def relabelled(facts: Facts, entity: int, classes: frozenset[int], label: int) -> Facts:
    own = (facts.subject == entity) & np.isin(facts.predicate, list(classes))
    predicate = np.where(own, label, facts.predicate).astype(np.int32)
    return Facts(predicate, facts.subject, facts.object).unique()


def test_an_objects_own_class_never_counts(street: Dataset, rules: RuleSet) -> None:
    """The class of one object is changed, in training and in test scenes: its evidence keeps every bit."""
    classes = np.array([street.kb.predicate_id(p) for p in street.targets], np.int32)
    changed_others = False
    for facts in (street.splits.train, street.splits.context["test"]):
        kb = street.kb.with_facts(facts)
        before = MemberScorer(rules, kb, classes, 1).evidence(np.arange(kb.num_entities, dtype=np.int32))
        labels = kb.unary[np.isin(kb.unary.predicate, classes)]
        for row in range(0, len(labels), max(len(labels) // 20, 1)):
            entity, label = int(labels.subject[row]), int(labels.predicate[row])
            other = kb.with_facts(relabelled(facts, entity, kb.classes, int(classes[classes != label][row % 14])))
            after = MemberScorer(rules, other, classes, 1).evidence(np.arange(kb.num_entities, dtype=np.int32))
            assert after[entity].tolist() == before[entity].tolist(), kb.entities.name(entity)
            changed_others |= after.tolist() != before.tolist()
    assert changed_others, "neighbours see the class"


def test_without_any_box_or_relation() -> None:
    """Objects that stand alone: only what else is in their picture speaks about them."""
    facts = [
        (f"{i}{n}", name)
        for i in range(12)
        for n, name in ((("a", "wave"), ("b", "board")) if i % 2 else (("a", "car"), ("b", "road")))
    ]
    kb = nlil.KnowledgeBase.from_facts(facts)
    graph_of = np.array([int(name[:-1]) for name in kb.entities], np.int32)
    kb = replace(kb, graph_of=graph_of, classes=frozenset(range(kb.num_predicates)))
    found = Learner(preset="scene").fit(kb, kb.predicates).rules
    assert "board(X) :- wave(Z1)." in {str(s.rule) for s in found}
    evidence = MemberScorer(found, kb, np.arange(4, dtype=np.int32)).evidence(np.arange(24, dtype=np.int32))
    assert [kb.predicates[i].name for i in evidence.argmax(axis=1)] == [
        kb.predicates[int(kb.unary.predicate[kb.unary.subject == i][0])].name for i in range(24)
    ]


def test_probabilities_of_classes(street: Dataset, rules: RuleSet, tmp_path: Path) -> None:
    from nlil.scene.object_classes import object_classes

    found = learned(street)
    assert found.rules.aggregation.unit > 0
    again = nlil.load_run(found.save(tmp_path / "run")).rules
    for entity in np.flatnonzero(street.kb.domain)[::9]:
        classes = object_classes(again, street.kb, street.kb.entities.name(int(entity)))
        assert sum(classes.probability) == pytest.approx(1)
        assert list(classes.probability) == sorted(classes.probability, reverse=True)
        evidence = [-np.log1p(-value) for _, value in classes.ranked]
        odds = np.log(classes.probability[0] / np.array(classes.probability))
        assert odds == pytest.approx((evidence[0] - np.array(evidence)) / again.aggregation.unit, abs=1e-4)
    plain = replace(again, aggregation=replace(again.aggregation, unit=0.0))
    assert object_classes(plain, street.kb, street.kb.entities.name(0)).probability == ()
