"""evaluate through the command line: calibration, triple classification, rules on another graph."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import nlil
from commandline import Nlil
from nlil.config import LearnerConfig
from nlil.data.dataset import Dataset
from nlil.evaluation import candidates
from nlil.kernel.aggregation import KINDS, Aggregation
from nlil.learning.opening import Applied

COUNTED = ("search=count", "max_length=2", "typed=off")


def learn(nlil_command: Nlil, data: object, run: Path, *settings: str) -> Path:
    words = [word for setting in (*COUNTED, *settings) for word in ("--set", setting)]
    assert nlil_command("learn", data, "--out", run, "--quiet", *words).code == 0
    return run


def written(dataset: Dataset, folder: Path, rename: Callable[[str], str] = str) -> Path:
    """A folder of TSV files with the facts of a generated base."""
    folder.mkdir()
    for split in ("train", "valid", "test"):
        facts = dataset.splits[split]
        lines = []
        for p, s, o in zip(facts.predicate, facts.subject, facts.object):
            fact = dataset.kb.fact(int(p), int(s), int(o))
            lines.append("\t".join((rename(fact.arguments[0]), fact.predicate.name, *map(rename, fact.arguments[1:]))))
        (folder / f"{split}.tsv").write_text("".join(f"{line}\n" for line in lines))
    return folder


def test_scores_become_probabilities(nlil_command: Nlil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "MOST_QUERIES", 60)  # fewer than there are, so that the seed matters
    run = learn(nlil_command, "kin", tmp_path / "run", "hold_out=0")
    before = nlil_command("predict", run, "uncle(?, vera1)", "--json").json["answers"]
    assert all(0 < a["probability"] < 1 for a in before)  # `learn` has calibrated
    document = nlil_command("evaluate", run, "--json").json
    assert document["ece_after"] < document["ece_before"]
    assert document["brier_after"] < document["brier_before"]
    kept = (run / "calibration.json").read_bytes()
    # What a run keeps follows from the run, not from the call; and it is fitted once.
    (run / "calibration.json").unlink()
    checksums = json.loads((run / "checksums.json").read_text())
    checksums.pop("calibration.json")
    (run / "checksums.json").write_text(json.dumps(checksums))
    assert nlil_command("evaluate", run, "--split", "valid", "--seed", "5").code == 0
    assert (run / "calibration.json").read_bytes() == kept
    # On the validation facts themselves no map is measured on what it was fitted on.
    valid = nlil_command("evaluate", run, "--split", "valid", "--json").json
    apart = Applied(nlil.load_run(run).rules, nlil.load_dataset("kin"), LearnerConfig()).reliability("valid").figures
    assert {key: valid[key] for key in apart} == pytest.approx(apart)
    assert valid["brier_after"] < valid["brier_before"]
    answers = nlil_command("predict", run, "uncle(?, vera1)", "--json").json["answers"]
    assert [a["entity"] for a in answers] == [a["entity"] for a in before]
    said = [a["probability"] for a in answers]
    assert said == sorted(said, reverse=True)
    assert all(0 < value < 1 for value in said)
    fact = f"uncle({answers[0]['entity']}, vera1)"
    explained = nlil_command("explain", run, fact, "--json").json
    asked = nlil_command("predict", run, fact, "--json").json["answers"][0]
    assert explained["probability"] == pytest.approx(asked["probability"], rel=1e-6)
    assert "probability" in nlil_command("explain", run, fact).out
    assert "probability" in nlil_command("predict", run, "uncle(?, vera1)").out


def test_both_sides_are_explained_as_they_are_predicted(nlil_command: Nlil, tmp_path: Path) -> None:
    """A weighing that tells a rule's constant in the question from one in the answer: the two sides differ."""
    dataset = nlil.load_dataset("kin:80")
    learned = nlil.Learner(search="count", max_length=2).fit(dataset.kb, ["aunt"], splits=dataset.splits)
    factor = {"query constant": 0.2, "query constant, any": 0.1, "longer chain": 0.5}
    weighing = tuple((factor.get(kind, 1.0), 0.5) for kind in KINDS)
    rules = replace(learned.rules, aggregation=Aggregation("noisy-or", 5, weighing))
    run = replace(learned, rules=rules).save(tmp_path / "run", source="kin:80", checksum=dataset.checksum)
    assert nlil_command("evaluate", run).code == 0
    answers = nlil_command("predict", run, "aunt(?, alice1)", "--json").json["answers"]
    new = [a for a in answers if not a["known"]]
    assert len(new) > 2
    differ = 0
    for answer in new:
        fact = f"aunt({answer['entity']}, alice1)"
        one, two = (nlil_command("explain", run, fact, "--side", side, "--json").json for side in ("object", "subject"))
        assert [two[key] for key in ("query", "score", "probability")] == [
            "aunt(?, alice1)",
            answer["score"],
            answer["probability"],
        ]
        objects = nlil_command("predict", run, one["query"], "--top", "999", "--json").json["answers"]
        (same,) = [a for a in objects if a["entity"] == "alice1"]
        assert [one["score"], one["probability"]] == [same["score"], same["probability"]]
        assert nlil_command("explain", run, fact, "--json").json == one
        for document in (one, two):
            shares = sum(s["share"] for s in document["supports"]) + document["other_share"]
            assert shares == pytest.approx(document["score"], abs=1e-9)
        differ += one["score"] != two["score"]
    assert differ
    assert "answers aunt(?, alice1); " in nlil_command("explain", run, fact, "--side", "subject").out
    assert "choose object or subject" in nlil_command("explain", run, fact, "--side", "left").complaint


