from __future__ import annotations

import numpy as np
import pytest

from data_cases import rows, write
from nlil.datasets import load_dataset
from nlil.errors import DataError


def read(path):
    return load_dataset(path)


def test_arity_is_decided_line_by_line_and_duplicates_merge(tmp_path):
    path = write(tmp_path / "f.tsv", "ann\tmother\tbob\n\nann\tfemale\nann\tmother\tbob\n   \nbob\tmale\n")
    kb = read(path).kb
    assert rows(kb) == {("ann", "mother", "bob"), ("ann", "female"), ("bob", "male")}
    assert len(kb.facts) == 3
    assert [str(p) for p in kb.predicates] == ["female/1", "male/1", "mother/2"]


@pytest.mark.parametrize("name", ["f.tsv", "f.txt", "f.tsv.gz"])
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_endings_gzip_and_line_ends(tmp_path, name, end):
    last = end or "\n"
    path = write(tmp_path / name, f"a\tp\tb{last}c\tp\td{end}")
    assert rows(read(path).kb) == {("a", "p", "b"), ("c", "p", "d")}


def test_weights_and_a_weighted_unary_fact(tmp_path):
    kb = read(write(tmp_path / "f.tsv", "a\tp\tb\t0.25\na\tq\t\t0.5\na\tp\tb\t0.75\n")).kb
    assert rows(kb) == {("a", "p", "b"), ("a", "q")}
    assert kb.facts.weight is not None
    assert np.allclose(kb.facts.weight, [0.75, 0.5])  # of repeated facts the heaviest counts


def test_weights_of_one_everywhere_are_no_weights(tmp_path):
    assert read(write(tmp_path / "f.tsv", "a\tp\tb\t1\na\tq\t\t1.0\n")).kb.facts.weight is None


def test_csv_separator_quotes_and_a_header_that_is_noted(tmp_path):
    text = 'subject,predicate,object\n"Smith, John",knows,"the ""Boss"""\na,knows,b\n'
    dataset = read(write(tmp_path / "f.csv", text))
    assert rows(dataset.kb) == {("Smith, John", "knows", 'the "Boss"'), ("a", "knows", "b")}
    assert dataset.notes == ("f.csv: columns read as subject=subject, predicate=predicate, object=object",)


def test_the_other_separator_is_found(tmp_path):
    assert rows(read(write(tmp_path / "f.csv", "a\tp\tb\n")).kb) == {("a", "p", "b")}
    assert rows(read(write(tmp_path / "f.txt", "a,p,b\n")).kb) == {("a", "p", "b")}


def test_tsv_knows_no_quotes_and_names_keep_their_spaces(tmp_path):
    kb = read(write(tmp_path / "f.tsv", '"a\tto the left of\t b \n')).kb
    assert rows(kb) == {('"a', "to the left of", " b ")}


def test_byte_order_mark(tmp_path):
    assert rows(read(write(tmp_path / "f.tsv", "\ufeffa\tp\tb\nc\tq\n")).kb) == {("a", "p", "b"), ("c", "q")}


def test_entities_are_numbered_as_they_appear_row_by_row(tmp_path):
    text = "".join(f"s{i}\tp\to{i}\n" for i in range(50)) + "o3\tp\ts1\n"
    expected = [name for i in range(50) for name in (f"s{i}", f"o{i}")]
    assert list(read(write(tmp_path / "f.tsv", text)).kb.entities) == expected
    assert list(read(write(tmp_path / "g.tsv", text + "z\tq\n")).kb.entities) == [*expected, "z"]


def test_blocks_change_nothing(tmp_path, monkeypatch):
    random = np.random.default_rng(0)
    text = "".join("e{}\tp{}\te{}\n".format(*random.integers(0, 90, 3)) for _ in range(3000))
    path = write(tmp_path / "f.tsv", text)
    whole = read(path)
    monkeypatch.setattr("nlil.data.files.BLOCK_BYTES", 512)
    monkeypatch.setattr("nlil.data.builder.NAMES_PENDING", 100)
    assert read(path).checksum == whole.checksum
    # A line of another arity near the end: the rest is read line by line, nothing twice, nothing lost.
    mixed = read(write(tmp_path / "g.tsv", text + "e1\tunary\n" + "e2\tp1\te3\n"))
    assert rows(mixed.kb) == rows(whole.kb) | {("e1", "unary"), ("e2", "p1", "e3")}
    assert list(mixed.kb.entities) == list(whole.kb.entities)


BAD = [
    ("a\tp\tb\na\tp\tb\tc\td\n", 2, "got 5"),
    ("a\tp\tb\n\nalone\n", 3, "got 1: 'alone'"),
    ("a\tp\tb\n\tp\tb\n", 2, "without empty names"),
    ("a\tp\tb\na\t\tb\n", 2, "without empty names"),
    ("a\tp\tb\na\tp\t\n", 2, "without empty names"),
    ("a\tp\tb\t0.5\na\tp\tb\t1.5\n", 2, "expected a weight in [0, 1] in the fourth column, got '1.5'"),
    ("a\tp\tb\t0.5\na\tp\tb\theavy\n", 2, "got 'heavy'"),
    ("a\tp\tb\t0.5\na\tp\tb\t\n", 2, "got ''"),
    ("a\tp\tb\t0.5\na\tp\tb\tnan\n", 2, "got 'nan'"),
    (b"a\tp\tb\n\xff\tp\tb\n", 2, "expected UTF-8"),
    ("one two three\n", 1, "tab-separated"),
]


@pytest.mark.parametrize(("text", "line", "said"), BAD)
@pytest.mark.parametrize("name", ["bad.tsv", "bad.tsv.gz"])
def test_a_bad_line_is_named(tmp_path, name, text, line, said):
    path = write(tmp_path / name, text)
    with pytest.raises(DataError) as caught:
        read(path)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"{path}:{line}: expected")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_bad_line_far_down_has_its_number(tmp_path, monkeypatch):
    monkeypatch.setattr("nlil.data.files.BLOCK_BYTES", 1000)
    path = write(tmp_path / "f.tsv", "a\tp\tb\n" * 5000 + "\n\nbroken\n" + "a\tp\tb\n" * 10)
    with pytest.raises(DataError, match=r"f\.tsv:5003: expected"):
        read(path)


def test_csv_with_an_open_quote(tmp_path):
    with pytest.raises(DataError, match=r"f\.csv:1: expected balanced double quotes"):
        read(write(tmp_path / "f.csv", '"a,p,b\n'))


@pytest.mark.parametrize("text", ["", "\n\n", "subject\tpredicate\tobject\n"])
def test_an_empty_file_is_refused(tmp_path, text):
    with pytest.raises(DataError, match="expected at least one training fact, got none"):
        read(write(tmp_path / "f.tsv", text))


def test_damaged_gzip_and_missing_file(tmp_path):
    path = write(tmp_path / "f.tsv.gz", "a\tp\tb\n" * 1000)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(DataError, match="expected a complete gzip file"):
        read(path)
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "nothing.tsv")
