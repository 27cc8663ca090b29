"""Folders and single files: how each file is read.

    folder/  train.* [facts.*] [valid.*] [test.*] [train|valid|test_negatives.*] [labels.tsv] [relation_labels.tsv]
    folder/  one facts file, or several tables with headers, such as the nodes and relationships of Neo4j
    folder/  [data/] train-00000-of-00002.parquet ...                parts of a split, as Hugging Face writes them
    folder/  bk.pl [exs.pl] [test.pl]        read from these only
    folder/  *_sceneGraphs.json[.gz]         scene graphs in the common form; wins over other files beside it
    folder/  scene_graphs.json | relationships.json                                          Visual Genome
    folder/  annotations_train.json [annotations_test.json] objects.json predicates.json     VRD
    folder/  instances_train2015.json | hico-det-train*.json [instances_test2015.json] [hico_hoi_list.txt]   HICO-DET

The last three are original annotations. If a folder has the common form too, `FOLDER:original` selects them, as does
the path of one of the files: it is read as training data, with the name lists beside it.
`facts.*` beside `train.*` follows Neural-LP: both are training facts, in this order.
`numbers.tsv` (also .csv, .txt, .parquet) beside any of them except bk.pl: numbers of entities, which become predicates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from ..data.builder import Batch, Collected, FactCollector
from ..data.columns import GivenColumns, parse_columns
from ..data.database import query_parts, read_query
from ..data.dataset import DataOptions, Dataset, make_dataset
from ..data.delimited import names_columns, read_delimited, read_labels
from ..data.facts import Splits
from ..data.files import TEST_EXAMPLES, UTF8, ending, present, stem, unreadable
from ..data.graphml import read_graphml
from ..data.json_lines import read_json_lines
from ..data.numbers import ENDINGS, FILE_STEM, read_numbers, with_numbers, with_own_numbers
from ..data.prefixes import short_name, with_short_names
from ..data.prolog import read_examples, read_prolog
from ..data.rdf import read_rdf
from ..data.tables import read_parquet
from ..errors import DataError, in_file
from ..logic.predicate import Predicate
from ..scene.readers import FILE_MARK, common_files, files_beside, original_files, read_scenes
from .cache import cached
from .load import ORIGINAL

TABLES: Mapping[str, Callable[[Path, GivenColumns, str], Iterator[Batch]]] = {
    ".tsv": read_delimited,
    ".csv": read_delimited,
    ".txt": read_delimited,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".parquet": read_parquet,
    ".graphml": read_graphml,
}
"""Readers of tables, whose columns the user may name."""
READERS: Mapping[str, Callable[[Path], Iterator[Batch]]] = {
    ".nt": read_rdf,
    ".ttl": read_rdf,
    ".pl": read_prolog,
}
FACT_ENDINGS = (*TABLES, *READERS)
DELIMITED = (".tsv", ".csv", ".txt")
ROLES = {
    "facts": "train",
    "train": "train",
    "valid": "valid",
    "val": "valid",
    "validation": "valid",
    "test": "test",
    "train_negatives": "negatives train",
    "valid_negatives": "negatives valid",
    "test_negatives": "negatives test",
}
"""File name -> split, in reading order, which numbers the entities."""
PLAIN_SPLITS = ("train", "valid", "test")
NOT_FACTS = frozenset(
    {"labels", "relation_labels", "definitions", "entities", "relations", "readme", "license", FILE_STEM}
)


def read_path(path: Path, name: str, options: DataOptions, like: Collection[Predicate]) -> Dataset:
    """Read a data set from a file or a folder.

    Args:
        path: The file or folder.
        name: The name of the data set.
        options: The columns and the encoding of tables, and the number of bins of a number.
        like: Predicates of other data; numbers are cut as there.
    """
    how = f"{options.columns} {options.encoding}" if options.is_told else ""
    try:
        if path.is_dir() and (path / "data").is_dir() and not _data(path):
            path = path / "data"
        with in_file(path):
            if str(path).endswith(ORIGINAL) and not path.exists():
                folder = Path(str(path).removesuffix(ORIGINAL))
                place, read = f"{folder.resolve()}{ORIGINAL}", partial(_read_originals, folder, name)
                return _numbered(cached(place, name, _data(folder), read), folder, options, like)
            place = str(path.resolve())
            if path.is_dir():
                read = partial(_read_folder, path, name, options)
                return _numbered(cached(place, name, _data(path), read, how), path, options, like)
            files = [path, *files_beside(path)] if ending(path) == ".json" else [path]
            return with_own_numbers(
                cached(place, name, files, partial(_read_file, path, name, options), how), options.cuts, like
            )
    except OSError as error:
        raise unreadable(path, error) from error


def read_query_dataset(source: str, options: DataOptions) -> Dataset:
    """Read the facts of a query on a DuckDB file (data/database.py), the `source`, by `options`; it is not cached."""
    collector, path = FactCollector(), query_parts(source)[0]
    for batch in read_query(source, parse_columns(options.columns)):
        collector.add(batch)
    return finished(collector.finish(), path.name, path, None)


def _read_file(path: Path, name: str, options: DataOptions) -> Dataset:
    path.stat()
    if ending(path) == ".json":
        return _scene_dataset({"train": path}, name)
    _check_ending(path)
    return _plain_dataset({"train": [path]}, name, path, options)


def _read_folder(folder: Path, name: str, options: DataOptions) -> Dataset:
    files = _files(folder)
    background = present(folder, "bk.pl")
    if background:
        return _read_ilp(folder, name, background, present(folder, "exs.pl"))
    scenes = common_files(files)
    if scenes:
        return _scene_dataset(scenes, name)
    tables = [f for f in files if ending(f) in FACT_ENDINGS and stem(f).lower() not in NOT_FACTS]
    if not any(_part(f) in ROLES for f in tables) and original_files(files):
        return _read_originals(folder, name)
    roles = _roles(folder, tables, options)
    unread = [f.name for f in tables if not any(f in group for group in roles.values())]
    notes = (f"files not read: {', '.join(unread)}",) if unread else ()
    return _plain_dataset(roles, name, folder, options, notes)


def _numbered(dataset: Dataset, folder: Path, options: DataOptions, like: Collection[Predicate]) -> Dataset:
    """Add predicates for the numbers among the facts and for the folder's numbers; bk.pl is read alone."""
    dataset = with_own_numbers(dataset, options.cuts, like)
    files = [f for f in _files(folder) if stem(f).lower() == FILE_STEM and ending(f) in ENDINGS]
    if not files or present(folder, "bk.pl"):
        return dataset
    if len(files) > 1:
        raise DataError(f"expected one {FILE_STEM} file, got {files[0].name} and {files[1].name}", folder)
    with in_file(files[0]):
        return with_numbers(dataset, read_numbers(files[0], options.encoding), options.cuts, like)


