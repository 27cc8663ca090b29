from __future__ import annotations

import gzip

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from data_cases import rows
from nlil.data.kb import KnowledgeBase
from nlil.data.write import write_facts
from nlil.datasets import load_dataset
from nlil.errors import DataError, MissingExtra

TRIPLES = [("ann", "mother", "bob"), ("bob", "likes", "carl")]
EXPECTED = set(TRIPLES)


def test_from_numpy():
    kb = KnowledgeBase.from_numpy(np.array(TRIPLES))
    assert rows(kb) == EXPECTED
    assert list(kb.entities) == ["ann", "bob", "carl"]
    weighted = KnowledgeBase.from_numpy(np.array([("a", "p", "b", 0.5), ("a", "q", None, 1.0)], dtype=object))
    assert rows(weighted) == {("a", "p", "b"), ("a", "q")}
    assert weighted.facts.weight.tolist() == [0.5, 1.0]
    assert rows(KnowledgeBase.from_numpy(np.array([[1, 2, 3]]))) == {("1", "2", "3")}
    with pytest.raises(DataError, match=r"expected an array of shape \(facts, 2 to 4\), got \(3,\)"):
        KnowledgeBase.from_numpy(np.array(["a", "p", "b"]))
    with pytest.raises(DataError, match="fractions"):
        KnowledgeBase.from_numpy(np.zeros((2, 3)))


def test_from_pandas_and_arrow():
    frame = pd.DataFrame({"tail": ["b", None], "head": ["a", "a"], "relation": ["p", "u"], "weight": [0.5, 1]})
    for kb in (KnowledgeBase.from_pandas(frame), KnowledgeBase.from_arrow(pa.Table.from_pandas(frame))):
        assert rows(kb) == {("a", "p", "b"), ("a", "u")}
        assert kb.facts.weight.tolist() == [0.5, 1.0]
    categories = pd.DataFrame(TRIPLES, columns=list("xyz")).astype("category")
    assert rows(KnowledgeBase.from_pandas(categories)) == EXPECTED
    with pytest.raises(DataError, match="expected the columns"):
        KnowledgeBase.from_pandas(pd.DataFrame({"a": ["x"]}))


def test_from_networkx():
    graph = nx.MultiDiGraph()
    graph.add_node("ann", type=["female", "tall"])
    graph.add_node("bob", type="male", kind="boy")
    graph.add_edge("ann", "bob", key="mother")
    graph.add_edge("ann", "bob", predicate="likes", strength=0.5)
    unary = {("ann", "female"), ("ann", "tall"), ("bob", "male")}
    edges = {("ann", "mother", "bob"), ("ann", "likes", "bob")}
    assert rows(KnowledgeBase.from_networkx(graph)) == unary | edges
    kb = KnowledgeBase.from_networkx(graph, unary="kind", weight="strength")
    assert rows(kb) == {("bob", "boy")} | edges
    assert sorted(kb.facts.weight.tolist()) == [0.5, 1.0, 1.0]
    simple = nx.DiGraph([(1, 2, {"predicate": "next"})])
    assert rows(KnowledgeBase.from_networkx(simple)) == {("1", "next", "2")}
    usual = nx.MultiDiGraph()
    usual.add_edge("a", "b", relation="next", since=1999)
    usual.add_edge("a", "c", type="likes")
    assert rows(KnowledgeBase.from_networkx(usual)) == {("a", "next", "b"), ("a", "likes", "c")}
    usual.add_edge("a", "c", since=1999)
    with pytest.raises(DataError, match=r"got the attributes \['since'\]; name it: .*predicate=\.\.\."):
        KnowledgeBase.from_networkx(usual)
    with pytest.raises(
        DataError, match="expected a predicate as the attribute 'predicate' or as the key, got the attributes"
    ):
        KnowledgeBase.from_networkx(nx.DiGraph([("a", "b")]))
    with pytest.raises(DataError, match="undirected"):
        KnowledgeBase.from_networkx(nx.Graph())
    with pytest.raises(DataError, match="same text"):
        KnowledgeBase.from_networkx(nx.DiGraph([("1", 1)]))


