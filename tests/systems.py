"""The other systems, run: facts and rules as nlil exports them, answers back as facts by name."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import unquote

from nlil.data.kb import KnowledgeBase
from nlil.exports import facts, rule_text
from nlil.logic.predicate import Fact, Predicate
from nlil.logic.query import parse_fact
from nlil.logic.rule import Rule
from nlil.logic.text import atom_text

NO_PROLOG = "swipl is not installed, so the Prolog export is NOT proved; Debian: apt-get install swi-prolog-nox"
Answers = list[set[Fact]]
"""For each rule what it derives."""


def _fact(subject: str, predicate: str, object: str | None) -> Fact:
    arguments = (subject,) if object is None else (subject, object)
    return Fact(Predicate(predicate, len(arguments)), arguments)


def sqlite(kb: KnowledgeBase, rules: Sequence[Rule]) -> Answers:
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript("".join(facts(kb, "sql")))
        texts = [rule_text(rule, "sql", graphs=kb.graph_of is not None) for rule in rules]
        return [{_fact(*row) for row in connection.execute(text)} for text in texts]
    finally:
        connection.close()


def duckdb(kb: KnowledgeBase, rules: Sequence[Rule]) -> Answers:
    import duckdb

    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        connection.execute("".join(facts(kb, "sql")))
        texts = [rule_text(rule, "sql", graphs=kb.graph_of is not None) for rule in rules]
        return [{_fact(*row) for row in connection.execute(text).fetchall()} for text in texts]


def oxigraph(kb: KnowledgeBase, rules: Sequence[Rule]) -> Answers:
    import pyoxigraph

    store = pyoxigraph.Store()
    store.load("".join(facts(kb, "sparql")).encode(), format=pyoxigraph.RdfFormat.N_TRIPLES)

    def name(node: pyoxigraph.NamedNode) -> str:
        return unquote(node.value.removeprefix("urn:nlil:")) if node.value.startswith("urn:nlil:") else node.value

    def fact(triple: pyoxigraph.Triple) -> Fact:
        subject, predicate, object = map(name, (triple.subject, triple.predicate, triple.object))
        is_unary = predicate.endswith("22-rdf-syntax-ns#type")
        return _fact(subject, object, None) if is_unary else _fact(subject, predicate, object)

    texts = [rule_text(rule, "sparql", graphs=kb.graph_of is not None) for rule in rules]
    return [{fact(triple) for triple in store.query(text)} for text in texts]


def kuzu(kb: KnowledgeBase, rules: Sequence[Rule]) -> Answers:
    import kuzu

    database = kuzu.Database(":memory:", buffer_pool_size=2**26, max_num_threads=1)
    connection = kuzu.Connection(database, num_threads=1)
    try:
        for piece in facts(kb, "cypher"):
            connection.execute(piece)
        texts = [rule_text(rule, "cypher", graphs=kb.graph_of is not None) for rule in rules]
        return [{_fact(*row) for row in connection.execute(text).get_all()} for text in texts]
    finally:
        connection.close()
        database.close()


def clingo(kb: KnowledgeBase, rules: Sequence[Rule]) -> Answers:
    import clingo

    control = clingo.Control(["--warn=none"])
    texts = [rule_text(rule, "datalog", number, kb.graph_of is not None) for number, rule in enumerate(rules, start=1)]
    control.add("base", [], "".join(facts(kb, "datalog")) + "\n".join(texts))
    control.ground([("base", [])])
    with control.solve(yield_=True) as models:
        symbols = [symbol for model in models for symbol in model.symbols(atoms=True)]

    def name(symbol: clingo.Symbol) -> str:
        return symbol.string if symbol.type == clingo.SymbolType.String else symbol.name

    found = set()
    for symbol in symbols:
        if symbol.name in ("entity", "graph") or symbol.name.startswith("absent_"):
            continue
        predicate, *arguments = (
            map(name, symbol.arguments) if symbol.name == "fact" else (symbol.name, *map(name, symbol.arguments))
        )
        found.add(Fact(Predicate(predicate, len(arguments)), tuple(arguments)))
    return [{fact for fact in found if fact.predicate == rule.target} for rule in rules]


def has_prolog() -> bool:
    return shutil.which("swipl") is not None


def prolog(kb: KnowledgeBase, rules: Sequence[Rule], folder: Path) -> Answers:
    (folder / "facts.pl").write_text("".join(facts(kb, "prolog")), encoding="utf-8")
    (folder / "rules.pl").write_text("".join(f"{rule_text(rule, 'prolog')}\n" for rule in rules), encoding="utf-8")
    goal = (
        "set_stream(user_output, encoding(utf8)), consult('facts.pl'), 'nlil:rules'('rules.pl'), "
        "forall((member(N/A, [{}]), functor(G, N, A), G), (writeq(G), nl))"
    )
    targets = ", ".join(f"{atom_text(rule.target.name)}/{rule.target.arity}" for rule in rules)
    (folder / "goal.pl").write_text(f":- encoding(utf8).\n:- {goal.format(targets)}.\n:- halt.\n", encoding="utf-8")
    done = subprocess.run(["swipl", "-q", "goal.pl"], cwd=folder, capture_output=True, timeout=60, check=True)
    assert not done.stderr, done.stderr.decode()
    found = {parse_fact(line) for line in done.stdout.decode().split("\n") if line}
    return [{fact for fact in found if fact.predicate == rule.target} for rule in rules]


IN_PROCESS: dict[str, Callable[[KnowledgeBase, Sequence[Rule]], Answers]] = {
    "sqlite": sqlite,
    "duckdb": duckdb,
    "oxigraph": oxigraph,
    "kuzu": kuzu,
    "clingo": clingo,
}
