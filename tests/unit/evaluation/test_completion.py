"""complete and score agree with predict, on all pairs of a small base."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from nlil.config import LearnerConfig
from nlil.data.facts import Facts
from nlil.data.kb import KnowledgeBase
from nlil.datasets import load_dataset
from nlil.errors import ConfigError
from nlil.evaluation.completion import _Best, complete
from nlil.evaluation.fact_scores import fact_evidence, strongest_rules
from nlil.evaluation.prediction import Predictor
from nlil.explanation.firing import Firing
from nlil.kernel.aggregation import score
from nlil.learning.learner import Learner
from nlil.logic.query import Query


@pytest.fixture(scope="module", params=["weighed", "plain", "soft"])
def case(request):
    dataset = load_dataset("kin:60")
    kb = dataset.kb
    if request.param == "soft":
        weight = np.where(np.arange(len(kb.facts)) % 3 == 0, 0.75, 1.0).astype(np.float32)
        kb = kb.with_facts(Facts(kb.facts.predicate, kb.facts.subject, kb.facts.object, weight))
    settings = {"search": "count", "weigh": request.param == "weighed", "rules_per_target": 0, "threads": 1}
    targets = ["uncle", "father", "female"]
    learned = Learner(LearnerConfig().with_values(settings)).fit(kb, targets, dataset.splits)
    return learned.rules, kb, Predictor(learned.rules, kb), targets


def everything(predictor: Predictor, kb: KnowledgeBase, targets: list[str]) -> dict[tuple[str, ...], float]:
    """The score of every fact that is not known, by one prediction each."""
    found = {}
    for target in targets:
        arity = kb.predicate(target).arity
        for names in product(kb.entities, repeat=arity):
            answer = predictor.predict(Query(target, names))[0]
            if not answer.known:
                found[target, *names] = answer.score
    return found


def test_complete_finds_the_best_of_all_pairs(case):
    rules, kb, predictor, targets = case
    expected = everything(predictor, kb, targets)
    found = complete(rules, kb, targets=targets, top=40, threads=2)
    assert len(found) == 40
    for new in found:
        assert expected[new.fact.predicate.name, *new.fact.arguments] == new.score
    if found[0].probability is not None and len({new.probability is None for new in found}) == 1:
        chances = [new.probability for new in found]
        assert chances == sorted(chances, reverse=True)
    for target in targets:
        # Only of one target: scores of different arities are compared as probabilities.
        mine = complete(rules, kb, targets=[target], top=15, threads=1)
        best = sorted((value for key, value in expected.items() if key[0] == target and value > 0), reverse=True)
        subjects = {f[0] for f in named(kb, target)}
        seen = sorted((v for k, v in expected.items() if k[0] == target and k[1] in subjects), reverse=True)
        got = [new.score for new in mine]
        if kb.predicate(target).arity == 1:
            assert got == best[:15]
        else:  # subjects that no query p(?, b) suggests are left out; those of the base never are
            assert all(a >= b for a, b in zip(got, [v for v in seen if v > 0][:15], strict=False))


def named(kb: KnowledgeBase, target: str) -> list[tuple[str, ...]]:
    facts = kb.facts.of(kb.predicate_id(kb.predicate(target)))
    return [kb.fact(int(p), int(s), int(o)).arguments for p, s, o in zip(facts.predicate, facts.subject, facts.object)]


def test_new_subjects_are_found(case):
    rules, kb, _, _ = case
    subjects = {f[0] for f in named(kb, "uncle")}
    found = complete(rules, kb, targets=["uncle"], top=2000)
    assert any(new.fact.arguments[0] not in subjects for new in found)


def test_scores_are_those_of_predict(case):
    _, kb, predictor, targets = case
    random = np.random.default_rng(0)
    ids = [kb.predicate_id(kb.predicate(t)) for t in targets]
    facts = Facts.join(kb.facts.of(t)[:20] for t in ids)
    other = random.integers(0, kb.num_entities, (2, 60)).astype(np.int32)
    facts = facts + Facts(np.full(60, ids[0], np.int32), *other)
    facts = Facts(facts.predicate, facts.subject, facts.object)
    got = score(fact_evidence(predictor.ranker, facts))
    for value, p, s, o in zip(got, facts.predicate, facts.subject, facts.object):
        fact = kb.fact(int(p), int(s), int(o))
        assert predictor.predict(Query(fact.predicate.name, fact.arguments))[0].score == value


def test_the_rule_is_the_one_that_counts_most(case):
    rules, kb, predictor, targets = case
    found = complete(rules, kb, targets=targets, top=60)
    firing = Firing(predictor.rules, kb)
    columns = found.facts.predicate, found.facts.subject, found.facts.object, found.row
    for target, x, y, row in zip(*(column.tolist() for column in columns)):
        fired = firing.member(target, x) if y < 0 else firing.pair(target, x, y)
        shares = fired.shares(predictor.rules.aggregation)
        power = {int(fired.rows[i]): p for i, p in zip(shares.order, shares.power) if not fired.is_prior[i]}
        if row < 0:
            assert not power
        else:
            assert power[row] == max(power.values())


def test_known_facts_are_not_new(case):
    rules, kb, _, _ = case
    first = complete(rules, kb, targets=["uncle"], top=10)
    again = complete(rules, kb, targets=["uncle"], top=10, known=kb.facts + first.facts)
    assert {new.fact for new in first}.isdisjoint(new.fact for new in again)


def test_threads_and_room_change_nothing(case, monkeypatch):
    rules, kb, _, targets = case
    one = complete(rules, kb, targets=targets, top=30, threads=1)
    monkeypatch.setattr("nlil.evaluation.completion.ROOM", 7)
    two = complete(rules, kb, targets=targets, top=30, threads=3)
    assert list(one) == list(two)


def test_the_best_are_kept_whatever_the_order(monkeypatch):
    monkeypatch.setattr("nlil.evaluation.completion.ROOM", 5)
    random = np.random.default_rng(1)
    rows = np.unique(random.integers(0, 9, (300, 4)), axis=0)
    expected = rows[np.lexsort((rows[:, 3], rows[:, 2], rows[:, 1], -rows[:, 0]))[:20]]
    for seed in range(5):
        best = _Best(20, -1)
        for row in np.random.default_rng(seed).permutation(rows):
            if row[0] >= best.floor:
                best.add(row[:1], int(row[1]), int(row[2]), int(row[3]))
        assert sorted(map(tuple, best.rows().tolist())) == sorted(map(tuple, expected.tolist()))


def test_rows_as_a_table_and_slices(case):
    rules, kb, _, _ = case
    found = complete(rules, kb, targets=["uncle"], top=10)
    frame = found.to_pandas()
    assert list(frame["score"]) == found.score.tolist()
    assert frame["rule"].notna().any()
    assert [new.fact for new in found[2:4]] == [found[2].fact, found[3].fact]
    assert len(repr(found)) < 200
    assert found[-1] == found[9]


def test_no_rule_no_fact():
    kb = load_dataset("kin:30").kb
    learned = Learner(LearnerConfig(search="count", threads=1, rules_per_target=0)).fit(kb, ["uncle"])
    none = learned.rules.take(np.zeros(len(learned.rules), bool))
    assert len(complete(none, kb, targets=["uncle"])) == 0
    assert strongest_rules(Predictor(none, kb).ranker, Facts.empty()).tolist() == []
    with pytest.raises(ConfigError, match="top: expected 1 or more, got 0"):
        complete(none, kb, top=0)
