"""The values of the room: equal when they draw the same line, refused when they mean nothing."""

from __future__ import annotations

import pytest

from nlil.errors import RuleError
from nlil.logic.formula import ANY, TRUE, And, Constant, Not, Or, Path, Statement, X, Y, length, statements
from nlil.logic.predicate import Fact, Predicate, Step
from nlil.logic.rule import Head, Rule, RuleStats

CAR, BIG = Predicate("car", 1), Predicate("big", 1)
ON, IN = Predicate("on", 2), Predicate("in", 2)
HEAD = Head.of(Predicate("h", 2))


def test_a_line_is_the_same_read_from_either_end() -> None:
    forward = Statement.meet(Path(X, (Step(ON), Step(CAR))), Path(Y, (Step(IN),)))
    backward = Statement(Y, (Step(IN), Step(CAR), Step(ON, True)), X)
    assert forward == backward
    assert hash(forward) == hash(backward)
    assert forward.start == X


def test_filters_of_one_node_commute_and_stay_with_their_node() -> None:
    assert Statement(X, (Step(ON), Step(CAR), Step(BIG))) == Statement(X, (Step(ON), Step(BIG), Step(CAR)))
    assert Statement(X, (Step(CAR), Step(ON))) != Statement(X, (Step(ON), Step(CAR)))


def test_the_line_of_a_statement() -> None:
    line = Statement(X, (Step(ON), Step(CAR), Step(IN, True)), Constant("c"))
    assert line.anchors == (X, ANY, Constant("c"))
    assert line.filters == ((), (CAR,), ())
    assert line.moves == (Step(ON), Step(IN, True))
    assert (line.equal, line.num_variables) == (None, 2)
    assert Statement(Y, (), X).equal == Y
    assert Statement(Constant("c"), (Step(CAR),), X).equal == Constant("c")
    assert Statement(X, (Step(ON), Step(IN)), X).num_variables == 2


@pytest.mark.parametrize(("start", "end"), [(X, X), (X, ANY), (ANY, ANY), (ANY, Constant("c"))])
def test_a_statement_says_something(start, end) -> None:
    with pytest.raises(RuleError, match="at least one predicate"):
        Statement(start, (), end)


def test_conjunctions_are_flat() -> None:
    a, b = Statement(X, (Step(CAR),)), Statement(X, (Step(BIG),))
    assert And(a, And(b, a)) == And(a, b, a)
    assert Or(a, And(b, a)).arguments == (a, And(b, a))
    assert list(statements(Or(a, Not(And(b, TRUE, a))))) == [a, b, a]
    assert length(Or(a, Not(Statement(X, (Step(ON),), Y)), Statement(X, (), Y))) == 3
    with pytest.raises(RuleError, match="at least two"):
        And(a)


def test_what_cannot_be_a_rule_is_refused() -> None:
    with pytest.raises(RuleError, match="must be p"):
        Head(ON, (Y, X))
    with pytest.raises(RuleError, match="Y is used in the body"):
        Rule(Head.of(CAR), Statement(X, (Step(ON),), Y))
    with pytest.raises(RuleError, match="arity"):
        Predicate("p", 3)  # type: ignore[arg-type]
    with pytest.raises(RuleError, match="no inverse"):
        Step(CAR, inverse=True)
    with pytest.raises(RuleError, match="takes 2"):
        Fact(ON, ("a",))


def test_distinct_is_kept_only_where_it_matters() -> None:
    assert not Rule(HEAD, Statement(X, (Step(CAR),)), distinct=True).distinct
    assert Rule(HEAD, Statement(X, (Step(ON),)), distinct=True).distinct


def test_statistics() -> None:
    stats = RuleStats(support=3, body_size=5, head_size=6, pca_body=4)
    assert (stats.confidence, stats.smoothed, stats.head_coverage, stats.pca_confidence) == (0.6, 0.3, 0.5, 0.75)
    assert RuleStats(0, 0, 0).confidence == 0.0
    assert RuleStats(0, 0, 0).pca_confidence is None
