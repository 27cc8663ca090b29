"""A data set of whatever a Python program has: a path, a table, a graph, a list of tuples, a base."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..data.dataset import DataOptions, Dataset, make_dataset
from ..data.facts import Splits
from ..data.kb import KnowledgeBase
from ..data.pyg import is_pyg
from ..data.tables import table_splits
from ..errors import DataError
from .load import load_dataset

IN_MEMORY = "data"
"""The name of a data set that was not read from anywhere."""


def as_dataset(source: Any, seed: int = 0, options: DataOptions | None = None) -> Dataset:
    """Return the data set of a `source`.

    Args:
        source: A name or a path; a Dataset, a KnowledgeBase, or a pair of it and its Splits; a pandas or Arrow table,
            whose column of splits counts; a NetworkX graph; a PyKEEN TriplesFactory; a Data or HeteroData of
            PyTorch Geometric; an array or a list of tuples (subject, predicate, object).
        seed: Of built-in sets.
        options: The columns of a table, and what to do with facts of files; default: as in `load_dataset`.
    """
    options = options or DataOptions()
    if isinstance(source, Dataset):
        return source
    if isinstance(source, str | Path):
        return load_dataset(source, seed=seed, options=options)
    if _is_pair(source):
        kb, splits = source
    elif is_table(source):
        kb, splits = table_splits(source, options.columns)
    else:
        kb = as_base(source)
        splits = Splits(kb.facts)
    return make_dataset(IN_MEMORY, kb, splits)


def as_base(source: Any) -> KnowledgeBase:
    """Return the base of a `source` in memory that is no table, as in `as_dataset`."""
    if isinstance(source, KnowledgeBase):
        return source
    if hasattr(source, "is_multigraph"):
        return KnowledgeBase.from_networkx(source)
    if hasattr(source, "mapped_triples"):
        return KnowledgeBase.from_pykeen(source)
    if is_pyg(source):
        return KnowledgeBase.from_pyg(source)
    if isinstance(source, np.ndarray):
        return KnowledgeBase.from_numpy(source)
    if isinstance(source, Iterable):
        return KnowledgeBase.from_facts(source)
    expected = "a path, a table, a graph, a list of tuples or a KnowledgeBase"
    raise DataError(f"expected {expected}, got {type(source).__name__}")


def is_table(source: Any) -> bool:
    """Return whether `source` is a pandas or Arrow table."""
    return isinstance(source, pa.Table) or hasattr(source, "itertuples")


def _is_pair(source: Any) -> bool:
    return (
        isinstance(source, tuple)
        and len(source) == 2
        and isinstance(source[0], KnowledgeBase)
        and isinstance(source[1], Splits)
    )
