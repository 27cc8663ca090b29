"""Print the strongest rules of the ten most frequent classes of a run, and rules that count though often wrong.

    nlil learn vrd --out runs/vrd --set preset=scene
    python docs/make_scene_rules.py runs/vrd "VRD"
"""

from __future__ import annotations

import re
import sys

import nlil
from nlil.logic.formula import Not
from nlil.logic.rule import ScoredRule

CLASSES, RULES, LOW, LEAST = 10, 4, 10, 30
INEQUALITY = r", \w+ \\= \w+"


def short(scored: ScoredRule) -> str:
    """The rule without its inequalities: all variables of a statement differ."""
    return f"`{re.sub(INEQUALITY, '', str(scored.rule)).rstrip('.')}`"


def main(run: str, name: str) -> None:
    learned = nlil.load_run(run)
    rules = learned.rules
    print(f"**{name}**, the {RULES} strongest rules of its ten most frequent classes (all variables differ):\n")
    print("| class | rule | weight | confidence | support |\n| --- | --- | --: | --: | --: |")
    for target in learned.targets[:CLASSES]:
        for i, scored in enumerate(rules.for_target(target).top(RULES)):
            shown = target.name if not i else ""
            print(f"| {shown} | {short(scored)} | {scored.weight:.3f} | {scored.stats.confidence:.2f} | "
                  f"{scored.stats.support:,} |")
    print(f"\n**{name}**, rules that carry weight though they are right less than half the time:\n")
    print("| rule | weight | confidence | support |\n| --- | --: | --: | --: |")
    low = [s for s in rules if s.stats.support >= LEAST and 0.05 < s.stats.confidence < 0.5 and s.rule.length
           and not isinstance(s.rule.body, Not)]
    low.sort(key=lambda s: (-s.weight, str(s.rule)))
    seen: set[str] = set()
    for scored in low:
        if scored.rule.target.name in seen or len(seen) == LOW:
            continue
        seen.add(scored.rule.target.name)
        print(f"| {short(scored)} | {scored.weight:.3f} | {scored.stats.confidence:.2f} | {scored.stats.support:,} |")


if __name__ == "__main__":
    main(*sys.argv[1:3])
