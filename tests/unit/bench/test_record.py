"""Result files, and measuring in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlil.errors import DataError, NlilError
from nlil.progress import silent
from nlil_bench import scale, stats
from nlil_bench.job import measure_apart
from nlil_bench.record import machine, peak_memory_mb, read_entries, save_entries


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


def test_stats_count_what_the_paper_counts() -> None:
    entry = measure_apart(stats.job("even:10", 0, quick=False))
    assert (entry["num_facts"], entry["num_predicates"]) == (17, 3)
    assert {"machine", "versions", "seed", "checksum", "seconds", "peak_memory_mb"} <= set(entry)


def test_scale_measures_in_another_process() -> None:
    stages: list[str] = []
    entry = scale.run(2000, 0, False, lambda stage, done, total, note="": stages.append(stage))
    assert entry["num_triples"] == 2000
    assert 0 < entry["num_facts"] <= 2000
    assert entry["peak_memory_mb"] > 10
    assert stages[:2] == ["writing triples", "loading triples"]


def test_an_error_of_the_other_process_is_told() -> None:
    with pytest.raises(NlilError, match=r"nowhere\.tsv: no such file"):
        measure_apart({"bench": "scale", "path": "nowhere.tsv"})


@pytest.mark.parametrize("data", ["even:10", "kin", "street"])
def test_every_planted_rule_is_found_and_exact(data: str) -> None:
    planted = stats.measure(stats.job(data, 0, quick=True), silent)["planted"]
    assert planted["rules"] == planted["found"] == planted["exact"] > 0
