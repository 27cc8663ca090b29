"""`--set preset=scene` as a user walks it: rules of object classes that were weighed together, in every command."""

from __future__ import annotations

from pathlib import Path

import pytest

import nlil
from commandline import Nlil
from nlil.cli.main import run
from nlil.learning.run import load_run

DATA, FEW = "street:40", 8


@pytest.fixture(scope="module")
def scene_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "scene"
    assert (
        run(["learn", DATA, "--out", str(folder), "--quiet", "--set", "preset=scene", "--set", f"top_rules={FEW}"]) == 0
    )
    return folder


def test_what_is_written(scene_run: Path) -> None:
    found = load_run(scene_run)
    config, aggregation = found.config, found.rules.aggregation
    assert (config.preset, config.joint, config.top_rules, found.partial) == ("scene", True, FEW, False)
    assert (aggregation.kind, aggregation.top) == ("noisy-or", 0)
    assert len(found.targets) < len(found.rules) <= FEW * len(found.targets)


def test_rules(nlil_command: Nlil, scene_run: Path) -> None:
    document = nlil_command("rules", scene_run, "--json").json
    assert document["num_rules"] == len(load_run(scene_run).rules)
    text = [item["rule"] for item in document["rules"]]
    assert any(":- \\+ " in rule for rule in text)
    assert all(str(nlil.parse_rule(rule)) == rule for rule in text)
    of_person = nlil_command("rules", scene_run, "--target", "person", "--format", "prolog").out.splitlines()
    assert 0 < len(of_person) < len(text)
    assert set(of_person) == {rule for rule in text if rule.startswith("person(")}


def test_scores_are_not_drawn_as_probabilities(nlil_command: Nlil, scene_run: Path, tmp_path: Path) -> None:
    complaint = nlil_command("evaluate", scene_run, "--calibration", tmp_path / "plot.png").complaint
    assert "--calibration draws scores as probabilities" in complaint
    assert not list(tmp_path.iterdir())


def test_evaluate(nlil_command: Nlil, scene_run: Path) -> None:
    document = nlil_command("evaluate", scene_run, "--json").json
    assert 0.75 < document["r@1"] < document["r@5"] <= 1
    assert document["r@1_related"] > document["r@1_unrelated"]
    assert document["num_queries"] == len(nlil.load(DATA)[1].test)
    assert not {"brier_before", "ece_before", "calibration_candidates"} & set(document)  # scores only order classes
    # Scored alike, whether other rules or other data stand beside it.
    again = nlil_command("evaluate", scene_run, "--data", DATA, "--json").json
    assert (again["r@1"], again["r@5"]) == (document["r@1"], document["r@5"])
    other = nlil_command("evaluate", scene_run, "--data", "street:50", "--seed", "3", "--json").json
    assert other["r@1"] > 0.7


def test_predict_and_explain(nlil_command: Nlil, scene_run: Path) -> None:
    kb, splits = nlil.load(DATA)
    for row in range(0, len(splits.test), max(len(splits.test) // 4, 1)):
        target = kb.predicates[int(splits.test.predicate[row])].name
        entity = kb.entities.name(int(splits.test.subject[row]))
        fact = f"{target}({entity})"
        answers = nlil_command("predict", scene_run, f"{target}(?)", "--top", "1000", "--json").json
        score = next(a["score"] for a in answers["answers"] if a["entity"] == entity)
        why = nlil_command("explain", scene_run, fact, "--json").json
        assert why["score"] == score
        assert why["num_counted"] == why["num_fired"] > 0, "all rules that fire count"
        assert sum(s["share"] for s in why["supports"]) + why["other_share"] == pytest.approx(score, abs=1e-9)
        weight = 1.0
        for support in why["supports"]:
            weight *= 1 - support["weight"]
        assert why["other_share"] or 1 - weight == pytest.approx(score, abs=1e-8)
        few = nlil_command("explain", scene_run, fact, "--top", "1", "--json").json
        assert sum(s["share"] for s in few["supports"]) + few["other_share"] == pytest.approx(score, abs=1e-9)


def test_explain_an_object(nlil_command: Nlil, scene_run: Path) -> None:
    kb, splits = nlil.load(DATA)
    name = kb.entities.name(int(splits.test.subject[0]))
    outcome = nlil_command("explain", scene_run, name)
    assert outcome.code == 0, outcome.err
    assert f"\n{name} is " in outcome.out
    assert "probability " in outcome.out
    assert f"({name})  probability" in nlil_command("explain", scene_run, name, "--all").out


def test_check(nlil_command: Nlil, scene_run: Path) -> None:
    disputes = nlil_command("check", scene_run, "--top", "3", "--json").json["disputes"]
    assert len(disputes) == 3
    for dispute in disputes:
        for fact, score in (("fact", "own_score"), ("competitor", "competitor_score")):
            why = nlil_command("explain", scene_run, dispute[fact], "--json").json
            assert why["score"] == dispute[score]
        assert dispute["own_score"] < dispute["competitor_score"]
    assert nlil_command("check", scene_run, "--top", "2").code == 0


def test_the_seed_and_the_threads_change_nothing_twice(nlil_command: Nlil, scene_run: Path, tmp_path: Path) -> None:
    words = ("learn", DATA, "--set", "preset=scene", "--set", f"top_rules={FEW}", "--threads", "1")
    assert nlil_command(*words, "--out", tmp_path / "again").code == 0
    same = [nlil_command("rules", run, "--json").json["rules"] for run in (scene_run, tmp_path / "again")]
    assert same[0] == same[1]


def test_cut_short(nlil_command: Nlil, tmp_path: Path) -> None:
    words = ("learn", DATA, "--out", tmp_path / "cut", "--set", "preset=scene", "--set", f"top_rules={FEW}")
    document = nlil_command(*words, "--time-limit", "0.000001s", "--json").json
    assert document["partial"]
    assert document["num_rules"] == len(document["targets"]), "priors"
    done = nlil_command(*words, "--resume", "--json").json
    assert not done["partial"]
    assert done["num_rules"] > document["num_rules"]


def test_mixed_targets(nlil_command: Nlil, tmp_path: Path) -> None:
    outcome = nlil_command(
        "learn",
        DATA,
        "--out",
        tmp_path / "run",
        "--set",
        "preset=scene",
        "--quiet",
        "--target",
        "person",
        "--target",
        "red",
    )
    assert "joint: expected targets that are all object classes, got 'red' among them" in outcome.complaint
    assert not (tmp_path / "run").exists()
