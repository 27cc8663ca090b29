"""The rivals of facts in both places: own evidence, best rival and rank by the rules, each fact hidden from itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..data.arrays import Doubles, Longs
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..kernel.ruleset import RuleSet
from ..progress import Progress, silent
from .members import MemberScorer
from .ranking import Ranker
from .rivals import Rivals, rival_answers, rival_classes, rival_members


@dataclass(frozen=True, eq=False)
class FactRivals:
    """`facts` of one arity, and their rivals in arrays of (2, facts).

    Row 0 asks who else could be the object, row 1 who else could be the subject; a unary fact has two equal rows.
    `own`, `rival`, `evidence`, `rank` and `lead` are as in Rivals; `lead` is not a number where weights were not fitted
    together.
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
        own, rival, evidence = (
            np.stack([getattr(r, name) for r in rivals]) for name in ("own", "rival", "evidence")
        )  # fmt: skip
        unknown = np.full(len(facts), np.nan)
        lead = np.stack([r.lead if len(r.lead) else unknown for r in rivals])
        return cls(facts, own, rival, evidence, np.stack([r.rank for r in rivals]), lead)

    @classmethod
    def join(cls, parts: list[FactRivals]) -> FactRivals:
        """Concatenate `parts`, of which there is at least one."""
        columns = ("own", "rival", "evidence", "rank", "lead")
        return cls(
            Facts.join(part.facts for part in parts),
            *(np.concatenate([getattr(part, name) for part in parts], axis=1) for name in columns),
        )


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
        mine = facts[is_class]
        found = rival_classes(MemberScorer(rules, kb, classes, threads, memory), kb, mine, memory, progress)
        yield FactRivals.of(mine, (found, found))
    if kb.graph_of is not None:
        return
    for target in np.unique(facts.predicate[~is_class]).tolist():
        mine = facts.of(target)
        found = rival_members(MemberScorer(rules, kb, np.array([target], np.int32), threads, memory), kb, target, mine)
        yield FactRivals.of(mine, (found, found))


def _binary(ranker: Ranker, facts: Facts, progress: Progress) -> Iterator[FactRivals]:
    done = 0
    for target in np.unique(facts.predicate).tolist():
        mine = facts.of(target)
        first, second = (rival_answers(ranker, target, side, mine, ranker.kb.facts) for side in (0, 1))
        done += len(mine)
        progress("check", done, len(facts))
        yield FactRivals.of(mine, (first, second))
