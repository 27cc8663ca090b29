"""How long work reports itself: one callable, handed down; nothing is printed below the command line."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        """`done` of `total` units of `stage` are finished; `note` says what was found so far."""


def silent(stage: str, done: int, total: int, note: str = "") -> None:
    """Report to nobody."""
