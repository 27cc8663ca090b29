"""joint_rules: rules for object classes whose weights were fitted together, so that the scores of classes compare.

The model is a softmax over classes (`fitting.py`). As rules: a pair of weight w > 0 is `class(X) :- pattern` with
evidence w / scale; w < 0 is `class(X) :- \\+ pattern` with evidence -w / scale, and as much less prior; biases are
`class(X) :- true`, moved together so that none is negative. Noisy-or over all rules that fire is the sum of their
evidence, so it orders the classes of an object as the softmax does.

`choose` finds which patterns speak for or against which class, a few pairs at a time, those that would help most. In
each round every (pattern, class) pair is judged by what one Newton step on its weight alone would add to the logarithm
of the likelihood, the best are added, and all weights are fitted again. Twice as many as wanted are added, and the
least useful of them are taken out in a few steps, with a fit after each.

Conjunctions of two patterns, `riding(X, Z1), horse(Z1), on(Z2, X), hat(Z2)`, join twice: before the first round those
that counting shows to say much more than each of the two, and half-way those of patterns that speak for one class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy import sparse

from ..data.arrays import Doubles, Ids, Longs, Mask
from ..data.kb import KnowledgeBase
from ..data.target_scores import TargetScores
from ..kernel.aggregation import Aggregation
from ..kernel.bodies import NO_STEP, NOT, X_NODE, Bodies, Lines, unary_mask
from ..kernel.compiled import compiled
from ..kernel.ruleset import RuleSet
from ..progress import Progress, Stop, silent
from .fitting import Labelled, Model, columns, fit, losses, one_hot, scores, slopes
from .patterns import Patterns, find_patterns

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
        conjunctions: patterns of a class that are joined two by two; 0: none.
        conjunction_support: objects that a conjunction must explain: there are many, and few objects mislead.
        conjunction_caution: `caution` for these.
        sample: objects by which pairs are chosen; the last fit takes all.
        device: cpu or cuda.
    """

    pairs: int
    rounds: int = 16
    surplus: float = 1.0
    thinnings: int = 4
    penalty: float = 1.0
    caution: float = 2.0
    min_support: int = 2
    steps: int = 25
    last_steps: int = 60
    conjunctions: int = 12
    conjunction_support: int = 100
    conjunction_caution: float = 100.0
    sample: int = 250_000
    seed: int = 0
    threads: int = 0
    device: str = "cpu"

    def for_sample(self, share: float) -> Choice:
        """Return the choice with what is compared with counts as much smaller as a sample is, by `share`."""
        scaled = {name: getattr(self, name) * share for name in ("penalty", "caution", "conjunction_caution")}
        return replace(self, **scaled)


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
    bias = model.bias[:-1].copy()
    np.add.at(bias, model.target, np.minimum(model.weight, 0.0))
    bias -= bias.min()
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
    of_class = np.concatenate((np.arange(len(targets)), model.target))
    rules = RuleSet.of_lines(
        kb,
        np.full((len(of_class), 1), NO_STEP),
        head=targets[of_class],
        support=np.concatenate((total, support)),
        body_size=np.concatenate((np.full(len(targets), num_objects), size)),
        head_size=total[of_class],
    )
    return replace(
        rules,
        bodies=bodies,
        body=np.concatenate((np.repeat(prior, len(targets)), new[number])).astype(np.int32),
        weight=-np.expm1(-np.concatenate((bias, np.abs(model.weight))) * scale).astype(np.float32),
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
    """The patterns, conjunctions among them now, and a model of at most `choice.pairs` pairs.

    Args:
        patterns: What holds for which object.
        rows: Places in patterns.entities, one for each object and class to learn from.
        everything: The classes of `rows`, of which the last means any other, and the patterns that hold for them.
        choice: How many pairs, and how carefully.
        progress: Told after each round.
        stop: Asked before each round; what is chosen so far is fitted once more and stays.
    """
    num_single, counts = len(patterns), class_counts(everything)
    total = np.bincount(everything.label, minlength=counts.shape[1])
    nothing = np.zeros(0, np.int32)
    model = Model.of(nothing, nothing, np.zeros(0), np.log(total + 0.5))
    if choice.conjunctions:  # what is sure by itself is said, also where several unsure rules would do together
        sure = _sure(counts, patterns.sizes, choice.conjunction_support)
        patterns, *clear = with_telling_conjunctions(patterns, everything, counts, choice.conjunction_support)
        model = model.added(*map(np.concatenate, zip(sure, clear)))
        everything = replace(everything, held=patterns.held[rows])
        counts = class_counts(everything)
    given = set(zip(model.pattern.tolist(), model.target.tolist()))
    some = _sampled(patterns, rows, choice)
    whole, choice = choice, choice.for_sample(len(some) / max(len(rows), 1))
    data = everything.take(some)
    steps = choice.rounds + choice.thinnings
    for number in range(choice.rounds):
        if stop():
            break
        progress("rules of classes", number, steps)
        if choice.conjunctions and number == choice.rounds // 2:
            patterns = _with_conjunctions(patterns, model, counts, choice)
            everything = replace(everything, held=patterns.held[rows])
            data = everything.take(some)
            counts = class_counts(everything)
        room = int(choice.pairs * (1 + choice.surplus)) * (number + 1) // choice.rounds - len(model)
        new = _best(model, data, counts, np.arange(len(patterns)) >= num_single, room, total, choice)
        model = fit(model.added(*new), data, choice.penalty, choice.steps, choice.threads, choice.device)
    extra = max(len(model) - choice.pairs, 0)
    for left in range(choice.thinnings - 1, -1, -1):
        progress("rules of classes", steps - 1 - left, steps)
        if extra:
            model = _pruned(model, data, choice.pairs + extra * left // choice.thinnings, choice, given)
        if extra and left:
            model = fit(model, data, choice.penalty, choice.steps, choice.threads, choice.device)
    model = fit(model, everything, whole.penalty, whole.last_steps, whole.threads, whole.device)
    progress("rules of classes", steps, steps)
    return patterns, model


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


def _best(
    model: Model, data: Labelled, counts: Ids, is_conjunction: Mask, room: int, total: Longs, choice: Choice
) -> tuple[Ids, Ids]:
    """The pairs with the largest gain that are not in the model and explain enough objects."""
    gradient, curvature = slopes(model, data, choice.threads, choice.device)
    caution = np.where(is_conjunction, choice.conjunction_caution, choice.caution).astype(np.float32)
    gain = gradient * gradient / (curvature + caution[:, None])
    explains = np.where(gradient > 0, counts, total - counts)
    gain[explains < np.where(is_conjunction, choice.conjunction_support, choice.min_support)[:, None]] = 0
    gain[:, -1] = 0  # any other class: no target
    gain[model.pattern, model.target] = 0
    flat = gain.reshape(-1)
    room = max(min(room, int(np.count_nonzero(flat))), 0)
    if not room:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    pattern, target = np.divmod(np.argpartition(-flat, room - 1)[:room], gain.shape[1])
    return pattern.astype(np.int32), target.astype(np.int32)


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


def _pruned(model: Model, data: Labelled, room: int, choice: Choice, given: set[tuple[int, int]]) -> Model:
    """The `room` pairs that would be missed most; those given at the start stay, as far as there is room."""
    missed = losses(model, data, choice.threads) - 0.5 * choice.penalty * model.weight**2
    missed[[pair in given for pair in zip(model.pattern.tolist(), model.target.tolist())]] += 1e9
    return model.take(np.sort(np.argsort(-missed, kind="stable")[:room]))


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


def _with_conjunctions(patterns: Patterns, model: Model, counts: Ids, choice: Choice) -> Patterns:
    """Two patterns that speak for the same class, as one, where both together hold for enough of its objects."""
    bodies, sizes = patterns.bodies, patterns.sizes
    lines = [tuple(bodies.lines_of(body)) for body in range(len(bodies))]
    power = model.weight * np.sqrt(counts[model.pattern, model.target])
    pairs: dict[tuple[int, int], None] = {}
    for target in np.unique(model.target):
        mine = np.flatnonzero((model.target == target) & (model.weight > 0))
        mine = mine[np.argsort(-power[mine], kind="stable")[: choice.conjunctions]]
        pairs |= dict.fromkeys(combinations(np.sort(model.pattern[mine]).tolist(), 2))
    known = set(lines)
    new = [(i, j) for i, j in pairs if lines[i] + lines[j] not in known]
    found = {}
    for (i, j), rows in zip(new, _rows_of_both(patterns, new)):
        if choice.conjunction_support <= len(rows) < min(sizes[i], sizes[j]):
            found[i, j] = rows
    return patterns.with_conjunctions(list(found), list(found.values()))


def _rows_of_both(patterns: Patterns, pairs: Iterable[tuple[int, int]]) -> Iterator[Ids]:
    """For each pair of patterns the places in patterns.entities where both hold, ascending."""
    by_pattern = patterns.held.tocsc()
    held = np.zeros(len(patterns.entities), bool)
    for pair in pairs:
        first, second = (by_pattern.indices[slice(*by_pattern.indptr[k : k + 2])] for k in pair)
        held[first] = True
        yield second[held[second]]
        held[first] = False
