"""Rules out of a run and into other systems, through the command line; rules of other systems in."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import nlil
from commandline import Nlil
from nlil.cli.rules import has_graphs
from nlil.kernel.evaluator import Evaluator
from nlil.learning.opening import open_run
from nlil.logic.rule import RuleStats, ScoredRule

SCHEMA = Path(__file__).parents[2] / "docs" / "rule-schema.json"
TOP = ("--target", "uncle", "--top", "4")


def statements(text: str) -> Iterator[str]:
    yield from (part for part in text.split(";\n") if part.strip())


def test_sql_runs_by_itself(nlil_command: Nlil, plain_run: Path, tmp_path: Path) -> None:
    """The exported rules over the exported facts answer as the engine does, exclusions applied."""
    done = nlil_command("rules", plain_run, "--target", "uncle", "--format", "sql", "--facts", tmp_path / "facts.sql")
    assert done.code == 0, done.err
    connection = sqlite3.connect(":memory:")
    connection.executescript((tmp_path / "facts.sql").read_text(encoding="utf-8"))
    found = {(s, o) for query in statements(done.out) for s, _, o in connection.execute(query)}
    connection.close()
    rules, kb = nlil.load_run(plain_run).rules.for_target("uncle"), nlil.load_dataset("kin").kb
    exclusions = [nlil.parse_rule(f"uncle(X, Y) :- {str(e).partition('Y), ')[2]}") for e in rules.exclusions]
    excluded = {pair for rule in exclusions for pair in answers(rule, kb)}
    derived = {pair for scored in rules for pair in answers(scored.rule, kb)}
    assert derived & excluded, "or exclusions are not put to the test"
    assert found == derived - excluded


def answers(rule: nlil.Rule, kb: nlil.KnowledgeBase) -> set[tuple[str, str]]:
    name, everyone = kb.entities.name, np.arange(kb.num_entities)
    x, y = (ids.ravel() for ids in np.meshgrid(everyone, everyone))
    return {(name(int(x[i])), name(int(y[i]))) for i in np.flatnonzero(Evaluator(kb).values(rule, x, y))}


def test_json_keeps_its_schema(nlil_command: Nlil, kin_run: Path, street_run: Path) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for run in (kin_run, street_run):
        document = nlil_command("rules", run, "--format", "json", "--top", "300").json
        jsonschema.validate(document, schema)
        assert document["rules"]
        broken = json.loads(json.dumps(document))
        broken["rules"][0]["tree"]["body"] = {"xor": []}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, schema)


def test_what_cannot_be_said_ends_with_a_reason(nlil_command: Nlil, kin_run: Path) -> None:
    assert "AnyBURL: it has no unary predicates" in nlil_command("rules", kin_run, "--format", "anyburl").complaint
    done = nlil_command("rules", kin_run, "--format", "anyburl", "--leave-out", "--quiet")
    assert done.code == 0
    assert "rules are left out; the first: AnyBURL" in done.err
    assert all(len(line.split("\t")) == 4 for line in done.out.splitlines())


def test_the_data_say_whether_there_are_graphs(street_run: Path, kin_run: Path, tmp_path: Path) -> None:
    """They are looked at only where some rule depends on graphs."""
    free, tied = [
        [ScoredRule(nlil.parse_rule(text), RuleStats(1, 1, 1), 0.5)]
        for text in ("car(X) :- tree(Z1).", "car(X) :- on(Z1, X), tree(Z1).")
    ]
    assert has_graphs("datalog", free, lambda: open_run(street_run))
    assert not has_graphs("datalog", free, lambda: open_run(kin_run))
    assert not has_graphs("datalog", tied, lambda: open_run(tmp_path / "none"))


@pytest.mark.parametrize("language", ["datalog", "sparql", "cypher", "latex", "english"])
def test_every_format_is_written(language: str, nlil_command: Nlil, plain_run: Path) -> None:
    done = nlil_command("rules", plain_run, *TOP, "--format", language)
    assert done.code == 0, done.err
    assert "uncle" in done.out


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (
            "33\t30\t0.9\tsister(X,Y) <= daughter(X,A), father(A,Y)\n4\t3\t0.75\tsister(X,emil1) <= \n",
            "sister(X, Y) :- daughter(X, Z1), father(Z1, Y), Z1 \\= X, Y \\= X, Y \\= Z1. sister(X, emil1) :- true.",
        ),
        (
            "?a  daughter  ?c  ?c  father  ?b   => ?a  sister  ?b\t0.4\t1.0\t1.0\t30\t30\t30\t?a\n",
            "sister(X, Y) :- daughter(X, Z1), father(Z1, Y).",
        ),
    ],
)
def test_rules_of_other_systems_are_scored(text: str, same: str, nlil_command: Nlil, tmp_path: Path) -> None:
    documents = []
    for name, content in (("theirs", text), ("ours", same)):
        (tmp_path / name).write_text(content)
        document = nlil_command("evaluate", "--rules", tmp_path / name, "--data", "kin", "--json").json
        documents.append({key: document[key] for key in ("num_rules", "num_queries", "mrr", "hits@10")})
    assert documents[0] == documents[1]
    assert documents[0]["mrr"] > 0


def test_rules_that_cannot_be_taken_are_counted(nlil_command: Nlil, tmp_path: Path) -> None:
    """One line of another shape is no reason to refuse a file that nobody edits."""
    taken = "33\t30\t0.9\tsister(X,Y) <= daughter(X,A), father(A,Y)\n"
    others = f"9\t9\t1.0\tsister(X,me_myself_i) <= aunt(X,A)\n{taken.replace('father', 'dad')}"
    (tmp_path / "all").write_text(taken + others)
    (tmp_path / "taken").write_text(taken)
    some, all_ = (
        nlil_command("evaluate", "--rules", tmp_path / name, "--data", "kin", "--json") for name in ("taken", "all")
    )
    assert "2 of 3 rules are left out: 1 with one variable twice in the head (first at " in all_.err
    assert all_.json["left_out"] == {
        "with one variable twice in the head": 1,
        "with a predicate that kin:160 does not have": 1,
    }
    assert "left out" not in some.err
    assert "left_out" not in some.json
    assert all_.json["mrr"] == some.json["mrr"] > 0
