"""A small family with an odd name in it, rules for it, and a reader of pages; for the tests of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np

import kbs
from nlil import KnowledgeBase, Learned, LearnerConfig, RuleSet, ScoredRule, Splits, parse_rule
from nlil.data.dataset import Dataset, make_dataset
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.statistics import rule_stats
from nlil.theory.theory import SIZES, SizeScore, Theory, ValidationScores

EVIL = "<script>alert(1)</script>"
RULES = (
    "uncle(X, Y) :- father(Z1, X), father(Z1, Z2), mother(Z2, Y).",
    "mother(X, Y) :- married(X, Z1), father(Z1, Y).",
    f"mother(X, Y) :- mother('{EVIL}', Y), female(X).",
    "married(X, Y) :- married(Y, X).",
    "male(X) :- \\+ female(X).",
    "mother(X, max) :- true.",
)
VOID = {"meta", "br", "input"}


def evil_family() -> KnowledgeBase:
    """Names that would be markup if they were not escaped, as entity, predicate and label."""
    rows = [tuple(line.replace("bea", EVIL).split()) for line in kbs.FAMILY.split("\n") if line]
    return KnowledgeBase.from_facts([*rows, ("ann", "'\"><img src=x>", "sam")])


def learned(kb: KnowledgeBase, texts: tuple[str, ...] = RULES, **about: object) -> Learned:
    evaluator = Evaluator(kb)
    rules = [parse_rule(text) for text in texts]
    scored = [ScoredRule(rule, stats, stats.smoothed) for rule, stats in ((r, rule_stats(evaluator, r)) for r in rules)]
    targets = tuple(dict.fromkeys(rule.target for rule in rules))
    return Learned(RuleSet.of(kb, scored), LearnerConfig(), targets, **about)  # type: ignore[arg-type]


def dataset(kb: KnowledgeBase, held_out: int = 0) -> Dataset:
    """The last `held_out` facts are the test facts."""
    facts = kb.facts
    keep = np.arange(len(facts)) < len(facts) - held_out
    return make_dataset("family", kb.with_facts(facts[keep]), Splits(facts[keep], test=facts[~keep]))


def theory_of(rules: RuleSet, chosen: Mapping[int, Sequence[int]], is_measured: bool = True) -> Theory:
    """A theory of these rows, target by target, each with the rows that say the same; row r adds r + 1 facts."""
    rows = np.array(list(chosen), np.int64)
    place = [list(rules.head[rows[:i]]).count(rules.head[row]) for i, row in enumerate(rows)]
    family = [(row, i) for i, others in enumerate(chosen.values()) for row in others]
    scores = ValidationScores(7, 0.75, tuple(SizeScore(size, 0.5 + size / 1000) for size in SIZES))
    return Theory(
        rows=rows,
        place=np.array(place, np.int64),
        gain=np.linspace(0.5, 0.25, len(rows)),
        explained=rows + 1,
        backs_up=rows,
        tried=np.full(len(rows), 9),
        family_row=np.array([row for row, _ in family], np.int64),
        family=np.array([i for _, i in family], np.int64),
        size=20,
        aggregation=replace(rules.aggregation, by_frequency=True),
        scores={str(rules.predicates[rules.head[rows[0]]]): scores} if is_measured else {},
    )


class Page(HTMLParser):
    """The elements of a page with their attributes, the text, and whether every element is closed in its place."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]
