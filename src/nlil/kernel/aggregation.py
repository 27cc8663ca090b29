"""Aggregation: from the rules that fire to a score, from scores to ranks, and from a score to the shares of its rules.

Evidence is the weight of a rule as an integer, so that sums are exact in any order and on any device:

    evidence(w) = round(-log(1 - w) * 2^40)        score = 1 - exp(-evidence / 2^40)

The noisy-or of weights is the sum of their evidence. Scores are rounded to 1e-9 before they are compared: `tie_bounds`
returns the range of evidence that rounds to the same score, and `compare` says which candidates are above and which are
tied. Only this file knows noisy-or, the kinds of rules and their weights, and ties. Explanations call `share_out`.

`low` and `high` are always the `tie_bounds` of an answer: evidence from `low` to below `high` is tied with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..data.arrays import Doubles, Flag, Ids, Longs, Mask
from ..errors import ConfigError
from .compiled import compiled
from .walk import WalkSpace, walk_space

SCALE = 2.0**40
MAX_WEIGHT = 1.0 - 1e-12
"""Upper limit of a weight; certainty would drown out every other rule."""
RESOLUTION = 1e-9
SHIFT = 12
UNIT = 1 << SHIFT
"""Factors of evidence are integers too, in units of 1/4096: (evidence * factor) >> 12 is the same everywhere."""

MAX_FREQUENCY_WEIGHT = 1e-5
"""Weight of the most frequent entity of an argument position, where frequency breaks ties."""

KINDS = (
    "one-step chain",
    "longer chain",
    "answer constant",
    "answer constant, any",
    "query constant",
    "query constant, any",
    "other",
    "prior",
)
"""Kinds of rules for a query p(a, ?): chains; p(X, c) and p(c, Y), whose constant is the answer or the query's entity,
each with a body that names an entity or does not; every other body; p(X, c) :- true."""


AGGREGATIONS = ("noisy-or", "max")


MAX_TOP = 1000
"""Limit of the number of strongest rules that count: each takes memory for every candidate."""


@dataclass(frozen=True)
class Aggregation:
    """How the rules that fire become one score.

    max       the strongest rule
    noisy-or  1 - prod(1 - weight) over the `top` strongest rules and the priors; top = 0 takes all

    With a `weighing`, noisy-or takes the `top` strongest rules of each kind (KINDS): the strongest of a kind counts
    (factor) of its evidence, and each next one (discount) of the one before.

    If the weights of exclusive classes were fitted jointly, `unit` is the evidence of one natural unit of log-odds:
    the probabilities of an object's classes are the softmax of evidence / unit. Otherwise it is 0.

    With `by_frequency`, tied candidates of binary targets are ordered by how often the facts have them in that
    position of the predicate (`frequency_evidence`).
    """

    kind: str = "noisy-or"
    top: int = 5
    weighing: tuple[tuple[float, float], ...] = ()
    unit: float = 0.0
    by_frequency: bool = False

    def __post_init__(self) -> None:
        try:
            numbers = tuple((float(f), float(d)) for f, d in self.weighing)
            fits = not numbers or (
                len(numbers) == len(KINDS)
                and self.kind == "noisy-or"
                and self.top > 0
                and all(0 <= f <= 1 and 0 <= d <= 1 for f, d in numbers)
            )
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise ConfigError(
                f"weighing: expected noisy-or of some rules of each kind, with a factor and "
                f"a discount of 0 to 1 for each of {', '.join(KINDS)}, "
                f"got {self.weighing}",
                "weighing",
            )
        object.__setattr__(self, "weighing", numbers)
        if not 0 <= self.unit < float("inf"):
            raise ConfigError(f"unit: expected a number of 0 or more, got {self.unit!r}", "unit")
        if self.kind not in AGGREGATIONS:
            raise ConfigError(f"aggregation must be {' or '.join(AGGREGATIONS)}, got {self.kind!r}", "aggregation")
        if not (isinstance(self.top, int) and 0 <= self.top <= MAX_TOP):
            raise ConfigError(f"aggregation_top must be 0 (all) to {MAX_TOP:,}, got {self.top!r}", "aggregation_top")

    @property
    def strongest_only(self) -> bool:
        """Whether only the strongest rule counts, be it a prior or not."""
        return self.kind == "max"

    @property
    def places(self) -> int:
        """The number of strongest rules that count in addition to the priors; 0 means all."""
        return 1 if self.strongest_only else self.top

    @property
    def adds(self) -> bool:
        """Whether an additional rule can raise the score."""
        return not self.strongest_only and self.top > 0


DEFAULT = Aggregation()


# evidence and scores -------------------------------------------------------------------------------------------


def evidence(weight: Doubles) -> Longs:
    """Return the evidence (int64) of rules with these weights; `weight` is in [0, 1]."""
    return np.rint(-np.log1p(-np.clip(weight, 0.0, MAX_WEIGHT)) * SCALE).astype(np.int64)


@compiled
def degree_evidence(weight: float) -> int:
    """`evidence` of one weight, inside compiled loops."""
    return int(np.rint(-np.log1p(-min(max(weight, 0.0), MAX_WEIGHT)) * SCALE))


def score(evidence: Longs) -> Doubles:
    """Return the score of this `evidence`, rounded to 1e-9."""
    return np.asarray(np.round(-np.expm1(-np.asarray(evidence, np.float64) / SCALE), 9), np.float64)


def weighed(evidence: Any, weight: Any) -> Any:
    """Return weight / UNIT of the evidence.

    A sum over all rules may be too large to multiply, but is never weighted.
    """
    return evidence if weight == UNIT else (evidence * weight) >> SHIFT


weigh = compiled(weighed)
"""`weighed` inside compiled loops."""


def kind_weights(aggregation: Aggregation) -> tuple[Longs, np.ndarray, int]:
    """Return (row, weight, prior_weight): the i-th strongest rule of kind k counts weight[row[k], i] / UNIT.

    Without a weighing in `aggregation`, all kinds except priors share one row.
    """
    if not aggregation.weighing:
        return np.zeros(len(KINDS), np.int64), place_weights(aggregation)[None], UNIT
    factor, discount = np.array(aggregation.weighing).T
    weight = np.rint(UNIT * factor[:, None] * discount[:, None] ** np.arange(aggregation.top)).astype(np.int64)
    return np.arange(len(KINDS)), weight[:-1], int(weight[-1, 0])


def place_weights(aggregation: Aggregation) -> Longs:
    """Return the weights without kinds: the i-th strongest rule counts weight[i] / UNIT in `aggregation`."""
    return np.full(max(aggregation.top, 1), UNIT, np.int64)


def frequency_evidence(count: Longs) -> Longs:
    """Return evidence that breaks ties: less than that of any rule, and more for entities with more facts.

    Args:
        count: the number of facts with each entity in the position that the query asks for.
    """
    share = np.log1p(count) / np.log1p(max(int(count.max(initial=0)), 1))
    return np.rint(MAX_FREQUENCY_WEIGHT * SCALE * share).astype(np.int64)


def no_rule(aggregation: Aggregation) -> int:
    """Return the most evidence of a candidate for which no rule fires under `aggregation`."""
    return round(MAX_FREQUENCY_WEIGHT * SCALE) if aggregation.by_frequency else 0


# ranks and ties ------------------------------------------------------------------------------------------------


def tie_bounds(evidence_of_answer: Longs) -> tuple[Longs, Longs]:
    """Return [low, high): the range of evidence that rounds to the same score as each `evidence_of_answer`."""
    rounded = np.asarray(score(evidence_of_answer))
    low = np.ceil(-np.log1p(-np.clip(rounded - RESOLUTION / 2, 0.0, 1 - 1e-16)) * SCALE)
    above = rounded + RESOLUTION / 2
    # Above the last representable score everything is tied.
    high = np.where(above >= 1.0, 2.0**62, np.ceil(-np.log1p(-np.minimum(above, 1 - 1e-16)) * SCALE))
    return low.astype(np.int64), high.astype(np.int64)


def compare(total: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Return (is above, is tied) for a candidate with evidence `total` and an answer with these bounds.

    Takes numbers (in compiled loops as `compared`), arrays or tensors. The answer is tied with itself.
    """
    return total >= high, (total >= low) & (total < high)


