"""Apply the options of a data set: merge names, drop relations, remove rare predicates.

This works on ids, after reading, and is the same for every format. Entities stay: an object that loses its class is
still an object of its image. A merge replaces several names by one:

    car: car,cars                      one merge per line: the new name, a colon, the names that it replaces

In a folder, `un_merge.txt` (classes and attributes) and `rel_merge.txt` (relations) are read, either or both. A file
with one of these names contains merges of that kind; any other file contains merges of both kinds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import ConfigError, DataError, UnknownName
from ..logic.predicate import Predicate
from .dataset import LEFT_OUT, DataOptions, Dataset, make_dataset
from .files import lines, stem, unreadable
from .kb import KnowledgeBase

ARITIES: Mapping[str, tuple[int, ...]] = {"un_merge": (1,), "rel_merge": (2,)}
BOTH = (1, 2)

Merges = Mapping[tuple[str, int], str]
"""(name, arity) -> the name that replaces it."""


def refined(dataset: Dataset, options: DataOptions) -> Dataset:
    """Return `dataset` with its `options` applied.

    The order is: merge, drop, remove rare predicates, choose the targets.
    """
    if not options.refines:
        return dataset
    notes, was_scene = list(dataset.notes), dataset.is_scene
    if options.merge:
        dataset = _merged(dataset, read_merges(Path(options.merge).expanduser()), notes)
    if options.drop:
        dataset = _without(dataset, _named_relations(dataset.kb, options.drop))
    if options.min_count:
        rare = set(np.flatnonzero(dataset.kb.predicate_counts < options.min_count).tolist())
        if rare:
            notes.append(_rare_note(dataset.kb, rare, options.min_count))
            dataset = _without(dataset, rare)
    if not len(dataset.kb.facts) or dataset.is_scene != was_scene:
        what = "class" if was_scene else "predicate"
        chosen = f"min_count={options.min_count}" if options.min_count else f"drop={','.join(options.drop)}"
        raise ConfigError(f"{chosen}: expected at least one {what} of {dataset.name} to be left, got none")
    targets = None if dataset.is_scene else dataset.targets
    classes = options.num_classes
    return make_dataset(
        dataset.name, dataset.kb, dataset.splits, targets, dataset.planted, tuple(notes), num_classes=classes
    )


def _merged(dataset: Dataset, merges: Merges, notes: list[str]) -> Dataset:
    """Merge names. An attribute that would get the name of a class is left out, since it would reveal the class."""
    kb = dataset.kb
    new: list[Predicate | None] = [merged(p, merges) for p in kb.predicates]
    class_names = {new[i] for i in kb.classes}
    clashing = [i for i, p in enumerate(new) if i not in kb.classes and p in class_names]
    num_merged = len(new) - len(set(new))
    if clashing:
        count = int(kb.predicate_counts[clashing].sum())
        names = ", ".join(sorted(kb.predicates[i].name for i in clashing))
        notes.append(f"{count} attribute fact(s) left out because a merged class has their name: {names:.120}")
        new = [None if i in clashing else p for i, p in enumerate(new)]
    notes.append(f"{num_merged} of {len(new)} predicates were merged into others")
    # Planted rules use the old names.
    planted = () if merges else dataset.planted
    targets = tuple(merged(t, merges) for t in dataset.targets)
    return _renamed(replace(dataset, targets=targets, planted=planted), new)


def _renamed(dataset: Dataset, new: Sequence[Predicate | None]) -> Dataset:
    """Replace each predicate by a new one, or by None: its facts, and planted rules about it, are removed."""
    predicates = tuple(sorted({p for p in new if p is not None}))
    ids: dict[Predicate | None, int] = {None: LEFT_OUT} | {predicate: i for i, predicate in enumerate(predicates)}
    id_of = np.asarray([ids[p] for p in new], np.int32)
    targets = tuple(dict.fromkeys(target for target in dataset.targets if target in ids))
    planted = tuple(rule for rule in dataset.planted if {rule.target, *rule.predicates} <= ids.keys())
    return replace(dataset.over(predicates, id_of), targets=targets, planted=planted)


def _named_relations(kb: KnowledgeBase, names: tuple[str, ...]) -> set[int]:
    relations = {p.name: i for i, p in enumerate(kb.predicates) if p.arity == 2}
    for name in names:
        if name not in relations:
            raise UnknownName("relation", name, relations, "drop takes relations of the data, after merging")
    return {relations[name] for name in names}


def _without(dataset: Dataset, left_out: set[int]) -> Dataset:
    """Remove the facts of some predicates, and the planted rules about them."""
    return _renamed(dataset, [None if i in left_out else p for i, p in enumerate(dataset.kb.predicates)])


def _rare_note(kb: KnowledgeBase, rare: set[int], least: int) -> str:
    counts = kb.predicate_counts
    facts = int(counts[sorted(rare)].sum())
    objects = int(counts[sorted(rare & kb.classes)].sum())
    text = f"{len(rare)} predicates with fewer than {least} training facts are left out ({facts:,} facts)"
    return text + (f"; {objects:,} training objects lose their class" if objects else "")


def read_merges(path: Path) -> Merges:
    """Read merges: `path` is a file, or a folder with a file for each arity.

    A name is merged once, and into a name that is not merged itself, so the order of lines does not matter.
    """
    merges: dict[tuple[str, int], str] = {}
    for file in _files(path):
        for number, line in lines(file):
            new, colon, rest = line.partition(":")
            names = [name.strip() for name in rest.split(",")]
            if not colon or not new.strip() or not all(names):
                raise DataError(f"expected 'name: name,name,...', got {line!r:.80}", file, number)
            for arity in ARITIES.get(stem(file), BOTH):
                for name in names:
                    before = merges.setdefault((name, arity), new.strip())
                    if before != new.strip():
                        raise DataError(
                            f"expected {name!r} to be merged once, got it into {before!r} and {new.strip()!r}",
                            file,
                            number,
                        )
    for (name, arity), new in merges.items():
        if merges.get((new, arity), new) != new:
            raise DataError(
                f"expected one merge per name, but {name!r} is merged into {new!r}, "
                f"and that into {merges[new, arity]!r}",
                path,
            )
    return merges


def _files(path: Path) -> list[Path]:
    try:
        if not path.is_dir():
            path.stat()
            return [path]
        found = sorted(file for file in path.iterdir() if file.is_file() and stem(file) in ARITIES)
    except OSError as error:
        raise unreadable(path, error) from error
    if not found:
        raise DataError("expected un_merge.txt or rel_merge.txt in the folder, got neither", path)
    return found


def merged(predicate: Predicate, merges: Merges) -> Predicate:
    """Return `predicate` with the name that replaces its own in `merges`, if there is one."""
    return Predicate(merges.get((predicate.name, predicate.arity), predicate.name), predicate.arity)
