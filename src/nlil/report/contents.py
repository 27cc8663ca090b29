"""What a report shows, and how it is found: everything is counted and chosen before the page is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..data.dataset import Dataset
from ..data.facts import NO_OBJECT
from ..data.kb import KnowledgeBase
from ..datasets.summary import Summary, summarise
from ..evaluation.fidelity import Fidelity
from ..explanation.changes import place
from ..explanation.disputes import Dispute, check
from ..explanation.outline import short_rule
from ..explanation.rule_card import RuleCard, RuleCards
from ..explanation.why import Explainer, Explanation
from ..exports.english import rule_sentence
from ..kernel.binding import bind
from ..kernel.ruleset import RuleSet
from ..kernel.threads import one_torch_thread
from ..learning.config import LearnerConfig
from ..learning.run import Learned
from ..logic.labels import Labels
from ..logic.predicate import Fact, Predicate
from ..logic.rule import ScoredRule
from ..logic.text import step_text
from ..progress import Progress, silent
from ..scene.canvas import as_svg
from ..scene.object_classes import ClassSurprise, class_surprises, convincing_object, object_classes
from ..scene.picture import draw
from .factor_graph import factor_graph
from .svg import curves

TOP_PREDICATES = 12
"""Predicates named in the summary of the data."""
MAX_EXCLUSIONS = 6
"""Exclusions named beside a target."""
MACHINE_SETTINGS = ("device", "threads", "memory")
"""They belong to the machine, not to the rules."""
SURPRISE_RULES = 240
"""Rules, over all targets, among whose predictions surprises are looked for."""
SURPRISE_RULES_PER_TARGET = 12
PREDICTIONS_PER_RULE = 4
SURPRISES_PER_TARGET = 2
"""So that the list tells of several targets."""
MIN_SURPRISE_SCORE = 0.5


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


@one_torch_thread()  # thousands of small sums: more threads cost more than they bring
def make_report(
    learned: Learned,
    dataset: Dataset,
    *,
    figures: Mapping[str, Mapping[str, Any]] | None = None,
    versions: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    threads: int = 0,
    memory: int = 2**30,
    progress: Progress = silent,
) -> Report:
    """What was found in a data set. Same values, same report.

    Args:
        learned: The rules, and how they were found.
        dataset: What they are applied to.
        figures: Those of `evaluate`, by split.
        versions: Of the packages that learned the rules.
        limits: How much is shown.
        threads: For the disputed facts; 0: all cores.
        memory: Bytes that one evaluation may take.
        progress: Is told what is done of how much.
    """
    limits, figures = limits or Limits(), figures or {}
    kb, base = dataset.kb, whole_base(dataset)
    rules = bind(learned.rules, kb).rules
    cards = RuleCards(rules, kb, dataset.splits.all(), dataset.splits.negatives.get("train"), memory)
    explainer = Explainer(rules, base, memory)
    disputes = tuple(check(rules, base, top=limits.disputes, threads=threads, memory=memory, progress=progress))
    measured = main_figures(figures).get("per_predicate", {})
    targets = tuple(target_entries(rules, kb, cards, learned.targets, measured, limits, progress))
    return Report(
        summary=summarise(dataset, TOP_PREDICATES),
        num_rules=len(rules),
        seconds=learned.seconds,
        partial=learned.partial,
        versions=dict(versions or {}),
        settings=changed_settings(learned.config),
        figures=figures,
        targets=targets,
        num_targets=len(learned.targets),
        missing=dict(sorted(learned.missing.items())),
        curves=curves(learned.history),
        surprises=surprises(explainer, cards, learned.targets, limits.surprises, progress),
        class_surprises=class_surprises(explainer, dataset, limits.surprises, threads, memory),
        disputes=disputes,
        pictures=object_pictures(rules, explainer, dataset, disputes, limits.pictures, memory),
        is_scene=dataset.is_scene,
        classes=object_names(base, targets) if dataset.is_scene else {},
        fidelity=learned.fidelity,
        limits=limits,
        labels=Labels.of(kb),
    )


def whole_base(dataset: Dataset) -> KnowledgeBase:
    """The training facts and the scenes of every split, each a world of its own: what a question may look at."""
    facts = dataset.kb.facts
    for _, context in sorted(dataset.splits.context.items()):
        facts = facts + context
    return dataset.kb if facts is dataset.kb.facts else dataset.kb.with_facts(facts)


def main_figures(figures: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Those of the split that says most about facts not seen before."""
    return next((figures[split] for split in ("test", "valid", "train") if split in figures), {})


def changed_settings(config: LearnerConfig) -> dict[str, Any]:
    """What differs from the defaults."""
    default = LearnerConfig().to_dict()
    changed = {key: value for key, value in config.to_dict().items() if value != default.get(key)}
    return {key: value for key, value in changed.items() if key not in MACHINE_SETTINGS}


def target_entries(
    rules: RuleSet,
    kb: KnowledgeBase,
    cards: RuleCards,
    targets: Sequence[Predicate],
    measured: Mapping[str, Mapping[str, float]],
    limits: Limits,
    progress: Progress,
) -> Iterator[TargetEntry]:
    """The targets that have rules, those with the most facts first."""
    counts = {p: int(kb.predicate_counts[kb.predicate_id(p)]) for p in targets if p in kb.predicates}
    with_rules = set(np.unique(rules.head).tolist())
    named = sorted((p for p in counts if kb.predicate_id(p) in with_rules), key=lambda p: (-counts[p], p))
    for number, target in enumerate(named[: limits.targets], start=1):
        mine = rules.for_target(target)
        entries = tuple(rule_entry(scored, cards, limits) for scored in chosen_rules(mine, limits))
        label = cards.labels.predicates.get(target.name, target.name)
        names = tuple(step_text(e.step, cards.labels.predicate) for e in mine.exclusions[:MAX_EXCLUSIONS])
        yield TargetEntry(
            target,
            label,
            f"target-{number}",
            counts[target],
            len(mine),
            entries,
            measured.get(str(target), {}),
            names,
            len(mine.exclusions),
        )
        progress("rules", number, min(len(named), limits.targets))


