"""joint_rules: rules for object classes with jointly fitted weights, so that the scores of classes are comparable.

The model is a softmax over classes (`fitting.py`); its pairs of pattern and class are chosen in `choosing.py`. The
rules are: `class(X) :- pattern` with evidence w / scale for a pair of weight w > 0; `class(X) :- \\+ pattern` with
evidence -w / scale for w < 0, and a prior that is smaller by as much; `class(X) :- true` for biases, shifted so that
none is negative. Noisy-or over all rules that fire sums their evidence, so it orders the classes of an object like the
softmax.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from ..data.arrays import Doubles, Ids, Longs
from ..data.kb import KnowledgeBase
from ..data.target_scores import TargetScores
from ..evaluation.gate import Gate
from ..kernel.aggregation import Aggregation
from ..kernel.bodies import NO_STEP, NOT, Bodies, Lines
from ..kernel.ruleset import RuleSet
from ..progress import Progress, Stop, silent
from .choosing import ChoiceOptions, choose, choose_formulas
from .fitting import ClassModel, LabelledObjects, class_counts, one_hot, scores
from .formulas import FormulaTraining
from .patterns import Patterns, find_patterns
from .role_trial import roles_help
from .roles import role_ids

MAX_EVIDENCE = 6.0
"""Largest sum of evidence of a training object: scores up to 1 - exp(-6) = .9975 differ in three digits."""
MIN_EVIDENCE = 1e-4
"""Rules with less evidence are left out."""
SAMPLE = 20_000
"""Objects that determine the scale of the evidence."""


def joint_rules(
    kb: KnowledgeBase,
    targets: Ids,
    moves: int,
    choice: ChoiceOptions,
    memory: int = 2**30,
    progress: Progress = silent,
    stop: Stop | None = None,
    body: KnowledgeBase | None = None,
    given: TargetScores | None = None,
    training: FormulaTraining | None = None,
    alone: bool = False,
    gate: Gate | None = None,
) -> RuleSet:
    """Return rules for object classes: at most `choice.pairs`, and a prior for each class.

    Args:
        kb: The training facts.
        targets: The classes, as predicate ids.
        moves: The most relations of a path in a body.
        choice: How many rules, and how they are chosen.
        memory: Bytes that patterns may take while they are listed.
        progress: Called with the progress.
        stop: Ends the selection early.
        body: The facts that bodies may use; default: all.
        given: The classes of the objects if they are not facts of `kb`; statistics then count the class with the
            largest share.
        training: How formulas are trained; None: not at all.
        alone: Whether each class has only one trained formula and a prior.
        gate: What roles must gain in a trial to be used; None: they are always used.
    """
    stop = stop or Stop()
    progress("patterns", 0, 1)
    entities = np.flatnonzero(kb.domain).astype(np.int32) if given is None else given.entities
    facts, least = body or kb, max(choice.min_support, 2)
    roles = role_ids(facts)
    patterns = find_patterns(facts.without(roles), entities, moves, least, memory, choice.threads)
    progress("patterns", 1, 1)
    num_classes = len(targets) + 1
    if given is None:
        rows, label = labelled_rows(kb, patterns.entities, targets)
        shares = one_hot(label, num_classes)
    else:
        rows, label = np.arange(len(given)), given.top
        shares = sparse.csr_array((given.share, given.label, given.pointer), shape=(len(given), num_classes))
    data = LabelledObjects(label, patterns.held[rows], shares)
    if roles:
        of_roles = find_patterns(facts.only(roles), entities, 0, least, memory, choice.threads)
        with_roles = patterns.joined(of_roles)
        if gate is None or roles_help(patterns, with_roles, rows, data, choice, gate):
            patterns, data = with_roles, replace(data, held=with_roles.held[rows])
    if training is not None and alone:
        patterns, model = choose_formulas(patterns, rows, data, choice, progress, stop, training)
    else:
        patterns, model = choose(patterns, rows, data, choice, progress, stop, training)
    return as_rules(kb, patterns, model, replace(data, held=patterns.held[rows]), targets)


def labelled_rows(kb: KnowledgeBase, entities: Ids, targets: Ids) -> tuple[Longs, Ids]:
    """Return (position in `entities`, class) of every object.

    An object has a row for each of its targets, or one row with no target.
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


def as_rules(kb: KnowledgeBase, patterns: Patterns, model: ClassModel, data: LabelledObjects, targets: Ids) -> RuleSet:
    """Return the model as a rule set that sums the evidence of all rules: priors first, then the pairs in order.

    Args:
        kb: The training facts.
        patterns: The bodies.
        model: The weights of (pattern, class) pairs.
        data: The objects that rules are counted on.
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
    needed = np.ones(
        len(targets), bool
    )  # a class that shares the lowest prior needs a prior only if it has no other rule
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


def _scale(model: ClassModel, bias: Doubles, data: LabelledObjects) -> float:
    """Return the evidence of one unit of weight."""
    against = np.zeros(len(model.bias))
    np.add.at(against, model.target, np.maximum(-model.weight, 0.0))
    sums = scores(replace(model, bias=np.append(bias, 0.0)), data.held[:SAMPLE]) + against
    return float(min(1.0, MAX_EVIDENCE / max(float(sums.max(initial=0.0)), 1e-9)))
