"""Compile ahead: on the first call a second process compiles the loops that rank and explain, while the first learns.

It asks a few rules about a small base, so that each loop meets the types that it will be called with. The process that
needs a loop which is still being compiled waits for it (`DiskCache.alone`).
"""

from __future__ import annotations

import os
import subprocess
import sys


def compile_ahead() -> None:
    """Start the second process where nothing is compiled yet. It ends by itself, and what it compiles is kept."""
    from ..evaluation.ranking import score_block
    from ..kernel.code_files import is_kept

    if (os.cpu_count() or 1) > 1 and "NUMBA_DISABLE_JIT" not in os.environ and not is_kept(score_block):
        quiet = subprocess.DEVNULL
        subprocess.Popen([sys.executable, "-m", __name__], stdin=quiet, stdout=quiet, stderr=quiet)


def compile_now() -> None:
    """The loops that rank, that weigh rules, that learning needs for unary targets, and that explain."""
    from ..config import LearnerConfig
    from ..datasets import load_dataset
    from ..evaluation.ranking import Ranker
    from ..explanation.firing import Firing
    from ..kernel.compiled import SmallWork
    from ..kernel.ruleset import RuleSet
    from ..learning.learner import Learner
    from ..learning.weighing import try_weighing
    from ..logic.parse import parse_rule
    from ..logic.rule import RuleStats, ScoredRule

    SmallWork.limit = -1
    kb = load_dataset("kin:20").kb
    texts = ("father(X, Y) :- husband(X, Z1), mother(Z1, Y).", "male(X) :- husband(X, Z1).")
    rules = RuleSet.of(kb, [ScoredRule(parse_rule(text), RuleStats(1, 2, 2, 2), 0.5) for text in texts])
    father, male = (kb.predicate_id(target) for target in rules.targets)
    facts = kb.facts.of(father)
    Ranker(rules, kb, 1).rank(facts, facts)
    try_weighing(rules, kb, facts)
    Learner(LearnerConfig()).fit(kb, [kb.predicates[male]])
    firing = Firing(rules, kb)
    firing.pair(father, 0, 1)
    firing.member(male, 0)


if __name__ == "__main__":
    compile_now()
