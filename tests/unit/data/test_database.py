"""Facts from a SQL query on a DuckDB file."""

from __future__ import annotations

import sys

import pytest

import nlil
from data_cases import rows
from nlil.data.database import read_query
from nlil.datasets.load import lasting_source
from nlil.errors import DataError, MissingExtra

duckdb = pytest.importorskip("duckdb")
QUERY = "SELECT person AS subject, kind AS predicate, city AS object, sure AS weight FROM people"


@pytest.fixture
def place(tmp_path):
    """A file of people, as the beginning of a source."""
    path = tmp_path / "f.db"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE people (person VARCHAR, kind VARCHAR, city VARCHAR, sure DECIMAL(3, 2), since DATE)")
        made.execute("""INSERT INTO people VALUES ('ann', 'lives_in', 'rome', 1, '1999-01-01'),
            ('bob', 'lives_in', 'oslo', .5, '2003-01-01'), ('cid', 'tired', NULL, 1, '2010-01-01')""")
    return f"duckdb:///{path}?"


def test_rows_are_facts(place):
    dataset = nlil.load_dataset(place + QUERY)
    assert rows(dataset.kb) == {("ann", "lives_in", "rome"), ("bob", "lives_in", "oslo"), ("cid", "tired")}
    assert sorted(dataset.kb.facts.weight.tolist()) == [0.5, 1, 1]
    assert dataset.notes == (
        "f.db: columns read as subject=subject, predicate=predicate, object=object, weight=weight",
    )
    assert dataset.name == "f.db"


def test_columns_by_place_and_numbers_as_names(place):
    kb, _ = nlil.load(place + "SELECT 1 + 1, 'p', 3", columns="subject=3,predicate=2,object=1")
    assert rows(kb) == {("3", "p", "2")}
    assert rows(nlil.load(place + "SELECT person, kind, city FROM people WHERE city LIKE '%20' OR city='rome'")[0]) == {
        ("ann", "lives_in", "rome")
    }


def test_a_column_of_splits_and_of_times(place):
    splits = nlil.load(place + QUERY.replace("sure AS weight", "if(sure < 1, 'test', 'train') AS split"))[1]
    assert (len(splits.train), len(splits.test)) == (2, 1)
    query = place + QUERY.replace("sure AS weight", "since")
    splits = nlil.split(query, by="time", valid=0, test=1 / 3, columns="time=since")[1]
    assert (len(splits.train), len(splits.test)) == (2, 1)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT * FROM nobody", "that DuckDB can read, got: Catalog Error: Table with name nobody does not exist!"),
        ("SELEC 1", "Parser Error"),
        ("DELETE FROM people", "expected one SELECT"),
        ("SELECT 1; SELECT 2", "expected one SELECT"),
        ("COPY people TO 'OUT'", "expected one SELECT"),
        ("ATTACH 'OUT' AS other", "expected one SELECT"),
        ("SELECT * FROM read_csv('OUT')", "disabled by configuration"),
        ("SELECT * FROM 'OUT'", "that DuckDB can read"),
        ("SELECT 1", "expected the columns"),
        ("SELECT [1], 'p', 'a'", "expected names as text or whole numbers, got a column of list"),
        ("SELECT 170141183460469231731687303715884105727, 'p', 'a'", "expected columns of text or whole numbers"),
        ("SELECT city, kind, person FROM people", "row 3: expected the name of a subject, got none"),
        ("SELECT person, kind, city FROM people WHERE false", "at least one training fact"),
        ("SELECT \udcc6", "expected a query that is valid Unicode"),
        ("  ", "expected a file and a query, for example duckdb:///facts.db"),
    ],
)
def test_refused(place, tmp_path, query, said):
    (tmp_path / "secret.csv").write_text("a,p,b\n")
    with pytest.raises(DataError) as caught:
        nlil.load(place + query.replace("OUT", str(tmp_path / "secret.csv")))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (tmp_path / "secret.csv").read_text() == "a,p,b\n"


def test_no_such_file_or_no_database(tmp_path):
    (tmp_path / "f.txt").write_text("a p b\n")
    for name, said in (("none.db", "no such file"), ("f.txt", "not a valid DuckDB"), ("", "got a folder")):
        with pytest.raises(DataError, match=said):
            nlil.load(f"duckdb:///{tmp_path}/{name}?SELECT 1")
    assert not (tmp_path / "none.db").exists()


def test_without_the_package(place, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtra, match="duckdb"):
        list(read_query(place + QUERY))


def test_a_run_remembers_an_absolute_path(place, tmp_path, monkeypatch, nlil_command):
    monkeypatch.chdir(tmp_path)
    relative = f"duckdb:///f.db?{QUERY}"
    assert lasting_source(relative) == place + QUERY == lasting_source(place + QUERY)
    done = nlil_command("learn", relative, "--out", "run", "--set", "search=count", "--set", "min_support=1")
    assert done.code == 0, done.complaint
    (tmp_path / "else").mkdir()
    monkeypatch.chdir(tmp_path / "else")
    assert nlil_command("predict", tmp_path / "run", "lives_in(ann, ?)", "--json").code == 0
