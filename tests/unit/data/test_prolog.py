from __future__ import annotations

import pytest

from data_cases import rows, write
from nlil.datasets import load_dataset
from nlil.errors import DataError


def read(tmp_path, text, name="f.pl"):
    return load_dataset(write(tmp_path / name, text))


def test_facts_quotes_numbers_comments_and_directives(tmp_path):
    text = r'''% people
    :- dynamic(p/2).
    parent(ann, bob). parent( bob ,'Carl O''Hara' ).   % two on a line
    /* a comment
       over lines: p(x). */ age(ann, 41). temp(ann, -1.5e3).
    'is a'("Double ""Q""", b_1).
    female(ann)
      .
    edge(/* inside */ a, 'b\\c').
    '''
    dataset = read(tmp_path, text)
    assert rows(dataset.kb) == {
        ("ann", "parent", "bob"),
        ("bob", "parent", "Carl O'Hara"),
        ("ann", "age", "41"),
        ("ann", "temp", "-1.5e3"),
        ('Double "Q"', "is a", "b_1"),
        ("ann", "female"),
        ("a", "edge", "b\\c"),
    }
    assert dataset.notes == ("f.pl: 1 directive(s) passed over",)


def test_gzip(tmp_path):
    assert rows(read(tmp_path, "p(a,b).", "f.pl.gz").kb) == {("a", "p", "b")}


BAD = [
    ("p(a,b).\nq(X) :- p(X, b).\n", 2, "got a clause with a body: 'q(X) :- p(X, b)'"),
    ("p(a,b).\n\np(X,b).\n", 3, "expected names or numbers as arguments, got 'X'"),
    ("p(a,b,c).\n", 1, "expected a fact p(a). or p(a, b)., got 'p(a, b, c)'"),
    ("p(a).\nq.\n", 2, "got 'q'"),
    ("p(f(a)).\n", 1, "got 'p(f(a))'"),
    ("p([]).\n", 1, "got 'p([])'"),
    ("p(a).\np(b)\n", 2, "expected '.' at the end of 'p(b)', got the end of the file"),
    ("p(a).\n/* never closed\np(b).\n", 2, "expected '*/'"),
    ("p('a).\n", 1, 'got "\'a)."'),
    ("p(a).\np('').\n", 2, "got an empty one"),
    ("p(a).\n.\n", 2, "expected a fact before '.'"),
]


@pytest.mark.parametrize(("text", "line", "said"), BAD)
def test_what_is_no_fact_is_named(tmp_path, text, line, said):
    with pytest.raises(DataError) as caught:
        read(tmp_path, text)
    assert caught.value.line == line
    assert said in str(caught.value)


def test_examples_must_be_wrapped(tmp_path):
    write(tmp_path / "bk.pl", "p(a).")
    write(tmp_path / "exs.pl", "pos(p(a)).\nmaybe(p(b)).\n")
    with pytest.raises(DataError, match=r"exs\.pl:2: expected pos\(p\(a, b\)\)\. or neg"):
        load_dataset(tmp_path)
