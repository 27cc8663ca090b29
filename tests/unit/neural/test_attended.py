"""What a trained target attends to: every choice by name, and the path of the rule."""

from __future__ import annotations

import numpy as np
import pytest

import kbs
from attention_cases import MAIN, uncle_attentions
from nlil import KnowledgeBase, RuleSet, parse_rule
from nlil.logic.labels import Labels
from nlil.logic.predicate import Predicate
from nlil.logic.simplify import canonical
from nlil.neural.attended import MOST_CHOICES, Attended, attended, trained_targets
from nlil.neural.space import Kind, Space, Start

UNCLE = Predicate("uncle", 2)


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return kbs.family()


@pytest.fixture(scope="module")
def found(kb: KnowledgeBase) -> Attended:
    return attended(uncle_attentions(kb), UNCLE, RuleSet.empty(kb), linked=False)


def strips(found: Attended, layer: int) -> dict[str, list[str]]:
    """The names of each strip, the largest choice first."""
    return {strip.title: [choice.name for choice in strip.choices] for strip in found.layers[layer].strips}


def path(found: Attended, layer: int) -> list[str]:
    return [strip.title for strip in found.layers[layer].strips if strip.on_path]


def test_the_largest_choices_say_the_rule(found: Attended) -> None:
    assert found.rule is not None
    said = "uncle(X, Y) :- father(Z1, X), father(Z1, Z2), mother(Z2, Y), \\+ married(X, Y)."
    assert canonical(found.rule) == canonical(parse_rule(said))
    assert [layer.title.partition(":")[0] for layer in found.layers] == [
        "Operators of each step",
        "Statements",
        "Formulas of level 1",
        "The formula that is the rule",
    ]


def test_operators_and_the_steps_that_the_rule_walks(found: Attended) -> None:
    names = strips(found, 0)
    assert names["step 1"][0] == "father⁻¹"
    assert names["step 2"][0] == "father"
    assert set(names["step 1"]) == {"father", "father⁻¹", "mother", "mother⁻¹", "married", "married⁻¹"}
    assert path(found, 0) == ["step 1", "step 2"]


def test_arguments_are_starts_with_the_path_from_there(found: Attended) -> None:
    names = strips(found, 1)
    assert names["mother: first argument"][0] == "X → father⁻¹ → father"
    assert names["mother: second argument"][0] == "Y"
    assert "anything" in names["mother: second argument"]
    assert {title.partition(":")[0] for title in path(found, 1)} == {"mother", "married"}
    for strip in found.layers[1].strips:
        assert strip.choices[0].weight == pytest.approx(MAIN)
        assert len(strip.choices) == MOST_CHOICES
        assert strip.num_others == 9 - MOST_CHOICES, "padding has no name"


def test_formulas_name_what_they_join_and_with_which_sign(found: Attended) -> None:
    names = strips(found, 2)
    assert names["formula 1.1: first"][0] == "father(Z1, X), father(Z1, Z2), mother(Z2, Y)"
    assert names["formula 1.1: second"][0] == "not: married(X, Y)"
    assert path(found, 2) == ["formula 1.1: first", "formula 1.1: second"]
    assert strips(found, 3)["the rule is"][0] == "formula 1.1"


def test_choices_of_all_weights_add_up(found: Attended) -> None:
    for layer in (found.layers[i] for i in (0, 2, 3)):
        for strip in layer.strips:
            total = sum(choice.weight for choice in strip.choices) + strip.others
            assert total == pytest.approx(1, abs=1e-5)
            assert [c.weight for c in strip.choices] == sorted((c.weight for c in strip.choices), reverse=True)


def test_for_programs(found: Attended, kb: KnowledgeBase) -> None:
    told = found.to_dict(Labels.of(kb))
    assert told["target"] == "uncle/2"
    assert told["layers"][0]["strips"][0]["choices"][0] == {"name": "father⁻¹", "weight": pytest.approx(MAIN)}


def test_choices_that_say_nothing_of_the_head(kb: KnowledgeBase) -> None:
    arrays = uncle_attentions(kb)
    for side in ("left", "right"):
        arrays[f"uncle/2|{side}"] = np.zeros((3, 4, 3), np.float32)
        arrays[f"uncle/2|{side}"][:, 2, 0] = 1  # anything
    assert attended(arrays, UNCLE, RuleSet.empty(kb), linked=False).rule is None


def test_runs_of_older_versions_have_no_names(kb: KnowledgeBase) -> None:
    arrays = uncle_attentions(kb)
    assert trained_targets(arrays, kb.predicates) == [UNCLE]
    assert trained_targets({n: a for n, a in arrays.items() if "space" not in n}, kb.predicates) == []


def test_a_space_comes_back_from_its_arrays() -> None:
    starts = (Start(Kind.X), Start(Kind.UNARY, 3), Start(Kind.CONSTANT, 7), Start(Kind.ANY), None)
    space = Space(4, 1, np.array([0, 3, -1], np.int32), np.array([1], np.int32), starts)
    again = Space.of_arrays(4, 1, space.arrays())
    assert again.starts == starts
    assert again.operators.tolist() == [0, 3, -1]
    assert (again.target, again.arity, again.predicates.tolist()) == (4, 1, [1])
