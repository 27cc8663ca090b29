"""Labels for people: `name <TAB> label`, one a line. Names are keys, labels never are."""

from __future__ import annotations

from pathlib import Path

from ..errors import DataError
from .files import lines


def read_labels(path: Path) -> dict[str, str]:
    """name -> label of a labels.tsv (also .gz)."""
    labels: dict[str, str] = {}
    for number, line in lines(path):
        name, tab, label = line.partition("\t")
        if not tab or not name:
            raise DataError(f"expected name <TAB> label, got {line!r}", path, number)
        labels[name] = label
    return labels
