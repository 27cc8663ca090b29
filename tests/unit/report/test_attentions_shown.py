"""Reports of trained runs: strips of attention with names, the path of the rule, the curve of training; all escaped."""

from __future__ import annotations

from dataclasses import replace

import pytest
from report_cases import Page, dataset, learned

import kbs
from attention_cases import uncle_attentions
from nlil import KnowledgeBase
from nlil.learning.run import Learned
from nlil.report import make_report, render
from nlil.report.contents import PageLimits

EVIL = "<img src=x onerror=1>"
HISTORY = tuple(
    {"target": t, "epoch": e, "loss": 1 / (e + 1), "valid_f1": e / 4} for t in ("uncle/2", "aunt/2") for e in range(4)
)
RULE = "uncle(X, Y) :- father(Z1, X), father(Z1, Z2), mother(Z2, Y)."


def evil_kb() -> KnowledgeBase:
    """The predicate that is walked along, and an entity, are called what would be markup."""
    rows = [tuple(line.split()) for line in kbs.FAMILY.split("\n") if line]
    kb = KnowledgeBase.from_facts(rows)
    return replace(kb, predicate_labels={"father": EVIL})


def trained(kb: KnowledgeBase) -> Learned:
    made = learned(kb, (RULE,), attentions=uncle_attentions(kb), history=HISTORY)
    return replace(made, rules=replace(made.rules, predicate_labels={"father": EVIL}))


@pytest.fixture(scope="module")
def text() -> str:
    return render(make_report(trained(evil_kb()), dataset(evil_kb())))


def test_strips_have_names_and_the_path_is_marked(text: str) -> None:
    page = Page(text)
    assert "Attentions The largest choices together say uncle(X, Y) :- " in page.text
    taken = [attributes for attributes in page.named("li") if "taken" in (attributes.get("class") or "")]
    assert len(taken) == 2 + 4 + 2 + 1, "steps, arguments, factors, the rule"
    assert all((attributes["class"] or "").startswith("heat-8 ") for attributes in taken)
    assert f"step 1 ▸ {EVIL}⁻¹ .750" in page.text
    assert "formula 1.1: second ▸ not: married(X, Y) .750" in page.text
    assert "2 that the rule does not use formula 1.2: first" in page.text


def test_the_curve_of_the_target_alone_is_drawn(text: str) -> None:
    section = text[text.index("<summary>Attentions") : text.index('id="curves"')]
    assert section.count("<title>loss by epoch</title>") == 1
    assert section.count("<title>validation F1 by epoch</title>") == 1


def test_names_stay_names_and_nothing_is_loaded(text: str) -> None:
    assert EVIL not in text
    assert "&lt;img src=x onerror=1&gt;⁻¹" in text
    assert not Page(text).named("img")
    assert not [attributes for _, attributes in Page(text).elements if "style" in attributes]
    assert "style-src 'unsafe-inline'; script-src 'sha256-" in text


def test_only_what_was_trained_on_these_names_is_shown() -> None:
    kb = evil_kb()
    none = make_report(trained(kb), dataset(kb), limits=PageLimits(attended=0))
    assert "<summary>Attentions" not in render(none)
    rows = [tuple(line.split()) for line in kbs.FAMILY.split("\n") if line]
    foreign = KnowledgeBase.from_facts([("aaa", "aaa", "aaa"), *rows])
    assert make_report(trained(kb), dataset(foreign)).targets[0].attended is None
