"""nlil bench curve: figures from known candidates, a peer without Java, what the table and the picture say."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

from nlil.cli.session import Session
from nlil.data.facts import Facts
from nlil.datasets import load_dataset
from nlil.errors import DataError, NlilError
from nlil.progress import silent
from nlil_bench import curve
from nlil_bench.curve import PEER, best, by_limit, curve_table, later, line, plot_curve
from nlil_bench.job import measure_here
from nlil_bench.peer import (
    HEAD,
    TAIL,
    Peer,
    Query,
    candidate_ranks,
    figures,
    measure_peer,
    queried_facts,
    read_candidates,
    write_facts,
)
from nlil_bench.registry import Request

JAVA = """#!{python}
import sys
settings = dict(line.strip().split(" = ", 1) for line in open(sys.argv[-1]))
assert settings["WORKER_THREADS"] == "2" and sys.argv[-2] == "de.unima.ki.anyburl.Learn"
for seconds in settings["SNAPSHOTS_AT"].split(","):
    with open(settings["PATH_OUTPUT"] + "-" + seconds, "w") as out:
        out.write("a rule\\n" * int(seconds))
sys.exit(1)  # as AnyBURL does
"""
PYTHON = """#!{python}
import json, sys
job = json.load(open(sys.argv[2]))
print("ranking", job["rules"])
facts = [line.split() for line in open(job["test"])]
seconds = int(job["rules"].rsplit("-", 1)[1])
answers = {{}}
for s, p, o in facts if seconds > 1 else []:
    answers.setdefault(("tail", p, s), []).extend([o, "0.9"])
    answers.setdefault(("head", p, o), []).extend([s, "0.9"])
with open(job["out"], "w") as out:
    for query, words in answers.items():
        print(*query, *words, sep="\\t", file=out)
