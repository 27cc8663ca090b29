"""Which patterns speak for or against which class: a few pairs at a time, those that would help most.

In each round every (pattern, class) pair is judged by what one Newton step on its weight alone would add to the
logarithm of the likelihood, the best are added, and all weights are fitted again (`fitting.py`). Twice as many as
wanted are added, and the least useful of them are taken out in a few steps, with a fit after each (`thinning.py`). Then
some more are added and taken out again, a few times. Classes whose prior is worth less than one more pair share the
lowest prior, which needs no rule.

Conjunctions, `riding(X, Z1), horse(Z1), \\+ tall(X)`, join the patterns before the first round, where counting shows
that two patterns together say much more than each (`telling.py`), and in every round, grown from the best patterns
(`growing.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from ..data.arrays import Floats, Ids, Longs, Mask
from ..progress import Progress, Stop
from .fitting import Labelled, Model, fit, probabilities, slopes
from .formulas import Disjunction, Training, best_formula, train_classes, with_disjunctions
from .growing import Grower, Growth, Literals, with_literals
from .patterns import Patterns
from .telling import class_counts, sure_patterns, with_telling_conjunctions
from .thinning import Thinning, needless_priors

FIRST_PAIRS = 4
"""Pairs of a class in the model that tells which objects are hard, where formulas are trained alone."""
PRIOR_FACTORS = 1.0, 8.0
"""Multiples of what a pair is worth, by which it is tried which classes share a prior."""
SMALLEST_CHANCE = 1e-30
"""For a logarithm."""


@dataclass(frozen=True)
class Choice:
    """How many (pattern, class) pairs, and how carefully.

    Attributes:
        pairs: how many stay in the end.
        rounds: in which pairs are added, each followed by a fit.
        surplus: pairs that are tried beyond those that stay, as a share.
        thinnings: steps in which the others are taken out; what stays is fitted again after each.
        penalty: of a weight's square, half of it, for each pair that a class has: the more pairs share what is to be
            said of a class, the less each should say.
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
    penalty: float = 0.1
    caution: float = 2.0
    min_support: int = 2
    steps: int = 25
    last_steps: int = 60
    conjunctions: bool = True
    conjunction_support: int = 100
    growth: Growth = field(default_factory=Growth)
    swaps: int = 3
    swapped: float = 0.25
    sample: int = 250_000
    seed: int = 0
    threads: int = 0
    device: str = "cpu"

    def for_sample(self, share: float) -> Choice:
        """Return the choice for a sample, `share` of all objects: what is compared with counts is as much smaller."""
        scaled = {name: getattr(self, name) * share for name in ("penalty", "caution")}
        growth = replace(self.growth, caution=self.growth.caution * share)
        return replace(self, growth=growth, **scaled)


def choose(
    patterns: Patterns,
    rows: Longs,
    everything: Labelled,
    choice: Choice,
    progress: Progress,
    stop: Stop,
    training: Training | None = None,
) -> tuple[Patterns, Model]:
    """The patterns, conjunctions among them now, and a model of at most `choice.pairs` pairs and a prior a class.

    Args:
        patterns: What holds for which object.
        rows: Places in patterns.entities, one for each object and class to learn from.
        everything: The classes of `rows`, of which the last means any other, and the patterns that hold for them.
        choice: How many pairs, and how carefully.
        progress: Told after each round.
        stop: Asked before each round; what is chosen so far is fitted once more and stays.
        training: Conjunctions that training finds compete too, where it is given.
    """
    given: tuple[Ids, Ids] = (np.zeros(0, np.int32), np.zeros(0, np.int32))
    if choice.conjunctions:  # what is sure by itself is said, also where several unsure rules would do together
        counts = class_counts(everything)
        sure = sure_patterns(counts, patterns.sizes, choice.conjunction_support)
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
        if training is not None and number in _training_rounds(training, choice.rounds):
            said = search.train(training, progress, stop)
            search.join([part for formulas in said.values() for formula in formulas for part in formula])
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
        search.add(int(room * (1 + choice.swapped)))
        search.thin(int(room * (1 + choice.swapped / 2)))
        search.thin(room)
    model = search.settled()
    progress("rules of classes", steps, steps)
    return search.patterns, model


