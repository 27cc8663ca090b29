"""materialize equals naive iteration, confidences included."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from nlil.errors import RuleError
from nlil.kernel import stratum
from nlil.kernel.compiled import SmallWork, interpreted
from nlil.kernel.materialize import materialize
from nlil.logic.formula import Constant, X, Y
from nlil.logic.rule import Head, Rule
from property.engine_cases import BIG, KNOWS, LIKES, RED, bases, rules, statements

heads = st.one_of(
    st.sampled_from([Head.of(p) for p in (BIG, RED, KNOWS, LIKES)]),
    st.sampled_from([Head(LIKES, (X, Constant("a"))), Head(LIKES, (Constant("b"), Y))]),
)
confidences = st.sampled_from([0.5, 0.75, 1.0])
programs = st.lists(st.tuples(rules(heads), confidences), min_size=1, max_size=4)


def named(kb, derived):
    f = derived.facts
    keys = zip(f.predicate.tolist(), f.subject.tolist(), f.object.tolist(), strict=True)
    return {kb.fact(*key): c for key, c in zip(keys, derived.confidence.tolist(), strict=True)}


@given(kb=bases(), program=programs, plain=st.booleans(), rows=st.sampled_from([1, 3, stratum.SHARD_ROWS]))
@settings(deadline=None, max_examples=120)
def test_materialize_equals_naive_iteration(kb, program, plain, rows):
    """As machine code, and in plain Python as small bases are done; in one piece or in shards of a few rows."""
    with interpreted(plain), patch.object(SmallWork, "limit", -1), patch.object(stratum, "SHARD_ROWS", rows):
        if oracle.strata([rule for rule, _ in program]) is None:
            with pytest.raises(RuleError, match="negation must not lead back"):
                materialize(kb, program)
            return
        derived = materialize(kb, program)
    assert named(kb, derived) == oracle.fixpoint(oracle.World.of(kb), program)


@st.composite
def line_rules(draw):
    """Rules whose bodies are one statement: they negate nothing, so every program of them has a fixpoint."""
    head = draw(heads)
    return Rule(head, draw(statements(sorted(head.variables, key=str))), draw(st.booleans()))


@given(kb=bases(), program=st.lists(st.tuples(line_rules(), confidences), min_size=1, max_size=6))
@settings(deadline=None, max_examples=100)
def test_lines_equal_naive_iteration(kb, program):
    assert named(kb, materialize(kb, program)) == oracle.fixpoint(oracle.World.of(kb), program)


@given(kb=bases(weighted=False, graphs=False), program=programs)
@settings(deadline=None, max_examples=60)
def test_facts_of_weight_1_are_crisp_ones(kb, program):
    soft = replace(kb, facts=replace(kb.facts, weight=np.ones(len(kb.facts), np.float32)))
    try:
        derived, same = materialize(kb, program), materialize(soft, program)
    except RuleError:
        return
    assert derived.rounds == same.rounds
    assert named(kb, derived) == named(kb, same)


@given(kb=bases(), program=programs)
@settings(deadline=None, max_examples=40)
def test_the_fixpoint_is_closed_and_rounds_stop_at_the_limit(kb, program):
    try:
        derived = materialize(kb, program)
    except RuleError:
        return
    seen = []
    limited = materialize(kb, program, max_rounds=1, progress=lambda rounds, new: seen.append((rounds, new)))
    assert len(seen) == limited.rounds <= 1
    whole = named(kb, derived)
    assert all(confidence <= whole[fact] for fact, confidence in named(kb, limited).items())
    assert derived.rounds >= (len(derived.facts) > 0)
