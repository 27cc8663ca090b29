"""Small programs are found, and found to be the smallest."""

from __future__ import annotations

from pathlib import Path

import pytest

from ilp import GRANDPARENT, examples, folder, numbers
from nlil.errors import DataError, NlilError
from nlil.program.induce import induce
from nlil.program.reading import read_folder
from nlil.program.report import shortfall
from nlil.program.task import Program, Task


def solve(place: Path) -> tuple[Task, Program]:
    task = read_folder(place)
    return task, induce(task)


def test_several_clauses(tmp_path: Path) -> None:
    task, program = solve(folder(tmp_path, **GRANDPARENT))
    assert set(program.texts(task)) == {
        "gp(X, Y) :- mother(X, Z1), mother(Z1, Y).",
        "gp(X, Y) :- mother(X, Z1), father(Z1, Y).",
        "gp(X, Y) :- father(X, Z1), father(Z1, Y).",
    }
    assert program.is_solved
    assert program.is_least
    assert program.size == 9
    assert sum(program.adds) == 5


def test_recursion_without_labelled_sub_goals(tmp_path: Path) -> None:
    """Neither 0 nor any other sub-goal of the examples is an example."""
    exs = examples("even", [(10,), (6,)], [(9,), (7,), (3,)])
    task, program = solve(folder(tmp_path, numbers(12), exs))
    assert program.texts(task) == [
        "even(X) :- zero(X).",
        "even(X) :- succ(Z1, X), succ(Z2, Z1), even(Z2).",
    ]
    assert program.is_solved


def test_two_recursive_clauses(tmp_path: Path) -> None:
    """Connected in any direction: both recursive clauses are needed."""
    bk = "edge(a, b). edge(c, b). edge(c, d). edge(e, d). edge(k, l). edge(m, l)."
    left, right = "abcde", "klm"
    joined = [(x, y) for part in (left, right) for x in part for y in part if x != y]
    apart = [(x, y) for x in left for y in right] + [(y, x) for x in left for y in right]
    _, program = solve(folder(tmp_path, bk, examples("joined", joined, apart)))
    assert program.is_solved
    assert any(clause.is_recursive() for clause in program.clauses)
    assert len(program.clauses) <= 4


def test_closed_world(tmp_path: Path) -> None:
    bk = "edge(a, b). edge(b, c). edge(c, d)."
    task, program = solve(folder(tmp_path, bk, examples("back", [("b", "a"), ("c", "b"), ("d", "c")], [])))
    assert program.texts(task) == ["back(X, Y) :- edge(Y, X)."]
    assert task.closed_world
    assert len(task.negatives) == 13
    assert any("no negative examples" in note for note in task.notes)


def test_inequality_only_where_needed(tmp_path: Path) -> None:
    """Two children: at i there are edges to i + 1, and for every third i to i + 4 too."""
    edges = [(i, (i + 1) % 24) for i in range(24)] + [(i, (i + 4) % 24) for i in range(0, 24, 3)]
    bk = "".join(f"edge({a}, {b}). " for a, b in edges)
    two, one = [(i,) for i in range(0, 24, 3)], [(i,) for i in range(24) if i % 3]
    task, program = solve(folder(tmp_path, bk, examples("two", two, one)))
    assert program.texts(task) == ["two(X) :- edge(X, Z1), edge(X, Z2), Z1 \\= Z2."]


def test_entities_and_numbers(tmp_path: Path) -> None:
    bk = "".join(f"age(p{i}, {i}). lives(p{i}, {'rome' if i % 2 else 'oslo'}).\n" for i in range(20))
    adults = [(f"p{i}",) for i in range(8, 20)]
    task, program = solve(folder(tmp_path / "old", bk, examples("old", adults, [(f"p{i}",) for i in range(8)])))
    assert program.texts(task) == ["old(X) :- age(X, Z1), Z1 >= 8."]
    romans = [(f"p{i}",) for i in range(1, 20, 2)]
    others = [(f"p{i}",) for i in range(0, 20, 2)]
    task, program = solve(folder(tmp_path / "roman", bk, examples("roman", romans, others)))
    assert program.texts(task) == ["roman(X) :- lives(X, rome)."]


