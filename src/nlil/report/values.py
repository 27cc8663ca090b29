"""What a report shows, as values: everything is counted and chosen before the page is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..datasets.summary import Summary
from ..evaluation.fidelity import Fidelity
from ..explanation.disputes import Dispute
from ..explanation.explanation import Explanation
from ..explanation.rule_card import RuleCard
from ..logic.labels import Labels
from ..logic.predicate import Fact, Predicate
from ..scene.class_surprises import ClassSurprise


@dataclass(frozen=True)
class Limits:
    """How much a report shows. It is read by people, and stays under 5 MB for any run."""

    targets: int = 60  # those with the most facts
    general_rules: int = 4  # of each target, best first: rules that name no entity
    special_rules: int = 2  # and rules that do
    instances: int = 3  # examples and counterexamples of each rule
    surprises: int = 10
    disputes: int = 15
    pictures: int = 2
    figures: int = 200  # predicates in the table of figures
    disagreements: int = 8  # of rules and the classifier that they imitate


@dataclass(frozen=True)
class RuleEntry:
    """A rule as it is shown: for people, in English, drawn, and what it rests on."""

    text: str
    exact: str
    sentence: str
    drawing: str
    card: RuleCard


@dataclass(frozen=True)
class TargetEntry:
    """The best rules of a predicate, of `num_rules` that it has; `figures` as measured, where that was done."""

    predicate: Predicate
    label: str
    anchor: str
    num_facts: int
    num_rules: int
    rules: tuple[RuleEntry, ...]
    figures: Mapping[str, float]
    exclusions: tuple[str, ...] = ()
    num_exclusions: int = 0

    @property
    def most_support(self) -> int:
        """What the bars of support are drawn against."""
        return max((entry.card.stats.support for entry in self.rules), default=0)


@dataclass(frozen=True)
class Surprise:
    """A prediction that no split has; `num_answers` are the other answers that the data has for its subject."""

    fact: Fact
    score: float
    num_answers: int
    explanation: Explanation


@dataclass(frozen=True)
class ObjectPicture:
    """An object of a scene with its most probable class explained; `true` are its classes in the data."""

    name: str
    image: str | None
    best: str
    score: float
    true: tuple[str, ...]
    drawing: str
    explanation: Explanation


@dataclass(frozen=True)
class Report:
    """`figures` by split as `nlil evaluate` kept them; `settings` differ from the defaults; `classes` say what the
    objects of a scene are that examples name; `fidelity` is that of rules that imitate a classifier."""

    summary: Summary
    num_rules: int
    seconds: float
    partial: bool
    versions: Mapping[str, str]
    settings: Mapping[str, Any]
    figures: Mapping[str, Mapping[str, Any]]
    targets: tuple[TargetEntry, ...]
    num_targets: int
    missing: Mapping[str, str]
    curves: str | None
    surprises: tuple[Surprise, ...]
    class_surprises: tuple[ClassSurprise, ...]
    disputes: tuple[Dispute, ...]
    pictures: tuple[ObjectPicture, ...]
    is_scene: bool
    classes: Mapping[str, str] = field(default_factory=dict)
    fidelity: Fidelity | None = None
    limits: Limits = field(default_factory=Limits)
    labels: Labels = field(default_factory=Labels, repr=False, compare=False)
