"""Forward selection of (pattern, class) pairs: which patterns count for or against which class.

In each round, the gain of every pair is what one Newton step on its weight alone would add to the log-likelihood. The
best pairs are added, and all weights are fitted again (`fitting.py`). Twice as many as wanted are added; then the least
useful ones are removed in a few steps, with a fit after each (`thinning.py`). After that, some more are added and
removed again, a few times. Classes whose prior is worth less than one more pair share the lowest prior, which needs no
rule.

Conjunctions, `riding(X, Z1), horse(Z1), \\+ tall(X)`, are added to the patterns before the first round if counting
shows that two patterns together predict a class much better than each alone (`sure_patterns.py`), and in every round,
grown from the best patterns (`growing.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from ..data.arrays import Floats, Ids, Longs, Mask
from ..progress import Progress, Stop
from .fitting import ClassModel, LabelledObjects, class_counts, fit, log_likelihoods, probabilities, slopes
from .formulas import Disjunction, FormulaTraining, best_formula, train_classes, with_disjunctions
from .growing import Growth, PatternGrower
from .lean import LeanLiterals, with_literals
from .literals import Literals
from .patterns import Patterns
from .sure_patterns import sure_patterns, with_clear_conjunctions
from .thinning import Thinning, needless_priors

FIRST_PAIRS = 4
"""If formulas are trained alone: pairs per class of the first model, which shows which objects are hard."""
PRIOR_FACTORS = 1.0, 8.0
"""Multiples of the worth of a pair that are tried as the limit below which classes share a prior."""


@dataclass(frozen=True)
class ChoiceOptions:
    """How many (pattern, class) pairs are chosen, and how.

    Attributes:
        pairs: the number of pairs in the end.
        rounds: rounds of adding pairs, each followed by a fit.
        surplus: pairs that are tried in addition, as a share of `pairs`.
        thinnings: steps in which the surplus is removed, with a fit after each.
        penalty: L2 penalty (half of the squared weight) per pair of a class: the more pairs a class has, the smaller
            each weight should be.
        caution: added to the second derivative of a pair, so that few objects count less.
        min_support: the fewest objects that a rule must explain.
        steps: L-BFGS steps in each round.
        last_steps: L-BFGS steps in the last fit, and where the priors that classes share are decided.
        conjunctions: whether to use conjunctions.
        conjunction_support: the fewest objects that a conjunction found by counting must explain.
        growth: how bodies are grown by further literals.
        swaps: how often more pairs are added and the least useful removed after the first thinning.
        swapped: pairs that are added each time, as a share.
        sample: the number of objects that pairs are chosen on; the last fit uses all objects.
        device: cpu or cuda.
    """

    pairs: int
    rounds: int = 10
    surplus: float = 1.0
    thinnings: int = 4
    penalty: float = 0.1
    caution: float = 2.0
    min_support: int = 2
    steps: int = 8
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

    def for_sample(self, share: float) -> ChoiceOptions:
        """Return the choice for a sample, a `share` of all objects: limits on counts are scaled by it."""
        scaled = {name: getattr(self, name) * share for name in ("penalty", "caution")}
        growth = replace(self.growth, caution=self.growth.caution * share)
        return replace(self, growth=growth, **scaled)


def choose(
    patterns: Patterns,
    rows: Longs,
    everything: LabelledObjects,
    choice: ChoiceOptions,
    progress: Progress,
    stop: Stop,
    training: FormulaTraining | None = None,
) -> tuple[Patterns, ClassModel]:
    """Return the patterns with conjunctions, and a model of at most `choice.pairs` pairs and one prior per class.

    Args:
        patterns: Which pattern holds for which object.
        rows: Positions in patterns.entities, one for each object and class to learn from.
        everything: The classes of `rows` (the last class is "any other"), and the patterns that hold for them.
        choice: How many pairs, and how they are chosen.
        progress: Called after each round.
        stop: Checked before each round; the pairs chosen so far are then fitted once more.
        training: If given, conjunctions found by training are candidates too.
    """
    given: tuple[Ids, Ids] = (np.zeros(0, np.int32), np.zeros(0, np.int32))
    if choice.conjunctions:  # confident patterns are kept even if several less confident ones would do together
        counts = class_counts(everything)
        sure = sure_patterns(counts, patterns.sizes, choice.conjunction_support)
        patterns, *clear = with_clear_conjunctions(patterns, everything, counts, choice.conjunction_support)
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
            trained = search.train(training, progress, stop)
            search.join([part for formulas in trained.values() for formula in formulas for part in formula])
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


def _training_rounds(training: FormulaTraining, rounds: int) -> list[int]:
    """Rounds before which formulas are trained: after the first one, which shows the hard objects, and later."""
    return [1 + k * rounds // (2 * training.times) for k in range(training.times)]


def choose_formulas(
    patterns: Patterns,
    rows: Longs,
    everything: LabelledObjects,
    choice: ChoiceOptions,
    progress: Progress,
    stop: Stop,
    training: FormulaTraining,
) -> tuple[Patterns, ClassModel]:
    """Return the patterns followed by one trained formula per class, and a model of these and one prior per class.

    Args:
        patterns: Which pattern holds for which object.
        rows: As in `choose`.
        everything: As in `choose`.
        choice: How the weights are fitted, and on which objects.
        progress: Called with the number of trained classes.
        stop: Checked before each group of classes; classes that are not trained have only a prior.
        training: How formulas are trained.
    """
    nothing = np.zeros(0, np.int32)
    search = _Search(patterns, rows, everything.label, everything.shares, choice, (nothing, nothing))
    priors, worth = search.model, search.gains()  # statements are chosen by their gain over the priors
    search.add(FIRST_PAIRS * (everything.shares.shape[1] - 1))
    trained = search.train(training, progress, stop, worth)
    held = search.data.held.tocsc()
    best = {
        c: best_formula(formulas, held, search.data.label == c, training) for c, formulas in sorted(trained.items())
    }
    leaner = LeanLiterals(patterns)  # formulas that are not selected stay as the attentions are
    best = {c: leaner.lean_disjunction(f) if training.settings.select else f for c, f in best.items() if f}
    found = with_disjunctions(patterns, list(best.values()))
    number = len(patterns) + np.arange(len(best), dtype=np.int32)
    model = priors.added(number, np.array(list(best), np.int32))
    data = LabelledObjects(everything.label, found.held[rows], everything.shares)
    return found, fit(model, data, choice.penalty, choice.last_steps, choice.threads, choice.device)


def first_pairs(patterns: Patterns, rows: Longs, data: LabelledObjects, choice: ChoiceOptions) -> ClassModel:
    """Return a model of the best pairs of `patterns`, as many as there are classes, chosen at once.

    `rows` and `choice` are those of `choose`, `data` is its `everything`.
    """
    nothing = np.zeros(0, np.int32)
    few = replace(choice, pairs=data.shares.shape[1] - 1, conjunctions=False)
    search = _Search(patterns, rows, data.label, data.shares, few, (nothing, nothing))
    search.add(few.pairs)
    return search.model


class _Search:
    """The pairs chosen so far."""

    def __init__(
        self,
        patterns: Patterns,
        rows: Longs,
        label: Ids,
        shares: sparse.csr_array,
        choice: ChoiceOptions,
        given: tuple[Ids, Ids],
    ) -> None:
        """`given` are (pattern, class) of the pairs that are in the model from the start, and are removed last."""
        self.rows, self.label, self.shares = rows, label, shares
        self.num_given = len(patterns)
        choice = replace(choice, penalty=choice.penalty * choice.pairs / max(shares.shape[1] - 1, 1))
        self.some, self.whole = _sampled(patterns, rows, choice), choice
        self.choice = choice.for_sample(len(self.some) / max(len(rows), 1))
        self.total = np.bincount(label, minlength=shares.shape[1])
        self._take(patterns)
        nothing = np.zeros(0, np.int32)
        self.model = ClassModel.of(nothing, nothing, np.zeros(0), np.log(self.total + 0.5)).added(*given)
        self.given = set(zip(self.model.pattern.tolist(), self.model.target.tolist()))
        self.random = np.random.default_rng((choice.seed, 13))
        self.worth = 0.0
        self.room = choice.pairs

    def _take(self, patterns: Patterns) -> None:
        """Replace the patterns."""
        self.patterns = patterns
        self.everything = LabelledObjects(self.label, patterns.held[self.rows], self.shares)
        self.counts = class_counts(self.everything)
        self.data = self.everything.take(self.some)

    def add(self, goal: int) -> None:
        """Add the pairs with the largest gain until the model has `goal` pairs; then fit."""
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
        """Return (patterns, classes): the gain of a pair, 0 without enough support; and whether its weight is positive.

        Only for the patterns from `first` on.
        """
        choice, is_grown = self.choice, np.arange(first, len(self.patterns)) >= self.num_given
        gradient, curvature = slopes(self.model, self.data, choice.threads, choice.device, first)
        caution = np.where(is_grown, choice.growth.caution, choice.caution).astype(np.float32)
        least = np.where(is_grown, choice.growth.min_support, choice.min_support)
        gain = gradient * gradient / (curvature + caution[:, None])
        speaks_for = gradient > 0
        counts = self.counts[first:]
        gain[np.where(speaks_for, counts, self.total - counts) < least[:, None]] = 0
        gain[is_grown[:, None] & ~speaks_for] = 0  # a long negated body is hard to read
        if self.model.tied is not None:
            gain[self.model.tied & ~speaks_for] = 0
        gain[:, -1] = 0  # "any other class" is no target
        return gain, speaks_for

    def train(
        self, training: FormulaTraining, progress: Progress, stop: Stop, worth: tuple[Floats, Mask] | None = None
    ) -> dict[int, list[Disjunction]]:
        """Return the trained formulas of each class. `worth` is the result of `gains`.

        Default: for the current model.
        """
        chances = probabilities(self.model, self.data, self.choice.threads)
        gain, speaks_for = worth or self.gains()
        seed = int(self.random.integers(2**31))
        return train_classes(self.patterns, self.data, gain, speaks_for, chances, training, seed, progress, stop)

    def join(self, bodies: Sequence[Literals]) -> None:
        """Add conjunctions of two or more literals to the patterns."""
        new = [literals for literals in dict.fromkeys(bodies) if len(literals) > 1]
        if new:
            self._take(with_literals(self.patterns, new)[0])

    def _grow(self, gain: Floats) -> None:
        group = self.patterns.groups[self.rows[self.some]]
        half = self.random.random(int(group.max(initial=0)) + 1) < 0.5
        grower = PatternGrower(self.patterns, self.data, half[group], self.choice.growth, self.choice.threads)
        chances = probabilities(self.model, self.data, self.choice.threads)
        found = grower.grow(gain, chances, self.data.label)
        if found:
            self._take(with_literals(self.patterns, found)[0])

    def thin(self, room: int) -> None:
        """Remove the least useful pairs until at most `room` are left; those given at the start are removed last."""
        if len(self.model) > room:
            self.model, self.worth = self._thinning().to(room)
            self._fit()

    def _thinning(self) -> Thinning:
        chances = probabilities(self.model, self.data, self.choice.threads)
        pairs = zip(self.model.pattern.tolist(), self.model.target.tolist())
        given = np.array([pair in self.given for pair in pairs], bool)
        return Thinning(self.model, self.data, chances, self.choice.penalty, given)

    def share_priors(self) -> None:
        """Let classes whose prior is worth less than a pair share the lowest prior; as many more pairs are allowed.

        The cost of sharing is estimated to second order, which is far too high for a class with many negative
        weights. So a second, larger set of classes is tried too, and the likelihood after a fit decides.
        """
        if not self.worth:
            return
        self._fit(self.choice.last_steps)  # the losses that are compared have to be those of settled weights
        sharpness = self._thinning().sharpness
        before, loss = self.model, self._loss()
        best, room, most = before, self.room, 0.0
        for factor in PRIOR_FACTORS:
            tied = np.append(needless_priors(before.prior[:-1], sharpness[:-1], factor * self.worth), False)
            lowest = float(np.average(before.prior[tied], weights=sharpness[tied] + 1e-12))
            self.model = replace(before, tied=tied, bias=before.bias - lowest)
            self._fit(self.choice.last_steps)
            saved = self.worth * self._num_spared() - (self._loss() - loss)
            if saved > most:
                best, room, most = self.model, self.choice.pairs + self._num_spared(), saved
        self.model, self.room = best, room

    def _loss(self) -> float:
        """The loss that a fit minimises: the negative log-likelihood and the penalty."""
        chances = probabilities(self.model, self.data, self.choice.threads)
        penalty = 0.5 * self.choice.penalty * float(self.model.weight @ self.model.weight)
        return penalty - float(log_likelihoods(chances, self.data.shares).sum())

    def _num_spared(self) -> int:
        """The number of classes without a rule for their prior: they share the lowest one and have other rules."""
        return 0 if self.model.tied is None else int(self.model.tied[np.unique(self.model.target)].sum())

    def _fit(self, steps: int | None = None) -> None:
        choice = self.choice
        self.model = fit(self.model, self.data, choice.penalty, steps or choice.steps, choice.threads, choice.device)

    def settled(self) -> ClassModel:
        """Return the model fitted to all objects.

        A class whose prior falls below the lowest one gets the lowest one.
        """
        whole = self.whole
        while len(self.model) > (room := self.choice.pairs + self._num_spared()):  # a class may have lost its last pair
            self.thin(room)
        while True:
            found = fit(self.model, self.everything, whole.penalty, whole.last_steps, whole.threads, whole.device)
            if found.tied is None or not (low := (found.prior < 0) & ~found.tied)[:-1].any():
                return found
            low[-1] = False
            self.model = replace(found, tied=found.tied | low)


def _sampled(patterns: Patterns, rows: Longs, choice: ChoiceOptions) -> Longs:
    """Return positions in `rows`: all, or those of complete graphs with about `choice.sample` objects."""
    if len(rows) <= choice.sample or patterns.kb.graph_of is None:
        return np.arange(len(rows))
    graph = patterns.groups[rows]
    order = np.random.default_rng((choice.seed, 7)).permutation(patterns.kb.num_graphs)
    return np.flatnonzero(order[graph] < patterns.kb.num_graphs * choice.sample / len(rows))
