"""Background clauses with lists and arithmetic, evaluated by SWI-Prolog, and lists as entities without it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ilp import folder
from nlil.errors import DataError, LimitError
from nlil.program import prolog
from nlil.program.clause import Symbol
from nlil.program.induce import induce
from nlil.program.reading import read_folder

needs_prolog = pytest.mark.skipif(shutil.which("swipl") is None, reason="SWI-Prolog (swipl) is not installed")

DROP_LAST = {
    "bk": """
        head([H|_], H). tail([_|T], T). empty([]). cons(A, B, [A|B]).
        even(A) :- number(A), 0 is A mod 2.
    """,
    "exs": """
        pos(f([1,2,3],[1,2])). pos(f([5,4],[5])). pos(f([7,8,9,2],[7,8,9])). pos(f([3],[])). pos(f([6,1,4],[6,1])).
        neg(f([1,2,3],[1])). neg(f([5,4],[4])). neg(f([7,8,9],[7,8,9])). neg(f([3],[3])). neg(f([1,2],[])).
        neg(f([2,3],[3,2])). neg(f([4,1,6],[1,6])).
    """,
    "bias": """
        max_vars(5). max_body(4). max_clauses(2). enable_recursion.
        head_pred(f,2). body_pred(tail,2). body_pred(empty,1). body_pred(head,2). body_pred(cons,3).
        type(f,(list,list)). type(tail,(list,list)). type(empty,(list,)). type(head,(list,element)).
        type(cons,(element,list,list)). direction(f,(in,out)). direction(tail,(in,out)). direction(empty,(in,)).
        direction(head,(in,out)). direction(cons,(in,in,out)).
    """,
}


@needs_prolog
def test_a_recursive_function_of_lists(tmp_path: Path) -> None:
    task = read_folder(folder(tmp_path, **DROP_LAST))
    program = induce(task)
    assert program.texts(task) == [
        "f(X, Y) :- tail(X, Y), empty(Y).",
        "f(X, Y) :- tail(X, Z1), head(X, Z2), f(Z1, Z3), cons(Z2, Z3, Y).",
    ]
    assert any("SWI-Prolog found" in note for note in task.notes)


@needs_prolog
def test_arithmetic(tmp_path: Path) -> None:
    bk = "even(A) :- 0 is A mod 2.\nhalf(A, B) :- even(A), B is A // 2."
    exs = "".join(f"{'pos' if i % 4 == 0 else 'neg'}(f({i})).\n" for i in range(0, 21))
    bias = """head_pred(f, 1). body_pred(even, 1). body_pred(half, 2). max_vars(2). max_body(2).
              direction(f, (in,)). direction(even, (in,)). direction(half, (in, out))."""
    task = read_folder(folder(tmp_path, bk, exs, bias))
    assert induce(task).texts(task) == ["f(X) :- half(X, Z1), even(Z1)."]


@needs_prolog
@pytest.mark.parametrize(
    ("goal", "message"),
    [("shell(ls, A)", "may not touch files"), ("open(A, read, _)", "may not touch files")],
)
def test_the_system_is_out_of_reach(tmp_path: Path, goal: str, message: str) -> None:
    bk = f":- shell('touch {tmp_path}/ran').\nf(A) :- {goal}."
    with pytest.raises(DataError, match=message):
        read_folder(folder(tmp_path, bk, "pos(t(a)). neg(t(b))."))
    assert not (tmp_path / "ran").exists()


@needs_prolog
def test_time_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prolog, "SECONDS", 0.5)
    bk = "slow(A) :- findall(X, between(1, 100000000, X), Xs), length(Xs, A).\n"
    bk += "\n".join(f"p{i}(A) :- slow(A)." for i in range(60))
    with pytest.raises(LimitError, match="took more than"):
        read_folder(folder(tmp_path, bk, "pos(t(a)). neg(t(b))."))


def test_without_prolog_the_clause_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    bk = "p(a).\nq(A) :- B is A + 1, p(B)."
    with pytest.raises(DataError, match=r"bk.pl:2: .*swipl.* is not installed"):
        read_folder(folder(tmp_path, bk, "pos(t(a)). neg(t(b))."))


def test_lists_become_entities(tmp_path: Path) -> None:
    """Whether a list has a b in it: head/2, tail/2 and empty/1 come with the lists of the examples."""
    bk = "is_b(b)."
    exs = """pos(f([a,b])). pos(f([b])). pos(f([a,a,b,a])). pos(f([c,b])).
             neg(f([a])). neg(f([])). neg(f([c,a])). neg(f([a,c,a]))."""
    task = read_folder(folder(tmp_path, bk, exs))
    assert Symbol("tail", 2) in task.base.relations
    assert induce(task).texts(task) == [
        "f(X) :- head(X, Z1), is_b(Z1).",
        "f(X) :- tail(X, Z1), f(Z1).",
    ]


@needs_prolog
def test_facts_with_pairs_are_reached(tmp_path: Path) -> None:
    """A place (3, 4) is larger than the example it belongs to, but a fact gives it."""
    near = [(1, 1, 1, 2), (3, 4, 4, 4), (7, 7, 8, 8), (2, 5, 1, 4)]
    far = [(1, 1, 4, 2), (3, 4, 6, 4), (7, 7, 2, 8), (2, 5, 1, 8)]
    bk = "".join(f"king({i}, ({a}, {b})). rook({i}, ({c}, {d})).\n" for i, (a, b, c, d) in enumerate([*near, *far]))
    bk += "distance((A, B), (C, D), E) :- E is max(abs(A - C), abs(B - D)).\none(1)."
    bias = """head_pred(f,1).body_pred(king,2).body_pred(rook,2).body_pred(distance,3).body_pred(one,1).
        type(f,(ex,)).type(king,(ex,place)).type(rook,(ex,place)).type(distance,(place,place,int)).type(one,(int,)).
        direction(f,(in,)).direction(king,(in,out)).direction(rook,(in,out)).direction(distance,(in,in,out)).
        direction(one,(in,))."""
    exs = "".join(f"{'pos' if i < 4 else 'neg'}(f({i})). " for i in range(8))
    task = read_folder(folder(tmp_path, bk, exs, bias))
    assert induce(task).texts(task) == ["f(X) :- king(X, Z1), rook(X, Z2), distance(Z1, Z2, Z3), one(Z3)."]


def test_every_tail_of_a_list_is_an_entity_named_as_its_text() -> None:
    found = prolog.list_facts([(Symbol("p", 1), ("[a, [b], 'C d'|e]",))], {Symbol("empty", 1): None})
    assert [(str(symbol.name), values) for symbol, values in found] == [
        ("head", ("[a, [b], 'C d'|e]", "a")),
        ("tail", ("[a, [b], 'C d'|e]", "[[b], 'C d'|e]")),
        ("head", ("[[b], 'C d'|e]", "[b]")),
        ("tail", ("[[b], 'C d'|e]", "['C d'|e]")),
        ("head", ("[b]", "b")),
        ("tail", ("[b]", "[]")),
        ("head", ("['C d'|e]", "'C d'")),
        ("tail", ("['C d'|e]", "e")),
    ]


def test_a_list_whose_tails_would_fill_the_memory_is_refused() -> None:
    some = [(Symbol("p", 1), (f"[{', '.join(['a'] * size)}]",)) for size in (prolog.MAX_ITEMS, prolog.MAX_ITEMS + 1)]
    assert len(prolog.list_facts(some[:1], {})) == 2 * prolog.MAX_ITEMS + 1
    with pytest.raises(DataError, match=r"at most 500 items, since .* got one of 501"):
        prolog.list_facts(some[1:], {})