def _files(folder: Path) -> list[Path]:
    return sorted(f for f in folder.iterdir() if f.is_file() and not f.name.startswith("."))


def _data(folder: Path) -> list[Path]:
    """The files of a folder that may hold facts, names or numbers."""
    return [file for file in _files(folder) if ending(file) in FACT_ENDINGS or ending(file) == ".json"]


def _read_originals(folder: Path, name: str) -> Dataset:
    """Read the original annotations of a folder; a note names the files that are not read."""
    scenes = original_files(_files(folder))
    if not scenes:
        raise DataError(
            "expected original annotations (scene_graphs.json, relationships.json, annotations_train.json, "
            "instances_train2015.json or hico-det-train*.json, also .gz), got none",
            folder,
        )
    dataset = _scene_dataset(scenes, name)
    others = original_files([f for f in _files(folder) if f not in scenes.values()])
    note = f"files not read: {', '.join(f.name for f in others.values())}"
    return replace(dataset, notes=(*dataset.notes, note)) if others else dataset


def _part(file: Path) -> str:
    """Return the name of a file without its format and without its number among the parts of a split."""
    return re.sub(r"-\d+-of-\d+$", "", stem(file))


def _roles(folder: Path, files: list[Path], options: DataOptions) -> dict[str, list[Path]]:
    """Return the files of each split, in reading order."""
    by_name: dict[str, list[Path]] = {}
    for file in files:
        before = by_name.setdefault(_part(file), [])
        if _part(file) in ROLES and before and stem(file) in ROLES:
            raise DataError(f"expected one {stem(file)} file, got {before[0].name} and {file.name}", folder)
        before.append(file)
    roles: dict[str, list[Path]] = {}
    for name, role in ROLES.items():
        if name in by_name:
            roles.setdefault(role, []).extend(by_name[name])
    if "train" not in roles:
        roles = {"train": _only_tables(folder, files, options), **roles}
    if sum(name in by_name for name, role in ROLES.items() if role == "valid") > 1:
        raise DataError("expected one of valid, val and validation, got several", folder)
    return roles


def _only_tables(folder: Path, files: list[Path], options: DataOptions) -> list[Path]:
    """Return the files of training facts of a folder without a train file: one, or tables that name their columns."""
    others = [f for f in files if _part(f) not in ROLES]
    reading = parse_columns(options.columns), options.encoding
    if len(others) == 1 or (others and all(ending(f) in DELIMITED and names_columns(f, *reading) for f in others)):
        return others
    found = ", ".join(f.name for f in files) or "none of these"
    raise DataError(
        f"expected train.tsv (also .csv, .txt, .jsonl, .parquet, .graphml, .nt, .ttl, .pl, .gz), a single facts file, "
        f"tables with headers, bk.pl or train{FILE_MARK}, got {found}",
        folder,
    )


def _plain_dataset(
    roles: Mapping[str, list[Path]], name: str, source: Path, options: DataOptions, notes: tuple[str, ...] = ()
) -> Dataset:
    collector, columns = FactCollector(), parse_columns(options.columns)
    for role, files in roles.items():
        for file in files:
            for batch in _batches(file, columns, options.encoding):
                collector.add(batch, role)
    folder = source if source.is_dir() else None
    return finished(collector.finish(), name, source, folder, notes=notes, encoding=options.encoding)


