"""What each language writes, what it refuses, and the facts that go with it."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kbs
import systems
from nlil.data.kb import KnowledgeBase
from nlil.datasets.load import load_dataset
from nlil.errors import ConfigError, DataError, ExportError
from nlil.exports import EXECUTABLE, facts, program, rule_text
from nlil.exports.language import depends_on_graph
from nlil.kernel.materialize import materialize
from nlil.logic.parse import parse_rule
from nlil.logic.predicate import Fact, Predicate, Step
from nlil.logic.rule import RuleStats, ScoredRule

RULES = (
    "uncle(X, Y) :- brother(X, Z1), parent(Z1, Y), Z1 \\= X, Y \\= X, Y \\= Z1.",
    "person(X) :- inside(X, Z1), car(Z1), on(Z2, X), clothing(Z2).",
    "bus(X) :- \\+ (shirt(Z1), wearing(Z1, X)).",
    "surfboard(X) :- wave(Z1).",
    "speaks(X, english) :- lives_in(X, 'New York') ; (adult(X), \\+ X = ann).",
    "'/film/film/genre'(X, 'it\\'s') :- true.",
    "meets(X, Y) :- (big(X) ; big(Y)), \\+ (knows(Y, X) ; X = Y).",
    "never(X) :- \\+ true.",
)


def scored(text: str) -> ScoredRule:
    return ScoredRule(parse_rule(text), RuleStats(10, 12, 20, 11), 0.588)


@pytest.mark.parametrize("language", [*EXECUTABLE, "latex"])
def test_texts(language: str, golden) -> None:
    golden(f"export-{language}.txt", "".join(program(map(scored, RULES), language)))


def test_graphs_are_asked_for_where_they_matter(golden) -> None:
    texts = (RULES[0], RULES[3], "bus(X) :- big(X), \\+ wave(Z1).", "near(X, ann) :- true.")
    assert [depends_on_graph(parse_rule(text)) for text in texts] == [False, True, True, True]
    golden(
        "export-graphs.txt",
        "".join(piece for language in EXECUTABLE[1:] for piece in program(map(scored, texts), language, graphs=True)),
    )


def test_exclusions_are_negated() -> None:
    """`distinct` is the rule's own matter: an exclusion holds for a pair of one entity too."""
    kb = KnowledgeBase.from_facts([("a", "q", "b"), ("a", "q", "c"), ("b", "r", "a"), ("a", "q", "a"), ("a", "r", "a")])
    rule = parse_rule("p(X, Y) :- q(X, Y).")
    exclusions = [(Predicate("p", 2), Step(Predicate("r", 2), inverse=True)), (Predicate("s", 2), Step(rule.target))]
    connection = sqlite3.connect(":memory:")
    connection.executescript("".join(facts(kb, "sql")))
    found = connection.execute(rule_text(rule, "sql", exclusions=exclusions)).fetchall()
    connection.close()
    assert found == [("a", "p", "c")]
    for language in ("sparql", "cypher"):
        text = rule_text(rule, language, exclusions=exclusions)
        assert text.count("NOT EXISTS") == 1
    with pytest.raises(ExportError, match=r"^Datalog: .*exclusions"):
        rule_text(rule, "datalog", exclusions=exclusions)


def recursive() -> tuple[KnowledgeBase, list]:
    texts = (
        "even(X) :- zero(X).",
        "even(X) :- even(Z1), succ(Z1, Z2), succ(Z2, X).",
        "odd(X) :- \\+ even(X).",
        "near(X, Y) :- succ(X, Y) ; near(Y, X).",
    )
    kb = load_dataset("even:10").kb
    known = set(kb.predicates)
    kb = kb.without([kb.predicate_id(Predicate("even", 1))])
    rules = [parse_rule(text) for text in texts]
    return replace(kb, predicates=(*kb.predicates, *sorted({r.target for r in rules} - known))), rules


