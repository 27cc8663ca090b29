"""Facts by column, and the splits of a data set, both as ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from .arrays import Floats, Ids, Longs, Mask, drawn_rows, run_starts
from .wide import Wide

NO_OBJECT = -1
"""The object of a unary fact."""
LEAST_TRUE = 0.5
"""The least weight of a fact that counts as true."""


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts P(s) and P(s, o) as id columns of one length, and an optional weight in [0, 1].

    `predicate`, `subject` and `object` are ids; `object` is -1 for P(s). `weight` is None if all facts have weight 1.
    """

    predicate: Ids
    subject: Ids
    object: Ids
    weight: Floats | None = None
    context: Facts | None = None
    """The facts that bodies use in queries about these facts (scene graphs); None: the base itself."""

    @classmethod
    def empty(cls) -> Facts:
        """No facts."""
        none = np.zeros(0, np.int32)
        return cls(none, none, none)

    def __len__(self) -> int:
        return len(self.predicate)

    def __repr__(self) -> str:
        weighted = "" if self.weight is None else ", with weights"
        return f"<Facts: {len(self):,}{weighted}>"

    @property
    def is_unary(self) -> Mask:
        """Which facts have one argument."""
        return self.object == NO_OBJECT

    def __getitem__(self, rows: Mask | Longs | slice) -> Facts:
        weight = None if self.weight is None else self.weight[rows]
        return Facts(self.predicate[rows], self.subject[rows], self.object[rows], weight, self.context)

    def of(self, predicate_id: int) -> Facts:
        """Return the facts of the predicate `predicate_id`, in their order."""
        predicate, rows = self._by_predicate
        low, high = np.searchsorted(predicate, np.array([predicate_id, predicate_id + 1], np.int32))
        return self[low:high] if rows is None else self[rows[low:high]]

    @cached_property
    def _by_predicate(self) -> tuple[Ids, Longs | None]:
        """The predicates, sorted, and the row of each; no rows if the facts are sorted."""
        if bool((self.predicate[1:] >= self.predicate[:-1]).all()):
            return self.predicate, None
        rows = np.argsort(self.predicate, kind="stable")
        return self.predicate[rows], rows

    def drawn(self, most: int, random: np.random.Generator) -> Facts:
        """Draw at most `most` of the facts with `random`, in their order."""
        return self if len(self) <= most else self[drawn_rows(len(self), most, random)]

    def crisp(self) -> Facts:
        """Return the facts that count as true (LEAST_TRUE), without their weights."""
        if self.weight is None:
            return self
        keep = self[self.weight >= LEAST_TRUE]
        return Facts(keep.predicate, keep.subject, keep.object)

    def unique(self) -> Facts:
        """Return each fact once, with its largest weight, sorted by (predicate, subject, object)."""
        packed = self._unique_packed() if self.weight is None else None
        if packed is not None:
            return packed
        weight = np.ones(len(self), np.float32) if self.weight is None else self.weight
        order = np.lexsort((-weight, self.object, self.subject, self.predicate))
        sorted_facts = self[order]
        return sorted_facts[run_starts(sorted_facts.predicate, sorted_facts.subject, sorted_facts.object)]

    def _unique_packed(self) -> Facts | None:
        """`unique` on one 64-bit key (predicate | subject | object + 1), if that fits; much faster than lexsort."""
        bits = self._id_bits()
        if int(self.predicate.max(initial=0)).bit_length() + 2 * bits > 63:
            return None
        key = self.predicate.astype(np.int64)
        for column, shift in ((self.subject, 0), (self.object, 1)):
            key <<= bits
            key += column
            key += shift
        key.sort()
        key = key[run_starts(key)]
        low = (1 << bits) - 1
        object = (key & low).astype(np.int32) - np.int32(1)
        key >>= bits
        subject = (key & low).astype(np.int32)
        key >>= bits
        return Facts(key.astype(np.int32), subject, object)

    def _id_bits(self) -> int:
        """Bits that hold every subject and every object + 1."""
        return (max(int(self.subject.max(initial=0)), int(self.object.max(initial=0))) + 1).bit_length()

    def isin(self, other: Facts) -> Mask:
        """Return which of these facts are among the `other` facts."""
        own, others = fact_keys(self, other)
        return np.isin(own, others)

    def __add__(self, other: Facts) -> Facts:
        return Facts.join([self, other])

    @classmethod
    def join(cls, parts: Iterable[Facts]) -> Facts:
        """Concatenate `parts`; facts without weights get weight 1 if other facts have weights."""
        parts = [cls.empty(), *parts]
        weight = None
        if any(part.weight is not None for part in parts):
            weight = np.concatenate([np.ones(len(f), np.float32) if f.weight is None else f.weight for f in parts])
        return cls(
            np.concatenate([part.predicate for part in parts]),
            np.concatenate([part.subject for part in parts]),
            np.concatenate([part.object for part in parts]),
            weight,
        )


def fact_keys(*groups: Facts) -> list[Longs]:
    """Number each fact of each of `groups`: equal for equal facts, and in the order of (predicate, subject, object).

    The key consists of the bits of predicate, subject and object + 1 if they fit in 63; otherwise (predicate, subject)
    is first replaced by its rank.
    """
    bits = max((facts._id_bits() for facts in groups), default=1)
    heads = [(facts.predicate.astype(np.int64) << bits) + facts.subject for facts in groups]
    if max((int(head.max(initial=0)) for head in heads), default=0).bit_length() + bits > 63:
        _, rank = np.unique(np.concatenate(heads), return_inverse=True)
        heads = np.split(rank, np.cumsum([len(head) for head in heads[:-1]]))
    return [(head << bits) + facts.object + 1 for head, facts in zip(heads, groups)]


@dataclass(frozen=True, eq=False)
class Splits:
    """Training facts (`train`), validation facts (`valid`) and test facts (`test`).

    `negatives[split]` holds given false facts. `wide` holds facts of three and more arguments, by `valid`, `test`,
    `negatives train` and the like; those of training are in the base. For scene graphs, `valid` and `test` hold the
    class facts of their objects, and `context[split]` all facts of the graphs of that split, which bodies may use.
    Other bases have no context.
    """

    train: Facts
    valid: Facts = field(default_factory=Facts.empty)
    test: Facts = field(default_factory=Facts.empty)
    negatives: dict[str, Facts] = field(default_factory=dict)
    context: dict[str, Facts] = field(default_factory=dict)
    wide: Mapping[str, Wide] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for split, facts in self.context.items():
            object.__setattr__(self, split, replace(self[split], context=facts))

    def __repr__(self) -> str:
        return f"<Splits: train {len(self.train):,}, valid {len(self.valid):,}, test {len(self.test):,}>"

    def __getitem__(self, split: str) -> Facts:
        from ..errors import UnknownName

        known = {"train": self.train, "valid": self.valid, "test": self.test}
        if split not in known:
            raise UnknownName("split", split, known, hint="use train, valid or test")
        return known[split]

    def all(self) -> Facts:
        """Return the facts of train, valid and test."""
        return self.train + self.valid + self.test
