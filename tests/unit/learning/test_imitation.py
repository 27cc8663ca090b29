"""Rules that imitate a classifier: scores from tables and models, soft labels, fidelity on objects held out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import nlil
from nlil.config import LearnerConfig
from nlil.data.dataset import Dataset
from nlil.data.kb import KnowledgeBase
from nlil.data.target_scores import matrix_scores, target_scores
from nlil.datasets import load_dataset
from nlil.errors import ConfigError, DataError
from nlil.evaluation.fidelity import Fidelity, measure_fidelity
from nlil.kernel.aggregation import Aggregation
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.graph import Graph
from nlil.kernel.ruleset import RuleSet
from nlil.learning.imitation import imitate, parts, scores_of
from nlil.logic.parse import parse_rule
from nlil.logic.rule import RuleStats, ScoredRule
from nlil.scene.fitting import ClassModel, LabelledObjects, fit, one_hot, slopes

QUICK: dict[str, Any] = {"top_rules": 6, "max_length": 2, "threads": 1}


@pytest.fixture(scope="module")
def street() -> Dataset:
    return load_dataset("street:20")


def objects(dataset: Dataset, split: str) -> tuple[list[str], list[str]]:
    """Objects of a split and their true classes."""
    facts = dataset.splits[split]
    facts = facts[np.isin(facts.predicate, list(dataset.kb.classes))]
    return dataset.kb.entities.names(facts.subject), [dataset.kb.predicates[p].name for p in facts.predicate]


def swapped(name: str) -> str:
    """A classifier that is wrong on purpose: it takes tables for chairs, as it were."""
    return {"person": "dog", "dog": "person"}.get(name, name)


def table(names: list[str], classes: list[str]) -> dict[str, list[Any]]:
    return {"entity": names, "class": classes, "score": [1.0] * len(names)}


def small_kb() -> KnowledgeBase:
    return KnowledgeBase.from_facts([("a", "red"), ("b", "blue"), ("c", "green"), ("a", "near", "b")])


# soft labels ----------------------------------------------------------------------------------------


def soft_case() -> tuple[LabelledObjects, LabelledObjects]:
    """Two objects with shares, and the same as 20 objects of whole classes."""
    shares = np.array([[0.7, 0.2, 0.1], [0.0, 0.4, 0.6]])
    whole = [(i, c) for i in (0, 1) for c in range(3) for _ in range(round(10 * shares[i, c]))]
    held = sparse.csr_array(np.array([[True, False], [True, True]]))
    owner, label = (np.array(column, np.int32) for column in zip(*whole))
    return (
        LabelledObjects(np.array([0, 2], np.int32), held, sparse.csr_array(shares)),
        LabelledObjects(label, held[owner], one_hot(label, 3)),
    )


def test_shares_are_fitted_as_so_many_whole_objects_would_be() -> None:
    soft, whole = soft_case()
    start = ClassModel.of(np.array([0, 1, 1]), np.array([0, 0, 2]), np.zeros(3), np.zeros(3))
    few, many = fit(start, soft, 0.1, 200, 1), fit(start, whole, 1.0, 200, 1)
    assert np.allclose(few.weight, many.weight, atol=1e-3)
    assert np.abs(few.weight[1:]).min() > 0.1  # the first pattern holds for all: biases say it
    for one, ten in zip(slopes(few, soft, 1), slopes(few, whole, 1)):
        assert np.allclose(10 * one, ten, atol=1e-4)


# fidelity -------------------------------------------------------------------------------------------


def test_figures_of_fidelity_by_hand() -> None:
    kb = KnowledgeBase.from_facts(
        [
            ("a", "round"),
            ("b", "round"),
            ("c", "flat"),
            ("d", "flat"),
            ("a", "ball"),
            ("b", "ring"),
            ("c", "plate"),
            ("d", "ball"),
        ]
    )
    kb = replace(kb, classes=frozenset(kb.predicate_id(kb.predicate(name)) for name in ("ball", "plate", "ring")))
    even = 1 - np.exp(-1.0)
    rules = RuleSet.of(
        kb,
        [
            ScoredRule(parse_rule(text), RuleStats(1, 2, 1), even)
            for text in ("ball(X) :- round(X).", "plate(X) :- flat(X).")
        ],
        Aggregation("noisy-or", 0),
    )
    scores = matrix_scores([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8], [0.8, 0.2]], list("abcd"), ["ball", "plate"], kb)
    found = measure_fidelity(rules, kb, scores.take(np.array([True, True, True, False])), kb, scores, "all", 1)
    assert found.temperature == pytest.approx(np.log(4), abs=1e-3)  # then e^t / (e^t + 1) is .8, as the classifier says
    assert found["r@1"] == 0.75
    assert found["r@5"] == 1.0
    own = -(0.8 * np.log(0.8) + 0.2 * np.log(0.2))
    assert found["entropy"] == pytest.approx(own)
    wrong = -(0.8 * np.log(0.2) + 0.2 * np.log(0.8))
    assert found["cross_entropy"] == pytest.approx((3 * own + wrong) / 4, abs=1e-4)
    assert found.num_known == 4  # a ring is none of the classifier's classes, so both miss it
    assert found.accuracy == pytest.approx({"classifier": 0.75, "rules": 0.5})
    assert found.pairs == ({"classifier": "ball", "rules": "plate", "truth": "ball", "count": 1},)
    (worst,) = found.objects
    assert (worst["object"], worst["truth"]) == ("d", "ball")
    assert worst["distance"] == pytest.approx(0.6, abs=1e-3)
    assert found.per_class["ball"] == {"r@1": pytest.approx(2 / 3), "r@5": 1.0, "num_objects": 3}
    assert Fidelity.from_dict(found.to_dict()) == found


def test_a_wrong_classifier_is_imitated_and_not_corrected(street: Dataset) -> None:
    names, classes = (first + second for first, second in zip(objects(street, "train"), objects(street, "test")))
    learned = imitate(table(names, [swapped(c) for c in classes]), street, **QUICK)
    found = learned.fidelity
    assert found is not None
    assert found.held_out == "test split"
    assert found.num_trained + found.num_objects == len(names)
    assert found["r@1"] > 0.85
    assert found.accuracy["classifier"] == pytest.approx(np.mean([swapped(c) == c for c in objects(street, "test")[1]]))
    assert abs(found.accuracy["rules"] - found.accuracy["classifier"]) < 0.1
    rules = {str(replace(s.rule, distinct=False)): s for s in learned.rules.for_target("dog")}
    told = rules["dog(X) :- wearing(X, Z1)."]  # what a person does
    assert told.stats.confidence == 1.0
    assert told.stats.head_size == objects(street, "train")[1].count("person")


def test_the_true_class_stays_hidden_and_objects_without_a_score_are_not_learned_from(street: Dataset) -> None:
    names, classes = objects(street, "train")
    some = [i for i in range(len(names)) if i % 3]
    learned = imitate(table([names[i] for i in some], [classes[i] for i in some]), street, **QUICK)
    found = learned.fidelity
    assert found is not None
    assert found.held_out == "2 of 20 scored graphs"
    assert found.num_trained + found.num_objects == len(some)
    assert {int(s.stats.body_size) for s in learned.rules if not s.rule.length} == {found.num_trained}
    for scored in learned.rules:
        assert not any(f"{p.name}(X)" in str(scored.rule).partition(":-")[2] for p in learned.targets)


def test_the_classes_of_neighbours_can_be_hidden_too(street: Dataset) -> None:
    names = tuple(street.kb.predicates[c].name for c in street.kb.classes)
    scores = table(*objects(street, "train"))
    hidden = imitate(scores, street, not_body=names, **QUICK)
    assert hidden.fidelity is not None
    assert not any({p.name for p in scored.rule.predicates} & set(names) for scored in hidden.rules)
    given = imitate(scores, street, **QUICK)
    assert any({p.name for p in scored.rule.predicates} & set(names) for scored in given.rules)


@pytest.mark.parametrize("search", ["count", "neural"])
def test_one_formula_a_class_with_its_fidelity(street: Dataset, search: str) -> None:
    names, classes = (a + b for a, b in zip(objects(street, "train"), objects(street, "test")))
    scores = table(names, list(map(swapped, classes)))
    config = LearnerConfig().with_settings(("preset=scene", f"search={search}", "restarts=4", "epochs=15"))
    learned = imitate(scores, street, config=config.with_values(QUICK))
    assert learned.fidelity is not None
    formulas = {row["class"]: row for row in learned.fidelity.formulas}
    assert next(iter(formulas)) == "dog"  # what it calls most objects
    assert len(formulas) == len(learned.fidelity.formulas) > 8
    assert formulas["dog"]["f1"] > 0.5
    judged, true = objects(street, "test")
    kb = street.complete()
    entities, said = np.array([kb.entities.id(name) for name in judged]), np.array(list(map(swapped, true)))
    for name, row in formulas.items():
        holds = Evaluator(kb).values(parse_rule(row["formula"]), entities, hide=True) > 0
        both = int((holds & (said == name)).sum())
        assert row["num_objects"] == (said == name).sum()
        assert row["precision"] == pytest.approx(both / max(holds.sum(), 1))
        assert row["recall"] == pytest.approx(both / max((said == name).sum(), 1))
        assert row["f1"] == pytest.approx(2 * both / max(holds.sum() + (said == name).sum(), 1))
    if search == "neural":
        trained = {str(scored.rule) for scored in learned.rules if scored.rule.length}
        assert {row["formula"] for row in formulas.values()} <= trained


def test_the_seed_says_which_graphs_are_held_out(street: Dataset) -> None:
    scores = target_scores(table(*objects(street, "train")), street.kb)
    first, second, other = (parts(street.kb, None, scores, seed)[2].entities.tolist() for seed in (1, 1, 2))
    assert first == second != other


def test_a_plain_base_with_unary_targets() -> None:
    facts: list[Any] = []
    for i in range(40):
        facts += [
            (f"c{i}", "owns", f"house{i}") if i % 2 else (f"c{i}", "rents", f"flat{i}"),
            (f"c{i}", "good" if i % 2 else "bad"),
        ]
    kb = KnowledgeBase.from_facts(facts)
    names = [f"c{i}" for i in range(40)]
    said = np.array([[0.9, 0.1] if i % 2 else [0.1, 0.9] for i in range(40)])
    learned = imitate(said, kb, entities=names, classes=["good", "bad"], max_length=2)
    assert learned.fidelity is not None
    assert learned.fidelity["r@1"] == 1.0
    assert learned.fidelity.held_out == "4 of 40 scored entities"
    assert any("owns(X" in str(s.rule) for s in learned.rules.for_target("good"))
    assert not any("bad(X)" in str(s.rule).partition(":-")[2] for s in learned.rules.for_target("good"))


# models ---------------------------------------------------------------------------------------------


def features_of(dataset: Dataset) -> tuple[list[str], list[str], np.ndarray]:
    """Objects, classes, and how often each relation leaves or reaches an object."""
    names, classes = (a + b for a, b in zip(objects(dataset, "train"), objects(dataset, "test")))
    kb = dataset.complete()
    count = np.zeros((kb.num_entities, kb.num_codes), np.float32)
    np.add.at(count, (Graph.of(kb).node, Graph.of(kb).code), 1)
    return names, classes, count[[kb.entities.id(name) for name in names]]


def test_scikit_learn_with_rows_a_mapping_or_a_table(street: Dataset) -> None:
    pandas = pytest.importorskip("pandas")
    trees = pytest.importorskip("sklearn.tree")
    names, classes, features = features_of(street)
    model = trees.DecisionTreeClassifier(max_depth=6, random_state=0).fit(features, classes)
    learned = nlil.imitate(model, street, features=features, entities=names, **QUICK)
    assert learned.fidelity is not None
    assert learned.fidelity["r@1"] > 0.8
    assert learned.target_scores == {}
    rows, _ = scores_of(model, street.kb, features, names)
    assert np.allclose(rows.share.sum(), len(names))
    assert rows.dense().shape == (len(names), len(model.classes_))
    mapped, _ = scores_of(model, street.kb, dict(zip(names, features)))
    frame = pandas.DataFrame(features, index=names).rename(columns=str)
    with_names = trees.DecisionTreeClassifier(max_depth=6, random_state=0).fit(frame, classes)
    tabled, _ = scores_of(with_names, street.kb, frame)
    for other in (mapped, tabled):
        assert np.array_equal(other.entities, rows.entities)
        assert np.array_equal(other.dense(), rows.dense())


def test_a_pytorch_module_is_asked_in_evaluation_mode_and_left_as_it_was(street: Dataset) -> None:
    import torch
    from torch import nn

    names, classes, features = features_of(street)
    kinds = sorted(set(classes))
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(features.shape[1], len(kinds)), nn.Dropout(0.9))
    module.train()
    found, _ = scores_of(module, street.kb, features, names, kinds)
    assert module.training
    with torch.no_grad():
        said = module[0](torch.from_numpy(features)).softmax(dim=-1).numpy()
    by_hand = matrix_scores(said.astype(float), names, kinds, street.kb)
    assert np.allclose(found.dense(), by_hand.dense(), atol=1e-6)
    with pytest.raises(ConfigError, match="does not name its classes"):
        scores_of(module, street.kb, features, names)


@pytest.mark.parametrize(
    ("model", "more", "complaint"),
    [
        (np.ones((1, 1)), {}, "needs the names of its rows and columns"),
        (type("Model", (), {"predict_proba": None})(), {}, "needs features"),
        (type("Model", (), {"predict_proba": None})(), {"features": np.ones((2, 1))}, "have no names of entities"),
        (type("Model", (), {"predict_proba": None})(), {"features": {"a": [1]}, "entities": ["b"]}, "none for 1, 'b'"),
        (
            type("Model", (), {"predict_proba": None})(),
            {"features": np.ones((2, 1)), "entities": ["a"]},
            "expected 1 rows, one for each entity, got 2",
        ),
        (type("Model", (), {"predict_proba": None})(), {"features": {"a": [1]}}, "has no classes_"),
        (print, {"features": {"a": [1]}}, "got builtin_function_or_method"),
        ({"entity": ["a"], "class": ["red"], "score": [1.0]}, {}, "expected two scored entities or more"),
    ],
)
def test_what_cannot_be_imitated_is_said_in_one_sentence(model: Any, more: dict[str, Any], complaint: str) -> None:
    with pytest.raises((ConfigError, DataError), match=complaint):
        imitate(model, small_kb(), **more)
