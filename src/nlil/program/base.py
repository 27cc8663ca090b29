"""Base: facts of any arity as tables of ids, with an index for each set of bound arguments.

Entities of different types are different, even if they have the same name: with declared types, example 3 is not
coordinate 3. Without declared types, argument positions that share an entity have the same type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..data.arrays import Doubles, Longs, Mask, ranges
from ..errors import LimitError
from ..logic.terms import is_number
from .clause import Symbol

Tuples = Longs
"""Tuples of entity ids, one per row."""


def unique_rows(rows: Tuples) -> Tuples:
    """Return each of `rows` once, sorted."""
    return np.unique(rows, axis=0) if rows.shape[1] else rows[:1]


def row_keys(columns: Sequence[Longs], num_entities: int) -> Longs:
    """Return one number for each row of these `columns`, at least one."""
    if num_entities ** len(columns) >= 2**63:
        raise LimitError(
            f"{num_entities:,} entities are too many for {len(columns)} arguments at once; use fewer entities"
        )
    key = columns[0].astype(np.int64)
    for column in columns[1:]:
        key = key * num_entities + column
    return key


class Relation:
    """The tuples of one predicate. `num_entities` bounds the ids, so that a few arguments form one sortable key."""

    def __init__(self, rows: Tuples, num_entities: int) -> None:
        self.rows = unique_rows(rows)
        self.num_entities = max(num_entities, 1)
        self._indices: dict[tuple[int, ...], tuple[Longs, Longs]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def _index(self, bound: tuple[int, ...]) -> tuple[Longs, Longs]:
        """Return the sorted keys of the arguments `bound`, and the rows in that order."""
        if bound not in self._indices:
            key = row_keys([self.rows[:, i] for i in bound], self.num_entities)
            order = np.argsort(key, kind="stable")
            self._indices[bound] = key[order], order
        return self._indices[bound]

    def contains(self, columns: Sequence[Longs], bound: tuple[int, ...]) -> Mask:
        """Return for which rows of `columns`, the values of the arguments `bound`, there is a fact."""
        if not bound:
            return np.full(1, len(self.rows) > 0)
        if not len(self.rows):
            return np.zeros(len(columns[0]), bool)
        keys, _ = self._index(bound)
        wanted = row_keys(columns, self.num_entities)
        return keys[np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)] == wanted

    def count(self, columns: Sequence[Longs], bound: tuple[int, ...]) -> tuple[Longs, Longs]:
        """Return the begin in the index, and the number, of facts whose arguments `bound` have the values `columns`."""
        keys, _ = self._index(bound)
        wanted = row_keys(columns, self.num_entities)
        first = np.searchsorted(keys, wanted)
        return first, np.searchsorted(keys, wanted, "right") - first

    def matches(self, bound: tuple[int, ...], first: Longs, counts: Longs) -> Tuples:
        """Return the facts at these positions of the index of `bound`: `first` and `counts` are from `count`."""
        _, order = self._index(bound)
        return self.rows[order[ranges(first, counts)]]


@dataclass(frozen=True, eq=False)
class Base:
    """Facts by predicate, over entities with names.

    `relations` has the tuples of each predicate, `types` the type of each of its arguments; `domains` the entities of
    each type.
    """

    names: Sequence[str]
    relations: Mapping[Symbol, Relation]
    types: Mapping[Symbol, tuple[int, ...]]
    domains: Mapping[int, Longs] = field(default_factory=dict)

    @property
    def num_entities(self) -> int:
        """The number of entities."""
        return len(self.names)

    @cached_property
    def numbers(self) -> Doubles:
        """The value of every entity whose name is a number, NaN for the others."""
        return np.array([float(name) if is_number(name) else np.nan for name in self.names])

    def relation(self, symbol: Symbol) -> Relation:
        """Return the tuples of `symbol`; none if it has no facts."""
        return self.relations.get(symbol) or Relation(np.zeros((0, symbol.arity), np.int64), self.num_entities)

    def with_relations(self, more: Mapping[Symbol, Tuples], types: Mapping[Symbol, tuple[int, ...]]) -> Base:
        """Return the base with `more` predicates, whose arguments have these `types`."""
        added = {symbol: Relation(rows, self.num_entities) for symbol, rows in more.items()}
        return Base(self.names, {**self.relations, **added}, {**self.types, **types}, self.domains)


class BaseBuilder:
    """Collects facts by name. `declared` are the names of the types of the arguments of predicates."""

    def __init__(self, declared: Mapping[Symbol, tuple[str, ...]] | None = None) -> None:
        self._declared = dict(declared or {})
        self._ids: dict[tuple[str, str], int] = {}
        self._facts: dict[Symbol, list[tuple[int, ...]]] = {}

    def ids(self, symbol: Symbol, arguments: Iterable[str]) -> tuple[int, ...]:
        """Return the ids of the `arguments` of a fact; new names get new ids."""
        kinds = self._declared.get(symbol, ("",) * symbol.arity)
        return tuple(self._ids.setdefault((kind, name), len(self._ids)) for kind, name in zip(kinds, arguments))

    def add(self, symbol: Symbol, arguments: Iterable[str]) -> None:
        """Add one fact of `symbol` with these `arguments`."""
        self._facts.setdefault(symbol, []).append(self.ids(symbol, arguments))

    def finish(self, examples: Mapping[Symbol, Sequence[tuple[int, ...]]]) -> Base:
        """Return the base; `examples` are tuples that are not facts but determine types of arguments."""
        names = [name for _, name in self._ids]
        return base_of(names, _tables(self._facts), _tables(examples))


def _tables(facts: Mapping[Symbol, Sequence[tuple[int, ...]]]) -> dict[Symbol, Tuples]:
    return {s: np.array(rows, np.int64).reshape(len(rows), s.arity) for s, rows in facts.items()}


def base_of(names: Sequence[str], facts: Mapping[Symbol, Tuples], examples: Mapping[Symbol, Tuples]) -> Base:
    """Return the base of these `facts`; `examples` are tuples that are not facts but determine types of arguments."""
    types, domains = _types([*facts.items(), *examples.items()], len(names))
    return Base(names, {symbol: Relation(rows, len(names)) for symbol, rows in facts.items()}, types, domains)


def _types(
    tables: Sequence[tuple[Symbol, Tuples]], num_entities: int
) -> tuple[dict[Symbol, tuple[int, ...]], dict[int, Longs]]:
    """Return the type of each argument, the same for arguments that share an entity, and the entities of each type."""
    group = np.arange(num_entities)  # of entities that occur in one argument, directly or through others

    def root(one: int) -> int:
        while group[one] != one:
            group[one] = group[group[one]]
            one = int(group[one])
        return one

    for _, rows in tables:
        for column in rows.T:
            found = np.unique(column).tolist()
            for one in found[1:]:
                group[root(one)] = root(found[0])
    of_entity = np.array([root(one) for one in range(num_entities)], np.int64)
    types: dict[Symbol, tuple[int, ...]] = {}
    for symbol, rows in tables:
        if len(rows):
            types[symbol] = tuple(int(of_entity[column[0]]) for column in rows.T)
    domains = {int(t): np.flatnonzero(of_entity == t) for t in np.unique(of_entity)}
    return types, domains
