"""A data set as its options want it: names merged, relations dropped, rare predicates left out.

Works on ids, after any reader, so it means the same for every format. Entities stay: an object that loses its
class is still an object of its image.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..errors import ConfigError, UnknownName
from ..logic.predicate import Predicate
from .arrays import Ids
from .dataset import Dataset, make_dataset
from .facts import Facts, Splits
from .kb import KnowledgeBase
from .merging import Merges, merged, read_merges
from .options import DataOptions

LEFT_OUT = -1


@dataclass(frozen=True)
class Renumbering:
    """New predicates, the new id of each old one (-1: left out), the new classes."""

    predicates: tuple[Predicate, ...]
    id_of: Ids
    classes: frozenset[int]

    def ids(self, old: Iterable[int]) -> frozenset[int]:
        return frozenset(int(self.id_of[i]) for i in old if self.id_of[i] != LEFT_OUT)

    def facts(self, facts: Facts) -> Facts:
        kept = facts[self.id_of[facts.predicate] != LEFT_OUT]
        return Facts(self.id_of[kept.predicate], kept.subject, kept.object, kept.weight).unique()


def refined(dataset: Dataset, options: DataOptions) -> Dataset:
    """Merge, then drop, then keep what is frequent enough, then choose the targets."""
    if not options.refines:
        return dataset
    notes, is_scene = list(dataset.notes), dataset.is_scene
    if options.merge:
        merges = read_merges(Path(options.merge).expanduser())
        dataset = _renumbered(dataset, _merging(dataset, merges, notes), merges)
    if options.drop:
        dataset = _renumbered(dataset, _without(dataset.kb, _dropped(dataset.kb, options.drop)))
    if options.min_count:
        counts = dataset.kb.predicate_counts
        rare = {i for i in range(dataset.kb.num_predicates) if counts[i] < options.min_count}
        if rare:
            notes.append(_rare_note(dataset.kb, rare, options.min_count))
            dataset = _renumbered(dataset, _without(dataset.kb, rare))
    _check_something_left(dataset, options, is_scene)
    targets = None if dataset.is_scene else dataset.targets
    return make_dataset(
        dataset.name,
        dataset.kb,
        dataset.splits,
        targets,
        dataset.planted,
        tuple(notes),
        num_classes=options.num_classes,
    )


def _merging(dataset: Dataset, merges: Merges, notes: list[str]) -> Renumbering:
    """An attribute that would take the name of a class is left out, as a reader does: it would tell the class."""
    kb = dataset.kb
    new = [merged(p, merges) for p in kb.predicates]
    class_names = {new[i] for i in kb.classes}
    clashing = {i for i, p in enumerate(new) if i not in kb.classes and p in class_names}
    if clashing:
        count = int(kb.predicate_counts[list(clashing)].sum())
        names = ", ".join(sorted(kb.predicates[i].name for i in clashing))
        notes.append(f"{count} attribute fact(s) left out because a merged class has their name: {names:.120}")
    predicates = tuple(sorted(set(new)))
    ids = {predicate: i for i, predicate in enumerate(predicates)}
    id_of = np.asarray([LEFT_OUT if i in clashing else ids[p] for i, p in enumerate(new)], np.int32)
    gone = kb.num_predicates - len(predicates)
    notes.append(f"{gone} of {kb.num_predicates} predicates were merged into others")
    return Renumbering(predicates, id_of, frozenset(ids[p] for p in class_names))


def _dropped(kb: KnowledgeBase, names: tuple[str, ...]) -> set[int]:
    relations = {p.name: i for i, p in enumerate(kb.predicates) if p.arity == 2}
    for name in names:
        if name not in relations:
            raise UnknownName("relation", name, relations, "drop names relations of the data, after merging")
    return {relations[name] for name in names}


def _without(kb: KnowledgeBase, left_out: set[int]) -> Renumbering:
    kept = [i for i in range(kb.num_predicates) if i not in left_out]
    id_of = np.full(kb.num_predicates, LEFT_OUT, np.int32)
    id_of[kept] = np.arange(len(kept), dtype=np.int32)
    classes = frozenset(int(id_of[i]) for i in kb.classes if i not in left_out)
    return Renumbering(tuple(kb.predicates[i] for i in kept), id_of, classes)


def _renumbered(dataset: Dataset, new: Renumbering, merges: Merges | None = None) -> Dataset:
    old = dataset.splits
    context = _all(new, old.context)
    train = context["train"] if "train" in context else new.facts(old.train)
    splits = Splits(train, new.facts(old.valid), new.facts(old.test), _all(new, old.negatives), context)
    kb = replace(
        dataset.kb,
        predicates=new.predicates,
        facts=new.facts(dataset.kb.facts),
        classes=new.classes,
        geometry=new.ids(dataset.kb.geometry),
    )
    known = set(new.predicates)
    targets = tuple(dict.fromkeys(p for p in (merged(t, merges or {}) for t in dataset.targets) if p in known))
    # A rule that was planted under other names, or about what is left out, is no longer said by the data.
    planted = tuple(r for r in dataset.planted if {r.target, *r.predicates} <= known) if not merges else ()
    return replace(dataset, kb=kb, splits=splits, targets=targets, planted=planted)


def _all(new: Renumbering, parts: Mapping[str, Facts]) -> dict[str, Facts]:
    return {name: new.facts(facts) for name, facts in parts.items()}


def _check_something_left(dataset: Dataset, options: DataOptions, was_scene: bool) -> None:
    if not len(dataset.kb.facts) or dataset.is_scene != was_scene:
        what = "class" if was_scene else "predicate"
        chosen = f"min_count={options.min_count}" if options.min_count else f"drop={','.join(options.drop)}"
        raise ConfigError(f"{chosen}: expected at least one {what} of {dataset.name} to be left, got none")


def _rare_note(kb: KnowledgeBase, rare: set[int], least: int) -> str:
    counts = kb.predicate_counts
    facts = int(counts[sorted(rare)].sum())
    objects = int(counts[sorted(rare & kb.classes)].sum())
    said = f"{len(rare)} predicates with fewer than {least} training facts are left out ({facts:,} facts)"
    return said + (f"; {objects:,} training objects lost their class by it" if objects else "")
