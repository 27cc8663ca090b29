"""Every executable export returns exactly the answers of the rule, for every construct, on random bases."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
import strategies
import systems
from nlil.data.facts import NO_OBJECT, Facts
from nlil.data.kb import KnowledgeBase
from nlil.data.vocabulary import Vocabulary
from nlil.exports.tree import rule_tree
from nlil.logic.formula import ANY, TRUE, Anchor, And, Constant, Formula, Not, Or, Statement, Variable
from nlil.logic.parse import parse_rule
from nlil.logic.predicate import Fact, Predicate, Step
from nlil.logic.rule import Head, Rule

ENTITIES = ("ann", "it's", 'a "b"\n\\c', "Ünï 🚗", "not", "/m/0x_1")
UNARY = ("is 'red'\\", "fact", "q")
BINARY = ("/film/film/genre", "entity", "q")
PREDICATES = tuple(sorted([*(Predicate(n, 1) for n in UNARY), *(Predicate(n, 2) for n in BINARY)]))
TARGETS = ("new", 'new "fact"', "Neu\n")
NAMES = strategies.Names(UNARY, BINARY, ENTITIES)


@st.composite
def bases(draw, graphs=None):
    """Facts over nasty names; where there are graphs, each within one."""
    graphs = draw(st.booleans()) if graphs is None else graphs
    graph_of = [0, 0, 1, 0, 1, 1] if graphs else [0] * 6
    rows = [
        (p, s, o)
        for p in range(len(PREDICATES))
        for s in range(6)
        for o in (range(6) if PREDICATES[p].arity == 2 else [NO_OBJECT])
        if o < 0 or graph_of[s] == graph_of[o]
    ]
    least = draw(st.sampled_from([0, 10, 40]))
    chosen = draw(st.lists(st.sampled_from(rows), min_size=least, max_size=60, unique=True))
    weight = draw(st.sampled_from([None, 0.25, 0.75]))
    columns = np.asarray(chosen, np.int32).reshape(-1, 3)
    weights = None if weight is None else np.full(len(columns), weight, np.float32)
    if weights is not None:
        weights[::2] = 1.0
    facts = Facts(columns[:, 0], columns[:, 1], columns[:, 2], weights).unique()
    return KnowledgeBase(Vocabulary(ENTITIES), PREDICATES, facts, np.asarray(graph_of, np.int32) if graphs else None)


@st.composite
def programs(draw):
    """One rule for each of the targets, which no body mentions: what a system derives is the rule's own answers."""
    names = draw(st.lists(st.sampled_from(TARGETS), min_size=2, max_size=3, unique=True))
    return [_retarget(draw(strategies.rules(NAMES, max_steps=2, max_leaves=4)), name) for name in names]


def _retarget(rule: Rule, name: str) -> Rule:
    return replace(rule, head=Head(Predicate(name, rule.target.arity), rule.head.arguments))


def expected(kb: KnowledgeBase, rules: list[Rule]) -> list[set[Fact]]:
    world = oracle.World.of(kb).crisp()
    return [
        {Fact(rule.target, query) for query in oracle.queries(world, rule) if oracle.value(world, rule, query) > 0}
        for rule in rules
    ]


CONSTRUCTS = (
    "{}(X, Y) :- q(X, Z1), entity(Y, Z1).",
    "{}(X, Y) :- q(X, Z1), entity(Y, Z1), Z1 \\= X, Y \\= X, Y \\= Z1.",
    "{}(X) :- q(X, Z1).",
    "{}(X) :- q(X, Z1), Z1 \\= X.",
    "{}(X) :- q(Z1, X), fact(Z1).",
    "{}(X) :- q(X, Z1), q(Z1, X).",
    "{}(X) :- q(X, X).",
    "{}(X, 'it\\'s') :- entity(X, 'not').",
    "{}(ann, Y) :- q(ann, Z1), entity(Z1, Y).",
    "{}(X, ann) :- true.",
    "{}(X, Y) :- true.",
    "{}(X) :- fact(Z1).",
    "{}(X) :- q('it\\'s', Z1).",
    "{}(X) :- q(ann, 'it\\'s').",
    "{}(X) :- \\+ (q(X, Z1), fact(Z1)).",
    "{}(X) :- \\+ entity(Z1, Z2).",
    "{}(X) :- \\+ (q(Z1, Z2), fact(Z2)).",
    "{}(X, Y) :- \\+ q(X, Y).",
    "{}(X, Y) :- \\+ (q(X, Y), Y \\= X).",
    "{}(X, Y) :- q(X, Y), \\+ (entity(Y, Z1), fact(Z1)), fact(X).",
    "{}(X, Y) :- fact(X) ; q(Y, X).",
    "{}(X, Y) :- (fact(X) ; q(Y)), (q(X, Z1) ; \\+ entity(Y, Z2)).",
    "{}(X, Y) :- X = Y.",
    "{}(X, Y) :- X = Y, Y \\= X, q(X, Z1), Z1 \\= X.",
    "{}(X, Y) :- \\+ (X = Y ; X = ann).",
    "{}(X) :- \\+ true.",
    "{}(X) :- \\+ \\+ '/film/film/genre'(X, Z1), 'is \\'red\\'\\\\'(X).",
)


