"""Facts divided by entity and by time, from files and from tables in memory."""

from __future__ import annotations

import gzip

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nlil
from data_cases import write
from nlil.errors import ConfigError, DataError

HEADER = "source,type,target,since\n"
ROWS = [("a", "p", "b", "1999"), ("c", "p", "a", "2003"), ("b", "p", "c", "2001"), ("c", "q", "b", "2003")]
ROWS += [("a", "p", "b", "2010"), ("a", "q", "c", "1990")]
TEXT = HEADER + "".join(",".join(row) + "\n" for row in ROWS)
BY_TIME = ({"p(a, b)", "q(a, c)"}, {"p(b, c)"}, {"p(c, a)", "q(c, b)"})
"""p(a, b) of 2010 was a fact in 1999 already; both facts of 2003 are on one side."""
SHARES = {"by": "time", "valid": 1 / 6, "test": 0.5, "columns": "time=since"}


def parts(found):
    kb, splits = found
    assert kb.facts is splits.train or len(kb.facts) == len(splits.train)
    return tuple({str(fact) for fact in kb.named(splits[name])} for name in ("train", "valid", "test"))


def test_by_time_in_every_format(tmp_path):
    lines = "".join(
        f'{{"source": "{a}", "type": "{p}", "target": "{b}", "since": {since}}}\n' for a, p, b, since in ROWS
    )
    write(tmp_path / "f.csv", TEXT)
    write(tmp_path / "f.jsonl", lines)
    (tmp_path / "f.csv.gz").write_bytes(gzip.compress(TEXT.encode()))
    columns = dict(zip(HEADER.strip().split(","), zip(*ROWS)))
    columns["since"] = pa.array([pd.Timestamp(f"{year}-01-01") for year in columns["since"]])
    pq.write_table(pa.table(columns), tmp_path / "f.parquet")
    for name in ("f.csv", "f.jsonl", "f.csv.gz", "f.parquet"):
        assert parts(nlil.split(tmp_path / name, **SHARES)) == BY_TIME, name
    for table in (pa.table(columns), pa.table(columns).to_pandas()):
        assert parts(nlil.split(table, **SHARES)) == BY_TIME


def test_by_time_without_a_header_and_of_all_splits(tmp_path):
    lines = [" ".join(row).replace(" ", "\t") + "\n" for row in ROWS]
    write(tmp_path / "train.tsv", "".join(lines[3:]))
    write(tmp_path / "test.tsv", "".join(lines[:3]))
    write(tmp_path / "labels.tsv", "a\tAnn\n")
    kb, splits = nlil.split(tmp_path, **{**SHARES, "columns": "time=4"})
    assert parts((kb, splits)) == BY_TIME
    assert kb.entity_labels == {"a": "Ann"}


def test_dates_are_in_the_order_of_their_text(tmp_path):
    write(tmp_path / "f.csv", "s,p,o,t1\na,p,b,2001-10-01\nb,p,c,2001-02-01T10:00\nc,p,a,2001-02-01\n")
    found = parts(nlil.split(tmp_path / "f.csv", by="time", valid=1 / 3, test=1 / 3, columns="time=t1"))
    assert found == ({"p(c, a)"}, {"p(b, c)"}, {"p(a, b)"})


def test_facts_of_one_date_stay_together(tmp_path):
    days = ["2001-02-01", "2001-02-02", "2001-02-02", "2001-02-03"]
    write(tmp_path / "f.csv", "s,p,o,t1\n" + "".join(f"a{i},p,b,{day}\n" for i, day in enumerate(days)))
    found = parts(nlil.split(tmp_path / "f.csv", by="time", valid=0, test=0.5, columns="time=t1"))
    assert found == ({"p(a0, b)", "p(a1, b)", "p(a2, b)"}, set(), {"p(a3, b)"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEXT.replace("2010", ""), "f.csv:6: expected a time in the time column"),
        (TEXT.replace("2010", "soon"), "all numbers, or all dates as 2024-12-31, got 'soon'"),
        (TEXT.replace("2010", "2010-01-01").replace("1999", "1999.5"), "got '1999.5'"),
    ],
)
def test_times_that_are_none(tmp_path, text, said):
    with pytest.raises(DataError, match=said):
        nlil.split(write(tmp_path / "f.csv", text), **SHARES)


def test_what_has_no_times(tmp_path):
    with pytest.raises(ConfigError, match="expected the column of times, for example --columns time=since"):
        nlil.split(write(tmp_path / "f.csv", TEXT), by="time")
    with pytest.raises(DataError, match="expected a table with a column of times, got list"):
        nlil.split(list(ROWS), **SHARES)
    with pytest.raises(DataError, match="expected a column of times in every table"):
        nlil.split(write(tmp_path / "f.ttl", "<urn:a> <urn:p> <urn:b> ."), **SHARES)
    frame = pd.DataFrame([*ROWS[:-1], ("a", "q", "c", None)], columns=HEADER.strip().split(","))
    with pytest.raises(DataError, match="row 6: expected a time"):
        nlil.split(frame, **SHARES)


def test_a_column_of_times_changes_nothing_else(tmp_path):
    path = write(tmp_path / "f.csv", TEXT)
    assert nlil.load(path, columns="time=since")[0].facts.weight is None
    assert len(nlil.load(path, columns="time=since")[0].facts) == 5


def test_by_entity_and_at_random_from_anything(tmp_path):
    facts = [(f"a{i}", "p", f"b{i % 7}") for i in range(40)]
    train, valid, test = parts(nlil.split(facts, by="entity", valid=0.1, test=0.2, seed=1))
    assert (len(train), len(valid), len(test)) == (28, 4, 8)
    subjects = [{fact.split("(")[1].split(",")[0] for fact in part} for part in (train, valid, test)]
    assert not subjects[0] & subjects[2]
    kb, splits = nlil.split(facts, test=0.2)
    assert sum(map(len, parts((kb, splits)))) == 40
    assert parts(nlil.split(facts, test=0.2)) == parts((kb, splits))


def test_by_time_by_command(tmp_path, nlil_command):
    write(tmp_path / "f.csv", TEXT)
    words = ("split", tmp_path / "f.csv", "--out", tmp_path / "out", "--by", "time", "--valid", 1 / 6, "--test", 0.5)
    assert "--columns time=since" in nlil_command(*words).complaint
    sizes = nlil_command(*words, "--columns", "time=since", "--json").json
    assert (sizes["train"], sizes["valid"], sizes["test"]) == (2, 1, 2)
    assert (tmp_path / "out" / "test.tsv").read_text() == "c\tp\ta\nc\tq\tb\n"