compared = compiled(compare)


@compiled
def count_tied(total: np.ndarray, low: float, high: float) -> tuple[int, int]:
    """Return the number of candidates above an answer with these bounds, and the number tied with it.

    `total` is the evidence of all candidates.
    """
    above, tied = 0, 0
    for b in range(len(total)):
        is_above, is_tied = compared(total[b], low, high)
        above += is_above
        tied += is_tied
    return above, tied


@compiled
def count_ranks(total: Longs, answer: int, known_answers: Ids, low: int, high: int) -> tuple[int, int]:
    """Return the number of candidates above `answer`, and the number tied with it, itself included.

    `total` is the evidence of every entity; other `known_answers` do not count.
    """
    above, tied = count_tied(total, low, high)
    for i in range(len(known_answers)):
        b = known_answers[i]
        if b != answer:
            is_above, is_tied = compared(total[b], low, high)
            above -= is_above
            tied -= is_tied
    return above, tied


def realistic_rank(above: Any, tied: Any) -> Any:
    """Return the mean of the best and the worst possible rank of an answer.

    `above` candidates score higher; `tied` score the same, the answer included.
    """
    return above + (tied + 1) / 2


rank = compiled(realistic_rank)
"""`realistic_rank` inside compiled loops."""


def ranks_among(rivals: Longs, evidence_of_answer: Longs) -> Doubles:
    """Return the realistic rank of each answer among the same `rivals`, by their evidence and `evidence_of_answer`."""
    ordered = np.sort(rivals)
    low, high = (np.searchsorted(ordered, bound) for bound in tie_bounds(evidence_of_answer))
    return np.asarray(realistic_rank(len(ordered) - high, high - low + 1), np.float64)