def test_negation_last(tmp_path: Path) -> None:
    bk = "".join(f"bird(b{i}).\n" for i in range(12)) + "penguin(b0). penguin(b1). penguin(b2). fish(f). penguin(f)."
    flying = [(f"b{i}",) for i in range(3, 12)]
    task, program = solve(folder(tmp_path, bk, examples("flies", flying, [("b0",), ("b1",), ("b2",), ("f",)])))
    assert program.texts(task) == ["flies(X) :- bird(X), \\+ penguin(X)."]


def test_values_that_nothing_looks_at_are_not_collected(tmp_path: Path) -> None:
    """Four literals deep: every piece has one value of each of four kinds, and no predicate relates two of them."""
    kinds = ("colour", "size", "shape", "place")
    bk = "".join(f"{k}(p{i}, {k}{i >> j & 1}).\n" for i in range(16) for j, k in enumerate(kinds))
    bk += "".join(f"is_{k}{v}({k}{v}).\n" for k in kinds for v in (0, 1))
    bias = "head_pred(f, 1). type(f, (piece,)). max_body(6). max_vars(6).\n"
    bias += "".join(f"body_pred({k}, 2). type({k}, (piece, {k})).\n" for k in kinds)
    bias += "".join(f"body_pred(is_{k}{v}, 1). type(is_{k}{v}, ({k},)).\n" for k in kinds for v in (0, 1))
    exs = examples("f", [(f"p{i}",) for i in range(16) if i & 3 == 3], [(f"p{i}",) for i in range(16) if i & 3 != 3])
    _, program = solve(folder(tmp_path, bk, exs, bias))
    assert program.is_solved
    assert [clause.size for clause in program.clauses] == [5]
    assert program.num_tried < 500


def test_three_arguments(tmp_path: Path) -> None:
    bk = "move(a, b, t1). move(b, c, t2). move(c, a, t3). next(t1, t2). next(t2, t3)."
    exs = examples("then", [("a", "c", "t2"), ("b", "a", "t3")], [("a", "c", "t1"), ("c", "a", "t3"), ("a", "a", "t2")])
    task, program = solve(folder(tmp_path, bk, exs))
    assert program.is_solved
    assert program.texts(task)[0].startswith("then(X, Y, U) :- ")


def test_invented_predicate(tmp_path: Path) -> None:
    """Cycles of two, three and four nodes: one closure says it shorter than three clauses."""
    rings = [[f"{name}{i}" for i in range(size)] for name, size in zip("uvwx", (2, 3, 4, 5))]
    edges = [(a, b) for ring in rings for a, b in zip(ring, [*ring[1:], ring[0]])]
    paths = [(f"p{i}", f"p{i + 1}") for i in range(7)] + [("p7", "u0"), ("w1", "q0"), ("q0", "q1")]
    bk = "".join(f"edge({a}, {b}). " for a, b in edges + paths)
    on = [(node,) for ring in rings for node in ring]
    off = [(f"p{i}",) for i in range(8)] + [("q0",), ("q1",)]
    task, program = solve(folder(tmp_path, bk, examples("cyclic", on, off)))
    assert program.texts(task) == [
        "cyclic(X) :- inv1(X, X).",
        "inv1(X, Y) :- edge(X, Y).",
        "inv1(X, Y) :- edge(X, Z1), inv1(Z1, Y).",
    ]


