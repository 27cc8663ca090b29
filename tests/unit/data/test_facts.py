from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nlil.data.builder as builder_module
from data_cases import rows, write
from nlil.data.facts import Facts, fact_keys
from nlil.data.kb import KnowledgeBase
from nlil.datasets import load_dataset, summarise
from nlil.errors import DataError
from nlil_bench.scale import write_random_triples

NAMES = st.sampled_from(["a", "b", "c", "d", "e", "é", "x y", "1"])
ROWS = st.lists(st.tuples(NAMES, NAMES) | st.tuples(NAMES, NAMES, NAMES), max_size=40)


@settings(deadline=None, max_examples=150)
@given(facts=ROWS, batch=st.integers(1, 7))
def test_any_rows_become_ids_and_back(facts, batch):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder_module, "ROWS_PER_BATCH", batch)
        patch.setattr("nlil.data.builder.NAMES_PENDING", 3)
        kb = KnowledgeBase.from_facts(facts)
    assert rows(kb) == set(facts)
    assert len(kb.facts) == len(set(facts))
    assert list(kb.entities) == list(dict.fromkeys(name for row in facts for name in (row[0], *row[2:])))
    assert list(kb.predicates) == sorted(kb.predicates)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(-1, 5)), max_size=60),
    st.sampled_from([0, 2**31 - 10]),
)
def test_unique_packed_equals_unique_by_columns(triples, shift):
    columns = np.array(triples, np.int64).reshape(-1, 3)
    p, s, o = (columns + np.array([shift, shift, 0])).T.astype(np.int32)  # large ids do not fit one key
    plain = Facts(p, s, o).unique()
    weighted = Facts(p, s, o, np.ones(len(p), np.float32)).unique()
    for column in ("predicate", "subject", "object"):
        one, two = getattr(plain, column), getattr(weighted, column)
        assert one.dtype == np.int32
        assert one.tolist() == two.tolist()
    assert len(plain) == len({tuple(row) for row in columns.tolist()})


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(-1, 5)), max_size=30),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(-1, 5)), max_size=30),
    st.sampled_from([0, 10**8, 2**31 - 10]),
)
def test_keys_order_and_tell_apart_facts_of_any_size(one, two, shift):
    """Predicate, subject and object of 2^31 do not fit one key of 64 bits."""
    groups = [np.array(triples, np.int64).reshape(-1, 3) for triples in (one, two)]
    large = [[(p + shift, s + shift, o + shift * (o >= 0)) for p, s, o in rows.tolist()] for rows in groups]
    facts = [Facts(*np.array(rows, np.int64).reshape(-1, 3).T.astype(np.int32)) for rows in large]
    keys = np.concatenate(fact_keys(*facts))
    _, expected = np.unique(np.concatenate(groups), axis=0, return_inverse=True)
    _, got = np.unique(keys, return_inverse=True)
    assert keys.min(initial=0) >= 0
    assert got.tolist() == expected.reshape(-1).tolist()
    assert facts[0].isin(facts[1]).tolist() == [row in large[1] for row in large[0]]


@pytest.mark.parametrize(
    "row",
    [
        ("a",),
        ("a", "p", "b", 0.5, 1),
        ("", "p"),
        ("a", ""),
        (1, "p"),
        ("a", "p", "b", "much"),
    ],
)
def test_bad_rows(row):
    with pytest.raises(DataError, match="expected"):
        KnowledgeBase.from_facts([row])


def test_weights_outside_the_range():
    with pytest.raises(DataError, match=r"a weight must lie in \[0, 1\], got 2"):
        KnowledgeBase.from_facts([("a", "p", "b", 2)])


def test_summary_counts(tmp_path):
    write(tmp_path / "train.tsv", "a\tp\tb\na\tp\tc\nb\tq\tc\na\tu\n")
    write(tmp_path / "test.tsv", "c\tp\td\n")
    write(tmp_path / "test_negatives.tsv", "d\tp\ta\n")
    found = summarise(load_dataset(tmp_path)).to_dict()
    assert (found["facts"], found["entities"], found["predicates"]) == (4, 4, 3)
    assert (found["num_unary_predicates"], found["num_binary_predicates"]) == (1, 2)
    assert found["splits"] == {"train": 4, "valid": 0, "test": 1}
    assert found["negatives"] == {"test": 1}
    assert found["degree"] == {"mean": 1.5, "median": 2.0, "max": 2}
    assert list(found["top_predicates"].items()) == [("p/2", 2), ("q/2", 1), ("u/1", 1)]
    assert json.loads(json.dumps(found)) == found


def test_random_triples_are_seeded_and_readable(tmp_path):
    one, same, other = (tmp_path / f"{name}.tsv" for name in "abc")
    for path, seed in ((one, 1), (same, 1), (other, 2)):
        write_random_triples(path, 2000, 50, 4, seed)
    assert one.read_bytes() == same.read_bytes() != other.read_bytes()
    assert one.read_text().count("\n") == 2000
    kb = load_dataset(one).kb
    assert kb.num_entities == 50
    assert kb.num_predicates == 4
    zipped = tmp_path / "a.tsv.gz"
    zipped.write_bytes(gzip.compress(one.read_bytes()))
    assert load_dataset(zipped).checksum == load_dataset(one).checksum
