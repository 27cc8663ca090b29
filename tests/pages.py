"""The code blocks of the README and of docs.

- `sh`: lines that call `nlil`, run in order. `python`: run in order, with one set of names for the page.
- `text`: what is printed, drawn, or in a file. With `title="NAME"` it is a file that the page needs, and is written.
- A comment `<!-- not run: why -->` in the line above keeps a block from being run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
FENCE = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^\n]*?) -->\n)?"
    r'^```(?P<language>\w*)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$',
    re.S | re.M,
)


@dataclass(frozen=True)
class Block:
    """A code block: its language, its text, the file that it is (or None), and why it is not run (None: it is)."""

    language: str
    text: str
    title: str | None
    reason: str | None

    @property
    def is_run(self) -> bool:
        return self.language in ("sh", "python") and self.reason is None

    @property
    def commands(self) -> list[str]:
        """The lines of a block of commands, without those that are comments only."""
        return [line for line in self.text.splitlines() if line.strip() and not line.startswith("#")]


def blocks(page: Path) -> list[Block]:
    """Every code block of a page, in order."""
    found = FENCE.finditer(page.read_text(encoding="utf-8"))
    return [Block(one["language"], one["text"], one["title"], one["reason"]) for one in found]
