"""Reports of runs with theories: each predicate opens with its theory, all rules are a click away."""

from __future__ import annotations

from dataclasses import replace

import pytest
from report_cases import EVIL, Page, dataset, evil_family, learned, theory_of

from nlil.kernel.exclusion import Exclusion
from nlil.learning.run import Learned
from nlil.logic.predicate import Predicate, Step
from nlil.report import make_report, render
from nlil.report.contents import PageLimits, Report

MOTHERS = (
    "mother(X, Y) :- female(X).",
    "mother(X, Y) :- married(X, Z1), father(Z1, Y).",
    f"mother(X, Y) :- mother('{EVIL}', Y), female(X).",
    "mother(X, max) :- true.",
    "married(X, Y) :- married(Y, X).",
)


def run() -> Learned:
    """Two rules of mother in the order of what they add, which is not that of their weights; none of married."""
    made = learned(evil_family(), MOTHERS)
    mother, uncle = Predicate("mother", 2), Step(Predicate("uncle", 2))
    rules = replace(made.rules, exclusions=(Exclusion(mother, uncle, 9.0, 4),))
    return replace(made, rules=rules, theory=theory_of(rules, {0: (), 1: (2, 3)}))


@pytest.fixture(scope="module")
def report() -> Report:
    return make_report(run(), dataset(evil_family()))


@pytest.fixture(scope="module")
def page(report: Report) -> Page:
    return Page(render(report))


def test_a_predicate_opens_with_its_theory_in_the_order_of_what_each_adds(report: Report, page: Page) -> None:
    mother = next(target for target in report.targets if target.predicate.name == "mother")
    assert [str(entry.rule.scored.rule) for entry in mother.entries] == list(MOTHERS[:2])
    weights = [entry.rule.scored.weight or 0 for entry in mother.entries]
    assert weights[0] < weights[1]
    assert "mother 4 facts, 2 of 4 rules" in page.text
    assert "2 rules explain 3 of 9 sampled facts." in page.text
    assert page.text.index("adds 1 fact ") < page.text.index("adds 2 facts")
    assert "and 2 similar rules" in page.text
    assert page.text.index("adds 2 facts") < page.text.index("All 4 rules, by weight")
    assert [attributes["id"] for attributes in page.named("section")][:3] == ["rules", "data", "figures"]


def test_a_rule_that_adds_no_fact_says_that_it_is_another_way() -> None:
    made = run()
    assert made.theory is not None
    theory = replace(made.theory, explained=made.theory.explained * [1, 0], backs_up=made.theory.backs_up * 3)
    text = Page(render(make_report(replace(made, theory=theory), dataset(evil_family())))).text
    assert text.index("adds 1 fact ") < text.index("another way to 3 facts")


def test_the_family_can_be_opened_and_is_escaped(report: Report, page: Page) -> None:
    assert "2 similar rules mother(X, max) :- true." in page.text
    assert EVIL in page.text
    assert EVIL not in render(report)
    few = make_report(run(), dataset(evil_family()), limits=PageLimits(same_rules=1))
    assert "1 of 2 of them are shown; nlil theory RUN --target mother --family 2" in Page(render(few)).text


def test_exclusions_and_the_table_that_breaks_ties_are_named(page: Page) -> None:
    assert "Never together with mother(X, Y): uncle(X, Y) ." in page.text
    assert "frequency table" in page.text


def test_predicates_without_a_theory_show_their_best_rules(report: Report, page: Page) -> None:
    married = next(target for target in report.targets if target.predicate.name == "married")
    assert married.theory is None
    assert [str(card.rule) for card in married.rules] == [MOTHERS[4]]
    assert "married(X, Y) :- married(Y, X)." in page.text


def test_quality_against_size_is_drawn(page: Page, report: Report) -> None:
    drawn = [attributes["aria-label"] for attributes in page.named("svg") if attributes.get("class") == "chart"]
    assert len(drawn) == 2, "of all predicates, and of mother"
    for text in drawn:
        assert text is not None
        assert "5: .505, 10: .510, 20: .520, 50: .550, 100: .600, 200: .700; all" in text
        assert text.endswith("rules: .750")
    unknown = run()
    unknown = replace(unknown, theory=theory_of(unknown.rules, {0: ()}, is_measured=False))
    assert "too few validation facts" in Page(render(make_report(unknown, dataset(evil_family())))).text


def test_cards_are_for_the_first_rules_of_a_theory() -> None:
    made = make_report(run(), dataset(evil_family()), limits=PageLimits(theory_cards=1))
    mother = next(target for target in made.targets if target.predicate.name == "mother")
    assert [entry.card is not None for entry in mother.entries] == [True, False]
    assert mother.num_shown == 2