def _training_rounds(training: Training, rounds: int) -> list[int]:
    """Rounds before which formulas are trained: after the first one, which tells objects that are hard, and later."""
    return [1 + k * rounds // (2 * training.times) for k in range(training.times)]


def choose_formulas(
    patterns: Patterns,
    rows: Longs,
    everything: Labelled,
    choice: Choice,
    progress: Progress,
    stop: Stop,
    training: Training,
) -> tuple[Patterns, Model]:
    """The patterns with one trained formula for each class behind them, and a model of these and a prior a class.

    Args:
        patterns: What holds for which object.
        rows: As in `choose`.
        everything: As in `choose`.
        choice: How the weights are fitted, and which objects are looked at.
        progress: Told how many classes are trained.
        stop: Asked before each group of classes; those after it have a prior only.
        training: How formulas are trained.
    """
    nothing = np.zeros(0, np.int32)
    search = _Search(patterns, rows, everything.label, everything.shares, choice, (nothing, nothing))
    priors, worth = search.model, search.gains()  # statements are chosen by what they say beside the priors alone
    search.add(FIRST_PAIRS * (everything.shares.shape[1] - 1))
    said = search.train(training, progress, stop, worth)
    held = search.data.held.tocsc()
    best = {c: best_formula(mine, held, search.data.label == c, training) for c, mine in sorted(said.items())}
    best = {c: formula for c, formula in best.items() if formula}
    found = with_disjunctions(patterns, list(best.values()))
    number = len(patterns) + np.arange(len(best), dtype=np.int32)
    model = priors.added(number, np.array(list(best), np.int32))
    data = Labelled(everything.label, found.held[rows], everything.shares)
    return found, fit(model, data, choice.penalty, choice.last_steps, choice.threads, choice.device)  # one pair a class


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
        self.rows, self.label, self.shares = rows, label, shares
        self.num_given = len(patterns)
        choice = replace(choice, penalty=choice.penalty * choice.pairs / max(shares.shape[1] - 1, 1))
        self.some, self.whole = _sampled(patterns, rows, choice), choice
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
        gain, speaks_for = self.gains()
        if self.choice.conjunctions and self.choice.growth.seeds:
            known = len(self.patterns)
            self._grow(np.where(speaks_for, gain, 0))
            if len(self.patterns) > known:
                gain = np.concatenate((gain, self.gains(known)[0]))
        gain[self.model.pattern, self.model.target] = 0
        flat = gain.reshape(-1)
        room = max(min(goal - len(self.model), int(np.count_nonzero(flat))), 0)
        if room:
            pattern, target = np.divmod(np.argpartition(-flat, room - 1)[:room], gain.shape[1])
            self.model = self.model.added(pattern.astype(np.int32), target.astype(np.int32))
        self._fit()

    def gains(self, first: int = 0) -> tuple[Floats, Mask]:
        """(patterns, classes): what a pair would bring, 0 where it explains too little; and whether it speaks for.

        Of the patterns from `first` on.
        """
        choice, is_grown = self.choice, np.arange(first, len(self.patterns)) >= self.num_given
        gradient, curvature = slopes(self.model, self.data, choice.threads, choice.device, first)
        caution = np.where(is_grown, choice.growth.caution, choice.caution).astype(np.float32)
        least = np.where(is_grown, choice.growth.min_support, choice.min_support)
        gain = gradient * gradient / (curvature + caution[:, None])
        speaks_for = gradient > 0
        counts = self.counts[first:]
        gain[np.where(speaks_for, counts, self.total - counts) < least[:, None]] = 0
        gain[is_grown[:, None] & ~speaks_for] = 0  # what a long body excludes is hard to read
        if self.model.tied is not None:
            gain[self.model.tied & ~speaks_for] = 0
        gain[:, -1] = 0  # any other class: no target
        return gain, speaks_for

    def train(
        self, training: Training, progress: Progress, stop: Stop, worth: tuple[Floats, Mask] | None = None
    ) -> dict[int, list[Disjunction]]:
        """What training says of each class. `worth` of statements, as from `gains`; default: beside the model."""
        chances = probabilities(self.model, self.data, self.choice.threads)
        gain, speaks_for = worth or self.gains()
        seed = int(self.random.integers(2**31))
        return train_classes(self.patterns, self.data, gain, speaks_for, chances, training, seed, progress, stop)

    def join(self, bodies: Sequence[Literals]) -> None:
        """Conjunctions of two literals or more become patterns."""
        new = [literals for literals in dict.fromkeys(bodies) if len(literals) > 1]
        if new:
            self._take(with_literals(self.patterns, new))

    def _grow(self, gain: Floats) -> None:
        kb, places = self.patterns.kb, self.rows[self.some]
        group = self.patterns.entities[places] if kb.graph_of is None else kb.graph_of[self.patterns.entities[places]]
        half = self.random.random(int(group.max(initial=0)) + 1) < 0.5
        grower = Grower(self.patterns, self.data, half[group], self.choice.growth, self.choice.threads)
        chances = probabilities(self.model, self.data, self.choice.threads)
        found = grower.grow(gain, chances, self.data.label)
        if found:
            self._take(with_literals(self.patterns, found))

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
        """Classes whose prior is worth less than a pair have the lowest one; there is room for so many more pairs.

        What sharing costs is estimated to second order, which is far too much for a class that many rules speak
        against. So some more classes are tried too, and the likelihood after a fit decides.
        """
        if not self.worth:
            return
        sharpness = self._thinning().sharpness
        before, loss = self.model, self._loss()
        best, room, most = before, self.room, 0.0
        for factor in PRIOR_FACTORS:
            tied = np.append(needless_priors(before.prior[:-1], sharpness[:-1], factor * self.worth), False)
            lowest = float(np.average(before.prior[tied], weights=sharpness[tied] + 1e-12))
            self.model = replace(before, tied=tied, bias=before.bias - lowest)
            self._fit()
            saved = self.worth * self._num_spared() - (self._loss() - loss)
            if saved > most:
                best, room, most = self.model, self.choice.pairs + self._num_spared(), saved
        self.model, self.room = best, room

    def _loss(self) -> float:
        """What a fit makes small: the negative logarithm of the likelihood, and the penalty."""
        chances = probabilities(self.model, self.data, self.choice.threads)
        row, label = self.data.shares.nonzero()
        likelihood = float(self.data.shares.data @ np.log(np.maximum(chances[row, label], SMALLEST_CHANCE)))
        return 0.5 * self.choice.penalty * float(self.model.weight @ self.model.weight) - likelihood

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


def _sampled(patterns: Patterns, rows: Longs, choice: Choice) -> Longs:
    """Places among the rows: all, or those of as many whole graphs as make `choice.sample` objects."""
    if len(rows) <= choice.sample or patterns.kb.graph_of is None:
        return np.arange(len(rows))
    graph = patterns.kb.graph_of[patterns.entities[rows]]
    order = np.random.default_rng((choice.seed, 7)).permutation(patterns.kb.num_graphs)
    return np.flatnonzero(order[graph] < patterns.kb.num_graphs * choice.sample / len(rows))
