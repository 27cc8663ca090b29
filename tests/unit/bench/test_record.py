"""Result files, the README's tables, and measuring in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlil.bench import scale, stats
from nlil.bench.job import measure_apart
from nlil.bench.record import machine, peak_memory_mb, read_entries, save_entries
from nlil.bench.tables import filled, kb_table, markdown, update
from nlil.errors import DataError, NlilError

ENTRY = {
    "data": "wn18", "quick": False, "num_rules": 1200, "peak_memory_mb": 512.0,
    "metrics": {"mrr": 0.9461, "hits@1": 0.94, "hits@10": 0.952}, "seconds": {"load": 1, "learn": 8.2, "evaluate": 3.1},
    "machine": {"device": "cpu", "cores": 2},
}


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


def test_kb_table_shows_ours_then_the_published() -> None:
    lines = kb_table({"wn18 cpu": ENTRY}).splitlines()
    assert lines[2] == "| wn18 | **nlil**, counting | .946 | .940 | .952 | 11 s | 0.5 GB | 1,200 | realistic; 2 cores |"
    assert lines[3].startswith("| wn18 | NLIL, the paper | .950 |  | .946 | 12 min |")


def test_quick_figures_stay_out_of_the_table() -> None:
    assert kb_table({"wn18 cpu quick": {**ENTRY, "quick": True}}) == markdown((), ())


def test_places_are_filled_and_nothing_else_changes(tmp_path: Path) -> None:
    save_entries("kb", {"wn18 cpu memory=2GiB": ENTRY}, tmp_path)
    readme = tmp_path / "README.md"
    readme.write_text("before\n<!-- bench:kb -->\nold\n<!-- /bench:kb -->\nafter\n")
    assert update(readme, tmp_path)
    text = readme.read_text()
    assert text.startswith("before\n<!-- bench:kb -->\n| data |")
    assert text.endswith("|\n<!-- /bench:kb -->\nafter\n")
    assert "counting, memory=2GiB" in text
    assert "old" not in text
    assert not update(readme, tmp_path)


def test_an_unknown_place_is_told() -> None:
    with pytest.raises(DataError, match="bench:nothing"):
        filled("<!-- bench:nothing -->\n<!-- /bench:nothing -->")


def test_stats_count_what_the_paper_counts() -> None:
    entry = stats.measure("even:10", seed=0)
    assert (entry["num_facts"], entry["num_predicates"]) == (17, 3)


def test_scale_measures_in_another_process() -> None:
    stages: list[str] = []
    entry = scale.run(2000, 0, lambda stage, done, total, note="": stages.append(stage))
    assert entry["num_triples"] == 2000
    assert 0 < entry["num_facts"] <= 2000
    assert entry["peak_memory_mb"] > 10
    assert stages[:2] == ["writing triples", "loading triples"]


def test_an_error_of_the_other_process_is_told() -> None:
    with pytest.raises(NlilError, match=r"nowhere\.tsv: no such file"):
        measure_apart({"bench": "scale", "path": "nowhere.tsv"})


@pytest.mark.parametrize("data", ["even:10", "kin", "street"])
def test_every_planted_rule_is_found_and_exact(data: str) -> None:
    planted = stats.measure(data, seed=0)["planted"]
    assert planted["rules"] == planted["found"] == planted["exact"] > 0
