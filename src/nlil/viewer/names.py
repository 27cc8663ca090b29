"""NameIndex: entities and predicates by what people type of their label or name."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

FOUND = 200
"""Names looked at before the best are chosen: a common syllable is in thousands."""
WORD_STARTS = (" ", "_", "/", "\t", ".", "-")


@dataclass(frozen=True)
class Named:
    """An entity or a predicate: its id, its name in the data, and what people call it."""

    kind: str
    id: int
    name: str
    label: str

    @property
    def address(self) -> str:
        return f"/{self.kind}/{self.id}"

    def to_dict(self) -> dict[str, str | int]:
        return {"kind": self.kind, "id": self.id, "name": self.name, "label": self.label, "address": self.address}


class NameIndex:
    """All names in one lower-cased text, a line each: looking through a megabyte of it takes a millisecond."""

    def __init__(self, kind: str, names: Sequence[str], labels: Sequence[str]) -> None:
        self.kind, self.names, self.labels = kind, names, labels
        lines = [plain(label if label == name else f"{label}\t{name}") for name, label in zip(names, labels)]
        self.begins = [1]
        for line in lines:
            self.begins.append(self.begins[-1] + len(line) + 1)
        self.text = "\n" + "\n".join(lines) + "\n"

    def find(self, typed: str, limit: int) -> list[Named]:
        """Names that begin with what was typed, then those with such a word, then those that hold it; short first."""
        wanted = plain(typed).strip()
        if not wanted:
            return []
        chosen: dict[int, None] = {}
        for starts in (("\n",), WORD_STARTS, ("",)):
            found = {line for start in starts for line in self._lines(start + wanted)}
            chosen.update(dict.fromkeys(sorted(found, key=self._size)))
            if len(chosen) >= limit:
                break
        return [self.named(line) for line in list(chosen)[:limit]]

    def called(self, label: str) -> list[int]:
        """The ids of all that have exactly this label."""
        wanted = plain(label)
        lines = dict.fromkeys([*self._lines(f"\n{wanted}\t"), *self._lines(f"\n{wanted}\n")])
        exact = [line for line in lines if self.labels[line] == label]
        return exact or list(lines)

    def named(self, id: int) -> Named:
        return Named(self.kind, id, self.names[id], self.labels[id])

    def _size(self, line: int) -> tuple[int, int]:
        return len(self.labels[line]), line

    def _lines(self, pattern: str) -> Iterator[int]:
        place, found = 0, 0
        while found < FOUND and (place := self.text.find(pattern, place)) >= 0:
            line = bisect_right(self.begins, place + (pattern[0] == "\n")) - 1
            yield line
            place, found = self.begins[line + 1] - 1, found + 1  # the newline before the next name


def plain(text: str) -> str:
    """As it is compared: case does not matter, and a name is one line."""
    return text.casefold().replace("\n", " ").replace("\r", " ")
