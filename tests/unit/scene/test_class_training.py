"""Trained formulas of classes: what they are trained on, which is kept, and that rules say what was counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from nlil.config import LearnerConfig
from nlil.data.kb import KnowledgeBase
from nlil.datasets import load_dataset
from nlil.kernel.batch import BatchStatistics
from nlil.kernel.evaluator import Evaluator
from nlil.learning.joint import is_trained
from nlil.learning.learner import Learner
from nlil.learning.run import Learned
from nlil.progress import Stop, silent
from nlil.scene.choosing import ChoiceOptions, choose
from nlil.scene.fitting import LabelledObjects, one_hot
from nlil.scene.formulas import FormulaTraining, best_formula, class_queries, with_disjunctions
from nlil.scene.joint import labelled_rows
from nlil.scene.literals import holds_for, literals_of, num_lines
from nlil.scene.patterns import find_patterns

SETTINGS = ("preset=scene", "search=neural", "restarts=8", "epochs=30", "device=cpu")
TRAINING = FormulaTraining(LearnerConfig().with_settings(SETTINGS))


def learn(*settings: str, data: str = "street:60") -> Learned:
    dataset = load_dataset(data)
    config = LearnerConfig().with_settings((*SETTINGS, *settings))
    return Learner(config).fit(dataset.kb, list(dataset.targets), dataset.splits)


@pytest.fixture(scope="module")
def trained() -> Learned:
    return learn("threads=1")


def test_one_formula_a_class(trained: Learned) -> None:
    kb = load_dataset("street:60").kb
    rules = trained.rules
    per_class = np.bincount(rules.head[~rules.is_prior], minlength=kb.num_predicates)
    assert per_class.max() == 1
    assert per_class.sum() >= 12
    said = {scored.rule.target.name: scored for scored in rules if scored.rule.length}
    person = str(said["person"].rule)
    assert " ; " in person
    assert "wearing(X, Z" in person
    statistics = BatchStatistics(Evaluator(kb))
    for scored in said.values():
        exact = statistics.stats(scored.rule)
        counted = scored.stats
        assert (counted.support, counted.body_size) == (exact.support, exact.body_size)
        assert counted.confidence > 0.3


def test_the_number_of_threads_changes_nothing(trained: Learned) -> None:
    again = learn("threads=3")
    assert [str(s.rule) for s in again.rules] == [str(s.rule) for s in trained.rules]
    assert again.rules.weights.tolist() == trained.rules.weights.tolist()


def test_what_a_restart_says_stays_without_select() -> None:
    held = sparse.csc_array(np.array([[1, 0, 1], [1, 1, 0], [0, 1, 0], [0, 0, 0]], bool))
    is_member = np.array([True, True, True, False])
    said = [((0,),), ((1, ~2), (0, 1))]
    raw = replace(TRAINING, settings=TRAINING.settings.with_values({"select": False}))
    assert best_formula(said, held, is_member, raw) == ((0,),)
    # All restarts together say 0 ; 1, once \+ 2, which changes nothing, is left out.
    assert best_formula(said, held, is_member, TRAINING) == ((0,), (1,))
    assert best_formula([()], held, is_member, TRAINING) == ()


def test_a_disjunction_holds_where_a_part_does() -> None:
    kb = load_dataset("street:20").kb
    entities = np.flatnonzero(kb.domain).astype(np.int32)
    patterns = find_patterns(kb, entities, 1, 5, 2**30)
    formula = ((0, ~3), (5,))
    found = with_disjunctions(patterns, [formula])
    held = patterns.held.tocsc()
    expected = holds_for(held, formula[0]) | holds_for(held, formula[1])
    assert 0 < expected.sum() < len(entities)
    assert found.held[:, [len(patterns)]].toarray()[:, 0].tolist() == expected.tolist()
    assert num_lines(found.bodies) == len(patterns)


def test_objects_that_look_like_members_are_drawn_more_often() -> None:
    label = np.where(np.arange(2000) < 100, 0, 1).astype(np.int32)
    looks_alike = (np.arange(2000) >= 100) & (np.arange(2000) < 200)
    chance = np.where(looks_alike, 0.64, 0.01).astype(np.float32)
    held = sparse.csc_array(looks_alike[:, None] | (label == 0)[:, None])
    queries = class_queries(
        held, label, np.ones(1, np.float32), np.ones(1, bool), chance, 0, TRAINING, np.random.default_rng(1)
    )
    assert queries is not None
    others = ~queries.is_member
    assert (queries.is_member.sum(), others.sum()) == (100, 100)
    assert queries.holds[others, 0].sum() > 20  # 5 of 100 by chance, 30 of 100 by the square root of .64 / .01


def test_patterns_that_say_the_same_are_one_statement() -> None:
    label = np.where(np.arange(400) < 100, 0, 1).astype(np.int32)
    column = np.random.default_rng(0).random(400) < 0.5
    held = sparse.csc_array(np.stack((column, column, ~column), axis=1))
    gain, speaks_for = np.array([1, 3, 2], np.float32), np.array([True, True, False])
    chance = np.full(400, 0.1, np.float32)
    queries = class_queries(held, label, gain, speaks_for, chance, 0, TRAINING, np.random.default_rng(1))
    assert queries is not None
    assert queries.statement.tolist() == [1, 2]
    nothing = np.zeros(3, np.float32)
    assert class_queries(held, label, nothing, speaks_for, chance, 0, TRAINING, np.random.default_rng(1)) is None


def test_trained_conjunctions_compete_with_patterns() -> None:
    """Wet red things are cats; without conjunctions that are counted or grown only training can propose both."""
    random = np.random.default_rng(3)
    facts = []
    for i in range(400):
        has = [name for name in ("red", "wet", "big") if random.random() < 0.5]
        facts += [(f"o{i}", "cat" if {"red", "wet"} <= set(has) else "dog"), *((f"o{i}", name) for name in has)]
    kb = KnowledgeBase.from_facts(facts)
    targets = np.array([kb.predicate_id(kb.predicate(name)) for name in ("cat", "dog")], np.int32)
    kb = replace(kb, classes=frozenset(targets.tolist()))
    patterns = find_patterns(kb, np.flatnonzero(kb.domain).astype(np.int32), 0, 2, 2**30)
    rows, label = labelled_rows(kb, patterns.entities, targets)
    data = LabelledObjects(label, patterns.held[rows], one_hot(label, 3))
    choice = ChoiceOptions(pairs=2, conjunctions=False, threads=1)
    quick = replace(TRAINING, settings=TRAINING.settings.with_values({"levels": 1, "threads": 1}))
    for training, expected in ((None, set()), (quick, {("red", "wet")})):
        found, model = choose(patterns, rows, data, choice, silent, Stop(), training)
        literals = [literals_of(found.bodies, int(body)) for body in model.pattern[model.target == 0]]
        steps = found.bodies.lines.steps[:, 0] >> 1
        named = {tuple(sorted(kb.predicates[steps[one]].name for one in some)) for some in literals if min(some) >= 0}
        assert {names for names in named if len(names) > 1} == expected


def test_when_formulas_are_trained() -> None:
    config = LearnerConfig().with_settings(("preset=scene",))
    assert not is_trained(config)
    assert is_trained(config.with_values({"search": "both"}))
    assert is_trained(config.with_values({"search": "neural", "neural_facts": 5}))
    assert not is_trained(LearnerConfig())  # the limit of facts is one for other targets
