"""Predicates open with their theories; all rules, and the rules that each represents, are a click away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from nlil.learning.run import load_run, load_with_info, save_run
from nlil.theory.listing import target_theories

AUNT = "/predicate/0"


def theory(client: TestClient, address: str = AUNT) -> dict[str, Any]:
    found = client.get(address + ".json").json()["theory"]
    assert isinstance(found, dict)
    return found


def test_a_predicate_opens_with_its_theory(family: TestClient, family_run: Path) -> None:
    learned = load_run(family_run)
    assert learned.theory is not None
    own = next(t for t in target_theories(learned.rules, learned.theory) if t.predicate.name == "aunt")
    told = theory(family)
    assert [rule["rule"] for rule in told["rules"]] == [str(one.scored.rule) for one in own.rules]
    assert [rule["explained"] for rule in told["rules"]] == [one.adds for one in own.rules]
    assert [rule["place"] for rule in told["rules"]] == list(range(1, len(own.rules) + 1))
    assert [rule["backs_up"] for rule in told["rules"]] == [one.backs_up for one in own.rules]
    again = next(rule for rule in told["rules"] if not rule["explained"])
    assert again["adds"] == f"another way to {again['backs_up']} facts"
    assert told["explained"] == sum(rule["explained"] for rule in told["rules"]) <= told["tried"]
    page = family.get(AUNT).text
    places = [page.index(rule["address"] + '"') for rule in told["rules"]]
    assert places == sorted(places)
    assert places[-1] < page.index('<table class="rules">')
    assert f"and {told['rules'][0]['num_same']} similar rule" in page
    assert again["adds"] in page


def test_all_rules_are_closed_until_somebody_asks_for_them(family: TestClient) -> None:
    assert '<details id="pool"><summary>' in family.get(AUNT).text
    for more in ("sort=support", "page=2", "min_support=3", "family=1"):
        assert '<details id="pool" open><summary>' in family.get(f"{AUNT}?{more}").text


def test_the_rules_that_say_the_same(family: TestClient) -> None:
    rule = next(rule for rule in theory(family)["rules"] if rule["num_same"])
    assert rule["same"]
    listed = family.get(f"{AUNT}.json?family={rule['place']}").json()
    assert listed["total"] == rule["num_same"] + 1
    pages = [family.get(f"{AUNT}.json?family={rule['place']}&page={i + 1}").json() for i in range(listed["pages"])]
    rows = {one["row"] for page in pages for one in page["rules"]}
    assert {rule["row"]} | {one["row"] for one in rule["same"]} <= rows
    assert family.get(f"{AUNT}?family=99").status_code == 404
    assert family.get(f"{AUNT}?family=x").status_code == 400
    one = rule["same"][0]
    assert family.get(one["address"] + ".json").json()["theory"]["row"] == rule["row"]
    assert "It is similar to" in family.get(one["address"]).text
    assert f"It is rule {rule['place']} of its theory" in family.get(rule["address"]).text


def test_a_rejected_rule_leaves_the_theory(own_run: Path, reopened: Callable[[], TestClient]) -> None:
    client = reopened()
    before = theory(client)["rules"]
    token = client.get(before[0]["address"]).text.partition('name="token" value="')[2].partition('"')[0]
    form = {"token": token, "verdict": "rejected", "note": ""}
    assert client.post(before[0]["address"] + "/verdict", data=form).status_code == 303
    for opened in (client, reopened()):
        after = theory(opened)
        assert [rule["row"] for rule in after["rules"]] == [rule["row"] for rule in before[1:]]
        assert after["explained"] == sum(rule["explained"] for rule in before[1:])
    home = {t["name"]: t for t in client.get("/.json").json()["targets"]}
    assert home["aunt"]["theory"]["num_rules"] == len(before) - 1


def test_the_first_page_names_the_theories(family: TestClient) -> None:
    home = family.get("/.json").json()
    told = next(t for t in home["targets"] if t["name"] == "aunt")["theory"]
    assert told["first"] == theory(family)["rules"][0]["short"]
    assert home["num_theory_rules"] < home["num_rules"]
    assert "its theory begins with" in family.get("/").text


def test_runs_without_theories_show_all_rules_as_before(own_run: Path, reopened: Callable[[], TestClient]) -> None:
    info, learned = load_with_info(own_run)
    save_run(replace(learned, theory=None), own_run, info.source, info.checksum, force=True)
    client = reopened()
    assert client.get(AUNT + ".json").json()["theory"] is None
    page = client.get(AUNT).text
    assert '<table class="rules">' in page
    assert 'id="pool"' not in page
    assert "theory" not in client.get("/").text
