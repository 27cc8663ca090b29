"""Compile ahead: on the first call, a second process compiles loops that are needed later, while the first one counts.

It evaluates a few rules on a small base, so that each loop is compiled for the types it will be called with. A process
that needs a loop which is still being compiled waits for it (`DiskCache.alone`), and compiles what nobody has begun.
Typing a function takes longer than optimizing it, so loops that call the same functions are left to one process. The
first process compiles short loops that it needs between two long ones, while this one goes on.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np


def compile_ahead() -> None:
    """Start the process if nothing is compiled yet. It ends by itself; its results are cached on disk."""
    from ..evaluation.blocks import score_queries
    from ..kernel.code_files import is_kept

    if (os.cpu_count() or 1) > 1 and "NUMBA_DISABLE_JIT" not in os.environ and not is_kept(score_queries):
        quiet = subprocess.DEVNULL
        subprocess.Popen([sys.executable, "-m", __name__], stdin=quiet, stdout=quiet, stderr=quiet)


def compile_now() -> None:
    """Compile in the order of need, beginning after counting: the first process compiles what counts."""
    from ..datasets import load_dataset
    from ..evaluation.members import MemberScorer
    from ..explanation.firing import Firing
    from ..kernel.compiled import SmallWork
    from ..kernel.ruleset import RuleSet
    from ..learning.weighing import try_weighing
    from ..logic.parse import parse_rule
    from ..logic.rule import RuleStats, ScoredRule
    from ..theory.build import make_theory

    SmallWork.limit = -1
    kb = load_dataset("kin:20").kb
    texts = ("father(X, Y) :- husband(X, Z1), mother(Z1, Y).", "male(X) :- husband(X, Z1).")
    rules = RuleSet.of(kb, [ScoredRule(parse_rule(text), RuleStats(1, 2, 2, 2), 0.5) for text in texts])
    father, male = (kb.predicate_id(target) for target in rules.targets)
    facts, members = kb.facts.of(father), kb.facts.of(male).subject
    try_weighing(rules, kb, facts)
    MemberScorer(rules, kb, np.array([male], np.int32), 1).evidence(members)
    make_theory(rules, kb, 1, facts, threads=1, author="weights")
    firing = Firing(rules, kb)
    firing.pair(father, 0, 1)
    firing.member(male, 0)


if __name__ == "__main__":
    compile_now()