def test_noise_is_not_explained(tmp_path: Path) -> None:
    """One wrong label of 40: the clause that explains the others is better than a list."""
    bk = "".join(f"size(n{i}, {'big' if i % 2 else 'small'}). near(n{i}, n{(7 * i) % 40}).\n" for i in range(40))
    positive = [(f"n{i}",) for i in range(1, 40, 2) if i != 5]
    negative = [(f"n{i}",) for i in range(0, 40, 2)] + [("n5",)]
    task, program = solve(folder(tmp_path, bk, examples("big", positive, negative)))
    assert program.texts(task) == ["big(X) :- size(X, big)."]
    assert [task.base.names[row[0]] for row in program.wrong] == ["n5"]


def test_unsolvable_says_what_resists(tmp_path: Path) -> None:
    bias = "head_pred(gp, 2). body_pred(mother, 2). max_vars(3). max_body(2)."
    task, program = solve(folder(tmp_path, GRANDPARENT["bk"], GRANDPARENT["exs"], bias))
    lines = shortfall(task, program)
    assert not program.is_solved
    assert "gp(hal, dan)" in lines[0]
    assert "max_body=2" in lines[-1]
    assert "enable_recursion" in lines[-1]


def test_types_keep_names_apart(tmp_path: Path) -> None:
    """Example 3 and coordinate 3 have one name: without types the wrong clause fits."""
    bk = "at(1, 2). at(2, 1). at(3, 3). at(4, 4). red(3). red(4)."
    exs = examples("f", [(3,), (4,)], [(1,), (2,)])
    bias = "head_pred(f, 1). body_pred(at, 2). type(f, (ex,)). type(at, (ex, coordinate)). max_body(2). max_vars(2)."
    task, program = solve(folder(tmp_path / "typed", bk, exs, bias))
    assert not program.is_solved
    plain = bias.replace("type(f, (ex,)). type(at, (ex, coordinate)).", "")
    task, program = solve(folder(tmp_path / "untyped", bk, exs, plain))
    assert program.texts(task) == ["f(X) :- at(X, X)."]


def test_rules_of_a_bias_file(tmp_path: Path) -> None:
    """As the game tasks of Popper have them: a predicate for every constant."""
    bk = "does(s1, press). does(s2, noop). does(s3, press). does(s4, noop). c_press(press). c_noop(noop)."
    exs = examples("on", [("s1",), ("s3",)], [("s2",), ("s4",)])
    bias = """max_vars(2).max_body(2).head_pred(on,1).body_pred(does,2). type(on,(ex,)). type(does,(ex,action)).
        constant(c_press, action). constant(c_noop, action).
        body_pred(P,1) :- constant(P, _).
        type(P,(T,)) :- constant(P, T)."""
    task, program = solve(folder(tmp_path, bk, exs, bias))
    assert program.texts(task) == ["on(X) :- does(X, Z1), c_press(Z1)."]
    with pytest.raises(DataError, match=r"bias.pl:5: expected conditions"):
        read_folder(folder(tmp_path, bk, exs, bias + "\n body_pred(P,1) :- colour(P)."))