def chosen_rules(rules: RuleSet, limits: Limits) -> list[ScoredRule]:
    """The best rules that name no entity, then the best that do: these are many, and would hide the others."""
    order = rules.order()
    is_special = rules.has_constant
    rows = [*order[~is_special[order]][: limits.general_rules], *order[is_special[order]][: limits.special_rules]]
    return [rules[int(row)] for row in rows]


def rule_entry(scored: ScoredRule, cards: RuleCards, limits: Limits) -> RuleEntry:
    rule, labels = scored.rule, cards.labels
    card = cards.card(scored, examples=limits.instances)
    return RuleEntry(short_rule(rule, labels), str(rule), rule_sentence(rule, labels), factor_graph(rule, labels), card)


def object_names(kb: KnowledgeBase, targets: Sequence[TargetEntry]) -> dict[str, str]:
    """The classes of the objects that examples and counterexamples name."""
    instances = [
        i for target in targets for entry in target.rules for i in (*entry.card.examples, *entry.card.counterexamples)
    ]
    named = {name for i in instances for name in i.fact.arguments}
    named |= {name for i in instances if i.grounding is not None for _, name in i.grounding.bindings}
    ids = np.asarray(sorted(kb.entities.id(name) for name in named), np.int64)
    own = kb.unary[np.isin(kb.unary.predicate, sorted(kb.classes)) & np.isin(kb.unary.subject, ids)]
    found: dict[str, str] = {}
    for predicate, subject in sorted(zip(own.predicate.tolist(), own.subject.tolist())):
        name, label = kb.entities.name(subject), kb.predicates[predicate].name
        found[name] = f"{found[name]}, {label}" if name in found else label
    return found


# surprising predictions ---------------------------------------------------------------------------------


def surprises(
    explainer: Explainer, cards: RuleCards, targets: Sequence[Predicate], count: int, progress: Progress = silent
) -> tuple[Surprise, ...]:
    """The `count` most surprising predictions: no split has them, the rules are sure of them, and rivals are few.

        surprise = score / (1 + answers that the data has for the same subject)

    A fact with a high score makes some strong rule fire, so it is looked for among what the strongest rules predict.
    Equals stand by name. For classes of scenes see class_surprises.
    """
    kb = explainer.kb
    targets = [p for p in targets if p in kb.predicates and kb.predicate_id(p) not in kb.classes]
    rules_per_target = max(1, min(SURPRISE_RULES_PER_TARGET, SURPRISE_RULES // max(len(targets), 1)))
    found: list[tuple[float, Fact, float, int]] = []
    for done, target in enumerate(targets, start=1):
        found += sorted(_candidates(explainer, cards, target, rules_per_target))[:SURPRISES_PER_TARGET]
        progress("predictions", done, len(targets))
    return tuple(
        Surprise(fact, score, num_answers, explainer.explain(fact, top=3, groundings=1, misses=0))
        for _, fact, score, num_answers in sorted(found)[:count]
    )


def _candidates(
    explainer: Explainer, cards: RuleCards, target: Predicate, num_rules: int
) -> Iterator[tuple[float, Fact, float, int]]:
    """(-surprise, fact, score, answers) of what the strongest rules of a target predict that is not in the data."""
    kb, id = explainer.kb, explainer.kb.predicate_id(target)
    rows, mine = explainer.firing.of_target(id)
    order = mine.order()
    predicted: dict[Fact, int] = {}
    for row in rows[order[mine.body_size[order] > mine.support[order]][:num_rules]].tolist():
        scored = explainer.rules[row]
        for x, y in cards.instances(scored.rule, scored.stats).others(0, PREDICTIONS_PER_RULE):
            if cards.known is None or not place(cards.known, (id, x, y))[1]:
                predicted[kb.fact(id, x, y)] = x
    facts = kb.facts.of(id)
    for fact, x in predicted.items():
        score = round(explainer.score(fact), 9)
        if score >= MIN_SURPRISE_SCORE:
            num_answers = int(((facts.subject == x) & (facts.object != NO_OBJECT)).sum())
            yield -score / (1 + num_answers), fact, score, num_answers


# pictures of objects ------------------------------------------------------------------------------------


def object_pictures(
    rules: RuleSet, explainer: Explainer, dataset: Dataset, disputes: Sequence[Dispute], count: int, memory: int
) -> tuple[ObjectPicture, ...]:
    """At most `count`; none where the data has no scenes, or the rules no classes."""
    kb = explainer.kb
    if not dataset.is_scene or not kb.classes.intersection(np.unique(rules.head).tolist()):
        return ()
    best = convincing_object(rules, kb, dataset, memory)
    names = dict.fromkeys([*([] if best is None else [best]), *(d.fact.arguments[0] for d in disputes)])
    return tuple(_picture(rules, explainer, name, memory) for name in list(names)[:count])


def _picture(rules: RuleSet, explainer: Explainer, name: str, memory: int) -> ObjectPicture:
    classes = object_classes(rules, explainer.kb, name, memory)
    explanation = explainer.explain(classes.fact, top=4, groundings=2, misses=1)
    best, value = classes.ranked[0]
    return ObjectPicture(
        name,
        explainer.kb.image_of(explainer.kb.entities.id(name)),
        best.name,
        value,
        tuple(p.name for p in classes.true),
        as_svg(draw(explanation, explainer.kb)),
        explanation,
    )
