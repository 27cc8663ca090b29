"""nlil bench ladder: sizes, planted rules, the table; one small step of it, slow."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlil.cli.session import Session
from nlil.errors import ConfigError
from nlil_bench import ladder
from nlil_bench.registry import Request
from nlil_bench.results import read_entries
from nlil_bench.skewed import Written

ENTRY = {
    "num_facts": 300_000,
    "memory": "1GiB",
    "num_rules": 1_234_567,
    "planted": 20,
    "planted_found": 19,
    "metrics": {"mrr": 0.25},
    "seconds": {"learn": 61.0, "evaluate": 12.0},
    "cpu_seconds": {"learn": 90.0, "evaluate": 20.0},
    "peak_mb": {"learn": 1_100.0, "evaluate": 700.0},
    "load": 3.0,
    "machine": {"cores": 2, "device": "cpu"},
    "quick": False,
}


def test_sizes_are_millions_of_facts() -> None:
    assert ladder.names(Request(Session(), sizes="0.3,3")) == ["0.3", "3"]
    assert ladder.names(Request(Session()))[-1] == "20"
    for wrong in ("many", "0", "1,-1"):
        with pytest.raises(ConfigError, match="millions of facts"):
            ladder.names(Request(Session(), sizes=wrong))


def test_the_table_has_time_memory_rules_and_what_was_found() -> None:
    row = ladder.ladder_table({"0.3 1GiB": ENTRY}).splitlines()[2]
    for shown in ("0.3", "1GiB", "61 s", "1,100 MB", "1,234,567", "19 of 20", ".250"):
        assert f"| {shown} |" in row


def test_a_planted_rule_counts_with_distinct_variables_or_without(tmp_path: Path) -> None:
    import nlil

    kb = nlil.KnowledgeBase.from_facts([(f"a{i}", name, f"b{i}") for i in range(20) for name in "pq"])
    nlil.Learner(search="count", rules_per_target=0).fit(kb).save(tmp_path / "run")
    written = Written(40, 0, 0, ("p(X, Y) :- q(X, Y).", "p(X, Y) :- q(Y, X)."))
    assert ladder.planted_found(tmp_path / "run", written) == 1


@pytest.mark.slow
def test_one_small_step(tmp_path: Path) -> None:
    from nlil_bench.command import bench

    bench(Session(quiet=True, as_json=True, memory="1GiB"), "ladder", quick=True, sizes="0.003", out=tmp_path)
    (entry,) = read_entries("ladder", tmp_path).values()
    assert entry["planted_found"] > 10
    assert entry["peak_mb"]["learn"] < 1_800
    assert entry["planned"]["memory_mb"] < 2 * entry["peak_mb"]["learn"]
    assert (tmp_path / "ladder_quick.png").exists()
