"""RuleClassifier behaves as a scikit-learn classifier whose X holds names of entities."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import nlil
from nlil.errors import ConfigError, UnknownName
from pages import ROOT, blocks

pytest.importorskip("sklearn", reason="scikit-learn is not installed: RuleClassifier was NOT tested")

NAMES = np.array([f"x{i}" for i in range(24)])
CLASSES = np.array(["good" if i % 3 else "bad" for i in range(24)])
FACTS = [(f"x{i}", "eats", "hay" if i % 3 else "meat") for i in range(24)] + [
    (f"x{i}", "near", f"x{(i + 1) % 24}") for i in range(24)
]


def classifier(**more):
    return nlil.RuleClassifier(FACTS, **{"max_length": 2, "threads": 1, **more})


@pytest.fixture(scope="module")
def fitted():
    return classifier().fit(NAMES[:16], CLASSES[:16])


def test_fit_and_predict(fitted):
    assert fitted.classes_.tolist() == ["bad", "good"]
    chances = fitted.predict_proba(NAMES[16:])
    assert chances.shape == (8, 2)
    assert chances.sum(axis=1) == pytest.approx(1.0)
    assert fitted.predict(NAMES[16:]).tolist() == CLASSES[16:].tolist()
    assert fitted.score(NAMES[16:], CLASSES[16:]) == 1.0
    assert "class(X, good) :- eats(X, hay)." in [str(scored.rule) for scored in fitted.model_.rules]
    assert "x16 eats hay" in str(fitted.model_.explain("class(x16, good)"))


def test_the_class_of_an_entity_is_hidden_from_itself(fitted):
    """With a wrong label, an entity that was learned from is told by its facts, not by its own label."""
    labels = CLASSES[:16].copy()
    labels[1] = "bad"
    model = classifier().fit(NAMES[:16], labels)
    assert model.predict(NAMES[1:2]).tolist() == ["good"]


def test_params_and_clone(fitted):
    from sklearn.base import clone

    params = fitted.get_params()
    assert params["min_support"] == 2
    assert params["facts"] is FACTS
    other = clone(fitted).set_params(max_length=1, settings={"seed": 4})
    assert (other.max_length, other.settings) == (1, {"seed": 4})
    assert not hasattr(other, "classes_")
    assert fitted.get_params() == params
    with pytest.raises(ValueError, match="lenght"):
        other.set_params(max_lenght=1)


def test_what_scikit_learn_checks(fitted):
    """Those of its checks that hand over numbers, done with names."""
    from sklearn.exceptions import NotFittedError, SkipTestWarning
    from sklearn.utils.estimator_checks import check_estimator

    with pytest.warns(SkipTestWarning, match="Can't test estimator"):
        check_estimator(nlil.RuleClassifier())
    with pytest.raises(NotFittedError):
        classifier().predict(NAMES)
    with pytest.raises(NotFittedError):
        classifier().predict_proba(NAMES)
    before = sorted(vars(fitted))
    chances = fitted.predict_proba(NAMES)
    assert sorted(vars(fitted)) == before
    assert np.array_equal(fitted.predict_proba(NAMES[::-1])[::-1], chances)  # the order of samples
    assert np.array_equal(np.concatenate([fitted.predict_proba(NAMES[i : i + 1]) for i in range(24)]), chances)
    again = classifier().fit(NAMES[:16], CLASSES[:16])
    assert np.array_equal(again.predict_proba(NAMES), chances)
    assert again.fit(NAMES[:16], CLASSES[:16]) is again
    numbers = classifier().fit(NAMES[:16].reshape(-1, 1), (CLASSES[:16] == "good").astype(int))
    assert numbers.classes_.tolist() == [0, 1]
    assert np.array_equal(numbers.predict_proba(pd.DataFrame({"name": NAMES})), chances)
    alone = classifier().fit(NAMES[:4], ["good"] * 4)
    assert alone.predict(NAMES[5:7]).tolist() == ["good", "good"]


def test_the_page_about_it(capsys):
    block = blocks(ROOT / "docs" / "estimator.md")[0]
    exec(compile(block.text, "estimator.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "['good' 'good' 'bad' 'good' 'good' 'bad' 'good' 'good']" in printed
    assert "x16 eats hay" in printed
    assert "[1. 1.]" in printed


def test_cross_validation():
    from sklearn.model_selection import cross_val_score

    assert cross_val_score(classifier(), NAMES, CLASSES, cv=2).mean() == 1.0


@pytest.mark.parametrize(
    ("names", "classes", "expected"),
    [
        ([["x1", "x2"]], ["good"], "in one column, got X of shape"),
        (["x1", None], ["good", "bad"], "got a missing value"),
        (["x1"], ["good", "bad"], "got 1 entities and 2 classes"),
        (["x1", "x2"], [0.5, 0.25], "Unknown label type"),
        (["x1"], None, "y to be passed, but the target y is None"),
        ([], [], "got 0 samples"),
    ],
)
def test_wrong_input(names, classes, expected):
    with pytest.raises(ValueError, match=expected):
        classifier().fit(names, classes)


def test_an_unknown_entity_and_scenes_are_refused(fitted):
    with pytest.raises(UnknownName, match="unknown entity 'y1'"):
        fitted.predict(["y1"])
    with pytest.raises(ConfigError, match=r"expected facts of one graph, got scene graphs; see nlil.imitate"):
        nlil.RuleClassifier("street:5").fit(["s0_0", "s0_1"], ["a", "b"])
    with pytest.raises(ConfigError, match="have a predicate near already; give another name as target="):
        classifier(target="near").fit(NAMES, CLASSES)
