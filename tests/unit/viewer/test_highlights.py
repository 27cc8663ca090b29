"""What stands out is found in the background, follows verdicts, and is on the first page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient

import viewer_runs
from nlil.learning.opening import open_run
from nlil.learning.run import load_run, load_with_info, save_run
from nlil.viewer import highlights
from nlil.viewer.application import Guard, application
from nlil.viewer.page_data import PageData


@pytest.fixture
def data(own_run: Path) -> PageData:
    return viewer_runs.page_data_of(own_run)


def document(data: PageData) -> dict:
    return TestClient(application(data, Guard.of([])), base_url="http://localhost").get("/.json").json()


def test_they_are_those_of_the_commands(data: PageData, own_run: Path) -> None:
    assert document(data)["new_facts"] is None
    data.work_ahead()
    data.highlights.wait()
    shown = document(data)
    assert data.is_warm
    assert not shown["is_searching"]
    wanted = open_run(own_run).complete(highlights.NUM_SHOWN)
    assert [one["fact"] for one in shown["new_facts"]] == [str(new.fact) for new in wanted]
    np.testing.assert_allclose([one["score"] for one in shown["new_facts"]], [new.score for new in wanted])
    assert all(one["wrong"] is None or one["wrong"] >= highlights.MIN_WRONG for one in shown["disputed"])
    assert all(one["rule"]["address"].startswith("/rule/") for one in shown["new_facts"])


def test_a_rejected_rule_proposes_nothing(data: PageData) -> None:
    data.work_ahead()
    data.highlights.wait()
    rule = document(data)["new_facts"][0]["rule"]
    data.judge(rule["row"], "rejected", "")
    data.highlights.wait()
    assert rule["row"] not in [new["rule"]["row"] for new in document(data)["new_facts"] if new["rule"]]


def test_large_graphs_have_none(data: PageData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highlights, "MAX_FACTS", 10)
    data.work_ahead()
    assert not data.highlights.is_busy
    assert data.is_warm
    assert document(data)["new_facts"] is None


def test_a_failure_ends_the_wait(data: PageData, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(highlights, "check", failing)
    data.work_ahead()
    data.highlights.wait()
    assert data.is_warm
    assert data.highlights.found == highlights.Findings()


def test_they_are_found_again_in_a_run_that_replaces_the_old_one(data: PageData, own_run: Path) -> None:
    opened = [data]

    def reopen() -> PageData:
        opened.append(viewer_runs.page_data_of(own_run))
        return opened[-1]

    client = TestClient(application(data, Guard.of([]), reopen), base_url="http://localhost")
    learned = load_run(own_run)
    few = learned.over(learned.rules.take(np.arange(5)), np.arange(5))
    save_run(few, own_run, load_with_info(own_run)[0].source, force=True)
    assert client.get("/.json").status_code == 200
    _, new = opened
    new.highlights.wait()
    assert client.get("/.json").json()["new_facts"] is not None
    data.highlights.find(data.rules)
    data.highlights.wait()
    assert data.highlights.found is None, "nothing is looked for in the old run"


def test_quality_and_coverage_of_each_predicate(data: PageData) -> None:
    theories = [target["theory"] for target in document(data)["targets"] if target["theory"]]
    assert theories
    assert all(0 < theory["explained"] <= theory["tried"] for theory in theories)
    assert all(theory["mrr"] is None or 0 <= theory["mrr"] <= 1 for theory in theories)
