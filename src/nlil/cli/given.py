"""Rules from a file: Prolog text (.pl, .txt, ...), or JSON as `nlil rules --format json` writes it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DataError, NlilError, RuleSyntaxError
from ..logic.rule import Rule, ScoredRule

if TYPE_CHECKING:
    from ..data import Dataset
    from ..learning.config import LearnerConfig
    from ..progress import Progress
    from ..rules import RuleSet

Placed = tuple[Rule, str]
"""A rule and where it stands, for messages."""


def read_rules(path: Path) -> list[Placed]:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError("expected UTF-8 text", path) from error
    rules = _from_json(text, path) if path.suffix.lower() == ".json" else _from_prolog(text, path)
    if not rules:
        raise DataError("no rules, expected lines such as p(X, Y) :- q(X, Z1), r(Z1, Y).", path)
    return rules


def _from_prolog(text: str, path: Path) -> list[Placed]:
    from ..logic.parse import parse_rules

    try:
        return [(rule, f"{path}:{line}") for rule, line in parse_rules(text)]
    except RuleSyntaxError as error:
        raise DataError(str(error), path) from error


def _from_json(text: str, path: Path) -> list[Placed]:
    """{"rules": [...]} or a list; an item is a rule's text or an object with a `rule`."""
    from ..logic.parse import parse_rule

    try:
        document: Any = json.loads(text)
        items = document["rules"] if isinstance(document, dict) else document
        if not isinstance(items, list):
            raise TypeError(f"got {type(items).__name__}")
        texts = [item if isinstance(item, str) else item["rule"] for item in items]
        for number, item in enumerate(texts, start=1):
            if not isinstance(item, str):
                raise TypeError(f"rule {number} is no text: {item!r}")
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"expected a JSON list of rules, or an object with a list `rules` ({error})", path) from error
    placed = []
    for number, item in enumerate(texts, start=1):
        try:
            placed.append((parse_rule(item), f"{path}: rule {number}"))
        except RuleSyntaxError as error:
            raise DataError(f"rule {number}: {error}", path) from error
    return placed


def counted(given: list[Placed], path: Path, dataset: Dataset, config: LearnerConfig, progress: Progress) -> RuleSet:
    """The rules with statistics of the training facts; each rule once."""
    from ..engine.evaluator import Evaluator
    from ..engine.statistics import rule_stats
    from ..rules.ruleset import Aggregation, RuleSet

    evaluator = Evaluator(dataset.kb, memory=config.memory)
    negatives = dataset.splits.negatives.get("train")
    scored: dict[Rule, ScoredRule] = {}
    for done, (rule, place) in enumerate(given, start=1):
        if rule not in scored:
            try:
                stats = rule_stats(evaluator, rule, negatives)
            except NlilError as error:
                raise NlilError(f"{place}: {error}") from error
            scored[rule] = ScoredRule(rule, stats, stats.smoothed)
        progress("statistics", done, len(given))
    rules = RuleSet.of(dataset.kb, list(scored.values()), Aggregation(config.aggregation, config.aggregation_top))
    return replace(rules, weight=None)  # the smoothed confidence, unrounded, as in a run
