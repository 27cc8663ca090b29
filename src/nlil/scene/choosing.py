"""Which patterns speak for or against which class: a few pairs at a time, those that would help most.

In each round every (pattern, class) pair is judged by what one Newton step on its weight alone would add to the
logarithm of the likelihood, the best are added, and all weights are fitted again. Twice as many as asked for are
added, and the least useful of them are taken out in a few steps, with a fit after each. A pattern that speaks
against a class becomes a rule with a negated body.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..data.arrays import Ids, Longs, Mask
from ..kernel.kernels import compiled
from ..logic.formula import And
from ..progress import Progress, Stop
from .fitting import Labelled, Model, Shares, fit, losses, slopes
from .pairs import telling_pairs
from .patterns import Patterns

SURE, SURE_OF_CLASS = 0.8, 4
"""Patterns that are taken before all others: least confidence, most of them for a class."""


@dataclass(frozen=True)
class Choice:
    """How many pairs, and how carefully."""

    pairs: int
    rounds: int = 16
    surplus: float = 1.0  # pairs that are tried beyond those that stay, as a share
    thinnings: int = 4  # steps in which the others are taken out; what stays is fitted again after each
    penalty: float = 1.0  # of a weight's square, half of it
    caution: float = 2.0  # added to a pair's second derivative: what few objects say counts less
    least: int = 2  # objects that a rule must hold for and explain
    steps: int = 25  # of L-BFGS in each round
    last_steps: int = 60
    conjunctions: int = 12  # patterns of a class that are joined two by two; 0: none
    conjunction_least: int = 100  # objects that a conjunction must explain: there are many, and few objects mislead
    conjunction_caution: float = 100.0
    sample: int = 250_000  # objects by which pairs are chosen; the last fit takes all
    seed: int = 0
    threads: int = 0
    device: str = "cpu"

    def of_share(self, share: float) -> Choice:
        return replace(
            self,
            penalty=self.penalty * share,
            caution=self.caution * share,
            conjunction_caution=self.conjunction_caution * share,
        )


@compiled
def _count(pointer, column, label, out):
    for i in range(len(label)):
        for k in range(pointer[i], pointer[i + 1]):
            out[column[k], label[i]] += 1


def class_counts(data: Labelled, num_patterns: int) -> np.ndarray:
    """(patterns, classes): objects of the class for which the pattern holds."""
    out = np.zeros((num_patterns, data.num_classes), np.int32)
    _count(data.pointer, data.column, data.label, out)
    return out


def choose(
    patterns: Patterns,
    rows: Longs,
    label: Ids,
    num_targets: int,
    choice: Choice,
    progress: Progress,
    stop: Stop,
    soft: Shares | None = None,
) -> tuple[Patterns, Model]:
    """The patterns, conjunctions among them now, and a model of at most `choice.pairs` pairs.

    `rows` are places in patterns.entities, `label` their classes; the class num_targets means any other. With `soft`
    the shares of classes are fitted, and `label`, the largest, only counts.
    """
    everything = Labelled(label, *patterns.rows(rows), num_targets + 1, soft)
    num_single = len(patterns)
    bias = np.log(np.bincount(label, minlength=num_targets + 1) + 0.5)
    model = Model.of(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0), bias)
    if choice.conjunctions:  # what is sure by itself is said, also where several unsure rules would do together
        counts = class_counts(everything, num_single)
        found = telling_pairs(patterns, everything, rows, counts, choice.conjunction_least)
        patterns = patterns.with_pairs(found.pairs, found.rows)
        sure_pattern, sure_class = _sure(counts, patterns.sizes[:num_single], choice.conjunction_least)
        model = model.added(
            np.concatenate((sure_pattern, num_single + found.clear_pair)),
            np.concatenate((sure_class, found.clear_class)),
        )
        everything = Labelled(label, *patterns.rows(rows), num_targets + 1, soft)
    given = set(zip(model.pattern.tolist(), model.target.tolist()))
    some = _sampled(patterns, rows, choice)
    # Of a sample, all that is compared with its counts counts as much less.
    whole, choice = choice, choice.of_share(len(some) / max(len(rows), 1))
    data = everything.part(some)
    counts = class_counts(everything, len(patterns))
    sizes = np.bincount(label, minlength=num_targets + 1)
    wanted = int(choice.pairs * (1 + choice.surplus))
    joined_at = choice.rounds // 2 if choice.conjunctions else -1
    total = choice.rounds + choice.thinnings
    for number in range(choice.rounds):
        if stop():
            break
        progress("rules of classes", number, total)
        if number == joined_at:
            patterns = _with_conjunctions(patterns, model, counts, choice)
            everything = Labelled(label, *patterns.rows(rows), num_targets + 1, soft)
            data = everything.part(some)
            counts = class_counts(everything, len(patterns))
        room = wanted * (number + 1) // choice.rounds - len(model)
        pattern, target = _best(model, data, counts, np.arange(len(patterns)) >= num_single, room, sizes, choice)
        model = fit(model.added(pattern, target), data, choice.penalty, choice.steps, choice.threads, choice.device)
    extra = max(len(model) - choice.pairs, 0)
    for left in range(choice.thinnings - 1, -1, -1):
        progress("rules of classes", total - 1 - left, total)
        if extra:
            model = _pruned(model, data, choice.pairs + extra * left // choice.thinnings, choice, given)
        if extra and left:
            model = fit(model, data, choice.penalty, choice.steps, choice.threads, choice.device)
    model = fit(model, everything, whole.penalty, whole.last_steps, whole.threads, whole.device)
    progress("rules of classes", total, total)
    return patterns, model


def _sampled(patterns: Patterns, rows: Longs, choice: Choice) -> Longs:
    """Places among the rows: all, or those of as many whole graphs as make `choice.sample` objects."""
    if len(rows) <= choice.sample or patterns.kb.graph_of is None:
        return np.arange(len(rows))
    graph = patterns.kb.graph_of[patterns.entities[rows]]
    order = np.random.default_rng((choice.seed, 7)).permutation(patterns.kb.num_graphs)
    return np.flatnonzero(order[graph] < patterns.kb.num_graphs * choice.sample / len(rows))


def _best(
    model: Model, data: Labelled, counts: np.ndarray, is_pair: Mask, room: int, total: Longs, choice: Choice
) -> tuple[Ids, Ids]:
    """The pairs with the largest gain that are not in the model and explain enough objects."""
    gradient, curvature = slopes(model, data, len(counts), choice.threads, choice.device)
    caution = np.where(is_pair, choice.conjunction_caution, choice.caution).astype(np.float32)
    gain = gradient * gradient / (curvature + caution[:, None])
    explains = np.where(gradient > 0, counts, total - counts)
    gain[explains < np.where(is_pair, choice.conjunction_least, choice.least)[:, None]] = 0
    gain[:, -1] = 0  # any other class: no target
    gain[model.pattern, model.target] = 0
    flat = gain.reshape(-1)
    room = max(min(room, int(np.count_nonzero(flat))), 0)
    if not room:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    best = np.argpartition(-flat, room - 1)[:room]
    pattern, target = np.divmod(best, gain.shape[1])
    return pattern.astype(np.int32), target.astype(np.int32)


def _sure(counts: np.ndarray, sizes: Longs, least: int) -> tuple[Ids, Ids]:
    """(pattern, class) of the patterns that hold for hardly any other class, the most telling of each class."""
    share = counts.sum(axis=0) / max(int(counts.sum()), 1)
    confidence = counts[:, :-1] / np.maximum(sizes, 1)[:, None]
    pattern, target = np.nonzero((confidence >= SURE) & (counts[:, :-1] >= least))
    power = counts[pattern, target] * np.log(confidence[pattern, target] / share[target])
    order = np.lexsort((pattern, -power, target))
    pattern, target = pattern[order], target[order]
    first = np.arange(len(target)) - np.searchsorted(target, target) < SURE_OF_CLASS
    return pattern[first].astype(np.int32), target[first].astype(np.int32)


def _pruned(model: Model, data: Labelled, room: int, choice: Choice, given: set[tuple[int, int]]) -> Model:
    """The `room` pairs that would be missed most; those given at the start stay, as far as there is room."""
    missed = losses(model, data, choice.threads) - 0.5 * choice.penalty * model.weight**2
    missed[[pair in given for pair in zip(model.pattern.tolist(), model.target.tolist())]] += 1e9
    return model.part(np.sort(np.argsort(-missed, kind="stable")[:room]))


def _with_conjunctions(patterns: Patterns, model: Model, counts: np.ndarray, choice: Choice) -> Patterns:
    """Two patterns that speak for the same class, as one, where both together hold for enough of its objects."""
    pointer, row = patterns.members()
    known = {body.arguments for body in patterns.body if isinstance(body, And)}
    found: dict[tuple[int, int], Ids] = {}
    held = np.zeros(len(patterns.entities), bool)
    power = model.weight * np.sqrt(counts[model.pattern, model.target])
    for target in np.unique(model.target):
        mine = np.flatnonzero((model.target == target) & (model.weight > 0))
        mine = mine[np.argsort(-power[mine], kind="stable")[: choice.conjunctions]]
        strong = np.sort(model.pattern[mine])
        for k, i in enumerate(strong):
            first = row[pointer[i] : pointer[i + 1]]
            held[first] = True
            for j in strong[k + 1 :]:
                if (int(i), int(j)) in found or And(patterns.body[i], patterns.body[j]).arguments in known:
                    continue
                second = row[pointer[j] : pointer[j + 1]]
                both = second[held[second]]
                if choice.conjunction_least <= len(both) < min(len(first), len(second)):
                    found[int(i), int(j)] = both
            held[first] = False
    return patterns.with_pairs(list(found), list(found.values()))
