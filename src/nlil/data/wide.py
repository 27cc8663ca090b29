"""Wide facts, of three or more arguments: a table of entity ids for each predicate, one fact in each row.

They are kept beside the facts of one and two arguments, which rules are made of. `nlil program` uses both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from ..logic.predicate import Symbol
from ..logic.text import atom_text
from .arrays import Ids
from .vocabulary import Vocabulary

Wide = Mapping[Symbol, Ids]
"""Predicate -> its facts as rows of ids, each once, sorted."""


def joined(parts: Iterable[Wide]) -> dict[Symbol, Ids]:
    """Return the facts of all `parts`, each once, by predicate in order."""
    tables: dict[Symbol, list[Ids]] = {}
    for part in parts:
        for symbol, rows in part.items():
            tables.setdefault(symbol, []).append(rows)
    return {symbol: np.unique(np.concatenate(tables[symbol]), axis=0) for symbol in sorted(tables)}


def count_wide(wide: Wide) -> int:
    """Return the number of `wide` facts."""
    return sum(map(len, wide.values()))


def wide_texts(wide: Wide, entities: Vocabulary) -> Iterator[str]:
    """Yield each of the `wide` facts as Prolog, without a dot, with the names of the `entities`."""
    for symbol, rows in wide.items():
        for row in rows:
            yield f"{atom_text(symbol.name)}({', '.join(map(atom_text, entities.names(row)))})"
