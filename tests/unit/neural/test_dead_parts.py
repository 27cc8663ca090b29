"""Parts of a rule that change no count are left out of what counts chose, and marked in what attentions say."""

from __future__ import annotations

from kbs import family
from nlil.config import LearnerConfig
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.ruleset import RuleSet
from nlil.learning.neural import dead_part_notes
from nlil.logic.parse import parse_rule
from nlil.logic.rule import ScoredRule
from nlil.neural.select import Judge, select

IDLE_BRANCH = "mother(X, Y) :- married(X, Z1), father(Z1, Y) ; female(X), uncle(X, Y)."
"""Its second branch never holds."""
SURE = "uncle(X, Y) :- male(X), (mother(Z1, X), mother(Z1, Z2), mother(Z2, Y))."
"""Without male(X) it holds for the mother herself too."""


def judged(text: str, judge: Judge) -> ScoredRule:
    scored = judge.score(parse_rule(text))
    assert scored is not None
    return scored


def test_a_branch_that_changes_no_count_is_left_out() -> None:
    judge = Judge(Evaluator(family()))
    scored = judged(IDLE_BRANCH, judge)
    lean = judge.without_dead_parts(scored)
    assert lean.rule == parse_rule("mother(X, Y) :- married(X, Z1), father(Z1, Y).")
    assert (lean.stats.support, lean.stats.body_size) == (scored.stats.support, scored.stats.body_size)


def test_what_is_selected_has_no_dead_part() -> None:
    judge = Judge(Evaluator(family()))
    texts = (
        IDLE_BRANCH,
        "mother(X, Y) :- female(X), married(X, Z1), father(Z1, Y).",
        "mother(X, Y) :- married(X, Z1), father(Z1, Y).",
    )
    kept = select(judge, [judged(text, judge) for text in texts], 1, 0.0)
    assert kept
    for scored in kept:
        assert not judge.dead_parts(scored), str(scored.rule)


def test_a_part_that_counts_stays() -> None:
    judge = Judge(Evaluator(family()))
    scored = judged(SURE, judge)
    assert judge.without_dead_parts(scored) == scored


def test_an_atom_that_changes_no_count_is_left_out() -> None:
    """Every mother and every niece is female; one father is not married."""
    judge = Judge(Evaluator(family()))
    for text, lean in (
        ("male(X) :- mother(Z1, X), female(Z1).", "male(X) :- mother(Z1, X)."),
        ("male(X) :- \\+ (aunt(X, Z1), female(Z1)).", "male(X) :- \\+ (aunt(X, Z1))."),
        ("female(X) :- father(Z1, X), male(Z1), married(Z1, Z2).", "female(X) :- father(Z1, X), married(Z1, Z2)."),
    ):
        found = judge.without_dead_parts(judged(text, judge))
        assert found.rule == parse_rule(lean)
        assert not judge.dead_parts(found)


def test_attentions_are_not_changed_but_marked() -> None:
    kb = family()
    judge = Judge(Evaluator(kb))
    scored = judged(IDLE_BRANCH, judge)
    (note,) = dead_part_notes(RuleSet.of(kb, [scored]), kb, LearnerConfig())
    assert "dead part, which changes no count: " in note
    assert "uncle(X, Y)" in note.split(" in mother")[0]
    sure = judged(SURE, judge)
    assert dead_part_notes(RuleSet.of(kb, [sure]), kb, LearnerConfig()) == ()