"""


def facts(*rows: tuple[int, int, int]) -> Facts:
    subject, predicate, object_ = np.array(rows, np.int32).T
    return Facts(predicate, subject, object_)


@pytest.fixture
def peer(tmp_path: Path) -> Peer:
    """A folder with programs that write known rules and candidates."""
    folder = tmp_path / "peer"
    (folder / "venv" / "bin").mkdir(parents=True)
    (folder / "AnyBURL.jar").write_bytes(b"jar")
    for path, text in ((folder / "java", JAVA), (folder / "venv" / "bin" / "python", PYTHON)):
        path.write_text(text.format(python=sys.executable), encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Peer(folder, str(folder / "java"))


def test_ties_have_their_mean_rank_and_the_order_of_the_list_is_told_beside_it() -> None:
    listed = [(7, 0.9), (3, 0.5), (4, 0.5), (5, 0.5), (6, 0.1)]
    assert candidate_ranks(listed, 5, {5}, 20) == (3.0, 4.0)


def test_scores_that_differ_by_rounding_are_tied() -> None:
    assert candidate_ranks([(1, 0.5 + 1e-12), (2, 0.5)], 2, {2}, 5) == (1.5, 2.0)


def test_known_answers_are_left_out_but_not_the_answer_itself() -> None:
    assert candidate_ranks([(1, 0.9), (2, 0.8), (3, 0.7)], 3, {1, 3}, 10) == (2.0, 2.0)


def test_an_answer_beyond_the_list_shares_the_places_that_are_left() -> None:
    # 10 entities, one of them another answer: 9 compete, 2 are listed, 7 share the places 3 to 9.
    assert candidate_ranks([(1, 0.9), (4, 0.8), (2, 0.7)], 3, {1, 3}, 10) == (6.0, 6.0)
    assert candidate_ranks([], 3, {3}, 9) == (5.0, 5.0)


def test_figures_of_both_directions() -> None:
    asked = facts((0, 0, 1))
    known = asked + facts((0, 0, 2))
    candidates = {Query(TAIL, 0, 0): [(2, 0.9), (1, 0.5)], Query(HEAD, 0, 1): [(3, 0.9), (0, 0.9)]}
    found = figures(candidates, asked, known, 5)
    assert found["num_queries"] == 2
    assert found["mrr"] == pytest.approx((1 + 1 / 1.5) / 2)
    assert found["mrr_own_order"] == pytest.approx((1 + 1 / 2) / 2)
    assert (found["hits@1"], found["hits@3"]) == (0.5, 1.0)


def test_candidates_are_read_without_what_stands_for_unary_predicates(tmp_path: Path) -> None:
    path = tmp_path / "candidates.tsv"
    path.write_text("tail\tr2\te5\te-3\t0.9\te4\t0.25\nhead\tr2\te4\n", encoding="utf-8")
    assert read_candidates(path) == {Query(TAIL, 2, 5): [(4, 0.25)], Query(HEAD, 2, 4): []}
    path.write_text("tail\tr2\te5\te-3\t0.9\te4\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"candidates\.tsv:1: expected direction"):
        read_candidates(path)


def test_facts_are_written_with_numbers_for_names(tmp_path: Path) -> None:
    path = write_facts(facts((0, 3, 1), (1, 2, -1)), tmp_path / "train.txt")
    assert path.read_text(encoding="utf-8") == "e0\tr3\te1\ne1\tr2\te-3\n"


def test_a_peer_is_measured_at_every_snapshot(peer: Peer) -> None:
    dataset = load_dataset("kin")
    found = measure_peer(dataset, peer, {"seconds": [1, 2], "threads": 2}, silent)
    assert list(found) == [1, 2]
    assert [found[limit]["num_rules"] for limit in (1, 2)] == [1, 2]
    assert set(found[2]["rankings"]) == {"noisy-or 5", "maxplus"}
    perfect, nothing = found[2]["rankings"]["maxplus"], found[1]["rankings"]["maxplus"]
    assert perfect["num_queries"] == 2 * len(queried_facts(dataset)) > 0
    assert perfect["mrr"] == perfect["mrr_own_order"] == 1.0
    assert nothing["mrr"] < 0.1


def test_a_peer_that_writes_nothing_is_told_with_its_own_words(peer: Peer) -> None:
    Path(peer.java).write_text(f"#!{sys.executable}\nprint('out of luck')\n", encoding="utf-8")
    with pytest.raises(NlilError, match=r"no rules for 1 s; it said: out of luck"):
        measure_peer(load_dataset("kin"), peer, {"seconds": [1], "threads": 2}, silent)


def test_a_folder_without_the_programs(tmp_path: Path) -> None:
    with pytest.raises(NlilError, match=r"found no AnyBURL\.jar"):
        Peer(tmp_path).check()


def ours(limit: int, mrr: float, learn: float, partial: bool = True) -> dict:
    return {
        "data": "umls",
        "model": curve.OURS,
        "limit": limit,
        "quick": False,
        "partial": partial,
        "num_rules": 1200,
        "metrics": {"mrr": mrr},
        "seconds": {"learn": learn},
        "machine": {"device": "cpu", "cores": 2},
    }


def theirs(limit: int, noisy: float, own: float, maxplus: float) -> dict:
    def figures(mrr: float, order: float) -> dict:
        hits = {f"hits@{k}{ending}": 0.5 for k in (1, 3, 10) for ending in ("", "_own_order")}
        return {"mrr": mrr, "mrr_own_order": order, "num_queries": 4, **hits}

    rankings = {"noisy-or 5": figures(noisy, own), "maxplus": figures(maxplus, maxplus)}
    return {
        "data": "umls",
        "model": PEER,
        "limit": limit,
        "quick": False,
        "rankings": rankings,
        "num_rules": 3,
        "metrics": best(rankings),
        "seconds": {"learn": float(limit)},
        "machine": {"device": "cpu", "cores": 2},
    }


def entries(*rows: dict) -> dict:
    return {curve.key(row): row for row in rows}


def test_the_kindest_figure_of_the_peer_counts() -> None:
    found = best(theirs(10, 0.8, 0.85, 0.82)["rankings"])
    assert (found["mrr"], found["ranking"], found["own_order"]) == (0.85, "noisy-or 5", True)


def test_a_run_that_came_to_its_end_stands_for_later_limits() -> None:
    done = ours(10, 0.9, 7.5, partial=False)
    copies = later(done, (5, 10, 50, 100))
    assert [(copy["limit"], copy["seconds"]["learn"]) for copy in copies.values()] == [(50, 7.5), (100, 7.5)]
    assert later(ours(10, 0.9, 10.1), (10, 50)) == {}


def test_the_table_has_the_difference_to_the_best_ranking() -> None:
    table = curve_table(entries(ours(10, 0.9, 10.2), theirs(10, 0.8, 0.85, 0.82), ours(50, 0.95, 31, False)))
    row, later_row = table.splitlines()[2:4]
    assert row == "| umls | 10 s | .900 | 10.2 s | 1,200 | .800 | .850 | .820 | .820 | 3 | +0.050 | 2 cores |"
    assert later_row.startswith("| umls | 50 s | .950 | 31.0 s |")
    assert curve_table({}) == "Not measured yet."
    assert curve_table(entries({**ours(10, 0.9, 10.2), "quick": True})) == "Not measured yet."


def test_a_run_over_its_limit_is_drawn_where_it_ended(tmp_path: Path) -> None:
    kept = entries(ours(10, 0.9, 14.0), ours(50, 0.95, 31.0, False), theirs(10, 0.8, 0.85, 0.82))
    assert line(by_limit(kept)["umls"], curve.OURS) == [(14.0, 0.9), (50.0, 0.95)]
    assert plot_curve(kept, tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_the_entries_can_be_kept(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(peer.folder), prepend=":")  # its java is found first
    request = Request(Session(), quick=True)
    job = request.job("curve", "kin", model=PEER, seconds=[2], peer=str(peer.folder), threads=2)
    (entry,) = json.loads(json.dumps(measure_here(job)))["entries"].values()
    assert entry["metrics"]["mrr"] == 1.0
    assert {"checksum", "machine", "versions", "commit", "date", "peak_memory_mb", "seed", "config", "seconds"} <= set(
        entry
    )
    assert curve.key(entry) == "kin anyburl 2s quick"
