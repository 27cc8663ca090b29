"""Noisy examples: the program of least description length, also where one clause that says too much is best alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ilp import GRANDPARENT, examples, folder, numbers
from nlil.program.clause import Clause, Literal, Symbol
from nlil.program.induce import induce
from nlil.program.noise import least_description
from nlil.program.reading import read_folder
from nlil.program.search import Search


def test_two_clauses_instead_of_one_that_says_too_much(tmp_path: Path) -> None:
    """The broad clause gains more than each exact one, so that adding one at a time ends with it."""
    exs = examples("gp", [("ann", i) for i in range(40)], [("bob", i) for i in range(40)])
    task = read_folder(folder(tmp_path, GRANDPARENT["bk"], exs, GRANDPARENT["bias"]))
    head = Literal(Symbol("gp", 2), (0, 1))
    clauses = [Clause(head, (Literal(Symbol(name, 2), (0, 1)),)) for name in ("broad", "left", "right")]
    ranges = [(0, 50), (0, 20), (20, 40)]
    masks = [np.isin(np.arange(80), np.arange(*both)) for both in ranges]
    found = least_description(task, list(zip(clauses, masks)))
    assert found is not None
    assert {clause.body[0].symbol.name for clause in found.clauses} == {"left", "right"}
    assert found.length == 4
    assert found.covered.sum() == 40


def test_recursion_with_wrong_labels(tmp_path: Path) -> None:
    """Four of 40 labels are wrong; no program fits them."""
    labels = {i: i % 2 == 0 for i in range(40)} | {7: True, 21: True, 12: False, 30: False}
    exs = examples(
        "even", [(i,) for i, good in labels.items() if good], [(i,) for i, good in labels.items() if not good]
    )
    bias = "head_pred(even, 1). body_pred(zero, 1). body_pred(succ, 2). enable_recursion. max_vars(3). max_body(3)."
    task = read_folder(folder(tmp_path, numbers(40), exs, bias))
    program = induce(task)
    assert program.texts(task) == ["even(X) :- zero(X).", "even(X) :- succ(Z1, X), succ(Z2, Z1), even(Z2)."]
    assert (len(program.missed), len(program.wrong)) == (2, 2)


def test_a_body_that_does_not_join_its_head_costs_more() -> None:
    apart = (Literal(Symbol("p", 1), (0,)), Literal(Symbol("q", 1), (1,)))
    head = Literal(Symbol("t", 2), (0, 1))
    joined = (Literal(Symbol("r", 2), (0, 2)), Literal(Symbol("r", 2), (2, 1)))
    assert Clause(head, apart).cost == Clause(head, joined).cost + 2


@pytest.mark.parametrize(("missed", "wrong", "is_noise"), [(5, 5, True), (6, 6, True), (7, 0, False), (0, 7, False)])
def test_a_program_that_is_wrong_too_often_does_not_show_noise(
    tmp_path: Path, missed: int, wrong: int, is_noise: bool
) -> None:
    exs = examples("gp", [("ann", i) for i in range(20)], [("bob", i) for i in range(20)])
    search = Search(read_folder(folder(tmp_path, GRANDPARENT["bk"], exs, GRANDPARENT["bias"])))
    covered = np.arange(40) < 20 - missed
    covered[20 : 20 + wrong] = True
    clause = Clause(search.head, (Literal(Symbol("mother", 2), (0, 1)),))
    search.all_nodes = [(clause, covered)]
    assert search._roughed() == is_noise
    assert (search.rough is not None) == is_noise
