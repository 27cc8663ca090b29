"""Formulas over the rules of a cover: rules that are often wrong get additional conditions.

For every such rule, the candidates that it proposes are queries, and the other rules of the cover are statements about
them. The upper half of the paper's generator is trained to separate correct from wrong candidates; the extracted
literals are joined to the rule: `and` another body, `unless` another body. Each disjunct becomes its own body. All of
them compete with the rules of the cover in a second greedy cover, and have exact counts like every rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..config import LearnerConfig
from ..data.arrays import Longs, Mask
from ..errors import NlilError
from ..kernel.ruleset import RuleSet
from ..logic.formula import And, Formula, Not
from ..logic.rule import Rule, RuleStats, ScoredRule
from ..neural.formulas import Literal, train_formulas
from .authors import Surveyed
from .cover import CoverChoice, cover, plainness
from .firings import Hits, Proposals
from .theory import SIZES

MOST_RULES = 12
"""Limit of the rules of a cover that are refined, in order."""
LEAST_PAIRS = 10
"""Least numbers of correct and of wrong candidates that a rule must propose to learn from."""
MOST_PAIRS = 200
"""Limit of the candidates of a rule for training."""
MOST_ATOMS = 6
"""Limit of the body atoms of a formula."""
TRAINING = LearnerConfig(generator="free", levels=1, formulas=4, restarts=4, epochs=25, batch=256, score_rate=0.2)
"""Settings of training."""


class Sharpened(NamedTuple):
    """A `rule` of the cover and the `literals` joined to it."""

    rule: int
    literals: tuple[Literal, ...]


def truth_table(proposals: Proposals, num_rules: int) -> Mask:
    """Return (candidates, rules): which rules propose which candidates."""
    table = np.zeros((len(proposals.query), num_rules), bool)
    table[proposals.firings] = True
    return table


def sharpen(
    proposals: Proposals,
    rules: RuleSet,
    order: Longs,
    statements: Longs,
    seed: int,
) -> list[Sharpened]:
    """Train literals for the rules that are often wrong.

    Args:
        proposals: what the rules propose.
        rules: the rules of one target.
        order: rows of the rules of the cover, those that add most first.
        statements: rows of the rules that formulas may use.
        seed: the seed of training, together with the number of the rule.
    """
    table = truth_table(proposals, len(rules))
    groups, values, labels, allowed = [], [], [], []
    for r in order[:MOST_RULES].tolist():
        pairs = np.flatnonzero(table[:, r])
        right = proposals.is_right[pairs]
        if min(np.count_nonzero(right), np.count_nonzero(~right)) < LEAST_PAIRS:
            continue
        random = np.random.default_rng((seed, 5, r))
        halves = [random.permutation(pairs[right == side])[: MOST_PAIRS // 2] for side in (True, False)]
        some = np.sort(np.concatenate(halves))
        holds = table[np.ix_(some, statements)]
        usable = _can_join(rules, r, statements) & holds.any(axis=0) & ~holds.all(axis=0)
        if usable.any():
            groups.append(r)
            values.append(holds)
            labels.append(proposals.is_right[some])
            allowed.append(usable)
    if not groups:
        return []
    seeds = [int(np.random.SeedSequence((seed, 5, r)).generate_state(1)[0]) for r in groups]
    said = train_formulas(values, labels, np.stack(allowed), TRAINING, seeds)
    return [
        Sharpened(r, tuple((int(statements[k]), sign) for k, sign in literals))
        for r, found in zip(groups, said)
        for literals in found
    ]


def _can_join(rules: RuleSet, r: int, others: Longs) -> Mask:
    """Return which other rules have the same head, so that their bodies can be joined to that of rule r."""
    same_head = (rules.head_entity[others] == rules.head_entity[r]) & (rules.fixed[others] == rules.fixed[r])
    return np.asarray(same_head & (others != r) & (rules.body[others] != rules.body[r]))


def joined_rule(rules: RuleSet, sharpened: Sharpened) -> Rule:
    """Return the rule of `sharpened`, one of `rules`, with its literals."""
    first = rules.rule(sharpened.rule)
    parts: list[Formula] = [first.body]
    distinct = first.distinct
    for k, sign in sharpened.literals:
        other = rules.rule(k)
        parts.append(other.body if sign else Not(other.body))
        distinct |= other.distinct
    return Rule(first.head, And(*parts), distinct)


def write_formulas(surveyed: Surveyed, chosen: CoverChoice) -> CoverChoice:
    """Return a second cover: of the rules of the first one, `chosen`, and of the formulas made from them."""
    rules, proposals = surveyed.ranker.rules_of(surveyed.target), surveyed.proposals
    places = surveyed.places(chosen.rule)
    seed = int(np.random.SeedSequence((surveyed.seed, 6, surveyed.target)).generate_state(1)[0])
    table = truth_table(proposals, len(rules))
    statements = np.unique(np.concatenate((places[:MOST_RULES], surveyed.places(chosen.strongest))))
    found, holds = _different(sharpen(proposals, rules, places, statements, seed), table, rules)
    if not found:
        return chosen
    own = RuleSet.of(surveyed.ranker.kb, [ScoredRule(rule, RuleStats(0, 0, 0, 0), 0.0) for rule in found])
    plain = np.concatenate((plainness(rules)[places], plainness(own)))
    truth = np.concatenate((table[:, places], holds), axis=1)
    first = cover(hits_of(proposals, truth), plain, surveyed.size, 0).rule - len(places)
    scored = _counted(surveyed, {int(n): found[n] for n in first[first >= 0]})
    if not scored:
        return chosen
    kept = np.concatenate((np.arange(len(places)), len(places) + np.array(list(scored))))
    second = cover(hits_of(proposals, truth[:, kept]), plain[kept], SIZES[-1], 0)
    number = np.concatenate((chosen.rule, len(chosen.family) + np.arange(len(scored))))[second.rule]
    place_of = np.full(len(chosen.family) + len(scored), -1)
    place_of[number] = np.arange(len(number))
    family = np.append(place_of[chosen.rule], -1)[chosen.family]
    is_own = second.rule >= len(places)
    used = np.sort(second.rule[is_own]) - len(places)
    if len(used) < len(scored):  # drop the formulas that the second cover does not use
        again = np.full(len(scored), -1)
        again[used] = np.arange(len(used))
        number[is_own] = len(chosen.family) + again[second.rule[is_own] - len(places)]
    return second._replace(rule=number, family=family, own=tuple(list(scored.values())[i] for i in used.tolist()))


def _different(found: Sequence[Sharpened], table: Mask, rules: RuleSet) -> tuple[list[Rule], Mask]:
    """Return the formulas that differ in their candidates from their parts and from each other, and the candidates."""
    seen = {np.packbits(column).tobytes() for column in table.T}
    kept, holds = list[Rule](), list[Mask]()
    for one in found:
        one, value = without_dead(one, table)
        key = np.packbits(value).tobytes()
        rule = None if key in seen or not value.any() else joined_rule(rules, one)
        if rule is not None and rule.length <= MOST_ATOMS:
            seen.add(key)
            kept.append(rule)
            holds.append(value)
    return kept, np.stack(holds, axis=1) if holds else np.zeros((len(table), 0), bool)


def without_dead(one: Sharpened, table: Mask) -> tuple[Sharpened, Mask]:
    """Drop the parts of `one` that change nothing, its rule included; also return for which candidates the rest holds.

    `table` says which rule proposes which candidate.
    """

    def holds(parts: Sequence[Literal]) -> Mask:
        return np.logical_and.reduce([table[:, k] == sign for k, sign in parts])

    parts: list[Literal] = [(one.rule, True), *one.literals]
    value = holds(parts)
    for part in tuple(parts):
        rest = [other for other in parts if other != part]
        if any(sign for _, sign in rest) and (holds(rest) == value).all():
            parts = rest
    first = next(part for part in parts if part[1])
    return Sharpened(first[0], tuple(part for part in parts if part != first)), value


def hits_of(proposals: Proposals, truth: Mask) -> Hits:
    """Return the hits of rules that hold for these candidates: `truth` is (candidates, rules)."""
    candidate, rule = np.nonzero(truth[proposals.is_right])
    order = np.lexsort((candidate, rule))
    query = proposals.query[proposals.is_right][candidate[order]]
    num_facts = max(proposals.num_facts, 1)
    weight, direction = proposals.weight[proposals.query % num_facts], proposals.query // num_facts
    wrong = np.stack([(weight * ~proposals.is_right * (direction == d)) @ truth for d in (0, 1)])
    return Hits(rule[order].astype(np.int32), query, wrong, proposals.weight, proposals.num_tried)


def _counted(surveyed: Surveyed, rules: dict[int, Rule]) -> dict[int, ScoredRule]:
    """Return the rules with their exact statistics, without those that cannot be counted."""
    from ..kernel.batch import BatchStatistics  # imports torch
    from ..kernel.evaluator import Evaluator

    ranker, found = surveyed.ranker, {}
    statistics = BatchStatistics(Evaluator(ranker.kb, memory=ranker.memory))
    for number, rule in sorted(rules.items()):
        try:
            stats = statistics.stats(rule)
        except NlilError:
            continue  # one of its queries exceeds the memory
        if stats.support:
            found[number] = ScoredRule(rule, stats, stats.smoothed)
    return found
