"""The formula of a class is counted as the engine counts it, and says what the class is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commandline import Nlil
from nlil.config import LearnerConfig
from nlil.datasets import load_dataset
from nlil.kernel.batch import BatchStatistics
from nlil.kernel.evaluator import Evaluator
from nlil.learning.learner import Learner
from nlil.learning.run import Learned
from nlil.logic.formula import TRUE
from nlil.logic.parts import removals
from nlil.logic.simplify import FALSE, simplify
from nlil.scene.class_formulas import MIN_RISE, best_disjunction, class_formulas

SETTINGS = ("preset=scene", "top_rules=6", "threads=1")


@pytest.fixture(scope="module")
def learned() -> Learned:
    dataset = load_dataset("street:60")
    return Learner(LearnerConfig().with_settings(SETTINGS)).fit(dataset.kb, list(dataset.targets), dataset.splits)


def test_formulas_are_counted_as_the_engine_counts(learned: Learned) -> None:
    kb = load_dataset("street:60").kb
    found = {one.rule.target.name: one for one in class_formulas(learned.rules, kb, threads=1)}
    assert len(found) > 10
    statistics = BatchStatistics(Evaluator(kb))
    for one in found.values():
        stats = statistics.stats(one.rule)
        assert (one.support, one.body_size, one.head_size) == (stats.support, stats.body_size, stats.head_size)
        assert sum(one.adds) == one.support
        assert min(one.adds) > 0
        shorter = [simplify(replace(one.rule, body=rest)) for _, rest in removals(one.rule.body, atoms=True)]
        counts = map(statistics.stats, (rule for rule in shorter if rule.body not in (TRUE, FALSE)))
        assert stats not in list(counts), f"a part of {one.rule} changes no count"
    person = found["person"]
    assert person.f1 > 0.9
    assert "wearing(X, Z" in str(person.rule)
    assert " ; " in str(person.rule)


def test_a_body_that_adds_little_is_left_out() -> None:
    is_member = np.arange(1000) < 500
    holds = np.zeros((1000, 3), bool)
    holds[:400, 0] = holds[350:450, 1] = holds[445:452, 2] = True
    short = np.ones(3, int)
    assert best_disjunction(holds, is_member, 4, short) == [0, 1]
    assert best_disjunction(holds, is_member, 1, short) == [0]
    before, after = 2 * 450 / (450 + 500), 2 * 452 / (452 + 500)
    assert 1 < after / before < MIN_RISE


def test_every_atom_of_a_formula_must_be_worth_something() -> None:
    is_member = np.arange(1000) < 500
    holds = np.zeros((1000, 3), bool)
    holds[:400, 0] = holds[:390, 1] = holds[400:420, 2] = True
    assert best_disjunction(holds, is_member, 4, np.array([1, 1, 1])) == [0, 2]
    assert best_disjunction(holds, is_member, 4, np.array([3, 1, 1])) == [1, 2], "the shorter one says nearly the same"
    assert best_disjunction(holds, is_member, 4, np.array([1, 1, 3])) == [0], "F1 rises by 2.2 %"


def test_what_speaks_against_a_class_is_no_part_of_its_formula(learned: Learned) -> None:
    kb = load_dataset("street:60").kb
    for one in class_formulas(learned.rules, kb, threads=1):
        assert not str(one.rule).partition(":- ")[2].startswith("\\+")


def test_rules_shows_formulas(nlil_command: Nlil, learned: Learned, tmp_path: Path) -> None:
    run = tmp_path / "run"
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    assert nlil_command("learn", "street:60", "--out", run, *settings, "--quiet").code == 0
    shown = nlil_command("rules", run, "--formulas", 4, "--json").json
    assert shown["num_classes"] == 15
    assert len(shown["formulas"]) == 10
    first = shown["formulas"][0]
    assert first["f1"] == pytest.approx(2 * first["support"] / (first["body_size"] + first["head_size"]))
    alone = nlil_command("rules", run, "--formulas", 2, "--target", "person")
    assert "precision" in alone.out
    assert alone.out.count("person(X) :-") == 1
    refused = nlil_command("rules", run, "--formulas", 2, "--format", "sparql")
    assert refused.code == 2
    assert "--formulas" in refused.err
