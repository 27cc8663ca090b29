"""What an explanation says about small families and scenes, and how it is shown."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

import kbs
from nlil import KnowledgeBase, ScoredRule, explain, predict
from nlil.errors import NlilError, RuleSyntaxError, UnknownName
from nlil.explanation.firing import Firing
from nlil.kernel.aggregation import Aggregation
from nlil.kernel.ruleset import RuleSet
from nlil.logic.formula import Not
from nlil.logic.parse import parse_rule
from nlil.logic.predicate import Fact, Predicate
from nlil.logic.query import Query
from nlil.logic.rule import RuleStats
from nlil.logic.text import fact_text

BROTHER = (
    "uncle(X, Y) :- mother(Z1, X), mother(Z1, Z2), mother(Z2, Y), Z1 \\= X, Z2 \\= X, Y \\= X, Z2 \\= Z1, "
    "Y \\= Z1, Y \\= Z2."
)
TO_MAX = "uncle(X, max) :- father(X, dora)."
SPOUSE = "uncle(X, Y) :- married(X, Z1), mother(Z1, Y)."
PRIOR = "uncle(X, max) :- true."


def rule_set(kb: KnowledgeBase, weights: dict[str, float], **aggregation: object) -> RuleSet:
    scored = []
    for text, weight in weights.items():
        rule = parse_rule(text)
        scored.append(ScoredRule(rule, RuleStats(1, 2, 3, 2 if rule.target.arity == 2 else None), weight))
    return RuleSet.of(kb, scored, Aggregation(**aggregation))


FAMILY_RULES = {BROTHER: 0.5, TO_MAX: 0.5, SPOUSE: 0.9, PRIOR: 0.1}


def test_the_rules_that_fire_share_the_score():
    kb = kbs.family()
    got = explain(rule_set(kb, FAMILY_RULES), kb, "uncle(tom, max)")
    assert got.fact == Fact(Predicate("uncle", 2), ("tom", "max"))
    assert got.known
    assert got.score == pytest.approx(1 - 0.5 * 0.5 * 0.9)
    assert [str(s.rule) for s in got.supports] == [str(parse_rule(t)) for t in (BROTHER, TO_MAX, PRIOR)]
    first, second, prior = (s.share for s in got.supports)
    assert first == second > prior > 0
    assert first + second + prior == pytest.approx(got.score)
    assert (got.num_fired, got.num_counted, got.other_share) == (3, 3, 0.0)
    assert [fact_text(f) for f in got.supports[0].groundings[0].facts] == [
        "mother(ann, tom)",
        "mother(ann, bea)",
        "mother(bea, max)",
    ]
    assert got.supports[2].groundings[0].facts == ()


def test_the_strongest_rules_count_and_the_first_of_equals():
    kb = kbs.family()
    got = explain(rule_set(kb, FAMILY_RULES, top=1), kb, "uncle(tom, max)")
    assert got.score == pytest.approx(1 - 0.5 * 0.9)
    assert [s.rule for s in got.supports] == [parse_rule(BROTHER), parse_rule(PRIOR)]
    assert (got.num_fired, got.num_counted) == (3, 2)


def test_max_gives_all_to_the_best_rule():
    kb = kbs.family()
    got = explain(rule_set(kb, FAMILY_RULES, kind="max"), kb, "uncle(tom, max)")
    (only,) = got.supports
    assert only.share == got.score == pytest.approx(0.5)
    assert (got.num_fired, got.num_counted) == (3, 1)


def test_what_is_not_shown_is_said():
    kb = kbs.family()
    got = explain(rule_set(kb, FAMILY_RULES), kb, "uncle(tom, max)", top=1, groundings=0, misses=0)
    assert len(got.supports) == 1
    assert got.misses == got.supports[0].groundings == ()
    assert got.supports[0].share + got.other_share == pytest.approx(got.score)
    assert "2 weaker rules" in str(got.listing)
    assert "and 1 other way" in str(got.listing)


def test_a_rule_that_misses_says_which_fact_would_help():
    kb = kbs.family()
    (miss,) = explain(rule_set(kb, FAMILY_RULES), kb, "uncle(tom, max)").misses
    assert miss.rule == parse_rule(SPOUSE)
    assert (miss.reached, miss.at) == (0, ("tom",))
    assert miss.missing == (Query("married", ("tom", None)),)
    got = explain(rule_set(kb, {SPOUSE: 0.9}), kb, "uncle(sam, max)")
    assert got.misses[0].missing == (Query("mother", ("ann", "max")),)
    assert "missing: mother(ann, max)" in str(got.listing)
    assert "no rule fires" in str(got.listing)


def test_inverse_steps_and_filters_are_named_as_facts():
    kb = kbs.family()
    got = explain(rule_set(kb, {"uncle(X, Y) :- father(Z1, X), male(Z1), aunt(Z1, Y).": 0.5}), kb, "uncle(ann, max)")
    assert got.misses[0].missing == (Query("father", (None, "ann")),)
    got = explain(rule_set(kb, {"uncle(X, Y) :- mother(Z1, X), male(Z1), aunt(Z1, Y).": 0.5}), kb, "uncle(tom, max)")
    assert got.misses[0].missing == (Query("male", ("ann",)),)


def test_heads_with_another_constant_are_no_misses():
    kb = kbs.family()
    assert explain(rule_set(kb, {TO_MAX: 0.5, PRIOR: 0.2}), kb, "uncle(tom, cleo)").misses == ()


def test_a_rule_that_fails_for_distinct_variables_says_so():
    kb = kbs.family()
    rule = "uncle(X, Y) :- mother(Z1, X), mother(Z1, Y), X \\= Z1, Y \\= Z1, Y \\= X."
    got = explain(rule_set(kb, {rule: 0.5}), kb, "uncle(tom, tom)")
    assert got.score == 0.0
    assert "holds only if two variables stand for the same entity" in str(got.listing)


def test_negation_shows_what_is_absent_and_what_denies_it():
    kb = kbs.family()
    rules = rule_set(kb, {"female(X) :- \\+ father(X, Z1).": 0.5})
    got = explain(rules, kb, "female(ann)")
    assert len(got.supports[0].groundings[0].absent) == 1
    assert "no father(ann, Z1)" in str(got.listing)
    denied = explain(rules, kb, "female(sam)")
    assert isinstance(denied.misses[0].statement, Not)
    assert "negated, but holds: father(X, Z1)" in str(denied.listing)


def test_the_fact_itself_is_hidden():
    kb = kbs.family()
    rules = rule_set(kb, {"uncle(X, Y) :- uncle(X, Y).": 0.9, "uncle(X, max) :- uncle(X, Z1).": 0.5})
    got = explain(rules, kb, "uncle(tom, max)")
    assert [str(s.rule) for s in got.supports] == ["uncle(X, max) :- uncle(X, Z1)."]
    assert [fact_text(f) for f in got.supports[0].groundings[0].facts] == ["uncle(tom, cleo)"]
    target, x, y = (kb.predicate_id(Predicate("uncle", 2)), kb.entities.id("tom"), kb.entities.id("max"))
    assert Firing(rules, kb).pair(target, x, y, hidden=(x, y)).rows.tolist() == [1]
    assert Firing(rules, kb).pair(target, x, y).rows.tolist() == [0, 1]


def test_another_fact_can_be_hidden_instead():
    """A rival of uncle(tom, cleo) must not be supported by uncle(tom, cleo)."""
    kb = kbs.family()
    rules = rule_set(
        kb,
        {
            "uncle(X, Y) :- uncle(X, cleo), female(Y).": 0.9,
            "uncle(X, dora) :- uncle(X, cleo).": 0.9,
            "uncle(X, Y) :- uncle(X, Z1), aunt(Z2, Y).": 0.5,
        },
    )
    target = kb.predicate_id(Predicate("uncle", 2))
    tom, dora, cleo = (kb.entities.id(name) for name in ("tom", "dora", "cleo"))
    firing = Firing(rules, kb)
    assert firing.pair(target, tom, dora, hidden=(tom, cleo)).rows.tolist() == [2]
    assert firing.pair(target, tom, dora).rows.tolist() == [0, 1, 2]


def test_classes_of_an_object_are_hidden_together():
    kb = kbs.street()
    rules = rule_set(
        kb,
        {
            "person(X) :- wearing(X, Z1), shirt(Z1).": 0.7,
            "person(X) :- person(X).": 0.9,
            "car(X) :- \\+ person(X).": 0.9,
            "person(X) :- true.": 0.1,
        },
    )
    got = explain(rules, kb, "person(a1)")
    assert got.score == pytest.approx(1 - 0.3 * 0.9)
    assert [fact_text(f) for f in got.supports[0].groundings[0].facts] == ["wearing(a1, a2)", "shirt(a2)"]
    assert explain(rules, kb, "car(a1)").score == pytest.approx(0.9)
    assert not explain(rules, kb, "car(a1)").known


def test_soft_facts_hold_to_a_degree():
    kb = KnowledgeBase.from_facts([("a", "near", "b", 0.5), ("a", "likes", "b", 1.0)])
    got = explain(rule_set(kb, {"likes(X, Y) :- near(X, Y).": 0.8}), kb, "likes(a, b)")
    assert got.score == pytest.approx(0.4)
    assert got.supports[0].value == 0.5
    assert "holds to degree .500" in str(got.listing)


def test_priors_count_beside_the_strongest_rules_with_soft_facts_too():
    kb = KnowledgeBase.from_facts([("a", "near", "b", 0.5), ("a", "likes", "b", 1.0), ("a", "big", "", 0.5)])
    rules = rule_set(
        kb,
        {
            "likes(X, Y) :- near(X, Y).": 0.8,
            "likes(a, Y) :- true.": 0.5,
            "big(X) :- near(X, b).": 0.8,
            "big(X) :- true.": 0.5,
        },
        top=1,
    )
    for fact in ("likes(a, b)", "big(a)"):
        assert explain(rules, kb, fact).score == predict(rules, kb, fact)[0].score == pytest.approx(1 - 0.6 * 0.5)


def test_a_constant_may_be_the_entity_asked_about():
    """`distinct` speaks of variables."""
    kb = KnowledgeBase.from_facts([("a", "knows", "b"), ("b", "likes", "a"), ("a", "big")])
    rules = rule_set(kb, {"big(X) :- knows(X, Z1), likes(Z1, a), Z1 \\= X.": 0.5})
    assert explain(rules, kb, "big(a)").score == predict(rules, kb, "big(a)")[0].score == pytest.approx(0.5)


def test_rules_without_weight_are_no_misses():
    kb = kbs.family()
    assert explain(rule_set(kb, {SPOUSE: 0.0}), kb, "uncle(tom, max)").misses == ()


def test_rules_of_another_vocabulary_are_bound():
    kb = kbs.family()
    other = KnowledgeBase.from_facts(
        [("zoe", "mother", "yan"), ("zoe", "mother", "wim"), ("wim", "mother", "una"), ("yan", "uncle", "una")]
    )
    assert explain(
        rule_set(kb, {BROTHER: 0.5, "uncle(X, max) :- father(X, dora).": 0.5}), other, "uncle(yan, una)"
    ).score == pytest.approx(0.5)


def test_bad_questions_are_refused_in_one_sentence():
    kb = kbs.family()
    rules = rule_set(kb, FAMILY_RULES)
    with pytest.raises(NlilError, match="predict"):
        explain(rules, kb, "uncle(tom, ?)")
    with pytest.raises(UnknownName, match="'uncel'; closest: 'uncle'"):
        explain(rules, kb, "uncel(tom, max)")
    with pytest.raises(UnknownName, match="entity 'maxx'; closest: 'max'"):
        explain(rules, kb, "uncle(tom, maxx)")
    with pytest.raises(UnknownName, match="uncle/2 takes two arguments"):
        explain(rules, kb, "uncle(tom)")
    with pytest.raises(RuleSyntaxError):
        explain(rules, kb, "uncle(tom, max")


# showing ------------------------------------------------------------------------------------------------


def labelled() -> KnowledgeBase:
    return replace(kbs.family(), entity_labels={"tom": "Tom <b>[red]"}, predicate_labels={"mother": "is mother of"})


def test_labels_are_for_people_and_names_for_programs():
    kb = labelled()
    got = explain(rule_set(kb, FAMILY_RULES), kb, "uncle(tom, max)")
    assert "is mother of(ann, Tom <b>[red])" in str(got.listing)
    document = json.loads(json.dumps(got.to_dict()))
    assert document["fact"] == "uncle(tom, max)"
    assert document["label"] == "uncle(Tom <b>[red], max)"
    support = document["supports"][0]
    assert parse_rule(support["rule"]) == parse_rule(BROTHER)
    assert support["label"].startswith("uncle(X, Y) :- is mother of(Z1, X)")
    assert support["groundings"][0]["facts"][0] == "mother(ann, tom)"
    assert support["groundings"][0]["labels"][0] == "is mother of(ann, Tom <b>[red])"
    assert support["groundings"][0]["bindings"] == {"X": "tom", "Y": "max", "Z1": "ann", "Z2": "bea"}
    assert document["misses"][0]["missing"] == ["married(tom, ?)"]
    assert sum(s["share"] for s in document["supports"]) == pytest.approx(document["score"])
    assert support["support"] == 1
    assert support["confidence"] == 0.5


def test_the_terminal_shows_names_that_look_like_markup():
    kb = labelled()
    console = Console(file=io.StringIO(), width=200)
    console.print(explain(rule_set(kb, FAMILY_RULES), kb, "uncle(tom, max)").listing)
    shown = console.file.getvalue()
    assert (
        "uncle(Tom <b>[red], max)  score .775   answers uncle(Tom <b>[red], ?); in the data, hidden here; 3 rules fire"
    ) in shown
    assert "is mother of(ann, Tom <b>[red]), is mother of(ann, bea), is mother of(bea, max)" in shown


def test_html_is_escaped():
    kb = labelled()
    page = explain(rule_set(kb, FAMILY_RULES), kb, "uncle(tom, max)").listing._repr_html_()
    assert "Tom &lt;b&gt;[red]" in page
    assert "<b>[red]" not in page
    assert page.count("<ul>") == page.count("</ul>") > 1


def test_a_rule_for_every_pair_is_no_prior():
    """Ranking lets it compete with the other rules, and so does explaining."""
    kb = KnowledgeBase.from_facts([("a", "knows", "b"), *(("a", f"k{i}", "c") for i in range(5))])
    weights = {f"knows(X, Y) :- k{i}(X, Y).": 0.3 for i in range(5)} | {"knows(X, Y) :- true.": 0.1}
    rules = rule_set(kb, weights, kind="noisy-or", top=5)
    (answer,) = predict(rules, kb, "knows(a, c)")
    assert answer.score == pytest.approx(1 - 0.7**5)
    assert explain(rules, kb, "knows(a, c)").score == answer.score
