"""The calibration in a run folder: kept, verified, gone with the rules it belongs to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nlil.config import LearnerConfig
from nlil.data.dataset import Dataset
from nlil.datasets import load_dataset
from nlil.errors import RunError
from nlil.evaluation.calibration import calibration_figures
from nlil.evaluation.candidates import scored_candidates
from nlil.evaluation.prediction import predict
from nlil.evaluation.protocol import evaluate
from nlil.kernel.calibration import Calibration, CalibrationMap
from nlil.learning.learner import Learner
from nlil.learning.opening import Applied
from nlil.learning.run import CALIBRATION, Learned, add_json, load_calibration, load_run, save_run

SETTINGS = {"search": "count", "max_length": 2, "constants": False, "typed": False}


@pytest.fixture(scope="module")
def kin() -> tuple[Dataset, Learned]:
    dataset = load_dataset("kin:80")
    return dataset, Learner(LearnerConfig().with_values(SETTINGS)).fit(dataset.kb, splits=dataset.splits)


def test_it_is_kept_in_the_run(kin: tuple[Dataset, Learned], tmp_path: Path) -> None:
    dataset, learned = kin
    path = save_run(learned, tmp_path / "run")
    assert learned.rules.calibration is not None
    assert load_calibration(path) == load_run(path).rules.calibration == learned.rules.calibration
    found = Applied(learned.rules, dataset, learned.config).fit_calibration(seed=0)
    assert found is not None
    add_json(path, CALIBRATION, found.to_dict())
    assert load_calibration(path) == found
    (path / "calibration.json").write_text("{}")
    with pytest.raises(RunError, match=r"calibration\.json is damaged"):
        load_run(path)


def test_measured_on_facts_that_the_map_has_not_seen(kin: tuple[Dataset, Learned]) -> None:
    dataset, learned = kin
    applied = Applied(learned.rules, dataset, learned.config)
    found = applied.fit_calibration(seed=0)
    for split in ("valid", "test"):
        got = applied.reliability(split).figures
        candidates = scored_candidates(learned.rules, dataset.kb, dataset.splits, split)
        assert got == calibration_figures(candidates, found, is_own_sample=split == "valid")
        assert set(got) == {
            "brier_before",
            "brier_after",
            "ece_before",
            "ece_after",
            "calibration_candidates",
            "calibration_answers",
        }
        assert got["brier_after"] < got["brier_before"]
    assert applied.reliability("train").figures == {}


def test_new_rules_do_not_keep_it(kin: tuple[Dataset, Learned], tmp_path: Path) -> None:
    path = save_run(kin[1], tmp_path / "run")
    add_json(path, CALIBRATION, Calibration({2: CalibrationMap()}).to_dict())
    (path / "checkpoint").mkdir()
    save_run(kin[1], path, force=True)
    assert load_calibration(path) == kin[1].rules.calibration
    (path / "checkpoint").mkdir()
    save_run(replace(kin[1], rules=replace(kin[1].rules, calibration=None)), path, force=True)
    assert load_calibration(path) is None


def test_given_facts_alone_give_the_map_of_evaluate(kin: tuple[Dataset, Learned]) -> None:
    dataset, learned = kin
    alone = Learner(replace(learned.config, hold_out=0.0)).fit(dataset.kb, splits=dataset.splits)
    assert alone.rules.calibration == Applied(alone.rules, dataset, alone.config).fit_calibration(seed=0)
    assert alone.rules.calibration != learned.rules.calibration


def test_a_single_file_has_probabilities_and_an_estimate_at_once(tmp_path: Path) -> None:
    dataset = load_dataset("kin")
    learned = Learner(LearnerConfig().with_values(SETTINGS)).fit(dataset.kb, ["uncle", "aunt", "male"])
    answers = predict(learned.rules, dataset.kb, "uncle(?, vera1)")
    assert all(answer.probability is not None for answer in answers)
    part = learned.rules.for_target("uncle")
    assert [a.probability for a in predict(part, dataset.kb, "uncle(?, vera1)")] == [a.probability for a in answers]
    few = learned.rules.take(np.flatnonzero(learned.rules.support > 5))
    assert len(predict(few, dataset.kb, "uncle(?, vera1)"))
    assert all(a.probability is None for a in predict(few, dataset.kb, "uncle(?, vera1)"))  # they score lower
    estimate = learned.estimate
    assert estimate is not None
    assert estimate.num_facts == estimate.num_held_out > 0
    assert {"mrr", "hits@1", "hits@10", "f1"} <= set(estimate.figures)
    assert 0.5 < estimate.figures["hits@1"] <= estimate.figures["mrr"] <= estimate.figures["hits@10"] <= 1
    again = load_run(save_run(learned, tmp_path / "run"))
    assert again.estimate == estimate
    assert again.rules.calibration == learned.rules.calibration


def test_the_estimate_is_what_evaluate_says_of_the_facts() -> None:
    """Given facts only: the estimate on all of them is their MRR."""
    dataset = load_dataset("kin:80")
    learned = Learner(LearnerConfig().with_values({**SETTINGS, "hold_out": 0})).fit(dataset.kb, splits=dataset.splits)
    measured = evaluate(learned.rules, dataset.kb, dataset.splits.valid, splits=dataset.splits, split="valid")
    assert learned.estimate is not None
    assert set(learned.estimate.figures) == {"mrr", "hits@1", "hits@10"}
    for name in learned.estimate.figures:
        assert learned.estimate.figures[name] == pytest.approx(measured[name]), name


def test_scenes_without_a_split_are_calibrated_on_graphs_that_were_held_out() -> None:
    dataset = load_dataset("street:60")
    learned = Learner(LearnerConfig().with_values({"search": "count", "max_length": 1})).fit(dataset.kb)
    assert learned.estimate is not None
    assert set(learned.estimate.figures) >= {"r@1", "r@5"}
    assert learned.rules.calibration is not None
    assert set(learned.rules.calibration.maps) == {1}


@pytest.mark.parametrize("content", [{}, {"kind": "isotonic"}, {"kind": "beta", "num_candidates": 1, "maps": []}])
def test_what_is_no_calibration_is_refused(content: object, kin: tuple[Dataset, Learned], tmp_path: Path) -> None:
    path = save_run(kin[1], tmp_path / "run")
    add_json(path, "calibration.json", content)
    with pytest.raises(RunError, match="does not describe a calibration"):
        load_calibration(path)


def test_without_validation_facts_there_is_none(kin: tuple[Dataset, Learned]) -> None:
    dataset, learned = kin
    bare = replace(dataset, splits=replace(dataset.splits, valid=dataset.splits.valid[:0]))
    assert Applied(learned.rules, bare, learned.config).fit_calibration(seed=0) is None
