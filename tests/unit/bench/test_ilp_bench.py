"""The generators of ILP tasks, the independent check, and one task of each kind."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from nlil_bench import ilp_stories
from nlil_bench.ilp import NAMES, group_of, right_on, solved, write_task
from nlil_bench.ilp_check import derived
from nlil_bench.ilp_lists import LISTS, is_right, write_folder
from nlil_bench.ilp_tasks import CLASSIC, OTHERS, World, drawn, with_noise

needs_prolog = pytest.mark.skipif(shutil.which("swipl") is None, reason="SWI-Prolog (swipl) is not installed")


@pytest.mark.parametrize("name", [*CLASSIC, *OTHERS])
def test_worlds_have_both_kinds_of_examples(name: str) -> None:
    rng = random.Random(name)
    made = {**CLASSIC, **OTHERS}[name](rng, 1)
    positives, negatives = drawn(made, rng)
    assert positives
    assert negatives
    assert not {*positives} & {*negatives}
    assert {*positives} <= {*made.true}


def test_the_check_is_strict() -> None:
    world = World((("e", "a", "b"), ("e", "b", "c")), (("a", "c"),), (("a", "b"),))
    assert right_on(["target(X, Y) :- e(X, Z), e(Z, Y)."], world)
    assert not right_on(["target(X, Y) :- e(X, Y)."], world)
    assert not right_on(["target(X, Y) :- e(X, Z), e(Z, Y).", "target(X, Y) :- e(X, Y)."], world)


def test_the_check_evaluates_recursion_and_negation() -> None:
    facts = [("e", "a", "b"), ("e", "b", "c"), ("n", "a"), ("n", "b"), ("n", "c")]
    clauses = ["r(X, Y) :- e(X, Y).", "r(X, Y) :- e(X, Z), r(Z, Y).", "s(X) :- n(X), \\+ r(X, c)."]
    found = derived(clauses, facts)
    assert ("r", "a", "c") in found
    assert {fact for fact in found if fact[0] == "s"} == {("s", "c")}


def test_noise_moves_labels() -> None:
    good, bad = [(f"p{i}",) for i in range(20)], [(f"n{i}",) for i in range(10)]
    positives, negatives = with_noise(good, bad, 0.1, random.Random(0))
    assert len([t for t in positives if t[0][0] == "n"]) == 1
    assert len([t for t in negatives if t[0][0] == "p"]) == 2


@pytest.mark.parametrize("task", ["undirected", "even", "colouring", "trains"])
def test_small_tasks_are_solved(task: str) -> None:
    found = solved(task, 5)
    assert found["solved"], found["clauses"]


@needs_prolog
def test_lists_are_checked_by_prolog(tmp_path: Path) -> None:
    true, false = write_folder("last", 0, tmp_path / "last")
    assert is_right(["f(X,Y) :- tail(X,Z), empty(Z), head(X,Y).", "f(X,Y) :- tail(X,Z), f(Z,Y)."], true, false)
    assert not is_right(["f(X,Y) :- head(X,Y)."], true, false)


def test_every_task_has_a_group(tmp_path: Path) -> None:
    assert len({*NAMES}) == len(NAMES) >= 20 + len(LISTS)
    assert {group_of(name) for name in NAMES} >= {"classic", "lists", "10 % wrong labels"}
    write_task(World((("p", "A b"),), (("x",),), ()), [("x",)], [], tmp_path)
    assert (tmp_path / "bk.pl").read_text() == "p('A b').\n"


def test_programs_of_short_stories_answer_long_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ilp_stories, "NUM_TRAINED", 250)
    monkeypatch.setattr(ilp_stories, "TESTED", (10,))
    clauses, shares = ilp_stories.measured_stories(0)
    assert shares["10"] >= 0.9
    assert all(literal.args in ((0, 2), (2, 1)) for clause in clauses for literal in clause.body)  # forward
    half = clauses[: len(clauses) // 2]
    assert ilp_stories.accuracy(half, [ilp_stories.story(random.Random(n), 10) for n in range(20)]) < 0.9
