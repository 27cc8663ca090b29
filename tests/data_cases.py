"""Small helpers for the data tests: facts as plain tuples, files from text, rules walked by sets."""

from __future__ import annotations

import gzip
from collections import defaultdict
from pathlib import Path

from nlil.data.facts import NO_OBJECT, Facts
from nlil.data.kb import KnowledgeBase
from nlil.logic.formula import Anything, Statement
from nlil.logic.rule import Rule


def rows(kb: KnowledgeBase, facts: Facts | None = None) -> set[tuple[str, ...]]:
    """Facts in the order of the TSV format."""
    facts = kb.facts if facts is None else facts
    result = set()
    for p, s, o in zip(facts.predicate.tolist(), facts.subject.tolist(), facts.object.tolist(), strict=True):
        third = () if o == NO_OBJECT else (kb.entities.name(o),)
        assert kb.predicates[p].arity == 1 + len(third)
        result.add((kb.entities.name(s), kb.predicates[p].name, *third))
    return result


def write(path: Path, text: str | bytes) -> Path:
    data = text.encode() if isinstance(text, str) else text
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def derived(kb: KnowledgeBase, rule: Rule) -> set[tuple[int, ...]]:
    """The head tuples whose body holds, for a body of one statement that starts in X; by walking sets."""
    statement = rule.body
    assert isinstance(statement, Statement)
    next_of = defaultdict(set)
    for p, s, o in zip(
        *(column.tolist() for column in (kb.facts.predicate, kb.facts.subject, kb.facts.object)), strict=True
    ):
        next_of[2 * p, s].add(s if o == NO_OBJECT else o)
        if o != NO_OBJECT:
            next_of[2 * p + 1, o].add(s)
    found = set()
    for x in range(kb.num_entities):
        paths = {(x,)}
        for step in statement.steps:
            code = kb.code(step)
            if step.is_filter:
                paths = {path for path in paths if next_of[code, path[-1]]}
            else:
                paths = {(*path, node) for path in paths for node in next_of[code, path[-1]]}
        if rule.distinct:
            paths = {path for path in paths if len(set(path)) == len(path)}
        ends_open = isinstance(statement.end, Anything)
        found |= {(x,) if ends_open else (x, path[-1]) for path in paths}
    return found


def confidence(kb: KnowledgeBase, rule: Rule) -> tuple[int, int]:
    """(support, body size) of such a rule. No planted rule uses the fact that it derives, so nothing is hidden."""
    head = kb.facts.of(kb.predicate_id(rule.target))
    pairs = zip(head.subject.tolist(), head.object.tolist(), strict=True)
    facts = {(s,) if o == NO_OBJECT else (s, o) for s, o in pairs}
    body = derived(kb, rule)
    return len(body & facts), len(body)
