"""A small family with an odd name in it, rules for it, and a reader of pages; for the tests of the report."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np

import kbs
from nlil import KnowledgeBase, Learned, LearnerConfig, RuleSet, ScoredRule, Splits, parse_rule
from nlil.data.dataset import Dataset, make_dataset
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.statistics import rule_stats

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
