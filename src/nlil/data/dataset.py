"""Dataset, the result of `load_dataset`: facts, splits, default targets, checksum, planted rules; and its options."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np
import pyarrow as pa

from ..logic.predicate import Predicate
from ..logic.rule import Rule
from ..settings import NUM_CLASSES, DataSettings
from .arrays import Doubles, Ids
from .arrow import string_array, string_parts
from .columns import columns_text
from .facts import Facts, Splits
from .files import UTF8, known_encoding
from .kb import KnowledgeBase
from .wide import joined

LEFT_OUT = -1
"""In place of the new id of a predicate: remove its facts."""


@dataclass(frozen=True)
class DataOptions(DataSettings):
    """The settings that change the facts before anything is learned from them.

    They are applied in the order merge, drop, min_count, roles, geometry.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", columns_text(self.columns))
        object.__setattr__(self, "encoding", known_encoding(self.encoding))
        super().__post_init__()

    @property
    def is_told(self) -> bool:
        """Whether the user has specified how to read files."""
        return bool(self.columns) or self.encoding != UTF8

    @property
    def refines(self) -> bool:
        """Whether any option but those of reading, `roles`, `geometry` and `cuts` changes the facts."""
        return bool(self.drop or self.merge or self.min_count or self.num_classes != NUM_CLASSES)


KEYS = tuple(field.name for field in fields(DataOptions))


