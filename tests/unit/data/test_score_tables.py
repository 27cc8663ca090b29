"""What a classifier says: tables and arrays of scores, in every format, and what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlil.data.kb import KnowledgeBase
from nlil.data.target_scores import matrix_scores, read_target_scores, target_scores
from nlil.errors import DataError


def small_kb() -> KnowledgeBase:
    return KnowledgeBase.from_facts([("a", "red"), ("b", "blue"), ("c", "green"), ("a", "near", "b")])


def test_scores_are_divided_by_their_sum_and_the_larger_of_two_rows_counts() -> None:
    kb = small_kb()
    scores = target_scores(
        {"entity": ["b", "a", "a", "a"], "class": ["blue", "red", "blue", "blue"], "score": [0.5, 0.2, 0.3, 0.6]}, kb
    )
    assert kb.entities.names(scores.entities) == ["a", "b"]
    assert [kb.predicates[c].name for c in scores.classes] == ["blue", "red"]
    assert np.allclose(scores.dense(), [[0.75, 0.25], [1.0, 0.0]])
    assert scores.top.tolist() == [0, 0]
    assert np.allclose(scores.take(np.array([False, True])).dense(), [[1.0, 0.0]])


def test_columns_go_by_name_and_else_by_place() -> None:
    kb = small_kb()
    by_name = target_scores({"score": [1.0], "class": ["red"], "Entity": ["a"]}, kb)
    by_place = target_scores({"object": ["a"], "says": ["red"], "p": [1.0]}, kb)
    assert by_name.entities.tolist() == by_place.entities.tolist()
    assert by_name.classes.tolist() == by_place.classes.tolist()


def test_every_format_says_the_same(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kb = small_kb()
    rows = [("a", "red", 0.25), ("a", "blue", 0.75), ("c", "green", 1.0)]
    plain = "".join(f"{e}\t{c}\t{s}\n" for e, c, s in rows)
    (tmp_path / "plain.tsv").write_text(plain)
    (tmp_path / "header.tsv").write_text("Entity\tClass\tScore\n" + plain)
    (tmp_path / "quoted.csv").write_text("".join(f'"{e}",{c},{s}\n' for e, c, s in rows))
    (tmp_path / "packed.tsv.gz").write_bytes(gzip.compress(plain.encode()))
    columns = dict(zip(("entity", "class", "score"), map(list, zip(*rows))))
    pq.write_table(pa.table(columns), tmp_path / "table.parquet")
    wanted = target_scores(columns, kb)
    assert sorted(wanted.dense().max(axis=1).tolist()) == [0.75, 1.0]
    for file in sorted(tmp_path.iterdir()):
        found = read_target_scores(file, kb)
        assert found.entities.tolist() == wanted.entities.tolist(), file.name
        assert np.array_equal(found.dense(), wanted.dense()), file.name


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        (
            {"entity": ["a", "x", "y"], "class": ["red"] * 3, "score": [1.0] * 3},
            "expected entities that the data has, such as 'a', got 2 unknown ones of 3, 'x' among them",
        ),
        (
            {"entity": ["a", "b"], "class": ["red", "pink"], "score": [1.0] * 2},
            "expected classes that the data has, such as 'blue', got 1 unknown ones of 2, 'pink' among them",
        ),
        ({"entity": ["a"], "class": ["near"], "score": [1.0]}, "got 1 unknown ones of 1, 'near' among them"),
        (
            {"entity": ["a", "b"], "class": ["red"] * 2, "score": [0.5, 1.5]},
            r"row 2: expected a score in \[0, 1\], got 1",
        ),
        ({"entity": ["a"], "class": ["red"], "score": [None]}, r"row 1: expected a score in \[0, 1\], got nan"),
        ({"entity": ["a", "b"], "class": ["red"] * 2, "score": [0.0, 1.0]}, "got none for 1, 'a' among them"),
        (
            {"entity": ["a", None], "class": ["red"] * 2, "score": [1.0, 1.0]},
            "row 2: expected a name in the column entity",
        ),
        ({"entity": ["a"], "class": ["red"]}, "expected a table of entity, class, score, got the columns"),
        ({"entity": [], "class": [], "score": []}, "got no rows"),
    ],
)
def test_what_is_no_score_is_refused(columns: dict[str, list[Any]], complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        target_scores(columns, small_kb())


def test_a_matrix_may_leave_the_range_by_rounding_only() -> None:
    kb = small_kb()
    scores = matrix_scores([[1 + 1e-9, -1e-9]], ["a"], ["red", "blue"], kb)
    assert scores.label.tolist() == [0]
    assert scores.share.tolist() == [1.0]
    with pytest.raises(DataError, match=r"expected a score in \[0, 1\], got 3.0"):
        matrix_scores([[3.0, -1.0]], ["a"], ["red", "blue"], kb)
    with pytest.raises(DataError, match=r"2 entities and 2 classes, got an array of shape \(1, 2\)"):
        matrix_scores([[1.0, 0.0]], ["a", "b"], ["red", "blue"], kb)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        (
            "s.tsv",
            "a\tred\t0.5\n\na\tblue\n",
            r"s\.tsv:3: expected .* with tabs between, got 2 fields: 'a\\tblue'",
        ),
        ("s.csv", "entity,class,score\na,red,1\na,blue,lots\n", r"s\.csv:3: expected a score in \[0, 1\], got 'lots'"),
        ("s.tsv", "a\tred\t0.5\na\tblue\t1.5\n", r"s\.tsv:2: expected a score in \[0, 1\], got '1.5'"),
        ("s.tsv", "a\tred\t\n", r"s\.tsv:1: expected a score in \[0, 1\], got ''"),
        ("s.csv", 'a,red,1\n"a,blue,1\n', r"s\.csv:2: expected balanced double quotes"),
        ("s.tsv", "", r"s\.tsv: expected a table of entity, class, score, got no rows"),
    ],
)
def test_a_bad_line_of_a_file_is_named(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=complaint):
        read_target_scores(tmp_path / name, small_kb())
