"""Odd addresses get a clear page with one sentence; other hosts get nothing."""

from __future__ import annotations

import re
from html import unescape

import pytest
from fastapi.testclient import TestClient

from nlil.viewer.application import Guard
from nlil.viewer.page_data import NameIndex
from nlil.viewer.pages import NoSuchPage, Parameters

LONG = "x" * 1900


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("/nowhere", 404, "there is no page at this address"),
        ("/predicate/999", 404, "predicate 999: there are 18"),
        ("/predicate/aunt", 404, "numbers"),
        ("/predicate/-1", 404, "numbers"),
        ("/predicate/1e3", 404, "numbers"),
        ("/predicate/" + "9" * 400, 404, "numbers"),
        ("/entity/60", 404, "entity 60: there are 60"),
        ("/rule/787", 404, "rule 787: there are 787"),
        ("/rule/²", 404, "numbers"),
        ("/predicate/0?page=99", 404, "page 99 of the rules: there are 2 pages"),
        ("/predicate/0?page=0", 400, "page: expected a whole number from 1"),
        ("/predicate/0?page=-3", 400, "page: expected a whole number"),
        ("/predicate/0?page=two", 400, "got &#39;two&#39;"),
        ("/predicate/0?page=" + "9" * 100, 400, "page: expected a whole number"),
        ("/predicate/0?sort=colour", 400, "sort: expected weight, confidence, support, length"),
        ("/predicate/0?construct=magic", 400, "construct: expected chain"),
        ("/predicate/0?min_confidence=2", 400, "min_confidence: expected a number from 0 to 1"),
        ("/predicate/0?min_confidence=nan", 400, "min_confidence: expected a number from 0 to 1"),
        ("/rule/0?examples=5000", 404, "of the examples"),
        ("/rule/0?counterexamples=5000", 404, "of the counterexamples"),
        ("/entity/0?page=50", 404, "of the facts"),
        ("/ask?q=aunt", 400, "expected &#39;(&#39;"),
        ("/ask?q=aunt(?, ?)", 400, "one argument may be"),
        ("/ask?q=aunt(a, b, c)", 400, "one or two arguments"),
        ("/ask?q=nosuch(jack1, ?)", 404, "unknown predicate &#39;nosuch&#39;"),
        ("/ask?q=female(jack1, ?)", 404, "female/1 takes one argument"),
        ("/ask?q=aunt(nobody, ?)", 404, "unknown entity &#39;nobody&#39;"),
        ("/ask?q=aunt(jack, ?)", 404, "closest: &#39;jack"),
        ("/ask?predicate=aunt", 400, "entity: expected the name of an entity"),
        ("/ask?predicate=<b>&entity=jack1", 404, "unknown predicate &#39;&lt;b&gt;&#39;"),
        ("/ask?q=aunt(jack1, ?)&page=900", 404, "of the answers"),
        (f"/ask?q=aunt({LONG}, ?)", 404, "unknown entity"),
        (f"/ask?q={LONG}{LONG}", 400, "q: expected at most 2,000 characters, got 3,800"),
        ("/ask?q=%00%ff(%f0, ?)", 404, "unknown"),
        ("/explain", 400, "q: expected a fact to explain"),
        ("/explain?q=aunt(jack1, ?)", 400, "one fact without"),
        ("/explain?q=aunt(jack1, kate2)&side=left", 400, "side: expected object, subject"),
        ("/why-not?q=aunt(", 400, "expected a name"),
        ("/search?kind=colour", 400, "kind: expected entity, predicate"),
        ("/search?q=a&limit=0", 400, "limit: expected a whole number"),
        ("/static/../application.py", 404, "no page"),
        ("/docs", 404, "no page"),
        ("/openapi.json", 404, "no page"),
    ],
)
def test_a_clear_page(family: TestClient, address: str, status: int, said: str) -> None:
    response = family.get(address)
    assert response.status_code == status, response.text
    path, _, query = address.partition("?")
    as_json = response if path.endswith(".json") else family.get(f"{path}.json?{query}")
    assert as_json.status_code == status
    sentence = as_json.json()["error"]
    assert len(sentence) < 400
    if not path.endswith(".json"):
        assert said in response.text
    for text in (response.text, as_json.text):
        assert "Traceback" not in text
        assert "File " not in text
    assert "content-security-policy" in response.headers


