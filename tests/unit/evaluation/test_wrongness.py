"""How facts stand among their rivals, and the probability that they are wrong."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from nlil import KnowledgeBase, RuleSet, check, load
from nlil.data.facts import Facts
from nlil.evaluation.ranking import Ranker
from nlil.evaluation.rivals import FactRivals, fact_rivals
from nlil.evaluation.wrongness import fit_wrongness, plant
from nlil.search.count import count_rules
from nlil.search.options import CountOptions


@cache
def spoilt(share: float = 0.05) -> tuple[KnowledgeBase, RuleSet, Facts]:
    """A genealogy with wrong facts, and rules that were counted with them."""
    kb, splits = load("kin:100", seed=3)
    random = np.random.default_rng(8)
    rows = np.flatnonzero(~kb.facts.is_unary)
    found = plant(kb, random.permutation(rows)[: int(share * len(rows))], splits.all(), random)
    targets = np.arange(kb.num_predicates, dtype=np.int32)
    return found.kb, count_rules(found.kb, targets, CountOptions(max_length=2, constants=False)).rules, found.wrong


@cache
def given(share: float = 0.05) -> dict[int, FactRivals]:
    kb, rules, _ = spoilt(share)
    return fact_rivals(rules, kb, kb.facts, threads=1)


def test_ranks_are_those_of_evaluation():
    kb, rules, _ = spoilt()
    rivals = given()[2]
    ranks = Ranker(rules, kb, 1).rank(rivals.facts, Facts.empty(), hide=True)
    for direction in (0, 1):
        mine = ranks.direction == direction
        expected = np.empty(len(rivals.facts))
        expected[ranks.fact[mine]] = ranks.realistic[mine]
        assert np.array_equal(rivals.rank[direction], expected)
    assert ((rivals.evidence > rivals.own) <= (rivals.rank > 1)).all()


def test_the_members_of_a_unary_predicate_compete_with_the_others():
    kb, *_ = spoilt()
    rivals = given()[1]
    assert np.array_equal(rivals.rank[0], rivals.rank[1])
    female = kb.predicate_id(kb.predicate("female"))
    rows = np.flatnonzero(rivals.facts.predicate == female)
    members = set(kb.members(female).tolist())
    assert rivals.rival[0, rows[0]] not in members
    others = len(kb.domain) - len(members)
    assert rivals.rank[0, rows].max() <= others + 1
    assert rivals.rank[0, rows].min() >= 1


def test_wrong_facts_are_found_and_their_share_is_estimated():
    kb, rules, wrong = spoilt()
    found = fit_wrongness(rules, kb, given(), threads=1)[2]
    rivals = given()[2]
    chance, is_wrong = found(rivals), rivals.facts.isin(wrong)
    top = np.argsort(-chance, kind="stable")[: len(wrong)]
    assert is_wrong[top].mean() > 0.7
    assert 0.02 < found.rate < 0.1
    assert chance[is_wrong].mean() > 10 * chance[~is_wrong].mean()
    assert chance.sum() == pytest.approx(len(wrong), rel=0.6)  # calibrated, as far as 40 facts show it
    assert (found.weights[:-1] >= 0).all()
    assert found.weights[:2].max() > 0  # the margin counts, not only the rank


def test_where_no_fact_is_wrong_few_are_said_to_be():
    kb, rules, _ = spoilt(0.0)
    found = fit_wrongness(rules, kb, given(0.0), threads=1)[2]
    assert found.rate < 0.02
    assert found(given(0.0)[2]).sum() < 0.02 * len(kb.facts)


def test_seed_and_threads():
    kb, rules, _ = spoilt()
    one, same, other = (fit_wrongness(rules, kb, given(), seed=s, threads=t)[2] for s, t in ((0, 1), (0, 2), (1, 1)))
    assert np.array_equal(one.weights, same.weights)
    assert not np.array_equal(one.weights, other.weights)


def test_few_facts_settle_nothing():
    kb, rules, _ = spoilt()
    few = kb.with_facts(kb.facts[::20])
    assert fit_wrongness(rules, few, fact_rivals(rules, few, few.facts, threads=1)) == {}


def test_check_shows_what_is_probably_wrong():
    kb, rules, wrong = spoilt()
    everything = check(rules, kb, top=60, threads=1)
    chances = [d.wrong for d in everything]
    assert chances == sorted(chances, reverse=True)
    assert everything[0].wrong > 0.5
    names = {kb.fact(*row) for row in zip(wrong.predicate.tolist(), wrong.subject.tolist(), wrong.object.tolist())}
    assert len(names.intersection(d.fact for d in everything)) > 0.6 * len(names)
    assert everything[0].to_dict()["wrong"] == everything[0].wrong
    assert "wrong with probability" in str(everything[0])
    # The probability of a fact does not depend on which other facts are asked for.
    aunts = check(rules, kb, top=5, targets=["aunt"], threads=1)
    assert {d.fact.predicate.name for d in aunts} == {"aunt"}
    both = {d.fact: d.wrong for d in everything}
    assert [d.wrong for d in aunts if d.fact in both] == [both[d.fact] for d in aunts if d.fact in both]
    assert check(rules, kb, top=3, threads=2) == everything[:3]


def test_a_fact_for_which_nothing_speaks_is_doubted_where_rules_mostly_speak():
    """The rules never reach `loner`, nor anything else from there: there is no competitor."""
    kb, *_ = spoilt()
    more = KnowledgeBase.from_facts([*kb.named(), ("loner", "aunt", "stranger")])
    targets = np.arange(more.num_predicates, dtype=np.int32)
    rules = count_rules(more, targets, CountOptions(max_length=1, constants=False)).rules
    rules = rules.take(~rules.is_prior)
    everything = [d for d in check(rules, more, top=0, threads=1) if d.fact.predicate.arity == 2]
    (dispute,) = [d for d in everything if "loner" in d.fact.arguments]
    assert dispute.competitor is None
    assert dispute.wrong > 3 * np.median([d.wrong for d in everything])
    assert dispute.reasons == ()
    assert dispute.to_dict()["competitor"] is None
    assert str(dispute).startswith("aunt(loner, stranger), wrong with probability .")
    assert "; " not in str(dispute).partition("by the rules")[2]


def test_few_facts_tell_no_probability():
    """There are 100 unary facts: five at a time can be replaced by wrong ones, which is too few to judge the others."""
    kb, rules, _ = spoilt()
    assert len(kb.unary) == 100
    assert check(rules, kb, top=0, targets=["male", "female"], threads=1) == []
    everything = check(rules, kb, top=0, threads=1)
    assert {d.fact.predicate.arity for d in everything} == {2}
    assert all(d.wrong is not None for d in everything)


def test_no_other_entity_takes_the_place_of_a_member(monkeypatch):
    monkeypatch.setattr("nlil.evaluation.wrongness.ENOUGH_PLANTED", 20)
    kb, rules, _ = spoilt()
    unusual = check(rules, kb, top=5, targets=["male", "female"], threads=1)
    assert [d.competitor for d in unusual] == [None] * 5
    assert all(d.wrong is not None and d.reasons == () for d in unusual)
    assert str(unusual[0]).startswith(f"{unusual[0].fact}, wrong with probability ")


def test_a_soft_base_is_checked_too():
    kb, rules, _ = spoilt()
    weight = np.full(len(kb.facts), 0.9, np.float32)
    soft = kb.with_facts(replace(kb.facts, weight=weight))
    assert check(rules, soft, top=3, threads=1)[0].wrong is not None
