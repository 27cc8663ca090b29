"""Twins: steps that lead to the same places, such as `hypernym` and `hyponym` walked backwards.

A chain of four steps that all have a twin can be written in sixteen ways which say the same thing. Longer chains
are proposed in one spelling; the spellings that differ from it in one step are counted beside it, for where a fact is
known under one name and not under the other.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from ..data.arrays import Ids
from ..kernel.graph import Graph

SAME = 0.8
"""Two steps are twins when each has this share of the other's pairs."""


SPELLED = 4
"""Steps of the longest chain that is spelled in more than one way."""


def twin_of(graph: Graph) -> Ids:
    """For each code the least code that is its twin, or the code itself."""
    node = np.repeat(np.arange(graph.num_entities, dtype=np.int64), np.diff(graph.pointer))
    pairs, pair = np.unique(node * graph.num_entities + graph.neighbour, return_inverse=True)
    holds = csr_array((np.ones(len(pair), np.int32), (graph.code, pair)), shape=(graph.num_codes, len(pairs)))
    shared = (holds @ holds.T).tocoo()
    size = np.bincount(graph.code, minlength=graph.num_codes)
    row, column = shared.coords
    same = shared.data >= SAME * np.maximum(size[row], size[column])
    twin = np.arange(graph.num_codes, dtype=np.int32)
    np.minimum.at(twin, row[same], column[same].astype(np.int32))
    return twin


def spellings(steps: Ids, twin: Ids) -> Ids:
    """The rows of steps, and those that differ in one step by a twin, each once, in order."""
    if steps.shape[1] > SPELLED:
        return steps
    rows = [steps]
    members = [np.flatnonzero(twin == t) for t in twin]
    for place in range(steps.shape[1]):
        for code in np.unique(steps[:, place]):
            for other in members[code]:
                if other != code:
                    changed = steps[steps[:, place] == code].copy()
                    changed[:, place] = other
                    rows.append(changed)
    return np.unique(np.concatenate(rows), axis=0)
