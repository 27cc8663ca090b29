"""Class formulas: bodies for a class as one disjunction, with its precision, recall and F1.

    person(X) :- wear(X, Z1) ; hold(X, Z2) ; riding(X, Z3) ; on(Z4, X), shirt(Z4)

As in the paper's Table 4. Weights are ignored: an object is a person if one of the bodies holds. They are chosen one by
one by F1, of which every atom must be worth a little: of bodies that say nearly the same the shorter one is shown, and
long ones that add little are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..data.arrays import Ids, Longs, Mask
from ..data.kb import KnowledgeBase
from ..data.target_scores import TargetScores
from ..evaluation.members import MemberScorer
from ..kernel.bodies import NOT
from ..kernel.ruleset import RuleSet
from ..logic.formula import TRUE, Or
from ..logic.parts import removals
from ..logic.predicate import Predicate
from ..logic.rule import Head, Rule, RuleStats, ScoredRule
from ..logic.simplify import FALSE, simplify
from ..progress import Progress, silent

MOST_BODIES = 4
"""Limit of a formula."""
MIN_RISE = 1.01
"""Least rise of F1 by each atom of a further body, as a factor."""
BLOCK = 4096
"""Objects per block."""


@dataclass(frozen=True)
class ClassFormula:
    """A formula of one class.

    Attributes:
        rule: `class(X) :- body ; body`.
        support: the number of objects of the class for which it holds.
        body_size: the number of objects for which it holds.
        head_size: the number of objects of the class.
        adds: the number of members that each body adds.
    """

    rule: Rule
    support: int
    body_size: int
    head_size: int
    adds: tuple[int, ...]

    @property
    def num_bodies(self) -> int:
        """The number of disjuncts."""
        return len(self.rule.body.arguments) if isinstance(self.rule.body, Or) else 1

    @property
    def precision(self) -> float:
        """The share of the objects it holds for that are members."""
        return self.support / max(self.body_size, 1)

    @property
    def recall(self) -> float:
        """The share of the members that it holds for."""
        return self.support / max(self.head_size, 1)

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return 2 * self.support / max(self.body_size + self.head_size, 1)


def class_formulas(
    rules: RuleSet,
    kb: KnowledgeBase,
    targets: Sequence[Predicate] | None = None,
    most: int = MOST_BODIES,
    threads: int = 0,
    memory: int = 2**30,
    progress: Progress = silent,
    given: TargetScores | None = None,
) -> list[ClassFormula]:
    """Return the formula of each class that has rules, in the order of `targets`.

    Args:
        rules: Rules of classes, or of other unary predicates.
        kb: The objects; the classes of the object in question are hidden.
        targets: Unary predicates; None: those of the rules, the most frequent first.
        most: The most bodies of a formula.
        threads: CPU threads; 0: all cores.
        memory: The memory budget in bytes.
        progress: Called with the number of finished classes.
        given: The classes of the objects if they are not facts of `kb`: the top classes of a classifier.
    """
    kb = kb.crisp
    objects = np.flatnonzero(kb.domain).astype(np.int32) if given is None else given.entities
    wanted = [t for t in (rules.targets if targets is None else targets) if t.arity == 1]
    found = []
    for done, target in enumerate(wanted):
        progress("formulas of classes", done, len(wanted))
        number = kb.predicate_id(target)
        class_rules = rules.take((rules.head == number) & ~rules.is_prior & ~_negated(rules))
        if not len(class_rules):
            continue
        holds = _holds(class_rules, kb, objects, threads, memory)
        is_member = np.isin(objects, kb.facts.of(number).subject) if given is None else given.says(number)
        if chosen := best_disjunction(holds, is_member, most, class_rules.lengths):
            parts = [class_rules.rule(row) for row in chosen]
            found.append(_formula(*_lean(parts, kb, objects, threads, memory), is_member))
    progress("formulas of classes", len(wanted), len(wanted))
    return found


def formulas_hold(
    formulas: Sequence[ClassFormula], kb: KnowledgeBase, objects: Ids, threads: int = 0, memory: int = 2**30
) -> Mask:
    """Return (objects, formulas): which formula holds for which object, with its own classes hidden.

    Args:
        formulas: The formulas, of any classes.
        kb: The facts about the objects.
        objects: The objects, as entity ids.
        threads: CPU threads; 0: all cores.
        memory: The memory budget in bytes.
    """
    kb, nothing = kb.crisp, RuleStats(0, 0, 0, 0)
    rules = RuleSet.of(kb, [ScoredRule(one.rule, nothing, 1.0) for one in formulas])
    return _holds(rules, kb, objects, threads, memory)


def _holds(rules: RuleSet, kb: KnowledgeBase, objects: Ids, threads: int, memory: int) -> Mask:
    """Return (objects, rules): which rule holds for which object."""
    scorer = MemberScorer(rules, kb, np.unique(rules.head), threads, memory)
    blocks = [objects[begin : begin + BLOCK] for begin in range(0, len(objects), BLOCK)]
    return np.concatenate([np.zeros((0, len(rules)), bool), *(scorer.rule_values(b) >= 0.5 for b in blocks)])


def _lean(parts: list[Rule], kb: KnowledgeBase, objects: Ids, threads: int, memory: int) -> tuple[list[Rule], Mask]:
    """Leave out what changes nothing where one of the `parts` holds or another; return the rest and where each holds.

    All ways to leave out one atom are evaluated together, until none is left.
    """
    parts, is_changed = list(parts), True
    while is_changed:
        options = [
            (k, simplify(replace(part, body=rest)))
            for k, part in enumerate(parts)
            for _, rest in removals(part.body, atoms=True)
        ]
        options = [(k, option) for k, option in options if option.body not in (TRUE, FALSE)]
        rules = [*parts, *(option for _, option in options)]
        scored = [ScoredRule(one, RuleStats(0, 0, 0, 0), 1.0) for one in rules]
        values = _holds(RuleSet.of(kb, scored), kb, objects, threads, memory)
        holds, changed = values[:, : len(parts)].copy(), set[int]()
        for (k, option), value in zip(options, values.T[len(parts) :]):
            others = np.delete(holds, k, axis=1).any(axis=1)
            if k not in changed and not ((value ^ holds[:, k]) & ~others).any():
                parts[k], holds[:, k] = option, value
                changed.add(k)
        is_changed = bool(changed)
    kept = without_covered(holds)
    return [parts[k] for k in kept], holds[:, kept]


def _negated(rules: RuleSet) -> Mask:
    """Which bodies are negations as a whole."""
    return np.array([rules.bodies.program(body)[-1] == NOT for body in range(len(rules.bodies))], bool)[rules.body]


def best_disjunction(holds: Mask, is_member: Mask, most: int, lengths: Longs) -> list[int]:
    """Return the bodies of the disjunction with the best F1, found greedily, in the order in which they were added.

    >>> members = np.array([True, True, True, False])
    >>> best_disjunction(np.array([[1, 0, 0], [1, 0, 1], [0, 1, 0], [0, 0, 1]], bool), members, 4, np.ones(3, int))
    [0, 1]

    Args:
        holds: (objects, bodies), for which object each body holds.
        is_member: Which objects are of the class.
        most: The most bodies.
        lengths: The atoms of each body, each of which must raise F1 by MIN_RISE.
    """
    chosen: list[int] = []
    best, members = 0.0, int(is_member.sum())
    covered = np.zeros(len(holds), bool)
    while len(chosen) < most and holds.shape[1]:
        new = holds & ~covered[:, None]
        right = (covered & is_member).sum() + new[is_member].sum(axis=0)
        f1 = 2 * right / np.maximum(covered.sum() + new.sum(axis=0) + members, 1)
        worth = f1 / MIN_RISE**lengths
        first = int(worth.argmax())
        if worth[first] <= best:
            break
        best = float(f1[first])
        chosen.append(first)
        covered |= holds[:, first]
    return [chosen[k] for k in without_covered(holds[:, chosen])]


def without_covered(holds: Mask) -> list[int]:
    """Return the columns of `holds`, without those that hold only where another of the rest does, first ones first.

    >>> without_covered(np.array([[1, 1, 0], [1, 0, 1], [0, 0, 1]], bool))
    [1, 2]
    """
    kept = list(range(holds.shape[1]))
    for column in tuple(kept):
        rest = [other for other in kept if other != column]
        if rest and not (holds[:, column] & ~holds[:, rest].any(axis=1)).any():
            kept = rest
    return kept


def _formula(parts: Sequence[Rule], holds: Mask, is_member: Mask) -> ClassFormula:
    """Return the disjunction of the bodies of `parts`, of which `holds` says for which objects each holds."""
    rule = parts[0]
    if len(parts) > 1:
        body = Or(*(part.body for part in parts))
        rule = Rule(Head.of(rule.target), body, any(part.distinct for part in parts))
    covered = np.logical_or.accumulate(holds, axis=1)
    right = covered[is_member].sum(axis=0)
    adds = np.diff(right, prepend=0)
    return ClassFormula(
        rule, int(right[-1]), int(covered[:, -1].sum()), int(is_member.sum()), tuple(int(one) for one in adds)
    )