def fixed_base(graphs: bool) -> KnowledgeBase:
    """About a third of all facts, the same in every run."""
    graph_of = np.asarray([0, 0, 1, 0, 1, 1], np.int32)
    rows = [
        (p, s, o)
        for p, predicate in enumerate(PREDICATES)
        for s in range(6)
        for o in (range(6) if predicate.arity == 2 else [NO_OBJECT])
        if o < 0 or graph_of[s] == graph_of[o]
    ]
    columns = np.asarray(rows, np.int32)[np.random.default_rng(1).random(len(rows)) < 0.35]
    facts = Facts(columns[:, 0], columns[:, 1], columns[:, 2], None).unique()
    return KnowledgeBase(Vocabulary(ENTITIES), PREDICATES, facts, graph_of if graphs else None)


def construct_rules() -> list[Rule]:
    return [parse_rule(text.format(f"new{number}")) for number, text in enumerate(CONSTRUCTS)]


@pytest.mark.parametrize("graphs", [False, True])
@pytest.mark.parametrize("system", [*systems.IN_PROCESS, "prolog"])
def test_every_construct(system: str, graphs: bool, tmp_path: Path) -> None:
    if system == "prolog" and not systems.has_prolog():
        pytest.skip(systems.NO_PROLOG)
    kb, rules = fixed_base(graphs), construct_rules()
    run = systems.IN_PROCESS.get(system) or partial(systems.prolog, folder=tmp_path)
    wanted = expected(kb, rules)
    assert 10 < sum(map(len, wanted)) < 36 * len(rules)
    found = run(kb, rules)
    assert {str(rule): answers for rule, answers in zip(rules, found)} == dict(zip(map(str, rules), wanted))


@pytest.mark.parametrize("system", systems.IN_PROCESS)
@settings(max_examples=25, deadline=None)
@given(kb=bases(), rules=programs())
def test_answers_are_those_of_the_rule(system: str, kb: KnowledgeBase, rules: list[Rule]) -> None:
    assert systems.IN_PROCESS[system](kb, rules) == expected(kb, rules)


@pytest.mark.skipif(not systems.has_prolog(), reason=systems.NO_PROLOG)
@settings(max_examples=25, deadline=None)
@given(kb=bases(), rules=programs())
def test_prolog_answers_are_those_of_the_rule(kb: KnowledgeBase, rules: list[Rule]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert systems.prolog(kb, rules, Path(folder)) == expected(kb, rules)


@settings(max_examples=60)
@given(strategies.rules())
def test_trees_read_back(rule: Rule) -> None:
    """Read from plain JSON, as another program would: a tree says all of its rule."""
    assert rule_of(json.loads(json.dumps(rule_tree(rule)))) == rule


def rule_of(tree: Any) -> Rule:
    arguments = tuple(map(anchor_of, tree["head"]["arguments"]))
    head = Head(Predicate(tree["head"]["predicate"], len(arguments)), arguments)
    return Rule(head, formula_of(tree["body"]), tree["distinct"])


def anchor_of(tree: Any) -> Anchor:
    match tree:
        case {"variable": name}:
            return Variable(name)
        case {"constant": name}:
            return Constant(name)
    assert tree == {"any": True}
    return ANY


def formula_of(tree: Any) -> Formula:
    match tree:
        case {"path": {"from": start, "steps": steps, "to": end}}:
            walked = tuple(Step(Predicate(s["predicate"], s["arity"]), s["inverse"]) for s in steps)
            return Statement(anchor_of(start), walked, anchor_of(end))
        case {"not": argument}:
            return Not(formula_of(argument))
        case {"and": arguments}:
            return And(*map(formula_of, arguments))
        case {"or": arguments}:
            return Or(*map(formula_of, arguments))
    assert tree == {"true": True}
    return TRUE
