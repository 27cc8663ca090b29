"""A greedy cover: the rules that together explain the most facts, each fact by its best rule.

The value of a set of rules is a sum over queries: the precision of the best rule in it that proposes the answer, a
tenth of that of the second best, a tenth of a tenth of that of the third, and so on. So rules go on after every
training fact has one: of a fact that is not known the best rule may miss a fact that it needs, and another way stands
in. Greedy choice, the rule that adds the most first, has at least 1 - 1/e of the best value that as many rules can
have (Nemhauser 1978), and the first k rules are the choice of k. Of rules that hold for the same pairs only the
plainest is a candidate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.arrays import Doubles, Ids, Longs, Mask
from ..kernel.compiled import compiled
from ..kernel.ruleset import RuleSet
from ..logic.rule import ScoredRule
from .firings import Hits

LEAST_GAIN = 1e-9
"""Sums of the same numbers in another order differ by less."""
NEXT, PLACES = 0.1, 8
"""What each next best rule of a query counts of the one before, and how many count. With two places the theories of kin
ended after 140 rules, at .907 of all rules; .1 to .3 differ by less than .005 on the other sets, either way."""
STRONGEST = 40
"""Rules that are noted as worth most alone: what another one says too may still sharpen a third."""
SAME_FACTS = 0.9
"""A rule belongs to the family of a chosen one that proposes at least this share of its answers."""


PER_ATOM, CIRCULAR = 0.9, 0.5
"""`plainness`: the factor of each atom after the first, and of rules whose body has the target."""


class Choice(NamedTuple):
    """What an author makes of the rules of one target: some of them, the one that adds most first.

    rule       their numbers; from the number of rules on, those of `own`
    gain       what each adds to the mean value of a query
    explained  training facts that it explains and none before it does
    backs_up   training facts that it explains and one before it does too
    num_facts  facts that were tried
    family     for each rule the place of the chosen rule whose family it belongs to, -1: none; a chosen one its own
    weight     of each chosen rule; nan: as it was counted
    strongest  rules that are worth most alone, whatever others say
    own        rules that the author wrote, with their statistics
    """

    rule: Longs
    gain: Doubles
    explained: Longs
    backs_up: Longs
    num_facts: int
    family: Longs
    weight: Doubles
    strongest: Longs
    own: tuple[ScoredRule, ...] = ()


def cover(hits: Hits, plainness: Doubles, most: int, family_of: int) -> Choice:
    """At most `most` rules.

    Args:
        hits: what the rules do.
        plainness: of each rule, 0 to 1: what its gain counts when rules are compared.
        most: how many are chosen at most.
        family_of: families are those of so many rules, the first ones.
    """
    num_rules = hits.wrong.shape[1]
    pointer = np.searchsorted(hits.rule, np.arange(num_rules + 1)).astype(np.int64)
    fact, most_weight = hits.query % max(hits.num_facts, 1), max(len(hits.wrong) * hits.weight.sum(), 1)
    value = hits.precision[hits.query // max(hits.num_facts, 1), hits.rule] * hits.weight[fact]
    bound, best = np.where(_first_of_equals(hits, plainness), np.inf, 0.0), np.zeros((hits.num_queries, PLACES))
    rule, gain = np.zeros(most, np.int64), np.zeros(most)
    size = _choose(pointer, hits.query, value, plainness, bound, best, rule, gain)
    rule, gain = rule[:size], gain[:size]
    explained, backs_up = _explained(pointer, fact, hits.num_tried, rule)
    family = _families(pointer, hits.query, hits.num_queries, rule[:family_of])
    alone = np.bincount(hits.rule, value, num_rules) * plainness
    strongest = np.lexsort((np.arange(num_rules), -alone))[:STRONGEST]
    no_weight = np.full(len(rule), np.nan)
    return Choice(rule, gain / most_weight, explained, backs_up, hits.num_tried, family, no_weight, strongest)


def plainness(rules: RuleSet) -> Doubles:
    """What the gain of each rule counts when rules are compared: more for what is read easily.

    Of rules that explain the same, people want the short one, and not the one that explains a fact by another fact of
    the same predicate: such rules often explain the most, and say the least.
    """
    lines, target = rules.bodies.lines, rules.head[:1]
    is_circular = rules.bodies.any_line(((lines.steps >> 1) == target).any(axis=1) & (lines.lengths > 0))
    plain = PER_ATOM ** np.maximum(rules.lengths - 1, 0)
    return np.where(is_circular[rules.body], CIRCULAR, 1.0) * plain if len(rules) else plain


def _first_of_equals(hits: Hits, plainness: Doubles) -> Mask:
    """Whether each rule is the plainest of those that propose the same answers and as many wrong candidates."""
    codes = np.random.default_rng(0).integers(2**63, size=hits.num_queries, dtype=np.uint64)
    answers = np.zeros(hits.wrong.shape[1], np.uint64)
    np.add.at(answers, hits.rule, codes[hits.query])  # modulo 2^64: equal sums of random numbers mean equal sets
    order = np.lexsort((-plainness, *hits.wrong, answers))
    changes = np.any([np.diff(column[order]) != 0 for column in (answers, *hits.wrong)], axis=0)
    is_first = np.zeros(len(order), np.bool_)
    is_first[order] = np.concatenate(([True], changes))[: len(order)]
    return is_first


@compiled
def _choose(
    pointer: Longs,
    query: Ids,
    value: Doubles,
    plainness: Doubles,
    gain: Doubles,
    best: np.ndarray,
    chosen: Longs,
    gains: Doubles,
) -> int:
    """Fill `chosen` with rules and `gains` with what each adds; returns how many there are.

    `gain` is an upper bound for each rule, 0 if it is not to be chosen; `best` has the largest values of the rules that
    propose the answer of each query. A gain can only fall while others are chosen: it is summed again where it could be
    largest.
    """
    num_rules = len(pointer) - 1
    summed_at = np.zeros(num_rules, np.int64)  # the number of rules chosen before, plus one
    for k in range(len(chosen)):
        while True:
            r, largest = -1, LEAST_GAIN
            for j in range(num_rules):
                if gain[j] > largest:
                    r, largest = j, gain[j]
            if r < 0:
                return k
            if summed_at[r] == k + 1:
                break
            total = 0.0
            for i in range(pointer[r], pointer[r + 1]):
                total += _added(best[query[i]], value[i], False)
            gain[r], summed_at[r] = total * plainness[r], k + 1
        chosen[k], gains[k] = r, gain[r] / plainness[r]
        gain[r] = 0.0
        for i in range(pointer[r], pointer[r + 1]):
            _added(best[query[i]], value[i], True)
    return len(chosen)


@compiled
def _added(best: Doubles, value: float, keeps: bool) -> float:
    """What a rule of this value adds to a query whose rules have the values `best`; it joins them where it `keeps`."""
    added, share = 0.0, 1.0
    for j in range(len(best)):
        if value > best[j]:
            added += share * (value - best[j])
            before = best[j]
            if keeps:
                best[j] = value
            value = before  # moves on by one place
        if value == 0.0:
            break
        share *= NEXT
    return added


@compiled
def _explained(pointer: Longs, fact: Ids, num_tried: int, chosen: Longs) -> tuple[Longs, Longs]:
    """Training facts, in either direction, that each chosen rule is the first to explain, and those that it explains
    after another one."""
    seen_by, first, again = np.full(num_tried, -1), np.zeros(len(chosen), np.int64), np.zeros(len(chosen), np.int64)
    for k in range(len(chosen)):
        for i in range(pointer[chosen[k]], pointer[chosen[k] + 1]):
            f = fact[i]
            if f < num_tried and seen_by[f] != k:  # a fact counts once, whatever the direction
                first[k] += seen_by[f] < 0
                again[k] += seen_by[f] >= 0
                seen_by[f] = k
    return first, again


@compiled
def _families(pointer: Longs, query: Ids, num_queries: int, chosen: Longs) -> Longs:
    """The place of the chosen rule that proposes most answers of each rule, of equal ones the first."""
    hit = np.zeros((num_queries, len(chosen)), np.bool_)
    for k in range(len(chosen)):
        for i in range(pointer[chosen[k]], pointer[chosen[k] + 1]):
            hit[query[i], k] = True
    family, shared = np.full(len(pointer) - 1, -1), np.zeros(len(chosen), np.int64)
    for r in range(len(pointer) - 1):
        shared[:] = 0
        for i in range(pointer[r], pointer[r + 1]):
            for k in range(len(chosen)):
                shared[k] += hit[query[i], k]
        size, most = pointer[r + 1] - pointer[r], 0
        for k in range(len(chosen)):
            if shared[k] > most and shared[k] >= SAME_FACTS * size:
                most, family[r] = shared[k], k
    for k in range(len(chosen)):
        family[chosen[k]] = k
    return family
