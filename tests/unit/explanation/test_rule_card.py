"""The card of a rule: counts with an interval, examples, counterexamples, predictions, page by page."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import kbs
from nlil import KnowledgeBase, RuleSet, ScoredRule, load, parse_rule
from nlil.data.facts import Facts
from nlil.errors import ConfigError
from nlil.evaluation.metrics import wilson_interval
from nlil.explanation.rule_card import RuleCards, rule_card
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.statistics import rule_stats
from nlil.logic.text import fact_text
from nlil.search.count import count_rules
from nlil.search.options import CountOptions

COUSINS = "uncle(X, Y) :- mother(Z1, X), mother(Z1, Z2), mother(Z2, Y)."


def names(instances) -> list[str]:
    return [fact_text(i.fact) for i in instances]


def test_examples_and_counterexamples_with_their_facts():
    card = rule_card(None, kbs.family(), COUSINS)
    assert names(card.examples) == ["uncle(tom, cleo)", "uncle(tom, max)"]
    assert names(card.counterexamples) == ["uncle(bea, cleo)", "uncle(bea, max)"]
    assert card.predictions == card.counterexamples
    assert (card.stats.support, card.stats.body_size) == (2, 4)
    assert card.interval == wilson_interval(2, 4)
    assert [fact_text(f) for f in card.examples[0].grounding.facts] == [
        "mother(ann, tom)",
        "mother(ann, bea)",
        "mother(bea, cleo)",
    ]
    text = str(card)
    assert "confidence .500 (.150 to .850), 2 of 4" in text
    assert "counterexamples: predictions, not in the data" in text
    assert "uncle(bea, max)   because mother(ann, bea), mother(bea, max)" in text
    document = json.loads(json.dumps(card.to_dict()))
    assert document["counterexamples_are"] == "not in the data"
    assert document["examples"][0]["grounding"]["bindings"] == {"X": "tom", "Y": "cleo", "Z1": "ann", "Z2": "bea"}


def test_branches_that_never_hold_are_named():
    rule = "uncle(X, Y) :- aunt(X, Y) ; father(X, Y), mother(X, Z1) ; male(X), (married(X, Y) ; mother(X, Y))."
    card = rule_card(None, kbs.family(), rule)
    assert card.dead_branches == ["father(X, Y), mother(X, Z1)", "mother(X, Y)"], "mothers are not male"
    assert card.to_dict()["dead_branches"] == card.dead_branches
    assert "never holds: mother(X, Y)" in str(card)
    assert rule_card(None, kbs.family(), COUSINS).dead == ()


def test_lists_may_be_about_different_subjects():
    kb = KnowledgeBase.from_facts(
        [
            (s, p, o)
            for s in "abc"
            for o in ("u", "v", "w")
            for p in ("likes", "knows")
            if (s, o, p) != ("a", "u", "knows")
        ]
        + [(s, "likes", o) for s in "de" for o in ("x", "y")]
    )
    rule = parse_rule("knows(X, Y) :- likes(X, Y).")
    plain, spread = (RuleCards(None, kb).card(rule, examples=3, spread=s) for s in (False, True))
    assert names(plain.examples) == ["knows(a, v)", "knows(a, w)", "knows(b, u)"]
    assert names(spread.examples) == ["knows(a, v)", "knows(b, u)", "knows(c, u)"]
    assert names(spread.counterexamples) == ["knows(a, u)", "knows(d, x)", "knows(e, x)"]
    many = RuleCards(None, kb).card(rule, examples=5, spread=True)
    assert names(many.examples) == [*names(spread.examples), "knows(a, w)", "knows(b, v)"], "then any"


def test_known_answers_beside_a_counterexample():
    kb = KnowledgeBase.from_facts(
        [
            ("c0", "capital", "t1"),
            ("c1", "capital", "t1"),
            ("c2", "seat", "t2"),
            ("t0", "in", "c0"),
            ("t1", "in", "c1"),
            ("t2", "in", "c2"),
        ]
    )
    card = rule_card(None, kb, "capital(X, Y) :- in(Y, X).")
    assert card.is_functional
    against = {fact_text(i.fact): (i.known, i.num_known) for i in card.counterexamples}
    assert against == {"capital(c0, t0)": (("t1",), 1), "capital(c2, t2)": ((), 0)}
    assert "known answer: t1" in str(card)


def test_given_negatives_are_the_counterexamples():
    kb = kbs.family()
    uncle = kb.predicate_id(kb.predicate("uncle"))
    bea, max_, sam = (kb.entities.id(name) for name in ("bea", "max", "sam"))
    negatives = Facts(*(np.asarray(c, np.int32) for c in ([uncle, uncle], [bea, sam], [max_, max_])))
    card = rule_card(None, kb, COUSINS, negatives=negatives)
    assert card.has_negatives
    assert names(card.counterexamples) == ["uncle(bea, max)"]
    assert names(card.predictions) == ["uncle(bea, cleo)"]
    assert (card.stats.support, card.stats.body_size) == (2, 3)
    assert "counterexamples, given as false" in str(card)
    assert card.to_dict()["counterexamples_are"] == "given as false"
    everything = RuleCards(None, kb, negatives=negatives).instances(parse_rule(COUSINS), card.stats).others(0, 9)
    assert len(everything) == 2  # the counts, which only know the given negatives, do not end the search


def test_facts_held_out_are_marked():
    kb = kbs.family()
    known = kb.facts + Facts(
        *(
            np.asarray([i], np.int32)
            for i in (kb.predicate_id(kb.predicate("uncle")), kb.entities.id("bea"), kb.entities.id("cleo"))
        )
    )
    card = rule_card(None, kb, COUSINS, known=known)
    assert [i.is_held_out for i in card.counterexamples] == [True, False]
    assert "a fact held out" in str(card)


def test_pages_follow_each_other_and_end():
    kb, splits = load("kin:200")
    rules = count_rules(kb, np.array([kb.predicate_id(kb.predicate("uncle"))]), CountOptions(max_length=2)).rules
    cards = RuleCards(rules, kb, splits.all())
    row = int(np.argmax(np.minimum(rules.support, rules.body_size - rules.support)))
    whole = cards.card(row, examples=10**6)
    assert (len(whole.examples), len(whole.counterexamples)) == (
        whole.stats.support,
        whole.stats.body_size - whole.stats.support,
    )
    pages = [cards.card(row, examples=7, offset=offset) for offset in range(0, 10**4, 7)]
    for part in ("examples", "counterexamples"):
        assert tuple(i for page in pages for i in getattr(page, part)) == getattr(whole, part)
        assert names(getattr(whole, part)) == names(dict.fromkeys(getattr(whole, part)))
    assert not set(names(whole.examples)) & set(names(whole.counterexamples))
    with pytest.raises(ConfigError, match="offset"):
        cards.card(row, offset=-1)


def test_statistics_of_another_base_do_not_end_the_search():
    """A rule without counterexamples where it was learned may have some elsewhere."""
    rule = parse_rule(COUSINS)
    learned = KnowledgeBase.from_facts(
        [
            ("ann", "mother", "tom"),
            ("ann", "mother", "bea"),
            ("bea", "mother", "max"),
            ("tom", "uncle", "max"),
            ("bea", "uncle", "max"),
        ]
    )
    stats = rule_stats(Evaluator(learned), rule)
    assert stats.support == stats.body_size == 2
    other = kbs.family()
    rules = RuleSet.of(other, [ScoredRule(rule, replace(stats, head_size=9), 0.5)])
    assert len(rule_card(rules, other, 0).counterexamples) == 2


def test_unary_heads_negation_and_scenes():
    kb = kbs.street()
    card = rule_card(None, kb, "person(X) :- \\+ tree(Z1).")
    assert names(card.examples) == ["person(a1)"]
    assert names(card.counterexamples) == ["person(a2)", "person(a3)", "person(a4)"]
    assert not card.is_functional
    assert "no tree(Z1)" in str(card)


def test_rows_need_a_set():
    with pytest.raises(ConfigError, match="no rule set"):
        rule_card(None, kbs.family(), 3)


@pytest.mark.parametrize(("hits", "total"), [(0, 1), (1, 1), (3, 7), (0, 40), (40, 40)])
def test_the_interval_holds_the_share(hits: int, total: int):
    low, high = wilson_interval(hits, total)
    assert 0 <= low <= hits / total <= high <= 1
    wide = wilson_interval(10 * hits, 10 * total)
    assert high - low > wide[1] - wide[0]


def test_html_is_escaped():
    kb = replace(kbs.family(), entity_labels={"cleo": "<i>Cleo"})
    page = rule_card(None, kb, COUSINS)._repr_html_()
    assert "&lt;i&gt;Cleo" in page
    assert "<i>Cleo" not in page
