"""make_report: from a run and its data to what a report shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..data.dataset import Dataset
from ..data.kb import KnowledgeBase
from ..datasets.summary import summarise
from ..explanation.disputes import check
from ..explanation.phrases import short_rule
from ..explanation.rule_card import RuleCards
from ..explanation.why import Explainer
from ..exports.english import rule_sentence
from ..kernel.binding import bind
from ..kernel.ruleset import RuleSet
from ..kernel.threads import one_torch_thread
from ..learning.config import LearnerConfig
from ..learning.learner import Learned
from ..logic.labels import Labels
from ..logic.predicate import Predicate
from ..logic.rule import ScoredRule
from ..logic.text import step_text
from ..progress import Progress, silent
from ..scene.class_surprises import class_surprises
from .curves import curves
from .factor_graph import factor_graph
from .pictures import object_pictures
from .surprises import surprises
from .values import Limits, Report, RuleEntry, TargetEntry

TOP_PREDICATES = 12
SHOWN_EXCLUSIONS = 6
MACHINE = ("device", "threads", "memory")
"""Settings of the machine, not of the rules."""


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
    """What `learned` found in `dataset`; `figures` are those of `evaluate` by split. Same values, same report."""
    limits = limits or Limits()
    # Thousands of small questions: threads of torch cost more than they bring.
    with one_torch_thread():
        return _report(learned, dataset, figures or {}, versions or {}, limits, threads, memory, progress)


def _report(
    learned: Learned,
    dataset: Dataset,
    figures: Mapping[str, Mapping[str, Any]],
    versions: Mapping[str, str],
    limits: Limits,
    threads: int,
    memory: int,
    progress: Progress,
) -> Report:
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
        versions=dict(versions),
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
    default = LearnerConfig().to_dict()
    return {key: value for key, value in config.to_dict().items() if key not in MACHINE and value != default.get(key)}


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
    for place, target in enumerate(named[: limits.targets], start=1):
        mine = rules.for_target(target)
        entries = tuple(rule_entry(scored, cards, limits) for scored in chosen_rules(mine, limits))
        label = cards.labels.predicates.get(target.name, target.name)
        names = tuple(step_text(e.step, cards.labels.predicate) for e in mine.exclusions[:SHOWN_EXCLUSIONS])
        yield TargetEntry(
            target,
            label,
            f"target-{place}",
            counts[target],
            len(mine),
            entries,
            measured.get(str(target), {}),
            names,
            len(mine.exclusions),
        )
        progress("rules", place, min(len(named), limits.targets))


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
