"""The pages about rules: sorted, filtered, page by page; answers and explanations agree with the library."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import viewer_runs
from nlil.explanation.contrast import contrast
from nlil.explanation.why import explain
from nlil.explanation.why_not import why_not
from nlil.learning.opening import open_run
from nlil.logic.text import fact_text
from nlil.viewer.application import Guard, application
from nlil.viewer.page_data import PageData

AUNT = "/predicate/0"


def client_of(run: Path) -> TestClient:
    return TestClient(application(viewer_runs.page_data_of(run), Guard.of([])), base_url="http://localhost:8000")


@pytest.fixture(scope="module")
def data(family_run: Path) -> PageData:
    return viewer_runs.page_data_of(family_run)


def listed(client: TestClient, **values: Any) -> list[dict[str, Any]]:
    """All pages of the rules of `aunt`."""
    first = client.get(f"{AUNT}.json", params=values).json()
    rules = list(first["rules"])
    for page in range(2, first["pages"] + 1):
        rules += client.get(f"{AUNT}.json", params={**values, "page": page}).json()["rules"]
    assert len(rules) == first["total"]
    return rules


@pytest.mark.parametrize("sort", ["weight", "confidence", "support", "length"])
def test_every_column_sorts_both_ways(family: TestClient, sort: str) -> None:
    rising = [rule[sort] for rule in listed(family, sort=sort, order="rising")]
    falling = [rule[sort] for rule in listed(family, sort=sort, order="falling")]
    assert rising == sorted(rising)
    assert falling == sorted(rising, reverse=True)
    assert len(set(rising)) > 1


def test_filters_keep_exactly_what_they_say(family: TestClient) -> None:
    everything = listed(family)
    assert len(everything) == 42

    def rows(rules: list[dict[str, Any]]) -> list[int]:
        return sorted(rule["row"] for rule in rules)

    for values, keep in (
        ({"min_support": 10}, lambda r: r["support"] >= 10),
        ({"min_confidence": ".5"}, lambda r: r["confidence"] >= 0.5),
        ({"max_length": 1}, lambda r: r["length"] <= 1),
        ({"min_length": 2}, lambda r: r["length"] >= 2),
        ({"construct": "chain", "min_support": 5}, lambda r: "chain" in r["constructs"] and r["support"] >= 5),
        ({"verdict": "none"}, lambda r: True),
        ({"verdict": "accepted"}, lambda r: False),
    ):
        assert rows(listed(family, **values)) == rows([r for r in everything if keep(r)]), values


def test_rules_are_those_of_the_run(family: TestClient, data: PageData) -> None:
    rules = data.rules.for_target("aunt")
    assert [r["rule"] for r in listed(family)] == [str(s.rule) for s in rules.top(len(rules))]


def test_a_rule_shows_every_example_and_counterexample_once(family: TestClient) -> None:
    rule = max(listed(family), key=lambda r: r["body_size"])
    first = family.get(rule["address"] + ".json").json()
    for name, total in (("examples", rule["support"]), ("counterexamples", rule["body_size"] - rule["support"])):
        part = first["pages"][name]
        assert part["total"] == total > part["size"]
        facts: list[str] = []
        for page in range(1, part["pages"] + 1):
            shown = family.get(rule["address"] + ".json", params={name: page}).json()
            facts += [instance["fact"] for instance in shown[name]]
            assert all(instance["because"] for instance in shown[name])
        assert len(facts) == len(set(facts)) == total
    known = {f["fact"] for f in first["examples"]}
    assert known.isdisjoint(f["fact"] for f in first["counterexamples"])


@pytest.fixture(scope="module")
def anchored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with rules about single people, of which a question needs those about its own."""
    return viewer_runs.learn_family(tmp_path_factory.mktemp("anchored"), ("max_length=2", "search=count"))


