"""nlil program on Popper folders: the text, the table, JSON, test examples, and refusals."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from commandline import Nlil
from ilp import GRANDPARENT, examples, folder, numbers

EVEN = examples("even", [(i,) for i in range(0, 12, 2)], [(i,) for i in range(1, 12, 2)])


def test_a_folder_in_a_program_out(nlil_command: Nlil, tmp_path: Path) -> None:
    outcome = nlil_command("program", str(folder(tmp_path / "gp", **GRANDPARENT)))
    assert outcome.code == 0
    assert "gp(X, Y) :- mother(X, Z1), father(Z1, Y)." in outcome.out
    assert "5 of 5 positive and 0 of 5 negative examples are derived; size 9" in outcome.out


def test_json_and_test_examples(nlil_command: Nlil, tmp_path: Path) -> None:
    tests = examples("even", [(12,), (18,)], [(13,), (19,)])
    found = nlil_command("program", str(folder(tmp_path / "even", numbers(20), EVEN, test=tests)), "--json").json
    assert found["clauses"] == ["even(X) :- zero(X).", "even(X) :- succ(Z1, X), succ(Z2, Z1), even(Z2)."]
    assert found["solved"] is True
    assert (found["positives"], found["negatives"]) == (6, 6)
    assert found["test_accuracy"] == found["test_precision"] == found["test_recall"] == 1.0
    assert found["seconds"] > 0


@pytest.mark.parametrize("seed", ["0", "1", "7"])
def test_the_same_for_every_seed(nlil_command: Nlil, tmp_path: Path, seed: str) -> None:
    data = str(folder(tmp_path / "even", numbers(12), EVEN))
    assert nlil_command("program", data, "--json", "--seed", seed).json["clauses"][0] == "even(X) :- zero(X)."


def test_bounds_of_the_command_line(nlil_command: Nlil, tmp_path: Path) -> None:
    outcome = nlil_command("program", str(folder(tmp_path / "gp", **GRANDPARENT)), "--max-body", "1")
    assert outcome.code == 0
    assert "5 positive examples are not derived: gp(ann, dan)" in outcome.out
    assert "max_body=1" in outcome.out


def test_facts_of_a_data_set(nlil_command: Nlil) -> None:
    found = nlil_command("program", "even:20", "--json", "--target", "even").json
    assert found["solved"]
    assert found["closed_world"]


def test_refusals(nlil_command: Nlil, tmp_path: Path) -> None:
    data = folder(tmp_path / "gp", **GRANDPARENT)
    assert "unknown target 'nobody'" in nlil_command("program", str(data), "--target", "nobody").complaint
    (data / "bias.pl").write_text("head_pred(gp, 2).\nmagic.\n")
    assert "bias.pl:2: expected head_pred" in nlil_command("program", str(data)).complaint
    assert "choose one with --target" in nlil_command("program", "kin", "--quiet").complaint


def test_it_starts_without_torch(tmp_path: Path) -> None:
    data = folder(tmp_path / "gp", **GRANDPARENT)
    code = f"""
import sys
from nlil.cli.main import run
run(["program", {str(data)!r}, "--quiet"])
print([m for m in ("torch", "numba", "pyarrow", "scipy", "pandas") if m in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_a_run_that_other_commands_read(nlil_command: Nlil, tmp_path: Path) -> None:
    data, run = folder(tmp_path / "even", numbers(12), EVEN), tmp_path / "run"
    assert nlil_command("program", data, "--out", run, "--quiet").code == 0
    rules = nlil_command("rules", run, "--format", "prolog").out
    assert "even(X) :- zero(X)." in rules
    assert len([line for line in rules.splitlines() if ":-" in line]) == 2
    shown = nlil_command("theory", run, "--target", "even").out
    assert "even(X) :- " in shown
    assert "exists" in nlil_command("program", data, "--out", run, "--quiet").complaint


def test_learn_finds_the_program_where_negatives_are_given(nlil_command: Nlil, tmp_path: Path) -> None:
    data = folder(tmp_path / "gp", **GRANDPARENT)
    outcome = nlil_command("learn", data, "--out", tmp_path / "run")
    assert outcome.code == 0
    assert "bias.pl is not read here" in outcome.err
    assert "gp/2: a program of 3 clauses derives all positive and no negative examples" in outcome.err
    rules = nlil_command("rules", tmp_path / "run", "--json").json["rules"]
    assert len(rules) == 3


def test_a_program_that_no_run_can_hold(nlil_command: Nlil, tmp_path: Path) -> None:
    bk = "move(a, b, t1). move(b, c, t2). move(c, a, t3)."
    data = folder(tmp_path / "f", bk, examples("at", [("b", "t1"), ("c", "t2"), ("a", "t3")], [("a", "t1")]))
    assert nlil_command("program", data, "--json").json["clauses"] == ["at(X, Y) :- move(_, X, Y)."]
    complaint = nlil_command("program", data, "--out", tmp_path / "run", "--quiet").complaint
    assert "cannot be stored in a run folder" in complaint
    assert "'move' takes one or two arguments, got 3" in complaint
    assert not (tmp_path / "run").exists()


def test_evaluate_judges_the_fixpoint(nlil_command: Nlil, tmp_path: Path) -> None:
    """Rules that are applied once reach no test example of a recursive program; their fixpoint is right about all."""
    tests = examples("even", [(14,), (16,), (18,)], [(13,), (15,), (19,)])
    data, run = folder(tmp_path / "even", numbers(20), EVEN, test=tests), tmp_path / "run"
    assert nlil_command("learn", data, "--out", run, "--quiet").code == 0
    figures = nlil_command("evaluate", run, "--json").json
    assert figures["num_queries"] == 3
    assert figures["fixpoint_recall"] == figures["fixpoint_accuracy"] == 1.0
