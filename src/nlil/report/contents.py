"""The content of a report, computed and selected before the page is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..config import LearnerConfig
from ..data.dataset import Dataset
from ..data.facts import NO_OBJECT
from ..data.kb import KnowledgeBase
from ..datasets.summary import Summary, summarise
from ..explanation.changes import find_fact
from ..explanation.disputes import Dispute, check
from ..explanation.rule_card import RuleCard, RuleCards
from ..explanation.why import Explainer, Explanation
from ..kernel.binding import bind
from ..kernel.ruleset import RuleSet
from ..learning.run import Learned
from ..logic.labels import Labels
from ..logic.predicate import Fact, Predicate
from ..logic.rule import Rule, ScoredRule
from ..logic.text import step_text
from ..progress import Progress, silent
from ..scene.canvas import as_svg
from ..scene.object_classes import (
    ClassSurprise,
    ObjectClasses,
    class_surprises,
    convincing_object,
    object_classes,
)
from ..scene.picture import draw
from ..theory.listing import TargetTheory, TheoryRule, same_rules, target_theories
from ..theory.theory import Theory
from .charts import TRAINING_PANELS, history_charts, size_chart

if TYPE_CHECKING:
    from ..neural.attended import Attended

TOP_PREDICATES = 12
"""Predicates listed in the summary of the data."""
MACHINE_SETTINGS = ("device", "threads", "memory")
"""Settings of the machine, not of the rules."""
SURPRISE_RULES = 240
"""Number of rules, over all targets, whose predictions are searched for surprises."""
SURPRISE_RULES_PER_TARGET = 12
PREDICTIONS_PER_RULE = 4
SURPRISES_PER_TARGET = 2
"""Limit per target, so that the list covers several targets."""
MIN_SURPRISE_SCORE = 0.5

Figures = Mapping[str, Mapping[str, Any]]
"""The figures of `nlil evaluate`, by split."""


@dataclass(frozen=True)
class PageLimits:
    """How much a report shows, so that it stays readable and below 5 MB for any run.

    Attributes:
        targets: predicates, those with the most facts first.
        attended: trained targets whose attentions are shown.
        theory_cards: rules of each theory that are shown with a card.
        same_rules: equivalent rules listed for each rule of a theory.
        pool_rules: the best rules by weight, for a target with a theory.
        general_rules: the best rules without constants, for a target without a theory.
        special_rules: the best rules with constants, for a target without a theory.
        instances: examples and counterexamples of each rule.
        surprises, disputes, pictures: over all targets.
        exclusions: per target.
        figures: predicates in the table of figures.
        disagreements: cases where the rules and the classifier that they imitate disagree.
    """

    targets: int = 60
    attended: int = 12
    theory_cards: int = 6
    same_rules: int = 3
    pool_rules: int = 10
    general_rules: int = 4
    special_rules: int = 2
    instances: int = 3
    surprises: int = 10
    disputes: int = 15
    pictures: int = 2
    exclusions: int = 6
    figures: int = 200
    disagreements: int = 8


@dataclass(frozen=True)
class TheoryEntry:
    """A rule of a theory with some rules that say the `same`; only the first rules of a theory have a `card`."""

    rule: TheoryRule
    same: tuple[Rule, ...]
    card: RuleCard | None


@dataclass(frozen=True)
class TargetEntry:
    """A predicate with `num_rules` rules: its theory, or its best rules with their cards.

    `num_facts` is the number of training facts.

    Attributes:
        rules: The cards, if it has no theory.
        theory: Its theory, ordered by the contribution of each rule.
        entries: The rules of the theory that are shown.
        pool: The best rules by weight, if it has a theory.
        figures: Its figures, if it was evaluated.
        exclusions: Relations that never hold together with the predicate, as text.
        sizes: A chart of the theory's quality by size, if that was measured.
        attended: Its attentions, if it was trained.
        training: Its training curves, as SVG.
    """

    predicate: Predicate
    num_facts: int
    num_rules: int
    rules: tuple[RuleCard, ...]
    figures: Mapping[str, float]
    exclusions: tuple[str, ...]
    theory: TargetTheory | None = None
    entries: tuple[TheoryEntry, ...] = ()
    pool: tuple[ScoredRule, ...] = ()
    sizes: str | None = None
    attended: Attended | None = None
    training: Sequence[str] = ()

    @property
    def cards(self) -> list[RuleCard]:
        """All cards that are shown."""
        return [*self.rules, *(entry.card for entry in self.entries if entry.card is not None)]

    @property
    def num_shown(self) -> int:
        """The number of rules that are shown."""
        return len(self.rules) + len(self.entries)


@dataclass(frozen=True)
class Surprise:
    """A prediction that is in no split, with its `explanation`.

    `num_answers` is the number of other answers for its subject in the data.
    """

    num_answers: int
    explanation: Explanation


@dataclass(frozen=True)
class ObjectPicture:
    """An object of a scene with the `explanation` of its most probable class.

    `classes` are the classes of the object, `image` is the name of its scene or None; `drawing` is SVG.
    """

    classes: ObjectClasses
    image: str | None
    explanation: Explanation
    drawing: str


@dataclass(frozen=True)
class Report:
    """The content of the page.

    Attributes:
        learned: The rules of this data set, and how they were found.
        summary: The size of the data set.
        versions: The versions of nlil and its dependencies.
        figures: The figures of `nlil evaluate`, by split.
        settings: The settings that differ from the defaults.
        targets: The predicates with their best rules.
        sizes: A chart of the quality of all theories by size; None if that was not measured.
        curves: The training curves, as SVG; empty if nothing was trained.
        surprises, class_surprises: Predictions that are in no split.
        disputes: Facts that the rules dispute, worst first.
        pictures: Explained objects of scenes.
        is_scene: Whether the data is scene graphs.
        classes: The classes of the objects that examples mention.
        limits: How much is shown.
        labels: Readable labels in place of names.
    """

    learned: Learned
    summary: Summary
    versions: Mapping[str, str]
    settings: Mapping[str, Any]
    figures: Figures
    targets: tuple[TargetEntry, ...]
    sizes: str | None
    curves: Sequence[str]
    surprises: tuple[Surprise, ...]
    class_surprises: tuple[ClassSurprise, ...]
    disputes: tuple[Dispute, ...]
    pictures: tuple[ObjectPicture, ...]
    is_scene: bool
    classes: Mapping[str, str]
    limits: PageLimits
    labels: Labels


def make_report(
    learned: Learned,
    dataset: Dataset,
    *,
    figures: Figures | None = None,
    versions: Mapping[str, str] | None = None,
    limits: PageLimits | None = None,
    threads: int = 0,
    memory: int = 2**30,
    progress: Progress = silent,
) -> Report:
    """Make the report of a run on a data set. Equal inputs give equal reports.

    Args:
        learned: The rules, and how they were found.
        dataset: The data that they are applied to.
        figures: The figures of `evaluate`, by split.
        versions: The versions of the packages that learned the rules.
        limits: How much is shown.
        threads: Threads for the disputed facts; 0: all cores.
        memory: Bytes that one evaluation may take.
        progress: Called with the progress.
    """
    limits, figures = limits or PageLimits(), figures or {}
    kb, base = dataset.kb, dataset.world
    learned = learned.bound_to(bind(learned.rules, kb))
    rules = learned.rules
    cards = RuleCards(rules, kb, dataset.splits.all(), dataset.splits.negatives.get("train"), memory)
    with _torch_threads(cards):
        explainer = Explainer(rules, base, memory)
        disputes = tuple(check(rules, base, top=limits.disputes, threads=threads, memory=memory, progress=progress))
        targets = tuple(target_entries(learned, kb, cards, figures, limits, progress))
        return Report(
            learned=learned,
            summary=summarise(dataset, TOP_PREDICATES),
            versions=dict(versions or {}),
            settings=changed_settings(learned.config),
            figures=figures,
            targets=targets,
            sizes=None if learned.theory is None else theory_chart(learned.theory, len(rules)),
            curves=history_charts(learned.history),
            surprises=surprises(explainer, cards, learned.targets, limits.surprises, progress),
            class_surprises=class_surprises(explainer, dataset, limits.surprises, threads, memory),
            disputes=disputes,
            pictures=object_pictures(explainer, dataset, disputes, limits.pictures, memory),
            is_scene=dataset.is_scene,
            classes=object_names(base, targets) if dataset.is_scene else {},
            limits=limits,
            labels=Labels.of(kb),
        )


def _torch_threads(cards: RuleCards) -> AbstractContextManager[None]:
    """Return the context in which `cards` evaluates rules: more threads would slow down thousands of small sums."""
    if cards.is_small:
        return nullcontext()
    from ..kernel.threads import one_torch_thread  # imports torch

    return one_torch_thread()


def main_figures(figures: Figures) -> Mapping[str, Any]:
    """Return the figures of the test split, else of the validation or training split."""
    return next((figures[split] for split in ("test", "valid", "train") if split in figures), {})


def changed_settings(config: LearnerConfig) -> dict[str, Any]:
    """Return the settings of `config` that differ from the defaults."""
    default = LearnerConfig().to_dict()
    changed = {key: value for key, value in config.to_dict().items() if value != default.get(key)}
    return {key: value for key, value in changed.items() if key not in MACHINE_SETTINGS}


def target_entries(
    learned: Learned, kb: KnowledgeBase, cards: RuleCards, figures: Figures, limits: PageLimits, progress: Progress
) -> Iterator[TargetEntry]:
    """Yield the targets that have rules, those with the most facts first."""
    rules, measured = learned.rules, main_figures(figures).get("per_predicate", {})
    theories = {} if learned.theory is None else {t.predicate: t for t in target_theories(rules, learned.theory)}
    counts = {p: int(kb.predicate_counts[kb.predicate_id(p)]) for p in learned.targets if p in kb.predicates}
    with_rules = set(np.unique(rules.head).tolist())
    named = sorted((p for p in counts if kb.predicate_id(p) in with_rules), key=lambda p: (-counts[p], p))
    for number, target in enumerate(named[: limits.targets], start=1):
        target_rules, theory = rules.for_target(target), theories.get(target)
        entry = TargetEntry(
            predicate=target,
            num_facts=counts[target],
            num_rules=len(target_rules),
            rules=(),
            figures=measured.get(str(target), {}),
            exclusions=tuple(step_text(e.step, cards.labels.predicate) for e in target_rules.exclusions),
        )
        if number <= limits.attended:
            entry = replace(entry, **training_parts(learned, target, kb.num_graphs))
        if theory is None:
            shown = tuple(
                cards.card(scored, examples=limits.instances, spread=True)
                for scored in chosen_rules(target_rules, limits)
            )
            yield replace(entry, rules=shown)
        else:
            assert learned.theory is not None
            yield replace(entry, **theory_parts(rules, learned.theory, theory, target_rules, cards, limits))
        progress("rules", number, min(len(named), limits.targets))


def theory_parts(
    pool: RuleSet, whole: Theory, target_theory: TargetTheory, rules: RuleSet, cards: RuleCards, limits: PageLimits
) -> dict[str, Any]:
    """Return the fields of a TargetEntry that describe its theory.

    Args:
        pool: all rules.
        whole: the theories of all targets.
        target_theory: the theory of this target.
        rules: all rules of the target.
        cards: the maker of cards.
        limits: how much is shown.
    """
    entries = [
        TheoryEntry(
            rule=rule,
            same=tuple(pool.rule(int(row)) for row in same_rules(pool, whole, rule.number, limits.same_rules)),
            card=cards.card(rule.scored, examples=limits.instances, spread=True)
            if place < limits.theory_cards
            else None,
        )
        for place, rule in enumerate(target_theory.rules)
    ]
    return {
        "theory": target_theory,
        "entries": tuple(entries),
        "pool": tuple(rules.top(limits.pool_rules)),
        "exclusions": tuple(step_text(e.step, cards.labels.predicate) for e in target_theory.exclusions),
        "sizes": target_chart(whole, target_theory),
    }


def training_parts(learned: Learned, target: Predicate, num_graphs: int) -> dict[str, Any]:
    """Return the fields of a TargetEntry that describe its training; none if the target was not trained.

    Args:
        learned: the run, in the ids of its training data.
        target: the predicate.
        num_graphs: the number of graphs of that data.
    """
    if not learned.attentions:
        return {}
    from ..neural.attended import attended, trained_targets  # imports torch
    from ..neural.vocabulary import is_linked

    if not trained_targets(learned.attentions, [target]):
        return {}
    linked = is_linked(target.arity, learned.config)
    records = [record for record in learned.history if record.get("target") == str(target)]
    return {
        "attended": attended(learned.attentions, target, learned.rules, linked, num_graphs),
        "training": history_charts(records, TRAINING_PANELS),
    }


def theory_chart(theory: Theory, num_rules: int) -> str | None:
    """Draw the quality of all theories by size, compared with that of all `num_rules` rules.

    Returns None if it was not measured in `theory`.
    """
    if (score := theory.pool_score) is None:
        return None
    return size_chart(theory.curve(), score, f"all {num_rules:,} rules", theory.size)


def target_chart(theory: Theory, target_theory: TargetTheory) -> str | None:
    """Draw the quality of `target_theory` by size.

    Returns None if it was not measured. `theory` has all targets.
    """
    if target_theory.scores is None:
        return None
    return size_chart(
        target_theory.scores.sizes, target_theory.scores.pool, f"all {target_theory.num_rules:,} rules", theory.size
    )


def chosen_rules(rules: RuleSet, limits: PageLimits) -> list[ScoredRule]:
    """Return the best of `rules` without constants, then the best with constants.

    Rules with constants are many and would hide the others.
    """
    order = rules.order()
    is_special = rules.has_constant[order]
    rows = [*order[~is_special][: limits.general_rules], *order[is_special][: limits.special_rules]]
    return [rules[int(row)] for row in rows]


def object_names(kb: KnowledgeBase, targets: Sequence[TargetEntry]) -> dict[str, str]:
    """Return the classes of the objects that examples and counterexamples mention."""
    cards = [card for target in targets for card in target.cards]
    instances = [instance for card in cards for instance in (*card.examples, *card.counterexamples)]
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
    """Return the `count` most surprising predictions: in no split, with a high score and few rival answers.

        surprise = score / (1 + answers of the data for the same subject)

    A high score needs a strong rule that fires, so only the predictions of the strongest rules are searched. Ties are
    sorted by name. For the classes of scenes see class_surprises.
    """
    kb = explainer.kb
    targets = [p for p in targets if p in kb.predicates and kb.predicate_id(p) not in kb.classes]
    rules_per_target = max(1, min(SURPRISE_RULES_PER_TARGET, SURPRISE_RULES // max(len(targets), 1)))
    found: list[tuple[float, Fact, int]] = []
    for done, target in enumerate(targets, start=1):
        found += sorted(_candidates(explainer, cards, target, rules_per_target))[:SURPRISES_PER_TARGET]
        progress("predictions", done, len(targets))
    return tuple(
        Surprise(num_answers, explainer.explain(fact, top=3, groundings=1, misses=0))
        for _, fact, num_answers in sorted(found)[:count]
    )


def _candidates(
    explainer: Explainer, cards: RuleCards, target: Predicate, num_rules: int
) -> Iterator[tuple[float, Fact, int]]:
    """Yield (-surprise, fact, number of answers) of predictions of the strongest rules that are not in the data."""
    kb, id = explainer.kb, explainer.kb.predicate_id(target)
    rows, target_rules = explainer.firing.of_target(id)
    order = target_rules.order()
    predicted: dict[Fact, int] = {}
    for row in rows[order[target_rules.body_size[order] > target_rules.support[order]][:num_rules]].tolist():
        scored = explainer.rules[row]
        for x, y in cards.instances(scored.rule, scored.stats).others(0, PREDICTIONS_PER_RULE):
            if cards.known is None or not find_fact(cards.known, (id, x, y))[1]:
                predicted[kb.fact(id, x, y)] = x
    facts = kb.facts.of(id)
    for fact, x in predicted.items():
        score = round(explainer.score(fact), 9)
        if score >= MIN_SURPRISE_SCORE:
            num_answers = int(((facts.subject == x) & (facts.object != NO_OBJECT)).sum())
            yield -score / (1 + num_answers), fact, num_answers


# pictures of objects ------------------------------------------------------------------------------------


def object_pictures(
    explainer: Explainer, dataset: Dataset, disputes: Sequence[Dispute], count: int, memory: int
) -> tuple[ObjectPicture, ...]:
    """Draw at most `count` objects: a convincing one, then disputed ones.

    Returns nothing if `dataset` has no scenes or the rules have no classes. `disputes` are the disputed facts; `memory`
    is in bytes.
    """
    kb, rules = explainer.kb, explainer.rules
    if not dataset.is_scene or not kb.classes.intersection(np.unique(rules.head).tolist()):
        return ()
    best = convincing_object(rules, kb, dataset, memory)
    names = dict.fromkeys([*([] if best is None else [best]), *(d.fact.arguments[0] for d in disputes)])
    pictures = []
    for name in list(names)[:count]:
        classes = object_classes(rules, kb, name, memory)
        why = explainer.explain(classes.fact, top=4, groundings=2, misses=1)
        pictures.append(ObjectPicture(classes, kb.image_of(kb.entities.id(name)), why, as_svg(draw(why, kb))))
    return tuple(pictures)
