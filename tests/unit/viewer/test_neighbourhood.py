"""The graph around an entity: who is in it, what its links lead to, and what is not a list of entities."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import viewer_runs
from nlil.errors import ConfigError
from nlil.viewer.neighbourhood import MAX_MORE, MAX_NEIGHBOURS, MAX_OPENED, neighbourhood, opened_entities


def test_every_arrow_is_a_fact(family_run: Path) -> None:
    data = viewer_runs.page_data_of(family_run)
    facts = {(int(s), int(o)) for s, o in zip(data.kb.facts.subject, data.kb.facts.object)}
    for entity in range(0, data.kb.num_entities, 7):
        document, drawn = neighbourhood(data, entity, [])
        nodes = [node["id"] for node in document["nodes"]]
        assert nodes[0] == entity
        assert len(nodes) <= 1 + MAX_NEIGHBOURS
        pairs = [(link["subject"], link["object"]) for link in document["links"]]
        assert set(pairs) <= facts
        assert {one for pair in pairs for one in pair} == (set(nodes) if pairs else set())
        assert bool(drawn) == bool(pairs)


def test_an_opened_entity_brings_its_neighbours(family_run: Path) -> None:
    data = viewer_runs.page_data_of(family_run)
    before, drawn = neighbourhood(data, 1, [])
    one = before["nodes"][1]["id"]
    after, _ = neighbourhood(data, 1, [one])
    assert after["opened"] == [one]
    assert len(before["nodes"]) < len(after["nodes"]) <= len(before["nodes"]) + MAX_MORE
    assert after["nodes"][: len(before["nodes"])] == before["nodes"]
    assert f'href="/entity/1?open={one}#graph"' in drawn
    far = next(id for id in range(data.kb.num_entities) if id not in [node["id"] for node in before["nodes"]])
    assert neighbourhood(data, 1, [far])[0] == before, "it is not in the graph"


def test_the_page_shows_it_and_escapes_names(family: TestClient, family_run: Path) -> None:
    data = viewer_runs.page_data_of(family_run)
    evil = data.kb.entities.id(viewer_runs.EVIL)
    text = family.get(f"/entity/{evil}").text
    assert 'role="group"' in text, "a picture with links is no image for a screen reader"
    assert re.search(r'<a href="/entity/\d+\?open=\d+#graph" class="node"', text)
    assert "<img src=x" not in text


def test_odd_lists() -> None:
    assert opened_entities("", 5) == []
    assert opened_entities("3,1,3", 5) == [3, 1]
    assert len(opened_entities(",".join(map(str, range(50))), 50)) == MAX_OPENED
    for text in ("5", "-1", "a", "1;2", "²", "9" * 40, "1 2"):
        with pytest.raises(ConfigError, match="expected numbers of entities"):
            opened_entities(text, 5)
