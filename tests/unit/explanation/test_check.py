"""Facts that rules dispute: wrong classes, wrong answers of a functional predicate."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from nlil import KnowledgeBase, RuleSet, RuleStats, ScoredRule, check, explain, load, parse_rule
from nlil.data.facts import Facts
from nlil.errors import UnknownName
from nlil.explanation.brief import chance
from nlil.kernel.aggregation import KINDS, Aggregation
from nlil.kernel.calibration import Calibration, CalibrationMap
from nlil.logic.predicate import Fact, Predicate
from nlil.search.count import count_rules
from nlil.search.options import CountOptions

CAPITAL = Predicate("capital", 2)


def countries(*facts: tuple[str, ...]) -> KnowledgeBase:
    """Ten countries: each one's capital lies in it and is its seat, but c0 is said to have the capital of c1."""
    rows = []
    for i in range(10):
        rows += [
            (f"c{i}", "capital", f"t{1 if i == 0 else i}"),
            (f"t{i}", "lies_in", f"c{i}"),
            (f"c{i}", "seat", f"t{i}"),
            (f"v{i}", "lies_in", f"c{i}"),
        ]
    return KnowledgeBase.from_facts([*rows, *facts])


def counted(kb: KnowledgeBase, *names: str):
    options = CountOptions(max_length=2, min_support=2, constants=False)
    ids = [kb.predicate_id(kb.predicate(n)) for n in names]
    return count_rules(kb, np.array(ids, np.int32), options).rules


def test_a_wrong_object_is_disputed_with_its_reasons():
    kb = countries()
    rules = counted(kb, "capital")
    worst, *_ = check(rules, kb)
    assert worst.fact == Fact(CAPITAL, ("c0", "t1"))
    assert worst.competitor == Fact(CAPITAL, ("c0", "t0"))
    assert worst.own_score == explain(rules, kb, worst.fact).score == 0.0
    assert worst.margin == worst.competitor_score > 0.5
    assert "capital(X, Y) :- seat(X, Y)" in str(worst.reasons[0].rule)
    document = json.loads(json.dumps(worst.to_dict()))
    assert (document["fact"], document["competitor"]) == ("capital(c0, t1)", "capital(c0, t0)")
    assert document["reasons"][0]["rule"] == str(worst.reasons[0].rule)
    assert str(worst).startswith("capital(c0, t1), score .000: the rules prefer capital(c0, t0), score .")


def test_the_inverse_direction_counts_where_objects_have_one_subject():
    kb = countries()
    flipped = Facts(kb.facts.predicate, kb.facts.object, kb.facts.subject)
    turned = kb.with_facts(flipped)
    (worst, *_) = check(counted(turned, "capital"), turned)
    assert (worst.fact.arguments, worst.competitor.arguments) == (("t1", "c0"), ("t0", "c0"))


def test_several_answers_are_no_dispute():
    """lies_in has two subjects for each object; with a second capital for many countries nothing is functional."""
    many = [(f"c{i}", "capital", f"v{j}") for i in range(5) for j in range(2)]
    kb = countries(*many)
    assert check(counted(kb, "capital"), kb) == []


def test_known_answers_do_not_compete():
    kb = countries(("c0", "capital", "t0"))
    assert Fact(CAPITAL, ("c0", "t0")) not in {d.competitor for d in check(counted(kb, "capital"), kb)}


def test_a_wrong_class_is_disputed():
    kb, _ = load("street:60", seed=1)
    wheel, tree = (kb.predicate_id(Predicate(n, 1)) for n in ("wheel", "tree"))
    rules = count_rules(kb, np.array(sorted(kb.classes), np.int32), CountOptions()).rules
    own = rules.predicates[wheel]
    # A wheel that rules recognise as one is said to be a tree.
    scores = [(explain(rules, kb, kb.fact(wheel, int(e)), misses=0).score, int(e)) for e in kb.members(wheel)[:20]]
    _, entity = max(scores)
    predicate = kb.facts.predicate.copy()
    predicate[(kb.facts.predicate == wheel) & (kb.facts.subject == entity)] = tree
    spoilt = kb.with_facts(Facts(predicate, kb.facts.subject, kb.facts.object))
    worst = check(rules, spoilt, targets=[p for i, p in enumerate(kb.predicates) if i in kb.classes], top=3)[0]
    assert worst.fact == spoilt.fact(tree, entity)
    assert worst.competitor == Fact(own, worst.fact.arguments)
    assert worst.reasons[0].rule.target == own
    assert check(rules, spoilt, targets=["tree"])[0].fact == worst.fact
    assert {d.fact.predicate.name for d in check(rules, spoilt, targets=["tree"])} == {"tree"}


