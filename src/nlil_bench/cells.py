"""What all tables of benches are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Entries = Mapping[str, Mapping[str, Any]]


def machine_text(machine: Mapping[str, Any]) -> str:
    return f"{machine['cores']} cores" if machine["device"] == "cpu" else str(machine["device"])


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] | range = ()) -> str:
    if not rows:
        return "Not measured yet."
    rule = ["--:" if i in right else "---" for i in range(len(head))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *rows))


def measured(entries: Entries) -> dict[str, Mapping[str, Any]]:
    """Without those of --quick."""
    return {key: entry for key, entry in entries.items() if not entry.get("quick")}


def minutes(value: float | None) -> str:
    return "" if value is None else f"{value:g} min"


def share(value: float | None, deviation: float | None = None) -> str:
    """
    >>> share(0.95), share(None), share(0.95, 0.004)
    ('.950', '', '.950 ± .004')
    """
    spread = "" if deviation is None else f" ± {share(deviation)}"
    return "" if value is None else f"{value:.3f}".removeprefix("0") + spread
