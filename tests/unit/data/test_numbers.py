from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from data_cases import rows, write
from nlil.data.dataset import DataOptions
from nlil.data.kb import KnowledgeBase
from nlil.data.numbers import cuts_in, number_facts, quantile_cuts, with_numbers, with_predicates
from nlil.datasets import load_dataset
from nlil.errors import ConfigError, DataError, UnknownName
from nlil.logic.predicate import Predicate

FAMILY = "ann\tmother\tbob\nbob\tfather\tcarl\ncarl\tmale\ndora\tmother\tann\n"
SCENES = {
    "train": {
        "im1": {"objects": {"1": {"name": "man", "relations": [{"name": "on", "object": "2"}]}, "2": {"name": "zebra"}}}
    },
    "test": {"im2": {"objects": {"3": {"name": "man", "attributes": ["old"]}, "4": {"name": "zebra"}}}},
}
NUMBER = r"(-?[\d.]+)"
values_of_any_size = st.floats(-1e6, 1e6) | st.integers(-5, 5).map(float) | st.just(float("nan"))


def holds(predicate: str, value: float) -> bool:
    """What the name of a predicate says."""
    for pattern, test in (
        (f"n_over_{NUMBER}", lambda c: value > c),
        (f"n_up_to_{NUMBER}", lambda c: value <= c),
        (f"n_{NUMBER}_to_{NUMBER}", lambda low, high: low < value <= high),
    ):
        match = re.fullmatch(pattern, predicate)
        if match:
            return bool(test(*map(float, match.groups())))
    raise AssertionError(predicate)


def plain(tmp_path, **files):
    write(tmp_path / "train.tsv", FAMILY)
    for stem, text in files.items():
        write(tmp_path / stem.replace("_", ".", 1).replace("_", "."), text)
    return tmp_path


def scenes(tmp_path):
    for split, graphs in SCENES.items():
        write(tmp_path / f"{split}_sceneGraphs.json", json.dumps(graphs))
    return tmp_path


@settings(deadline=None)
@given(arrays(np.float64, st.integers(1, 40), elements=values_of_any_size), st.integers(2, 12))
def test_names_tell_the_truth(values, num_bins):
    found = number_facts("n", values, np.ones(len(values), bool), num_bins)
    assert len({name for name, _ in found}) == len(found)
    for name, members in found:
        assert members.tolist() == [i for i, value in enumerate(values) if holds(name, value)]
        assert len(members)


@settings(deadline=None)
@given(arrays(np.float64, st.integers(2, 60), elements=st.floats(-1e6, 1e6)), st.integers(2, 12))
def test_each_value_is_in_one_bin_and_no_outer_bin_is_empty(values, num_bins):
    cuts = quantile_cuts(values, num_bins)
    assert len(cuts) < num_bins
    assert (np.diff(cuts) > 0).all()
    if len(np.unique(values)) == 1:
        assert len(cuts) == 0
        return
    assert len(cuts) > 0
    assert values.min() <= cuts[0]
    assert cuts[-1] < values.max()
    found = number_facts("n", values, np.ones(len(values), bool), num_bins)
    bins = [members for name, members in found if "over" not in name] + [found[-1][1]]
    assert sorted(np.concatenate(bins).tolist()) == list(range(len(values)))


@pytest.mark.parametrize(("values", "num_bins", "cuts"), [
    (np.arange(0, 1000.5, 0.5) + 0.123, 4, [250, 500, 750]),       # two digits will do
    (np.linspace(2001, 2025, 1000), 4, [2007, 2013, 2020]),        # two would put every cut at 2000
    (np.linspace(0.01011, 0.01013, 999), 2, [0.01012]),
    (np.repeat([0.0, 5.0, 100.0], [10, 40, 50]), 4, [0, 5]),       # half end at 100: nothing is over 100
    (np.asarray([1.0, 1, 1, 1, 1, 1, 1, 1, 1, 7]), 10, [1]),
    (np.repeat([10.6, 10.7, 99], [14, 2, 84]), 10, [10.6, 10.7]),  # both would be 11
    (np.asarray([3.0, 3.0]), 4, []),
    (np.asarray([np.nan, np.inf]), 4, []),
])  # fmt: skip
def test_cuts_are_round_and_apart(values, num_bins, cuts):
    assert quantile_cuts(values, num_bins).tolist() == cuts


