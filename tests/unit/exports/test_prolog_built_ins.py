"""Predicates of the data that are called like built-ins of Prolog: redefined by the facts, or refused."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from nlil.data.kb import KnowledgeBase
from nlil.errors import ExportError
from nlil.exports import facts

FACTS = [("a", "atom"), ("b", "atom"), ("a", "write", "b"), ("b", "write", "c"), ("c", "write", "a"), ("b", "q")]
RULES = "q(X) :- atom(X).\nq(X) :- write(X, Z1), atom(Z1).\n"


@pytest.mark.skipif(shutil.which("swipl") is None, reason="needs SWI-Prolog")
def test_a_built_in_is_what_the_data_says(tmp_path: Path) -> None:
    (tmp_path / "facts.pl").write_text("".join(facts(KnowledgeBase.from_facts(FACTS), "prolog")), encoding="utf-8")
    (tmp_path / "rules.pl").write_text(RULES)
    goal = "'nlil:rules'('rules.pl'), findall(X, q(X), L), sort(L, S), print(S), nl, halt"
    done = subprocess.run(
        ["swipl", "-q", "-g", goal, "facts.pl"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    assert done.stdout == "[a,b,c]\n"


@pytest.mark.parametrize("fact", [("a", "\\+"), ("a", "table"), ("a", "=", "b"), ("a", "term_variables", "b")])
def test_what_prolog_cannot_do_without_is_refused(fact: tuple[str, ...]) -> None:
    with pytest.raises(ExportError, match="fixed meaning"):
        list(facts(KnowledgeBase.from_facts([fact]), "prolog"))
