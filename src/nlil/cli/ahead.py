"""Compile ahead: on the first call, two more processes compile loops that are needed later, while the first one counts.

They evaluate a few rules on a small base, so that each loop is compiled for the types it will be called with. A process
that needs a loop which is still being compiled waits for it (`DiskCache.alone`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..data.kb import KnowledgeBase
    from ..kernel.ruleset import RuleSet


def compile_ahead() -> None:
    """Start the processes if nothing is compiled yet. They end by themselves; their results are cached on disk."""
    from ..evaluation.places import score_places
    from ..kernel.code_files import is_kept

    if (os.cpu_count() or 1) > 1 and "NUMBA_DISABLE_JIT" not in os.environ and not is_kept(score_places):
        quiet = subprocess.DEVNULL
        for part in PARTS:
            subprocess.Popen([sys.executable, "-m", __name__, part], stdin=quiet, stdout=quiet, stderr=quiet)


def compile_now(part: str) -> None:
    """Compile the code of `part`, one of PARTS.

    The part that is needed last has a lower priority, as there are more processes than cores.
    """
    from ..datasets import load_dataset
    from ..kernel.compiled import SmallWork
    from ..kernel.ruleset import RuleSet
    from ..logic.parse import parse_rule
    from ..logic.rule import RuleStats, ScoredRule

    SmallWork.limit = -1
    if part == "explaining" and hasattr(os, "nice"):
        os.nice(10)
    kb = load_dataset("kin:20").kb
    texts = ("father(X, Y) :- husband(X, Z1), mother(Z1, Y).", "male(X) :- husband(X, Z1).")
    rules = RuleSet.of(kb, [ScoredRule(parse_rule(text), RuleStats(1, 2, 2, 2), 0.5) for text in texts])
    PARTS[part](rules, kb)


def _ranking(rules: RuleSet, kb: KnowledgeBase) -> None:
    from ..evaluation.ranking import Ranker
    from ..learning.weighing import try_weighing

    facts = kb.facts.of(kb.predicate_id(rules.targets[0]))
    ranker = Ranker(rules, kb, 1)
    ranker.rank(facts, facts)
    ranker.evidence(int(facts.predicate[0]), 0, int(facts.subject[0]))
    try_weighing(rules, kb, facts)


def _explaining(rules: RuleSet, kb: KnowledgeBase) -> None:
    from ..explanation.firing import Firing
    from ..theory.build import make_theory

    make_theory(rules, kb, 1, threads=1)
    firing = Firing(rules, kb)
    father, male = (kb.predicate_id(target) for target in rules.targets)
    firing.pair(father, 0, 1)
    firing.member(male, 0)


PARTS: Mapping[str, Callable[[RuleSet, KnowledgeBase], None]] = {"ranking": _ranking, "explaining": _explaining}
"""The parts: loops for ranking and weighting; loops for theories, unary targets and explanations."""


if __name__ == "__main__":
    compile_now(sys.argv[1])
