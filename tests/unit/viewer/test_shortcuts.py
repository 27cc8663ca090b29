"""What makes pages quick changes nothing they say: rules left out, scenes left out, evidence computed beforehand."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient

import viewer_runs
from nlil.explanation.changes import Scenes
from nlil.learning.opening import open_run
from nlil.logic.query import Query
from nlil.scene import class_table
from nlil.scene.class_table import ClassTable
from nlil.viewer.application import Guard, application, listen
from nlil.viewer.page_data import PageData
from nlil.viewer.rule_store import begins_at


@pytest.fixture(scope="module")
def anchored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with rules about single people and with types, of which a question needs some."""
    return viewer_runs.learn_family(tmp_path_factory.mktemp("anchored"), ("max_length=2", "search=count"))


def client_of(data: PageData) -> TestClient:
    return TestClient(application(data, Guard.of([])), base_url="http://localhost:8000", follow_redirects=False)


def test_answers_of_some_rules_are_those_of_all(anchored: Path) -> None:
    data = viewer_runs.page_data_of(anchored)
    predictor = open_run(anchored).predictor
    facts, left_out = data.kb.binary, 0
    for i in range(0, len(facts), len(facts) // 25):
        fact = data.kb.fact(int(facts.predicate[i]), int(facts.subject[i]), int(facts.object[i]))
        for names in ((fact.arguments[0], None), (None, fact.arguments[1])):
            query = Query(fact.predicate.name, names)
            expected = [(a.entity, a.score, a.known) for a in predictor.predict(query, 1000)]
            assert [(a.entity, a.score, a.known) for a in data.answers(query, 1000)] == expected, str(query)
            left_out += int((~data.store(int(facts.predicate[i])).can_answer(query)).sum())
    assert left_out > 1000


def test_shares_of_answers_are_those_of_an_explainer_with_all_rules(anchored: Path) -> None:
    data = viewer_runs.page_data_of(anchored)
    facts, left_out = data.kb.binary, 0
    for i in range(0, len(facts), len(facts) // 25):
        fact = data.kb.fact(int(facts.predicate[i]), int(facts.subject[i]), int(facts.object[i]))
        every, _ = data.explainer(fact.predicate, fact.arguments)
        some, rows = data.explainer(fact.predicate, fact.arguments, only_firing=True)
        left_out += len(every.rules) - len(some.rules)
        assert len(rows) == len(some.rules)
        expected, found = every.explain(fact, misses=0), some.explain(fact, misses=0)
        assert found == expected
    assert left_out > 100


def test_a_line_that_is_left_out_holds_nowhere_here(anchored: Path) -> None:
    data = viewer_runs.page_data_of(anchored)
    evaluator = data.cards.evaluator
    x = int(data.kb.binary.subject[0])
    can = begins_at(data.rules, data.kb, [x])
    assert 0 < can.sum() < len(can)
    for row in np.flatnonzero(~can & (data.rules.fixed == 2))[:300:5].tolist():
        y = np.array([int(data.rules.head_entity[row])])
        assert evaluator.values(data.rules.rule(row), np.array([x]), y).tolist() == [0]


# scenes -----------------------------------------------------------------------------------------------


def test_a_scene_has_its_own_facts_in_order(scene_run: Path) -> None:
    kb = viewer_runs.page_data_of(scene_run).kb
    scenes = Scenes(kb)
    assert kb.graph_of is not None
    for entities in ([0], [5], [0, 7, kb.num_entities - 1]):
        graphs = kb.graph_of[entities]
        own = kb.facts[np.isin(kb.graph_of[kb.facts.subject], graphs)]
        found = scenes.around(entities).facts
        assert 0 < len(found) < len(kb.facts)
        for column in ("predicate", "subject", "object"):
            assert getattr(found, column).tolist() == getattr(own, column).tolist()
    assert scenes.around([0]) is scenes.around([0])


def test_evidence_computed_beforehand_is_that_of_the_scorer(scene_run: Path) -> None:
    data = viewer_runs.page_data_of(scene_run)
    table = data.class_table
    assert table is not None
    queries = [Query(data.kb.predicates[target].name, (None,)) for target in table.position]
    before = [[(a.entity, a.score) for a in viewer_runs.page_data_of(scene_run).answers(q, 1000)] for q in queries]
    objects = [data.object_classes(entity) for entity in range(data.kb.num_entities)]
    assert table.column(next(iter(table.position))) is table.row(0) is None
    assert not data.is_warm
    table.start().result()
    assert data.is_warm
    assert [[(a.entity, a.score) for a in data.answers(q, 1000)] for q in queries] == before
    assert any(before)
    expected = table.scorer.evidence(np.arange(data.kb.num_entities, dtype=np.int32))
    assert np.array([table.row(entity) for entity in range(data.kb.num_entities)]).tolist() == expected.tolist()
    assert [data.object_classes(entity) for entity in range(data.kb.num_entities)] == objects


@pytest.mark.slow
def test_a_verdict_changes_the_column_of_its_class_only(scene_run: Path, tmp_path: Path) -> None:
    shutil.copytree(scene_run, tmp_path / "run")
    data = viewer_runs.page_data_of(tmp_path / "run")
    table = data.class_table
    assert table is not None
    table.start().result()
    columns = {target: table.column(target) for target in table.position}
    judged = int(data.rules.head[np.argmax(data.rules.weights)])
    for row in data.rows_of(judged)[:-1].tolist():  # one after the other: only the last verdict may count
        data.judge(row, "rejected", "")
    reopened = viewer_runs.page_data_of(tmp_path / "run").class_scorer
    assert reopened is not None
    fresh = reopened.evidence(np.arange(data.kb.num_entities, dtype=np.int32))
    while not table.is_complete:
        pass
    for target, place in table.position.items():
        column, before = table.column(target), columns[target]
        assert column is not None
        assert before is not None
        assert column.tolist() == fresh[:, place].tolist()
        assert (column.tolist() == before.tolist()) == (target != judged)
    assert np.array([table.row(entity) for entity in range(data.kb.num_entities)]).tolist() == fresh.tolist()


def test_pages_do_without_a_table_that_could_not_be_computed(scene_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(scorer: object) -> None:
        raise MemoryError

    data = viewer_runs.page_data_of(scene_run)
    table = data.class_table
    assert table is not None
    expected = data.object_classes(0)
    monkeypatch.setattr(class_table, "_evidence", fails)
    assert isinstance(table.start().exception(), MemoryError)
    assert data.is_warm
    assert table.row(0) is None
    assert table.column(next(iter(table.position))) is None
    assert data.object_classes(0) == expected


def test_a_table_that_would_be_too_large_is_not_kept(scene_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_table, "MAX_CELLS", 10)
    data = viewer_runs.page_data_of(scene_run)
    table = data.class_table
    assert isinstance(table, ClassTable)
    assert not table.start().done()
    assert data.is_warm
    assert table.row(0) is None
    assert client_of(data).get("/ask.json", params={"q": "person(?)"}).json()["answers"]


def test_small_pieces_are_sent_at_once() -> None:
    # What asyncio looks at before it sets TCP_NODELAY.
    with listen("127.0.0.1", 0) as found:
        assert found.proto == socket.IPPROTO_TCP
