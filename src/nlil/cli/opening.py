"""From what the user names (DATA, RUN) to values, with the warnings that belong there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import RunError
from .session import Session

if TYPE_CHECKING:
    from ..data import Dataset, KnowledgeBase
    from ..learning.config import LearnerConfig
    from ..logic.predicate import Predicate
    from ..rules import RuleSet


@dataclass(frozen=True)
class Opened:
    """`rules` in the ids of the data, and the configuration of this call."""

    rules: RuleSet
    dataset: Dataset
    config: LearnerConfig
    is_own_data: bool

    @property
    def base(self) -> KnowledgeBase:
        """What a question may look at: the training facts, and the scenes of every split, each a world of its own."""
        kb = self.dataset.kb
        facts = kb.facts
        for context in self.dataset.splits.context.values():
            facts = facts + context
        return kb if facts is kb.facts else kb.with_facts(facts)


def read_data(session: Session, source: str, seed: int) -> Dataset:
    """A data set; what its reader decided is said on stderr."""
    from ..data import load_dataset

    dataset = load_dataset(source, seed=seed)
    for note in dataset.notes:
        session.note(f"{dataset.name}: {note}")
    return dataset


def lasting_source(source: str) -> str:
    """What a run folder remembers: a known name as it is, a path made absolute. A name wins, as in `load_dataset`."""
    from ..data import builtin_names, find
    from ..data.catalog import catalog_names

    if source.partition(":")[0] in builtin_names() or source in catalog_names() or find(source) is not None:
        return source
    return str(Path(source).expanduser().resolve())


def open_run(session: Session, run: Path, data: str | None) -> Opened:
    """A run and the data its rules are to be applied to: `data`, or what it was learned from."""
    from ..learning.config import LearnerConfig
    from ..learning.run import load_with_info
    from ..rules.binding import bind

    info, learned = load_with_info(run)
    if data is None and info.source is None:
        raise RunError("the run does not say which data it was learned from; name it with --data", run)
    dataset = read_data(session, data or info.source or "", learned.config.seed)
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
        session.note(f"{bound.unknown_exclusion:,} of {len(learned.rules.exclusions):,} exclusions are left out: they "
                     f"name a predicate that {dataset.name} does not have")
    if left_out and left_out == len(learned.rules):
        raise RunError(f"none of its {left_out:,} rules can be said about {dataset.name}, which has none of their "
                       "predicates or entities; name data with the same predicates", run)
    # Device and budgets belong to the machine that learned, not to the rules.
    config = replace(learned.config, **{key: getattr(LearnerConfig(), key) for key in ("device", "threads", "memory")})
    return Opened(bound.rules, dataset, session.configure(config), data is None)


def with_targets(dataset: Dataset, targets: Iterable[Predicate], rules: RuleSet) -> Dataset:
    """The data with every target as a predicate: rules derive what no fact says yet. Foreign data stays as it is."""
    known = set(dataset.kb.predicates)
    new = tuple(p for p in targets if p not in known)
    if not new or known.isdisjoint(rules.predicates):
        return dataset
    return replace(dataset, kb=replace(dataset.kb, predicates=dataset.kb.predicates + new))


def open_rules(session: Session, file: Path, data: str) -> Opened:
    """Rules written by hand or by another system, with statistics counted on the data, so that they have weights."""
    from ..learning.config import LearnerConfig
    from .given import counted, read_rules

    config = session.configure(LearnerConfig())
    given = read_rules(file)
    dataset = read_data(session, data, config.seed)
    with session.progress() as progress:
        rules = counted(given, file, dataset, config, progress)
    return Opened(rules, dataset, config, False)
