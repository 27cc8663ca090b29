"""A kind of rules with the factor 0 in a weighing moves no rank, so theories that use the weighing have none of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nlil
from nlil.data.facts import Facts
from nlil.kernel.aggregation import KINDS
from nlil.theory.build import _Work, counting

DEAD = KINDS.index("longer chain")


@pytest.fixture(scope="module")
def pool():
    """The rules of kin, in which chains of two steps or more count nothing; and the base."""
    kb, _ = nlil.load("kin")
    config = nlil.LearnerConfig().with_settings(["search=count", "rules_per_target=0", "weigh=off", "tried_length=0"])
    rules = nlil.Learner(config).fit(kb, targets=["uncle", "brother"]).rules
    weighing = tuple((0.0 if kind == DEAD else 1.0, 0.5) for kind in range(len(KINDS)))
    return replace(rules, aggregation=replace(rules.aggregation, weighing=weighing)), kb


def test_only_rules_that_count_are_chosen(pool):
    rules, kb = pool
    work = _Work.of(rules, kb, 20, Facts.empty(), None, 0, 1, 2**30, None)
    covers = work.covers(lambda *_: None, None)
    chains = 0
    for target, found in zip(work.targets, covers):
        is_dead = (work.ranker.kinds_of(target) == DEAD).all(axis=0)
        chains += np.count_nonzero(is_dead[found.alike[0].rule])
        assert len(found.weighed[0].rule)
        assert not is_dead[found.weighed[0].rule].any()
    assert chains, "where all kinds are weighed alike, chains explain the most"


def test_without_a_weighing_all_rules_count(pool):
    rules, kb = pool
    plain = replace(rules, aggregation=replace(rules.aggregation, weighing=()))
    work = _Work.of(plain, kb, 20, Facts.empty(), None, 0, 1, 2**30, None)
    assert all(found.weighed is found.alike for found in work.covers(lambda *_: None, None))


def test_a_rule_may_count_in_one_direction(pool):
    kinds = np.array([[DEAD, 0, DEAD], [DEAD, DEAD, 0]])
    assert counting(pool[0].aggregation, kinds).tolist() == [[False, True, False], [False, False, True]]
