"""Which pages `nlil bench viewer` opens: addresses of each kind, drawn by the seed.

Hubs and rare entities, long, anchored and negated rules are among them; questions are asked of every predicate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import numpy as np

from nlil.logic.predicate import Fact
from nlil.logic.query import Query
from nlil.logic.text import fact_text

if TYPE_CHECKING:
    from nlil.data import KnowledgeBase
    from nlil.data.arrays import Longs
    from nlil.kernel.ruleset import RuleSet

TABLE_VIEWS = (
    "",
    "?sort=confidence",
    "?sort=support&order=rising",
    "?sort=length",
    "?min_support=5",
    "?min_confidence=.5&sort=support",
)


def addresses(rules: RuleSet, kb: KnowledgeBase, seed: int, count: int) -> dict[str, list[str]]:
    """Kind of page -> addresses; `rules` are bound to `kb`, whose ids the viewer's addresses have."""
    random = np.random.default_rng(seed)
    labels = [kb.label(name) for name in kb.entities.names(random.integers(kb.num_entities, size=count).tolist())]
    typed = [label[: int(random.integers(1, 6))] for label in labels]
    num_rules = np.bincount(rules.head, minlength=kb.num_predicates)
    targets = np.flatnonzero((num_rules > 0) & (kb.predicate_counts > 0))
    most = np.argsort(-num_rules, kind="stable")[:count]
    facts = _facts(kb, random.permutation(np.repeat(targets, -(-count // len(targets))))[:count], random)
    wrong = _mixed(kb, facts, random)
    return {
        "first page": ["/"],
        "search as you type": [f"/search?{urlencode({'q': text})}" for text in typed],
        "rules of a predicate": [f"/predicate/{id}{TABLE_VIEWS[i % len(TABLE_VIEWS)]}" for i, id in enumerate(most)],
        "rule": [f"/rule/{row}" for row in _rule_rows(rules, random, count)],
        "rule, later pages": [f"/rule/{row}?examples=2&counterexamples=5" for row in _long_lists(rules, count)],
        "entity": [f"/entity/{id}" for id in _hubs_and_rare(kb, random, count)],
        "ask": [f"/ask?{urlencode({'q': q})}" for target in targets for q in _questions(kb, int(target), random)],
        "explain": [_about("explain", fact) for fact in (*facts[: count // 2], *wrong[count // 2 :])],
        "why not": [_about("why-not", fact) for fact in (*wrong[: count // 2], *facts[count // 2 :])],
        "verdicts": ["/feedback"],
    }


def _rule_rows(rules: RuleSet, random: np.random.Generator, count: int) -> list[int]:
    """Any, the longest lines, those with constants, and those that are no line (negated, conjoined)."""
    each = -(-count // 4)
    longest = np.argsort(-np.where(rules.is_program, 0, rules.lengths), kind="stable")[:1000]
    pools = (np.arange(len(rules)), longest, np.flatnonzero(rules.has_constant), np.flatnonzero(rules.is_program))
    picks = [random.choice(pool, min(each, len(pool)), replace=False) for pool in pools]
    return [int(row) for row in np.concatenate(picks)]


def _long_lists(rules: RuleSet, count: int) -> list[int]:
    """The rules with most counterexamples, the most general ones, of which each page has to be found."""
    others = rules.body_size - rules.support
    busy = np.flatnonzero((rules.support > 10) & (others > 40))
    return [int(row) for row in busy[np.argsort(-others[busy], kind="stable")[:count]]]


def _hubs_and_rare(kb: KnowledgeBase, random: np.random.Generator, count: int) -> list[int]:
    degree = np.diff(kb.adjacency.pointer)
    order = np.argsort(-degree, kind="stable")
    rare = order[-(kb.num_entities // 10 + 1) :]
    return [int(id) for id in (*order[: count // 2], *random.choice(rare, min(count // 2, len(rare)), replace=False))]


def _questions(kb: KnowledgeBase, target: int, random: np.random.Generator) -> list[str]:
    (fact,) = _facts(kb, np.array([target]), random)
    one, *two = fact.arguments
    both = [(one, None), (None, two[0])] if two else [(None,), (one,)]
    return [str(Query(fact.predicate.name, names)) for names in both]


def _about(page: str, fact: Fact) -> str:
    return f"/{page}?{urlencode({'q': fact_text(fact)})}"


def _facts(kb: KnowledgeBase, targets: Longs, random: np.random.Generator) -> list[Fact]:
    """A fact of each target."""
    found = []
    for target in targets.tolist():
        mine = kb.facts.of(target)
        row = int(random.integers(len(mine)))
        found.append(kb.fact(target, int(mine.subject[row]), int(mine.object[row])))
    return found


def _mixed(kb: KnowledgeBase, facts: Sequence[Fact], random: np.random.Generator) -> list[Fact]:
    """Each with an argument of another fact of its predicate, of a unary one of any entity: seldom true."""
    result = []
    for fact in facts:
        (other,) = _facts(kb, np.array([kb.predicate_id(fact.predicate)]), random)
        last = (
            other.arguments[-1]
            if len(fact.arguments) == 2
            else kb.entities.name(int(kb.facts.subject[random.integers(len(kb.facts))]))
        )
        result.append(Fact(fact.predicate, (*fact.arguments[:-1], last)))
    return result
