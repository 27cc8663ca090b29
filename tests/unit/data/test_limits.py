"""Files that are small and would take much memory or time are refused with one sentence (docs/limits.md)."""

from __future__ import annotations

import gzip
import io
import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlil.config import LearnerConfig
from nlil.data import limits
from nlil.data.limits import MAX_COLUMNS, MAX_DEPTH, MAX_NAME, ShallowJson
from nlil.datasets import load_dataset
from nlil.errors import ConfigError, DataError
from nlil.exports.rule_files import RuleFile


def refused(path: Path, match: str) -> None:
    with pytest.raises(DataError, match=match) as caught:
        load_dataset(str(path))
    assert len(str(caught.value)) < 500
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("deep", ['{"a":' + "[" * 100_000, '{"a":' + "[" * 6_000 + "]" * 6_000 + "}", "[" * 100_000])
def test_deep_json(deep: str, tmp_path: Path) -> None:
    path = tmp_path / "train_sceneGraphs.json"
    path.write_text(deep)
    refused(path, f"at most {MAX_DEPTH} nested lists and objects")


def depth(value: Any) -> int:
    if not isinstance(value, list | dict):
        return 0
    return 1 + max(map(depth, value.values() if isinstance(value, dict) else value), default=0)


JSON = st.recursive(
    st.text('[]{}"\\ab'), lambda inner: st.lists(inner) | st.dictionaries(st.text('[]{}"\\'), inner), max_leaves=12
)


@given(JSON, st.integers(1, 5), st.integers(1, 9))
def test_the_depth_of_json_is_measured_exactly(value: Any, most: int, size: int) -> None:
    stream = ShallowJson(io.BytesIO(json.dumps(value).encode()), Path("x.json"))
    with pytest.MonkeyPatch.context() as context:
        context.setattr(limits, "MAX_DEPTH", most)
        try:
            while stream.read(size):
                pass
            assert depth(value) <= most
        except DataError:
            assert depth(value) > most


def test_a_line_without_end(tmp_path: Path) -> None:
    path = tmp_path / "facts.tsv.gz"
    path.write_bytes(gzip.compress(b"x" * (3 * limits.MAX_LINE)))
    refused(path, "lines of at most 16,777,216 bytes")


def test_a_clause_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nlil.data.prolog.MAX_LINE", 1000)
    path = tmp_path / "facts.pl"
    path.write_text("p(a,\n" + "b,\n" * 1000)
    refused(path, "clauses of at most 1,000 characters")


def test_a_compressed_file_that_becomes_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FREE_EXPANSION", 1 << 20)
    path = tmp_path / "facts.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tp\tb\n" * 1_000_000))
    refused(path, "compression ratio of at most 200")
    path.write_bytes(gzip.compress(b"".join(b"%d\tp\t%d\n" % (i, i * i) for i in range(100_000))))
    assert len(load_dataset(str(path)).kb.facts) == 100_000


def test_a_parquet_file_that_becomes_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FREE_EXPANSION", 1 << 20)
    path = tmp_path / "facts.parquet"
    same = pa.array(["a"] * 1_000_000).dictionary_encode()
    pq.write_table(pa.table({"subject": same, "predicate": same, "object": same}), path)
    refused(path, "compression ratio of at most 200")


def test_a_long_name(tmp_path: Path) -> None:
    path = tmp_path / "facts.tsv"
    path.write_text(f"a\tp\tb\n{'x' * (MAX_NAME + 1)}\tp\tb\n")
    refused(path, "names of at most 65,536 bytes")
    path.write_text(f"a\tp\tb\n{'x' * MAX_NAME}\tp\tb\n")
    assert len(load_dataset(str(path)).kb.facts) == 2


def test_many_columns(tmp_path: Path) -> None:
    path = tmp_path / "facts.parquet"
    pq.write_table(pa.table({f"c{i}": ["a"] for i in range(MAX_COLUMNS + 1)}), path)
    refused(path, "at most 1,000 columns")


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "facts.parquet"
    names = ["subject", "predicate", "object", "object"]
    pq.write_table(pa.table([pa.array(["a"])] * 4, names=names), path)
    refused(path, "'object' twice")


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.struct({"x": pa.int64()}), pa.map_(pa.string(), pa.int8())])
def test_nested_columns(kind: pa.DataType, tmp_path: Path) -> None:
    path = tmp_path / "facts.parquet"
    column = pa.nulls(1, kind)
    pq.write_table(pa.table({"subject": column, "predicate": pa.array(["p"]), "object": pa.array(["b"])}), path)
    refused(path, "expected")


def test_half_a_character(tmp_path: Path) -> None:
    path = tmp_path / "facts.pl"
    path.write_text("p('\\xd800\\', b).")
    refused(path, "names that are valid Unicode")


def test_deep_settings(tmp_path: Path) -> None:
    path = tmp_path / "deep.toml"
    path.write_text("x = " + "[" * 100_000)
    with pytest.raises(ConfigError, match="not a readable TOML file"):
        LearnerConfig.from_toml(path)


@pytest.mark.parametrize("text", ["Rule\t" * 20_000, "?a  " * 25_000, "?a  p" + " =" * 50_000, "\t" * 100_000])
def test_finding_the_format_of_a_rule_file_takes_no_time(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.txt"
    path.write_text(text)
    start = time.process_time()
    with pytest.raises(DataError) as caught:
        RuleFile.read(path)
    assert time.process_time() - start < 3
    assert len(str(caught.value)) < 1000


def test_deep_rules_as_json(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    path.write_text("[" * 100_000)
    with pytest.raises(DataError, match="expected a JSON list of rules"):
        RuleFile.read(path)
