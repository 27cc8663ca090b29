"""Baselines for object classes: Freq by hand, patterns by hand, logistic regression, the MLP and its inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scene_cases import asked, positions, scenes, with_geometry_of

from nlil.data.dataset import Dataset
from nlil.datasets import load_dataset
from nlil.errors import ConfigError
from nlil.progress import silent
from nlil_bench.baselines import make_baseline
from nlil_bench.baselines.class_baselines import PatternParts, Patterns, pattern_rows
from nlil_bench.baselines.frequency import Frequency, FrequencySettings
from nlil_bench.baselines.logistic import minimised
from nlil_bench.baselines.mlp import box_numbers

HATS = (
    "a:man b:hat ; a wearing b",
    "a:man b:hat ; a wearing b",
    "a:woman b:hat ; a wearing b",
    "a:dog",
    "a:dog",
    "a:dog",
    "a:dog",
)


def scores(model: Frequency, dataset: Dataset, name: str) -> dict[str, float]:
    task = asked(dataset, "test")
    row = model._scores(task, silent)[positions(task)[name]]
    return {str(dataset.kb.predicates[c].name): float(s) for c, s in zip(task.classes, row)}


def test_freq_votes_for_the_most_frequent_class_of_a_relation() -> None:
    data = scenes(*HATS, test=("a:man b:hat ; a wearing b", "a:woman b:hat ; a wearing b", "a:dog b:hat"))
    model = Frequency()
    model.fit(data)
    assert scores(model, data, "7/a") == {"man": 2, "woman": 0, "hat": 0, "dog": 0}
    assert scores(model, data, "7/b") == {"man": 0, "woman": 0, "hat": 2, "dog": 0}  # with a man; 1 with a woman
    assert scores(model, data, "8/b") == {"man": 0, "woman": 0, "hat": 1, "dog": 0}
    assert scores(model, data, "9/a") == {"man": 0, "woman": 0, "hat": 0, "dog": 0}  # a hat in the scene says nothing
    metrics = model.evaluate()
    assert metrics["r@1"] == 3 / 6  # a man, and a hat each; not the woman, nor who has no relation
    assert (metrics["r@1_related"], metrics["r@1_unrelated"]) == (3 / 4, 0)
    assert metrics.num_queries == 6
    shared = Frequency(FrequencySettings(votes="share", prior=True))
    shared.fit(data)
    assert scores(shared, data, "7/a")["man"] == pytest.approx(2 / 3)
    assert shared.evaluate()["r@1"] == 4 / 6  # and the dog, which is most frequent


@pytest.mark.parametrize("name", ["freq", "logistic", "mlp"])
def test_the_own_label_is_not_looked_at(name: str) -> None:
    """The same test scenes but for what object a is called: its scores are the same."""
    found = []
    for label in ("man", "woman"):
        data = scenes(*HATS * 3, test=(f"a:{label} b:hat c:dog ; a wearing b",))
        model: Any = make_baseline(name, ["epochs=2"] if name == "mlp" else [])
        model.fit(data)
        task = asked(data, "test")
        row = model._scores(task, silent)[positions(task)["21/a"]]
        found.append(dict(zip(task.classes.tolist(), row.tolist())))
    assert found[0] == found[1]


def names_of(dataset: Dataset, parts: PatternParts, name: str) -> set[str]:
    """Patterns of a training object in words."""
    task = asked(dataset)
    kb = task.kb
    found = set()
    for owner, number in zip(*pattern_rows(task, parts)):
        if owner != positions(task)[name]:
            continue
        if number < 0:
            found.add(f"{kb.predicates[-1 - number].name} there")
        elif number < kb.num_predicates:
            found.add(kb.predicates[number].name)
        else:
            path, end = divmod(int(number) - kb.num_predicates, kb.num_predicates + 1)
            codes = []
            while path:
                path, digit = divmod(path, kb.num_codes + 1)
                codes.insert(0, digit - 1)
            words = [kb.predicates[c >> 1].name + "^" * (c & 1) for c in codes]
            found.add(" ".join([*words, kb.predicates[end - 1].name if end else "any"]))
    return found


SCENE = ("a:man+tall b:hat c:dog+small d:dog ; a wearing b, c near a, c near b", "a:man")


def test_patterns_of_an_object() -> None:
    data = scenes(*SCENE)
    one = PatternParts(patterns=1, bare=False, context=False)
    assert names_of(data, one, "0/b") == {"wearing^ man", "wearing^ tall", "near^ dog", "near^ small"}
    two = names_of(data, PatternParts(patterns=2, bare=False, context=False), "0/b")
    assert two - names_of(data, one, "0/b") == {
        "wearing^ near^ dog",
        "wearing^ near^ small",
        "near^ near man",
        "near^ near tall",
    }  # never back to the hat
    bare = names_of(data, PatternParts(patterns=1, context=False), "0/b")
    assert bare - names_of(data, one, "0/b") == {"wearing^ any", "near^ any"}
    assert names_of(data, PatternParts(patterns=0, context=False), "0/a") == {"tall"}  # not: man


def test_context_is_what_the_others_are() -> None:
    data, parts = scenes(*SCENE), PatternParts(patterns=0)
    assert names_of(data, parts, "0/b") == {"man there", "dog there"}
    assert names_of(data, parts, "0/d") == {"man there", "hat there", "dog there"}  # another dog
    assert names_of(data, parts, "1/a") == set()  # the man of another graph is not there


def test_geometry_is_no_relation_and_counts_only_where_asked_for() -> None:
    data = with_geometry_of(scenes(*SCENE, test=SCENE), "near", "small")
    parts = PatternParts(patterns=1, bare=False, context=False)
    assert names_of(data, parts, "0/c") == {"small"}
    assert names_of(data, PatternParts(patterns=1, context=False, geometry=False), "0/c") == set()
    assert names_of(data, parts, "0/b") == {"wearing^ man", "wearing^ tall"}
    model = Frequency()
    model.fit(data)
    assert model.evaluate()["r@1_related"] == 1  # man and hat; the dogs have no relation but geometry predicates
    assert model.evaluate()["r@1"] == 2 / 5


def test_columns_are_patterns_that_training_objects_have() -> None:
    data = scenes(*HATS, test=("a:man b:hat c:cup ; a wearing b, a holding c",))
    patterns = Patterns(asked(data), PatternParts(patterns=1, bare=False, context=False))
    table = patterns.table(asked(data, "test")).toarray()
    at = positions(asked(data, "test"))
    assert len(patterns) == 2  # wearing hat, and wearing^ man; a woman wore one hat only, holding is new
    assert sorted(table[at["7/a"]].tolist()) == sorted(table[at["7/b"]].tolist()) == [0, 1]
    assert (table[at["7/a"]] != table[at["7/b"]]).all()


def test_the_minimum_of_logistic_regression() -> None:
    """One column of ones: the probabilities are the frequencies. With a penalty on nothing but a useless column."""
    from scipy.sparse import csr_matrix

    answer = np.array([0, 0, 0, 1])
    weights = minimised(csr_matrix(np.ones((4, 1), np.float32)), answer, 2, 5.0, 50, silent)
    assert np.exp(weights[0, 0] - weights[0, 1]) == pytest.approx(3, rel=1e-3)
    both = csr_matrix(np.array([[1, 1], [1, 1], [1, 1], [0, 1]], np.float32))
    free, held = (minimised(both, answer, 2, l2, 50, silent) for l2 in (0.01, 100.0))
    assert free[0, 0] - free[0, 1] > 3
    assert abs(held[0, 0] - held[0, 1]) < 0.1


@pytest.mark.parametrize("name", ["logistic", "mlp"])
def test_learned_models_know_the_street(name: str) -> None:
    street = load_dataset("street:60")
    model = make_baseline(name, ["epochs=6"] if name == "mlp" else ["iterations=15"])
    model.fit(street, seed=1)
    first = model.evaluate()
    assert first["r@1"] > 0.8
    assert first["r@1"] < first["r@5"]
    assert first.num_queries == len(street.splits.test)
    model.fit(street, seed=1)
    assert model.evaluate().values == first.values


@pytest.mark.parametrize("name", ["freq", "logistic", "mlp"])
def test_other_targets_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}: expected object classes of scene graphs as targets, got "):
        make_baseline(name).fit(load_dataset("kin"))


@pytest.mark.parametrize(
    ("name", "setting", "expected"),
    [
        ("logistic", "patterns=3", "expected 0 to 2, got 3"),
        ("logistic", "bare=perhaps", "expected on or off, got 'perhaps'"),
        ("freq", "votes=all", "expected count or share"),
        ("mlp", "dropout=1", "below 1"),
    ],
)
def test_wrong_settings(name: str, setting: str, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        make_baseline(name, [setting])
    assert make_baseline("logistic", ["bare=off"]).settings.bare is False


# numbers about objects --------------------------------------------------------------------------------


def test_numbers_of_boxes_are_shares_of_the_image() -> None:
    data = scenes("a:man b:hat c:dog", boxes={"a": (10, 20, 50, 100), "c": (0, 0, 100, 200)})
    task = asked(data)
    numbers = box_numbers(task.kb, task.objects)
    a, b, c = (numbers[positions(task)[name]] for name in ("0/a", "0/b", "0/c"))
    assert a[:6] == pytest.approx([0.1, 0.1, 0.5, 0.5, 0.35, 0.35])
    assert a[6:] == pytest.approx([0.5, np.log(0.25), np.log(0.5), 1])
    assert (b == 0).all()  # no box
    assert c[[2, 3, 6, 9]].tolist() == [1, 1, 1, 1]


def test_the_mlp_sees_boxes() -> None:
    """Nothing but a number tells the classes apart."""
    graphs = [f"{letter}:{name}" for letter, name in (("a", "man"), ("b", "hat"), ("c", "dog"))] * 12
    boxes = {"a": (0.0, 0.0, 10.0, 10.0), "b": (80.0, 0.0, 10.0, 10.0), "c": (0.0, 150.0, 90.0, 50.0)}
    chosen = ["patterns=0", "context=off", "epochs=10"]
    seen = scenes(*graphs, test=tuple(graphs[:3]), boxes=boxes)
    model = make_baseline("mlp", chosen)
    model.fit(seen)
    assert model.evaluate()["r@1"] == 1
    plain = scenes(*graphs, test=tuple(graphs[:3]))
    with pytest.raises(ConfigError, match="mlp: expected something to look at"):
        make_baseline("mlp", chosen).fit(plain)
