"""Facts of three and more arguments: read from every format, kept as one fact, counted as one, used by nlil program."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_cases import rows, write
from nlil.config import LearnerConfig
from nlil.data import dataset_file
from nlil.data.builder import Batch, encoded
from nlil.data.dataset import DataOptions, Dataset
from nlil.data.kb import KnowledgeBase
from nlil.data.tables import table_splits
from nlil.data.wide import Wide, wide_texts
from nlil.datasets import load_dataset
from nlil.datasets.splitting import split_dataset, write_splits
from nlil.datasets.summary import summarise
from nlil.errors import DataError, NlilError, UnknownName
from nlil.learning.learner import Learner
from nlil.logic.predicate import Symbol
from nlil.logic.text import atom_text
from nlil.program.bias import Bias
from nlil.program.induce import induce
from nlil.program.reading import dataset_task

Given = tuple[str, ...]
"""A predicate and its arguments."""
VISIT, ROUTE = Symbol("visit", 3), Symbol("route", 4)
TEXT = "visit(ann, paris, may). lives(ann, oslo). big(oslo). route(a, b, c, d). visit(ann, paris, may). visit(c, d, e)."
NAMES = ("a", "b", "c d", "É", "X")

facts_of_any_arity = st.lists(
    st.sampled_from("pqr").flatmap(
        lambda name: st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map(lambda args: (name, *args))
    ),
    min_size=1,
    max_size=12,
)


def named(kb: KnowledgeBase, wide: Wide | None = None) -> set[Given]:
    """All facts of a base, or those of `wide`."""
    tables = kb.wide if wide is None else wide
    found = {(s.name, *kb.entities.names(row)) for s, table in tables.items() for row in table}
    assert all(len(table) == len({*map(tuple, table.tolist())}) for table in tables.values())
    return found if wide is not None else found | {(name, s, *rest) for s, name, *rest in rows(kb)}


def read(place: Path, text: str, name: str = "f.pl") -> Dataset:
    return load_dataset(write(place / name, text))


def as_prolog(facts: list[Given], _: Path) -> KnowledgeBase:
    text = "".join(f"{fact[0]}({', '.join(map(atom_text, fact[1:]))}).\n" for fact in facts)
    return read(_, text).kb


def as_tsv(facts: list[Given], place: Path) -> KnowledgeBase:
    lines = ["predicate\targ1\targ2\targ3\targ4", *("\t".join(fact) for fact in facts)]
    return read(place, "\n".join(lines) + "\n", "f.tsv").kb


def as_csv(facts: list[Given], place: Path) -> KnowledgeBase:
    lines = ["argument_1,predicate,argument_2,argument_3,argument_4"]
    lines += [",".join([fact[1], fact[0], *fact[2:], *[""] * (5 - len(fact))]) for fact in facts]
    return read(place, "\n".join(lines) + "\n", "f.csv").kb


def as_json_lines(facts: list[Given], place: Path) -> KnowledgeBase:
    keys = ("predicate", "arg1", "arg2", "arg3", "arg4")
    return read(place, "".join(json.dumps(dict(zip(keys, fact))) + "\n" for fact in facts), "f.jsonl").kb


def as_table(facts: list[Given]) -> pa.Table:
    names = ("predicate", "arg1", "arg2", "arg3", "arg4")
    columns = zip(*((*fact, *[None] * (5 - len(fact))) for fact in facts))
    return pa.table({name: pa.array(column, pa.string()) for name, column in zip(names, columns)})


def as_parquet(facts: list[Given], place: Path) -> KnowledgeBase:
    pq.write_table(as_table(facts), place / "f.parquet")
    return load_dataset(place / "f.parquet").kb


def as_arrow(facts: list[Given], _: Path) -> KnowledgeBase:
    return KnowledgeBase.from_arrow(as_table(facts))


def as_pandas(facts: list[Given], _: Path) -> KnowledgeBase:
    return KnowledgeBase.from_pandas(pd.DataFrame(as_table(facts).to_pandas().fillna("")))


@pytest.mark.parametrize("way", [as_prolog, as_tsv, as_csv, as_json_lines, as_parquet, as_arrow, as_pandas])
@given(facts=facts_of_any_arity)
@settings(max_examples=25, deadline=None)
def test_facts_of_any_arity_are_kept_as_they_are(way, facts) -> None:
    with TemporaryDirectory() as place:
        kb = way(facts, Path(place))
    assert named(kb) == {*facts}
    assert kb.num_facts == len({*facts})
    assert all(symbol.arity > 2 for symbol in kb.wide)


def test_a_wide_fact_counts_once(tmp_path: Path) -> None:
    summary = summarise(read(tmp_path, TEXT))
    assert (summary.num_facts, summary.num_unary_facts, summary.num_binary_facts, summary.num_wide_facts) == (
        5,
        1,
        1,
        3,
    )
    assert (summary.num_predicates, summary.num_wide_predicates) == (4, 2)
    assert dict(summary.top_predicates) == {"visit/3": 2, "big/1": 1, "lives/2": 1, "route/4": 1}
    assert summary.splits == {"train": 5, "valid": 0, "test": 0}
    assert summary.degree["max"] == 2  # ann: one visit, one home
    assert summary.to_dict()["facts"] == 5


def test_columns_that_the_user_names(tmp_path: Path) -> None:
    write(tmp_path / "trip.tsv", "month\twho\twhere\nmay\tann\tparis\n")
    options = DataOptions(columns="subject=who,object=where,argument3=month")
    dataset = load_dataset(tmp_path / "trip.tsv", options=options)
    assert named(dataset.kb) == {("trip", "ann", "paris", "may")}
    with pytest.raises(DataError, match="expected all arguments up to argument4, got object, argument4"):
        load_dataset(tmp_path / "trip.tsv", options=DataOptions(columns="subject=who,object=where,argument4=month"))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("f.tsv", "arg1\targ2\targ3\na\tb\tc\na\t\tc\n", r"f\.tsv:3: expected all arguments up to the last, got 'a\\t"),
        ("f.tsv", "arg1\targ2\targ3\tweight\na\tb\tc\t.5\n", r"f\.tsv:2: expected weight 1 for facts of three"),
        ("f.jsonl", '{"arg1": "a", "arg2": null, "arg3": "b"}\n', r"f\.jsonl:1: expected all arguments up to the last"),
        ("f.pl", f"p({', '.join('a' * 65)}).", r"f\.pl:1: expected at most 64 arguments"),
        ("f.pl", "p(a, b, X).", r"f\.pl:1: expected names or numbers, got the variable 'X'"),
        ("f.pl", "p(a, b, c(d)).", r"f\.pl:1: expected a fact"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read(tmp_path, text, name)


def test_tables_in_memory_have_the_same_limits() -> None:
    with pytest.raises(DataError, match=r"expected all arguments up to the last, got a gap in a fact of 'p'"):
        KnowledgeBase.from_arrow(pa.table({"predicate": ["p"], "arg1": ["a"], "arg2": [""], "arg3": ["b"]}))
    with pytest.raises(DataError, match=r"expected weight 1 .* got less for 'p' with the subject 'a'"):
        KnowledgeBase.from_arrow(
            pa.table({"predicate": ["p"], "arg1": ["a"], "arg2": ["b"], "arg3": ["c"], "weight": [0.5]})
        )


def test_where_only_one_and_two_arguments_are_meant() -> None:
    batch = Batch.of(["a", "b"], ["p", "p"], ["b", "c"], more=(encoded(["c", None]),))
    with pytest.raises(DataError, match="expected facts of one or two arguments, got p/3"):
        batch.names()
    assert list(batch.take(np.array([1]), "test").names()) == [("b", "p", "c")]
    kb = KnowledgeBase.from_facts([("a", "p", "b")])
    with pytest.raises(DataError, match="entity ids must be below 2, got 5"):
        replace(kb, wide={VISIT: np.array([[0, 1, 5]], np.int32)})


def test_every_split_keeps_its_own(tmp_path: Path) -> None:
    for split, fact in (("train", "visit(a, b, c)."), ("test", "visit(d, e, f). p(a)."), ("valid", "visit(a, a, a).")):
        write(tmp_path / f"{split}.pl", fact)
    dataset = load_dataset(tmp_path)
    assert named(dataset.kb) == {("visit", "a", "b", "c")}
    assert named(dataset.kb, dataset.splits.wide["test"]) == {("visit", "d", "e", "f")}
    assert summarise(dataset).splits == {"train": 1, "valid": 1, "test": 2}
    assert named(dataset.complete()) == {
        ("visit", "a", "b", "c"), ("visit", "d", "e", "f"), ("visit", "a", "a", "a"), ("p", "a"),
    }  # fmt: skip
    table = {"arg1": ["a", "b"], "arg2": ["a", "b"], "arg3": ["c", "c"], "predicate": ["p", "p"]}
    kb, splits = table_splits(pa.table({**table, "split": ["train", "test"]}))
    assert named(kb) == {("p", "a", "a", "c")}
    assert named(kb, splits.wide["test"]) == {("p", "b", "b", "c")}
    with pytest.raises(DataError, match="some of the split test"):
        KnowledgeBase.from_arrow(pa.table({**table, "split": ["train", "test"]}))


def test_the_checksum_covers_them(tmp_path: Path) -> None:
    sums = [read(tmp_path, f"visit(a, b, c). visit({args}).").checksum for args in ("a, c, b", "b, a, c", "b, a, c")]
    assert sums[0] != sums[1] == sums[2]
    assert read(tmp_path, TEXT).checksum != read(tmp_path, TEXT.replace("route", "path")).checksum


def test_a_cached_data_set_has_them(tmp_path: Path) -> None:
    write(tmp_path / "d" / "train.pl", TEXT)
    write(tmp_path / "d" / "test.pl", "visit(x, y, z).")
    dataset = load_dataset(tmp_path / "d")
    dataset_file.write_dataset(tmp_path / "x", dataset, {})
    opened, _ = dataset_file.open_dataset(tmp_path / "x", dataset.name)
    assert named(opened.kb) == named(dataset.kb)
    assert named(opened.kb, opened.splits.wide["test"]) == {("visit", "x", "y", "z")}
    kb = opened.kb
    for broken in (kb.wide[VISIT] + 1000, kb.wide[VISIT].astype("int64"), kb.wide[ROUTE], kb.wide[VISIT][:0]):
        base = KnowledgeBase(kb.entities, kb.predicates, kb.facts)
        object.__setattr__(base, "wide", {VISIT: broken})  # a base would refuse such ids itself
        wrong = Dataset("x", base, opened.splits, opened.targets, "")
        dataset_file.write_dataset(tmp_path / "y", wrong, {})
        with pytest.raises(DataError, match="facts of visit/3"):
            dataset_file.open_dataset(tmp_path / "y", "x")


def test_a_division_keeps_them_together(tmp_path: Path) -> None:
    text = TEXT + "".join(f" lives(p{i}, oslo). lives(p{i}, rome)." for i in range(20))
    options = DataOptions()
    write(tmp_path / "f.pl", text)
    dataset = split_dataset(str(tmp_path / "f.pl"), options, by="random", valid=0.1, test=0.1, seed=0)
    again = load_dataset(write_splits(dataset.kb, dataset.splits, tmp_path / "out"))
    assert sorted(wide_texts(again.kb.wide, again.kb.entities)) == [
        "route(a, b, c, d)", "visit(ann, paris, may)", "visit(c, d, e)",
    ]  # fmt: skip
    assert len(again.splits.test) == len(dataset.splits.test) > 0


def test_learn_says_that_rules_do_not_use_them(tmp_path: Path) -> None:
    kb = read(tmp_path, TEXT + "".join(f" p(a{i}, b{i}). q(a{i}, b{i})." for i in range(5))).kb
    learned = Learner(LearnerConfig(search="count")).fit(kb)
    assert learned.notes[0] == (
        "rules do not use the 3 facts of three or more arguments (route/4, visit/3); nlil program does"
    )
    with pytest.raises(UnknownName, match="it has 3 arguments, and only nlil program uses such facts"):
        Learner(LearnerConfig(search="count")).fit(kb, ["visit"])
    with pytest.raises(NlilError, match="use: nlil program"):
        Learner(LearnerConfig(search="count")).fit(read(tmp_path, "visit(a, b, c).").kb)
    assert (
        Learner(LearnerConfig(search="count")).fit(read(tmp_path, "p(a, b). q(a, b).").kb).notes[:1]
        != learned.notes[:1]
    )


def test_examples_of_three_arguments_are_for_nlil_program(tmp_path: Path) -> None:
    write(tmp_path / "bk.pl", "p(a, b).")
    write(tmp_path / "exs.pl", "pos(f(a, b, c)).")
    with pytest.raises(
        DataError, match=r"expected examples of one or two arguments, .*; nlil program learns wider targets"
    ):
        load_dataset(tmp_path)


def test_a_program_uses_them(tmp_path: Path) -> None:
    visits = [("ann", "paris", "may"), ("bob", "paris", "may"), ("cy", "rome", "may"), ("dan", "paris", "june")]
    text = "".join(f"visit({', '.join(one)}). " for one in visits) + "met(ann, bob). met(bob, ann). lives(cy, oslo)."
    dataset = read(tmp_path, text)
    task = dataset_task(dataset, "met", Bias())
    assert induce(task).texts(task) == ["met(X, Y) :- visit(X, Z1, Z2), visit(Y, Z1, Z2), X \\= Y."]


def test_a_program_may_be_about_them(tmp_path: Path) -> None:
    people, legs = "abcd", [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("b", "d")]
    true = [(x, y, z) for x, y in legs for v, z in legs if y == v]
    write(tmp_path / "train.pl", " ".join(f"leg({x}, {y})." for x, y in legs))
    lines = "".join(f"trip({', '.join(one)}).\n" for one in true)
    write(tmp_path / "facts.pl", lines.rpartition("trip")[0])
    write(tmp_path / "test.pl", "trip" + lines.rpartition("trip")[2])
    dataset = load_dataset(tmp_path)
    task = dataset_task(dataset, "trip", Bias())
    assert len(people) ** 3 - len(true) == len(task.negatives)
    assert (len(task.positives), len(task.test_positives)) == (len(true) - 1, 1)
    assert induce(task).texts(task) == ["trip(X, Y, U) :- leg(X, Y), leg(Y, U)."]
    only = load_dataset(write(tmp_path / "only.pl", lines))
    assert dataset_task(only, None, Bias()).target == Symbol("trip", 3)
