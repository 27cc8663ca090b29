"""Rules of frequent classes as an entry of bench scene keeps them, and their tables (the paper's Tables 4 and 5)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .cells import Entries, markdown, measured

if TYPE_CHECKING:
    from nlil.kernel.ruleset import RuleSet
    from nlil.logic.rule import ScoredRule

CLASSES, OF_CLASS = 10, 4
"""Most frequent classes, and the strongest rules of each."""
LOW, LEAST, RARELY = 10, 30, (0.05, 0.5)
"""Rules that are often wrong: how many, from which support on, their confidence."""
INEQUALITY = re.compile(r", \w+ \\= \w+")
KEY = "rules_shown"


def shown_rules(rules: RuleSet) -> dict[str, list[dict[str, Any]]]:
    """`frequent`: the strongest rules of the most frequent targets; `low`: the strongest that are often wrong."""
    from nlil.logic.formula import Not

    frequent = [scored for target in rules.targets[:CLASSES] for scored in rules.for_target(target).top(OF_CLASS)]
    low = [
        s
        for s in rules
        if s.stats.support >= LEAST
        and RARELY[0] < s.stats.confidence < RARELY[1]
        and s.rule.length
        and not isinstance(s.rule.body, Not)
    ]
    best: dict[str, ScoredRule] = {}
    for scored in sorted(low, key=lambda s: (-s.weight, str(s.rule))):
        best.setdefault(scored.rule.target.name, scored)
    return {"frequent": [_values(s) for s in frequent], "low": [_values(s) for s in list(best.values())[:LOW]]}


def _values(scored: ScoredRule) -> dict[str, Any]:
    return {
        "class": scored.rule.target.name,
        "rule": str(scored.rule),
        "weight": scored.weight,
        "confidence": scored.stats.confidence,
        "support": scored.stats.support,
    }


def scene_rules_table(entries: Entries) -> str:
    """For each entry that keeps rules: those of frequent classes, then those that are often wrong."""
    parts = []
    for _, entry in sorted(measured(entries).items()):
        if not entry.get(KEY) or entry["settings"]:
            continue
        parts += [
            f"**{entry['data']}**, the {OF_CLASS} strongest rules of the {CLASSES} most frequent classes; all "
            "variables of a statement differ:",
            _table(entry[KEY]["frequent"]),
            f"**{entry['data']}**, rules that carry weight though they are right less than half the time:",
            _table(entry[KEY]["low"]),
        ]
    return "\n\n".join(parts) if parts else markdown((), ())


def _table(rules: list[Mapping[str, Any]]) -> str:
    rows = [
        (
            f"`{INEQUALITY.sub('', rule['rule']).rstrip('.')}`",
            f"{rule['weight']:.3f}",
            f"{rule['confidence']:.2f}",
            f"{rule['support']:,}",
        )
        for rule in rules
    ]
    return markdown(("rule", "weight", "confidence", "support"), rows, right=range(1, 4))
