"""nlil bench theory: what it measures, its table."""

from __future__ import annotations

import numpy as np

from nlil.cli.session import Session
from nlil.datasets import load_dataset
from nlil.learning.learner import Learner
from nlil.progress import silent
from nlil_bench import theory
from nlil_bench.registry import Request


def test_sizes_and_ways_are_measured_on_the_same_facts() -> None:
    request = Request(Session(), settings=("max_length=2", "search=count"))
    entry = theory.measure(request.job("theory", "kin:60"), silent)
    assert list(entry["sizes"]) == ["5", "10", "20", "50", "100", "200"]
    for ways in entry["sizes"].values():
        assert set(ways) == set(theory.WAYS)
        assert ways["theory"]["num_rules"] == ways["without_table"]["num_rules"] < entry["pool"]["num_rules"]
        assert all(0 < way["mrr"] <= 1 and way["atoms"] >= way["num_rules"] for way in ways.values())
    counts = [ways["theory"]["num_rules"] for ways in entry["sizes"].values()]
    assert counts == sorted(counts)
    assert entry["seconds"]["theory"] > 0


def test_the_heaviest_rules_are_the_first_of_each_target_without_priors() -> None:
    dataset = load_dataset("kin:40")
    pool = Learner().fit(dataset.kb).rules
    rows = theory.heaviest(pool, 3)
    assert np.bincount(pool.head[rows]).max() == 3
    assert not pool.is_prior[rows].any()
    for head in np.unique(pool.head):
        mine = rows[pool.head[rows] == head]
        others = np.setdiff1d(np.flatnonzero((pool.head == head) & ~pool.is_prior), mine)
        assert not len(others) or pool.weights[mine].min() >= pool.weights[others].max()


def test_the_table_gives_shares_of_what_all_rules_reach() -> None:
    def way(mrr: float) -> dict[str, float]:
        return {"mrr": mrr, "num_rules": 40, "atoms": 99}

    sizes = {str(size): {name: way(0.4) for name in theory.WAYS} for size in (5, 10, 20, 50, 100, 200)}
    pool = {"mrr": 0.5, "num_rules": 1_000, "atoms": 2_000}
    entry = {"data": "umls", "quick": False, "pool": pool, "sizes": sizes, "seconds": {"pool": 3.0, "theory": 4.5}}
    table = theory.theory_table({"umls": entry})
    assert ".400 (80.0%)" in table
    assert "40, 99" in table
    assert "3.0 + 1.5 s" in table
    other = {"umls theory_author=formulas": entry}
    assert "formulas" not in theory.theory_table({"umls": entry, **other})  # these have a table of their own
    assert "formulas" in theory.theory_table(other)  # when nothing else was measured
    assert theory.theory_table({"umls": {**entry, "quick": True}}) == "Not measured yet."


def test_authors_are_compared_at_equal_numbers_of_atoms() -> None:
    def entry(mrr: float, atoms: int) -> dict[str, object]:
        sizes = {
            str(size): {"theory": {"mrr": mrr + size / 1000, "num_rules": size, "atoms": atoms * size}}
            for size in (5, 10, 20, 50, 100, 200)
        }
        return {"data": "umls", "quick": False, "sizes": sizes}

    table = theory.authors_table({"umls": entry(0.5, 10), "umls theory_author=formulas": entry(0.6, 20)})
    rows = [line for line in table.splitlines() if line.startswith("| umls")]
    assert rows == [
        "| umls theory_author=formulas | 5 | 100 | 50 | .605 | .505 | .510 |",
        "| umls theory_author=formulas | 20 | 400 | 200 | .620 | .520 | .543 |",
        "| umls theory_author=formulas | 100 | 2,000 | 1,000 | .700 | .600 | .700 |",
    ]