def test_rounding_moves_a_cut_by_a_quarter_of_a_bin_at_most():
    values = np.repeat([1.0, 10.4, 10.6, 99], 100)
    assert quantile_cuts(values, 4).tolist() == [1, 10.4, 11]  # 10 would part the values elsewhere, 11 does not
    random = np.random.default_rng(0).lognormal(0, 2, 5000)
    shares = np.searchsorted(np.sort(random), quantile_cuts(random, 10), side="right") / 5000
    assert np.abs(shares - np.arange(1, 10) / 10).max() <= 0.25 / 10 + 1e-9


def test_given_cuts_stay_as_they_are():
    values = np.asarray([17.0, 18, 18.5, 60, 61, np.nan, np.inf])
    found = dict(number_facts("age", values, np.zeros(7, bool), [60, 18.25, -0.0]))
    assert {name: members.tolist() for name, members in found.items()} == {
        "age_0_to_18.25": [0, 1],
        "age_18.25_to_60": [2, 3],
        "age_over_0": [0, 1, 2, 3, 4, 6],
        "age_over_18.25": [2, 3, 4, 6],
        "age_over_60": [4, 6],
    }
    with pytest.raises(ConfigError, match="cuts of age: expected finite numbers"):
        number_facts("age", values, np.ones(7, bool), [float("nan")])
    with pytest.raises(ConfigError, match="expected 2 or more bins, got 1"):
        number_facts("age", values, np.ones(7, bool), 1)


def test_quantiles_are_of_training_entities_only(tmp_path):
    dataset = load_dataset(scenes(tmp_path))
    small = with_numbers(dataset, {"age": {"1": 10, "2": 20, "3": 1, "4": 2}}, 2)
    large = with_numbers(dataset, {"age": {"1": 10, "2": 20, "3": 1000, "4": 2000}}, 2)
    for numbered in (small, large):
        assert {numbered.kb.predicates[i].name for i in numbered.kb.geometry} == {"age_over_10", "age_up_to_10"}


def test_a_scene_gets_the_facts_where_its_graphs_are(tmp_path):
    dataset = load_dataset(scenes(tmp_path))
    new = with_numbers(dataset, {"entity": [1, 2, 3, 4], "age": [10, 20, 5, None]}, 2)
    kb, splits = new.kb, new.splits
    assert rows(kb) == rows(dataset.kb) | {("1", "age_up_to_10"), ("2", "age_over_10")}
    assert rows(kb, splits.train) == rows(kb) == rows(kb, splits.context["train"])
    assert rows(kb, splits.context["test"]) == (
        rows(dataset.kb, dataset.splits.context["test"]) | {("3", "age_up_to_10")}
    )
    assert rows(kb, splits.test) == rows(dataset.kb, dataset.splits.test) == {("3", "man"), ("4", "zebra")}
    assert splits.test.context is splits.context["test"]


def test_every_id_is_renumbered(tmp_path):
    dataset = load_dataset(scenes(tmp_path))
    new = with_predicates(
        dataset,
        {Predicate("aaa", 1): np.asarray([1], np.int32), Predicate("nnn", 2): np.asarray([[1, 0], [2, 3]], np.int32)},
    )
    kb = new.kb
    assert kb.predicates == tuple(sorted((*dataset.kb.predicates, Predicate("aaa", 1), Predicate("nnn", 2))))
    assert {kb.predicates[i].name for i in kb.classes} == {"man", "zebra"}
    assert {kb.predicates[i].name for i in kb.geometry} == {"aaa", "nnn"}
    assert rows(kb) == rows(dataset.kb) | {("2", "aaa"), ("2", "nnn", "1")}
    assert ("3", "nnn", "4") in rows(kb, new.splits.context["test"])
    assert new.targets == dataset.targets
    assert new.checksum != dataset.checksum
    again = with_predicates(new, {Predicate("bbb", 1): np.asarray([0], np.int32)}).kb
    assert {again.predicates[i].name for i in again.geometry} == {"aaa", "bbb", "nnn"}
    key = np.stack((kb.facts.predicate, kb.facts.subject, kb.facts.object), 1).tolist()
    assert key == sorted(key)


