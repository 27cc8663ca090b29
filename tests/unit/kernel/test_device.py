"""Where work is done: what is asked for, what is there, and what is too small to move."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from nlil.config import LearnerConfig
from nlil.data.kb import KnowledgeBase
from nlil.errors import ConfigError
from nlil.evaluation import ranking
from nlil.evaluation.plan import MOST_WALKED
from nlil.evaluation.ranking import Ranker
from nlil.kernel import device
from nlil.kernel.device import resolve_device
from nlil.kernel.ruleset import RuleSet
from nlil.learning.learner import Fit
from nlil.logic.formula import Statement, X, Y
from nlil.logic.predicate import Predicate, Step
from nlil.logic.rule import Head, Rule, RuleStats, ScoredRule


@pytest.mark.parametrize(
    ("asked", "is_there", "found"),
    [("auto", True, "cuda"), ("auto", False, "cpu"), ("cuda", True, "cuda"), ("cpu", True, "cpu")],
)
def test_what_is_asked_for_and_there(asked: str, is_there: bool, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_has_gpu", lambda: is_there)
    assert resolve_device(asked) == found


def test_what_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_has_gpu", lambda: False)
    with pytest.raises(ConfigError, match="cuda was requested"):
        resolve_device("cuda")
    with pytest.raises(ConfigError, match="expected auto, cpu or cuda, got 'tpu'"):
        resolve_device("tpu")


def test_a_build_without_gpus_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(device, "version", lambda _: "9.9.9+cpu")
    assert resolve_device("auto") == "cpu"
    assert "torch" not in sys.modules


def test_a_small_base_is_counted_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nlil.learning.learner.resolve_device", lambda name: "cuda")
    kb = KnowledgeBase.from_facts([("a", "p", "b")])

    def used(name: str) -> str:
        return Fit(LearnerConfig(device=name), kb, kb.predicates).options.device

    assert (used("auto"), used("cuda")) == ("cpu", "cuda")
    monkeypatch.setattr("nlil.learning.learner.SMALL_BASE_PATHS", 0.0)
    assert used("auto") == "cuda"


@pytest.mark.parametrize(("num_long", "is_used"), [(MOST_WALKED, True), (MOST_WALKED + 1, False)])
def test_where_the_cpu_must_walk_most_it_ranks_all(
    num_long: int, is_used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "resolve_device", lambda name: "cuda")
    kb = KnowledgeBase.from_facts([("a", name, "b") for name in "pqrs"])
    moves = [Step(Predicate(name, 2), back) for name in "pqrs" for back in (False, True)]
    bodies = [(one, two, moves[0]) for one in moves for two in moves][:num_long] + [(one, one) for one in moves]
    rules = RuleSet.of(
        kb,
        [
            ScoredRule(Rule(Head.of(Predicate("p", 2)), Statement(X, body, Y), True), RuleStats(1, 2, 3, 2), 0.5)
            for body in bodies
        ],
    )
    queried = np.array([kb.predicate_id(Predicate("p", 2))], np.int32)
    assert Ranker(rules, kb, device="auto")._uses_device(queried) is is_used
    assert not Ranker(rules, kb, device="cpu")._uses_device(queried)