def test_what_was_asked_is_kept_and_can_be_mended(family: TestClient) -> None:
    text = family.get("/explain", params={"q": "aunt('jack', kate2)", "side": "subject"}).text
    assert 'value="aunt(&#39;jack&#39;, kate2)"' in text
    assert '<input type="hidden" name="side" value="subject">' in text
    links = re.findall(r'<a href="(/explain[^"]*)"><code>aunt\(jack\w+, kate2\)</code>', text)
    assert links
    mended = family.get(unescape(links[0]))
    assert mended.status_code == 200
    assert "side=subject" in links[0]
    text = family.get("/ask", params={"q": "ant(jack1, ?)"}).text
    assert "<code>aunt(jack1, ?)</code>" in text
    assert "Did you mean" not in family.get("/ask", params={"q": "aunt("}).text
    assert "Did you mean" not in family.get("/ask", params={"predicate": "unt", "entity": "jack1"}).text


def test_a_failure_of_ours_shows_no_trace(family: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: NameIndex, typed: str, limit: int) -> None:
        raise ZeroDivisionError("a secret of the house")

    monkeypatch.setattr(NameIndex, "find", fail)
    for address in ("/search?q=a", "/search.json?q=a"):
        response = family.get(address)
        assert response.status_code == 500
        assert "the viewer failed to make this page" in response.text
        assert "secret" not in response.text
        assert "content-security-policy" in response.headers


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:8000", 200),
        ("127.0.0.1:8000", 200),
        ("[::1]:8000", 200),
        ("evil.example", 400),
        ("localhost.evil.example", 400),
        ("", 400),
        ("[", 400),
        ("a:b:c", 400),
    ],
)
def test_a_name_that_was_bent_to_this_machine_is_refused(family: TestClient, host: str, status: int) -> None:
    response = family.get("/entity/0", headers={"host": host})
    assert response.status_code == status
    if status == 400:
        assert "does not accept the host name" in response.text
        assert "jack" not in response.text.replace("json", "")


def test_the_host_that_was_asked_for_is_known() -> None:
    guard = Guard.of(["Box.lan"])
    assert guard.knows_host("box.lan:8000")
    assert not Guard.of([]).knows_host("box.lan:8000")
    assert guard.token not in repr(guard)


def test_pages_of_nothing_and_beyond_the_end() -> None:
    assert Parameters({}).part(0, 10, "rules") == {"page": 1, "pages": 1, "size": 10, "total": 0}
    assert Parameters({"page": "2"}).part(11, 10, "rules")["pages"] == 2
    with pytest.raises(NoSuchPage, match="page 2 of the rules: there is 1 page"):
        Parameters({"page": "2"}).part(10, 10, "rules")
    assert Parameters({"page": "3", "q": "a b"}).linked(page="", sort="x") == "?q=a+b&sort=x"


def test_names_are_found_by_prefix_word_and_part() -> None:
    names = ["bar", "rebar", "foo bar", "barrel", "x\ny", "BAR2", "İstanbul", "foo_bar_x"]
    index = NameIndex("entity", names, ["bar", "rebar", "foo bar", "barrel", "x\ny", "BAR2", "İstanbul", "label"])
    assert [names[id] for id in index.find("bar", 10)] == ["bar", "BAR2", "barrel", "foo_bar_x", "foo bar", "rebar"]
    assert [names[id] for id in index.find("bar", 2)] == ["bar", "BAR2"]
    assert [names[id] for id in index.find("stanbul", 2)] == ["İstanbul"]
    assert [names[id] for id in index.find("x y", 2)] == ["x\ny"]
    assert index.find("", 5) == index.find("  ", 5) == index.find("zzz", 5) == []
    assert index.called("label") == [7]
    assert index.called("foo_bar_x") == []
    many = NameIndex("entity", [f"name {i}" for i in range(5000)], [f"name {i}" for i in range(5000)])
    assert len(many.find("a", 10)) == 10
    assert many.find("name 4999", 10)[0] == 4999


@pytest.mark.parametrize("address", ["/rule/1", "/rule/1.json"])
def test_a_page_that_memory_does_not_suffice_for(
    address: str, family: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(*arguments: object) -> None:
        raise MemoryError

    monkeypatch.setattr("nlil.viewer.page_data.PageData.lock", property(none_left), raising=False)
    answer = family.get(address)
    assert answer.status_code == 503
    assert "not enough memory for this page" in answer.text
