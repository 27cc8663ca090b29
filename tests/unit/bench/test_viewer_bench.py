"""nlil bench viewer: which pages are opened, how long they take, what the table says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import viewer_runs
from nlil.errors import NlilError
from nlil.viewer.application import Guard, application
from nlil_bench import viewer
from nlil_bench.viewer import addresses, timed_pages, viewer_table


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return viewer_runs.learn_family(tmp_path_factory.mktemp("viewed"), ("max_length=2", "search=count"))


@pytest.fixture(scope="module")
def scene_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return viewer_runs.learn_scenes(tmp_path_factory.mktemp("scenes"))


@pytest.mark.parametrize("which", ["run", "scene_run"])
def test_every_address_has_a_page(which: str, request: pytest.FixtureRequest) -> None:
    data = viewer_runs.page_data_of(request.getfixturevalue(which))
    client = TestClient(application(data, Guard.of([])), base_url="http://localhost:8000")
    kb = data.run.dataset.kb
    chosen = addresses(data.rules, kb, 3, 6)
    for kind, mine in chosen.items():
        assert mine or kind == "rule, later pages", kind
        for address in mine:
            assert client.get(address).status_code == 200, address
    targets = [p for p, n in enumerate(data.num_rules) if n and kb.predicate_counts[p]]
    assert len(chosen["ask"]) == 2 * len(targets)
    assert chosen == addresses(data.rules, kb, 3, 6)
    assert chosen != addresses(data.rules, kb, 4, 6)


def test_pages_are_opened_in_a_viewer_of_their_own(run: Path) -> None:
    found = timed_pages(run, {"first page": ["/"], "search": ["/search?q=a", "/search?q=au"], "nothing": []})
    assert found["pages"]["nothing"]["first"] == {}
    for kind, count in (("first page", 1), ("search", 2)):
        page = found["pages"][kind]
        assert page["count"] == count
        for turn in ("first", "again", "json"):
            assert 0 < page[turn]["median_ms"] <= page[turn]["max_ms"] < 1000 * found["start_s"]
        assert page["slowest"].startswith("/")
    assert 0 < found["start_s"] <= found["warm_s"]
    assert 100 < found["peak_memory_mb"] < 3000


def test_a_page_that_fails_is_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    class Answer:
        status = 404

        def read(self) -> bytes:
            return b"nothing here"

    class Connection:
        def request(self, *words: str) -> None: ...

        def getresponse(self) -> Answer:
            return Answer()

    with pytest.raises(NlilError, match="/rule/9: the viewer answered 404: nothing here"):
        viewer._opened(Connection(), "/rule/9")  # type: ignore[arg-type]


def entry(**more: Any) -> dict[str, Any]:
    times = {"median_ms": 12.4, "max_ms": 99.6}
    page = {"count": 20, "first": times, "again": times, "json": times, "slowest": "/rule/1"}
    empty = {"count": 0, "first": {}, "again": {}, "json": {}, "slowest": ""}
    return {
        "data": "kin",
        "seed": 0,
        "quick": False,
        "pages": {"rule": page, "none": empty},
        "num_rules": 1234,
        "most_rules": 99,
        "seconds": {"start": 4.2, "warm": 5.1, "report": 6.3},
        "report_mb": 0.41,
        "peak_memory_mb": 512.0,
        "load_average": 1.0,
        "machine": {"device": "cpu", "cores": 2},
        **more,
    }


def test_the_table_has_a_row_for_each_kind_of_page() -> None:
    table = viewer_table({"kin": entry(), "kin quick": entry(quick=True, data="other")})
    assert "| kin | rule | 20 | 12 | 100 | 12 | 100 | 12 | 100 |" in table
    assert "| kin | none | 0 |  |  |  |  |  |  |" in table
    assert "1,234 rules, up to 99 for a predicate" in table
    assert "uses at most 0.5 GB; the report takes 6 s and has 0.4 MB; 2 cores" in table
    assert "other" not in table
    assert viewer_table({}) == "Not measured yet."
