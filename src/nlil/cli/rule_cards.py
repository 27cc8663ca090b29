"""nlil rules RUN --examples N: under each rule examples, counterexamples and predictions that are not in the data."""

from __future__ import annotations

from pathlib import Path

from ..errors import ConfigError
from .opening import open_run
from .session import Session


def show_cards(session: Session, run: Path, data: str | None, target: str | None, count: int, examples: int) -> None:
    """The `count` best rules as cards with so many examples each."""
    from ..explanation.rule_card import RuleCards

    opened = open_run(session, run, data)
    rules = opened.rules if target is None else opened.rules.for_target(target)
    splits = opened.dataset.splits
    cards = RuleCards(rules, opened.dataset.kb, splits.all(), splits.negatives.get("train"), opened.config.memory)
    shown = [cards.card(int(row), examples=examples) for row in rules.order()[: count or len(rules)]]
    size = f"{len(shown):,} of {len(rules):,} rules."
    note = "Facts are those learned from; a prediction that is not among them need not be false."
    session.show({"num_rules": len(rules), "cards": [card.to_dict() for card in shown]}, *shown, f"{size} {note}")


def check_format(format: str, as_json: bool) -> None:
    if not as_json and format not in ("text", "json"):
        raise ConfigError(f"--examples: as {format} rules have none; leave out --format, or take --json", "examples")
