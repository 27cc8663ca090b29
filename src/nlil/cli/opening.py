"""From what the user names (DATA, RUN) to values, with the warnings that belong there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import RunError
from .session import Session

if TYPE_CHECKING:
    from ..data import DataOptions, Dataset, KnowledgeBase
    from ..kernel.ruleset import RuleSet
    from ..learning.config import LearnerConfig
    from ..learning.feedback import Feedback
    from ..logic.predicate import Predicate


@dataclass(frozen=True)
class Opened:
    """`rules` in the ids of the data, and the configuration of this call.

    Rules that people have rejected (`feedback`) are not among them; `all_rules` has them too. `left_out`: how many
    rules of a file of another system could not be taken, by reason.
    """

    rules: RuleSet
    dataset: Dataset
    config: LearnerConfig
    is_own_data: bool
    with_rejected: RuleSet | None = None
    feedback: Feedback = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def all_rules(self) -> RuleSet:
        return self.rules if self.with_rejected is None else self.with_rejected

    @property
    def base(self) -> KnowledgeBase:
        """What a question may look at: the training facts, and the scenes of every split, each a world of its own."""
        kb = self.dataset.kb
        facts = kb.facts
        for context in self.dataset.splits.context.values():
            facts = facts + context
        return kb if facts is kb.facts else kb.with_facts(facts)


def read_data(
    session: Session, source: str, seed: int, options: DataOptions | None = None, like: Collection[Predicate] = ()
) -> Dataset:
    """A data set, its numbers cut as in `like`; what its reader decided is said on stderr."""
    from ..data import DataOptions
    from ..datasets import load_dataset

    dataset = load_dataset(source, seed=seed, options=options or DataOptions(), like=like)
    for note in dataset.notes:
        session.note(f"{dataset.name}: {note}")
    return dataset


def lasting_source(source: str) -> str:
    """What a run folder remembers: a known name as it is, a path made absolute. A name wins, as in `load_dataset`."""
    from ..data import find
    from ..data.catalog import catalog_names
    from ..datasets import builtin_names
    from ..datasets.folder import ORIGINAL

    if source.endswith(ORIGINAL):
        return lasting_source(source.removesuffix(ORIGINAL)) + ORIGINAL
    if source.partition(":")[0] in builtin_names() or source in catalog_names() or find(source) is not None:
        return source
    return str(Path(source).expanduser().resolve())


def open_run(session: Session, run: Path, data: str | None) -> Opened:
    """A run and the data its rules are to be applied to: `data`, or what it was learned from."""
    from ..kernel.binding import bind
    from ..learning.config import LearnerConfig
    from ..learning.feedback import load_feedback, without_rejected
    from ..learning.run import load_with_info

    info, learned = load_with_info(run)
    if data is None and info.source is None:
        raise RunError("the run does not say which data it was learned from; name it with --data", run)
    options = learned.config.data_options()
    if data is not None:
        # What was dropped as rare or misleading is in no rule, and counts of other data say nothing about it.
        options = replace(options, drop=(), min_count=0)
    # `size_over_12pct` means 12 % of any image, whatever the quantiles of other data are.
    like = () if data is None else learned.rules.predicates
    dataset = read_data(session, data or info.source or "", learned.config.seed, options, like)
    if data is None and info.checksum not in (None, dataset.checksum):
        session.warn(f"{info.source} has changed since {run} was learned from it")
    if data is not None:
        dataset = with_targets(dataset, learned.targets, learned.rules)
    bound = bind(learned.rules, dataset.kb)
    left_out = bound.unknown_constant + bound.unknown_predicate
    if 0 < left_out < len(learned.rules):
        session.note(
            f"{left_out:,} of {len(learned.rules):,} rules are left out: {bound.unknown_predicate:,} name a predicate "
            f"and {bound.unknown_constant:,} an entity that {dataset.name} does not have"
        )
    if bound.unknown_exclusion:
        session.note(
            f"{bound.unknown_exclusion:,} of {len(learned.rules.exclusions):,} exclusions are left out: they "
            f"name a predicate that {dataset.name} does not have"
        )
    if left_out and left_out == len(learned.rules):
        raise RunError(
            f"none of its {left_out:,} rules can be said about {dataset.name}, which has none of their "
            "predicates or entities; name data with the same predicates",
            run,
        )
    # Device and budgets belong to the machine that learned, not to the rules.
    config = replace(learned.config, **{key: getattr(LearnerConfig(), key) for key in ("device", "threads", "memory")})
    feedback = load_feedback(run)
    rules = without_rejected(bound.rules, feedback)
    note_rejected(session, len(bound.rules), len(rules))
    return Opened(rules, dataset, session.configure(config), data is None, bound.rules, feedback)


def note_rejected(session: Session, total: int, kept: int) -> None:
    if kept < total:
        session.note(f"{total - kept:,} of {total:,} rules are left out: they were rejected in the viewer")


def with_targets(dataset: Dataset, targets: Iterable[Predicate], rules: RuleSet) -> Dataset:
    """The data with every target as a predicate: rules derive what no fact says yet. Foreign data stays as it is.

    So do predicates of rules that are more than a path: one that denies what no fact says holds. Where all
    targets are classes, the new ones are too: an object may be taken for what the data has none of.
    """
    import numpy as np

    kb, targets = dataset.kb, tuple(targets)
    known = set(kb.predicates)
    named = {predicate for row in np.flatnonzero(rules.is_program) for predicate in rules.rule(int(row)).predicates}
    new = tuple(dict.fromkeys(p for p in (*targets, *sorted(named)) if p not in known))
    if not new or known.isdisjoint(rules.predicates):
        return dataset
    predicates = kb.predicates + new
    number = {p: i for i, p in enumerate(predicates)}
    classes = kb.classes
    if classes and all(number[p] in classes for p in targets if p in known):
        classes |= {number[p] for p in targets if p in new and p.arity == 1}
    return replace(dataset, kb=replace(kb, predicates=predicates, classes=classes))


def open_rules(session: Session, file: Path, data: str) -> Opened:
    """Rules written by hand or by another system, with statistics counted on the data, so that they have weights."""
    from ..exports.rule_files import RuleFile
    from ..kernel.aggregation import Aggregation
    from ..learning.config import LearnerConfig

    config = session.configure(LearnerConfig())
    read = RuleFile.read(file)
    dataset = read_data(session, data, config.seed)
    known = read.known_to(dataset)
    if known.left_out:
        session.note(known.left_out_sentence())
    with session.progress() as progress:
        aggregation = Aggregation(config.aggregation, config.aggregation_top)
        rules = known.counted(dataset, aggregation, config.memory, progress)
    return Opened(rules, dataset, config, False, left_out=known.num_left_out)
