"""The drawing of a rule: every atom is a square, every variable a circle, nothing lies on anything else."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

import strategies
from nlil import parse_rule
from nlil.logic.formula import TRUE, Formula, Not
from nlil.logic.labels import Labels
from nlil.logic.rule import Rule
from nlil.report.factor_graph import GraphLayout, _Drawing, factor_graph

SVG = "{http://www.w3.org/2000/svg}"


def drawn(rule: Rule | str) -> ElementTree.Element:
    rule = parse_rule(rule) if isinstance(rule, str) else rule
    return ElementTree.fromstring(factor_graph(rule, Labels()))


def of_kind(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [e for e in root.iter() if kind in (e.get("class") or "").split()]


def texts(root: ElementTree.Element, kind: str) -> list[str]:
    return [e.text or "" for e in of_kind(root, kind)]


def num_truths(formula: Formula) -> int:
    if isinstance(formula, Not):
        return num_truths(formula.argument)
    return sum(map(num_truths, getattr(formula, "arguments", ()))) + (formula == TRUE)


@settings(max_examples=60, deadline=None)
@given(strategies.rules())
def test_every_atom_is_a_square_and_every_variable_a_circle(rule: Rule) -> None:
    root = drawn(rule)
    assert len(of_kind(root, "factor")) == rule.length + num_truths(rule.body)
    free = set(texts(root, "variable-name")) - {"X", "Y"}
    plan = GraphLayout(rule, Labels())
    assert free == {f"Z{n}" for n in range(1, plan.num_variables + 1)}
    assert set(texts(root, "head-name")) == {v.name for v in rule.head.variables}


@settings(max_examples=60, deadline=None)
@given(strategies.rules())
def test_parts_lie_apart_and_inside(rule: Rule) -> None:
    drawing = _Drawing(GraphLayout(rule, Labels()))
    for lane in drawing.plan.lanes:
        places = drawing._places(lane)
        edges = [(x - part.width / 2, x + part.width / 2) for x, part in zip(places, lane.parts)]
        assert edges[0][0] >= drawing.begin - 1e-9
        assert edges[-1][1] <= drawing.end + 1e-9
        assert all(one[1] < two[0] for one, two in pairwise(edges))
        assert 0 < lane.y < drawing.plan.height
    heights = [lane.y for lane in drawing.plan.lanes]
    assert all(low + 20 < high for low, high in pairwise(heights))


def test_variables_are_numbered_as_in_the_text() -> None:
    rule = parse_rule("p(X, Y) :- q(X, Z1), r(Z1, Z2), s(Z2, Y), t(Z3).")
    assert texts(drawn(rule), "variable-name") == list(dict.fromkeys(re.findall(r"Z\d", str(rule))))


@pytest.mark.parametrize(
    ("rule", "points_right"),
    [
        ("p(X, Y) :- q(X, Y).", True),
        ("p(X, Y) :- q(Y, X).", False),
    ],
)
def test_the_arrow_points_to_the_object(rule: str, points_right: bool) -> None:
    root = drawn(rule)
    (arrow,) = of_kind(root, "arrow")
    tip, *base = [float(pair.split(",")[0]) for pair in arrow.get("points", "").split()]
    assert (tip > base[0]) == points_right
    square = float(of_kind(root, "factor")[0].get("x", ""))
    assert (tip > square) == points_right


def test_a_lane_about_y_is_read_from_the_right() -> None:
    """c(Y, Z1): the arrow of c leads away from Y, to the left."""
    root = drawn("p(X, Y) :- q(X), c(Y, Z1).")
    (arrow,) = of_kind(root, "arrow")
    tip, base, _ = [float(pair.split(",")[0]) for pair in arrow.get("points", "").split()]
    assert tip < base
    heads = {name.text: float(name.get("x", "")) for name in of_kind(root, "head-name")}
    (variable,) = of_kind(root, "variable")
    assert heads["X"] < float(variable.get("x", "")) < heads["Y"]


def test_negation_is_dashed_and_a_double_one_is_not() -> None:
    once, twice = drawn("p(X) :- \\+ (q(X, Z1), r(Z1))."), drawn("p(X) :- a(X), \\+ (b(X), \\+ c(X)).")
    assert texts(once, "word") == ["not"]
    assert [len(of_kind(group, "factor")) for group in of_kind(once, "denied")] == [2]
    assert sorted(texts(twice, "word")) == ["not", "not"]
    denied = [text.text for group in of_kind(twice, "denied") for text in group.iter(f"{SVG}text")]
    assert denied == ["b"]


def test_branches_of_a_disjunction_are_boxes() -> None:
    root = drawn("even(X) :- zero(X) ; succ(Z1, X), odd(Z1).")
    assert texts(root, "word") == ["either", "or"]
    assert len(of_kind(root, "frame")) == 2


def test_what_returns_to_x_and_what_has_no_start_can_be_drawn() -> None:
    circle = drawn("p(X) :- q(X, Z1), r(Z1, X).")
    assert texts(circle, "variable-name") == ["Z1", "X"]
    assert texts(drawn("surfboard(X) :- wave(Z1)."), "variable-name") == ["Z1"]
    assert not of_kind(drawn("p(X, c) :- true."), "edge")


def test_names_are_escaped_and_long_ones_end_in_their_telling_part() -> None:
    name = "/award/award_category/nominees./award/award_nomination/<b>won"
    svg = factor_graph(parse_rule(f"p(X, Y) :- '{name}'(X, Y), q(X, 'a<script>')."), Labels())
    assert "<b>" not in svg
    assert "<script" not in svg
    assert "…/&lt;b&gt;won" in svg
    assert f"<title>{name.replace('<', '&lt;').replace('>', '&gt;')}</title>" in svg
