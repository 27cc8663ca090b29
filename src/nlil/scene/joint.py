"""joint_rules: rules for object classes whose weights were fitted together, so that the scores of classes compare.

The model is a softmax over classes (`fitting.py`). As rules: a pair of weight w > 0 is `class(X) :- pattern` with
evidence w / scale; w < 0 is `class(X) :- \\+ pattern` with evidence -w / scale, and as much less prior; biases are
`class(X) :- true`, moved together so that none is negative. Noisy-or over all rules that fire is the sum of their
evidence, so it orders the classes of an object as the softmax does.

`choose` finds which patterns speak for or against which class, a few pairs at a time, those that would help most. In
each round every (pattern, class) pair is judged by what one Newton step on its weight alone would add to the logarithm
of the likelihood, the best are added, and all weights are fitted again. Twice as many as wanted are added, and the
least useful of them are taken out in a few steps, with a fit after each (`thinning.py`). Then some more are added and
taken out again, a few times. Classes whose prior is worth less than one more pair share the lowest prior, which needs
no rule.

Conjunctions, `riding(X, Z1), horse(Z1), \\+ tall(X)`, join the patterns before the first round, where counting shows
that two patterns together say much more than each, and in every round, grown from the best patterns (`growing.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from ..data.arrays import Doubles, Floats, Ids, Longs, Mask
from ..data.kb import KnowledgeBase
from ..data.target_scores import TargetScores
from ..kernel.aggregation import Aggregation
from ..kernel.bodies import NO_STEP, NOT, X_NODE, Bodies, Lines, unary_mask
from ..kernel.compiled import compiled
from ..kernel.ruleset import RuleSet
from ..progress import Progress, Stop, silent
from .fitting import Labelled, Model, columns, fit, one_hot, probabilities, scores, slopes
from .growing import Grower, Growth, literals_of, with_literals
from .patterns import Patterns, find_patterns
from .thinning import Thinning, needless_priors

MAX_EVIDENCE = 6.0
"""Largest sum of evidence of a training object: scores up to 1 - exp(-6) = .9975 still differ in print."""
MIN_EVIDENCE = 1e-4
"""A rule of less is left out."""
SAMPLE = 20_000
"""Objects by which the evidence is scaled."""
MIN_SURE_CONFIDENCE, MAX_SURE_PER_CLASS = 0.8, 4
"""Patterns that are taken before all others."""
MAX_JOINED_PER_OBJECT = 12
"""Patterns of an object that are counted two by two, rarest first."""
MAX_CONJUNCTIONS_PER_CLASS = 40
MIN_LIFT = 1.2
"""The confidence of a conjunction, as a multiple of that of the better of its two patterns."""
MIN_CLEAR_CONFIDENCE, MAX_CLEAR_PER_CLASS = 0.5, 5
"""Conjunctions that are taken before all others."""


@dataclass(frozen=True)
class Choice:
    """How many (pattern, class) pairs, and how carefully.

    Attributes:
        pairs: how many stay in the end.
        rounds: in which pairs are added, each followed by a fit.
        surplus: pairs that are tried beyond those that stay, as a share.
        thinnings: steps in which the others are taken out; what stays is fitted again after each.
        penalty: of a weight's square, half of it.
        caution: added to a pair's second derivative: what few objects say counts less.
        min_support: objects that a rule must hold for and explain.
        steps: of L-BFGS in each round.
        last_steps: of L-BFGS in the last fit.
        conjunctions: whether there are any.
        conjunction_support: objects that a conjunction found by counting must explain: few objects mislead.
        growth: how bodies are grown by further literals.
        swaps: times that more pairs are added, and the least useful taken out, once there are as many as wanted.
        swapped: pairs that are added each time, as a share.
        sample: objects by which pairs are chosen; the last fit takes all.
        device: cpu or cuda.
    """

    pairs: int
    rounds: int = 16
    surplus: float = 1.0
    thinnings: int = 4
    penalty: float = 0.5
    caution: float = 2.0
    min_support: int = 2
    steps: int = 25
    last_steps: int = 60
    conjunctions: bool = True
    conjunction_support: int = 100
    growth: Growth = field(default_factory=Growth)
    swaps: int = 3
    swapped: float = 0.25
    regrow: float = 0.0
    sample: int = 250_000
    seed: int = 0
    threads: int = 0
    device: str = "cpu"

    def for_sample(self, share: float) -> Choice:
        """Return the choice for a sample, `share` of all objects: what is compared with counts is as much smaller."""
        scaled = {name: getattr(self, name) * share for name in ("penalty", "caution")}
        growth = replace(self.growth, caution=self.growth.caution * share)
        return replace(self, growth=growth, **scaled)


def joint_rules(
    kb: KnowledgeBase,
    targets: Ids,
    moves: int,
    choice: Choice,
    memory: int = 2**30,
    progress: Progress = silent,
    stop: Stop | None = None,
    body: KnowledgeBase | None = None,
    given: TargetScores | None = None,
) -> RuleSet:
    """Rules for object classes, at most `choice.pairs` and a prior for each class.

    Args:
        kb: The facts to learn from.
        targets: The classes, as predicate ids.
        moves: How many relations a path of a body may have.
        choice: How many rules, and how carefully they are chosen.
        memory: Bytes that patterns may take while they are listed.
        progress: Told how far the work is.
        stop: Ends the choosing early.
        body: The facts that bodies may use; default: all.
        given: The classes of the objects to learn from, where they are not the facts of `kb`; statistics then count
            the class with the largest share.
    """
    stop = stop or Stop()
    progress("patterns", 0, 1)
    entities = np.flatnonzero(kb.domain).astype(np.int32) if given is None else given.entities
    patterns = find_patterns(body or kb, entities, moves, max(choice.min_support, 2), memory, choice.threads)
    progress("patterns", 1, 1)
    num_classes = len(targets) + 1
    if given is None:
        rows, label = labelled_rows(kb, patterns.entities, targets)
        shares = one_hot(label, num_classes)
    else:
        rows, label = np.arange(len(given)), given.top
        shares = sparse.csr_array((given.share, given.label, given.pointer), shape=(len(given), num_classes))
    data = Labelled(label, patterns.held[rows], shares)
    patterns, model = choose(patterns, rows, data, choice, progress, stop)
    return as_rules(kb, patterns, model, replace(data, held=patterns.held[rows]), targets)


def labelled_rows(kb: KnowledgeBase, entities: Ids, targets: Ids) -> tuple[Longs, Ids]:
    """Return (place among `entities`, class) of every object.

    It has a row for each of its targets, or one for none of them.
    """
    position = np.full(kb.num_predicates, -1, np.int32)
    position[targets] = np.arange(len(targets), dtype=np.int32)
    unary = kb.crisp.unary
    own = unary[position[unary.predicate] >= 0]
    places, shape = (own.subject, position[own.predicate]), (kb.num_entities, len(targets) + 1)
    has = sparse.csr_array((np.ones(len(own), bool), places), shape=shape)[entities]
    without = np.flatnonzero(np.diff(has.indptr) == 0)
    none = np.ones(len(without), bool), (without, np.full(len(without), len(targets)))
    rows, label = (has + sparse.csr_array(none, shape=has.shape)).nonzero()
    return rows.astype(np.int64), label.astype(np.int32)


def as_rules(kb: KnowledgeBase, patterns: Patterns, model: Model, data: Labelled, targets: Ids) -> RuleSet:
    """The model as a rule set that sums the evidence of all rules: priors first, then the pairs in their order.

    Args:
        kb: The facts that were learned from.
        patterns: What the bodies are.
        model: The weights of (pattern, class) pairs.
        data: The objects by which rules are counted.
        targets: The classes, as predicate ids.
    """
    total = np.bincount(data.label, minlength=len(model.bias))[:-1]
    num_objects = len(patterns.entities)
    bias = model.prior[:-1]
    bias = bias - bias.min() if model.tied is None else np.maximum(bias, 0.0)
    scale = _scale(model, bias, data)
    model = model.take(np.flatnonzero(np.abs(model.weight) * scale >= MIN_EVIDENCE))
    against = model.weight < 0
    support, size = class_counts(data)[model.pattern, model.target], patterns.sizes[model.pattern]
    support = np.where(against, total[model.target] - support, support)
    size = np.where(against, num_objects - size, size)
    negated = [[*patterns.bodies.program(pattern), NOT] for pattern in model.pattern[against].tolist()]
    number = model.pattern.astype(np.int64)
    number[against] = len(patterns) + np.arange(len(negated))
    true = Bodies.of_lines(Lines.of(np.full((1, 1), NO_STEP)))
    bodies, (prior, new) = Bodies.join([true, patterns.bodies.with_programs(negated)])
    needed = np.ones(len(targets), bool)  # a class that shares the lowest prior needs it only where it has nothing else
    if model.tied is not None:
        needed[model.target] = ~model.tied[model.target]
    with_prior = np.flatnonzero(needed)
    of_class = np.concatenate((with_prior, model.target))
    rules = RuleSet.of_lines(
        kb,
        np.full((len(of_class), 1), NO_STEP),
        head=targets[of_class],
        support=np.concatenate((total[with_prior], support)),
        body_size=np.concatenate((np.full(len(with_prior), num_objects), size)),
        head_size=total[of_class],
    )
    return replace(
        rules,
        bodies=bodies,
        body=np.concatenate((np.repeat(prior, len(with_prior)), new[number])).astype(np.int32),
        weight=-np.expm1(-np.concatenate((bias[with_prior], np.abs(model.weight))) * scale).astype(np.float32),
        aggregation=Aggregation("noisy-or", 0, unit=scale),
        requested=tuple(kb.predicates[t] for t in targets),
    ).compact()


def _scale(model: Model, bias: Doubles, data: Labelled) -> float:
    """Evidence of one unit of a weight."""
    against = np.zeros(len(model.bias))
    np.add.at(against, model.target, np.maximum(-model.weight, 0.0))
    sums = scores(replace(model, bias=np.append(bias, 0.0)), data.held[:SAMPLE]) + against
    return float(min(1.0, MAX_EVIDENCE / max(float(sums.max(initial=0.0)), 1e-9)))


# choosing pairs -----------------------------------------------------------------------------------------


def choose(
    patterns: Patterns, rows: Longs, everything: Labelled, choice: Choice, progress: Progress, stop: Stop
) -> tuple[Patterns, Model]:
    """The patterns, conjunctions among them now, and a model of at most `choice.pairs` pairs and a prior a class.

    Args:
        patterns: What holds for which object.
        rows: Places in patterns.entities, one for each object and class to learn from.
        everything: The classes of `rows`, of which the last means any other, and the patterns that hold for them.
        choice: How many pairs, and how carefully.
        progress: Told after each round.
        stop: Asked before each round; what is chosen so far is fitted once more and stays.
    """
    given: tuple[Ids, Ids] = (np.zeros(0, np.int32), np.zeros(0, np.int32))
    if choice.conjunctions:  # what is sure by itself is said, also where several unsure rules would do together
        counts = class_counts(everything)
        sure = _sure(counts, patterns.sizes, choice.conjunction_support)
        patterns, *clear = with_telling_conjunctions(patterns, everything, counts, choice.conjunction_support)
        first, second = map(np.concatenate, zip(sure, clear))
        given = first, second
    search = _Search(patterns, rows, everything.label, everything.shares, choice, given)
    steps = choice.rounds + choice.thinnings + choice.swaps
    full = int(choice.pairs * (1 + choice.surplus))
    for number in range(choice.rounds):
        if stop():
            break
        progress("rules of classes", number, steps)
        search.add(full * (number + 1) // choice.rounds)
    extra = max(len(search.model) - choice.pairs, 0)
    for left in range(choice.thinnings - 1, -1, -1):
        progress("rules of classes", steps - choice.swaps - 1 - left, steps)
        search.thin(choice.pairs + extra * left // choice.thinnings)
    search.share_priors()
    room = search.room
    for number in range(choice.swaps if extra else 0):
        if stop():
            break
        progress("rules of classes", steps - choice.swaps + number, steps)
        if choice.regrow:
            search.regrow(int(room * choice.regrow))
            search.thin(room)
        search.add(int(room * (1 + choice.swapped)))
        search.thin(int(room * (1 + choice.swapped / 2)))
        search.thin(room)
    model = search.settled()
    progress("rules of classes", steps, steps)
    return search.patterns, model


class _Search:
    """The pairs chosen so far."""

    def __init__(
        self,
        patterns: Patterns,
        rows: Longs,
        label: Ids,
        shares: sparse.csr_array,
        choice: Choice,
        given: tuple[Ids, Ids],
    ) -> None:
        """`given`: (pattern, class) of the pairs that are there from the start and go last."""
        self.rows, self.label, self.shares, self.whole = rows, label, shares, choice
        self.num_given = len(patterns)
        self.some = _sampled(patterns, rows, choice)
        self.choice = choice.for_sample(len(self.some) / max(len(rows), 1))
        self.total = np.bincount(label, minlength=shares.shape[1])
        self._take(patterns)
        nothing = np.zeros(0, np.int32)
        self.model = Model.of(nothing, nothing, np.zeros(0), np.log(self.total + 0.5)).added(*given)
        self.given = set(zip(self.model.pattern.tolist(), self.model.target.tolist()))
        self.random = np.random.default_rng((choice.seed, 13))
        self.worth = 0.0
        self.room = choice.pairs

    def _take(self, patterns: Patterns) -> None:
        """Go on with these patterns."""
        self.patterns = patterns
        self.everything = Labelled(self.label, patterns.held[self.rows], self.shares)
        self.counts = class_counts(self.everything)
        self.data = self.everything.take(self.some)

    def add(self, goal: int) -> None:
        """The pairs with the largest gain that are not in the model, until it has `goal` of them."""
        gain, speaks_for = self._gains()
        if self.choice.conjunctions and self.choice.growth.seeds:
            known = len(self.patterns)
            self._grow(np.where(speaks_for, gain, 0))
            if len(self.patterns) > known:
                gain, _ = self._gains()
        gain[self.model.pattern, self.model.target] = 0
        flat = gain.reshape(-1)
        room = max(min(goal - len(self.model), int(np.count_nonzero(flat))), 0)
        if room:
            pattern, target = np.divmod(np.argpartition(-flat, room - 1)[:room], gain.shape[1])
            self.model = self.model.added(pattern.astype(np.int32), target.astype(np.int32))
        self._fit()

    def _gains(self) -> tuple[Floats, Mask]:
        """(patterns, classes): what a pair would bring, 0 where it explains too little; and whether it speaks for."""
        choice, is_grown = self.choice, np.arange(len(self.patterns)) >= self.num_given
        gradient, curvature = slopes(self.model, self.data, choice.threads, choice.device)
        caution = np.where(is_grown, choice.growth.caution, choice.caution).astype(np.float32)
        least = np.where(is_grown, choice.growth.min_support, choice.min_support)
        gain = gradient * gradient / (curvature + caution[:, None])
        speaks_for = gradient > 0
        gain[np.where(speaks_for, self.counts, self.total - self.counts) < least[:, None]] = 0
        gain[is_grown[:, None] & ~speaks_for] = 0  # what a long body excludes is hard to read
        if self.model.tied is not None:
            gain[self.model.tied & ~speaks_for] = 0
        gain[:, -1] = 0  # any other class: no target
        return gain, speaks_for

    def _grow(self, gain: Floats) -> None:
        kb, places = self.patterns.kb, self.rows[self.some]
        group = self.patterns.entities[places] if kb.graph_of is None else kb.graph_of[self.patterns.entities[places]]
        half = self.random.random(int(group.max(initial=0)) + 1) < 0.5
        grower = Grower(self.patterns, self.data, half[group], self.choice.growth, self.choice.threads)
        chances = probabilities(self.model, self.data, self.choice.threads)
        found = grower.grow(gain, chances, self.data.label)
        if found:
            self._take(with_literals(self.patterns, found))

    def regrow(self, most: int) -> None:
        """Longer bodies join those that they are grown from, at most so many, those that bring most."""
        kb, places = self.patterns.kb, self.rows[self.some]
        group = self.patterns.entities[places] if kb.graph_of is None else kb.graph_of[self.patterns.entities[places]]
        half = self.random.random(int(group.max(initial=0)) + 1) < 0.5
        grower = Grower(self.patterns, self.data, half[group], self.choice.growth, self.choice.threads)
        chances = probabilities(self.model, self.data, self.choice.threads)
        found = sorted(grower.regrow(self.model, chances, self.data.label), key=lambda one: -one[2])[:most]
        if not found:
            return
        self._take(with_literals(self.patterns, list(dict.fromkeys(one[0] for one in found))))
        number = {
            tuple(sorted(literals_of(self.patterns.bodies, body))): body
            for body in np.flatnonzero(self.patterns.bodies.line < 0).tolist()
        }
        known = set(zip(self.model.pattern.tolist(), self.model.target.tolist()))
        pairs = [(number[tuple(sorted(literals))], target) for literals, target, _ in found]
        pairs = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        if pairs:
            pattern, target = np.array(pairs, np.int32).T
            self.model = self.model.added(pattern, target)
            self._fit()

    def thin(self, room: int) -> None:
        """At most `room` pairs: those that are needed least go, those given at the start last."""
        if len(self.model) > room:
            self.model, self.worth = self._thinning().to(room)
            self._fit()

    def _thinning(self) -> Thinning:
        chances = probabilities(self.model, self.data, self.choice.threads)
        pairs = zip(self.model.pattern.tolist(), self.model.target.tolist())
        given = np.array([pair in self.given for pair in pairs], bool)
        return Thinning(self.model, self.data, chances, self.choice.penalty, given)

    def share_priors(self) -> None:
        """Classes whose prior is worth less than a pair have the lowest one; there is room for so many more pairs."""
        if not self.worth:
            return
        sharpness = self._thinning().sharpness
        tied = np.append(needless_priors(self.model.prior[:-1], sharpness[:-1], self.worth), False)
        lowest = float(np.average(self.model.prior[tied], weights=sharpness[tied] + 1e-12))
        self.model = replace(self.model, tied=tied, bias=self.model.bias - lowest)
        self.room = self.choice.pairs + self._num_spared()
        self._fit()

    def _num_spared(self) -> int:
        """Classes that need no rule for their prior: they share the lowest one and have other rules."""
        return 0 if self.model.tied is None else int(self.model.tied[np.unique(self.model.target)].sum())

    def _fit(self) -> None:
        choice = self.choice
        self.model = fit(self.model, self.data, choice.penalty, choice.steps, choice.threads, choice.device)

    def settled(self) -> Model:
        """Fitted to all objects. A class whose prior falls below the lowest one has that one too."""
        whole = self.whole
        while len(self.model) > (room := self.choice.pairs + self._num_spared()):  # a class may have lost its last pair
            self.thin(room)
        while True:
            found = fit(self.model, self.everything, whole.penalty, whole.last_steps, whole.threads, whole.device)
            if found.tied is None or not (low := (found.prior < 0) & ~found.tied)[:-1].any():
                return found
            low[-1] = False
            self.model = replace(found, tied=found.tied | low)


def class_counts(data: Labelled) -> Ids:
    """Return (patterns, classes): objects of the class for which the pattern holds in `data`."""
    out = np.zeros((data.held.shape[1], data.shares.shape[1]), np.int32)
    _count(*columns(data.held)[:2], data.label, out)
    return out


@compiled
def _count(pointer: Longs, column: Ids, label: Ids, out: Ids) -> None:
    for i in range(len(label)):
        for k in range(pointer[i], pointer[i + 1]):
            out[column[k], label[i]] += 1


def _sampled(patterns: Patterns, rows: Longs, choice: Choice) -> Longs:
    """Places among the rows: all, or those of as many whole graphs as make `choice.sample` objects."""
    if len(rows) <= choice.sample or patterns.kb.graph_of is None:
        return np.arange(len(rows))
    graph = patterns.kb.graph_of[patterns.entities[rows]]
    order = np.random.default_rng((choice.seed, 7)).permutation(patterns.kb.num_graphs)
    return np.flatnonzero(order[graph] < patterns.kb.num_graphs * choice.sample / len(rows))


def _sure(counts: Ids, sizes: Longs, min_support: int) -> tuple[Ids, Ids]:
    """(pattern, class) of the patterns that hold for hardly any other class, the most telling of each class."""
    share = counts.sum(axis=0) / max(int(counts.sum()), 1)
    confidence = counts[:, :-1] / np.maximum(sizes, 1)[:, None]
    pattern, target = np.nonzero((confidence >= MIN_SURE_CONFIDENCE) & (counts[:, :-1] >= min_support))
    power = counts[pattern, target] * np.log(confidence[pattern, target] / share[target])
    order = np.lexsort((pattern, -power, target))
    pattern, target = pattern[order], target[order]
    first = _place_in_run(target) < MAX_SURE_PER_CLASS
    return pattern[first].astype(np.int32), target[first].astype(np.int32)


def _place_in_run(values: Longs) -> Longs:
    """0, 1, 2, ... within each run of equal values of a sorted array."""
    return np.arange(len(values)) - np.searchsorted(values, values)


# conjunctions of two patterns ---------------------------------------------------------------------------


def with_telling_conjunctions(
    patterns: Patterns, data: Labelled, counts: Ids, min_support: int
) -> tuple[Patterns, Ids, Ids]:
    """The patterns with conjunctions that tell at least one class better than their two patterns do, by counting.

    In each object of `data` all pairs of what is said of itself or in one step are counted. Geometry predicates and
    those of numbers are left out: there are too many.

    Args:
        patterns: Of one line each.
        data: The objects with their classes.
        counts: As from `class_counts`.
        min_support: Objects of the class that a conjunction must hold for.

    Returns:
        The patterns, and (pattern, class) of the clearest conjunctions.
    """
    local, sizes, num_classes = _local(patterns), patterns.sizes, counts.shape[1]
    rank = np.argsort(np.argsort(sizes[local], kind="stable"), kind="stable").astype(np.int32)
    pointer, column, _ = columns(data.held[:, local])
    owner, key = _all_pairs(pointer, rank[column], len(local))
    known, place, size = np.unique(key, return_inverse=True, return_counts=True)
    by_rank = local[np.argsort(rank)]
    first, second = (by_rank[part] for part in np.divmod(known, max(len(local), 1)))
    both, support = np.unique(place * np.int64(num_classes) + data.label[owner], return_counts=True)
    pair, label = np.divmod(both, num_classes)
    one, two = first[pair], second[pair]
    alone = np.maximum(counts[one, label] / sizes[one], counts[two, label] / sizes[two])
    confidence = support / size[pair]
    good = (support >= min_support) & (confidence >= MIN_LIFT * alone) & (label < num_classes - 1)
    good &= size[pair] < np.minimum(sizes[one], sizes[two])
    power = support[good] * np.log(confidence[good] / alone[good])
    order = np.flatnonzero(good)[np.lexsort((pair[good], -power, label[good]))]
    pair, label, confidence = pair[order], label[order], confidence[order]
    kept = np.unique(pair[_place_in_run(label) < MAX_CONJUNCTIONS_PER_CLASS])
    clear = np.flatnonzero(confidence >= MIN_CLEAR_CONFIDENCE)
    clear = clear[_place_in_run(label[clear]) < MAX_CLEAR_PER_CLASS]
    pairs = [(min(i, j), max(i, j)) for i, j in zip(first[kept].tolist(), second[kept].tolist())]
    number = len(patterns) + np.searchsorted(kept, pair[clear])
    # Rows come from the patterns themselves: an object may have more patterns than were counted.
    found = patterns.with_conjunctions(pairs, list(_rows_of_both(patterns, pairs)))
    return found, number.astype(np.int32), label[clear].astype(np.int32)


def _local(patterns: Patterns) -> Longs:
    """The patterns about X itself or one step away that end in a unary predicate and have no geometry predicate."""
    lines = patterns.bodies.lines
    last = np.take_along_axis(lines.steps, lines.lengths[:, None] - 1, axis=1)[:, 0]
    ends_in_unary = unary_mask(patterns.kb.predicates)[last >> 1]
    short = (lines.start == X_NODE) & (lines.lengths <= 2)
    return np.flatnonzero(short & ends_in_unary & ~lines.names(patterns.kb.geometry))


def _all_pairs(pointer: Longs, column: Ids, size: int) -> tuple[Ids, Longs]:
    """(object, first * size + second) of all pairs of numbers in the rows (pointer, column), the smallest of each."""
    count = np.minimum(np.diff(pointer), MAX_JOINED_PER_OBJECT)
    total = int((count * (count - 1) // 2).sum())
    owner, key = np.zeros(total, np.int32), np.zeros(total, np.int64)
    _list_pairs(pointer, column, size, owner, key)
    return owner, key


@compiled
def _list_pairs(pointer: Longs, column: Ids, size: int, owner: Ids, key: Longs) -> None:
    used = 0
    for i in range(len(pointer) - 1):
        mine = np.sort(column[pointer[i] : pointer[i + 1]])
        for a in range(min(len(mine), MAX_JOINED_PER_OBJECT)):
            for b in range(a + 1, min(len(mine), MAX_JOINED_PER_OBJECT)):
                owner[used] = i
                key[used] = np.int64(mine[a]) * size + mine[b]
                used += 1


def _rows_of_both(patterns: Patterns, pairs: Iterable[tuple[int, int]]) -> Iterator[Ids]:
    """For each pair of patterns the places in patterns.entities where both hold, ascending."""
    by_pattern = patterns.held.tocsc()
    held = np.zeros(len(patterns.entities), bool)
    for pair in pairs:
        first, second = (by_pattern.indices[slice(*by_pattern.indptr[k : k + 2])] for k in pair)
        held[first] = True
        yield second[held[second]]
        held[first] = False
