"""Labels are accepted wherever they are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from commandline import Nlil
from nlil.data.kb import KnowledgeBase
from nlil.errors import UnknownName
from nlil.logic.query import parse_query


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from nlil.cli.main import run as call

    folder = tmp_path_factory.mktemp("labelled")
    data = folder / "data"
    data.mkdir()
    rows = [f"Q{i}\tP1\tC{i % 5}\nQ{i}\tP2\tL{i % 5}\nC{i % 5}\tP3\tL{i % 5}\n" for i in range(60)]
    (data / "train.tsv").write_text("".join(rows))
    names = {f"Q{i}": f"Person {i}" for i in range(60)} | {"Q7": "Ann", "Q8": "Ann", "L2": "French"}
    (data / "labels.tsv").write_text("".join(f"{name}\t{label}\n" for name, label in names.items()))
    (data / "relation_labels.tsv").write_text("P1\tlives in\nP2\tspeaks\nP3\tlanguage\n")
    assert call(["learn", str(data), "--out", str(folder / "run"), "--set", "search=count", "--quiet"]) == 0
    return folder / "run"


def test_queries_and_targets_by_label(run: Path, nlil_command: Nlil) -> None:
    by_name = nlil_command("predict", run, "P2(Q3, ?)", "--json").json["answers"]
    assert nlil_command("predict", run, "speaks(Person 3, ?)", "--json").json["answers"] == by_name
    assert nlil_command("predict", run, "Speaks(person 3, ?)", "--json").json["answers"] == by_name
    shown = nlil_command("predict", run, "speaks(?, French)", "--json").json["answers"]
    assert shown == nlil_command("predict", run, "P2(?, L2)", "--json").json["answers"]
    rules = [nlil_command("rules", run, "--target", one, "--format", "prolog").out for one in ("P2", "speaks")]
    assert rules[0] == rules[1] != ""
    facts = [nlil_command("complete", run, "--target", one, "--json").json for one in ("P2", "speaks")]
    assert facts[0] == facts[1]
    told = [nlil_command("explain", run, one, "--json").json for one in ("P2(Q3, L3)", "speaks(Person 3, L3)")]
    assert told[0] == told[1]
    other = [
        nlil_command("explain", run, "P2(Q3, L3)", "--rather-than", one, "--json").json for one in ("L2", "French")
    ]
    assert other[0] == other[1]
    checked = [nlil_command("check", run, "--target", one, "--json").json for one in ("P2", "speaks")]
    assert checked[0] == checked[1]
    assert nlil_command("check", run, "--threshold", 1, "--json").json == {"disputes": []}
    about = [nlil_command("rules", run, "--contains", one, "--format", "prolog").out for one in ("L2", "french")]
    assert about[0] == about[1] != ""


def test_facts_and_rules_of_files_by_label(run: Path, nlil_command: Nlil, tmp_path: Path) -> None:
    files = {
        "names.tsv": "Q3\tP2\tL2\nQ9\tP1\tC1\n",
        "labels.tsv": "Person 3\tspeaks\tFrench\nperson 9\tlives in\tC1\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    figures = [
        [{key: fact[key] for key in ("probability", "score", "known")} for fact in told["facts"]]
        for told in (nlil_command("score", run, tmp_path / name, "--json").json for name in files)
    ]
    assert figures[0] == figures[1]
    assert all(fact["score"] is not None for fact in figures[0])
    (tmp_path / "ambiguous.tsv").write_text("Ann\tspeaks\tFrench\n")
    assert nlil_command("score", run, tmp_path / "ambiguous.tsv", "--json").json["num_unknown"] == 1
    (tmp_path / "rules.pl").write_text("speaks(X, 'French') :- 'lives in'(X, 'C2').\n")
    data = run.parent / "data"
    told = nlil_command("evaluate", "--rules", tmp_path / "rules.pl", "--data", data, "--split", "train", "--json").json
    assert told["num_queries"] == 120


def test_a_label_of_several_and_of_none(run: Path, nlil_command: Nlil) -> None:
    assert "it is the label of Q7, Q8; write one of these" in nlil_command("predict", run, "speaks(Ann, ?)").complaint
    assert "closest: 'French'" in nlil_command("predict", run, "speaks(?, Frenhc)").complaint
    assert "closest: 'speaks'" in nlil_command("rules", run, "--target", "speeks").complaint


def test_a_name_wins_over_a_label() -> None:
    from dataclasses import replace

    kb = KnowledgeBase.from_facts([("a", "p", "b"), ("b", "q", "c")])
    kb = replace(kb, entity_labels={"a": "b", "c": "Sea"}, predicate_labels={"p": "q", "q": "Queue"})
    assert str(kb.resolved(parse_query("p(b, sea)"))) == "p(b, c)"
    assert str(kb.resolved(parse_query("q(b, ?)"))) == "q(b, ?)"
    assert kb.predicate("queue").name == "q"
    with pytest.raises(UnknownName, match="unknown entity 'se'"):
        kb.resolved(parse_query("p(se, ?)"))
    with pytest.raises(UnknownName, match="p/2 takes two arguments"):
        kb.resolved(parse_query("p(a)"))


def test_split_by_command(tmp_path: Path, nlil_command: Nlil) -> None:
    from nlil import load

    out = tmp_path / "parts"
    sizes = nlil_command("split", "kin:60", "--out", out, "--test", 0.2, "--valid", 0.1, "--json").json
    kb, splits = load(out)
    from nlil.datasets import load_dataset

    every = {str(f) for f in load_dataset("kin:60").complete().named()}
    parts = [{str(f) for f in kb.named(splits[name])} for name in ("train", "valid", "test")]
    assert sum(map(len, parts)) == len(every)
    assert set.union(*parts) == every
    assert sizes["test"] == round(0.2 * len(every))
    trained = {name for f in kb.named() for name in f.arguments}
    assert trained == set(kb.entities)
    assert "is not empty" in nlil_command("split", "kin:60", "--out", out).complaint
    by_entity = tmp_path / "entities"
    assert nlil_command("split", "kin:60", "--out", by_entity, "--by", "entity", "--seed", 3).code == 0
    kb, splits = load(by_entity)
    subjects = [{f.arguments[0] for f in kb.named(splits[name])} for name in ("train", "valid", "test")]
    assert subjects[0].isdisjoint(subjects[2])
    assert subjects[2]
    assert (
        "by: expected random, entity or time"
        in nlil_command("split", "kin", "--out", tmp_path / "x", "--by", "place").complaint
    )
    assert (
        "sum to less than 1"
        in nlil_command("split", "kin", "--out", tmp_path / "x", "--valid", 0.6, "--test", 0.6).complaint
    )
