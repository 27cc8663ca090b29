"""nlil complete and nlil score: tables in every format, the same figures as predict."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from commandline import Nlil


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from nlil.cli.main import run as call

    folder = tmp_path_factory.mktemp("whole") / "kin"
    assert call(["learn", "kin:80", "--out", str(folder), "--set", "search=count", "--quiet"]) == 0
    return folder


def test_complete_shows_and_writes_the_same(run: Path, tmp_path: Path, nlil_command: Nlil) -> None:
    shown = nlil_command("complete", run, "--top", 12, "--json").json["facts"]
    assert len(shown) == 12
    assert shown == sorted(shown, key=lambda fact: -fact["probability"])
    for name in ("new.tsv", "new.csv.gz", "new.jsonl", "new.parquet"):
        assert nlil_command("complete", run, "--top", 12, "--out", tmp_path / name).code == 0
    lines = (tmp_path / "new.tsv").read_text().splitlines()
    assert lines[0].split("\t") == ["subject", "predicate", "object", "probability", "score", "rule"]
    table = pq.read_table(tmp_path / "new.parquet").to_pylist()
    records = [json.loads(line) for line in (tmp_path / "new.jsonl").read_text().splitlines()]
    assert table == records
    assert [record["rule"] for record in records] == [fact["rule"] for fact in shown]
    first = shown[0]
    query = f"{first['predicate']}({first['subject']}, {first['object']})"
    answer = nlil_command("predict", run, query, "--json").json["answers"][0]
    assert (answer["probability"], answer["score"]) == (first["probability"], first["score"])
    assert not answer["known"]


def test_complete_of_one_target(run: Path, nlil_command: Nlil) -> None:
    found = nlil_command("complete", run, "--target", "uncle", "--json").json["facts"]
    assert {fact["predicate"] for fact in found} == {"uncle"}
    assert "unknown predicate 'unclee'" in nlil_command("complete", run, "--target", "unclee").complaint
    assert "expected a name ending in .tsv" in nlil_command("complete", run, "--out", "x.doc").complaint
    assert "see: nlil complete" in nlil_command("predict", run, "uncle(?, ?)").complaint


def test_score_takes_what_complete_wrote(run: Path, tmp_path: Path, nlil_command: Nlil) -> None:
    new = tmp_path / "new.tsv"
    assert nlil_command("complete", run, "--top", 30, "--out", new).code == 0
    assert nlil_command("score", run, new, "--out", tmp_path / "scored.tsv").code == 0
    written = [line.split("\t") for line in new.read_text().splitlines()[1:]]
    scored = [line.split("\t") for line in (tmp_path / "scored.tsv").read_text().splitlines()[1:]]
    assert [row[:5] for row in written] == [row[:5] for row in scored]
    assert {row[5] for row in scored} == {"0"}


def test_score_of_known_and_of_unknown_names(run: Path, tmp_path: Path, nlil_command: Nlil) -> None:
    from nlil import load

    kb, _ = load("kin:80")
    fact = kb.fact(*(int(column[-1]) for column in (kb.facts.predicate, kb.facts.subject, kb.facts.object)))
    given = tmp_path / "given.tsv"
    given.write_text(
        "\t".join((fact.arguments[0], fact.predicate.name, *fact.arguments[1:])) + "\nnobody\tuncle\tno one\n"
    )
    told = nlil_command("score", run, given, "--json")
    known, unknown = told.json["facts"]
    assert known["known"]
    assert 0 < known["score"] <= 1
    assert (unknown["probability"], unknown["score"]) == (None, None)
    assert told.json["num_unknown"] == 1
    assert "no score for 1 of 2 facts" in told.err
    assert "no such file" in nlil_command("score", run, tmp_path / "none.tsv", "--quiet").complaint


def test_rules_are_filtered(run: Path, nlil_command: Nlil) -> None:
    every = nlil_command("rules", run, "--target", "uncle", "--json").json["rules"]
    filters = (
        "--contains",
        "brother",
        "--length",
        "1-2",
        "--min-support",
        3,
        "--min-confidence",
        0.5,
        "--kind",
        "chain",
    )
    some = nlil_command("rules", run, "--target", "uncle", *filters, "--json").json["rules"]
    expected = [
        rule
        for rule in every
        if "brother(" in rule["rule"].partition(":-")[2]
        and rule["length"] <= 2
        and rule["support"] >= 3
        and rule["confidence"] >= 0.5
    ]
    assert {rule["rule"] for rule in some} <= {rule["rule"] for rule in expected}
    assert some
    assert "--length: expected a number" in nlil_command("rules", run, "--length", "long").complaint
    assert "kind: expected chain" in nlil_command("rules", run, "--kind", "odd").complaint


def test_settings_by_topic_and_by_name(nlil_command: Nlil) -> None:
    from dataclasses import fields

    from nlil import LearnerConfig

    every = nlil_command("settings", "--json").json["settings"]
    listed = [name for topic in every.values() for name in topic]
    assert sorted(listed) == sorted(f.name for f in fields(LearnerConfig))  # each setting under one topic
    assert listed.index("seed") == 0 < listed.index("max_length")
    assert nlil_command("settings", "max_length", "--json").json["default"] == "3"
    assert nlil_command("settings", "scene", "--json").json["values"]["joint"] is True
    assert "unknown setting 'max_lenght'; closest: 'max_length'" in nlil_command("settings", "max_lenght").complaint
