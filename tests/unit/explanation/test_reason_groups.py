"""Which rules are one reason, what each fact is worth, and what a brief explanation says."""

from __future__ import annotations

import pytest

import kbs
from nlil.data.kb import KnowledgeBase
from nlil.explanation.brief import MAX_LINES, fitting, num_lines
from nlil.explanation.outline import as_text
from nlil.explanation.why import Explainer, Explanation, explain
from nlil.kernel.aggregation import Aggregation
from nlil.kernel.calibration import Calibration, CalibrationMap
from nlil.kernel.ruleset import RuleSet
from nlil.logic.parse import parse_rule
from nlil.logic.rule import RuleStats, ScoredRule


def rule_set(kb: KnowledgeBase, weights: dict[str, float], aggregation: Aggregation | None = None) -> RuleSet:
    scored = [ScoredRule(parse_rule(text), RuleStats(1, 2, 3, 2), weight) for text, weight in weights.items()]
    return RuleSet.of(kb, scored, aggregation or Aggregation())


LIVES = [
    ("ann", "lives_in", "bern"),
    ("bern", "capital_of", "switzerland"),
    ("bern", "in", "switzerland"),
    ("ann", "knows", "bob"),
    ("bob", "citizen_of", "switzerland"),
    ("bob", "knows", "ann"),
    ("eve", "citizen_of", "france"),
]
CAPITAL = "citizen_of(X, Y) :- lives_in(X, Z1), capital_of(Z1, Y)."
PLACE = "citizen_of(X, Y) :- lives_in(X, Z1), in(Z1, Y)."
CITY = "citizen_of(X, switzerland) :- lives_in(X, bern)."
FRIEND = "citizen_of(X, Y) :- knows(X, Z1), citizen_of(Z1, Y)."
FRIEND_BACK = "citizen_of(X, Y) :- knows(Z1, X), citizen_of(Z1, Y)."
PRIOR = "citizen_of(X, switzerland) :- true."
ALL = {CAPITAL: 0.8, PLACE: 0.6, CITY: 0.5, FRIEND: 0.4, FRIEND_BACK: 0.3, PRIOR: 0.1}


def citizen(weights: dict[str, float] = ALL, top: int = 10) -> Explanation:
    kb = KnowledgeBase.from_facts(LIVES)
    return explain(rule_set(kb, weights, Aggregation("noisy-or", top)), kb, "citizen_of(ann, switzerland)")


def test_rules_that_fire_through_the_same_facts_are_one_reason() -> None:
    """Half of the facts shared is enough; a fact with its ends exchanged is the same; frequency comes last."""
    got = citizen()
    assert [[str(found.rule) for found in reason.rules] for reason in got.reasons] == [
        [str(parse_rule(text)) for text in group] for group in ((CAPITAL, PLACE, CITY), (FRIEND, FRIEND_BACK), (PRIOR,))
    ]
    assert [reason.kind for reason in got.reasons] == ["facts", "facts", "frequency"]
    assert got.reasons[0].share == pytest.approx(sum(s.share for s in got.supports[:3]))
    assert sum(reason.share for reason in got.reasons) == pytest.approx(got.score)
    assert got.reasons == citizen(dict(reversed(ALL.items()))).reasons


def test_the_strongest_reason_comes_first_in_plain_words() -> None:
    lines = str(citizen()).splitlines()
    because = "ann lives in bern and bern is the capital of switzerland"
    assert lines[0] == f"ann is a citizen of switzerland, because {because}."
    assert lines[1].strip().startswith("score ")
    assert "this reason" in lines[2]
    assert "and 2 similar rules" in lines[2]
    assert "ann knows bob and bob is a citizen of switzerland" in lines[3]
    assert "and 1 similar rule" in lines[3]
    assert "frequency" in lines[4]
    assert len(lines) == 5


def test_a_fact_is_worth_what_its_absence_costs_after_others_took_the_free_places() -> None:
    got = {str(one.fact.predicate.name): one for one in citizen(top=1).facts}
    assert set(got) == {"lives_in", "capital_of"}
    # Without the capital the place counts, without the home the friend.
    assert got["capital_of"].score == pytest.approx(1 - 0.4 * 0.9, abs=1e-6)
    assert got["lives_in"].score == pytest.approx(1 - 0.6 * 0.9, abs=1e-6)
    listed = str(citizen(top=1).listing)
    assert "without one of these facts the score falls by" in listed
    assert citizen(top=1).to_dict()["facts"][0]["fact"] == "lives_in(ann, bern)"


