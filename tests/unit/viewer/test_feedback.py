"""Accepted and rejected rules: kept in the run, respected by every answer, written only with the token."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from commandline import Nlil
from nlil.errors import RunError
from nlil.learning.feedback import Verdict, load_feedback, save_verdict
from nlil.learning.run import load_run, load_with_info, save_run, verify
from nlil.viewer.application import Guard, application
from viewer_runs import page_data_of

Open = Callable[[], TestClient]
QUERY = "aunt(sophie1, ?)"


def token(client: TestClient, row: int = 0) -> str:
    match = re.search(r'name="token" value="([^"]+)"', client.get(f"/rule/{row}").text)
    assert match
    return match[1]


def judge(client: TestClient, row: int, verdict: str, note: str = "", **headers: str) -> Any:
    form = {"token": token(client, row), "verdict": verdict, "note": note}
    return client.post(f"/rule/{row}/verdict", data=form, headers=headers)


def strongest(client: TestClient) -> tuple[int, float]:
    """The rule with the largest share in the best answer, and that answer's score."""
    best = client.get("/ask.json", params={"q": QUERY}).json()["answers"][0]
    return best["shares"][0]["row"], best["score"]


def reject_strongest(client: TestClient) -> int:
    row, _ = strongest(client)
    response = judge(client, row, "rejected", "too <i>general</i>")
    assert response.status_code == 303
    assert response.headers["location"] == f"/rule/{row}#verdict"
    return row


def scores(client: TestClient) -> dict[str, float]:
    answers = client.get("/ask.json", params={"q": QUERY}).json()["answers"]
    return {answer["entity"]["name"]: answer["score"] for answer in answers}


def test_a_rejected_rule_no_longer_counts(reopened: Open) -> None:
    client = reopened()
    before = scores(client)
    row = reject_strongest(client)
    after = scores(client)
    assert after != before
    fact = f"aunt(sophie1, {next(iter(before))})"
    page = client.get("/explain.json", params={"q": fact}).json()
    assert row not in [support["row"] for support in page["supports"]]
    assert page["score"] == pytest.approx(after.get(next(iter(before)), page["score"]))
    assert row not in [miss["row"] for miss in page["misses"]]
    shown = client.get(f"/rule/{row}")
    assert "too &lt;i&gt;general&lt;/i&gt;" in shown.text
    assert client.get(f"/rule/{row}.json").json()["verdict"]["verdict"] == "rejected"
    assert scores(reopened()) == after
    assert judge(client, row, "none").status_code == 303
    assert scores(client) == before
    assert scores(reopened()) == before


def test_an_accepted_rule_is_listed_and_changes_nothing(reopened: Open) -> None:
    client = reopened()
    before = scores(client)
    row, _ = strongest(client)
    judge(client, row, "accepted", "seen at home")
    assert scores(client) == before
    feedback = client.get("/feedback.json").json()
    assert [(r["row"], r["verdict"]["note"]) for r in feedback["rules"]] == [(row, "seen at home")]
    chosen = client.get("/predicate/0.json", params={"verdict": "accepted"}).json()
    assert [r["row"] for r in chosen["rules"]] == [row]
    assert client.get("/.json").json()["num_accepted"] == 1


