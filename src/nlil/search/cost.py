"""What learning takes, from counts alone: memory, time, paths and rules, before anything runs.   [docs/scale.md]

Everything is a count times a constant. The constants are fitted by hand to generated graphs of 0.3, 1 and 3 million
facts on one busy machine; another one is faster or slower as a whole, and larger graphs are not measured yet. The same
numbers decide how many rules there is room for (`most_rules`) and whether a budget can hold a base at all
(`check_memory`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..data.kb import KnowledgeBase
from ..errors import LimitError
from ..kernel.pool import SCRATCH_SHARE

PROCESS_BYTES = 150e6
"""Python with the libraries that learning needs."""
FACT_BYTES = 280
"""A fact with its edges, indexes, and what sorting them takes at a time."""
RULE_BYTES = 200
"""A rule, and what is computed of all rules at a time: orders, weights, plans for ranking."""
ENTITY_BYTES = 500
"""Scratch of a thread for one entity: paths, candidates and their evidence, as far as queries touch them."""
MANY_ENTITIES, LEAST_SHARE = 50_000, 0.2
"""Entities beyond which fewer facts are ranked to choose by, but this share of what a small base takes."""
LEAST_RULES = 100_000
"""There is always room for so many."""
ROOM, SPARE = 1.2, 500e6
"""What a run may take: so many times the budget, and this much more."""

FACT_SECONDS = 5e-6
"""Of one core, for a fact: to index it, for this graph and its parts."""
NEAR_SECONDS = 4e-8
"""For an edge at the smaller end of a fact."""
CHAIN_SECONDS = 5e-5
"""For a fact: to find, estimate and count chains of three steps."""
WALK_SECONDS = 1.7e-7
"""For an edge that is walked to count anchored rules."""
TARGET_SECONDS, TARGET_ENTITY_SECONDS = 0.1, 1.8e-6
"""For a target: to choose its theory; and for each entity beside it."""
QUERY_SECONDS, QUERY_ENTITY_SECONDS = 5e-4, 3e-8
"""For a query of weighing and calibration, and for each entity beside it."""
QUERIES = 20_000
"""These queries, on a small base."""
RULE_SECONDS = 5e-7
"""For a rule: to join and write it."""
WRITE_SHARE = 0.25
"""Of a time limit, what joining and writing rules may take."""

NETWORK_BYTES = 1e9
"""Bytes that a node receives in a second."""
BASE_BYTES = 80
"""A fact with its indexes, which travel to every node."""
ROW_BYTES = 24
"""A rule on its way back."""


class Size(NamedTuple):
    """What the cost depends on.

    Attributes:
        facts: binary training facts.
        entities: as many as the base has.
        targets: binary predicates with facts.
        near: over all facts, the edges of their smaller end: what chains of two steps are found from.
        walked: edges walked to count anchored rules, over all heads with enough facts.
        heads: such heads q(X, c); each has a prior.
    """

    facts: float
    entities: float
    targets: float
    near: float
    walked: float
    heads: float

    @classmethod
    def of(cls, kb: KnowledgeBase, min_support: int = 2) -> Size:
        """Count `kb`, predicate by predicate; heads are those with `min_support` facts."""
        facts, count = kb.crisp.binary, kb.num_entities
        degree = np.bincount(facts.subject, minlength=count) + np.bincount(facts.object, minlength=count)
        near = int(np.minimum(degree[facts.subject], degree[facts.object]).sum())
        walked, heads, targets = 0, 0, np.unique(facts.predicate)
        for target in targets.tolist():
            mine = facts.of(target)
            for node, other in ((mine.subject, mine.object), (mine.object, mine.subject)):
                order = np.argsort(node, kind="stable")
                first = np.flatnonzero(np.diff(node[order], prepend=-1))
                enough = np.diff(first, append=len(node)) >= min_support
                edges = degree[other[order]]
                left = np.add.reduceat(edges, first) - np.maximum.reduceat(edges, first)
                walked += int(left[enough].sum())
                heads += int(enough.sum())
        return cls(len(facts), count, len(targets), near, walked, heads)

    @classmethod
    def generated(cls, facts: float) -> Size:
        """Return the size of a graph of so many `facts`, if it were one of `nlil bench ladder`."""
        millions = facts / 1e6
        return cls(facts, facts / 8, 220, 6e7 * millions**1.2, 1.3e8 * millions**1.4, 0.33 * facts)


@dataclass(frozen=True)
class Cost:
    """What one process takes, by part.

    Attributes:
        size: what it was computed from.
        memory: bytes, by what they are for.
        seconds: of one core, by what they are for.
        paths: edges walked.
        rules: how many are kept.
    """

    size: Size
    memory: Mapping[str, float]
    seconds: Mapping[str, float]
    paths: float
    rules: float

    @property
    def bytes(self) -> float:
        """All memory."""
        return sum(self.memory.values())

    @property
    def cpu_seconds(self) -> float:
        """All seconds of one core."""
        return sum(self.seconds.values())

    def wall_seconds(self, cores: int) -> float:
        """Return the seconds on so many `cores`: what threads share, and what one thread does alone."""
        alone = sum(value for name, value in self.seconds.items() if name in ALONE)
        return alone + (self.cpu_seconds - alone) / max(cores, 1)


ALONE = ("read and index", "write rules")
"""What is done by one thread."""


def cost(size: Size, memory: int, threads: int = 1, constants: bool = True) -> Cost:
    """Estimate what learning on a base of this `size` takes.

    Args:
        size: counts of the base.
        memory: the budget in bytes; how many rules are kept depends on it.
        threads: each has its own scratch; those that have no room for it are not used.
        constants: whether anchored rules and priors are counted.
    """
    anchored = min(0.25 * size.walked, most_rules(memory, int(size.facts), int(size.heads))) if constants else 0.0
    rules = anchored + (size.heads if constants else 0.0) + 20 * size.targets
    queries = QUERIES * share_ranked(size.entities)
    per_query = QUERY_SECONDS + QUERY_ENTITY_SECONDS * size.entities
    per_target = TARGET_SECONDS + TARGET_ENTITY_SECONDS * size.entities
    scratch = ENTITY_BYTES * size.entities
    bytes_of = {
        "program": PROCESS_BYTES,
        "facts and indexes": FACT_BYTES * size.facts,
        "rules": RULE_BYTES * rules,
        "scratch of threads": scratch * max(1, min(threads, int(SCRATCH_SHARE * memory / max(scratch, 1)))),
    }
    seconds = {
        "read and index": FACT_SECONDS * size.facts,
        "chains of two steps": NEAR_SECONDS * size.near,
        "longer chains": CHAIN_SECONDS * size.facts,
        "anchored rules": WALK_SECONDS * size.walked if constants else 0.0,
        "weights, calibration, theories": per_target * size.targets + queries * per_query,
        "write rules": RULE_SECONDS * rules,
    }
    return Cost(size, bytes_of, seconds, size.near + (size.walked if constants else 0.0), rules)


def share_ranked(entities: float) -> float:
    """Return which share of the facts that a small base ranks to choose by is ranked on one of so many `entities`."""
    return max(min(1.0, MANY_ENTITIES / max(entities, 1)), LEAST_SHARE)


def most_rules(memory: int, facts: int, others: int, seconds: float = float("inf")) -> int:
    """Return how many anchored rules a budget of `memory` bytes has room for, beside so many `facts` and `others`.

    To join and write them takes no more than a part of the `seconds` left.
    """
    left = memory - PROCESS_BYTES - FACT_BYTES * facts - RULE_BYTES * others
    return max(int(min(left / RULE_BYTES, WRITE_SHARE * seconds / RULE_SECONDS)), LEAST_RULES)


def check_memory(memory: int, facts: int, rules: int = 0) -> None:
    """Raise LimitError where a budget of `memory` bytes cannot hold a base of so many `facts`, and so many `rules`."""
    least = PROCESS_BYTES + FACT_BYTES * facts + RULE_BYTES * rules
    if least > ROOM * memory + SPARE:
        needed = (least - SPARE) / ROOM / 2**30
        what = f"{facts:,} facts" + (f" and {rules:,} rules" if rules else "")
        raise LimitError(f"--memory {memory / 2**30:.3g}GiB is too little for {what}; they need {needed:.1f}GiB")


# many machines ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Simulation:
    """What learning takes on many machines that each hold the whole base and count some of the targets' shards.

    Attributes:
        nodes, cores: machines, and cores of each.
        node_bytes: memory of the machine that gives the command, which holds all rules too.
        moved_bytes: the base to every machine, and all rules back.
        seconds: by part, of the clock.
    """

    nodes: int
    cores: int
    node_bytes: float
    moved_bytes: float
    seconds: Mapping[str, float]

    @property
    def total_seconds(self) -> float:
        """All parts, one after the other."""
        return sum(self.seconds.values())


def simulate(cost: Cost, nodes: int, cores: int) -> Simulation:
    """Simulate the work of `cost` on so many `nodes` of so many `cores`: counting is shared, the rest is not."""
    base, rows = BASE_BYTES * cost.size.facts, ROW_BYTES * cost.rules
    shared = ("chains of two steps", "longer chains", "anchored rules")
    seconds = {
        "read and index, on one node": cost.seconds["read and index"],
        "send the base": base / NETWORK_BYTES * np.ceil(np.log2(max(nodes, 2))),
        "count": sum(cost.seconds[name] for name in shared) / (nodes * cores),
        "collect rules": rows / NETWORK_BYTES,
        "weights, calibration, theories, on one node": cost.seconds["weights, calibration, theories"] / cores,
        "write rules": cost.seconds["write rules"],
    }
    return Simulation(nodes, cores, cost.bytes, base * nodes + rows, seconds)
