"""The page of a trained predicate: its attentions and its curve, escaped, with the style that the report has too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fastapi.testclient import TestClient
from test_pages import Outline

from attention_cases import uncle_attentions
from nlil.learning.opening import open_run
from nlil.learning.run import load_with_info, save_run


def test_a_trained_predicate_shows_what_it_attends_to(own_run: Path, reopened: Callable[[], TestClient]) -> None:
    info, learned = load_with_info(own_run)
    arrays = uncle_attentions(open_run(own_run).dataset.kb, ("father", "mother", "wife"))
    history = tuple({"target": "uncle/2", "epoch": e, "loss": 1.0, "valid_f1": None} for e in range(3))
    save_run(replace(learned, attentions=arrays, history=history), own_run, info.source, info.checksum, force=True)
    client = reopened()
    uncle = client.get("/search.json?q=uncle&kind=predicate").json()["suggestions"][0]
    page = client.get(uncle["address"])
    assert f'href="/training/{uncle["id"]}"' in page.text
    shown = client.get(f"/training/{uncle['id']}")
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    outline = Outline(shown.text)
    assert not {a for a in outline.attributes if a.startswith("on") or a == "style"}
    assert "/attentions.css" in outline.links
    assert client.get("/attentions.css").headers["content-type"].startswith("text/css")
    assert "formula 1.1: second</span>" in shown.text
    assert "▸ not: wife" in shown.text
    assert "<title>loss by epoch</title>" in shown.text
    told = client.get(f"/training/{uncle['id']}.json").json()
    assert told["rule"].startswith("uncle(X, Y) :- ")
    assert [record["epoch"] for record in told["history"]] == [0, 1, 2]


def test_an_untrained_predicate_has_no_such_page(family: TestClient) -> None:
    answer = family.get("/training/0")
    assert answer.status_code == 404
    assert "was not trained" in answer.text
    assert "/training/" not in family.get("/predicate/0").text
    assert family.get("/training/99999").status_code == 404
