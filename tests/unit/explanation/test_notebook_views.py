"""What a notebook shows of rules, rule sets, metrics, predictions and explanations: tables and lists, escaped."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import kbs
from nlil import RuleSet, ScoredRule, check, evaluate, explain, parse_rule, predict
from nlil.logic.rule import RuleStats

VOID = ("br", "hr", "img")


class Balance(HTMLParser):
    """Every tag that is opened is closed, in order; collects the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def nasty() -> tuple:
    kb = replace(kbs.family(), entity_labels={"max": "<script>alert(1)</script>"}, predicate_labels={"father": "a<b"})
    rule = parse_rule("uncle(X, max) :- father(X, dora).")
    return kb, RuleSet.of(kb, [ScoredRule(rule, RuleStats(1, 2, 3, 2), 0.5)])


def test_every_view_is_escaped_and_closed() -> None:
    kb, rules = nasty()
    views = [
        rules,
        rules[0],
        rules[0].rule,
        evaluate(rules, kb, kb.facts),
        predict(rules, kb, "uncle(tom, ?)"),
        explain(rules, kb, "uncle(tom, max)"),
        *check(rules, kb),
    ]
    for view in views:
        page = view._repr_html_()
        Balance(page)
        assert "<script" not in page
    assert "&lt;script&gt;" in predict(rules, kb, "uncle(tom, ?)")._repr_html_()
    assert "a&lt;b(X, dora)" in rules._repr_html_()


def test_a_rule_set_shows_its_best_rules_and_how_many_there_are() -> None:
    kb = kbs.family()
    scored = [
        ScoredRule(parse_rule(f"uncle(X, {name}) :- true."), RuleStats(i, 10, 20, 9), i / 10)
        for i, name in enumerate(("ann", "bea", "cleo"))
    ]
    page = RuleSet.of(kb, scored)._repr_html_()
    assert "3 rules" in page
    assert page.index("cleo") < page.index("bea") < page.index("ann")
    many = RuleSet.join([RuleSet.of(kb, scored)] * 10)
    assert "20 of 30 rules" in many._repr_html_()
    assert many._repr_html_().count("<tr>") == 21


def test_answers_are_a_list() -> None:
    kb, rules = nasty()
    answers = predict(rules, kb, "uncle(tom, ?)")
    assert list(answers) == answers
    assert isinstance(answers, list)
    assert str(answers.query) == "uncle(tom, ?)"
    assert Balance(answers._repr_html_()).text[:4] == ["uncle(tom, ?)", "answer", "score", "known"]
