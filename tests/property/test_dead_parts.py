"""No learned rule has a part that changes no count, whoever found the rule: each part is left out and counted again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from nlil.config import LearnerConfig
from nlil.data.kb import KnowledgeBase
from nlil.datasets import load_dataset
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.ruleset import RuleSet
from nlil.kernel.statistics import rule_stats
from nlil.learning.learner import Learner
from nlil.logic.formula import TRUE
from nlil.logic.parts import removals
from nlil.logic.rule import Rule
from nlil.logic.simplify import FALSE, simplify

MOST = 80
"""Rules with parts that are checked in one set, evenly spaced."""


def dead_parts(kb: KnowledgeBase, rules: list[Rule]) -> Iterator[str]:
    evaluator = Evaluator(kb)
    for rule in rules:
        counts = rule_stats(evaluator, rule)
        for part, rest in removals(rule.body, atoms=True):
            shorter = simplify(replace(rule, body=rest))
            if shorter.body not in (TRUE, FALSE) and rule_stats(evaluator, shorter) == counts:
                yield f"{part} in {rule}"


def with_parts(rules: RuleSet) -> list[Rule]:
    """Rules that have parts to leave out. A recursive one may need a part for what it derives, not for its counts."""
    found = [scored.rule for scored in rules]
    found = [
        rule
        for rule in found
        if rule.body != TRUE and rule.target not in rule.predicates and any(removals(rule.body, atoms=True))
    ]
    return found[:: max(len(found) // MOST, 1)]


@pytest.mark.parametrize(
    ("data", "settings"),
    [
        ("kin:40", "search=count typed=on"),
        pytest.param("kin:40", "search=neural restarts=4 epochs=10", marks=pytest.mark.slow),
        ("kin:60", "search=count theory_author=formulas"),
        ("street:60", "preset=scene"),
        ("street:60", "preset=scene search=neural restarts=4 epochs=10"),
    ],
)
def test_no_learned_rule_has_a_dead_part(data: str, settings: str) -> None:
    dataset = load_dataset(data)
    values = dict(word.split("=") for word in settings.split())
    config = LearnerConfig().with_values({"rules_per_target": 5, "threads": 1, "device": "cpu", **values})
    targets = [t for t in ("female", "male", "uncle", "aunt") if data.startswith("kin")] or list(dataset.targets)
    learned = Learner(config).fit(dataset.kb, targets, dataset.splits)
    rules = with_parts(learned.rules)
    assert rules, "nothing was tested"
    assert list(dead_parts(dataset.kb.crisp, rules)) == []
