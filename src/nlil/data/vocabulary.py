"""Names and ids. The only place that converts between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from ..errors import UnknownName
from .arrays import Ids
from .arrow import number_array, string_array, to_numpy


class Vocabulary:
    """Frozen two-way table name <-> id; ids are 0 .. len - 1. Names live in one Arrow array.

    `names` are given in the order of their ids; `kind` says in errors what they name.
    """

    def __init__(self, names: Iterable[str] | pa.Array, kind: str = "entity") -> None:
        self.kind = kind
        array = names if isinstance(names, pa.Array) else string_array(names)
        self.array = array if array.type == pa.large_string() else array.cast(pa.large_string())

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[str]:
        return iter(self.array.to_pylist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.array.equals(other.array)

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, name: str) -> bool:
        return name in self._id_of

    @cached_property
    def _id_of(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.array.to_pylist())}

    def name(self, id: int) -> str:
        """Return the name of an id."""
        return str(self.array[int(id)].as_py())

    def names(self, ids: Ids | Sequence[int]) -> list[str]:
        """Return the names of these ids."""
        return list(self.array.take(number_array(np.asarray(ids, np.int64))).to_pylist())

    def id(self, name: str) -> int:
        """Return the id of a name; UnknownName where there is none."""
        try:
            return self._id_of[name]
        except KeyError:
            raise UnknownName(self.kind, name, self._id_of) from None

    def find(self, name: str) -> int | None:
        """Return the id of a name, None where there is none."""
        return self._id_of.get(name)

    def ids_of(self, other: Vocabulary) -> Ids:
        """For each name of `other` its id here, or -1: the map between two vocabularies."""
        import pyarrow.compute as pc

        if other is self or self.array.equals(other.array):
            return np.arange(len(self), dtype=np.int32)
        return to_numpy(pc.index_in(other.array, value_set=self.array), null=-1)
