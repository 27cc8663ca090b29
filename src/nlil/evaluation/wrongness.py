"""The probability that a fact is wrong, fitted on facts that are replaced by wrong ones on purpose.

Two features compare a fact x with its competitors (`rivals.py`), with the fact hidden, for both queries of a binary
fact:

    margin    ln(evidence of the best competitor / evidence of the fact)
    surprise  ln(rank), minus its mean for facts of the predicate

Some facts are replaced by random ones of the right type (`plant`). These planted facts are known to be wrong. Of the
given facts, an unknown share pi is wrong. So the odds that x is a planted fact
rather than a given one are  w(x) / pi * planted / given,  where w(x) = sigmoid(z(x)) is the probability that x is
wrong, and z increases with the larger and the smaller margin and surprise. Beyond any threshold of z, at most all given
facts are wrong, so the smallest ratio (share of the given facts beyond a threshold) / (share of the planted ones) is an
upper bound of pi, and this bound is used for pi.

Rules were counted on the given facts, so they support a given wrong fact a little more than a planted
one. Features are therefore clipped far from their means (MAX_DEVIATIONS).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..data.arrays import Doubles, Ids, Longs, Mask
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..kernel.aggregation import RESOLUTION, SCALE
from ..kernel.calibration import sigmoid
from ..kernel.ruleset import RuleSet
from ..progress import Progress, silent
from .rivals import FactRivals, fact_rivals

MAX_DRAWS = 20
"""How often another entity is drawn before a fact is kept: its predicate may hold for nearly all pairs."""
PLANTED_SHARE = 0.05
"""The share of the facts that are replaced at once; with more, rules would no longer hold."""
ENOUGH_PLANTED, MOST_PLANTED = 200, 2000
"""Facts are planted round by round until there are enough. Fewer do not determine a map: with 160 facts, two right ones
that look unusual had a probability of .67."""
MAX_ROUNDS = 10
LEAST_EVIDENCE = 1e-3
"""The smallest evidence that is distinguished from none, in natural units: the logarithm needs a floor."""
MAX_DEVIATIONS = 2.0
"""Features are clipped at this many standard deviations from the mean."""
RIDGE = 1e-3
LEAST_BEYOND = 0.25
"""The least share of the planted facts beyond a threshold that gives a bound: smaller shares are too uncertain."""


@dataclass(frozen=True, eq=False)
class WrongnessMap:
    """From rivals to probabilities, for the facts of one arity.

    `usual` is (2, predicates): the mean ln(rank) of facts of each predicate, by place. `mean` and `scale` standardise
    the features, `weights` are those of z. `rate` is the estimated share of wrong facts; `num_planted` facts were
    planted. `unit` is that of the aggregation.
    """

    unit: float
    usual: Doubles
    mean: Doubles
    scale: Doubles
    weights: Doubles
    rate: float
    num_planted: int

    def __call__(self, rivals: FactRivals) -> Doubles:
        """Return the probability that each fact of `rivals` is wrong."""
        z = _terms(_features(rivals, self.usual, self.unit), self.mean, self.scale) @ self.weights
        return np.clip(sigmoid(z), RESOLUTION, 1 - RESOLUTION)


def fit_wrongness(
    rules: RuleSet,
    kb: KnowledgeBase,
    given: dict[int, FactRivals],
    *,
    seed: int = 0,
    threads: int = 0,
    memory: int = 2**30,
    progress: Progress = silent,
) -> dict[int, WrongnessMap]:
    """Return arity -> its map; an arity with too few facts to plant has none.

    Args:
        rules: The rules, bound to `kb`.
        kb: The facts.
        given: Their rivals, by arity.
        seed: Draws the planted facts.
        threads: Threads for scoring; 0: all cores.
        memory: Bytes that one evaluation may take.
        progress: Told how many facts are done.
    """
    random = np.random.default_rng((seed, 0x3B0))
    found = {}
    for arity, rivals in sorted(given.items()):
        rows = np.flatnonzero(kb.facts.isin(rivals.facts))
        at_once = min(int(PLANTED_SHARE * len(rows)), MOST_PLANTED)
        if at_once * MAX_ROUNDS < ENOUGH_PLANTED:
            continue
        parts: list[FactRivals] = []
        for _ in range(min(MAX_ROUNDS, -(-ENOUGH_PLANTED // at_once))):
            changed, wrong = plant(kb, random.permutation(rows)[:at_once], Facts.empty(), random)
            wrong = wrong[np.isin(wrong.predicate, rivals.facts.predicate)]
            parts += fact_rivals(rules, changed, wrong, threads, memory, progress).values()
        if 2 * sum(len(part.facts) for part in parts) >= ENOUGH_PLANTED:
            found[arity] = _fit(rivals, FactRivals.join(parts), rules.aggregation.unit, kb.num_predicates)
    return found


def _features(rivals: FactRivals, usual: Doubles, unit: float) -> Doubles:
    """(facts, 4): the larger and the smaller margin, and surprise, of the two places."""
    own, other = rivals.own / SCALE, rivals.evidence / SCALE
    margin = np.log((other + LEAST_EVIDENCE) / (own + LEAST_EVIDENCE))
    if unit:  # of classes that were fitted together evidence is a log-odds
        margin = np.where(np.isnan(rivals.lead), margin, (other - own) / unit)
    surprise = np.log(rivals.rank) - usual[:, rivals.facts.predicate]
    return np.stack([f(m, axis=0) for m in (margin, surprise) for f in (np.max, np.min)], axis=1)


def _usual(rivals: FactRivals, num_predicates: int) -> Doubles:
    predicate = rivals.facts.predicate
    count = np.maximum(np.bincount(predicate, minlength=num_predicates), 1)
    return np.stack([np.bincount(predicate, np.log(rank), num_predicates) / count for rank in rivals.rank])


def _terms(features: Doubles, mean: Doubles, scale: Doubles) -> Doubles:
    """(facts, 5): the standardised features, clipped, and 1."""
    return np.column_stack(
        (np.clip((features - mean) / scale, -MAX_DEVIATIONS, MAX_DEVIATIONS), np.ones(len(features)))
    )


def _fit(given: FactRivals, planted: FactRivals, unit: float, num_predicates: int) -> WrongnessMap:
    usual = _usual(given, num_predicates)
    found = _features(given, usual, unit)
    mean, scale = found.mean(axis=0), found.std(axis=0) + RESOLUTION
    given_terms, planted_terms = (_terms(m, mean, scale) for m in (found, _features(planted, usual, unit)))
    # Without a rate the odds are those of a logistic regression of planted against given facts; it orders them.
    plain = _least_loss(given_terms, planted_terms, np.zeros(given_terms.shape[1]), None)
    rate = _rate(given_terms @ plain, planted_terms @ plain)
    weights = _least_loss(given_terms, planted_terms, plain, len(planted_terms) / len(given_terms) / rate)
    return WrongnessMap(unit, usual, mean, scale, weights, rate, len(planted_terms))


def _rate(given: Doubles, planted: Doubles) -> float:
    """Return the bound on the share of wrong facts, by what the order says of given and planted ones."""
    thresholds = np.quantile(planted, np.linspace(0.0, 1 - LEAST_BEYOND, 40))
    beyond = np.array([((planted >= t).mean(), ((given >= t).sum() + 1) / (len(given) + 1)) for t in thresholds])
    return float(np.clip((beyond[:, 1] / beyond[:, 0]).min(), RESOLUTION, 1 - RESOLUTION))


def _least_loss(given: Doubles, planted: Doubles, start: Doubles, odds: float | None) -> Doubles:
    """Return the weights of least cross-entropy.

    `odds` is planted / given / pi, the odds of a fact that is surely wrong; None: without a bound, exp(z).
    """
    from scipy.optimize import minimize

    count = len(given) + len(planted)

    def loss(weights: Doubles) -> tuple[float, Doubles]:
        total, slope = 0.0, RIDGE * np.append(weights[:-1], 0.0)
        for terms, is_planted in ((given, False), (planted, True)):
            z = terms @ weights
            log_odds = z if odds is None else np.log(odds) - np.logaddexp(0.0, -z)
            by_z = np.ones_like(z) if odds is None else sigmoid(-z)
            total += float((np.logaddexp(0.0, log_odds) - is_planted * log_odds).sum()) / count
            slope = slope + terms.T @ ((sigmoid(log_odds) - is_planted) * by_z) / count
        return total + RIDGE / 2 * float((weights[:-1] ** 2).sum()), slope

    bounds = [(0.0, None)] * (len(start) - 1) + [(None, None)]  # evidence against a fact never counts for it
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x)


# wrong facts, planted on purpose ------------------------------------------------------------------------


class PlantedFacts(NamedTuple):
    """The base `kb` with `wrong` facts in place of others."""

    kb: KnowledgeBase
    wrong: Facts


def plant(kb: KnowledgeBase, rows: Longs, known: Facts, random: np.random.Generator) -> PlantedFacts:
    """Replace facts by wrong ones. No planted fact is known, and none relates an entity to itself.

        p(a, b)   becomes p(a, c) or p(c, b), where c stands at that place of another fact of p
        class(x)  becomes another class of x
        p(x)      becomes p(y), where y is in some unary fact

    Args:
        kb: The facts. With many graphs in one base, binary facts stay as they are.
        rows: The rows of `kb.facts` to replace.
        known: Facts that are true, beside those of `kb`.
        random: Draws the wrong facts.
    """
    known, left = kb.facts + known, np.sort(rows)
    replaced, parts = np.zeros(len(kb.facts), bool), [Facts.empty()]
    for _ in range(MAX_DRAWS):
        drawn, is_drawn = _draw(kb, kb.facts[left], random)
        taken = Facts.join([known, *parts])
        good = is_drawn & ~drawn.isin(taken) & (drawn.subject != drawn.object) & _is_first(drawn)
        parts.append(drawn[good])
        replaced[left[good]] = True
        left = left[~good]
        if not len(left):
            break
    wrong = Facts.join(parts)
    return PlantedFacts(kb.with_facts(kb.facts[~replaced] + wrong), wrong.unique())


def _draw(kb: KnowledgeBase, facts: Facts, random: np.random.Generator) -> tuple[Facts, Mask]:
    """A replacement for each of `facts`, and whether there is one."""
    predicate, ends = facts.predicate.copy(), (facts.subject.copy(), facts.object.copy())
    is_drawn = np.zeros(len(facts), bool)
    classes = np.array(sorted(kb.classes), np.int32)
    anybody = np.unique(kb.unary.subject)
    for target in np.unique(facts.predicate).tolist():
        rows = np.flatnonzero(facts.predicate == target)
        if facts.object[rows[0]] < 0:
            if target in kb.classes:
                predicate[rows] = classes[random.integers(len(classes), size=len(rows))]
            elif kb.graph_of is None:
                ends[0][rows] = anybody[random.integers(len(anybody), size=len(rows))]
            else:
                continue
        elif kb.graph_of is None:
            of_target = kb.facts.of(target)
            pools: list[Ids] = [np.unique(of_target.subject), np.unique(of_target.object)]
            side = random.integers(2, size=len(rows))
            for which in (0, 1):
                some = rows[side == which]
                ends[which][some] = pools[which][random.integers(len(pools[which]), size=len(some))]
        else:
            continue
        is_drawn[rows] = True
    return Facts(predicate, *ends), is_drawn


def _is_first(facts: Facts) -> Mask:
    """Which facts are not the same as an earlier one."""
    columns = np.stack((facts.predicate, facts.subject, facts.object))
    first = np.zeros(len(facts), bool)
    first[np.unique(columns, axis=1, return_index=True)[1]] = True
    return first
