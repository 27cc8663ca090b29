"""Dataset: what `load_dataset` gives. Facts, splits, default targets, a checksum, planted rules; and its options."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np
import pyarrow as pa

from ..errors import ConfigError
from ..logic.predicate import Predicate
from ..logic.rule import Rule
from .arrays import Ids
from .arrow import string_array, string_parts
from .facts import Facts, Splits
from .kb import KnowledgeBase

LEFT_OUT = -1
"""In place of the new id of a predicate: its facts go."""
NUM_CLASSES = 150
"""Targets of a scene graph: so many of its most frequent classes (as in the paper)."""


@dataclass(frozen=True)
class DataOptions:
    """What a user may choose about the facts themselves, before anything is learned from them.

    The same keys and defaults as in `LearnerConfig`; the order of work is merge, drop, min_count, geometry.

    `geometry`     boxes become predicates, where there are boxes
    `drop`         relations that are left out, by name (after merging)
    `merge`        a file or folder of name merges (data/refining.py); empty: none
    `min_count`    predicates with fewer training facts are left out; objects of such a class stay, unlabelled
    `num_classes`  how many of the most frequent classes are targets
    `cuts`         into how many quantile bins a number is cut
    """

    geometry: bool = True
    drop: tuple[str, ...] = ()
    merge: str = ""
    min_count: int = 0
    num_classes: int = NUM_CLASSES
    cuts: int = 10

    def __post_init__(self) -> None:
        for key, least in (("min_count", 0), ("num_classes", 1), ("cuts", 2)):
            value = getattr(self, key)
            if value < least:
                raise ConfigError(f"{key}: expected {least} or more, got {value!r}", key)

    @property
    def refines(self) -> bool:
        """Whether any option but `geometry` and `cuts` changes the facts."""
        return bool(self.drop or self.merge or self.min_count or self.num_classes != NUM_CLASSES)


KEYS = tuple(field.name for field in fields(DataOptions))


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set as it is learned from.

    `name` is for people; `kb` holds the training facts over the entities and predicates of all splits. `splits` has the
    facts of each split by id, `targets` what is learned unless told otherwise. `checksum` is the SHA-256 of the
    content: names, ids, facts of every split. `notes` say what the reader skipped or decided, one sentence each.
    `planted` are rules that a built-in generator makes true: without exception on its training facts, in `scenes` up to
    its stated noise; else it is empty.
    """

    name: str
    kb: KnowledgeBase
    splits: Splits
    targets: tuple[Predicate, ...]
    checksum: str
    planted: tuple[Rule, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_scene(self) -> bool:
        """Whether the facts are scene graphs, with object classes."""
        return bool(self.kb.classes)

    @property
    def world(self) -> KnowledgeBase:
        """What a query may look at: the training facts, and the scenes of every split, each a world of its own."""
        facts = self.kb.facts
        for context in self.splits.context.values():
            facts = facts + context
        return self.kb if facts is self.kb.facts else self.kb.with_facts(facts)

    def complete(self) -> KnowledgeBase:
        """Return the base with the facts of all splits: what a generated set was before it was split."""
        facts = self.splits.all()
        for context in self.splits.context.values():
            facts = facts + context
        return replace(self.kb, facts=facts.unique())

    def over(self, predicates: tuple[Predicate, ...], id_of: Ids, added: Mapping[str, Facts] | None = None) -> Dataset:
        """Return the data set over other predicates; its checksum is still the old one.

        Args:
            predicates: the new predicates, sorted.
            id_of: the new id of each old predicate; LEFT_OUT drops its facts.
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
        splits = Splits(train, renumbered(old.valid), renumbered(old.test), negatives, context)
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

    The fields are those of Dataset: `name`, `kb`, `splits`, `planted`, `notes`. Where `targets` is None, the default
    targets are taken: at most `num_classes` of a scene.
    """
    chosen = default_targets(kb, num_classes) if targets is None else targets
    return Dataset(name, kb, splits, chosen, checksum(kb, splits), planted, notes)


def default_targets(kb: KnowledgeBase, num_classes: int = NUM_CLASSES) -> tuple[Predicate, ...]:
    """Return the targets of `kb` that are learned unless told otherwise.

    Of a scene graph these are its `num_classes` most frequent classes, most frequent first; else every predicate with
    facts.
    """
    counts = kb.predicate_counts
    if kb.classes:
        by_count = sorted((i for i in kb.classes if counts[i]), key=lambda i: (-int(counts[i]), kb.predicates[i].name))
        return tuple(kb.predicates[i] for i in by_count[:num_classes])
    return tuple(kb.predicates[int(i)] for i in np.flatnonzero(counts))


def checksum(kb: KnowledgeBase, splits: Splits) -> str:
    """Return the SHA-256 of `kb` and `splits`, names and id columns: the same for the same content in any format."""
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
    return digest.hexdigest()


def _add_facts(digest: hashlib._Hash, facts: Facts) -> None:
    for column in (facts.predicate, facts.subject, facts.object, facts.weight):
        if column is not None:
            digest.update(np.ascontiguousarray(column).data)


def _add_names(digest: hashlib._Hash, names: pa.Array) -> None:
    """Lengths, then the characters: two lists of names never look alike."""
    offsets, text = string_parts(names)
    digest.update(np.diff(offsets).data)
    digest.update(text.data)