def test_directions_order_the_body(tmp_path: Path) -> None:
    bias = "head_pred(even, 1). body_pred(succ, 2). body_pred(zero, 1). max_vars(3). max_body(3). enable_recursion.\n"
    ways = "direction(even, (in,)). direction(succ, (out, in)). direction(zero, (in,))."
    exs = examples("even", [(10,), (6,)], [(9,), (7,), (3,)])
    task, program = solve(folder(tmp_path / "in", numbers(12), exs, bias + ways))
    assert program.texts(task)[1] == "even(X) :- succ(Z1, X), succ(Z2, Z1), even(Z2)."
    other = ways.replace("(out, in)", "(in, out)")
    task, program = solve(folder(tmp_path / "out", numbers(12), exs, bias + other))
    assert not program.is_solved


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bias": "head_pred(gp, 2). body_pred(mother, 2).\nmax_vars(3). magic(7)."}, "bias.pl:2: expected head_pred"),
        ({"bias": "head_pred(gp, 2). body_pred(mother, 2). type(gp, (a, a))."}, "for none, got none for mother/2"),
        (
            {"bias": "head_pred(gp, 2). body_pred(mother, 2). direction(gp, (in,))."},
            "direction of gp/1: expected 2 arguments",
        ),
        ({"exs": "pos(gp(ann, dan)).\nneg gp(ann)."}, "exs.pl:2:"),
        ({"exs": "pos(gp(X, dan))."}, "exs.pl:1: expected pos"),
        ({"bk": "mother(ann, bob).\nmother(ann,, cat)."}, "bk.pl:2: expected a term"),
        ({"exs": "pos(other(ann))."}, "head_pred of bias.pl"),
        ({"exs": "neg(gp(ann, bob))."}, "expected positive examples"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, change: dict[str, str], message: str) -> None:
    with pytest.raises(NlilError, match=message) as caught:
        read_folder(folder(tmp_path, **(GRANDPARENT | change)))
    assert isinstance(caught.value, DataError)


def test_background_clauses(tmp_path: Path) -> None:
    bk = (
        GRANDPARENT["bk"]
        + "parent(X, Y) :- mother(X, Y) ; father(X, Y).\nchildless(X) :- parent(_, X), \\+ parent(X, _)."
    )
    bias = "head_pred(gp, 2). body_pred(parent, 2). max_vars(3). max_body(2)."
    task, program = solve(folder(tmp_path, bk, GRANDPARENT["exs"], bias))
    assert program.texts(task) == ["gp(X, Y) :- parent(X, Z1), parent(Z1, Y)."]
    assert any("background clauses" in note for note in task.notes)


def test_a_rest_that_only_the_recursion_uses(tmp_path: Path) -> None:
    """tail finds one value, and no literal but the recursive one looks at it."""
    bk = "even(2). even(4). odd(1). odd(3)."
    good = [("[]",), ("[2]",), ("[4, 2]",), ("[2, 2, 4]",), ("[4, 4, 4, 2]",), ("[4]",), ("[4, 2, 4]",)]
    bad = [("[1]",), ("[2, 3]",), ("[3, 2]",), ("[2, 4, 1]",), ("[2, 1, 2]",), ("[4, 2, 3, 2]",), ("[2, 2, 1]",)]
    bias = """enable_recursion. max_vars(5). max_body(4). head_pred(f,1). type(f,(list,)). direction(f,(in,)).
        body_pred(head,2). type(head,(list,item)). direction(head,(in,out)).
        body_pred(tail,2). type(tail,(list,list)). direction(tail,(in,out)).
        body_pred(empty,1). type(empty,(list,)). direction(empty,(in,)).
        body_pred(even,1). type(even,(item,)). direction(even,(in,)).
        body_pred(odd,1). type(odd,(item,)). direction(odd,(in,))."""
    task, program = solve(folder(tmp_path, bk, examples("f", good, bad), bias))
    assert program.is_solved
    assert set(program.texts(task)) == {"f(X) :- empty(X).", "f(X) :- head(X, Z1), tail(X, Z2), even(Z1), f(Z2)."}


def test_a_program_that_would_derive_millions_of_facts(tmp_path: Path) -> None:
    """Only the examples are looked at: 3,000 entities of one colour are 9 million pairs."""
    bk = "".join(f"colour(e{i}, {'red' if i < 3000 else 'blue'}).\n" for i in range(3010))
    exs = examples("alike", [("e1", "e2"), ("e2999", "e0"), ("e3001", "e3002")], [("e1", "e3001"), ("e3009", "e7")])
    bias = "head_pred(alike, 2). body_pred(colour, 2). max_vars(3). max_body(2)."
    task, program = solve(folder(tmp_path, bk, exs, bias))
    assert program.texts(task) == ["alike(X, Y) :- colour(X, Z1), colour(Y, Z1)."]
    assert program.is_solved
