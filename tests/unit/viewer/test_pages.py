"""Every page, for people and as JSON."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from fastapi.testclient import TestClient

from viewer_runs import EVIL, UNICODE

SOME_RULES = 8
"""Links to rules that are followed, of many on a page."""
VOID = ("meta", "link", "input", "br", "img")


class Outline(HTMLParser):
    """Checks that tags are closed, and keeps what a page links to and the names of its elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attributes]
        self.links += [value or "" for name, value in attributes if name in ("href", "src", "action")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attributes]

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def outline(client: TestClient, address: str) -> Outline:
    response = client.get(address)
    assert response.status_code == 200, response.text[-800:]
    return Outline(response.text)


def found(client: TestClient, text: str, kind: str) -> dict[str, Any]:
    suggestions = client.get("/search.json", params={"q": text, "kind": kind}).json()["suggestions"]
    return next(s for s in suggestions if text in (s["name"], s["label"]))


def quoted(name: str) -> str:
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


def every_address(client: TestClient) -> list[str]:
    aunt, evil = found(client, "aunt", "predicate"), found(client, EVIL, "entity")
    row = client.get(aunt["address"] + ".json").json()["rules"][0]["row"]
    fact = f"aunt({quoted(UNICODE)}, {quoted(EVIL)})"
    urls = [
        f"/explain?q={fact}",
        f"/why-not?q={fact}",
        f"/ask?q=aunt({quoted(UNICODE)}, ?)",
        f"/ask?q=aunt(?, {quoted(EVIL)})",
        f"/ask?q=female({quoted(EVIL)})",
        "/ask?q=female(?)",
        "/ask?q=female(?)&page=2",
        f"/ask?q=aunt({quoted(UNICODE)}, ?)&answer=3",
        f"/explain?q={fact}&side=subject",
    ]
    # An ampersand of a name would begin another value.
    urls = [re.sub(r"&(?= Co)", "%26", url) for url in urls]
    return [
        "/",
        "/search",
        "/search?q=an",
        "/search?q=zzz",
        "/ask",
        "/why-not",
        "/feedback",
        aunt["address"],
        aunt["address"] + "?sort=length&page=2",
        evil["address"],
        f"/rule/{row}",
        *urls,
    ]


def test_every_page_is_well_formed_and_has_its_json(family: TestClient) -> None:
    for address in every_address(family):
        page = outline(family, address)
        path, _, query = address.partition("?")
        as_json = family.get(f"{path}.json?{query}" if query else f"{path}.json")
        assert as_json.status_code == 200, address
        assert as_json.headers["content-type"] == "application/json"
        assert isinstance(as_json.json(), dict)
        assert any(link.startswith(path + ".json") for link in page.links), address


def test_names_from_data_never_become_markup(family: TestClient) -> None:
    for address in every_address(family):
        page = outline(family, address)
        assert "img" not in page.tags, address
        assert not {a for a in page.attributes if a.startswith("on") or a == "style"}, address
        assert page.tags.count("script") == 1
    evil = found(family, EVIL, "entity")
    assert "&lt;img src=x" in family.get(evil["address"]).text


def test_nothing_is_loaded_from_elsewhere(family: TestClient) -> None:
    for address in every_address(family):
        response = family.get(address)
        assert all(link.startswith(("/", "#", "?")) for link in Outline(response.text).links)
        policy = response.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'")
        assert "unsafe" not in policy
        assert "http" not in response.text.replace("http://www.w3.org/2000/svg", "")


def test_all_links_of_a_page_lead_somewhere(family: TestClient) -> None:
    aunt = found(family, "aunt", "predicate")
    row = family.get(aunt["address"] + ".json").json()["rules"][0]["address"]
    for address in ("/", aunt["address"], row, f"/ask?q=aunt({quoted(UNICODE).replace('&', '%26')}, ?)"):
        links = {link.partition("#")[0] for link in outline(family, address).links if not link.endswith("/verdict")}
        rules = sorted(link for link in links if link.startswith("/rule/"))
        for link in sorted(links.difference(rules[SOME_RULES:])):
            target = address.partition("?")[0] + link if link.startswith("?") else link or address
            assert family.get(target).status_code == 200, (address, link)


