from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_cases import rows, write
from nlil.datasets import load_dataset
from nlil.errors import DataError

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
        (x + "ann", x + "age", "41"),
        (x + "ann", x + "name", "Ann"),
        (x + "bob", x + "kind", x + "Person"),
    }
    assert kb.label(x + "ann") == "Ann"  # no language, then English, then the rest
    assert kb.predicate_labels == {x + "knows": "is acquainted with"}


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