def test_reliability_plot(nlil_command: Nlil, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run, picture = learn(nlil_command, "kin:80", tmp_path / "run"), tmp_path / "reliability.png"
    assert nlil_command("evaluate", run, "--calibration", picture).code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    refused = nlil_command("evaluate", run, "--split", "train", "--calibration", picture, "--quiet")
    assert "choose --split valid or test" in refused.complaint


def test_without_validation_facts(nlil_command: Nlil, tmp_path: Path) -> None:
    data = written(nlil.load_dataset("kin:80"), tmp_path / "data")
    (data / "valid.tsv").unlink()
    run = learn(nlil_command, data, tmp_path / "run")
    assert (run / "calibration.json").exists()
    figures = nlil_command("evaluate", run, "--json").json
    assert figures["brier_after"] < figures["brier_before"]
    assert nlil_command("predict", run, "uncle(?, vera1)", "--json").json["answers"][0]["probability"] > 0
    estimate = json.loads((run / "run.json").read_text())["estimate"]
    assert estimate["num_held_out"] == estimate["num_facts"] > 100
    assert estimate["figures"]["mrr"] == pytest.approx(figures["mrr"], abs=0.1)
    again = nlil_command("learn", data, "--out", run, "--force", *("--set", "search=count", "--set", "max_length=2"))
    assert "estimate for new facts: MRR ." in again.out
    assert "held-out training facts" in again.out


def test_without_facts_to_hold_out(nlil_command: Nlil, tmp_path: Path) -> None:
    data = written(nlil.load_dataset("kin:80"), tmp_path / "data")
    (data / "valid.tsv").unlink()
    run = learn(nlil_command, data, tmp_path / "run", "hold_out=0")
    outcome = nlil_command("evaluate", run, "--json")
    assert "brier_before" in outcome.json
    assert "brier_after" not in outcome.json
    assert "scores are not calibrated" in outcome.err
    assert not (run / "calibration.json").exists()
    assert nlil_command("predict", run, "uncle(?, vera1)", "--json").json["answers"][0]["probability"] is None


def test_given_negatives_are_told_from_facts(nlil_command: Nlil, tmp_path: Path) -> None:
    data = written(nlil.load_dataset("kin"), tmp_path / "data")
    for split in ("valid", "test"):
        turned = [line.split("\t") for line in (data / f"{split}.tsv").read_text().splitlines()]
        turned = [(b, p, a) for a, p, b in turned if p in ("mother", "father", "uncle", "aunt")]
        (data / f"{split}_negatives.tsv").write_text("".join("\t".join(t) + "\n" for t in turned))
    run = learn(nlil_command, data, tmp_path / "run")
    document = nlil_command("evaluate", run, "--json").json
    assert document["accuracy"] > 0.9
    assert document["auc"] > 0.95
    assert {name for name, row in document["per_predicate"].items() if "accuracy" in row} <= {
        "mother/2",
        "father/2",
        "uncle/2",
        "aunt/2",
    }


def test_rules_score_another_graph(nlil_command: Nlil, tmp_path: Path) -> None:
    """One rule a target ranks alike whatever its weight, so rules counted there by --rules give the same figures."""
    here = written(nlil.load_dataset("kin", seed=1), tmp_path / "here")
    there = written(nlil.load_dataset("kin", seed=2), tmp_path / "there", lambda name: f"other_{name}")
    run = learn(nlil_command, here, tmp_path / "run", "constants=off", "max_length=1", "top_rules=1")
    outcome = nlil_command("evaluate", run, "--data", there, "--json")
    document = outcome.json
    assert document["left_out_unknown_constant"] == document["left_out_unknown_predicate"] == 0
    assert "left out" not in outcome.err
    file = tmp_path / "rules.pl"
    file.write_text(nlil_command("rules", run, "--format", "prolog").out)
    by_rules = nlil_command("evaluate", "--rules", file, "--data", there, "--json").json
    shared = [name for name in by_rules["per_predicate"] if by_rules["per_predicate"][name]["num_queries"]]
    assert len(shared) > 5
    for name in shared:
        assert document["per_predicate"][name] == by_rules["per_predicate"][name], name
    assert document["num_rules"] == by_rules["num_rules"]
    assert 0.2 < document["mrr"] <= 1
    assert not (run / "metrics.json").exists()


def test_what_other_data_cannot_say_is_left_out_and_counted(nlil_command: Nlil, tmp_path: Path) -> None:
    here = written(nlil.load_dataset("kin", seed=1), tmp_path / "here")
    there = written(nlil.load_dataset("kin", seed=2), tmp_path / "there", lambda name: f"other_{name}")
    for file in there.iterdir():
        lines = [line for line in file.read_text().splitlines(keepends=True) if "\tnephew\t" not in line]
        file.write_text("".join(lines))
    run = tmp_path / "run"
    words = [word for setting in COUNTED for word in ("--set", setting)]
    # A target would count as known there: rules derive what no fact says yet. nephew is none.
    assert nlil_command("learn", here, "--out", run, "--target", "uncle", "--target", "son", *words).code == 0
    rules = [nlil.parse_rule(item["rule"]) for item in nlil_command("rules", run, "--json").json["rules"]]
    predicates = sum(any(p.name == "nephew" for p in rule.predicates) for rule in rules)
    constants = sum(bool(rule.constants) and all(p.name != "nephew" for p in rule.predicates) for rule in rules)
    outcome = nlil_command("evaluate", run, "--data", there, "--json")
    document = outcome.json
    assert min(constants, predicates) > 0
    assert document["left_out_unknown_constant"] == constants
    assert document["left_out_unknown_predicate"] == predicates
    assert document["num_rules"] == len(rules) - constants - predicates > 0
    assert f"{constants + predicates:,} of {len(rules):,} rules are left out: {predicates:,} use" in outcome.err
    assert "left_out_unknown_constant" in nlil_command("evaluate", run, "--data", there).out
