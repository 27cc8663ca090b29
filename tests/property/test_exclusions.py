"""Exclusions against brute force: which there are, and what they do to scores, on every path and device."""

from __future__ import annotations

from dataclasses import replace
from math import exp

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nlil.data.facts import Facts
from nlil.data.kb import KnowledgeBase
from nlil.evaluation.device_ranking import exclude
from nlil.evaluation.ranking import Ranker
from nlil.evaluation.triples import fact_scores
from nlil.kernel.exclusion import Exclusion
from nlil.kernel.ruleset import RuleSet
from nlil.logic.predicate import Fact
from nlil.search.count import count_rules
from nlil.search.exclusions import count_exclusions, find_exclusions
from nlil.search.options import CountOptions
from property.engine_cases import KNOWS, LIKES, bases
from property.test_explanation import exclusions

BINARY = (KNOWS, LIKES)
valid_facts = st.lists(st.tuples(st.sampled_from([1, 2]), st.integers(0, 4), st.integers(0, 4)), max_size=3)


def pairs(kb: KnowledgeBase, code: int) -> set[tuple[int, int]]:
    facts = kb.facts.crisp().of(code >> 1)
    found = set(zip(facts.subject.tolist(), facts.object.tolist()))
    return {(y, x) for x, y in found} if code & 1 else found


def expected_exclusions(kb: KnowledgeBase, valid: list[tuple[int, int, int]], sure: float) -> set[tuple]:
    """(denial, expected, facts) as the definition has it, with counts by brute force."""
    codes = [2 * kb.predicate_id(p) + inverse for p in BINARY for inverse in (0, 1)]
    counted = {}
    for target in map(kb.predicate_id, BINARY):
        mine = pairs(kb, 2 * target)
        out, into = ([pair[place] for pair in mine] for place in (0, 1))
        for code in codes:
            theirs = pairs(kb, code)
            chance = sum(out.count(x) * into.count(y) for x, y in theirs)
            if code != 2 * target and mine and chance >= len(mine):
                counted[target, code] = chance / len(mine), len(mine & theirs)
    share = 0.5
    for _ in range(200 if counted else 0):
        apart = [share / (share + (1 - share) * exp(-e)) if together == 0 else 0 for e, together in counted.values()]
        share = (sum(apart) + 1) / (len(apart) + 2)
    found = set()
    for (target, code), (expected, together) in counted.items():
        vetoes = {(x, y) for p, x, y in valid if p == target}
        is_sure = share / (share + (1 - share) * exp(-expected)) >= sure
        if is_sure and not together and not vetoes & pairs(kb, code):
            exclusion = Exclusion(kb.predicates[target], kb.step(code), expected, len(pairs(kb, 2 * target)))
            found.add((str(exclusion), exclusion.expected, exclusion.num_facts))
    return found


@given(bases(graphs=False), valid_facts, st.sampled_from([0.0, 0.6, 0.8, 0.9]))
@settings(deadline=None, max_examples=200)
def test_found_are_those_of_the_definition(kb, valid, sure):
    facts = Facts(*np.asarray(valid, np.int32).reshape(-1, 3).T)
    got = find_exclusions(kb, range(kb.num_predicates), facts, sure)
    assert {(str(e), e.expected, e.num_facts) for e in got} == expected_exclusions(kb, valid, sure)
    assert len(set(got)) == len(got)
    assert {e.together for e in got} <= {0}
    assert count_exclusions(kb, [(e.target, e.step) for e in got]) == got
    assert find_exclusions(kb, [kb.predicate_id(LIKES)], facts, sure) == tuple(e for e in got if e.target == LIKES)


@given(bases(graphs=False), exclusions)
@settings(deadline=None, max_examples=50)
def test_what_a_person_denies_is_counted(kb, exclusions):
    for got in count_exclusions(kb, [(e.target, e.step) for e in exclusions]):
        target = pairs(kb, 2 * kb.predicate_id(got.target))
        assert got.num_facts == len(target)
        assert got.together == len(target & pairs(kb, kb.code(got.step)))


def learned(kb: KnowledgeBase) -> RuleSet:
    options = CountOptions(max_length=2, min_support=1, min_confidence=0.0)
    return count_rules(kb, np.arange(kb.num_predicates), options).rules


def is_out(kb: KnowledgeBase, of: RuleSet, fact: Fact, hidden: Fact) -> bool:
    """Is there a fact that counts, besides the hidden one, which excludes `fact`?"""
    facts = {
        kb.fact(int(p), int(s), int(o))
        for p, s, o in zip(*(getattr(kb.facts.crisp(), name) for name in ("predicate", "subject", "object")))
    } - {hidden}
    return any(
        Fact(e.step.predicate, fact.arguments[::-1] if e.step.inverse else fact.arguments) in facts
        for e in of.exclusions
        if e.target == fact.predicate
    )


@given(bases(graphs=False), exclusions, st.sampled_from(BINARY), st.integers(0, 4), st.integers(0, 4))
@settings(deadline=None, max_examples=40)
def test_scores_are_those_without_exclusions_and_zero_where_the_fact_is_there(kb, exclusions, predicate, x, y):
    """Crisp and soft facts, both directions, the asked fact hidden from itself."""
    plain = learned(kb)
    of = replace(plain, exclusions=exclusions)
    target, own = kb.predicate_id(predicate), (x, y)
    hidden = kb.fact(target, x, y)
    for direction in (0, 1):
        known, end = own[direction], own[1 - direction]
        before, after = (Ranker(rules, kb, 1).evidence(target, direction, known, end) for rules in (plain, of))
        candidates = [kb.fact(target, *((known, b) if direction == 0 else (b, known))) for b in range(kb.num_entities)]
        expected = [0 if is_out(kb, of, fact, hidden) else e for fact, e in zip(candidates, before.tolist())]
        assert after.tolist() == expected
    asked = Facts(*np.asarray([[target], [x], [y]], np.int32))
    before, after = (fact_scores(rules, kb, asked, 1)[0] for rules in (plain, of))
    assert after == (0 if is_out(kb, of, hidden, hidden) else before)


@given(bases(weighted=False, graphs=False), exclusions)
@settings(deadline=None, max_examples=40)
def test_many_queries_at_once_as_one_by_one(kb, exclusions):
    """What a GPU does to a block of queries of several targets, here on the CPU device."""
    ranker = Ranker(replace(learned(kb), exclusions=exclusions), kb, 1)
    plain = Ranker(replace(ranker.rules, exclusions=()), kb, 1)
    groups = [(kb.predicate_id(p), direction) for p in BINARY for direction in (0, 1)]
    queries = [(owner, a) for owner in range(len(groups)) for a in range(kb.num_entities)]
    owner, known = (torch.tensor(column) for column in zip(*queries))
    total = torch.as_tensor(np.stack([plain.evidence(*groups[g], a) for g, a in queries]))
    excluded = torch.as_tensor(np.stack([ranker.target_plan(*group)[0].excluded for group in groups]))
    graph = (torch.as_tensor(a).long() for a in (ranker.graph.pointer, ranker.graph.code, ranker.graph.neighbour))
    got = exclude(total, known, excluded, owner, *graph)
    assert got.tolist() == [ranker.evidence(*groups[g], a).tolist() for g, a in queries]
