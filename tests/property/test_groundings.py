"""Groundings are true, complete and named as in the text; a body that fails says where."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from nlil.kernel.grounding import count_groundings, first_failing, groundings
from nlil.kernel.normal import All, Leaf, normal_form
from nlil.logic.formula import ANY, TRUE, And, Not, Or, Statement, Variable, X, statements
from nlil.logic.rule import Rule
from property.engine_cases import SIZE, bases, rules

ids = st.integers(0, SIZE - 1)
WORDS = re.compile(r"Z\d+")


def ask(kb, rule, x, y):
    """(ids of the query, its names)"""
    query = (x,) if rule.target.arity == 1 else (x, y)
    return query, tuple(kb.entities.name(e) for e in query)


@given(kb=bases(), rule=rules(), x=ids, y=ids, hide=st.booleans())
@settings(deadline=None, max_examples=150)
def test_groundings_make_the_body_true_and_a_false_body_has_none(kb, rule, x, y, hide):
    query, names = ask(kb, rule, x, y)
    world = oracle.World.of(kb)
    value = oracle.value(world, rule, names, hide)
    found = groundings(kb, rule, *query, hide=hide)
    assert bool(found) == (value > 0) == (count_groundings(kb, rule, *query, hide=hide) > 0)
    seen = world.without(oracle.own_facts(world, rule, names)) if hide else world
    x_name, y_name = names[0], names[-1] if len(names) == 2 else None
    for grounding in found:
        assert all(fact in seen.weight for fact in grounding.facts)
        assert grounding.weight > 0
        # With the facts of the grounding and nothing else its body is true; what is absent has no full witness.
        only = oracle.World(world.entities, dict.fromkeys(grounding.facts, 1.0), world.graph, world.classes)
        assert oracle.formula_value(only, positive(rule.body), rule.distinct, x_name, y_name) > 0
        for statement in grounding.absent:
            assert oracle.formula_value(seen, statement, rule.distinct, x_name, y_name) < 1


def positive(formula):
    """The body with every negated statement taken for true: what the facts of a grounding must show."""

    def build(tree):
        if isinstance(tree, Leaf):
            return TRUE if tree.negated else tree.statement
        kind, neutral = (And, TRUE) if isinstance(tree, All) else (Or, Not(TRUE))
        return kind(neutral, neutral, *map(build, tree.parts))

    return build(normal_form(formula))


@given(kb=bases(weighted=False), rule=rules().filter(lambda r: isinstance(r.body, Statement)), x=ids, y=ids)
@settings(deadline=None, max_examples=60)
def test_all_groundings_of_a_statement_are_found_once(kb, rule, x, y):
    query, names = ask(kb, rule, x, y)
    world = oracle.World.of(kb)
    expected = []
    if oracle.is_head_tuple(world, rule, names):
        pair = (names[0], names[-1] if len(names) == 2 else None)
        found = oracle.groundings(world, rule.body, rule.distinct, *pair)
        expected = [set(facts) for _, facts in found]
    found = groundings(kb, rule, *query, limit=1000)
    assert sorted(sorted(g.facts) for g in found) == sorted(map(sorted, expected))
    assert len({g.bindings for g in found}) == len(found) == count_groundings(kb, rule, *query)


@given(kb=bases(), rule=rules(), x=ids, y=ids)
@settings(deadline=None, max_examples=60)
def test_variables_are_named_as_in_the_text(kb, rule, x, y):
    query, _ = ask(kb, rule, x, y)
    printed = set(WORDS.findall(str(rule)))
    for grounding in groundings(kb, rule, *query, limit=3):
        assert {name for name, _ in grounding.bindings if name.startswith("Z")} <= printed
        # Putting the entities in the place of the variables gives the facts: every one of them can be read off.
        entity = dict(grounding.bindings)
        text = str(rule).split(":-")[1]
        for name in sorted(entity, reverse=True):
            text = re.sub(rf"\b{name}\b", entity[name], text)
        for fact in grounding.facts:
            assert f"{fact.predicate.name}({', '.join(fact.arguments)})" in text


@given(kb=bases(), rule=rules(), x=ids, y=ids)
@settings(deadline=None, max_examples=60)
def test_a_false_body_names_its_first_failing_part(kb, rule, x, y):
    query, names = ask(kb, rule, x, y)
    world = oracle.World.of(kb)
    world = world.without({f for f, w in world.weight.items() if w == 0})
    miss = first_failing(kb, rule, *query)
    assert (miss is None) == (oracle.value(world, rule, names) > 0)
    if miss is None or not oracle.is_head_tuple(world, rule, names):
        return
    pair = (names[0], names[-1] if len(names) == 2 else None)
    assert oracle.formula_value(world, miss.statement, rule.distinct, *pair) == 0
    if isinstance(miss.statement, Statement):
        assert miss.statement in set(statements(rule.body))
        assert 0 <= miss.reached <= len(miss.statement.steps)
        assert set(miss.at) <= set(world.entities)
        assert miss.reached == longest_prefix(world, rule, miss.statement, pair)


def longest_prefix(world, rule: Rule, statement: Statement, pair) -> int:
    """How many steps of the line hold, found by grounding ever longer beginnings of it.

    With distinct variables no body variable may take the entity of the far end, also before it is reached.
    """
    end = dict(zip(("X", "Y"), pair)).get(getattr(statement.end, "name", "")) if rule.distinct else None
    end = end if isinstance(statement.end, Variable) else None
    if end is not None and statement.start != statement.end and statement.start == X and pair[0] == end:
        return 0  # X and Y are one entity: no step can ever count

    def holds(size: int) -> bool:
        part = Beginning(statement, size)
        free = [i for i, anchor in enumerate(part.anchors) if anchor == ANY]
        ways = oracle.groundings(world, part, rule.distinct, *pair)
        return any(end is None or all(nodes[i] != end for i in free) for nodes, _ in ways)

    return max((size for size in range(1, len(statement.steps) + 1) if holds(size)), default=0)


class Beginning:
    """The first steps of a statement as a line; it has no normal form of its own."""

    equal = None

    def __init__(self, statement: Statement, size: int) -> None:
        filters, moves = [[]], []
        for step in statement.steps[:size]:
            if step.is_filter:
                filters[-1].append(step.predicate)
            else:
                moves.append(step)
                filters.append([])
        self.anchors, self.filters, self.moves = statement.anchors[: len(filters)], filters, moves
