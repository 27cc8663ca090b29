from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_cases import rows, write
from nlil.data.prefixes import full_name, short_name, with_short_names
from nlil.data.rdf import date_number
from nlil.data.vocabulary import Vocabulary
from nlil.datasets import load_dataset
from nlil.errors import DataError, UnknownName
from nlil.logic.predicate import Predicate
from nlil.logic.query import parse_query

TURTLE = """
@prefix : <http://x.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:ann a :Person ; :knows :bob, _:someone ; :age 41 ; :name "Ann"@en ;
     rdfs:label "Anna"@de, "Ann"@en .
:knows rdfs:label "is acquainted with" .
:bob :kind :Person .
"""


def test_turtle(tmp_path):
    kb = load_dataset(write(tmp_path / "f.ttl", TURTLE)).kb
    x = "http://x.org/"
    found = rows(kb)
    blank = next(row[2] for row in found if row[-1].startswith("_:"))
    assert found == {
        (x + "ann", x + "Person"),
        (x + "ann", x + "knows", x + "bob"),
        (x + "ann", x + "knows", blank),
        (x + "ann", x + "name", "Ann"),
        (x + "bob", x + "kind", x + "Person"),
    }
    assert kb.label(x + "ann") == "Ann"  # no language, then English, then the rest
    assert kb.predicate_labels[x + "knows"] == "is acquainted with"


GRAPH = """
@prefix ex: <http://x.org/> .
@prefix place: <http://x.org/place/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:ann ex:lives_in place:rome ; ex:age 41 ; ex:born "1980-07-01"^^xsd:date ; ex:tall "yes"^^xsd:integer .
ex:bob ex:lives_in place:oslo ; ex:age 12, 13 ; ex:born "2010"^^xsd:gYear ; rdfs:label "Bob" .
ex:cid ex:lives_in place:oslo ; ex:age 1e1 ; ex:born "2012-01-01T12:30:00Z"^^xsd:dateTime .
ex:dan ex:age 7 .
"""


@pytest.fixture
def graph(tmp_path):
    return load_dataset(write(tmp_path / "f.ttl", GRAPH))


def test_prefixes_shorten_names_and_are_accepted_for_them(graph):
    kb, x = graph.kb, "http://x.org/"
    assert kb.label(x + "ann") == "ex:ann"
    assert kb.label(x + "place/rome") == "place:rome"  # the longest namespace
    assert kb.label(x + "bob") == "Bob"  # a label of the data is better
    assert kb.predicate_labels[x + "lives_in"] == "ex:lives_in"
    assert kb.entity_id("ex:bob") == kb.entity_id("Bob") == kb.entities.id(x + "bob")
    assert str(kb.predicate("ex:lives_in")) == str(kb.predicate("ex:lives_in/2")) == x + "lives_in/2"
    asked = kb.resolved(parse_query("ex:lives_in(ex:bob, ?)"))
    assert (asked.predicate, asked.arguments) == (x + "lives_in", (x + "bob", None))
    with pytest.raises(UnknownName, match="unknown entity 'ex:bobb'"):
        kb.entity_id("ex:bobb")


def test_many_names_are_found_as_one_is(graph):
    kb = graph.kb
    names = [*kb.entities, *map(kb.label, kb.entities), *(short_name(name, kb.prefixes) for name in kb.entities), "x:y"]

    def alone(name):
        try:
            return kb.entity_id(name)
        except UnknownName:
            return -1

    found = kb.entity_ids(Vocabulary(names)).tolist()
    assert found == [alone(name) for name in names]
    assert found[: kb.num_entities] == list(range(kb.num_entities))
    assert found[-1] == -1


def test_prefixes_keep_apart_what_labels_confuse(tmp_path):
    kb = load_dataset(write(tmp_path / "f.ttl", "@prefix : <http://x/> . :a :p :A . :A :P :a .")).kb
    assert kb.entities.name(kb.entity_id(":A")) == "http://x/A"
    assert str(kb.predicate(":P")) == "http://x/P/2"


def test_a_prefix_with_two_namespaces_means_the_first(tmp_path):
    write(tmp_path / "train.ttl", "@prefix : <http://x/> . :a :p :b .")
    write(tmp_path / "test.ttl", "@prefix : <http://y/> . :a :p :b .")
    dataset = load_dataset(tmp_path)
    assert dict(dataset.kb.entity_labels) == {"http://x/a": ":a", "http://x/b": ":b"}
    assert dataset.notes == ("the prefix : stands for http://x/; names in http://y/ are not shortened by it",)


def test_short_names_are_the_same_one_by_one_and_all_at_once():
    prefixes = {"b": "http://x/b", "a": "http://x/", "again": "http://x/", "none": "", "é": "http://é/"}
    names = Vocabulary(["http://x/", "http://x/a", "http://x/b", "http://x/bc", "http://é/é", "urn:1", "x"])
    labels = with_short_names({"x": "X"}, names, prefixes)
    one_by_one = {name: short_name(name, prefixes) for name in names if short_name(name, prefixes) != name}
    assert dict(labels) == {**one_by_one, "x": "X"}
    assert one_by_one["http://x/a"] == "a:a"
    assert all(full_name(text, prefixes) == name for name, text in one_by_one.items())


