"""A run folder from anybody: every number is checked before a compiled loop uses it as an index."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nlil.config import LearnerConfig
from nlil.data.kb import KnowledgeBase
from nlil.errors import RunError
from nlil.kernel.aggregation import Aggregation
from nlil.kernel.ruleset import RuleSet
from nlil.learning.folder import sha256
from nlil.learning.run import Learned, load_run, save_run
from nlil.logic.parse import parse_rule
from nlil.logic.rule import RuleStats, ScoredRule
from nlil.theory.theory import SIZES, SizeScore, Theory, ValidationScores

TEXTS = (
    "p(X, Y) :- q(X, Y).",
    "p(X, b) :- q(X, d).",
    "p(X, Y) :- q(X, Y), \\+ r(X).",
    "r(X) :- q(X, Z1), r(Z1).",
    "p(c, Y) :- q(Z1, Y).",
)
LOW, HIGH = -(2**31), 2**31 - 1


@pytest.fixture
def run(tmp_path: Path) -> Path:
    kb = KnowledgeBase.from_facts([("a", "p", "b"), ("a", "q", "b"), ("c", "q", "d"), ("a", "r")])
    rules = RuleSet.of(kb, [ScoredRule(parse_rule(text), RuleStats(1, 2, 1, 1), 0.25) for text in TEXTS])
    one = np.zeros(1, np.int64)
    scores = {"p/2": ValidationScores(1, 0.5, tuple(SizeScore(size, 0.5) for size in SIZES))}
    theory = Theory(one, one, np.ones(1), one, one, one, one + 2, one, 20, Aggregation(), scores, weight=np.ones(1))
    learned = Learned(rules, LearnerConfig(), (kb.predicate("p"),), theory=theory)
    path = save_run(learned, tmp_path / "run", source="kin")
    assert [str(scored.rule) for scored in load_run(path).rules] == list(TEXTS)
    return path


def seal(path: Path, name: str) -> None:
    """Give the file a checksum that fits, as whoever forges it would."""
    sums = json.loads((path / "checksums.json").read_text()) | {name: sha256(path / name)}
    (path / "checksums.json").write_text(json.dumps(sums))


def forge(path: Path, name: str, change: Callable[[pa.Table, dict[str, Any]], pa.Table]) -> None:
    """Write the Parquet file again, with what `change` makes of its table and of the description in its metadata."""
    table = pq.ParquetFile(path / name).read()
    about = json.loads(table.schema.metadata[b"nlil"])
    changed = change(table, about)
    pq.write_table(changed.replace_schema_metadata({"nlil": json.dumps(about)}), path / name)
    seal(path, name)


def with_value(table: pa.Table, column: str, row: int, value: Any) -> pa.Table:
    values = table[column].to_pylist()
    values[row] = value
    return table.set_column(table.column_names.index(column), column, pa.array(values))


NUMBERS = [
    *(("rules.parquet", c) for c in ("head", "head_entity", "fixed", "body")),
    *(("bodies.parquet", c) for c in ("start", "step_1", "step_2", "end")),
    *(("theory.parquet", c) for c in ("rows",)),
]
COUNTS = [
    *(("rules.parquet", c) for c in ("support", "body_size", "head_size", "pca_body")),
    *(("theory.parquet", c) for c in ("place", "explained", "backs_up", "tried")),
]


@pytest.mark.parametrize("value", [LOW, -4, HIGH, 2**40, None, 0.5, "x", [1]])
@pytest.mark.parametrize(("name", "column"), NUMBERS)
def test_an_id_out_of_range_is_refused(name: str, column: str, value: Any, run: Path) -> None:
    def change(table: pa.Table, about: dict[str, Any]) -> pa.Table:
        if isinstance(value, int | None):
            return with_value(table, column, 0, value)
        return table.set_column(table.column_names.index(column), column, pa.array([value] * len(table)))

    forge(run, name, change)
    with pytest.raises(RunError, match=f"{column}: expected"):
        load_run(run)


@pytest.mark.parametrize(("name", "column"), COUNTS)
def test_a_count_below_zero_is_refused(name: str, column: str, run: Path) -> None:
    forge(run, name, lambda table, about: with_value(table, column, 0, -2))
    with pytest.raises(RunError, match=f"{column}: expected"):
        load_run(run)


@pytest.mark.parametrize("times", [0, 2])
@pytest.mark.parametrize(("name", "column"), [c for c in NUMBERS if c[1] != "step_2"])  # the width is free
def test_a_column_that_is_missing_or_there_twice_is_refused(name: str, column: str, times: int, run: Path) -> None:
    def change(table: pa.Table, about: dict[str, Any]) -> pa.Table:
        return table.append_column(column, table[column]) if times else table.drop_columns([column])

    forge(run, name, change)
    with pytest.raises(RunError):
        load_run(run)


@pytest.mark.parametrize("program", [[], [0, 99], [0, -1], [-3, 0], [0, 1], [0, -4], [0, 1, -1, -1], ["x"], [0.5], 7])
def test_a_program_that_is_none_is_refused(program: Any, run: Path) -> None:
    def change(table: pa.Table, about: dict[str, Any]) -> pa.Table:
        about["programs"] = [program]
        return table

    forge(run, "bodies.parquet", change)
    with pytest.raises(RunError):
        load_run(run)


@pytest.mark.parametrize(
    ("row", "values"),
    [
        (0, {"fixed": 1}),  # a constant at a place, and none
        (1, {"fixed": 0}),
        (1, {"head_entity": -1}),
        (1, {"fixed": 1}),  # p(b, Y) :- q(X, d)
        (4, {"fixed": 2}),
        (0, {"head": 2}),  # r(X) :- q(X, Y)
        (3, {"fixed": 1, "head_entity": 0}),  # a unary head with a constant
    ],
)
def test_a_head_that_does_not_fit_its_body_is_refused(row: int, values: dict[str, int], run: Path) -> None:
    def change(table: pa.Table, about: dict[str, Any]) -> pa.Table:
        assert [name for name, _ in about["predicates"]] == ["p", "q", "r"]
        for column, value in values.items():
            table = with_value(table, column, row, value)
        return table

    forge(run, "rules.parquet", change)
    with pytest.raises(RunError, match="is not a rule"):
        load_run(run)


def test_steps_that_are_no_line_are_refused(run: Path) -> None:
    steps = pq.ParquetFile(run / "bodies.parquet").read()["step_1"].to_pylist()
    whole = (run / "bodies.parquet").read_bytes()
    two = pq.ParquetFile(run / "bodies.parquet").read()["step_2"].to_pylist()
    longer = next(row for row, step in enumerate(two) if step >= 0)
    forge(run, "bodies.parquet", lambda table, about: with_value(table, "step_1", longer, -1))
    with pytest.raises(RunError, match="after the end of a line"):
        load_run(run)
    (run / "bodies.parquet").write_bytes(whole)
    forge(run, "bodies.parquet", lambda table, about: with_value(table, "step_1", steps.index(4), 5))
    with pytest.raises(RunError, match="no inverse"):
        load_run(run)


@pytest.mark.parametrize("value", [-1, 99])
def test_a_family_of_rules_that_are_not_there_is_refused(value: int, run: Path) -> None:
    forge(run, "theory.parquet", lambda table, about: with_value(table, "family", 0, [value]))
    with pytest.raises(RunError, match="family: expected"):
        load_run(run)


def test_scores_of_other_sizes_are_refused(run: Path) -> None:
    def change(table: pa.Table, about: dict[str, Any]) -> pa.Table:
        about["scores"]["p/2"]["sizes"] = []
        return table

    forge(run, "theory.parquet", change)
    with pytest.raises(RunError, match="scores: expected"):
        load_run(run)


@pytest.mark.parametrize("names", [["a", None, "c", "d"], [1, 2, 3, 4], [b"a", b"\xff", b"c", b"d"]])
def test_names_that_are_no_text_are_refused(names: list[Any], run: Path) -> None:
    label = pa.nulls(4, pa.large_string())
    pq.write_table(pa.table({"name": pa.array(names), "label": label}), run / "entities.parquet")
    seal(run, "entities.parquet")
    with pytest.raises(RunError):
        load_run(run)


@pytest.mark.parametrize("row", [[99, 0, 1.0, 1, 0], [0, 99, 1.0, 1, 0], [-1, 0, 1.0, 1, 0], [0, -2, 1.0, 1, 0]])
def test_an_exclusion_of_predicates_that_are_not_there_is_refused(row: list[float], run: Path) -> None:
    def change(table: pa.Table, about: dict[str, Any]) -> pa.Table:
        about["exclusions"] = [row]
        return table

    forge(run, "rules.parquet", change)
    with pytest.raises(RunError):
        load_run(run)


JSON_FILES = ("run.json", "config.json", "predicates.json", "checksums.json")


@pytest.mark.parametrize("content", ["[" * 100_000, "[]", "{}", "7", "null", '{"format": 1e400}', '"\\ud800"'])
@pytest.mark.parametrize("name", JSON_FILES)
def test_json_of_another_shape_is_refused(name: str, content: str, run: Path) -> None:
    (run / name).write_text(content)
    if name != "checksums.json":
        seal(run, name)
    if (name, content) == ("config.json", "{}"):  # the defaults
        assert load_run(run)
        return
    with pytest.raises(RunError):
        load_run(run)


def test_weights_that_are_no_numbers_are_refused(run: Path) -> None:
    weighted = replace(
        load_run(run), rules=replace(load_run(run).rules, weight=np.full(len(TEXTS), np.nan, np.float32))
    )
    save_run(weighted, run, source="kin", force=True)
    with pytest.raises(RunError, match="weight: expected finite"):
        load_run(run)
