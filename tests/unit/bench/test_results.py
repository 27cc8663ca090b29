"""Result files, and measuring in a process of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nlil.cli.session import Session
from nlil.errors import DataError, NlilError
from nlil.progress import silent
from nlil_bench import scale, stats
from nlil_bench.cells import source_text
from nlil_bench.job import measure_apart, measure_here
from nlil_bench.registry import Request
from nlil_bench.results import commit, machine, peak_memory_mb, read_entries, save_entries

REQUEST = Request(Session(quiet=True))


def test_entries_are_merged_and_sorted(tmp_path: Path) -> None:
    save_entries("kb", {"b": {"x": 1}}, tmp_path)
    path = save_entries("kb", {"a": {"x": 2}}, tmp_path)
    assert list(read_entries("kb", tmp_path)) == ["a", "b"]
    save_entries("kb", {"b": {"x": 3}}, tmp_path)
    assert read_entries("kb", tmp_path) == {"a": {"x": 2}, "b": {"x": 3}}
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kb.json").write_text("[]")
    with pytest.raises(DataError, match="not a result file"):
        save_entries("kb", {}, tmp_path)


def test_machine_and_memory() -> None:
    found = machine()
    assert found["cores"] >= 1
    assert found["device"] == "cpu"
    assert 10 < peak_memory_mb() < 1e6


def test_an_entry_says_at_which_commit_and_on_which_day_it_was_measured() -> None:
    entry = measure_here(Request(Session(), quick=True).job("stats", "even:10"))
    assert re.fullmatch(r"[0-9a-f]{10}\+?", commit() or "0" * 10)  # None outside of a checkout
    assert entry["commit"] == commit()
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", entry["date"])
    assert entry["quick"]


def test_the_command_of_a_table_stands_below_it_with_every_version_of_the_code() -> None:
    def source(*stamps: dict[str, str | None]) -> str:
        return source_text("nlil bench kb", {str(i): {**stamp} for i, stamp in enumerate(stamps)})

    new: dict[str, str | None] = {"commit": "b1", "date": "2026-02-01"}
    old: dict[str, str | None] = {"commit": "a1", "date": "2026-01-01"}
    assert source(new, new) == "Measured by `nlil bench kb` (commit b1 on 2026-02-01)."
    assert source({"commit": None}, {}) == "Measured by `nlil bench kb` (an unrecorded commit)."
    assert source(new, old, {"commit": None}, new) == (
        "Measured by `nlil bench kb`, with different versions of the code (1 at commit a1 on 2026-01-01; "
        "2 at commit b1 on 2026-02-01; 1 at an unrecorded commit)."
    )
    assert source() == "Measured by `nlil bench kb`."


def test_stats_count_what_the_paper_counts() -> None:
    entry = measure_apart(REQUEST.job("stats", "even:10"))
    assert (entry["num_facts"], entry["num_predicates"]) == (17, 3)
    assert {"machine", "versions", "seed", "checksum", "seconds", "peak_memory_mb"} <= set(entry)


def test_scale_measures_in_another_process() -> None:
    ((key, entry),) = next(scale.entries(REQUEST, "2000")).items()
    assert key == "2000"
    assert entry["num_triples"] == 2000
    assert 0 < entry["num_facts"] <= 2000
    assert entry["peak_memory_mb"] > 10
    assert set(entry["seconds"]) == {"load", "load again"}
    assert entry["memory_again_mb"] > 10
    assert entry["file_mb"] > 0


def test_an_error_of_the_other_process_is_told() -> None:
    with pytest.raises(NlilError, match=r"nowhere\.tsv: no such file"):
        measure_apart({"bench": "scale", "path": "nowhere.tsv", "cache": "nowhere"})


@pytest.mark.parametrize("data", ["even:10", "kin", "street"])
def test_every_planted_rule_is_found_and_exact(data: str) -> None:
    planted = stats.measure(REQUEST.job("stats", data), silent)["planted"]
    assert planted["rules"] == planted["found"] == planted["exact"] > 0