def test_rules_about_others_may_be_left_aside(anchored: Path) -> None:
    data, client = viewer_runs.page_data_of(anchored), client_of(anchored)
    assert (data.rules.head_entity >= 0).sum() > 100
    facts = data.kb.facts[~data.kb.facts.is_unary]
    for i in range(0, len(facts), len(facts) // 12):
        fact = data.kb.fact(int(facts.predicate[i]), int(facts.subject[i]), int(facts.object[i]))
        for side in ("object", "subject"):
            same_explanation(client, data, fact_text(fact), side)


@pytest.mark.parametrize("fact", ["person(12p)", "shirt(12p)", "wheel(3w)", "car(0c)"])
def test_other_scenes_may_be_left_aside(scenes: TestClient, scene_run: Path, fact: str) -> None:
    same_explanation(scenes, viewer_runs.page_data_of(scene_run), fact, "object")


def same_explanation(client: TestClient, data: PageData, fact: str, side: str) -> None:
    expected = explain(data.rules, data.kb, fact, top=12, misses=4, side=side).to_dict()  # type: ignore[arg-type]
    page = client.get("/explain.json", params={"q": fact, "side": side}).json()
    assert [page[name] for name in ("score", "num_fired", "num_counted", "known")] == [
        expected[name] for name in ("score", "num_fired", "num_counted", "known")
    ]
    for name in ("supports", "misses"):
        assert [s["rule"] for s in page[name]] == [s["rule"] for s in expected[name]]
    for name in ("reasons", "sentence", "against", "probability", "probability_low"):
        assert page[name] == expected[name], name
    shown = page["waterfall"]
    told = [s["text"] for s in shown["steps"] if s["kind"] != "frequency"]
    assert told == [r["text"] for r in expected["reasons"]][: len(told)]
    assert [s["kind"] for s in shown["steps"]].count("frequency") == [r["kind"] for r in expected["reasons"]].count(
        "frequency"
    )
    assert sum(s["share"] for s in shown["steps"]) + shown["other_share"] == pytest.approx(page["score"], abs=1e-9)
    assert [(f["fact"], f["fall"]) for f in page["facts"]] == [(f["fact"], f["fall"]) for f in expected["facts"][:20]]
    for support in page["supports"]:
        assert str(data.rules.rule(support["row"])) == support["rule"]


@pytest.mark.parametrize("query", ["aunt(sophie1, ?)", "aunt(?, kate2)", "female(?)", "male(jack1)"])
def test_answers_are_those_of_predict(family: TestClient, family_run: Path, query: str) -> None:
    predictor = open_run(family_run).predictor
    expected = predictor.predict(query, 1000)
    page = family.get("/ask.json", params={"q": query}).json()
    assert page["total"] == len(expected)
    shown = [(a["entity"]["name"], a["score"], a["known"]) for a in page["answers"]]
    assert shown == [(a.entity, a.score, a.known) for a in expected[:10]]
    for answer in page["answers"]:
        total = sum(part["share"] for part in answer["shares"]) + answer["other_share"]
        assert total == pytest.approx(answer["score"], abs=1e-6)


def test_explanations_are_those_of_the_library(family: TestClient, data: PageData) -> None:
    fact = "aunt(sophie1, kate2)"
    for side in ("object", "subject"):
        same_explanation(family, data, fact, side)
        steps = family.get("/explain.json", params={"q": fact, "side": side}).json()["waterfall"]["steps"]
        for before, after in pairwise(steps):
            assert after["begin"] == pytest.approx(before["begin"] + before["share"])


@pytest.mark.parametrize("side", ["object", "subject"])
def test_a_contrast_is_that_of_the_library(family: TestClient, data: PageData, side: str) -> None:
    fact, than = "aunt(sophie1, kate2)", ("aunt(sophie1, jack1)" if side == "object" else "aunt(jack1, kate2)")
    page = family.get("/contrast.json", params={"q": fact, "than": than, "side": side}).json()
    expected = contrast(data.rules, data.kb, fact, "jack1", side=side).to_dict()  # type: ignore[arg-type]
    for name in ("first", "second"):
        assert [page[name][key] for key in ("fact", "score", "same_share", "num_same")] == [
            expected[name][key] for key in ("fact", "score", "same_share", "num_same")
        ]
        texts = [reason["text"] for reason in expected[name]["reasons"]]
        assert [reason["text"] for reason in page[name]["reasons"]] == texts[:8]
    assert page["first"]["reasons"]
    assert family.get("/contrast", params={"q": fact, "than": than, "side": side}).status_code == 200
    assert page == family.get("/contrast.json", params={"q": fact, "than": " jack1", "side": side}).json()
    form = family.get("/explain", params={"q": fact, "side": side}).text.partition('action="/contrast"')[2]
    assert ('name="side" value="subject"' in form) == (side == "subject")
    assert family.get("/contrast", params={"q": fact, "than": "nobody"}).status_code == 404
    assert family.get("/contrast", params={"q": fact, "than": fact}).status_code == 400
    assert family.get("/contrast", params={"q": fact}).status_code == 400


@pytest.mark.parametrize("query", ["aunt(sophie1, ?)", "aunt(?, kate2)", "female(?)"])
def test_probabilities_never_contradict_the_order(family: TestClient, query: str) -> None:
    answers = family.get("/ask.json", params={"q": query}).json()["answers"]
    shown = [answer["probability"] for answer in answers if answer["probability"] is not None]
    assert shown == sorted(shown, reverse=True)


def test_a_class_rather_than_another(scenes: TestClient) -> None:
    classes = scenes.get("/ask.json", params={"q": "person(12p)"}).json()["object"]["candidates"]
    others = [candidate["fact"] for candidate in classes if candidate["is_other"]]
    assert others
    page = scenes.get("/contrast", params={"q": "person(12p)", "than": others[0]})
    assert page.status_code == 200
    name = others[0].partition("(")[0]
    assert f"rather than {name}" in page.text
    assert page.text.partition("<main")[2].partition("</main")[0] in (
        scenes.get("/contrast", params={"q": "person(12p)", "than": name}).text
    )


def test_why_not_is_that_of_the_library(family: TestClient, data: PageData) -> None:
    fact = "aunt(jack1, kate2)"
    expected = why_not(data.rules, data.kb, fact, top=4, facts=3).to_dict()
    page = family.get("/why-not.json", params={"q": fact}).json()
    assert page["rules"]
    assert [(r["rule"], [x["fact"] for x in r["remedies"]]) for r in page["rules"]] == [
        (r["rule"], [x["fact"] for x in r["remedies"]]) for r in expected["rules"]
    ]
    assert any(r["remedies"] for r in page["rules"])


def test_a_proof_can_be_walked(family: TestClient) -> None:
    page = family.get("/explain?q=aunt(sophie1, kate2)")
    assert 'class="node"' in page.text
    assert 'aria-label="sophie1"' in page.text
