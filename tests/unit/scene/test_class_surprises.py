"""Surprising classes: the given one ranked low, another one probable; as probable as `explain` says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nlil import Learned, Learner, LearnerConfig
from nlil.data.dataset import Dataset
from nlil.data.facts import NO_OBJECT, Facts
from nlil.datasets import load_dataset
from nlil.explanation.why import Explainer
from nlil.logic.predicate import Fact, Predicate
from nlil.report import make_report, render
from nlil.report.contents import ClassSurprise
from nlil.scene import object_classes as module
from nlil.scene.object_classes import class_surprises, object_classes

Slip = tuple[Dataset, str]
"""Data in which one object is given a wrong class, and that object."""


def relabelled(facts: Facts, entity: int, old: int, new: int) -> Facts:
    row = (facts.subject == entity) & (facts.predicate == old) & facts.is_unary
    assert row.sum() == 1
    keep = facts[~row]
    one = facts[row]
    return keep + Facts(np.full(1, new, one.predicate.dtype), one.subject, one.object, one.weight)


@pytest.fixture(scope="module")
def street() -> Dataset:
    return load_dataset("street:40")


@pytest.fixture(scope="module")
def found(street: Dataset) -> Learned:
    return Learner(LearnerConfig(preset="scene", joint=True, top_rules=8)).fit(
        street.kb, list(street.targets), street.splits
    )


@pytest.fixture(scope="module")
def slip(street: Dataset, found: Learned) -> Slip:
    """The test object that the rules are most rightly sure of, given the class that they think least of."""
    kb, test = street.world, street.splits.test
    classes = {e: object_classes(found.rules, kb, kb.entities.name(e)) for e in sorted(set(test.subject.tolist()))}
    right = [e for e, c in classes.items() if c.true == (c.ranked[0][0],)]
    entity = max(right, key=lambda e: classes[e].probability[0])
    old, new = (kb.predicate_id(classes[entity].ranked[place][0]) for place in (0, -1))
    context = {
        name: relabelled(facts, entity, old, new) if name == "test" else facts
        for name, facts in street.splits.context.items()
    }
    splits = replace(street.splits, test=relabelled(test, entity, old, new), context=context)
    return replace(street, splits=splits), kb.entities.name(entity)


def shown(found: Learned, data: Dataset, count: int = 10) -> tuple[ClassSurprise, ...]:
    return class_surprises(Explainer(found.rules, data.world), data, count)


def test_a_slip_of_the_data_comes_first(found: Learned, slip: Slip) -> None:
    data, name = slip
    first = shown(found, data)[0]
    classes = object_classes(found.rules, data.world, name)
    assert (first.fact, first.given) == (classes.fact, Fact(classes.true[0], (name,)))
    assert first.fact.predicate != first.given.predicate
    assert first.is_held_out
    assert first.is_probability
    assert first.explanation.fact == first.fact
    assert 0 < len(first.explanation.supports) <= 3


def test_figures_are_those_of_explain(found: Learned, slip: Slip) -> None:
    data, name = slip
    classes = object_classes(found.rules, data.world, name)
    names = [predicate for predicate, _ in classes.ranked]
    first = shown(found, data)[0]
    assert first.chance == pytest.approx(classes.probability[0])
    assert first.given_chance == pytest.approx(classes.probability[names.index(first.given.predicate)])
    scores = np.array([score for _, score in classes.ranked])
    alike = np.flatnonzero(np.isclose(scores, scores[names.index(first.given.predicate)]))  # share the lowest prior
    assert first.rank == alike.mean() + 1
    assert alike[-1] + 1 == first.num_classes == len(names)


def with_class(data: Dataset, name: str, predicate: Predicate) -> Dataset:
    """The data in which the object of the test split has one class more."""
    ids = data.kb.predicate_id(predicate), data.kb.entities.id(name), NO_OBJECT
    one = Facts(*(np.full(1, i, np.int32) for i in ids))
    context = {split: facts + one if split == "test" else facts for split, facts in data.splits.context.items()}
    return replace(data, splits=replace(data.splits, test=data.splits.test + one, context=context))


def test_an_object_of_two_classes(found: Learned, slip: Slip) -> None:
    """One that the rules are sure of is no surprise; two wrong ones are one."""
    data, name = slip
    ranked = [predicate for predicate, _ in object_classes(found.rules, data.world, name).ranked]
    right = with_class(data, name, ranked[0])
    assert all(s.fact.arguments != (name,) for s in shown(found, right))
    wrong = with_class(data, name, ranked[-2])
    (given,) = [s.given.predicate for s in shown(found, wrong) if s.fact.arguments == (name,)]
    assert given in ranked[-2:]


def test_only_classes_that_are_ranked_low(found: Learned, slip: Slip, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MIN_CHANCE", 0.0)
    monkeypatch.setattr(module, "MAX_ALIKE", 99)
    low = shown(found, slip[0], 99)
    assert low
    assert min(s.rank for s in low) > min(module.LOW_RANK, low[0].num_classes // 2)
    monkeypatch.setattr(module, "LOW_RANK", 1)
    assert min(s.rank for s in shown(found, slip[0], 99)) == 2


def test_the_list_is_bounded_varied_and_falling(found: Learned, slip: Slip, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOW_RANK", 1)
    monkeypatch.setattr(module, "MIN_CHANCE", 0.0)
    surprises = shown(found, slip[0], 50)
    gaps = [s.chance - s.given_chance for s in surprises]
    assert gaps == sorted(gaps, reverse=True)
    assert min(gaps) > 0
    predicted = [s.fact.predicate for s in surprises]
    assert max(map(predicted.count, predicted)) == module.MAX_ALIKE
    assert [s.fact for s in shown(found, slip[0], 2)] == [s.fact for s in surprises[:2]]
    assert shown(found, slip[0], 0) == ()


def test_scores_where_rules_give_no_probabilities(found: Learned, slip: Slip) -> None:
    rules = replace(found.rules, aggregation=replace(found.rules.aggregation, unit=0.0))
    first = class_surprises(Explainer(rules, slip[0].world), slip[0], 5)[0]
    assert not first.is_probability
    assert first.chance == pytest.approx(
        dict(object_classes(rules, slip[0].world, slip[1]).ranked)[first.fact.predicate]
        if first.fact.arguments == (slip[1],)
        else first.explanation.score,
        abs=1e-6,
    )


def test_on_the_page(found: Learned, slip: Slip) -> None:
    page = render(make_report(found, slip[0]))
    assert "Objects that were held out, whose class in the data the rules rank low" in page
    assert "The figures are probabilities." in page
    assert page == render(make_report(found, slip[0], threads=1))