def class_ranks(evidence: Longs, answer: Longs) -> Doubles:
    """Return the realistic rank of column answer[i] in row i, by rounded scores.

    `evidence` has a row for each object and a column for each class.
    """
    low, high = (bound[:, None] for bound in tie_bounds(evidence[np.arange(len(answer)), answer]))
    above, tied = (holds.sum(axis=1) for holds in compare(evidence, low, high))
    return np.asarray(realistic_rank(above, tied), np.float64)


def score_ranks(scores: Doubles, answer: Longs) -> Doubles:
    """Return `class_ranks` of real `scores` of any range, with the same rounding.

    `answer` is the column of each row.
    """
    rounded = np.round(scores, 9)
    own = rounded[np.arange(len(answer)), answer][:, None]
    above, tied = (holds.sum(axis=1) for holds in compare(rounded, own, np.nextafter(own, np.inf)))
    return np.asarray(realistic_rank(above, tied), np.float64)


@dataclass(frozen=True, eq=False)
class Ranks:
    """The number of candidates `above` each answer, and `tied` with it (the answer included).

    Row i is the query of fact `fact[i]`: p(s, ?) for direction 0, p(?, o) for direction 1. If `walked` is 0, the rank
    does not depend on chains of more than two steps.
    """

    fact: Longs
    direction: Longs
    above: Longs
    tied: Longs
    walked: Longs | int = 1

    @property
    def optimistic(self) -> Doubles:
        """The best rank among ties."""
        return (self.above + 1).astype(np.float64)

    @property
    def pessimistic(self) -> Doubles:
        """The worst rank among ties."""
        return (self.above + self.tied).astype(np.float64)

    @property
    def realistic(self) -> Doubles:
        """The mean of both, which is the expected rank over all orders of the tied candidates."""
        return np.asarray(realistic_rank(self.above, self.tied), np.float64)


# the shares of rules -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Shares:
    """A score and the contribution of each rule.

    `score` is in [0, 1], `evidence` is the same as an integer. `order` lists the positions of the counted rules among
    those that fire, strongest first, ties by row. `share` and `power`, the evidence that counts, are in this order.
    """

    score: float
    evidence: int
    order: Longs
    share: Doubles
    power: Longs


def share_out(
    aggregation: Aggregation,
    rows: Longs,
    evidence: Longs,
    is_prior: Mask,
    kind: Longs | None = None,
    is_excluded: bool = False,
) -> Shares:
    """Divide the score of one fact among the rules that fire for it, under `aggregation`.

        noisy-or   share_i = score * evidence_i / sum of evidence, over the rules that count; with a weighing,
                   evidence_i is reduced by the kind of the rule and its position within the kind
        max        everything to the strongest rule

    Args:
        rows: the row numbers of the rules, which order ties.
        evidence: the evidence of each rule.
        is_prior: which rules are priors; these count in addition to the strongest ones.
        kind: the kind of each rule (KINDS); None for unary heads, which have no kinds.
        is_excluded: whether an exclusion rules the fact out; its score and all shares are then 0.
    """
    power = (
        evidence if kind is None or not aggregation.weighing else _weighed_by_kind(aggregation, rows, evidence, kind)
    )
    order = np.lexsort((rows, -power))
    if aggregation.strongest_only:
        counted = order[:1]
    elif power is not evidence:
        counted = order[power[order] > 0]
    else:
        others = order[~is_prior[order]]
        kept = is_prior.copy()
        kept[others[: aggregation.top] if aggregation.top else others] = True
        counted = order[kept[order]]
    total = 0 if is_excluded else int(power[counted].sum())
    value = float(score(np.array(total)))
    return Shares(value, total, counted, value * power[counted] / max(total, 1), power[counted])


