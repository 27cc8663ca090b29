"""joint_rules: rules for object classes whose weights were fitted together, so that the scores of classes compare.

The model is a softmax over classes (`fitting.py`). As rules: a pair of weight w > 0 is `class(X) :- pattern` with
evidence w / scale; w < 0 is `class(X) :- \\+ pattern` with evidence -w / scale, and as much less prior; biases are
`class(X) :- true`, moved together so that none is negative. Noisy-or over all rules that fire is the sum of their
evidence, so it orders the classes of an object as the softmax does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..data.arrays import Doubles, Ids, Longs
from ..data.kb import KnowledgeBase
from ..data.target_scores import TargetScores
from ..kernel.aggregation import Aggregation
from ..kernel.ruleset import RuleSet
from ..logic.formula import TRUE, Formula, Not
from ..logic.rule import Head, Rule, RuleStats, ScoredRule
from ..progress import Progress, Stop, silent
from .choosing import Choice, choose, class_counts
from .fitting import Labelled, Model, scores
from .patterns import Patterns, find_patterns

MAX_EVIDENCE = 6.0
"""Largest sum of evidence of a training object: scores up to 1 - exp(-6) = .9975 still differ in print."""
MIN_EVIDENCE = 1e-4
"""A rule of less is left out."""
SAMPLE = 20_000
"""Objects by which the evidence is scaled."""


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
    if given is None:
        rows, label = labelled_rows(kb, patterns.entities, targets)
        soft = None
    else:
        rows, label, soft = np.arange(len(given)), given.top, (given.pointer, given.label, given.share)
    patterns, model = choose(patterns, rows, label, len(targets), choice, progress, stop, soft)
    data = Labelled(label, *patterns.rows(rows), len(targets) + 1)
    return as_rules(kb, patterns, model, data, targets)


def labelled_rows(kb: KnowledgeBase, entities: Ids, targets: Ids) -> tuple[Longs, Ids]:
    """(place among the entities, class) of every object: a row for each of its targets, or one for none of them."""
    position = np.full(kb.num_predicates, -1, np.int32)
    position[targets] = np.arange(len(targets), dtype=np.int32)
    unary = kb.crisp.unary
    mine = unary[position[unary.predicate] >= 0]
    place = np.full(kb.num_entities, -1, np.int64)
    place[entities] = np.arange(len(entities))
    has = np.zeros(len(entities), bool)
    has[place[mine.subject]] = True
    without = np.flatnonzero(~has)
    rows = np.concatenate((place[mine.subject], without))
    label = np.concatenate((position[mine.predicate], np.full(len(without), len(targets), np.int32)))
    order = np.lexsort((label, rows))
    return rows[order], label[order]


def as_rules(kb: KnowledgeBase, patterns: Patterns, model: Model, data: Labelled, targets: Ids) -> RuleSet:
    """The model as a rule set that sums the evidence of all rules."""
    counts = class_counts(data, len(patterns))
    sizes, total = patterns.sizes, np.bincount(data.label, minlength=data.num_classes)
    against = model.weight < 0
    bias = model.bias[: len(targets)].copy()
    np.add.at(bias, model.target[against], model.weight[against])
    bias -= bias.min()
    scale = _scale(model, bias, data, len(patterns))
    scored = []
    for c, target in enumerate(targets):
        head = Head.of(kb.predicates[target])
        stats = RuleStats(int(total[c]), len(patterns.entities), int(total[c]))
        scored.append(ScoredRule(Rule(head, TRUE), stats, _weight(bias[c], scale)))
    for i in range(len(model)):
        pattern, c = int(model.pattern[i]), int(model.target[i])
        body: Formula = patterns.body[pattern]
        support, size = int(counts[pattern, c]), int(sizes[pattern])
        if against[i]:
            body, support, size = Not(body), int(total[c]) - support, len(patterns.entities) - size
        if abs(model.weight[i]) * scale < MIN_EVIDENCE:
            continue
        rule = Rule(Head.of(kb.predicates[targets[c]]), body, distinct=True)
        scored.append(ScoredRule(rule, RuleStats(support, size, int(total[c])), _weight(abs(model.weight[i]), scale)))
    rules = RuleSet.of(kb, scored, Aggregation("noisy-or", 0, unit=scale))
    return replace(rules, requested=tuple(kb.predicates[t] for t in targets))


def _weight(value: float, scale: float) -> float:
    return float(-np.expm1(-value * scale))


def _scale(model: Model, bias: Doubles, data: Labelled, num_patterns: int) -> float:
    """Evidence of one unit of a weight."""
    some = min(len(data), SAMPLE)
    pointer = data.pointer[: some + 1]
    column = data.column[: pointer[-1]]
    shown = Model(model.pattern, model.target, model.weight, np.append(bias, 0.0))
    against = np.zeros(len(bias) + 1)
    np.add.at(against, model.target, np.maximum(-model.weight, 0.0))
    sums = scores(shown, pointer, column, num_patterns) + against
    return float(min(1.0, MAX_EVIDENCE / max(float(sums.max(initial=0.0)), 1e-9)))