def test_from_pykeen_keeps_the_ids():
    triples = pytest.importorskip("pykeen.triples")
    factory = triples.TriplesFactory.from_labeled_triples(np.array([("b", "p", "a"), ("z", "q", "b")]))
    kb = KnowledgeBase.from_pykeen(factory)
    assert rows(kb) == {("b", "p", "a"), ("z", "q", "b")}
    assert [kb.entities.id(name) for name in factory.entity_to_id] == list(factory.entity_to_id.values())


def test_a_missing_package_names_its_extra(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingExtra, match=r"pip install 'nlil\[graph\]'"):
        KnowledgeBase.from_networkx(None)


ODD = [
    ("a b", "to the left of", 'q"uote'),
    ("it's", "/film/genre", "http://x.org/é"),
    ("_:b1", "p", "1.5"),
    ("comma,name", "p", "back\\slash"),
    ("urn:nlil:x", "true", "100%"),
    ("A", "U"),
    ("_:b1", "http://x.org/T"),
]


@pytest.mark.parametrize("name", ["f.tsv", "f.csv", "f.csv.gz", "f.tsv.gz", "f.nt", "f.nt.gz", "f.pl", "f.parquet"])
def test_what_is_written_is_read_again(tmp_path, name):
    kb = KnowledgeBase.from_facts(ODD)
    path = write_facts(kb, kb.facts, tmp_path / "sub" / name)
    assert rows(load_dataset(path).kb) == set(ODD)
    assert [p.name for p in path.parent.iterdir()] == [name]


@pytest.mark.parametrize("name", ["f.tsv", "f.csv", "f.parquet"])
def test_confidences_are_weights(tmp_path, name):
    kb = KnowledgeBase.from_facts([("a", "p", "b"), ("a", "u")])
    path = write_facts(kb, kb.facts, tmp_path / name, np.array([0.25, 0.75]))
    again = load_dataset(path).kb
    assert rows(again) == {("a", "p", "b"), ("a", "u")}
    assert again.facts.weight.tolist() == [0.25, 0.75]


def test_confidences_as_comments(tmp_path):
    kb = KnowledgeBase.from_facts([("a", "p", "b"), ("a", "u")])
    confidences = np.array([0.25, 1.0])
    assert write_facts(kb, kb.facts, tmp_path / "f.pl", confidences).read_text() == "p(a, b).  % 0.25\nu(a).  % 1\n"
    assert rows(load_dataset(tmp_path / "f.pl").kb) == rows(kb)
    write_facts(kb, kb.facts, tmp_path / "f.nt", confidences)
    assert rows(load_dataset(tmp_path / "f.nt").kb) == rows(kb)
    assert (tmp_path / "f.nt").read_text().splitlines()[0].endswith("# 0.25")


def test_gzip_is_repeatable(tmp_path):
    kb = KnowledgeBase.from_facts(TRIPLES)
    one = write_facts(kb, kb.facts, tmp_path / "a.tsv.gz").read_bytes()
    assert one == write_facts(kb, kb.facts, tmp_path / "b.tsv.gz").read_bytes()
    assert gzip.decompress(one) == b"bob\tlikes\tcarl\nann\tmother\tbob\n"


def test_writing_fails_whole(tmp_path):
    kb = KnowledgeBase.from_facts([("a\tb", "p", "c")])
    old = tmp_path / "f.tsv"
    old.write_text("old")
    with pytest.raises(DataError, match=r"f\.tsv: expected names without tabs"):
        write_facts(kb, kb.facts, old)
    assert old.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["f.tsv"]
    with pytest.raises(DataError, match="expected a name ending in"):
        write_facts(kb, kb.facts, tmp_path / "f.doc")
    with pytest.raises(DataError, match="expected 1 confidences, one per fact, got 2"):
        write_facts(kb, kb.facts, tmp_path / "f.pl", np.ones(2))
    with pytest.raises(DataError, match="cannot be written"):
        write_facts(kb, kb.facts, old / "inside" / "f.pl")
