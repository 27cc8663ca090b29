"""What people read as an outline of short lines, and the outline as text, as a rich tree, as HTML."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.tree import Tree


@dataclass(frozen=True)
class Item:
    """One line, what is said beside it in a quieter voice, and the lines below it."""

    text: str
    note: str = ""
    below: tuple[Item, ...] = ()


class Shown(ABC):
    """A value with an outline: `str`, a terminal and a notebook show it."""

    @abstractmethod
    def outline(self) -> Item:
        """What there is to read."""

    def __str__(self) -> str:
        return as_text(self.outline())

    def __rich__(self) -> Tree:
        return as_tree(self.outline())

    def to_html(self) -> str:
        """A fragment without a style of its own; everything from data is escaped."""
        return as_html(self.outline())

    def _repr_html_(self) -> str:
        return self.to_html()


def number(value: float) -> str:
    """
    >>> number(0.95), number(1.0), number(0.0004)
    ('.950', '1.000', '.0004')
    """
    text = f"{value:.3f}" if value == 0 or value >= 0.001 else f"{value:.1g}"
    return text[1:] if text.startswith("0.") else text


def number_pair(one: float, two: float) -> tuple[str, str]:
    """Two numbers with as many digits as tell them apart.

    >>> number_pair(0.5, 0.25), number_pair(0.99998, 0.99993)
    (('.500', '.250'), ('.99998', '.99993'))
    """
    digits = next((d for d in range(3, 10) if f"{one:.{d}f}" != f"{two:.{d}f}"), 3)
    texts = [f"{value:.{digits}f}" for value in (one, two)]
    first, second = (text[1:] if text.startswith("0.") else text for text in texts)
    return first, second


def many(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")


# three ways to show it ----------------------------------------------------------------------------------


def as_text(item: Item, indent: int = 0) -> str:
    note = f"   {item.note}" if item.note else ""
    return "\n".join(["  " * indent + item.text + note, *[as_text(part, indent + 1) for part in item.below]])


def as_tree(item: Item) -> Tree:
    from rich.text import Text  # Text, never markup: names from data may look like it
    from rich.tree import Tree

    def line(item: Item, style: str) -> Text:
        return Text.assemble((item.text, style), (f"   {item.note}" if item.note else "", "dim"))

    def grow(tree: Tree, item: Item) -> None:
        for part in item.below:
            grow(tree.add(line(part, "")), part)

    tree = Tree(line(item, "bold"), guide_style="dim")
    grow(tree, item)
    return tree


def as_html(item: Item) -> str:
    return f"<div class='nlil-explanation'><p><b>{escape(item.text)}</b>{_html_note(item)}</p>{_html_list(item)}</div>"


def _html_list(item: Item) -> str:
    if not item.below:
        return ""
    parts = (f"<li><code>{escape(part.text)}</code>{_html_note(part)}{_html_list(part)}</li>" for part in item.below)
    return f"<ul>{''.join(parts)}</ul>"


def _html_note(item: Item) -> str:
    return f" <small>{escape(item.note)}</small>" if item.note else ""
