"""The smallest logic program of each target, as the rules of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..config import LearnerConfig
from ..data.dataset import Dataset
from ..data.facts import Splits
from ..data.kb import KnowledgeBase
from ..errors import NlilError, RuleError
from ..kernel.counting import count_statistics
from ..kernel.ruleset import RuleSet
from ..logic.parse import parse_rule
from ..logic.predicate import Predicate
from ..logic.rule import Rule, RuleStats, ScoredRule
from ..program.bias import Bias
from ..program.induce import induce
from ..program.reading import facts_task
from ..program.report import shortfall
from ..progress import Stop
from .run import Learned

PLAIN_BIAS = Bias(invention=False)
"""A run cannot store invented predicates."""


@dataclass(frozen=True)
class Programs:
    """The `rules` of the programs, None if one cannot be written as rules of a run, and `notes` on them."""

    rules: RuleSet | None
    notes: tuple[str, ...]


def learn_programs(
    kb: KnowledgeBase, targets: Sequence[Predicate], splits: Splits | None, stop: Stop | None = None
) -> Programs:
    """Find a program for each of the `targets`; `kb` and `splits` have facts and negatives, `stop` ends it early."""
    rules: list[Rule] = []
    notes: list[str] = []
    for target in targets:
        try:
            task = facts_task("", kb, splits or Splits(kb.facts), target, PLAIN_BIAS)
            program = induce(task, stop)
            rules += [parse_rule(text) for text in program.texts(task)]
        except NlilError as error:
            return Programs(None, (f"the program of {target} is not stored as rules: {error}; see: nlil program",))
        if not program.clauses:
            return Programs(None, (f"no program of {target} within the bounds; rules were learned instead",))
        state = "derives all positive and no negative examples"
        rest = "; ".join(shortfall(task, program)[:-1])
        notes.append(f"{target}: a program of {len(program.clauses)} clauses {state if not rest else f'({rest})'}")
    return Programs(_rule_set(kb, rules), tuple(notes))


def _rule_set(kb: KnowledgeBase, rules: Sequence[Rule]) -> RuleSet:
    return RuleSet.of(kb, [ScoredRule(rule, RuleStats(0, 0, 0), 0.0) for rule in rules])


def learned_program(clauses: Sequence[str], dataset: Dataset, target: Predicate, seconds: float) -> Learned:
    """Return a program in the form that `learn` returns: its rules with statistics, and all of them as the theory.

    `clauses` are its text, `target` is its predicate in `dataset`; learning took `seconds`. Raises RuleError if a run
    cannot store a clause.
    """
    from ..theory.build import make_theory

    try:
        rules = _rule_set(dataset.kb, [parse_rule(text) for text in clauses])
    except NlilError as error:
        raise RuleError(f"this program cannot be stored in a run folder: {error}") from error
    negatives = dataset.splits.negatives.get("train")
    rules = replace(count_statistics(rules, dataset.kb, negatives), requested=(target,), weight=None)
    config = LearnerConfig(task="program")
    theory = make_theory(rules, dataset.kb, size=config.rules_per_target) if len(rules) else None
    return Learned(rules, config, (target,), seconds=seconds, theory=theory)
