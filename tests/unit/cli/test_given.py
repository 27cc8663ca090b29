"""Rules from a file, by hand or from another system."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nlil.cli.given import read_rules
from nlil.errors import DataError
from nlil.logic.denial import denial_text

RULE = "uncle(X, Y) :- brother(X, Z1), parent(Z1, Y)."


def test_prolog_with_comments(tmp_path: Path) -> None:
    path = tmp_path / "rules.pl"
    path.write_text(f"% by hand\n{RULE}\n\naunt(A, B) :- sister(A, P), parent(P, B).\n")
    assert [(str(rule), place) for rule, place in read_rules(path).rules] == [
        (RULE, f"{path}:2"), ("aunt(X, Y) :- sister(X, Z1), parent(Z1, Y).", f"{path}:4")]


@pytest.mark.parametrize("document", [[RULE], {"rules": [RULE]}, {"rules": [{"rule": RULE, "support": 3}]}])
def test_json(document: object, tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    path.write_text(json.dumps(document))
    given = read_rules(path)
    assert [str(rule) for rule, _ in given.rules] == [RULE]
    assert given.denials == []


DENIAL = ":- uncle(X, Y), parent(Y, X)."


@pytest.mark.parametrize(("name", "text"), [
    ("rules.pl", f"{RULE}\n{DENIAL}\n"),
    ("rules.json", json.dumps({"rules": [RULE], "exclusions": [DENIAL]})),
    ("rules.json", json.dumps({"rules": [RULE], "exclusions": [{"exclusion": DENIAL, "expected": 3.5}]})),
])
def test_exclusions(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    given = read_rules(path)
    assert [str(rule) for rule, _ in given.rules] == [RULE]
    assert [denial_text(*denial) for denial, _ in given.denials] == [DENIAL]


@pytest.mark.parametrize(("name", "text", "expected"), [
    ("a.pl", "", "no rules"),
    ("a.pl", "uncle(X, Y) :- brother(X.\n", "column 25"),
    ("a.json", "{", "expected a JSON list"),
    ("a.json", '{"rule": 1}', "expected a JSON list"),
    ("a.json", '["p(X :- q"]', "rule 1: column"),
    ("a.json", '{"rules": "p(X) :- q(X)."}', "expected a JSON list"),
    ("a.json", '{"rules": [{"rule": 5}]}', "rule 1 is no text: 5"),
    ("a.pl", ":- p(X, Y), q(X, Y).", "no rules"),
    ("a.pl", "p(X) :- q(X).\n:- p(X, Y).", "a denial names two binary predicates"),
    ("a.json", '{"rules": ["p(X) :- q(X)."], "exclusions": ["p(X) :- q(X)."]}', "exclusion 1: expected one denial"),
    ("a.json", '{"rules": ["p(X) :- q(X)."], "exclusions": [":- p(X)."]}', "exclusion 1: column"),
    ("a.json", '{"rules": ["p(X) :- q(X)."], "exclusions": 5}', "expected a JSON list"),
])
def test_what_is_wrong_is_said(name: str, text: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DataError, match=expected) as caught:
        read_rules(path)
    assert str(caught.value).startswith(str(path))