def test_the_command_line_respects_it(reopened: Open, own_run: Path, nlil_command: Nlil) -> None:
    client = reopened()
    fact = f"aunt(sophie1, {next(iter(scores(client)))})"

    def answers() -> Any:
        return nlil_command("predict", own_run, QUERY, "--json").json["answers"]

    before = {a["entity"]: a["score"] for a in answers()}
    row = reject_strongest(client)
    rule = client.get(f"/rule/{row}.json").json()["rule"]
    after = {a["entity"]: a["score"] for a in answers()}
    assert after != before
    assert after == scores(client)
    explained = nlil_command("explain", own_run, fact, "--json")
    assert rule not in [s["rule"] for s in explained.json["supports"]]
    assert "1 of 787 rules are left out: they were rejected" in explained.err
    listed = nlil_command("rules", own_run, "--target", "aunt", "--json").json["rules"]
    marked = [r for r in listed if "verdict" in r]
    assert [(r["rule"], r["verdict"]["verdict"]) for r in marked] == [(rule, "rejected")]
    assert "rejected" in nlil_command("rules", own_run, "--target", "aunt", "--top", 0).out
    prolog = nlil_command("rules", own_run, "--target", "aunt", "--format", "prolog").out
    assert f"{rule}  % rejected\n" in prolog
    program = nlil_command("rules", own_run, "--target", "aunt", "--format", "anyburl")
    assert len(program.out.splitlines()) == len(listed) - 1


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"token": "wrong"}, 403),
        ({"token": ""}, 403),
        ({"token": "ü"}, 403),
        ({"verdict": "splendid"}, 400),
        ({"note": "x" * 2001}, 400),
        ({"note": "x" * 30_000}, 413),
    ],
)
def test_nothing_is_written_by_a_wrong_form(reopened: Open, own_run: Path, change: dict[str, str], status: int) -> None:
    client = reopened()
    form = {"token": token(client), "verdict": "rejected", "note": "", **change}
    response = client.post("/rule/0/verdict", data=form)
    assert response.status_code == status
    assert "Traceback" not in response.text
    assert not (own_run / "feedback.json").exists()


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:8001", "http://localhost"])
def test_a_form_of_another_site_is_refused(reopened: Open, own_run: Path, origin: str) -> None:
    client = reopened()
    assert judge(client, 0, "rejected", origin=origin).status_code == 403
    assert not (own_run / "feedback.json").exists()
    assert judge(client, 0, "rejected", origin="http://localhost:8000").status_code == 303
    assert client.get("/rule/0/verdict").status_code == 405


def test_tokens_differ_and_json_does_not_tell_them(reopened: Open) -> None:
    one, two = reopened(), reopened()
    assert token(one) != token(two)
    assert token(one) not in one.get("/rule/0.json").text


def test_the_run_stays_whole(own_run: Path) -> None:
    text = "aunt(X, Y) :- uncle(X, Y)."
    save_verdict(own_run, text, Verdict("rejected", 'é\n"quoted"', "2026-01-01T00:00:00+00:00"))
    verify(own_run)
    assert load_feedback(own_run)[text].note == 'é\n"quoted"'
    assert save_verdict(own_run, text, None) == {}
    verify(own_run)
    save_verdict(own_run, text, Verdict("accepted"))
    (own_run / "feedback.json").write_text(json.dumps({"verdicts": []}))
    with pytest.raises(RunError, match=r"feedback\.json is damaged"):
        verify(own_run)
    (own_run / "feedback.json").write_text(json.dumps({"verdicts": [{"rule": "x"}]}))
    with pytest.raises(RunError, match="does not contain verdicts"):
        load_feedback(own_run)
    assert not list(own_run.glob(".feedback*"))


def test_a_verdict_of_another_viewer_is_seen_and_can_be_taken_back(reopened: Open) -> None:
    one, other = reopened(), reopened()
    row = reject_strongest(one)
    assert other.get(f"/rule/{row}.json").json()["verdict"]["verdict"] == "rejected"
    assert scores(other) == scores(one)
    assert judge(other, row, "none").status_code == 303
    for client in (one, other):
        page = client.get("/feedback")
        assert page.status_code == 200
        assert f"/rule/{row}" not in page.text


def test_a_run_that_was_replaced_is_noticed(own_run: Path, tmp_path: Path) -> None:
    learned = load_run(own_run)
    client = TestClient(
        application(page_data_of(own_run), Guard.of(["testserver"]), lambda: page_data_of(own_run)),
        raise_server_exceptions=False,
    )
    assert client.get("/rule/5.json").status_code == 200
    few = learned.over(learned.rules.take(np.arange(5)), np.arange(5))
    save_run(few, own_run, load_with_info(own_run)[0].source, force=True)
    assert client.get("/rule/5.json").status_code == 404
    assert client.get("/rule/4.json").status_code == 200
    shutil.rmtree(own_run)
    gone = client.get("/rule/4")
    assert gone.status_code == 503
    assert "no such run folder" in gone.text
