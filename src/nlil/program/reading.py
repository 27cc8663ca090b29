"""From files to a Task: a Popper folder (bk.pl, exs.pl, bias.pl), or the facts and splits of any data set."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..data.files import TEST_EXAMPLES, present, unreadable
from ..errors import ConfigError, DataError, UnknownName
from ..logic.predicate import Predicate
from ..logic.terms import Compound, Name, Source
from .aleph import aleph_bias, aleph_files, read_atoms
from .background import evaluated, not_datalog, split
from .base import Base, BaseBuilder, Tuples, base_of
from .bias import Bias
from .bias_file import read_bias
from .clause import Symbol
from .prolog import evaluated_by_prolog, list_facts
from .source import GroundAtom, atom_of, read_source
from .task import Task, no_rows

if TYPE_CHECKING:
    from ..data.dataset import Dataset
    from ..data.facts import Facts, Splits
    from ..data.kb import KnowledgeBase

MAX_CLOSED_WORLD = 100_000
"""Without negative examples, at most this many of the other tuples are negative: a sample, if there are more."""


@dataclass
class LabelledAtoms:
    """Atoms by name: `positive` and `negative` ones."""

    positive: list[GroundAtom] = field(default_factory=list)
    negative: list[GroundAtom] = field(default_factory=list)


def is_ilp_folder(path: Path) -> bool:
    """Return whether `path` is a folder with bk.pl and exs.pl, or with the files .b and .f of Aleph."""
    if not path.is_dir():
        return False
    return all(present(path, name) for name in ("bk.pl", "exs.pl")) or aleph_files(path) is not None


def read_folder(folder: Path, target: str | None = None) -> Task:
    """Read a `folder` with bk.pl, exs.pl and optionally bias.pl and test examples, or an Aleph folder.

    `target` names the predicate to learn, if there are several.
    """
    try:
        aleph = aleph_files(folder)
        if aleph is not None and present(folder, "bk.pl") is None:
            return _read_aleph(folder.name, *aleph)
        background, examples, bias_path = (present(folder, f"{name}.pl") for name in ("bk", "exs", "bias"))
        if background is None or examples is None:
            raise DataError("expected bk.pl and exs.pl", folder)
        tests = next((file for name in TEST_EXAMPLES if (file := present(folder, name))), None)
        given = read_examples(examples)
        bias, head, unused = read_bias(bias_path) if bias_path else (Bias(), None, ())
        symbol = _target(given, head, target, examples)
        sources = list(read_source(background))
        tested = read_examples(tests) if tests else LabelledAtoms()
        return make_task(folder.name, sources, given, tested, bias, symbol, unused)
    except OSError as error:
        raise unreadable(folder, error) from error


def _read_aleph(name: str, background: Path, positive: Path, negative: Path | None) -> Task:
    sources = list(read_source(background))
    bias, target = aleph_bias(sources, background)
    return make_task(
        name, sources, LabelledAtoms(read_atoms(positive), read_atoms(negative)), LabelledAtoms(), bias, target
    )


def read_examples(path: Path) -> LabelledAtoms:
    """Read pos(p(a, b)). and neg(p(a, b))."""
    found = LabelledAtoms()
    for source in read_source(path):
        match source.term:
            case Compound(":-", (_,)):
                continue
            case Compound("pos" | "neg" as kind, (inner,)) if (atom := atom_of(inner)) is not None:
                (found.positive if kind == "pos" else found.negative).append(atom)
            case _:
                raise source.error("pos(p(a, b)). or neg(p(a, b)).")
    return found


def _target(given: LabelledAtoms, declared: Symbol | None, named: str | None, path: Path) -> Symbol:
    """Return the predicate to learn: the one of the bias file, the one that the user names, or the only one."""
    symbols = sorted({symbol for symbol, _ in (*given.positive, *given.negative)})
    if not symbols:
        raise DataError("expected at least one example, got none", path)
    if named is not None:
        matching = [s for s in symbols if named in (s.name, str(s))]
        if len(matching) != 1:
            raise UnknownName("target", named, [str(s) for s in symbols])
        return matching[0]
    if declared is not None:
        if declared not in symbols:
            raise DataError(f"expected examples of {declared}, the head_pred of bias.pl, got {symbols[0]}", path)
        return declared
    if len(symbols) > 1:
        raise ConfigError(f"there are examples of {', '.join(map(str, symbols))}; choose one with --target")
    return symbols[0]


def make_task(
    name: str,
    sources: Sequence[Source],
    given: LabelledAtoms,
    tests: LabelledAtoms,
    bias: Bias,
    target: Symbol,
    notes: Sequence[str] = (),
) -> Task:
    """Make a task.

    Args:
        name: For display.
        sources: Facts and clauses of the background.
        given: The examples.
        tests: Examples to measure the program on.
        bias: Which clauses are allowed.
        target: The predicate to learn.
        notes: Passed on.
    """
    facts, clauses = split(sources)
    examples = [*given.positive, *given.negative, *tests.positive, *tests.negative]
    hard = not_datalog(facts, clauses)
    notes = list(notes)
    if hard is not None:
        known, note = evaluated_by_prolog(sources, hard, examples, bias, target)
        notes.append(note)
    else:
        known = evaluated(facts, clauses)
        if clauses:
            notes.append(f"{len(known) - len(facts):,} facts follow from {len(clauses)} background clauses")
    lists = list_facts((*known, *examples), {symbol: None for symbol, _ in known})
    # A list must not lead to longer lists of which it is the tail, just because an example has one.
    ways = {symbol: (True, False)[: symbol.arity] for symbol, _ in lists if symbol not in bias.directions}
    bias = replace(bias, directions={**bias.directions, **ways})
    known += lists
    return _assembled(name, known, given, tests, bias, target, notes)


def _assembled(
    name: str,
    facts: Sequence[GroundAtom],
    given: LabelledAtoms,
    tests: LabelledAtoms,
    bias: Bias,
    target: Symbol,
    notes: list[str],
) -> Task:
    """Number the entities, and sort the examples into tables."""
    builder = BaseBuilder(bias.types)
    allowed = None if bias.body is None else {*bias.body}
    for symbol, args in facts:
        if symbol != target and symbol.arity and (allowed is None or symbol in allowed):
            builder.add(symbol, args)
    if bias.body is not None:
        missing = [s for s in bias.body if s != target and s not in {symbol for symbol, _ in facts}]
        notes += [f"body_pred {s}: bk.pl has no facts of it" for s in missing]

    def rows(atoms: Sequence[GroundAtom]) -> list[tuple[int, ...]]:
        return [builder.ids(symbol, args) for symbol, args in atoms if symbol == target]

    positive, negative = rows(given.positive), rows(given.negative)
    test_positive, test_negative = rows(tests.positive), rows(tests.negative)
    base = builder.finish({target: [*positive, *negative, *test_positive, *test_negative]})
    return task_of(name, base, target, positive, negative, bias, test_positive, test_negative, notes)


def task_of(
    name: str,
    base: Base,
    target: Symbol,
    positive: Sequence[tuple[int, ...]],
    negative: Sequence[tuple[int, ...]],
    bias: Bias,
    test_positive: Sequence[tuple[int, ...]] = (),
    test_negative: Sequence[tuple[int, ...]] = (),
    notes: Sequence[str] = (),
    unknown: Sequence[tuple[int, ...]] = (),
) -> Task:
    """Make a task from examples by id; without negative ones, from the closed world.

    The arguments are those of Task: `target`, `test_positive`, `test_negative`, `notes`. An example that is both
    positive and negative counts as positive. In a closed world, neither the positive test examples nor the `unknown`
    tuples are negative examples.
    """
    if not positive:
        raise DataError(f"expected positive examples of {target}, got none")
    good, notes = dict.fromkeys(positive), list(notes)
    bad = [row for row in dict.fromkeys(negative) if row not in good]
    if len(bad) < len({*negative}):
        notes.append(f"{len({*negative}) - len(bad)} examples are both positive and negative; they count as positive")
    closed = not negative
    if closed:
        bad, note = _closed_world(base, target, {*good, *unknown, *test_positive})
        notes.append(note)
    tables = [_table(target, part) for part in (list(good), bad, test_positive, test_negative)]
    return Task(name, base, target, tables[0], tables[1], bias, closed, tables[2], tables[3], tuple(notes))


def _table(target: Symbol, rows: Sequence[tuple[int, ...]]) -> Tuples:
    return np.array(rows, np.int64).reshape(len(rows), target.arity) if rows else no_rows(target)


def _closed_world(base: Base, target: Symbol, good: Set[tuple[int, ...]]) -> tuple[list[tuple[int, ...]], str]:
    """Return the tuples of entities of the right types that are not among the `good` ones."""
    domains = [base.domains[kind].tolist() for kind in base.types[target]]
    total = 1
    for domain in domains:
        total *= len(domain)
    note = "no negative examples: every other tuple of entities of the same types counts as one"
    if total <= MAX_CLOSED_WORLD:
        bad = [row for row in product(*domains) if row not in good]
        return bad, f"{note} ({len(bad):,})"
    random = np.random.default_rng(0)  # the same sample for every seed
    drawn = np.column_stack([random.choice(domain, MAX_CLOSED_WORLD) for domain in domains])
    bad = [row for row in dict.fromkeys(map(tuple, drawn.tolist())) if row not in good]
    return bad, f"{note} (a sample of {len(bad):,} of {total - len(good):,})"


def dataset_task(dataset: Dataset, target: str | None, bias: Bias) -> Task:
    """Make a task from a `dataset`, as `facts_task` does; `target` may be None if there is only one."""
    every: list[Symbol | Predicate] = [*dataset.targets, *dataset.kb.wide]
    if target is None and len(every) != 1:
        raise ConfigError(f"{dataset.name} has {len(every)} predicates; choose one with --target")
    chosen = every[0] if target is None else dataset.kb.wide_predicate(target) or dataset.kb.predicate(target)
    return facts_task(dataset.name, dataset.kb, dataset.splits, chosen, bias, dataset.notes)


def facts_task(
    name: str, kb: KnowledgeBase, splits: Splits, target: Predicate | Symbol, bias: Bias, notes: Sequence[str] = ()
) -> Task:
    """Make a task from facts: the training facts of the `target` are positive examples, the others background.

    Given negatives are negative examples; facts and negatives of the test split measure the program. `kb` has the
    names, `splits` the facts; `notes` are passed on.
    """
    from ..data.facts import Facts

    symbol = Symbol(target.name, target.arity)
    facts = splits.train.crisp()
    relations = {Symbol(p.name, p.arity): _rows(facts, i, p.arity) for i, p in enumerate(kb.predicates)}
    relations |= {s: rows.astype(np.int64) for s, rows in kb.wide.items()}
    names = [str(Name(entity)) for entity in kb.entities]
    none = Facts.empty()
    if isinstance(target, Predicate):
        negatives, test_negatives = (splits.negatives.get(split, none) for split in ("train", "test"))
        target_id = kb.predicate_id(target)
        parts = (facts, negatives, splits.test, test_negatives, splits.valid)
        tables = [_rows(part, target_id, symbol.arity) for part in parts]
    else:
        wide = (kb.wide, *(splits.wide.get(s, {}) for s in ("negatives train", "test", "negatives test", "valid")))
        tables = [part.get(symbol, no_rows(symbol)).astype(np.int64) for part in wide]
    base = base_of(names, {s: rows for s, rows in relations.items() if s != symbol and len(rows)}, {symbol: tables[0]})
    good, bad, tested, test_bad, other = (list(map(tuple, rows.tolist())) for rows in tables)
    return task_of(name, base, symbol, good, bad, bias, tested, test_bad, notes, other)


def _rows(facts: Facts, predicate: int, arity: int) -> Tuples:
    chosen = facts.of(predicate)
    return np.column_stack((chosen.subject, chosen.object)[:arity]).astype(np.int64)
