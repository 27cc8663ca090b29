"""The page: complete, escaped, self-contained, bounded, the same for the same run."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from pathlib import Path

import pytest
from report_cases import EVIL, Page, dataset, evil_family, learned

import kbs
from nlil.data.dataset import make_dataset
from nlil.data.facts import Splits
from nlil.errors import MissingExtra
from nlil.evaluation.fidelity import Fidelity
from nlil.report import make_report, render, write_report
from nlil.report.contents import PageLimits, Report

FIGURES = {
    "test": {
        "mrr": 0.75,
        "hits@1": 0.5,
        "num_queries": 4,
        "seconds": 1.25,
        "peak_memory_mb": 99.0,
        "notes": [],
        "per_predicate": {
            "mother/2": {"mrr": 0.875, "hits@1": 0.5, "num_queries": 4},
            "uncle/2": {"mrr": 0.25, "hits@1": 0.0, "num_queries": 6},
        },
    }
}
HISTORY = tuple({"target": t, "epoch": e, "loss": 1 / (e + 1), "valid_f1": e / 4} for t in ("p", "q") for e in range(4))


@pytest.fixture(scope="module")
def report() -> Report:
    kb = evil_family()
    return make_report(
        learned(kb, missing={"aunt/2": f"nothing <b>{EVIL}</b>"}, history=HISTORY),
        dataset(kb),
        figures=FIGURES,
        versions={"nlil": "0"},
    )


@pytest.fixture(scope="module")
def page(report: Report) -> Page:
    return Page(render(report))


def test_everything_from_the_data_is_escaped(report: Report, page: Page) -> None:
    text = render(report)
    assert EVIL not in text
    assert "<img" not in text
    assert page.text.count(EVIL) > 3
    assert len(page.named("script")) == 1
    assert not page.named("img")
    assert not any(key.startswith("on") for _, attributes in page.elements for key in attributes)


def test_the_page_needs_nothing_else(report: Report, page: Page) -> None:
    links = [value for _, attributes in page.elements for key, value in attributes.items() if key in ("href", "src")]
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    assert links
    assert all(link is not None and link.startswith("#") and link[1:] in ids for link in links)
    assert "@import" not in render(report)
    assert re.findall(r"url\((?!#)", render(report)) == []


def test_only_our_script_may_run(report: Report, page: Page) -> None:
    script = re.search(r"<script>(.*?)</script>", render(report), re.DOTALL)
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script.group(1).encode()).digest()).decode()
    (policy,) = [m["content"] for m in page.named("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def imitating(report: Report, fidelity: Fidelity) -> Report:
    return replace(report, learned=replace(report.learned, fidelity=fidelity))


def test_fidelity_is_shown_where_rules_imitate_a_classifier(report: Report, page: Page) -> None:
    assert "imitate" not in page.text
    row = {"classifier": EVIL, "rules": "b", "truth": None, "count": 3}
    where = {
        "object": EVIL,
        "classifier": "a",
        "classifier_score": 0.75,
        "rules": "b",
        "rules_score": 0.5,
        "truth": None,
        "distance": 0.625,
    }
    values = {"r@1": 0.5, "r@5": 0.875, "cross_entropy": 1.5, "entropy": 1.25}
    unknown = Fidelity("test split", 1200, 30, values, 1.0, pairs=(row,), objects=(where,) * 20)
    text = render(imitating(report, unknown))
    shown = Page(text).text
    assert EVIL not in text
    assert "the output of a classifier for 30 objects and compared with it on 1,200 others" in shown
    assert "(r@5) .875" in shown
    assert "scores, 1.250 1.500" in shown
    assert "accuracy of" not in shown
    assert "truth" not in shown
    assert shown.count(f"{EVIL} a (.750) b (.500) .625") == report.limits.disagreements
    known = replace(unknown, num_known=9, accuracy={"classifier": 0.25, "rules": 0.75}, pairs=(), objects=())
    shown = Page(render(imitating(report, known))).text
    assert "accuracy of the rules if the true class is known (9) .750" in shown
    assert "agree on all of them" in shown


def test_sections_and_their_contents(page: Page) -> None:
    sections = [attributes["id"] for attributes in page.named("section")]
    assert sections == ["data", "figures", "rules", "curves", "surprises", "disputes", "about"]
    assert "6 rules for 4 predicates" in page.text
    assert "mrr .750" in page.text
    assert "peak_memory_mb" not in page.text
    assert "mother(X, Y) :- married(X, Z1), father(Z1, Y)." in page.text
    assert "mother 4 facts, 3 rules, mrr .875" in page.text
    assert "1 predicate has no rules" in page.text
    # Of a table the predicate with the most queries is the first.
    assert page.text.index("uncle .250") < page.text.index("mother .875")


def test_examples_counterexamples_and_what_was_held_out() -> None:
    kb = kbs.family()
    made = make_report(
        learned(kb, ("uncle(X, Y) :- father(Z1, X), father(Z1, Z2), mother(Z2, Y).",)), dataset(kb, held_out=1)
    )
    text = Page(render(made)).text
    assert "tom → cleo with Z1 = sam, Z2 = bea" in text
    assert "tom → max true: a held-out fact with Z1 = sam, Z2 = bea" in text


def test_a_branch_that_never_holds_is_marked() -> None:
    kb = kbs.family()
    made = make_report(learned(kb, ("aunt(X, Y) :- uncle(X, Y) ; father(X, Y), female(X).",)), dataset(kb))
    assert "Never holds in the data: father(X, Y), female(X)" in Page(render(made)).text


def test_without_figures_the_page_says_how_to_get_them() -> None:
    kb = kbs.family()
    text = Page(render(make_report(learned(kb, ("married(X, Y) :- married(Y, X).",)), dataset(kb)))).text
    assert "nlil evaluate RUN" in text
    assert "All settings are the defaults" in text


def test_what_is_left_out_is_said() -> None:
    kb = evil_family()
    limits = PageLimits(targets=1, general_rules=1, special_rules=1, instances=1, surprises=0, disputes=0)
    made = make_report(learned(kb), dataset(kb), limits=limits)
    assert [target.predicate.name for target in made.targets] == ["mother"]
    text = Page(render(made)).text
    assert "2 of 3 rules of mother are shown" in text
    assert "1 of 4 predicates with rules are shown" in text


def test_rules_that_name_an_entity_come_after_the_others_however_strong() -> None:
    kb = kbs.family()
    texts = ("mother(X, Y) :- female(X).", "mother(ann, Y) :- father(sam, Y).", "mother(X, max) :- true.")
    made = make_report(learned(kb, texts), dataset(kb), limits=PageLimits(general_rules=1, special_rules=1))
    weights = [card.weight or 0 for card in made.targets[0].rules]
    assert [str(card.rule) for card in made.targets[0].rules] == list(texts[:2])
    assert weights[0] < weights[1]


def test_the_same_run_gives_the_same_bytes(report: Report, tmp_path: Path) -> None:
    kb = evil_family()
    again = make_report(
        learned(kb, missing={"aunt/2": f"nothing <b>{EVIL}</b>"}, history=HISTORY),
        dataset(kb),
        figures=FIGURES,
        versions={"nlil": "0"},
        threads=1,
        memory=2**20,
    )
    one, two = write_report(report, tmp_path / "a.html"), write_report(again, tmp_path / "deep" / "b.html")
    assert one.read_bytes() == two.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "deep"]


def test_control_characters_do_not_reach_the_page() -> None:
    kb = kbs.KnowledgeBase.from_facts([("a\x00b", "p", "c"), ("a\x00b", "q", "c")])
    text = render(make_report(learned(kb, ("p(X, Y) :- q(X, Y).",)), dataset(kb)))
    assert "\x00" not in text
    assert "a\ufffdb" in text


def test_scenes_say_what_objects_are_and_draw_one() -> None:
    kb = kbs.street()
    data = make_dataset("street", kb, Splits(kb.facts))
    made = make_report(learned(kb, ("person(X) :- wearing(X, Z1), shirt(Z1).", "tree(X) :- under(Z1, X).")), data)
    text = Page(render(made)).text
    assert "a1 (person) with Z1 = a2 (shirt)" in text
    (picture,) = made.pictures
    assert (picture.classes.name, str(picture.explanation.fact.predicate)) == ("a1", "person/1")
    assert "a1 : most probably person" in text
    assert "; in the data person." in text
    assert made.surprises == ()


def test_without_jinja_the_sentence_names_the_extra(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtra, match=r"nlil\[report\]"):
        render(report)
