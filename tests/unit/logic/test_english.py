"""Rules in English: a golden file that a person reads, and properties that hold for every rule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings

from nlil.logic.english import rule_sentence
from nlil.logic.labels import Labels
from nlil.logic.parse import parse_rule
from nlil.logic.rule import Rule
from strategies import rules

LABELS = Labels({"/m/0drama": "Drama", "/m/09c7w0": "the United States"}, {"r17": "country", "/a/b/c": "ignored"})
CASES = Path(__file__).with_name("english_rules.pl").read_text(encoding="utf-8").strip().split("\n")


def test_sentences_a_person_accepts(golden: Callable[[str, str], None]) -> None:
    lines = [f"{text}\n    {rule_sentence(parse_rule(text), LABELS)}" for text in CASES]
    golden("english.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize("text", CASES)
def test_head_variables_are_named_and_distinctness_is_not(text: str) -> None:
    rule = parse_rule(text)
    sentence = rule_sentence(rule, LABELS)
    assert sentence == rule_sentence(Rule(rule.head, rule.body, not rule.distinct), LABELS)
    for variable in rule.head.variables:
        assert variable.name in sentence.replace(".", " ").replace(",", " ").split()
    assert sentence.endswith(".")
    assert sentence.count(".") == 1 + text.split(":-")[1].count("_3.1")
    assert "_" not in sentence


@pytest.mark.parametrize(
    ("name", "clause"),
    [
        ("works_in_country", "a works in country b"),
        ("in_country", "a is in country b"),
        ("born_in_city", "a was born in city b"),
        ("located_in_the_region", "a is located in the region b"),
        ("place_of_birth", "the place of birth of a is b"),
        ("cause_of_death", "the cause of death of a is b"),
        ("cover_of", "a is a cover of b"),
        ("sit_on_top_of", "a sits on top of b"),
        ("member_of_party", "the member of party of a is b"),
    ],
)
def test_verbs_and_prepositions_before_a_noun(name: str, clause: str) -> None:
    assert rule_sentence(parse_rule(f"p(X) :- {name}(a, b).")).lower() == f"x is a p if {clause}."


@given(rules())
@settings(deadline=None, max_examples=150)
def test_every_rule_has_a_sentence(rule: Rule) -> None:
    sentence = rule_sentence(rule)
    assert sentence.endswith(".")
    assert sentence == rule_sentence(rule)


def test_an_unanchored_set_is_in_the_image_or_in_the_data() -> None:
    assert rule_sentence(parse_rule("big(X) :- red(Z1).")) == "X is big if the image has something red."
    assert rule_sentence(parse_rule("p(X, Y) :- red(Z1).")) == "The p of X is Y if the data has something red."


def test_something_takes_no_article() -> None:
    sentence = rule_sentence(parse_rule("p(X, Y) :- isa(X, Z), q(Y, X)."))
    assert sentence == "The p of X is Y if X is something and the q of Y is X."
    assert rule_sentence(parse_rule("p(X, Y) :- isa(X, Y).")) == "The p of X is Y if X is a Y."
