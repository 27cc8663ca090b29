"""Vocabulary: conversion between names and ids."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from ..errors import MANY_NAMES, UnknownName
from .arrays import Ids
from .arrow import number_array, string_array, to_numpy

NAMES_AT_ONCE = 1 << 16
"""Names that become Python strings at a time; up to this many are sorted without `pyarrow.compute`."""


class Vocabulary:
    """An immutable table name <-> id; ids are 0 .. len - 1.

    Names are stored in one Arrow array and looked up by bisection, since a dict of Python strings would take many times
    the memory.

    `names` are in the order of their ids; `kind` says in errors what they name; `order` are the ids in the order of the
    names, if known; otherwise they are sorted when a name is first looked up.
    """

    def __init__(self, names: Iterable[str] | pa.Array, kind: str = "entity", order: Ids | None = None) -> None:
        self.kind = kind
        array = names if isinstance(names, pa.Array) else string_array(names)
        self.array = array if array.type == pa.large_string() else array.cast(pa.large_string())
        if order is not None:
            self.order = order

    def __len__(self) -> int:
        return len(self.array)

    def __repr__(self) -> str:
        return f"<Vocabulary: {len(self):,} names>"

    def __iter__(self) -> Iterator[str]:
        for begin in range(0, len(self), NAMES_AT_ONCE):
            yield from self.array.slice(begin, NAMES_AT_ONCE).to_pylist()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.array.equals(other.array)

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, name: str) -> bool:
        return self.find(name) is not None

    @cached_property
    def order(self) -> Ids:
        """The ids in the order of their names."""
        if len(self) <= NAMES_AT_ONCE:
            names = self.array.to_pylist()
            return np.array(sorted(range(len(names)), key=names.__getitem__), np.int32)
        import pyarrow.compute as pc  # sorts by the bytes of UTF-8, which is the order of Python strings

        return to_numpy(pc.sort_indices(self.array)).astype(np.int32)

    def name(self, id: int) -> str:
        """Return the name of an id."""
        return str(self.array[int(id)].as_py())

    def names(self, ids: Ids | Sequence[int]) -> list[str]:
        """Return the names of these ids."""
        return list(self.array.take(number_array(np.asarray(ids, np.int64))).to_pylist())

    def id(self, name: str) -> int:
        """Return the id of a name. Raises UnknownName if there is none."""
        found = self.find(name)
        if found is None:
            raise UnknownName(self.kind, name, self.similar(name))
        return found

    def find(self, name: str) -> int | None:
        """Return the id of a name, or None."""
        place = bisect_left(self.order, name, key=self.name)
        if place == len(self):
            return None
        found = int(self.order[place])
        return found if self.name(found) == name else None

    def ids_of(self, other: Vocabulary) -> Ids:
        """Return the id in this vocabulary of each name of `other`, or -1."""
        import pyarrow.compute as pc

        if other is self or self.array.equals(other.array):
            return np.arange(len(self), dtype=np.int32)
        return to_numpy(pc.index_in(other.array, value_set=self.array), null=-1)

    def similar(self, name: str) -> Iterable[str]:
        """Return names like `name` for `errors.closest`, without making a Python string of every name."""
        if len(self) <= MANY_NAMES:
            return self
        import pyarrow.compute as pc

        length = pc.utf8_length(self.array)
        near = pc.and_(pc.greater_equal(length, len(name) - 2), pc.less_equal(length, len(name) + 2))
        near = pc.and_(near, pc.starts_with(self.array, pattern=name[:2], ignore_case=True))
        return list(self.array.filter(near).slice(0, MANY_NAMES).to_pylist())


class LabelTable(Mapping[str, str]):
    """Labels by name, looked up as in a Vocabulary; texts[i] is the label of the name with id i in `names`."""

    def __init__(self, names: Vocabulary, texts: pa.Array) -> None:
        self.names, self.texts = names, texts

    def __getitem__(self, name: str) -> str:
        found = self.names.find(name)
        if found is None:
            raise KeyError(name)
        return str(self.texts[found].as_py())

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def label_column(labels: Mapping[str, str], names: Vocabulary) -> pa.Array:
    """Return the label of each of `names`; null if `labels` has none."""
    if not labels:
        return pa.nulls(len(names), pa.large_string())
    if isinstance(labels, LabelTable):
        import pyarrow.compute as pc

        return labels.texts.take(pc.index_in(names.array, value_set=labels.names.array))
    return string_array(map(labels.get, names))
