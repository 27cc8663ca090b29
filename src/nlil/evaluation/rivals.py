"""The competitors of facts: the other candidates of the query that a fact answers, the strongest one, and the evidence
of both.

Each fact is hidden from itself, and ties go to the smallest id. A binary fact has competitors for its object and for
its subject.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..data.arrays import Doubles, Longs
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..kernel.aggregation import class_ranks, count_tied, ranks_among, realistic_rank, tie_bounds
from ..kernel.ruleset import RuleSet
from ..progress import Progress, silent
from .members import MemberScorer, class_chances
from .queries import AnswerIndex, TargetQueries
from .ranking import Ranker

NO_RIVAL = -1


class Rivals(NamedTuple):
    """Row i belongs to fact i: its own evidence, its best rival (or NO_RIVAL), and the rival's evidence.

    `rank` is the realistic rank of the fact among itself and all its rivals. For classes whose weights were fitted
    jointly, `lead` is how much more probable the rival is; otherwise it is not a number.
    """

    own: Longs
    rival: Longs
    evidence: Longs
    rank: Doubles
    lead: Doubles


class FactRivals(NamedTuple):
    """`facts` of one arity, and their rivals in arrays of (2, facts).

    Row 0 asks who else could be the object, row 1 who else could be the subject; a unary fact has two equal rows.
    `own`, `rival`, `evidence`, `rank` and `lead` are as in Rivals.
    """

    facts: Facts
    own: Longs
    rival: Longs
    evidence: Longs
    rank: Doubles
    lead: Doubles

    @classmethod
    def of(cls, facts: Facts, rivals: tuple[Rivals, Rivals]) -> FactRivals:
        """Join the `rivals` of both places of `facts`."""
        columns: list[np.ndarray] = [np.stack(column) for column in zip(*rivals)]
        return cls(facts, *columns)

    @classmethod
    def join(cls, parts: list[FactRivals]) -> FactRivals:
        """Concatenate `parts`, of which there is at least one."""
        facts, *columns = zip(*parts)
        return cls(Facts.join(facts), *(np.concatenate(column, axis=1) for column in columns))


def fact_rivals(
    rules: RuleSet, kb: KnowledgeBase, facts: Facts, threads: int = 0, memory: int = 2**30, progress: Progress = silent
) -> dict[int, FactRivals]:
    """Return arity -> how `facts` stand; an arity without facts is left out.

    Args:
        rules: The rules, bound to `kb`.
        kb: The facts that the rules are evaluated on.
        facts: Facts of `kb`, of predicates that have rules. Unary ones other than classes are left out where many
            graphs are joined.
        threads: Threads for scoring; 0: all cores.
        memory: Bytes that one evaluation may take.
        progress: Told how many facts are done.
    """
    unary = facts[facts.is_unary]
    binary = facts[~facts.is_unary]
    parts = {
        1: list(_unary(rules, kb, unary, threads, memory, progress)),
        2: list(_binary(Ranker(rules, kb, threads, memory), binary, progress)) if len(binary) else [],
    }
    return {arity: FactRivals.join(some) for arity, some in parts.items() if some}


def _unary(
    rules: RuleSet, kb: KnowledgeBase, facts: Facts, threads: int, memory: int, progress: Progress
) -> Iterator[FactRivals]:
    is_class = np.isin(facts.predicate, np.array(sorted(kb.classes), np.int32))
    if is_class.any():
        classes = np.array(sorted(kb.classes.intersection(np.unique(rules.head).tolist())), np.int32)
        class_facts = facts[is_class]
        found = _rival_classes(MemberScorer(rules, kb, classes, threads, memory), kb, class_facts, memory, progress)
        yield FactRivals.of(class_facts, (found, found))
    if kb.graph_of is not None:
        return
    for target in np.unique(facts.predicate[~is_class]).tolist():
        facts_of_target = facts.of(target)
        found = _rival_members(
            MemberScorer(rules, kb, np.array([target], np.int32), threads, memory), kb, target, facts_of_target
        )
        yield FactRivals.of(facts_of_target, (found, found))


def _binary(ranker: Ranker, facts: Facts, progress: Progress) -> Iterator[FactRivals]:
    done = 0
    for target in np.unique(facts.predicate).tolist():
        facts_of_target = facts.of(target)
        first, second = (_rival_answers(ranker, target, side, facts_of_target, ranker.kb.facts) for side in (0, 1))
        done += len(facts_of_target)
        progress("check", done, len(facts))
        yield FactRivals.of(facts_of_target, (first, second))


# one place ----------------------------------------------------------------------------------------------


def _rival_answers(ranker: Ranker, target: int, direction: int, facts: Facts, known: Facts) -> Rivals:
    """Find rivals for `facts` of one binary target: for the object (direction 0) or the subject (1).

    `ranker` scores them; known answers are not rivals.
    """
    answers = AnswerIndex.of(known, target, direction, ranker.kb.num_entities)
    ends = (facts.subject, facts.object)
    query, answer = ends[direction], ends[1 - direction]
    graph_of = ranker.kb.graph_of

    def best(_: int, i: int, total: Longs) -> tuple[int, int, int, float]:
        a, own = int(query[i]), int(total[answer[i]])
        total[answers.to(a)] = NO_RIVAL
        if graph_of is not None:
            total[graph_of != graph_of[a]] = NO_RIVAL
        return own, *_best(total, own)

    (found,) = ranker.each([TargetQueries(target, direction, query, answer)], best)
    return _rivals(found)


def _rival_members(scorer: MemberScorer, kb: KnowledgeBase, target: int, facts: Facts) -> Rivals:
    """Find rivals for `facts` of one unary target that is no class: the entities of `kb` that it does not hold of.

    `scorer` is for this target alone.
    """
    total = scorer.evidence(np.arange(kb.num_entities, dtype=np.int32))[:, 0]
    own = total[facts.subject]
    total[kb.members(target)] = NO_RIVAL
    rival, rank = int(total.argmax()), ranks_among(total[total >= 0], own)  # the same rivals for all facts
    same = np.ones(len(facts), np.int64)
    number, evidence = (rival, int(total[rival])) if total[rival] >= 0 else (NO_RIVAL, 0)
    return Rivals(own, number * same, evidence * same, rank, np.full(len(facts), np.nan))


def _best(total: Longs, own: int) -> tuple[int, int, float]:
    """The best rival, its evidence, and the rank of an answer with evidence `own`; `total` is below 0 for no rival."""
    rival = int(total.argmax())
    low, high = (int(bound[0]) for bound in tie_bounds(np.array([own])))
    above, tied = count_tied(total, low, high)
    return rival if total[rival] >= 0 else NO_RIVAL, max(int(total[rival]), 0), realistic_rank(above, tied + 1)


def _rivals(found: list[tuple[int, int, int, float]]) -> Rivals:
    own, rival, evidence = np.array([row[:3] for row in found], np.int64).reshape(-1, 3).T
    rank = np.array([row[3] for row in found], np.float64)
    return Rivals(own, rival, evidence, rank, np.full(len(found), np.nan))


def _rival_classes(
    scorer: MemberScorer, kb: KnowledgeBase, facts: Facts, memory: int, progress: Progress = silent
) -> Rivals:
    """Find for class `facts`, whose predicates are targets of `scorer`, the best class that the object lacks."""
    position = np.full(kb.num_predicates, -1, np.int64)
    position[scorer.targets] = np.arange(len(scorer.targets))
    held = kb.unary[np.isin(kb.unary.predicate, scorer.targets)]
    block = max(1, memory // (32 * max(len(scorer.targets), 1)))
    unit = scorer.aggregation.unit
    parts, ranks, leads = [np.zeros((3, 0), np.int64)], [np.zeros(0)], [np.zeros(0)]
    for begin in range(0, len(facts), block):
        some = facts[slice(begin, begin + block)]
        total = scorer.evidence(some.subject)
        rows = np.arange(len(some))
        own = total[rows, position[some.predicate]]
        chances = class_chances(total, unit) if unit else np.full(total.shape, np.nan)
        # Drop the known classes of each object; rows of `total` with the same object are found by sorting.
        order = np.argsort(some.subject, kind="stable")
        low, high = (np.searchsorted(some.subject[order], held.subject, side) for side in ("left", "right"))
        for shift in range(int((high - low).max(initial=0))):
            there = low + shift < high
            total[order[low[there] + shift], position[held.predicate[there]]] = NO_RIVAL
        best = total.argmax(axis=1)
        power = total[rows, best]
        against = total.copy()
        against[rows, position[some.predicate]] = own
        ranks.append(class_ranks(against, position[some.predicate]))
        rival = np.where(power >= 0, scorer.targets[best], NO_RIVAL)
        parts.append(np.stack((own, rival, np.maximum(power, 0))))
        leads.append(chances[rows, best] - chances[rows, position[some.predicate]])
        progress("classes", min(begin + block, len(facts)), len(facts))
    own, rival, power = np.concatenate(parts, axis=1)
    return Rivals(own, rival, power, np.concatenate(ranks), np.concatenate(leads))