def test_a_plain_base_gets_the_facts_to_learn_from(tmp_path):
    write(tmp_path / "test.tsv", "ann\tfather\tcarl\n")
    write(tmp_path / "train_negatives.tsv", "ann\tfather\tbob\n")
    before = load_dataset(plain(tmp_path))
    after = load_dataset(plain(tmp_path, numbers_tsv="who\tage\tkg\nann\t41\t60\nbob\t12\t\ncarl\t3\t9\nzoe\t7\t7\n"))
    kb = after.kb
    assert rows(kb) - rows(before.kb) == rows(kb, kb.facts[np.isin(kb.facts.predicate, list(kb.geometry))])
    assert rows(before.kb) < rows(kb) == rows(kb, after.splits.train)
    assert {("ann", "age_over_12"), ("bob", "age_3_to_12"), ("carl", "age_up_to_3"), ("ann", "kg_over_9")} < rows(kb)
    assert not any(row[0] == "bob" and row[1].startswith("kg") for row in rows(kb))
    assert rows(kb, after.splits.test) == {("ann", "father", "carl")}
    assert rows(kb, after.splits.negatives["train"]) == {("ann", "father", "bob")}
    assert after.targets == before.targets
    assert after.checksum != before.checksum
    assert after.notes == ("the numbers of 1 entities without facts are ignored",)


def test_the_options_say_how_numbers_of_a_folder_are_cut(tmp_path):
    ages = "who\tage\nann\t41\nbob\t12\ncarl\t3\n"

    def made(**options):
        kb = load_dataset(plain(tmp_path, numbers_tsv=ages), **options).kb
        return {kb.predicates[i].name for i in kb.geometry}

    assert made(options=DataOptions(cuts=2)) == {"age_up_to_12", "age_over_12"}
    assert made(options=DataOptions(cuts=3)) == {"age_up_to_3", "age_3_to_12", "age_over_3", "age_over_12"}
    assert made() == made(options=DataOptions(cuts=10))
    rules_know = [Predicate("age_18_to_40", 1), Predicate("height_over_2", 1)]
    assert made(options=DataOptions(cuts=2), like=rules_know) == {"age_up_to_18", "age_over_18", "age_over_40"}
    assert made(options=DataOptions(cuts=2), like=[Predicate("age", 2)]) == {"age_up_to_12", "age_over_12"}


def test_cuts_are_read_back_from_names():
    values = np.asarray([-3.5, 0, 1e-7, 0.1 + 0.2, 7, 123456789.25])
    for name, unit in (("kg", ""), ("size", "pct"), ("a.b", ""), ("age_over", "")):
        facts = number_facts(name, np.append(values, [-1e3, 1e12]), np.ones(8, bool), values, unit)
        names = [made for made, _ in facts]
        assert cuts_in(names, name, unit) == sorted(values)
        assert cuts_in([f"x{made}" for made in names] + [f"{made}x" for made in names], name, unit) == []


def test_weights_of_facts_stay(tmp_path):
    write(tmp_path / "train.tsv", "ann\tlikes\tbob\t0.25\nbob\tlikes\tann\n")
    new = with_numbers(load_dataset(tmp_path), {"age": {"ann": 1, "bob": 2}}, [1])
    facts, likes = new.kb.facts, new.kb.predicate_id(Predicate("likes", 2))
    weak = (facts.predicate == likes) & (facts.subject == new.kb.entities.id("ann"))
    assert np.where(weak, 0.25, 1).tolist() == facts.weight.tolist()
    assert len(facts) == 4


def test_tables_of_every_kind_say_the_same(tmp_path):
    import pandas as pd
    import pyarrow.parquet as pq

    dataset = load_dataset(plain(tmp_path))
    columns = {"entity": ["ann", "bob", "carl"], "age": [41, 12, None]}
    expected = with_numbers(dataset, columns).checksum
    assert with_numbers(dataset, pa.table(columns)).checksum == expected
    assert with_numbers(dataset, pd.DataFrame(columns)).checksum == expected
    assert with_numbers(dataset, {"age": {"ann": 41, "bob": 12}}).checksum == expected
    pq.write_table(pa.table(columns), tmp_path / "numbers.parquet")
    assert load_dataset(tmp_path).checksum == expected
    (tmp_path / "numbers.parquet").unlink()
    assert load_dataset(plain(tmp_path, numbers_csv_gz='"who",age\n"ann",41\n\nbob,12\ncarl,\n')).checksum == expected