def test_the_first_page_sums_the_run_up(family: TestClient) -> None:
    home = family.get("/.json").json()
    assert home["num_rules"] == sum(t["num_rules"] for t in home["targets"])
    assert home["num_entities"] == 60
    assert [t["num_rules"] for t in home["targets"]] == sorted((t["num_rules"] for t in home["targets"]), reverse=True)
    assert family.get("/ask.json", params={"q": home["example"]}).json()["answers"]


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("AUN", "aunt"),
        ("uncle of", "uncle of"),
        ("漢", UNICODE),
        ("zoë", UNICODE),
        ("onerror", EVIL),
        ("  aunt ", "aunt"),
    ],
)
def test_search_as_you_type(family: TestClient, typed: str, first: str) -> None:
    suggestions = family.get("/search.json", params={"q": typed}).json()["suggestions"]
    assert suggestions[0]["label"] == first


def test_a_predicate_with_a_label_is_found_and_asked_by_it(family: TestClient) -> None:
    uncle = found(family, "uncle of", "predicate")
    assert uncle["name"] == "uncle"
    assert "uncle of" in family.get(uncle["address"]).text
    by_label = family.get("/ask.json", params={"predicate": "uncle of", "entity": "jack1"}).json()
    assert by_label["query"] == "uncle(jack1, ?)"
    assert by_label == family.get("/ask.json", params={"q": "uncle(jack1, ?)"}).json()
    assert family.get("/ask.json", params={"q": "uncle of(jack1, ?)"}).json() == by_label


def test_an_entity_shows_its_facts_page_by_page(family: TestClient) -> None:
    entity = found(family, UNICODE, "entity")
    first = family.get(entity["address"] + ".json").json()
    assert first["pages"] == 2
    second = family.get(entity["address"] + ".json?page=2").json()
    facts = [f["fact"] for f in first["facts"] + second["facts"]]
    assert len(facts) == len(set(facts)) == first["total"]
    assert any(f["is_subject"] for f in first["facts"])
    assert first["questions"]


def test_a_scene_is_drawn_with_its_boxes(scenes: TestClient) -> None:
    page = scenes.get("/explain?q=person(12p)")
    assert page.status_code == 200
    assert page.text.count('class="node"') == 4
    assert re.search(
        r'<a href="/entity/\d+" class="node" aria-label="12p"><rect class="box query" data-name="12p"', page.text
    )
    said = scenes.get("/explain.json?q=person(12p)").json()
    assert said["image"] == "image12"
    assert said["object"]["true"] == ["person"]
    entity = scenes.get("/search.json?q=12p&kind=entity").json()["suggestions"][0]
    classes = scenes.get(entity["address"] + ".json").json()["object"]["candidates"]
    assert classes[0]["class"] == "person"
    assert classes[0]["is_true"]
    Outline(page.text)
    outline(scenes, entity["address"])
    outline(scenes, "/ask?q=person(?)")
    outline(scenes, "/why-not?q=person(12s)")


def test_objects_with_a_number_for_a_name_tell_their_class(scenes: TestClient) -> None:
    answer = scenes.get("/ask.json", params={"q": "person(?)"}).json()["answers"][0]
    assert answer["entity"]["classes"] == ["person"]
    assert f">{answer['entity']['label']}</a> <small>person</small>" in scenes.get("/ask?q=person(?)").text
    page = scenes.get(answer["entity"]["address"])
    assert f"<h1>{answer['entity']['label']} <small>person</small></h1>" in page.text
    document = scenes.get(answer["entity"]["address"] + ".json").json()
    assert document["unary"][0]["name"] == "person"
    for unary in document["unary"]:
        assert f'href="{unary["address"]}"' in page.text


def test_names_are_shown_by_their_labels(family: TestClient) -> None:
    assert "classes" not in family.get("/entity/0.json").json()["entity"]
    home = family.get("/.json").json()
    assert home["is_warm"]
    assert home["example_label"] in family.get("/").text
    rules = family.get("/predicate/0.json", params={"sort": "support"}).json()["rules"]
    shown = [i for rule in rules for i in family.get(rule["address"] + ".json").json()["counterexamples"]]
    named = [i for i in shown if i["known_answers"]]
    assert named
    for instance in named:
        assert [known["name"] for known in instance["known_links"]] == instance["known_answers"]


def test_a_search_says_when_there_may_be_more(family: TestClient) -> None:
    assert "The first 10, and perhaps more, for <q>a</q>" in family.get("/search?q=a").text
    assert "1 found for <q>uncle of</q>" in family.get("/search?q=uncle of").text