def _batches(file: Path, columns: GivenColumns, encoding: str) -> Iterator[Batch]:
    kind = ending(file)
    return TABLES[kind](file, columns, encoding) if kind in TABLES else READERS[kind](file)


def file_batches(path: Path, options: DataOptions) -> Iterator[Batch]:
    """Yield the facts of one file at `path` by name, some at a time; `options` say how to read it."""
    _check_ending(path)
    return _batches(path, parse_columns(options.columns), options.encoding)


def all_batches(path: Path, options: DataOptions) -> Iterator[Batch]:
    """Yield the facts of all splits of a file or folder at `path`, read by `options`; scene graphs are refused."""
    if not path.is_dir():
        yield from file_batches(path, options)
        return
    tables = [f for f in _files(path) if ending(f) in FACT_ENDINGS and stem(f).lower() not in NOT_FACTS]
    for role, files in _roles(path, tables, options).items():
        for file in files if role in PLAIN_SPLITS else ():
            yield from file_batches(file, options)


def _check_ending(path: Path) -> None:
    if ending(path) not in FACT_ENDINGS:
        known = ", ".join(FACT_ENDINGS)
        raise DataError(f"expected a file ending in {known} or .json (also .gz), got {path.name!r}", path)


def finished(
    got: Collected,
    name: str,
    source: Path,
    folder: Path | None,
    targets: tuple[Predicate, ...] | None = None,
    notes: tuple[str, ...] = (),
    encoding: str = UTF8,
) -> Dataset:
    """Return the data set of the facts that were read.

    Args:
        got: the facts.
        name: the name of the data set.
        source: the file or folder, for errors.
        folder: where tables of labels are; None: nowhere.
        targets: the default targets; None: every predicate with facts.
        notes: further notes.
        encoding: of the tables of labels.
    """
    if not len(got.of("train")) and not got.wide.get("train"):
        raise DataError("expected at least one training fact, got none", source)
    wide_names = (symbol.name for wide in got.wide.values() for symbol in wide)
    predicate_names = dict.fromkeys([*(predicate.name for predicate in got.predicates), *wide_names, *got.numbers])
    short = {name: short_name(name, got.prefixes) for name in predicate_names}
    predicate_labels = {name: text for name, text in short.items() if text != name}
    predicate_labels |= {n: label for n, label in got.labels.items() if n in predicate_names}
    predicate_labels |= _labels(folder, "relation_labels", encoding)
    given = {**got.labels, **_labels(folder, "labels", encoding)}
    entity_labels = with_short_names(given, got.entities, got.prefixes)
    kb = got.knowledge_base(entity_labels=entity_labels, predicate_labels=predicate_labels, prefixes=dict(got.prefixes))
    negatives = {role.removeprefix("negatives "): facts for role, facts in got.facts.items() if " " in role}
    wide = {role: tables for role, tables in got.wide.items() if role != "train"}
    splits = Splits(kb.facts, got.of("valid"), got.of("test"), negatives, wide=wide)
    return replace(make_dataset(name, kb, splits, targets, notes=(*notes, *got.notes)), numbers=got.numbers)


def _labels(folder: Path | None, name: str, encoding: str) -> dict[str, str]:
    file = present(folder, f"{name}.tsv") if folder else None
    return read_labels(file, encoding) if file else {}


def _read_ilp(folder: Path, name: str, background: Path, examples: Path | None) -> Dataset:
    """Read background facts from bk.pl and examples from exs.pl; examples of test.pl are the test split.

    The pos examples are training facts, and their predicates are the targets.
    """
    collector = FactCollector()
    for batch in read_prolog(background):
        collector.add(batch)
    targets: tuple[Predicate, ...] | None = None
    if examples:
        found: set[Predicate] = set()
        for kind, batch in read_examples(examples):
            collector.add(batch, "train" if kind == "pos" else "negatives train")
            found |= _predicates(batch)
        targets = tuple(sorted(found))
    tests = next((file for test in TEST_EXAMPLES if (file := present(folder, test))), None)
    for kind, batch in read_examples(tests) if tests else ():
        collector.add(batch, "test" if kind == "pos" else "negatives test")
    ignored = ("bias.pl is not read here; nlil program respects it",) if present(folder, "bias.pl") else ()
    return finished(collector.finish(), name, folder, None, targets, ignored)


def _predicates(batch: Batch) -> set[Predicate]:
    objects = [None] * len(batch) if batch.object is None else batch.object.to_pylist()
    pairs = set(zip(batch.predicate.to_pylist(), (o is None for o in objects), strict=True))
    return {Predicate(name, 1 if is_unary else 2) for name, is_unary in pairs}


def _scene_dataset(paths: Mapping[str, Path], name: str) -> Dataset:
    kb, splits, notes = read_scenes(paths)
    if not len(kb.facts):
        raise DataError("expected at least one object, got none", paths["train"])
    return make_dataset(name, kb, splits, notes=notes)