def _weighed_by_kind(aggregation: Aggregation, rows: Longs, evidence: Longs, kind: Longs) -> Longs:
    """Return the evidence that counts: a factor for the kind, and a discount for each stronger rule of that kind."""
    _, weight, prior_weight = kind_weights(aggregation)
    power = np.zeros_like(evidence)
    for k in np.unique(kind):
        same = np.flatnonzero(kind == k)
        if k == len(weight):
            # Scoring sums the priors before it weights them; there is at most one per side.
            power[same] = weighed(evidence[same], prior_weight)
            continue
        best = same[np.lexsort((rows[same], -evidence[same]))][: aggregation.top]
        power[best] = [weighed(e, w) for e, w in zip(evidence[best], weight[k])]
    return power


# the strongest rules of every candidate ------------------------------------------------------------------------


class ScoreSpace(NamedTuple):
    """Scratch space of one thread, all zeros between queries.

    A candidate is touched when a rule fires for it: it gets the next slot, counted from 1. All other candidates share
    slot 0, whose rows stay zero.

    Attributes:
        slot: by entity, its slot.
        touched: by slot, the candidate.
        strongest: (slots, kinds, top), the best evidence from rules of each kind, largest first.
        floor: (slots, kinds), the least of these: a rule must exceed it to count.
        total: by slot, the sum of the evidence.
        prior: by entity, the evidence of the priors of the current plan.
        walk: the scratch space of `reach`.
    """

    slot: Ids
    touched: Ids
    strongest: np.ndarray
    floor: np.ndarray
    total: Longs
    prior: Longs
    walk: WalkSpace


def score_space(
    num_entities: int, top: int, most_steps: int, kinds: int = 1, flag: Flag | None = None, spreads: bool = False
) -> ScoreSpace:
    """Make the scratch space for a base of `num_entities` and lines of up to `most_steps`.

    `top` is the number of rules that count per kind, `kinds` the number of kinds; `flag` as in `WalkSpace`. `spreads`
    adds the space that soft facts need.
    """
    slots = num_entities + 1  # pages of memory that are never written to cost nothing
    return ScoreSpace(
        np.zeros(num_entities, np.int32),
        np.zeros(slots, np.int32),
        np.zeros((slots, kinds, max(top, 1)), np.int64),
        np.zeros((slots, kinds), np.int64),
        np.zeros(slots, np.int64),
        np.zeros(num_entities, np.int64),
        walk_space(num_entities, max(most_steps, 1), flag=flag, spreads=spreads),
    )


@compiled
def sink(slots: Longs, evidence: int, top: int) -> None:
    """Insert `evidence` into `slots`, which hold the `top` largest values in order (top = 0: their sum).

    Zeros are free slots.
    """
    if top == 0:
        slots[0] += evidence
        return
    place = top - 1
    if evidence <= slots[place]:
        return
    while place > 0 and slots[place - 1] < evidence:
        slots[place] = slots[place - 1]
        place -= 1
    slots[place] = evidence


@compiled
def counts(space: ScoreSpace, candidate: int, evidence: int, kind: int) -> bool:
    """Return whether a rule of a `kind` with this `evidence` would count for `candidate`, by its floor in `space`."""
    return evidence > space.floor[space.slot[candidate], kind]


@compiled
def touch(space: ScoreSpace, num_touched: int, candidate: int) -> int:
    """Give `candidate` a slot of `space` if it has none; return the number of touched candidates.

    Before the call it was `num_touched`.
    """
    if space.slot[candidate] == 0:
        num_touched += 1
        space.slot[candidate] = num_touched
        space.touched[num_touched] = candidate
    return num_touched


@compiled
def add(space: ScoreSpace, num_touched: int, candidate: int, evidence: int, top: int, kind: int) -> int:
    """Add a rule that fires for `candidate`; return the number of touched candidates, before the call `num_touched`.

    `evidence` is above the floor of the candidate in `space` for this `kind` (`counts`); the `top` strongest rules are
    kept.
    """
    num_touched = touch(space, num_touched, candidate)
    slot = space.slot[candidate]
    if top == 0:
        space.strongest[slot, kind, 0] += evidence
        return num_touched
    # The same as `sink`, but without the slice: half of the time of a query is spent here.
    place = top - 1
    while place > 0 and space.strongest[slot, kind, place - 1] < evidence:
        space.strongest[slot, kind, place] = space.strongest[slot, kind, place - 1]
        place -= 1
    space.strongest[slot, kind, place] = evidence
    space.floor[slot, kind] = space.strongest[slot, kind, top - 1]
    return num_touched


@compiled
def clear(space: ScoreSpace, touched: int) -> None:
    """Reset `space` to zeros, except for its priors; `touched` is the number of touched candidates."""
    for s in range(1, touched + 1):
        space.slot[space.touched[s]] = 0
        for k in range(space.strongest.shape[1]):
            if space.strongest[s, k, 0] != 0:
                space.floor[s, k] = 0
                for j in range(space.strongest.shape[2]):
                    space.strongest[s, k, j] = 0