def test_targets_are_named_and_top_limits():
    kb = countries()
    rules = counted(kb, "capital", "seat")
    everything = check(rules, kb, top=0)
    assert everything == sorted(everything, key=lambda d: (-d.margin, d.fact))
    assert check(rules, kb, top=1) == everything[:1]
    assert {d.fact.predicate.name for d in check(rules, kb, targets=["seat"])} <= {"seat"}
    with pytest.raises(UnknownName, match="capital"):
        check(rules, kb, targets=["capitol"])


def test_threads_memory_and_progress_change_nothing():
    kb = countries()
    rules = counted(kb, "capital", "seat", "lies_in")
    said = []
    one = check(rules, kb, threads=1, progress=lambda stage, done, total, note="": said.append((stage, done, total)))
    assert check(rules, kb, threads=4, memory=2**16) == one
    assert said
    assert said[-1][1] == said[-1][2]


def test_no_rules_no_disputes():
    kb = countries()
    assert check(counted(kb, "capital").take(np.zeros(0, np.int64)), kb) == []


def test_reasons_are_those_of_the_question_that_is_disputed():
    """Who is p of b? There a constant b is in the question, and weighs more than it would as an answer to p(a, ?)."""
    kb = KnowledgeBase.from_facts([("z", "p", "b"), ("z", "p", "d"), ("a", "q", "c"), ("a", "r", "b")])
    texts = {"p(X, b) :- q(X, c).": 0.5, "p(X, Y) :- r(X, Y).": 0.5}
    factor = {"one-step chain": 0.5, "answer constant": 0.1}
    weighing = tuple((factor.get(kind, 1.0), 1.0) for kind in KINDS)
    scored = [ScoredRule(parse_rule(text), RuleStats(1, 2, 3, 2), weight) for text, weight in texts.items()]
    rules = RuleSet.of(kb, scored, Aggregation("noisy-or", 5, weighing))
    (dispute,) = check(rules, kb)
    assert (dispute.fact.arguments, dispute.competitor.arguments) == (("z", "b"), ("a", "b"))
    assert [str(s.rule) for s in dispute.reasons] == list(texts)
    shown = {side: explain(rules, kb, dispute.competitor, side=side) for side in ("object", "subject")}
    assert dispute.competitor_score == shown["subject"].score != shown["object"].score
    assert [str(s.rule) for s in shown["object"].supports] == list(texts)[::-1]


def test_disputes_speak_and_are_ordered_by_probabilities():
    """A flat map for high scores: what differs most by score differs less by probability."""
    kb = countries()
    rules = counted(kb, "capital")
    calibration = Calibration({2: CalibrationMap(by_score=2.0, by_rest=0.5, offset=1.0)}, 100)
    found = check(rules, kb, calibration=calibration)
    assert [d.competitor for d in check(replace(rules, calibration=calibration), kb)] == [d.competitor for d in found]
    for dispute in found:
        own, other = dispute.own_probability, dispute.competitor_probability
        assert own == calibration.estimate(dispute.own_score, 2)
        assert other == calibration.estimate(dispute.competitor_score, 2)
        assert dispute.margin == pytest.approx(other.value - own.value, abs=1e-9)
        assert f"probability {chance(other.value)}" in str(dispute).splitlines()[0]
        assert "score" in str(dispute).splitlines()[0]
        assert dispute.to_dict()["competitor_probability"] == other.value
    assert [d.margin for d in found] == sorted((d.margin for d in found), reverse=True)
    assert {d.fact for d in found} == {d.fact for d in check(rules, kb)}
