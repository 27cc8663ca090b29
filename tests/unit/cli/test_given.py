"""Rules from a file, by hand or from another system."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nlil.cli.given import read_rules
from nlil.errors import DataError

RULE = "uncle(X, Y) :- brother(X, Z1), parent(Z1, Y)."


def test_prolog_with_comments(tmp_path: Path) -> None:
    path = tmp_path / "rules.pl"
    path.write_text(f"% by hand\n{RULE}\n\naunt(A, B) :- sister(A, P), parent(P, B).\n")
    assert [(str(rule), place) for rule, place in read_rules(path)] == [
        (RULE, f"{path}:2"), ("aunt(X, Y) :- sister(X, Z1), parent(Z1, Y).", f"{path}:4")]


@pytest.mark.parametrize("document", [[RULE], {"rules": [RULE]}, {"rules": [{"rule": RULE, "support": 3}]}])
def test_json(document: object, tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    path.write_text(json.dumps(document))
    assert [str(rule) for rule, _ in read_rules(path)] == [RULE]


@pytest.mark.parametrize(("name", "text", "expected"), [
    ("a.pl", "", "no rules"),
    ("a.pl", "uncle(X, Y) :- brother(X.\n", "column 25"),
    ("a.json", "{", "expected a JSON list"),
    ("a.json", '{"rule": 1}', "expected a JSON list"),
    ("a.json", '["p(X :- q"]', "rule 1: column"),
    ("a.json", '{"rules": "p(X) :- q(X)."}', "expected a JSON list"),
    ("a.json", '{"rules": [{"rule": 5}]}', "rule 1 is no text: 5"),
])
def test_what_is_wrong_is_said(name: str, text: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DataError, match=expected) as caught:
        read_rules(path)
    assert str(caught.value).startswith(str(path))