def test_reasons_of_one_pattern_share_a_line() -> None:
    spoken = {"ann": "french", "bob": "french", "eve": "greek", "tom": "greek"}
    kb = KnowledgeBase.from_facts([(name, "speaks", language) for name, language in spoken.items()])
    rules = {f"speaks(tom, Y) :- speaks({name}, Y).": 0.5 for name in ("ann", "bob")}
    text = str(explain(rule_set(kb, rules), kb, "speaks(tom, french)"))
    assert "tom speaks french, because ann speaks french, which is right for tom in 1 of 2 cases." in text
    assert "likewise with bob" in text


def test_only_a_subject_that_no_fact_mentions_is_named_as_what_a_rule_is_right_for() -> None:
    kb = KnowledgeBase.from_facts(LIVES)
    for text, words in {
        "citizen_of(ann, Y) :- citizen_of(bob, Y).": "bob is a citizen of switzerland, which is right for ann in",
        "citizen_of(ann, Y) :- citizen_of(Z1, Y), knows(Z1, ann).": "switzerland and bob knows ann.",
        CITY: "because ann lives in bern.",
    }.items():
        got = str(explain(rule_set(kb, {text: 0.5}), kb, "citizen_of(ann, switzerland)"))
        assert words in got.splitlines()[0], got


def test_the_probability_comes_before_the_score() -> None:
    kb = KnowledgeBase.from_facts(LIVES)
    covariance = (0.01, 0.0, 0.0, 0.01, 0.0, 0.01)
    known = Calibration({2: CalibrationMap(1.0, 1.0, -1.0, covariance)})
    got = Explainer(rule_set(kb, ALL), kb, probabilities=known).explain("citizen_of(ann, switzerland)")
    assert got.probability is not None
    assert got.probability == known.estimate(got.score, 2)
    assert f"probability .{round(got.probability.value * 1000)} (." in str(got).splitlines()[1]
    assert got == explain(rule_set(kb, ALL), kb, "citizen_of(ann, switzerland)", calibration=known)
    assert got.to_dict()["probability_low"] == got.probability.low
    doubtful = Calibration({2: CalibrationMap(1.0, 1.0, -9.0)})
    text = str(explain(rule_set(kb, ALL), kb, "citizen_of(ann, switzerland)", calibration=doubtful))
    assert text.startswith("It is improbable that ann is a citizen of switzerland; the strongest reason for it is th")


def test_a_brief_explanation_fits_a_dozen_lines_of_any_screen() -> None:
    got = citizen()
    for width in (60, 80, 160):
        assert num_lines(fitting(got, width), width) <= MAX_LINES
    assert num_lines(fitting(got, 60), 60) > len(as_text(fitting(got, 60)).splitlines())


def test_long_names_leave_out_what_is_said_already() -> None:
    award = "Screen Actors Guild Award for Outstanding Performance by a Male Actor in the Leading Role of a Film"
    others = [f"{award}, number {i}" for i in range(6)]
    rows = [(name, "nominated", "House of Sand and Fog") for name in (award, *others)]
    kb = KnowledgeBase.from_facts(rows)
    rules = {f"nominated('{award}', Y) :- nominated('{name}', Y).": 0.2 for name in others}
    got = explain(rule_set(kb, rules), kb, f"nominated('{award}', 'House of Sand and Fog')")
    lines = str(got).splitlines()
    assert f"right for {award} in " in lines[0]
    assert "right" not in lines[2]  # the sentence has said it
    assert num_lines(fitting(got, 100), 100) <= MAX_LINES
    assert "number 3 and" in as_text(fitting(got, 160))
    assert "likewise with " + others[1] + " and 3 others" in as_text(fitting(got, 60))


def test_no_rule_and_only_frequency() -> None:
    assert str(citizen({PRIOR: 0.1})).startswith("ann is a citizen of switzerland, only because that is frequent.")
    text = str(citizen({}))
    assert text.startswith("No rule says that ann is a citizen of switzerland.")


def test_what_speaks_against_it() -> None:
    kb = kbs.family()
    got = explain(rule_set(kb, {"uncle(X, Y) :- married(X, Z1), uncle(Z1, Y).": 0.9}), kb, "uncle(tom, max)")
    assert str(got).splitlines()[-1].strip().startswith("against: not known that")
    assert got.to_dict()["against"][0]["text"].startswith("not known that")


def test_a_rule_that_is_hardly_ever_right_does_not_speak_against() -> None:
    """It is listed among the rules that do not hold."""
    kb, strong, weak = kbs.family(), "uncle(X, Y) :- married(X, Z1), uncle(Z1, Y).", "uncle(X, Y) :- aunt(X, Y)."
    for weight, count in ((0.05, 1), (0.5, 2)):
        got = explain(rule_set(kb, {strong: 0.9, weak: weight}), kb, "uncle(tom, max)")
        assert len(got.against) == count
        assert len(got.misses) == 2
