"""RuleClassifier: a scikit-learn estimator that predicts the classes of entities with rules over a knowledge base.

    model = nlil.RuleClassifier(facts).fit(names, classes)
    model.predict(others), model.predict_proba(others), model.model_.explain("class(alice, good)")

X holds names of entities, in one column; the facts about them are in `facts`, a parameter of the estimator. The class
of an entity is a fact class(alice, good), and rules are learned for that predicate. So clone, get_params, set_params,
pipelines, cross_val_score and grid searches work as with any classifier. Checks of scikit-learn that pass a matrix
of numbers do not apply; docs/estimator.md lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..config import LearnerConfig
from ..data.arrays import Doubles
from ..data.dataset import make_dataset
from ..data.facts import Splits
from ..data.kb import KnowledgeBase
from ..datasets.anything import IN_MEMORY, as_dataset
from ..errors import ConfigError, require
from ..evaluation.queries import TargetQueries
from ..kernel.aggregation import SCALE
from ..logic.predicate import Predicate
from .learner import Learner
from .model import Model

require("sklearn", "classifiers", "RuleClassifier")
from sklearn.base import BaseEstimator, ClassifierMixin  # noqa: E402
from sklearn.utils.multiclass import check_classification_targets  # noqa: E402
from sklearn.utils.validation import check_is_fitted  # noqa: E402

RIDGE = 1e-2
"""Keeps slope and offsets finite where the rules never err on the entities learned from."""


class RuleClassifier(ClassifierMixin, BaseEstimator):
    """Predicts the classes of entities with rules over facts about them.

    The classes of the training entities are facts too: rules may use the class of a neighbour, never that
    of the entity itself.

    Args:
        facts: The facts, as `nlil.learn` takes them: a path, a table, a graph, a list of tuples, a KnowledgeBase.
        target: The name of the predicate of classes, as rules and explanations show it.
        max_length: The maximum number of body atoms of a rule.
        min_support: The minimum number of entities that a rule explains.
        search: How rules are found: count, neural or both.
        random_state: The seed.
        threads: Threads; 0: all cores.
        settings: Further settings by name (see: nlil settings).

    After `fit`: `classes_`, the classes in ascending order; `model_`, a Model with the rules and the facts; `slope_`
    and `offsets_`, from evidence to probabilities.
    """

    def __init__(
        self,
        facts: Any = None,
        *,
        target: str = "class",
        max_length: int = 3,
        min_support: int = 2,
        search: str = "count",
        random_state: int = 0,
        threads: int = 0,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.facts, self.target, self.max_length, self.min_support = facts, target, max_length, min_support
        self.search, self.random_state, self.threads, self.settings = search, random_state, threads, settings

    def fit(self, X: Any, y: Any) -> RuleClassifier:
        """Learn rules for the classes `y` of the entities named in `X`."""
        names = _names(X)
        if y is None:
            raise ValueError("RuleClassifier requires y to be passed, but the target y is None")
        labels = np.asarray(y)
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        if labels.ndim != 1:
            raise ValueError(f"expected one class for each entity, got y of shape {labels.shape}")
        if len(names) != len(labels):
            raise ValueError(f"expected a class for each entity, got {len(names)} entities and {len(labels)} classes")
        check_classification_targets(labels)
        self.classes_, number = np.unique(labels, return_inverse=True)
        self.n_features_in_ = 1
        own = ("max_length", "min_support", "search", "threads")
        values = {name: getattr(self, name) for name in own} | {"seed": int(self.random_state or 0)}
        config = LearnerConfig().with_values({**values, **(self.settings or {})})
        called = [str(label) for label in self.classes_]
        base = as_dataset([] if self.facts is None else self.facts, config.seed, config.data_options()).kb
        kb = _with_classes(base, self.target, names, [called[c] for c in number])
        target = Predicate(self.target, 2)
        learned = Learner(config).fit(kb, [target])
        dataset = make_dataset(IN_MEMORY, kb, Splits(kb.facts), (target,))
        self.model_ = Model(learned.rules, dataset, config, learned)
        self.slope_, self.offsets_ = _fit_softmax(self._evidence(names), number.ravel())
        return self

    def predict_proba(self, X: Any) -> Doubles:
        """Return (entities, classes): the probability of each class of the entities named in `X`.

        The classes are in the order of `classes_`. The probabilities are softmax(slope * evidence + offset of the
        class); slope and offsets are fitted on the training entities, each with its own class hidden.
        """
        check_is_fitted(self)
        return _softmax(self.slope_ * self._evidence(_names(X)) + self.offsets_)

    def _evidence(self, names: list[str]) -> Doubles:
        """(entities, classes): the evidence of class(x, c) in natural units, the class that was given for x hidden."""
        kb = self.model_.dataset.kb
        target = kb.predicate_id(Predicate(self.target, 2))
        entities = np.array([kb.entities.id(name) for name in names], np.int32)
        classes = np.array([kb.entities.id(str(label)) for label in self.classes_], np.int32)
        given = kb.facts.of(target)
        own = np.full(kb.num_entities, -1, np.int32)
        own[given.subject] = given.object
        queries = TargetQueries(target, 0, entities, own[entities])
        (found,) = self.model_.predictor.ranker.each([queries], lambda _, i, total: total[classes])
        return np.array(found, np.int64).reshape(len(names), -1) / SCALE

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each of the entities named in `X`; of equally probable ones the first of
        `classes_`.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn has to know: names come in, not numbers."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        tags.no_validation = True
        return tags


def _softmax(z: Doubles) -> Doubles:
    odds = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _fit_softmax(evidence: Doubles, number: np.ndarray) -> tuple[float, Doubles]:
    """Return the slope (at least 0) and the offsets of least cross-entropy; number[i] is the class of row i."""
    from scipy.optimize import minimize

    rows = np.arange(len(number))

    def loss(parameters: Doubles) -> tuple[float, Doubles]:
        chance = _softmax(parameters[0] * evidence + parameters[1:])
        wrong = chance.copy()
        wrong[rows, number] -= 1.0
        slope = np.append((wrong * evidence).sum(), wrong.sum(axis=0)) / len(rows) + RIDGE * parameters
        entropy = -np.log(np.maximum(chance[rows, number], 1e-300)).mean()
        return float(entropy + RIDGE / 2 * (parameters**2).sum()), slope

    start = np.append(1.0, np.zeros(evidence.shape[1]))
    bounds = [(0.0, None)] + [(None, None)] * evidence.shape[1]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return float(found[0]), np.asarray(found[1:])


def _names(X: Any) -> list[str]:
    """The names in one column."""
    rows = np.asarray(X, object)
    if rows.ndim == 2 and rows.shape[1] == 1:
        rows = rows[:, 0]
    if rows.ndim != 1:
        raise ValueError(f"expected the names of entities in one column, got X of shape {rows.shape}")
    if not len(rows):
        raise ValueError("expected the names of entities, got 0 samples")
    if any(name is None or name != name for name in rows):
        raise ValueError("expected the name of an entity in each row, got a missing value (None or NaN)")
    return [str(name) for name in rows]


def _with_classes(kb: KnowledgeBase, target: str, names: list[str], classes: list[str]) -> KnowledgeBase:
    """The base with a fact for the class of each entity."""
    if kb.graph_of is not None:
        raise ConfigError("RuleClassifier: expected facts of one graph, got scene graphs; see nlil.imitate")
    if Predicate(target, 2) in kb.predicates:
        raise ConfigError(f"RuleClassifier: the facts have a predicate {target} already; give another name as target=")
    weight = np.ones(len(kb.facts)) if kb.facts.weight is None else kb.facts.weight
    rows = [(f.arguments[0], f.predicate.name, (*f.arguments, "")[1], w) for f, w in zip(kb.named(), weight.tolist())]
    return KnowledgeBase.from_facts([*rows, *((name, target, found) for name, found in zip(names, classes))])