def test_numbers_and_dates_become_predicates(graph):
    kb, x = graph.kb, "http://x.org/"
    unary = [p for p in kb.predicates if p.arity == 1]
    members = {p.name: set(kb.entities.names(kb.members(kb.predicate_id(p)))) for p in unary}
    assert members[x + "age_over_12"] == {x + "ann"}
    assert members[x + "age_up_to_10"] == {x + "cid"}
    assert {x + "bob", x + "cid"} in members.values()
    assert members[x + "born_over_2010"] == {x + "cid"}
    assert kb.predicate_labels[x + "age_over_12"] == "ex:age_over_12"
    assert (x + "ann", x + "tall", "yes") in rows(kb)  # no number, whatever its type says
    assert not any(row[1] == x + "age" for row in rows(kb))
    assert graph.notes == (
        f"{x}age: 1 further numbers of entities that have several are not read",
        "the numbers of 1 entities without facts are ignored",
    )


def test_numbers_that_do_not_differ_are_named(tmp_path):
    text = "@prefix : <http://x/> . :a :p :b ; :age 3 . :b :p :a ; :age 3 ."
    assert load_dataset(write(tmp_path / "f.ttl", text)).notes == (
        "numbers that do not differ give no predicate: :age",
    )


def test_numbers_are_cut_as_in_the_rules_that_are_applied(tmp_path):
    like = [Predicate("http://x.org/age_over_40", 1)]
    kb = load_dataset(write(tmp_path / "f.ttl", GRAPH), like=like).kb
    assert [p.name for p in kb.predicates if "age" in p.name] == [
        "http://x.org/age_over_40",
        "http://x.org/age_up_to_40",
    ]


def test_the_cache_keeps_prefixes_and_numbers(tmp_path, graph, monkeypatch):
    monkeypatch.setattr("nlil.datasets.cache.LEAST_SECONDS", 0)
    monkeypatch.setenv("NLIL_CACHE", str(tmp_path / "cache"))
    for _ in range(2):
        again = load_dataset(tmp_path / "f.ttl")
        assert again.checksum == graph.checksum
        assert again.kb.prefixes == graph.kb.prefixes
        assert dict(again.kb.entity_labels) == dict(graph.kb.entity_labels)
        assert again.notes == graph.notes
    assert list((tmp_path / "cache" / "facts").glob("*.arrays"))


@pytest.mark.parametrize(
    ("text", "years"),
    [("2000-01-01", 2000), ("2000-07", 2000.5), ("-0044", -44), ("2000-13-01", None), ("soon", None), ("2000Z", 2000)],
)
def test_dates(text, years):
    assert date_number(text) == years


def test_ntriples_gzip_and_an_error_with_its_line(tmp_path):
    good = "<http://x/a> <http://x/p> <http://x/b> .\n"
    assert rows(load_dataset(write(tmp_path / "f.nt.gz", good)).kb) == {("http://x/a", "http://x/p", "http://x/b")}
    with pytest.raises(DataError) as caught:
        load_dataset(write(tmp_path / "g.nt", good + "<http://x/a> nonsense .\n"))
    assert caught.value.line == 2


def parquet(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def test_parquet_by_name_in_any_order_with_weights_and_categories(tmp_path):
    path = parquet(
        tmp_path / "f.parquet",
        tail=["b", None, "c"],
        relation=pa.array(["p", "u", "p"]).dictionary_encode(),
        head=["a", "a", "b"],
        weight=[1.0, 0.5, 0.25],
        colour=["x", "y", "z"],
    )
    dataset = load_dataset(path)
    assert rows(dataset.kb) == {("a", "p", "b"), ("a", "u"), ("b", "p", "c")}
    assert np.allclose(dataset.kb.facts.weight, [1.0, 0.25, 0.5])
    assert dataset.notes == (
        "f.parquet: columns read as subject=head, predicate=relation, object=tail, weight=weight; not read: colour",
    )


def test_parquet_by_position_and_unary(tmp_path):
    assert rows(load_dataset(parquet(tmp_path / "f.parquet", x=[1, 2], y=["p", "p"], z=[2, 3])).kb) == {
        ("1", "p", "2"),
        ("2", "p", "3"),
    }
    path = parquet(tmp_path / "g.parquet", entity=["a"], predicate=["u"], weight=[0.5])
    kb = load_dataset(path).kb
    assert rows(kb) == {("a", "u")}
    assert kb.facts.weight.tolist() == [0.5]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"a": ["x"]}, r"expected the columns .* got \['a'\]"),
        ({"head": ["a", None], "relation": ["p", "p"], "tail": ["b", "b"]}, "row 2: expected the name of a subject"),
        ({"head": ["a", "b"], "relation": ["p", ""], "tail": ["b", "b"]}, "row 2: expected the name of a predicate"),
        ({"head": ["a"], "relation": ["p"], "tail": ["b"], "weight": [2.0]}, "row 1: expected a weight .* got 2"),
        ({"head": [0.5], "relation": ["p"], "tail": ["b"]}, "got a column of double"),
    ],
)
def test_bad_parquet(tmp_path, columns, said):
    with pytest.raises(DataError, match=said):
        load_dataset(parquet(tmp_path / "f.parquet", **columns))


def test_not_parquet(tmp_path):
    with pytest.raises(DataError, match="expected a Parquet file"):
        load_dataset(write(tmp_path / "f.parquet", "words"))
