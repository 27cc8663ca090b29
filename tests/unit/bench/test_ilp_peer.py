"""Popper beside nlil: the folder that it gets, what is read from its output, limits, the table."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from nlil.cli.session import Session
from nlil.errors import NlilError
from nlil_bench.ilp import complete, jobs, key, peers, solved, table, write_task
from nlil_bench.ilp_peer import COMPLETE, LATE, PEER, Popper, clauses_of, more_facts
from nlil_bench.ilp_tasks import World
from nlil_bench.job import measure_here
from nlil_bench.registry import Request

OUTPUT = """1.0s Generating partial hypotheses of size: 3
1.1s ********************
1.1s New best hypothesis:
1.1s tp:2 fn:4 tn:3 fp:0 size:3
1.1s target(V0,V1):- edge(V0,V1).
1.1s ********************
1.4s ********** SOLUTION **********
1.4s Precision:1.00 Recall:1.00 TP:6 FN:0 TN:3 FP:0 Size:8
1.4s target(V0,V1):- edge(V0,V1).
1.4s target(V0,V1):- edge(V1,V0).
1.4s ******************************
"""
PYTHON = """#!{python}
import sys
assert sys.argv[1].endswith("popper.py") and "--timeout" in sys.argv
folder = sys.argv[2]
bias, bk, exs = (open(folder + "/" + name + ".pl").read() for name in ("bias", "bk", "exs"))
assert "head_pred(target,2)." in bias and "body_pred(edge,2)." in bias and "pos(target(" in exs, bias
print({output!r})
{more}
"""


@pytest.fixture
def peer(tmp_path: Path) -> Popper:
    """A folder with a program that answers with a known program."""
    return stub(tmp_path, OUTPUT)


def stub(place: Path, output: str, more: str = "") -> Popper:
    folder = place / "peer"
    python = folder / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    (folder / "popper.py").write_text("", encoding="utf-8")
    python.write_text(PYTHON.format(python=sys.executable, output=output, more=more), encoding="utf-8")
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    return Popper(folder)


def test_the_last_program_is_read() -> None:
    assert clauses_of(OUTPUT) == ["target(V0,V1):- edge(V0,V1).", "target(V0,V1):- edge(V1,V0)."]
    assert clauses_of(OUTPUT.partition("1.4s")[0]) == ["target(V0,V1):- edge(V0,V1)."]
    assert clauses_of("1.0s NO SOLUTION\n") == []


def test_the_program_of_a_peer_is_checked_like_ours(peer: Popper, tmp_path: Path) -> None:
    found = solved("undirected", 5, peers(peer))
    assert (found["solved"], found["end"]) == (True, COMPLETE)
    wrong = stub(tmp_path / "other", OUTPUT.partition("1.4s")[0])
    assert not solved("undirected", 5, peers(wrong))["solved"]


def test_a_folder_tells_the_peer_what_it_needs(tmp_path: Path) -> None:
    facts = [("piece", "s0", "p0"), ("size", "p0", "3"), ("size", "p1", "7"), ("contact", "p0", "p1")]
    write_task(World(tuple(facts), (), ()), [("s0",)], [("s1",)], tmp_path)
    complete("zendo-size", tmp_path)
    background, bias = ((tmp_path / name).read_text(encoding="utf-8") for name in ("bk.pl", "bias.pl"))
    assert "is_7(7).\n" in background
    assert "geq(7, 3).\n" in background
    assert "geq(3, 7)" not in background
    types = {line.partition("(")[2].partition(",")[0]: line for line in bias.splitlines() if line.startswith("type")}
    assert types["size"].replace("size", "").rpartition(",")[2] == types["geq"].replace("geq", "").rpartition(",")[2]
    assert types["is_7"].endswith(",)).")  # one type, and the comma that Popper asks for
    assert "enable_recursion" not in bias
    assert more_facts("grandparent", [("father", "a", "b")]) == []
    complete("even", tmp_path)
    assert {"enable_recursion.", "max_vars(6)."} < {*(tmp_path / "bias.pl").read_text(encoding="utf-8").splitlines()}
    complete("kinship-invention", tmp_path)
    assert {"enable_pi.", "max_vars(4)."} < {*(tmp_path / "bias.pl").read_text(encoding="utf-8").splitlines()}


def test_a_peer_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    folder = tmp_path / "undirected"
    write_task(World((("edge", "a", "b"),), (), ()), [("a", "b")], [("b", "b")], folder)
    complete("undirected", folder)
    slow = stub(tmp_path, OUTPUT, "while True: pass")
    answer = slow.learn(folder, limit=1)
    assert answer.end == LATE
    assert len(answer.clauses) == 2  # printed before


def test_a_peer_that_fails_is_quoted(tmp_path: Path) -> None:
    folder = tmp_path / "undirected"
    write_task(World((("edge", "a", "b"),), (), ()), [("a", "b")], [("b", "b")], folder)
    complete("undirected", folder)
    answer = stub(tmp_path, "", "sys.exit('out of luck')").learn(folder)
    assert answer.end == "failed, it said: out of luck"
    assert answer.clauses == []


def test_a_folder_without_popper(tmp_path: Path) -> None:
    with pytest.raises(NlilError, match=r"expected popper\.py and venv/bin/python .*, found no popper\.py"):
        Popper(tmp_path).check()


def test_entries_of_both_stand_in_one_row(peer: Popper) -> None:
    request = Request(Session(), peer=peer.folder, quick=True)
    entries = {}
    for job in jobs(request, "undirected"):
        entry = measure_here(job)
        entries[key(entry, job)] = {**entry, "quick": False}
    assert [*entries] == ["undirected quick", f"{PEER} undirected quick"]
    entries[f"{PEER} undirected quick"]["seeds"][0]["end"] = LATE
    (row,) = [line for line in table(entries).splitlines() if "undirected" in line]
    assert "| 1 of 1 |" in row
    assert "| 1 of 1 (1 out of time) |" in row
    assert [job["model"] for job in jobs(request, "stories")] == ["nlil"]
