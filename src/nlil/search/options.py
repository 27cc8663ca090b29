"""The input of the counting search: settings, and the targets with their facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.arrays import Flag, Ids, Longs
from ..data.kb import KnowledgeBase
from ..kernel.bodies import Y_NODE
from ..kernel.graph import Graph, TargetFacts, target_facts
from ..kernel.ruleset import RuleSet
from ..progress import Progress, Stop, silent
from ..settings import CountSettings

NEVER = np.zeros(1, np.uint8)
"""The flag of a search that is never stopped."""
ChainRows = tuple[Ids, Longs]
"""Rules p(X, Y) with a chain as body, as columns: steps (rules, length), and counts (4, rules): position of the target,
support, body size, PCA body."""


Arrays = Mapping[str, np.ndarray]
Stages = Callable[[str, Callable[[], Arrays]], Arrays]
"""Returns the result of a stage of counting, given its name and a function that does the work. It may keep results of
unfinished work, so that they are not counted again."""


def counted_now(name: str, count: Callable[[], Arrays]) -> Arrays:
    """Return the result of the stage `name`, which `count` does; it is not kept."""
    return count()


@dataclass(frozen=True)
class CountOptions(CountSettings):
    """The settings of counting, and how to run it; `tried_length` and `min_confidence` have other defaults here.

    `seed`, `threads`, `device` and `memory` are those of LearnerConfig. `stop` ends the search early (None: never);
    `chain_length`, the length of the longest chains, is set by the search; `stages` may keep results of long stages.
    """

    tried_length: int = 0
    min_confidence: float = 0.01
    seed: int = 0
    threads: int = 1
    device: str = "cpu"
    memory: int = 2**30
    stop: Stop | None = None
    chain_length: int = 2
    stages: Stages = counted_now

    def rows(self, name: str, count: Callable[[], ChainRows]) -> ChainRows:
        """Return the rows of the stage `name`, which `count` does unless they are stored."""
        found = self.stages(name, lambda: dict(zip(("steps", "counts"), count())))
        return found["steps"], found["counts"]

    def enough(self, support: Any, body_size: Any) -> Any:
        """Return which rules have enough `support` and confidence, with this `body_size`: arrays or tensors."""
        return (support > 0) & (support >= self.min_support) & (support >= self.min_confidence * body_size)

    @property
    def is_late(self) -> bool:
        """Whether the time is up."""
        return self.stop is not None and self.stop()

    @property
    def seconds_left(self) -> float:
        """Seconds until the time is up; infinite without a limit."""
        return float("inf") if self.stop is None else self.stop.left

    @property
    def flag(self) -> Flag:
        """The flag for compiled loops: not 0 once the time is up."""
        return NEVER if self.stop is None else self.stop.flag

    def stop_after(self, share: float) -> Stop | None:
        """Return a stop after this share of the time that is left."""
        return None if self.stop is None else self.stop.part(share)


@dataclass(frozen=True, eq=False)
class CountingTask:
    """A search for rules p(X, Y).

    Args:
        kb: crisp facts.
        graph: the facts that bodies use.
        targets: binary predicates p.
        facts: the facts of the targets.
        options: the settings of the search.
        progress: receives reports of progress.
    """

    kb: KnowledgeBase
    graph: Graph
    targets: Ids
    facts: TargetFacts
    options: CountOptions
    progress: Progress = silent

    @classmethod
    def of(
        cls, kb: KnowledgeBase, graph: Graph, targets: Ids, options: CountOptions, progress: Progress = silent
    ) -> CountingTask:
        """Return the task for the facts that `kb` has of the targets."""
        return cls(kb, graph, targets, target_facts(kb, targets), options, progress)

    def __getstate__(self) -> dict[str, Any]:
        """Drop `progress`: a copy in another process cannot report."""
        return self.__dict__ | {"progress": silent}

    def for_share(self, share: float) -> CountingTask:
        """Return the same task with this `share` of the time that is left."""
        return replace(self, options=replace(self.options, stop=self.options.stop_after(share)))

    def chain_rules(self, rows: ChainRows) -> RuleSet:
        """Return p(X, Y) :- a chain from X to Y, all variables distinct, for each of `rows`."""
        steps, (target, support, body_size, pca_body) = rows
        return RuleSet.of_lines(
            self.kb,
            steps,
            head=self.targets[target],
            end=Y_NODE,
            support=support,
            body_size=body_size,
            head_size=self.facts.size[target],
            pca_body=pca_body,
        )


def join_rows(parts: Sequence[ChainRows], length: int) -> ChainRows:
    """Join the rows of `parts`, chains of `length` steps, in order."""
    steps = np.concatenate([np.zeros((0, length), np.int32), *(steps for steps, _ in parts)])
    return steps, np.concatenate([np.zeros((4, 0), np.int64), *(counts for _, counts in parts)], axis=1)
