"""Why not, what if, what is necessary: small families and scenes, and how the answers are shown."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import kbs
from nlil import KnowledgeBase, ScoredRule, explain, parse_rule
from nlil.errors import ConfigError, RuleSyntaxError, UnknownName
from nlil.explanation.what_if import necessary_facts, what_if
from nlil.explanation.why_not import Change, why_not
from nlil.kernel.aggregation import Aggregation
from nlil.kernel.calibration import Calibration, CalibrationMap
from nlil.kernel.exclusion import Exclusion
from nlil.kernel.ruleset import RuleSet
from nlil.logic.predicate import Fact, Predicate, Step
from nlil.logic.rule import RuleStats
from nlil.logic.text import fact_text

SPOUSE = "uncle(X, Y) :- married(X, Z1), mother(Z1, Y)."
BROTHER = (
    "uncle(X, Y) :- mother(Z1, X), mother(Z1, Z2), mother(Z2, Y), Z1 \\= X, Z2 \\= X, Y \\= X, Z2 \\= Z1, "
    "Y \\= Z1, Y \\= Z2."
)


def rule_set(kb: KnowledgeBase, weights: dict[str, float], **aggregation: object) -> RuleSet:
    scored = [
        ScoredRule(rule := parse_rule(text), RuleStats(1, 2, 3, 2 if rule.target.arity == 2 else None), weight)
        for text, weight in weights.items()
    ]
    return RuleSet.of(kb, scored, Aggregation(**aggregation))


def remedies(found) -> list[tuple[str, str]]:
    return [(r.change.action, fact_text(r.change.fact)) for h in found.rules for r in h.remedies]


def test_the_fact_that_completes_the_strongest_rule():
    kb = kbs.family()
    got = why_not(rule_set(kb, {SPOUSE: 0.9, BROTHER: 0.5}), kb, "uncle(sam, dora)")
    assert got.score == 0
    assert [h.rule for h in got.rules] == [parse_rule(SPOUSE), parse_rule(BROTHER)]
    assert remedies(got) == [("add", "mother(ann, dora)")]
    assert got.best is not None
    assert got.best.change == Change("add", Fact(Predicate("mother", 2), ("ann", "dora")))
    assert got.best.score == pytest.approx(0.9)
    assert "with mother(ann, dora)   score .900" in str(got)
    assert "no single fact was found that would make it fire" in str(got)
    document = json.loads(json.dumps(got.to_dict()))
    [remedy] = document["rules"][0]["remedies"]
    assert (remedy["action"], remedy["fact"], remedy["score"]) == ("add", "mother(ann, dora)", got.best.score)
    assert remedy["probability"] is None  # nothing says what these scores mean


def test_a_missing_filter_and_a_missing_first_step():
    kb = kbs.family()
    rules = rule_set(kb, {"uncle(X, Y) :- mother(Z1, X), male(Z1), aunt(Z1, Y).": 0.5})
    assert remedies(why_not(rules, kb, "uncle(cleo, dora)")) == [("add", "male(bea)")]
    rules = rule_set(kb, {"uncle(X, Y) :- father(X, Z1), aunt(bea, Z1), aunt(bea, Y).": 0.5})
    assert ("add", "father(max, dora)") in remedies(why_not(rules, kb, "uncle(max, dora)"))


def test_likely_facts_come_first():
    """q is said of m and n, and of v; nobody says it of u."""
    kb = KnowledgeBase.from_facts(
        [
            ("x", "p", "m"),
            ("x", "p", "n"),
            ("u", "r", "y"),
            ("v", "r", "y"),
            ("m", "q", "c"),
            ("m", "q", "d"),
            ("n", "q", "c"),
            ("e", "q", "v"),
            ("x", "s", "x"),
        ]
    )
    rules = rule_set(kb, {"s(X, Y) :- p(X, Z1), q(Z1, Z2), r(Z2, Y).": 0.9})
    assert [text for _, text in remedies(why_not(rules, kb, "s(x, y)", facts=9)) if text.startswith("q")] == [
        "q(m, v)",
        "q(n, v)",
        "q(m, u)",
        "q(n, u)",
    ]


def test_a_denied_statement_needs_a_fact_less():
    kb = kbs.family()
    rules = rule_set(kb, {"female(X) :- \\+ father(X, Z1).": 0.5})
    assert remedies(why_not(rules, kb, "female(tom)")) == [("remove", "father(tom, dora)")]
    got = why_not(rules, kb, "female(sam)")
    assert [h.remedies for h in got.rules] == [()]  # sam has two children: taking one away is not enough


def test_the_asked_fact_is_no_remedy():
    kb = kbs.family()
    rules = rule_set(kb, {"uncle(X, Y) :- uncle(X, Y).": 0.9})
    assert remedies(why_not(rules, kb, "uncle(sam, max)")) == []
    assert remedies(why_not(rule_set(kbs.street(), {"person(X) :- car(X).": 0.9}), kbs.street(), "person(b2)")) == []


def test_a_remedy_stays_in_the_scene():
    kb = kbs.street()
    got = why_not(rule_set(kb, {"person(X) :- inside(X, Z1).": 0.9}), kb, "person(b1)", facts=5)
    assert remedies(got)
    assert all(text.startswith("inside(b1, b") for _, text in remedies(got))
    got = why_not(rule_set(kb, {"tree(X) :- wheel(Z1).": 0.9}), kb, "tree(b2)", facts=5)
    assert {text for _, text in remedies(got)} == {"wheel(b1)", "wheel(b3)"}  # the classes of b2 itself are hidden


def test_what_is_excluded_needs_the_other_fact_away():
    kb = kbs.family()
    rules = replace(
        rule_set(kb, {"aunt(X, Y) :- female(X), female(Y).": 0.5}),
        exclusions=(Exclusion(Predicate("aunt", 2), Step(Predicate("mother", 2)), 41.0, 812),),
    )
    got = why_not(rules, kb, "aunt(bea, cleo)")
    assert got.score == 0
    assert got.rules == ()
    assert got.lifted is not None
    assert fact_text(got.lifted.change.fact) == "mother(bea, cleo)"
    assert got.best == got.lifted
    assert got.lifted.score == pytest.approx(0.5)
    assert "excluded: aunt(bea, cleo) and mother(bea, cleo) never hold together" in str(got)
    assert "without mother(bea, cleo)   score .500" in str(got)


HALVED = Calibration({2: CalibrationMap(offset=-2.0, covariance=(0.01, 0.0, 0.0, 0.01, 0.0, 0.01))}, 100)
"""Scores promise too much."""


def test_probabilities_come_before_scores():
    kb = kbs.family()
    rules = replace(rule_set(kb, {SPOUSE: 0.9, BROTHER: 0.5}), calibration=HALVED)
    found = why_not(rules, kb, "uncle(sam, dora)")
    assert found.best is not None
    assert found.best.probability == HALVED.estimate(found.best.score, 2)
    assert "with mother(ann, dora)   probability .549 (" in str(found)
    assert "; score .900" in str(found)
    assert str(found).startswith("why not uncle(sam, dora)  probability <.001 (<.001 to <.001)   score .000; ")
    document = found.to_dict()
    assert document["probability"] == HALVED.probability(0.0, 2)
    assert document["rules"][0]["remedies"][0]["probability"] == found.best.probability.value
    changed = what_if(rules, kb, "uncle(tom, max)", without=["mother(bea, max)"])
    assert changed.to_dict()["probability_before"] == HALVED.probability(changed.before.score, 2)
    text = str(changed).splitlines()[0]
    assert text.startswith("uncle(tom, max)  probability .119 (")
    assert text.endswith("score .500 -> .000")
    needed = necessary_facts(rules, kb, "uncle(tom, max)")
    assert str(needed).startswith("uncle(tom, max)  probability .119 (")
    assert needed.to_dict()["probability"] == needed.probability.value


def test_nothing_fails():
    kb = kbs.family()
    rules = rule_set(kb, {"male(X) :- true.": 0.1})
    assert "every rule whose head matches fires" in str(why_not(rules, kb, "uncle(tom, max)"))


def test_what_if_says_which_rules_go_and_come():
    kb = kbs.family()
    rules = rule_set(kb, {SPOUSE: 0.9, BROTHER: 0.5})
    added = ["married(tom, ann)", "mother(ann, max)"]
    got = what_if(rules, kb, "uncle(tom, max)", without=["mother(bea,max)"], add=added)
    assert (got.before.score, got.after.score) == (pytest.approx(0.5), pytest.approx(0.9))
    assert (got.lost, got.gained) == ((parse_rule(BROTHER),), (parse_rule(SPOUSE),))
    assert "uncle(tom, max)  score .500 -> .900" in str(got)
    assert "without mother(bea, max)" in str(got)
    document = got.to_dict()
    assert document["without"] == ["mother(bea, max)"]
    assert document["add"] == added
    assert explain(rules, kb, "uncle(tom, max)").score == pytest.approx(0.5)  # the base itself is as it was


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"without": ["mother(bea, tom)"]},
            ConfigError,
            r"without mother\(bea, tom\): this fact is not in the data",
        ),
        ({"add": ["mother(bea, max)"]}, ConfigError, r"add mother\(bea, max\): this fact is already in the data"),
        ({"add": ["mother(bea, zoe)"]}, UnknownName, "entity 'zoe'"),
        ({"without": ["mothr(bea, max)"]}, UnknownName, "predicate 'mothr'; closest: 'mother'"),
        ({"without": ["mother(bea, ?)"]}, RuleSyntaxError, "expected a fact without"),
    ],
)
def test_changes_that_are_none_are_refused(changes, error, message):
    kb = kbs.family()
    with pytest.raises(error, match=message):
        what_if(rule_set(kb, {SPOUSE: 0.9}), kb, "uncle(tom, max)", **changes)


def test_necessary_facts_by_how_much_the_score_falls():
    kb = kbs.family()
    rules = rule_set(
        kb, {BROTHER: 0.5, "uncle(X, max) :- father(X, dora).": 0.2, "uncle(X, Y) :- male(X), male(Y).": 0.1}
    )
    got = necessary_facts(rules, kb, "uncle(tom, max)")
    assert [fact_text(n.fact) for n in got.facts] == [
        "mother(ann, bea)",
        "mother(ann, tom)",
        "mother(bea, max)",
        "father(tom, dora)",
        "male(max)",
        "male(tom)",
    ]
    assert [n.fall for n in got.facts] == sorted((n.fall for n in got.facts), reverse=True)
    assert got.num_tested == 6
    assert "-.360  mother(ann, bea)   score .280 without it" in str(got)
    assert len(necessary_facts(rules, kb, "uncle(tom, max)", limit=2).facts) == 2
    assert "no single fact is necessary" in str(necessary_facts(rules, kb, "uncle(cleo, ann)"))


def test_a_fact_of_one_way_among_several_is_not_necessary():
    kb = KnowledgeBase.from_facts([("a", "p", "b"), ("a", "q", "m"), ("m", "q", "b"), ("a", "q", "n"), ("n", "q", "b")])
    got = necessary_facts(rule_set(kb, {"p(X, Y) :- q(X, Z1), q(Z1, Y).": 0.5}), kb, "p(a, b)")
    assert got.facts == ()
    assert got.num_tested == 0


def test_html_is_escaped():
    kb = replace(kbs.family(), entity_labels={"dora": "<b>Dora"})
    rules = rule_set(kb, {SPOUSE: 0.9})
    shown = [
        why_not(rules, kb, "uncle(sam, dora)"),
        necessary_facts(rules, kb, "uncle(sam, dora)"),
        what_if(rules, kb, "uncle(sam, dora)", add=["mother(ann, dora)"]),
    ]
    for value in shown:
        assert "&lt;b&gt;Dora" in value.to_html() == value._repr_html_()
        assert "<b>Dora" not in value.to_html()
