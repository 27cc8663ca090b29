"""Bias files: constraints on clauses, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ilp import folder
from nlil.errors import DataError
from nlil.program.bias import Bias
from nlil.program.bias_file import NO_LIMIT, read_bias
from nlil.program.clause import Symbol
from nlil.program.induce import induce
from nlil.program.reading import read_folder

HEAD = """head_pred(f, 2).
body_pred(p, 2).
body_pred(q, 2).
type(f, (ex, val)).
type(p, (ex, val)).
type(q, (val, ex)).
"""


def bias_of(place: Path, *lines: str) -> tuple[Bias, Symbol, tuple[str, ...]]:
    path = place / "bias.pl"
    path.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    return read_bias(path)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (":- clause(C), #count{V : var_type(C,V,ex)} != 1.", (1, 1)),
        (":-\n    clause(C),\n    #count{V : clause_var(C,V),var_type(C,V,ex)} != 1.", (1, 1)),
        (":- clause(C), #count{V : var_type(C,V,ex)} > 2.", (0, 2)),
        (":- clause(C), #count{V : var_type(C,V,ex)} >= 2.", (0, 1)),
        (":- clause(C), #count{V : var_type(C,V,ex)} < 2.", (2, NO_LIMIT)),
        (":- clause(C), #count{V : var_type(C,V,ex)} =< 2.", (3, NO_LIMIT)),
    ],
)
def test_a_constraint_gives_the_range_of_a_type(tmp_path: Path, line: str, expected: tuple[int, int]) -> None:
    assert bias_of(tmp_path, line)[0].typed_vars == {"ex": expected}


def test_two_constraints_hold_together(tmp_path: Path) -> None:
    lines = [f":- clause(C), #count{{V : var_type(C,V,ex)}} {bound}." for bound in ("> 3", "< 2", "> 4")]
    assert bias_of(tmp_path, *lines)[0].typed_vars == {"ex": (2, 3)}


def test_predicates_that_a_clause_may_have_once(tmp_path: Path) -> None:
    lines = ("only_once(p).", ":- only_once(P), clause(C), #count{Vars : body_literal(C,P,A,Vars)} > 1.")
    assert bias_of(tmp_path, *lines)[0].once == {"p"}


@pytest.mark.parametrize(
    "line",
    [
        ":- not body_var(_, 2).",
        ":- clause(C), #count{V : var_type(C,V,ex)} = 1.",
        ":- clause(C), #sum{V : var_type(C,V,ex)} != 1.",
        ":- clause(C), #count{V : var_type(C,W,ex)} != 1.",
        ":- clause(C), #count{Vars : body_literal(C,p,A,Vars)} > 2.",
        ":- body_literal(0,_,2,_).",
        ":- clause(0), #count{V : var_type(0,V,ex)} != 1.",
        "bad_body(p, Vars) :- vars(_, Vars).",
    ],
)
def test_a_constraint_that_is_not_supported_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(DataError, match=r"bias\.pl:7: expected"):
        bias_of(tmp_path, line)


def test_variables_of_the_head_are_in_every_body(tmp_path: Path) -> None:
    assert bias_of(tmp_path, ":- not body_var(_, 1).")[0].typed_vars == {}


def test_what_names_no_predicate_of_the_bias_is_noted(tmp_path: Path) -> None:
    _, _, notes = bias_of(tmp_path, "type(r, (ex,)).", "direction(s, (in,)).")
    assert notes == (
        "type and direction of r/1: no head_pred or body_pred names it",
        "type and direction of s/1: no head_pred or body_pred names it",
    )


FACTS = "".join(f"p({i}, v{i % 3}).\n" for i in range(9))
EXAMPLES = "".join(f"{'pos' if i % 3 == j % 3 else 'neg'}(f({i}, {j})).\n" for i in range(9) for j in range(i))
BIAS = "head_pred(f, 2). body_pred(p, 2). type(f, (ex, ex)). type(p, (ex, val)).\n"


@pytest.mark.parametrize(
    ("constraint", "is_allowed"),
    [
        ("", True),
        (":- clause(C), #count{V : var_type(C,V,val)} != 1.", True),
        (":- clause(C), #count{V : var_type(C,V,ex)} != 2.", True),
        (":- clause(C), #count{V : var_type(C,V,ex)} > 1.", False),
        (":- clause(C), #count{V : var_type(C,V,val)} != 0.", False),
        (":- clause(C), #count{V : var_type(C,V,val)} < 2.", False),
        (":- clause(C), #count{Vars : body_literal(C,p,A,Vars)} > 1.", False),
    ],
)
def test_programs_respect_the_constraints(tmp_path: Path, constraint: str, is_allowed: bool) -> None:
    task = read_folder(folder(tmp_path, FACTS, EXAMPLES, BIAS + constraint))
    clause = "f(X, Y) :- p(X, Z1), p(Y, Z1)."
    assert (induce(task).texts(task) == [clause]) == is_allowed