@dataclass(frozen=True, eq=False)
class Dataset:
    """Facts to learn from, with their splits.

    `name` is for display; `kb` holds the training facts over the entities and predicates of all splits. `splits` has
    the facts of each split by id; `targets` are learned by default. `checksum` is the SHA-256 of the content: names,
    ids and facts of every split. `notes` say what the reader skipped or decided, one sentence each. `planted` are the
    rules that a built-in generator makes true, without exception on its training facts (in `scenes` up to its stated
    noise); for other data it is empty. `numbers` are attributes that were read but not yet cut into predicates (see
    numbers.py): the entities that have one, and their numbers, by name.
    """

    name: str
    kb: KnowledgeBase
    splits: Splits
    targets: tuple[Predicate, ...]
    checksum: str
    planted: tuple[Rule, ...] = ()
    notes: tuple[str, ...] = ()
    numbers: Mapping[str, tuple[Ids, Doubles]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Dataset {self.name}: {self.kb!r}, {self.splits!r}>"

    @property
    def is_scene(self) -> bool:
        """Whether the facts are scene graphs, with object classes."""
        return bool(self.kb.classes)

    @property
    def world(self) -> KnowledgeBase:
        """The facts that a query may use: the training facts, and the scenes of every split, each a separate world."""
        facts = self.kb.facts
        for context in self.splits.context.values():
            facts = facts + context
        return self.kb if facts is self.kb.facts else self.kb.with_facts(facts)

    def complete(self) -> KnowledgeBase:
        """Return the base with the facts of all splits, as a generated data set was before it was split."""
        facts = self.splits.all()
        for context in self.splits.context.values():
            facts = facts + context
        wide = joined((self.kb.wide, *(self.splits.wide.get(split, {}) for split in ("valid", "test"))))
        return replace(self.kb, facts=facts.unique(), wide=wide)

    def over(self, predicates: tuple[Predicate, ...], id_of: Ids, added: Mapping[str, Facts] | None = None) -> Dataset:
        """Return the data set over other predicates, with the checksum of the old one.

        Args:
            predicates: the new predicates, sorted.
            id_of: the new id of each old predicate; LEFT_OUT removes its facts.
            added: new facts by split, with new ids.
        """
        kb, old, new = self.kb, self.splits, added or {}

        def renumbered(facts: Facts, split: str = "") -> Facts:
            kept = facts[id_of[facts.predicate] != LEFT_OUT]
            result = Facts(id_of[kept.predicate], kept.subject, kept.object, kept.weight)
            return (result + new[split] if split in new else result).unique()

        def ids(of: frozenset[int]) -> frozenset[int]:
            return frozenset(int(id_of[i]) for i in of if id_of[i] != LEFT_OUT)

        context = {split: renumbered(facts, split) for split, facts in old.context.items()}
        train = context["train"] if "train" in context else renumbered(old.train, "train")
        negatives = {split: renumbered(facts) for split, facts in old.negatives.items()}
        splits = Splits(train, renumbered(old.valid), renumbered(old.test), negatives, context, old.wide)
        facts = train if kb.facts.predicate is old.train.predicate else renumbered(kb.facts, "train")
        kb = replace(kb, predicates=predicates, facts=facts, classes=ids(kb.classes), geometry=ids(kb.geometry))
        return replace(self, kb=kb, splits=splits)


def make_dataset(
    name: str,
    kb: KnowledgeBase,
    splits: Splits,
    targets: tuple[Predicate, ...] | None = None,
    planted: tuple[Rule, ...] = (),
    notes: tuple[str, ...] = (),
    num_classes: int = NUM_CLASSES,
) -> Dataset:
    """Return a Dataset with its checksum.

    The fields are those of Dataset: `name`, `kb`, `splits`, `planted`, `notes`. If `targets` is None, they are the
    default targets, at most `num_classes` of a scene.
    """
    chosen = default_targets(kb, num_classes) if targets is None else targets
    return Dataset(name, kb, splits, chosen, checksum(kb, splits), planted, notes)


def default_targets(kb: KnowledgeBase, num_classes: int = NUM_CLASSES) -> tuple[Predicate, ...]:
    """Return the default targets of `kb`.

    For scene graphs these are the `num_classes` most frequent classes, most frequent first; otherwise every predicate
    with facts.
    """
    counts = kb.predicate_counts
    if kb.classes:
        by_count = sorted((i for i in kb.classes if counts[i]), key=lambda i: (-int(counts[i]), kb.predicates[i].name))
        return tuple(kb.predicates[i] for i in by_count[:num_classes])
    return tuple(kb.predicates[int(i)] for i in np.flatnonzero(counts))


def checksum(kb: KnowledgeBase, splits: Splits) -> str:
    """Return the SHA-256 of the names and id columns of `kb` and `splits`; it does not depend on the file format."""
    digest = hashlib.sha256()
    _add_names(digest, kb.entities.array)
    _add_names(digest, string_array(map(str, kb.predicates)))
    digest.update(np.asarray(sorted(kb.classes), np.int32).tobytes())
    if kb.graph_of is not None:
        digest.update(kb.graph_of.tobytes())
    for numbers in (kb.boxes, kb.graph_sizes):
        if numbers is not None:
            digest.update(np.ascontiguousarray(numbers).data)
    parts = {"train": splits.train, "valid": splits.valid, "test": splits.test}
    parts |= {f"negatives {split}": facts for split, facts in sorted(splits.negatives.items())}
    parts |= {f"context {split}": facts for split, facts in sorted(splits.context.items())}
    for name, facts in parts.items():
        digest.update(f"{name} {len(facts)} {facts.weight is not None}".encode())
        _add_facts(digest, facts)
    for split, wide in sorted({"train": kb.wide, **splits.wide}.items()):
        for symbol, rows in wide.items():
            digest.update(f"{split} {symbol} {len(rows)}".encode())
            digest.update(np.ascontiguousarray(rows).data)
    return digest.hexdigest()


def _add_facts(digest: hashlib._Hash, facts: Facts) -> None:
    for column in (facts.predicate, facts.subject, facts.object, facts.weight):
        if column is not None:
            digest.update(np.ascontiguousarray(column).data)


def _add_names(digest: hashlib._Hash, names: pa.Array) -> None:
    """Add the lengths, then the characters, so that no two lists of names give the same bytes."""
    offsets, text = string_parts(names)
    digest.update(np.diff(offsets).data)
    digest.update(text.data)