def test_cuts_by_column(tmp_path):
    dataset = load_dataset(plain(tmp_path))
    table = {"entity": ["ann", "bob", "carl"], "age": [41, 12, 3], "kg": [60, 30, 9]}
    kb = with_numbers(dataset, table, {"age": [18]}).kb
    assert {kb.predicates[i].name for i in kb.geometry} == {
        "age_up_to_18",
        "age_over_18",
        "kg_up_to_9",
        "kg_9_to_30",
        "kg_over_9",
        "kg_over_30",
    }
    with pytest.raises(UnknownName, match="unknown column of numbers 'agee'; closest: 'age'"):
        with_numbers(dataset, table, {"agee": 3})


@pytest.mark.parametrize(("text", "message"), [
    ("who\tage\nann\t41\nbob\told\n", r"numbers\.tsv:3: expected a number for 'age', got 'old'"),
    ("who\tage\nann\t41\t7\n", r"numbers\.tsv:2: expected an entity and 1 numbers"),
    ("who\tage\n\t41\n", r"numbers\.tsv:2: expected an entity and 1 numbers"),
    ("who\tage\nann\t41\nbob\t2\nann\t5\n", r"numbers\.tsv: row 3: expected each entity once, got 'ann' again"),
    ("who\tage\tage\nann\t41\t5\n", r"numbers\.tsv: expected .* a different name"),
    ("who\tage\nzoe\t41\n", r"numbers\.tsv: expected numbers of entities that have facts, got none in 1 rows"),
    ("who\tage\n", r"numbers\.tsv: expected a header line and at least one row"),
    ("who\nann\n", r"numbers\.tsv: expected a column of entities and columns of numbers"),
])  # fmt: skip
def test_bad_files_are_refused_with_their_place(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        load_dataset(plain(tmp_path, numbers_tsv=text))


def test_other_bad_tables_and_clashes(tmp_path):
    dataset = load_dataset(plain(tmp_path))
    with pytest.raises(DataError, match="column 'age': expected numbers, got a column of string"):
        with_numbers(dataset, {"entity": ["ann"], "age": ["41"]})
    with pytest.raises(DataError, match="expected a table of numbers"):
        with_numbers(dataset, 7)
    with pytest.raises(DataError, match="row 2: expected an entity, got none"):
        with_numbers(dataset, {"entity": ["ann", None], "age": [1, 2]})
    once = with_numbers(dataset, {"age": {"ann": 1, "bob": 2}})
    with pytest.raises(DataError, match=r"the names that numbers would get: age_over_1, .* rename the column"):
        with_numbers(once, {"age": {"ann": 1, "bob": 2}})
    plain(tmp_path, numbers_tsv="who\tage\nann\t1\n", numbers_csv="who,age\nann,1\n")
    with pytest.raises(DataError, match=r"expected one numbers file, got numbers\.csv and numbers\.tsv"):
        load_dataset(tmp_path)


def test_background_files_are_read_alone(tmp_path):
    write(tmp_path / "bk.pl", "p(a, b).\n")
    write(tmp_path / "numbers.tsv", "who\tage\na\t1\nb\t2\n")
    assert load_dataset(tmp_path).kb.geometry == frozenset()


def test_a_base_alone_has_no_geometry():
    assert KnowledgeBase.from_facts([("ann", "female")]).geometry == frozenset()


def test_a_cut_at_a_number_that_repeats_is_short() -> None:
    """70/3 stands for a third of the values; 23 would be below it, 24 is as good a cut."""
    values = np.concatenate((np.full(300, 70 / 3), np.full(300, 50.0), np.arange(60.0, 90.0)))
    cuts = quantile_cuts(values, 3)
    assert cuts[0] == 24.0
    assert [len(f"{cut:g}") <= 3 for cut in cuts] == [True] * len(cuts)
    minus = quantile_cuts(-values, 2)
    assert all(-50.0 <= cut < -70 / 3 or cut > -70 / 3 for cut in minus)
