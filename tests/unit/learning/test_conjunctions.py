"""Conjunctions found by counting: what they are made of, when they are kept, what leaves them out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nlil.config import LearnerConfig
from nlil.data.facts import Splits
from nlil.data.kb import KnowledgeBase
from nlil.errors import ConfigError
from nlil.evaluation.ranking import Ranker
from nlil.kernel.exclusion import Exclusion
from nlil.kernel.ruleset import RuleSet
from nlil.learning import conjunctions as stage
from nlil.learning.conjunctions import CandidateEvidence
from nlil.learning.gates import CONJUNCTIONS
from nlil.learning.learner import Learner
from nlil.learning.run import Learned, load_run, save_run
from nlil.logic.formula import And
from nlil.logic.parse import parse_rule
from nlil.logic.rule import RuleStats, ScoredRule
from nlil.progress import Stop
from nlil.search.conjunctions import Conjunctions
from nlil.search.count import count_rules
from nlil.search.options import CountOptions

SIZE = 160
JOINED = "t(X, Y) :- far(X, Y), Y \\= X, near(X, Y)."


def rows() -> list[tuple[str, str, str]]:
    """One of three near neighbours of e(i) is also `far`: that one is its `t`. Each relation alone is right a third."""
    random = np.random.default_rng(1)
    found = []
    for i in range(SIZE):
        near = [(i + k) % SIZE for k in random.permutation(range(1, 12))[:3]]
        far = [near[0], *((i + k) % SIZE for k in random.permutation(range(12, 30))[:2])]
        found += [(f"e{i}", "near", f"e{j}") for j in near] + [(f"e{i}", "far", f"e{j}") for j in far]
        found.append((f"e{i}", "t", f"e{near[0]}"))
    return found


def split(every: list[tuple[str, str, str]], held_out: int) -> tuple[KnowledgeBase, Splits]:
    """The first facts of t are for validation."""
    whole = KnowledgeBase.from_facts(every)
    t = whole.predicate_id(whole.predicate("t"))
    of_t = np.flatnonzero(whole.facts.predicate == t)[:held_out]
    kb = whole.with_facts(whole.facts[~np.isin(np.arange(len(whole.facts)), of_t)])
    return kb, Splits(kb.facts, whole.facts[of_t])


def learned(kb: KnowledgeBase, splits: Splits | None, **settings: object) -> Learned:
    """The strongest rule alone counts: noisy-or of both relations would find the answer without their conjunction."""
    config = LearnerConfig().with_values(
        {
            "search": "count",
            "constants": False,
            "max_length": 2,
            "threads": 1,
            "body": "near,far",
            "weigh": False,
            "aggregation_top": 1,
            "hold_out": 0,
            **settings,
        }
    )
    return Learner(config).fit(kb, ["t"], splits)


def conjunctions(found: Learned) -> list[str]:
    return [str(scored.rule) for scored in found.rules.take(found.rules.is_program)]


@pytest.fixture(scope="module")
def planted() -> tuple[KnowledgeBase, Splits]:
    return split(rows(), 60)


def test_two_statements_that_are_right_together_are_joined(planted: tuple[KnowledgeBase, Splits]) -> None:
    kb, _ = planted
    target = kb.predicate_id(kb.predicate("t"))
    options = CountOptions(constants=False)
    body = kb.without([target])
    rules = count_rules(kb, np.array([target], np.int32), options, body).rules
    best = Conjunctions(kb, body, options).proposals(rules, target, 5)[0]
    assert str(best.rule) == JOINED
    assert best.stats.confidence > 0.6


def test_those_that_validation_facts_gain_from_are_kept(planted: tuple[KnowledgeBase, Splits]) -> None:
    found = learned(*planted)
    assert JOINED in conjunctions(found)
    assert len(conjunctions(found)) <= LearnerConfig().conjunctions
    assert all(isinstance(scored.rule.body, And) for scored in found.rules.take(found.rules.is_program))
    assert conjunctions(learned(*planted, threads=2, memory="64MiB")) == conjunctions(found)


def test_a_run_keeps_them(planted: tuple[KnowledgeBase, Splits], tmp_path: Path) -> None:
    found = learned(*planted)
    again = load_run(save_run(found, tmp_path / "run"))
    assert [str(s) for s in again.rules] == [str(s) for s in found.rules]


def test_there_are_none_where_nobody_asks_or_nothing_can_judge(planted: tuple[KnowledgeBase, Splits]) -> None:
    kb, splits = planted
    few = Splits(splits.train, splits.valid[np.arange(CONJUNCTIONS.least_facts - 1)])
    assert not conjunctions(learned(kb, splits, conjunctions=0))
    assert not conjunctions(learned(kb, few))
    assert not conjunctions(learned(kb, None))
    assert not conjunctions(learned(kb, splits, aggregation="max"))


def test_an_excluded_candidate_gains_nothing(planted: tuple[KnowledgeBase, Splits]) -> None:
    kb, splits = planted
    target, far = kb.predicate_id(kb.predicate("t")), kb.step(2 * kb.predicate_id(kb.predicate("far")))
    rules = learned(kb, splits, conjunctions=0).rules
    tried = RuleSet.of(kb, [ScoredRule(parse_rule(JOINED), RuleStats(9, 10, 10, 10), 0.9)])
    fired = []
    for exclusions in ((), (Exclusion(kb.predicates[target], far, 1.0),)):
        ranker = Ranker(replace(rules, exclusions=exclusions), kb, 1)
        (firing,) = CandidateEvidence.of(ranker, target, splits.valid, kb.facts).firings(tried)
        fired.append(len(firing.query))
    assert fired[0] > 0
    assert fired[1] < fired[0], "far(X, Y) rules t(X, Y) out"


def test_a_base_of_many_entities_says_that_they_are_left_out(
    planted: tuple[KnowledgeBase, Splits], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, "MOST_ENTITIES", 100)
    found = learned(*planted)
    assert not conjunctions(found)
    assert any(note.startswith("conjunctions left out: ") for note in found.notes)


def test_the_paper_has_none() -> None:
    assert LearnerConfig().with_values({"preset": "paper"}).conjunctions == 0
    with pytest.raises(ConfigError, match="conjunctions: expected 0 or more"):
        LearnerConfig().with_values({"conjunctions": -1})


@pytest.mark.parametrize(("used", "left", "is_found"), [(0.0, 1e9, True), (0.0, 1e-9, False), (5e8, 9e8, False)])
def test_where_they_would_take_the_time_of_the_weighing_they_are_left_out(
    used: float, left: float, is_found: bool
) -> None:
    class Short(Stop):
        @property
        def left(self) -> float:
            return left

        @property
        def used(self) -> float:
            return used

    every = rows()
    every += [(s, "u", o) for s, p, o in every if p == "t"]
    whole = KnowledgeBase.from_facts(every)
    held_out = np.concatenate(
        [np.flatnonzero(whole.facts.predicate == whole.predicate_id(whole.predicate(name)))[:60] for name in "tu"]
    )
    kb = whole.with_facts(whole.facts[~np.isin(np.arange(len(whole.facts)), held_out)])
    config = LearnerConfig().with_values(
        {
            "search": "count",
            "constants": False,
            "max_length": 2,
            "threads": 1,
            "body": "near,far",
            "weigh": False,
            "aggregation_top": 1,
            "hold_out": 0,
        }
    )
    found = Learner(config).fit(kb, ["t", "u"], Splits(kb.facts, whole.facts[held_out]), stop=Short())
    assert bool(conjunctions(found)) is is_found
    assert any("most of the time left" in note for note in found.notes) is not is_found
    assert found.partial is not is_found
