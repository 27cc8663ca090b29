"""nlil.learn takes anything, and its result answers everything."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import nlil
from nlil.data.dataset import Dataset
from nlil.datasets.anything import as_dataset
from nlil.errors import ConfigError, DataError, RunError, UnknownName

COUNT = {"search": "count", "threads": 1}


@pytest.fixture(scope="module")
def facts():
    kb, _ = nlil.load("kin:80")
    return [(f.arguments[0], f.predicate.name, *f.arguments[1:]) for f in kb.named()]


@pytest.fixture(scope="module")
def model(facts):
    return nlil.learn(facts, "uncle", **COUNT)


def sources(facts, tmp_path):
    pairs = [fact for fact in facts if len(fact) == 3]
    frame = pd.DataFrame(pairs, columns=["head", "relation", "tail"])
    graph = nx.MultiDiGraph()
    for subject, predicate, object in pairs:
        graph.add_edge(subject, object, predicate=predicate)
    path = tmp_path / "f.csv"
    frame[["tail", "head", "relation"]].to_csv(path, index=False)
    base = nlil.KnowledgeBase.from_facts(pairs)
    shuffled = frame.rename(columns={"head": "x", "relation": "y", "tail": "z"})[["z", "y", "x"]]
    return [pairs, frame, graph, path, str(path), base, (base, nlil.Splits(base.facts)), np.array(pairs)], shuffled


def test_every_source_gives_the_same_facts(facts, tmp_path):
    from data_cases import rows

    every, shuffled = sources(facts, tmp_path)
    expected = {fact for fact in facts if len(fact) == 3}
    for source in every:
        assert rows(as_dataset(source).kb) == expected
    columns = nlil.DataOptions(columns="subject=x,predicate=y,object=z")
    assert rows(as_dataset(shuffled, options=columns).kb) == expected
    assert isinstance(as_dataset(as_dataset(facts)), Dataset)
    with pytest.raises(DataError, match=r"expected a path, a table, a graph, .* got int"):
        as_dataset(3)


def test_a_triples_factory():
    triples = pytest.importorskip("pykeen.triples")
    factory = triples.TriplesFactory.from_labeled_triples(np.array([("b", "p", "a"), ("z", "q", "b")]))
    assert len(as_dataset(factory).kb.facts) == 2


def test_the_result_answers_everything(model, facts, tmp_path):
    assert model.predict("uncle(?, vera1)")[0].score > 0
    table = model.predict(["uncle(?, vera1)", "uncle(?, emil1)"], top=2)
    assert list(table["rank"]) == [1, 2, 1, 2]
    new = model.complete(5)
    assert len(new) == 5
    assert model.explain(new[0].fact).fact == new[0].fact
    assert isinstance(model.check(3), list)
    assert 0 < len(model.theory) <= 20
    frame = pd.DataFrame([f for f in facts if f[1] == "uncle"], columns=["head", "relation", "tail"])
    scored = model.score(frame)
    assert scored["known"].all()
    assert list(scored["score"]) == list(model.score(list(frame.itertuples(index=False, name=None))).score)
    unknown = model.score([("nobody", "uncle", "vera1")])
    assert (len(unknown), unknown.num_unknown) == (1, 1)
    assert unknown.to_pandas()["score"].isna().all()
    folder = model.save(tmp_path / "run")
    with pytest.raises(RunError, match=r"force=True"):
        model.save(folder)
    again = nlil.open_model(folder, facts)
    assert again.predict("uncle(?, vera1)")[0] == model.predict("uncle(?, vera1)")[0]
    with pytest.raises(RunError, match="name the data"):
        nlil.open_model(folder)


def test_a_named_source_is_remembered(tmp_path):
    model = nlil.learn("kin:60", ["uncle"], rules_per_target=0, **COUNT)
    again = nlil.open_model(model.save(tmp_path / "run"))
    assert list(again.rules) == list(model.rules)
    with pytest.raises(ConfigError, match="no theories"):
        model.theory  # noqa: B018
    with pytest.raises(ConfigError, match="unknown key 'max_len'"):
        nlil.learn("kin:60", max_len=3)
    with pytest.raises(UnknownName, match="unclee"):
        nlil.learn("kin:60", "unclee")


def test_reprs_are_one_short_line(model):
    objects = [model, model.learned, model.rules, model.dataset, model.dataset.kb, model.dataset.splits]
    objects += [model.dataset.kb.facts, model.dataset.kb.entities, model.complete(3), model.score([])]
    objects += [model.rules[0], model.rules[0].rule, model.predict("uncle(?, vera1)")[0], model.complete(3)[0]]
    explained = model.explain(model.complete(1)[0].fact)
    objects += [*model.check(3), explained, explained.listing, model.evaluate("train")]
    for one in objects:
        assert len(repr(one)) < 250, one
        assert "\n" not in repr(one)


def test_new_facts_are_printed_one_in_each_line(model):
    new = model.complete(25)
    lines = str(new).splitlines()
    assert len(lines) == 21
    assert lines[0].startswith(f"{new[0].fact}   score ")
    assert lines[-1] == "... and 5 more"
    assert str(new[:0]) == "no facts"
    assert new[:2]._repr_html_().count("<tr>") == 3


@pytest.mark.parametrize(
    "frame",
    [
        {"head": ["emil1", None], "relation": ["uncle", "uncle"], "tail": ["?", "vera1"]},
        {"relation": ["uncle", "uncle"], "tail": [None, "vera1"], "head": ["emil1", " "]},
        {"query": ["uncle(emil1, ?)", "uncle(?, vera1)"]},
    ],
)
def test_a_frame_of_queries(model, frame):
    expected = model.predict(["uncle(emil1, ?)", "uncle(?, vera1)"], top=2)
    pd.testing.assert_frame_equal(model.predict(pd.DataFrame(frame), top=2), expected)


def test_a_frame_without_objects_asks_for_them(model):
    table = model.predict(pd.DataFrame({"who": ["emil1"], "what": ["uncle"]}), top=1)
    assert list(table["query"]) == ["uncle(emil1, ?)"]
    with pytest.raises(DataError, match=r'columns="subject=1,predicate=2,object=3"'):
        model.predict(pd.DataFrame({name: ["x"] for name in "abcde"}))


def test_rules_slice_filter_and_go_to_tables(model):
    rules = model.rules
    assert list(rules[2:4]) == [rules[2], rules[3]]
    assert list(rules["uncle"]) == list(rules)
    chosen = rules.filter(target="uncle", contains="brother", length=2, min_confidence=0.5, min_support=3)
    assert 0 < len(chosen) < len(rules)
    for scored in chosen:
        assert "brother" in {p.name for p in scored.rule.predicates}
        assert scored.rule.length == 2
        assert scored.stats.confidence >= 0.5
        assert scored.stats.support >= 3
    expected = [
        s
        for s in rules
        if "brother(" in str(s.rule).partition(":-")[2]
        and s.rule.length == 2
        and s.stats.confidence >= 0.5
        and s.stats.support >= 3
    ]
    assert list(chosen) == expected
    assert len(rules.filter(length=(1, 2))) == sum(1 <= s.rule.length <= 2 for s in rules)
    assert len(rules.filter(kind="prior")) == rules.is_prior.sum()
    named = rules.filter(contains="vera1")
    assert all("vera1" in str(s.rule) for s in named)
    assert len(named) == sum("vera1" in str(s.rule) for s in rules)
    frame = rules.to_pandas(7)
    assert list(frame["rule"]) == [str(s.rule) for s in rules.top(7)]
    with pytest.raises(ConfigError, match="kind: expected chain"):
        rules.filter(kind="odd")
    with pytest.raises(UnknownName, match="unknown predicate or entity 'x y'"):
        rules.filter(contains="x y")


def test_facts_by_name_and_as_a_table(facts):
    kb = nlil.KnowledgeBase.from_facts(facts)
    frame = kb.to_pandas()
    again = nlil.KnowledgeBase.from_pandas(frame)
    assert {str(f) for f in kb.named()} == {str(f) for f in again.named()}
