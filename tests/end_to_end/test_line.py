"""The straight line as a user walks it: learn, rules, evaluate, predict, explain, check, materialize."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import nlil
from commandline import Nlil
from nlil.learning.run import load_run

UNCLE = "uncle(X, Y) :- brother(X, Z1), father(Z1, Y), Z1 \\= X, Y \\= X, Y \\= Z1."


def test_learn_writes_a_whole_folder(nlil_command: Nlil, tmp_path: Path) -> None:
    run = tmp_path / "runs" / "uncle"
    document = nlil_command("learn", "kin", "--out", run, "--target", "uncle", "--json").json
    assert document["targets"] == ["uncle"]
    assert document["num_rules"] == sum(document["kinds"].values()) > 0
    assert (document["partial"], document["missing"], document["seed"]) == (False, {}, 0)
    assert sorted(p.name for p in run.iterdir()) == [
        "bodies.parquet",
        "checksums.json",
        "config.json",
        "entities.parquet",
        "history.jsonl",
        "journal.json",
        "predicates.json",
        "rules.parquet",
        "run.json",
        "theory.parquet",
    ]
    assert [p.name for p in run.parent.iterdir()] == ["uncle"]
    assert json.loads((run / "run.json").read_text())["source"] == "kin"
    assert len(load_run(run).rules) == document["num_rules"]


def test_rules_in_every_format(nlil_command: Nlil, kin_run: Path) -> None:
    written = nlil_command("rules", kin_run, "--target", "uncle", "--format", "prolog").out.splitlines()
    lines = [line for line in written if not line.startswith(":-")]
    assert UNCLE in lines
    assert all(str(nlil.parse_rule(line)) == line for line in lines)
    document = nlil_command("rules", kin_run, "--target", "uncle", "--json").json
    assert document["num_rules"] == len(lines)
    assert [item["rule"] for item in document["rules"]] == lines
    assert [item["exclusion"] for item in document["exclusions"]] == written[len(lines) :]
    found = next(item for item in document["rules"] if item["rule"] == UNCLE)
    assert (found["confidence"], found["target"], found["length"]) == (1.0, "uncle", 2)
    assert nlil_command("rules", kin_run, "--format", "json", "--top", "2").json["num_rules"] > 2
    text = nlil_command("rules", kin_run, "--target", "uncle", "--top", "3").out
    assert "confidence" in text
    assert f"3 of {len(lines):,} rules" in text


def test_planted_rules_are_found(nlil_command: Nlil, kin_run: Path) -> None:
    lines = set(nlil_command("rules", kin_run, "--format", "prolog").out.splitlines())
    planted = nlil.load_dataset("kin").planted
    assert planted
    assert {str(rule) for rule in planted} <= lines


def test_evaluate(nlil_command: Nlil, kin_run: Path) -> None:
    document = nlil_command("evaluate", kin_run, "--json").json
    for key in ("mrr", "hits@1", "hits@3", "hits@10", "mrr_optimistic", "mrr_pessimistic"):
        assert 0 <= document[key] <= 1
    assert document["mrr_pessimistic"] <= document["mrr"] <= document["mrr_optimistic"]
    assert document["num_queries"] == 2 * len(nlil.load("kin")[1].test)
    assert document["mrr"] > 0.5
    assert {"num_rules", "seconds", "peak_memory_mb"} <= set(document)
    kept = json.loads((kin_run / "metrics.json").read_text())
    assert kept["test"]["mrr"] == document["mrr"]
    assert load_run(kin_run).config.seed == 0


def test_classes_of_scenes(nlil_command: Nlil, street_run: Path) -> None:
    document = nlil_command("evaluate", street_run, "--json").json
    assert 0 < document["r@1"] <= document["r@5"] <= 1
    assert "mrr" not in document


def test_evaluate_other_unary_targets(nlil_command: Nlil, even_run: Path) -> None:
    document = nlil_command("evaluate", even_run, "--split", "train", "--json").json
    assert 0 <= document["precision"] <= 1
    assert 0 <= document["recall"] <= 1


def test_rules_by_hand(nlil_command: Nlil, tmp_path: Path, kin_run: Path) -> None:
    by_hand = tmp_path / "mine.pl"
    by_hand.write_text("% by hand\naunt(A, B) :- sister(A, P), father(P, B).\n")
    document = nlil_command("evaluate", "--rules", by_hand, "--data", "kin", "--json").json
    assert document["num_rules"] == 1
    written = tmp_path / "all.json"
    written.write_text(nlil_command("rules", kin_run, "--target", "aunt", "--top", "40", "--json").out)
    learned = nlil_command("evaluate", "--rules", written, "--data", "kin", "--json").json
    assert learned["mrr"] >= document["mrr"]


def test_predict_and_explain(nlil_command: Nlil, kin_run: Path) -> None:
    kb, splits = nlil.load("kin")
    own = splits.test.of(kb.predicate_id(kb.predicate("aunt")))
    fact = kb.fact(int(own.predicate[0]), int(own.subject[0]), int(own.object[0]))
    one, two = fact.arguments
    document = nlil_command("predict", kin_run, f"aunt({one}, ?)", "--json").json
    answer = next(a for a in document["answers"] if a["entity"] == two)
    assert answer["known"]
    assert 0 < answer["score"] <= 1
    explained = nlil_command("explain", kin_run, f"aunt({one}, {two})", "--json").json
    assert explained["score"] == pytest.approx(answer["score"], abs=1e-6)
    assert nlil_command("explain", kin_run, f"aunt({one}, {two})").code == 0


def test_many_queries(nlil_command: Nlil, kin_run: Path, tmp_path: Path) -> None:
    queries, out = tmp_path / "queries.txt", tmp_path / "answers.tsv"
    names = list(nlil.load("kin")[0].entities)[:3]
    queries.write_text("".join(f"uncle({name}, ?)\n" for name in names))
    document = nlil_command("predict", kin_run, "--queries", queries, "--out", out, "--top", "2", "--json").json
    lines = out.read_text().splitlines()
    assert lines[0] == "query\trank\tentity\tscore\tknown\tprobability"
    assert len(lines) == 1 + document["answers"]
    assert document["queries"] == 3


def test_check(nlil_command: Nlil, street_run: Path) -> None:
    disputes = nlil_command("check", street_run, "--top", "3", "--json").json["disputes"]
    assert len(disputes) <= 3
    assert nlil_command("check", street_run).code == 0


@pytest.mark.parametrize("ending", ["tsv", "nt", "pl", "parquet"])
def test_materialize(ending: str, nlil_command: Nlil, kin_run: Path, tmp_path: Path) -> None:
    out = tmp_path / f"new.{ending}"
    document = nlil_command("materialize", kin_run, "--out", out, "--json").json
    assert document["num_facts"] > 0
    kb, _ = nlil.load(out)
    assert len(kb.facts) == document["num_facts"]


def test_materialize_reaches_the_fixpoint(nlil_command: Nlil, even_run: Path, tmp_path: Path) -> None:
    """even from zero by succ, with no even facts given: all rounds are needed."""
    facts = tmp_path / "numbers.tsv"
    facts.write_text("0\tzero\n" + "".join(f"{i}\tsucc\t{i + 1}\n" for i in range(20)))
    out = tmp_path / "new.tsv"
    document = nlil_command("materialize", even_run, "--out", out, "--data", facts, "--json").json
    derived = {line.split("\t")[0] for line in out.read_text().splitlines()}
    assert derived == {str(i) for i in range(0, 21, 2)}
    assert document["rounds"] > 1


def test_rules_apply_to_another_base(nlil_command: Nlil, kin_run: Path) -> None:
    outcome = nlil_command("evaluate", kin_run, "--data", "kin:60", "--json")
    assert outcome.json["data"] == "kin:60"
    assert outcome.json["num_queries"] > 0
    assert "rules are left out" in outcome.err


def test_demo(nlil_command: Nlil) -> None:
    document = nlil_command("demo", "--json").json
    assert document["num_rules"] > 20_000 > 18 * 20 >= document["theory"] > 0


def test_datasets(nlil_command: Nlil) -> None:
    document = nlil_command("datasets", "--json").json
    assert [item["name"] for item in document["builtin"]] == ["even", "kin", "street", "scenes", "planted"]
    assert "fb15k-237" in {item["name"] for item in document["catalog"]}
    assert "kin is built in" in nlil_command("datasets", "get", "kin").out
