"""Rules from a file, by hand or from another system."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nlil.datasets import load_dataset
from nlil.errors import DataError, NlilError
from nlil.exports.rule_files import RuleFile, read_rules
from nlil.logic.text import denial_text

RULE = "uncle(X, Y) :- brother(X, Z1), parent(Z1, Y)."


def test_prolog_with_comments(tmp_path: Path) -> None:
    path = tmp_path / "rules.pl"
    path.write_text(f"% by hand\n{RULE}\n\naunt(A, B) :- sister(A, P), parent(P, B).\n")
    given = RuleFile.read(path)
    assert [(str(given.rules.rule(row)), given.place(row)) for row in range(len(given.rules))] == [
        (RULE, f"{path}:2"),
        ("aunt(X, Y) :- sister(X, Z1), parent(Z1, Y).", f"{path}:4"),
    ]


@pytest.mark.parametrize("document", [[RULE], {"rules": [RULE]}, {"rules": [{"rule": RULE, "support": 3}]}])
def test_json(document: object, tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    path.write_text(json.dumps(document))
    given = RuleFile.read(path)
    assert [str(scored.rule) for scored in given.rules] == [RULE]
    assert given.denials == []


DENIAL = ":- uncle(X, Y), parent(Y, X)."


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rules.pl", f"{RULE}\n{DENIAL}\n"),
        ("rules.json", json.dumps({"rules": [RULE], "exclusions": [DENIAL]})),
        ("rules.json", json.dumps({"rules": [RULE], "exclusions": [{"exclusion": DENIAL, "expected": 3.5}]})),
    ],
)
def test_exclusions(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    given = RuleFile.read(path)
    assert [str(scored.rule) for scored in given.rules] == [RULE]
    assert [denial_text(*denial) for denial, _ in given.denials] == [DENIAL]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.pl", "", "no rules"),
        ("a.pl", "uncle(X, Y) :- brother(X.\n", "column 25"),
        ("a.json", "{", "expected a JSON list"),
        ("a.json", '{"rule": 1}', "expected a JSON list"),
        ("a.json", '["p(X :- q"]', "rule 1: column"),
        ("a.json", '{"rules": "p(X) :- q(X)."}', "expected a JSON list"),
        ("a.json", '{"rules": [{"rule": 5}]}', "rule 1 is not text: 5"),
        ("a.json", "[\"p(X) :- q(X, '\\\\ud800').\"]", "names that are valid Unicode"),
        ("a.pl", "p(X) :- q(X, '\\ud800').", "names that are valid Unicode"),
        ("a.pl", ":- p(X, Y), q(X, Y).", "no rules"),
        ("a.pl", "p(X) :- q(X).\n:- p(X, Y).", "a denial names two binary predicates"),
        ("a.json", '{"rules": ["p(X) :- q(X)."], "exclusions": ["p(X) :- q(X)."]}', "exclusion 1: expected one denial"),
        ("a.json", '{"rules": ["p(X) :- q(X)."], "exclusions": [":- p(X)."]}', "exclusion 1: column"),
        ("a.json", '{"rules": ["p(X) :- q(X)."], "exclusions": 5}', "expected a JSON list"),
    ],
)
def test_what_is_wrong_is_said(name: str, text: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DataError, match=expected) as caught:
        RuleFile.read(path)
    assert str(caught.value).startswith(str(path))


ANYBURL = """12\t10\t0.8\tuncle(X,Y) <= brother(X,A), father(A,Y)
5\t5\t1.0\tuncle(X,me_myself_i) <= brother(X,A)
9\t2\t0.2\tuncle(X,Y) <= brother(X,A), father(A,Y), friend(A,B)
9\t2\t0.2\tuncle(X,Y) <= friend(X,Y)
9\t2\t0.2\tfriend(X,Y) <= uncle(X,Y)
9\t2\t0.2\tuncle(X,nobody_we_know) <= brother(X,A)
"""


def test_rules_of_another_system_that_cannot_be_taken_are_counted(tmp_path: Path) -> None:
    """Nobody edits the millions of lines that AnyBURL writes."""
    path = tmp_path / "anyburl.txt"
    path.write_text(ANYBURL)
    given = RuleFile.read(path)
    assert given.left_out_sentence() == (
        f"2 of 6 rules are left out: 1 with one variable twice in the head (first at {path}:2); "
        f"1 with a variable that three binary atoms share (first at {path}:3)"
    )
    left = given.known_to(load_dataset("kin"))
    assert [left.place(row) for row in range(len(left.rules))] == [f"{path}:1"]
    assert left.num_left_out == {
        "with a predicate that kin:160 does not have": 2,
        "with one variable twice in the head": 1,
        "with a variable that three binary atoms share": 1,
        "with an entity that kin:160 does not have": 1,
    }
    assert f"with a predicate that kin:160 does not have (first at {path}:4)" in left.left_out_sentence()


def test_one_rule_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "anyburl.txt"
    path.write_text("".join(ANYBURL.splitlines(keepends=True)[:2]))
    assert RuleFile.read(path).left_out_sentence().startswith("1 of 2 rules is left out: 1 with one variable twice")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (slice(1, 3), "expected rules that nlil can apply, got none: 2 of 2 rules are left out: 1 with one"),
        (slice(3, 5), "expected rules that nlil can apply, got none: 2 of 2 rules are left out: 2 with a predicate"),
    ],
)
def test_no_rule_is_left(lines: slice, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "anyburl.txt"
    path.write_text("".join(ANYBURL.splitlines(keepends=True)[lines]))
    with pytest.raises(DataError, match=expected):
        RuleFile.read(path).known_to(load_dataset("kin"))


def test_garbage_among_the_rules_of_another_system_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "anyburl.txt"
    path.write_text(f"{ANYBURL}12\t10\t0.8\tuncle(X,Y) <= bro")
    with pytest.raises(DataError, match=f"^{path}:7: expected an atom such as"):
        RuleFile.read(path)


def test_what_people_write_is_taken_whole(tmp_path: Path) -> None:
    path = tmp_path / "rules.pl"
    path.write_text("uncle(X, Y) :- friend(X, Y).\n")
    dataset = load_dataset("kin")
    given = RuleFile.read(path).known_to(dataset)
    assert len(given.rules) == 1
    with pytest.raises(NlilError, match=f"^{path}:1: .*friend"):
        given.counted(dataset)


def test_amie_is_known_by_its_columns(tmp_path: Path) -> None:
    """The first rule may begin with a constant."""
    path = tmp_path / "amie.txt"
    path.write_text(
        "Rule\tHead Coverage\tStd Confidence\tPCA Confidence\n<london>  <home_of>  ?a   => ?a  <p>  <c>\t1\t1\t1\n"
    )
    assert [str(scored.rule) for scored in RuleFile.read(path).rules] == ["p(X, c) :- home_of(london, X)."]


def test_rules_of_a_file_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "rules.pl"
    rule, denial = "uncle(X, Y) :- brother(X, Z1), father(Z1, Y).", ":- uncle(X, Y), father(Y, X)."
    path.write_text(f"{rule}\n{rule}\n{denial}\n")
    dataset = load_dataset("kin")
    rules = read_rules(path, dataset)
    assert [str(scored.rule) for scored in rules] == [rule]
    assert 0 < rules.stats(0).support <= rules.stats(0).body_size
    assert [str(exclusion) for exclusion in rules.exclusions] == [denial]


LABELLED = """
@prefix ex: <http://x.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:ann ex:parent-of ex:bob . ex:cid ex:parent-of ex:dan . ex:bob ex:child_of ex:ann . ex:ann rdfs:label "Ann" .
"""


def test_prefixes_and_labels_stand_for_names(tmp_path: Path) -> None:
    (tmp_path / "data.ttl").write_text(LABELLED)
    dataset = load_dataset(tmp_path / "data.ttl")
    path = tmp_path / "rules.pl"
    path.write_text(
        "% by hand\n:- ex:parent-of(X, Y), ex:child_of(X, Y).\n"
        "ex:parent-of(X, Y) :- ex:child_of(Y, X).\nex:child_of(X, 'ann') :- ex:parent-of(ex:cid, X).\n"
    )
    rules = read_rules(path, dataset)
    assert [str(scored.rule) for scored in rules] == [
        "'http://x.org/parent-of'(X, Y) :- 'http://x.org/child_of'(Y, X).",
        "'http://x.org/child_of'(X, 'http://x.org/ann') :- 'http://x.org/parent-of'('http://x.org/cid', X).",
    ]
    assert (rules[0].stats.support, len(rules.exclusions)) == (1, 1)
    for name in ("ex:nothing", "ey:child_of", ":child_of"):
        path.write_text(f"ex:parent-of(X, Y) :- {name}(Y, X).\n")
        with pytest.raises(NlilError, match=f"rules.pl:1: unknown predicate '{name}'"):
            read_rules(path, dataset)