@pytest.mark.parametrize("system", ["clingo", "prolog"])
def test_heads_are_relations_in_logic_languages(system: str, tmp_path: Path) -> None:
    """The least fixpoint, as `materialize` derives it: also through recursion and negation."""
    kb, rules = recursive()
    derived = materialize(kb, [(rule, 1.0) for rule in rules]).facts
    wanted = {kb.fact(int(p), int(s), int(o)) for p, s, o in zip(derived.predicate, derived.subject, derived.object)}
    if system == "prolog" and not systems.has_prolog():
        pytest.skip(systems.NO_PROLOG)
    found = systems.clingo(kb, rules) if system == "clingo" else systems.prolog(kb, rules, tmp_path)
    assert set().union(*found) == wanted
    assert {fact.predicate for fact in wanted} == {rule.target for rule in rules}, "or some rule is not put to the test"


def test_a_program_that_negates_itself_is_refused() -> None:
    rules = [scored("p(X) :- \\+ q(X)."), scored("q(X) :- \\+ p(X).")]
    with pytest.raises(ExportError, match=r"^Datalog: .*negate"):
        list(program(rules, "datalog"))
    assert len(list(program(rules, "sql"))) == 2


@pytest.mark.parametrize(
    ("language", "text", "reason"),
    [
        ("sql", "p(X) :- 'a\\x0\\'(X).", "SQL: a string cannot hold the character NUL"),
        ("cypher", "p(X, 'a\\x0\\') :- true.", "Cypher: a string cannot hold the character NUL"),
        ("datalog", "p(X, 'a\\x0\\') :- true.", "Datalog: a string cannot hold the character NUL"),
        ("sparql", "p(X) :- 'http://www.w3.org/1999/02/22-rdf-syntax-ns#type'(X, Z1).", "rdf:type stands for unary"),
        ("sparql", "p(X) :- 'urn:nlil-domain:entity'(X).", "used by the export itself"),
        ("prolog", "'nlil:entity'(X) :- q(X).", "used by the export itself"),
        ("sql", "p(X) :- " + ", ".join(f"(a(X) ; b(X) ; c{i}(X))" for i in range(6)) + ".", "alternatives"),
    ],
)
def test_what_cannot_be_said_is_refused(language: str, text: str, reason: str) -> None:
    with pytest.raises(ExportError, match=reason):
        rule_text(parse_rule(text), language)


def test_refused_rules_may_be_left_out() -> None:
    refused: list[ExportError] = []
    texts = ["p(X, Y) :- q(X, Y), Y \\= X.", "p(X, Y) :- big(X).", "p(X, c) :- true."]
    pieces = list(program(map(scored, texts), "anyburl", refuse=refused.append))
    assert [piece.split("\t")[3] for piece in pieces] == ["p(X,Y) <= q(X,Y)\n", "p(X,c) <= \n"]
    assert [str(error).partition(":")[0] for error in refused] == ["AnyBURL"]


@pytest.mark.parametrize("language", EXECUTABLE)
def test_facts_across_graphs_are_refused(language: str) -> None:
    kb = kbs.family()
    split = replace(kb, graph_of=(np.arange(kb.num_entities) % 2).astype(np.int32))
    with pytest.raises(DataError, match="within one graph"):
        list(facts(split, language))


def test_unknown_languages() -> None:
    for call in (lambda: rule_text(parse_rule("p(X) :- q(X)."), "cobol"), lambda: facts(kbs.family(), "latex")):
        with pytest.raises(ConfigError, match="expected one of prolog, datalog"):
            call()


def test_nothing_is_written_of_facts_that_do_not_count() -> None:
    kb = KnowledgeBase.from_facts([("a", "p", "b", 0.4), ("a", "p", "c", 0.5), ("b", "q", "", 0.2)])
    counts = {"prolog": "\np(", "datalog": "\np(", "sparql": "<urn:nlil:p>", "sql": "'p'", "cypher": "p: 'p'"}
    assert {language: "".join(facts(kb, language)).count(mark) for language, mark in counts.items()} == dict.fromkeys(
        EXECUTABLE, 1
    )
    assert systems.sqlite(kb, [parse_rule("n(X, Y) :- p(X, Y).")]) == [{Fact(Predicate("n", 2), ("a", "c"))}]
