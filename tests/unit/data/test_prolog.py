from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from data_cases import rows, write
from nlil.datasets import load_dataset
from nlil.errors import DataError, RuleSyntaxError
from nlil.logic.formula import Constant
from nlil.logic.parse import parse_rule
from nlil.logic.text import atom_text
from strategies import names


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
    edge(/* inside */ a, 'b\\c').'Éric'('Éric', été).名(太郎).
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
        ("Éric", "Éric", "été"),
        ("太郎", "名"),
    }
    assert dataset.notes == ("f.pl: 1 directive(s) skipped",)


def test_gzip(tmp_path):
    assert rows(read(tmp_path, "p(a,b).", "f.pl.gz").kb) == {("a", "p", "b")}


BAD = [
    ("p(a,b).\nq(X) :- p(X, b).\n", 2, "got a clause with a body: 'q(X) :- p(X, b)'"),
    ("p(a,b).\n\np(X,b).\n", 3, "expected names or numbers, got the variable 'X' in 'p(X,b)'"),
    ("p(a,b).\n\n % É\n\np(Éric,\n b).\n", 5, "got the variable 'Éric' in 'p(Éric, b)'; "),
    ("p(a).\nParent(a, b).\n", 2, "so quote a name: 'Parent'"),
    ("p(a).\np(_, b).\n", 2, "got the variable '_'"),
    ("p(a, b,).\n", 1, "expected a fact p(a). or p(a, b)., got 'p(a, b,)'"),
    ("p(a).\nq.\n", 2, "got 'q'"),
    ("p(f(a)).\n", 1, "got 'p(f(a))'"),
    ("p([]).\n", 1, "got 'p([])'"),
    ("p(a).\np(b)\n", 2, "expected '.' at the end of 'p(b)', got the end of the file"),
    ("p(a).\n/* never closed\np(b).\n", 2, "expected '*/'"),
    ("p('a).\n", 1, 'got "\'a)."'),
    ("p(a).\np('b\n", 2, "not closed on its line"),
    ("p(a).\np('a\\q').\n", 2, "unknown escape"),
    ("p(a).\np('').\n", 2, "got an empty one"),
    ("p(a).\n.\n", 2, "expected a fact before '.'"),
]


@pytest.mark.parametrize(("text", "line", "said"), BAD)
def test_what_is_no_fact_is_named(tmp_path, text, line, said):
    with pytest.raises(DataError) as caught:
        read(tmp_path, text)
    assert caught.value.line == line
    assert said in str(caught.value)


def test_blocks_change_nothing(tmp_path, monkeypatch):
    facts = [f"p{i % 7}('Entity {i}', e{i})." for i in range(300)]
    text = "\n".join(facts) + "\n/* a comment\n" + 90 * "of p(x). lines\n" + "*/ q('two \\\nlines',\n\n b).\n"
    path = write(tmp_path / "f.pl", text)
    whole = load_dataset(path)
    assert ("two lines", "q", "b") in rows(whole.kb)
    monkeypatch.setattr("nlil.data.files.BLOCK_BYTES", 100)
    assert load_dataset(path).checksum == whole.checksum
    with pytest.raises(DataError, match=r"g\.pl:300: expected names .* 'X'"):
        read(tmp_path, "\n".join([*facts[:-1], "q(X)."]), "g.pl")
    with pytest.raises(DataError, match=r"g\.pl:301: expected '\*/'"):
        read(tmp_path, "\n".join([*facts, "/* q(a)\n" * 50]), "g.pl")


@settings(deadline=None, max_examples=200)
@given(names() | st.text(st.characters(categories=("L", "N", "Pc"))) | names().map(atom_text))
def test_a_rule_file_and_a_fact_file_read_every_spelling_alike(spelling):
    """A name in both, a variable in both (which a fact file refuses), or refused by both."""
    assume("\ud800" not in spelling)  # no file of UTF-8 holds it
    with TemporaryDirectory() as folder:
        try:
            kb = load_dataset(write(Path(folder) / "f.pl", f"p(a, {spelling}).")).kb
            in_fact = {other for _, _, other in rows(kb)}
        except DataError as error:
            in_fact = "variable" if "the variable" in str(error) else None
    try:
        end = parse_rule(f"h(X) :- p(X, {spelling}).").body.end
        in_rule = {end.name} if isinstance(end, Constant) else "variable"
    except RuleSyntaxError:
        in_rule = None
    # Facts have no empty name, and none that UTF-8 cannot spell.
    assert in_fact == (None if in_rule in ({""}, {"\ud800"}) else in_rule)


def test_examples_must_be_wrapped(tmp_path):
    write(tmp_path / "bk.pl", "p(a).")
    write(tmp_path / "exs.pl", "pos(p(a)).\nmaybe(p(b)).\n")
    with pytest.raises(DataError, match=r"exs\.pl:2: expected pos\(p\(a, b\)\)\. or neg"):
        load_dataset(tmp_path)
