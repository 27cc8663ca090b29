"""nlil learn --target-scores: from a table of scores to rules, fidelity and a run that remembers both."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from commandline import Nlil
from nlil.cli.main import run
from nlil.datasets import load_dataset
from nlil.learning.folder import sha256
from nlil.learning.run import load_with_info
from nlil.logic.figures import number
from nlil.logic.predicate import Predicate

DATA = "street:20"
QUICK = ("--set", "top_rules=6", "--set", "max_length=2", "--threads", "1")
DOCS = Path(__file__).parents[2] / "docs"


def score_rows() -> list[tuple[str, str, float]]:
    """A classifier that calls every dog a leash, in both splits, and is .9 sure of whatever it says."""
    dataset = load_dataset(DATA)
    rows = []
    for facts in (dataset.splits.train, dataset.splits.test):
        facts = facts[np.isin(facts.predicate, list(dataset.kb.classes))]
        for entity, p in zip(dataset.kb.entities.names(facts.subject), facts.predicate):
            name = dataset.kb.predicates[p].name
            name = "leash" if name == "dog" else name
            rows += [(entity, name, 0.9), (entity, "dog", 0.1)]
    return rows


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scores") / "scores.tsv"
    path.write_text("".join(f"{e}\t{c}\t{s}\n" for e, c, s in score_rows()))
    return path


@pytest.fixture(scope="module")
def imitating_run(scores: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    assert run(["learn", DATA, "--target-scores", str(scores), "--out", str(out), "--quiet", *QUICK]) == 0
    return out


def test_the_run_keeps_fidelity_and_remembers_the_scores(imitating_run: Path, scores: Path) -> None:
    learned = load_with_info(imitating_run)[1]
    assert learned.target_scores == {"path": str(scores), "sha256": sha256(scores)}
    found = learned.fidelity
    assert found is not None
    assert found.to_dict() == json.loads((imitating_run / "fidelity.json").read_text())
    assert "fidelity.json" in json.loads((imitating_run / "checksums.json").read_text())
    assert found.held_out == "test split"
    assert found["r@1"] > 0.85
    test = load_dataset(DATA).splits.test
    dogs = len(test.of(learned.rules.predicates.index(Predicate("dog", 1))))
    assert found.accuracy["classifier"] == pytest.approx(1 - dogs / found.num_known)
    assert dogs
    assert {p.name for p in learned.targets} == {c for _, c, _ in score_rows()}


def test_the_rules_serve_the_other_commands(nlil_command: Nlil, imitating_run: Path) -> None:
    rules = nlil_command("rules", imitating_run, "--target", "leash", "--json").json
    assert any("pulling(X" in rule["rule"] for rule in rules["rules"])  # what a dog does
    figures = nlil_command("evaluate", imitating_run, "--quiet", "--json").json
    learned = load_with_info(imitating_run)[1]
    assert learned.fidelity is not None
    assert figures["r@1"] == pytest.approx(learned.fidelity.accuracy["rules"])


def test_the_report_shows_fidelity(nlil_command: Nlil, imitating_run: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert nlil_command("report", imitating_run, "--out", page, "--quiet").code == 0
    text = " ".join(re.sub(r"<[^>]*>", " ", page.read_text(encoding="utf-8")).split())
    found = load_with_info(imitating_run)[1].fidelity
    assert found is not None
    assert f"compared with it on {found.num_objects:,} others (test split)" in text
    for what, value in (
        ("(r@1)", found["r@1"]),
        ("(r@5)", found["r@5"]),
        ("scores, " + number(found["entropy"]), found["cross_entropy"]),
        (
            f"accuracy of the classifier if the true class is known ({found.num_known:,})",
            found.accuracy["classifier"],
        ),
    ):
        assert f"{what} {number(value)}" in text
    assert "accuracy of the rules" in text
    assert "{classifier} {rules} {truth} {count}".format(**found.pairs[0]) in text
    assert found.objects[0]["object"] in text
    first = found.formulas[0]
    assert f"{number(first['precision'])} {number(first['recall'])} {number(first['f1'])}" in text
    # Fidelity is that of the objects asked about then: of other data it says nothing.
    assert nlil_command("report", imitating_run, "--data", "street:22", "--out", page, "--quiet").code == 0
    assert 'id="fidelity"' not in page.read_text(encoding="utf-8")


def test_the_end_of_learn_shows_fidelity(nlil_command: Nlil, scores: Path, imitating_run: Path, tmp_path: Path) -> None:
    again = nlil_command("learn", DATA, "--target-scores", scores, "--out", imitating_run, "--resume", *QUICK, "--json")
    assert "nothing is left to do" in again.err
    kept = load_with_info(imitating_run)[1]
    assert kept.fidelity is not None
    assert again.json["fidelity"] == kept.fidelity.to_dict()
    assert again.json["target_scores"]["sha256"] == sha256(scores)
    table = tmp_path / "scores.csv"
    table.write_text("entity,class,score\n" + "".join(f"{e},{c},{s}\n" for e, c, s in score_rows()))
    shown = nlil_command("learn", DATA, "--target-scores", table, "--out", tmp_path / "run", "--quiet", *QUICK).out
    assert "agreement with the classifier (r@1)" in shown
    assert "accuracy of the classifier" in shown
    assert "where they disagree" in shown
    assert "one formula for each class" in shown
    assert load_with_info(tmp_path / "run")[1].fidelity == kept.fidelity  # the format of the table does not matter


def test_another_table_does_not_continue_a_run(nlil_command: Nlil, imitating_run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.tsv"
    other.write_text("s0_0\tdog\t1\n")
    words = ("learn", DATA, "--out", imitating_run, "--resume", *QUICK)
    assert "was learned with other target scores" in nlil_command(*words, "--target-scores", other).complaint
    assert "now none" in nlil_command(*words).complaint


def test_a_replaced_run_keeps_no_fidelity(nlil_command: Nlil, imitating_run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(imitating_run, copy)
    assert nlil_command("learn", "even:10", "--out", copy, "--force", "--quiet", "--set", "search=count").code == 0
    assert not (copy / "fidelity.json").exists()
    assert load_with_info(copy)[1].target_scores == {}


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        (
            "a.tsv",
            "s0_0\tdog\t1\ns0_1\tdog\n",
            "a.tsv:2: expected a table of entity, class, score with tabs between, got",
        ),
        ("a.csv", "entity,class,score\ns0_0,dog,1\n\ns0_1,dog,2\n", "a.csv:4: expected a score in [0, 1], got '2'"),
        ("a.tsv", "s0_0\tdog\thigh\n", "a.tsv:1: expected a score in [0, 1], got 'high'"),
        ("a.tsv", "", "a.tsv: expected a table of entity, class, score, got no rows"),
        ("a.parquet", "no", "a.parquet: expected a Parquet file"),
        ("a.tsv", "s0_0\tunicorn\t1\n", "1 unknown ones of 1, 'unicorn' among them"),
        ("a.tsv", "s999_0\tdog\t1\ns0_0\tdog\t1\n", "1 unknown ones of 2, 's999_0' among them"),
        ("a.tsv", "s24_0\tdog\t1\n", "expected scores of objects to learn from, got 1 of other splits only"),
    ],
)
def test_bad_tables_end_with_one_sentence(
    nlil_command: Nlil, tmp_path: Path, name: str, text: str, complaint: str
) -> None:
    (tmp_path / name).write_text(text)
    words = ("learn", DATA, "--target-scores", tmp_path / name, "--out", tmp_path / "run", "--quiet")
    assert complaint in nlil_command(*words).complaint
    assert not (tmp_path / "run").exists()


def test_options_that_exclude_each_other(nlil_command: Nlil, scores: Path, tmp_path: Path) -> None:
    words = ("learn", DATA, "--target-scores", scores, "--out", tmp_path / "run", "--quiet")
    assert "--target and --target-scores exclude each other" in nlil_command(*words, "--target", "dog").complaint
    missing = nlil_command("learn", DATA, "--target-scores", tmp_path / "no.tsv", "--out", tmp_path / "run", "--quiet")
    assert "no such file" in missing.complaint


def test_the_worked_example_of_the_docs(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("explain_classifier", DOCS / "explain_classifier.py")
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    lines = example.main(["--data", DATA, "--out", str(tmp_path), "--rules", "8", "--threads", "1"])
    assert any("agreement with the perceptron" in line for line in lines)
    assert (tmp_path / "scores.tsv").is_file()
    learned = load_with_info(tmp_path / "run")[1]
    assert learned.fidelity is not None
    assert learned.fidelity["r@1"] > 0.8
    assert len([line for line in lines if line.startswith("| `")]) == 10
