"""The cost of learning, estimated from counts alone: memory, time, paths and rules.   [docs/scale.md]

Every estimate is a count times a constant. The constants were fitted by hand to generated graphs of 0.3, 1 and 3
million facts on one busy machine; other machines differ by a factor, and larger graphs have not been measured. The same
numbers decide how many rules fit into memory (`most_rules`) and whether a base fits at all (`check_memory`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

import numpy as np

from ..data.kb import KnowledgeBase
from ..errors import LimitError
from ..kernel.pool import SCRATCH_SHARE
from ..logic.predicate import Predicate
from .sampled_heads import num_constant_rules

PROCESS_BYTES = 150e6
"""Python with the libraries that learning needs."""
FACT_BYTES = 280
"""Per fact: its edges, indexes, and the buffers to sort them."""
RULE_BYTES = 200
"""Per rule: its columns, and what is computed for all rules at once: orders, weights, plans for ranking."""
SAMPLE_BYTES, SAMPLED_FACTS = 25_000, 10_000
"""Per fact, and of how many facts at most: samples of queries with their best candidates, whatever the budget."""
ENTITY_BYTES = 500
"""Per entity and thread, scratch space: paths, candidates and their evidence, as far as queries touch them."""
MANY_ENTITIES, LEAST_SHARE = 50_000, 0.2
"""With more entities, decisions rank fewer facts, but at least this share of the number on a small base."""
LEAST_RULES = 100_000
"""This many rules are always kept."""
ROOM, SPARE = 1.2, 500e6
"""A run may take this many times its budget, plus this many bytes."""

FACT_SECONDS = 5e-6
"""Of one core, per fact: to index it, for this graph and its parts."""
NEAR_SECONDS = 4e-8
"""Per edge at the end of a fact with fewer edges."""
CHAIN_SECONDS = 5e-5
"""Per fact: to find, estimate and count chains of three steps."""
WALK_SECONDS = 1.7e-7
"""Per edge walked to count anchored rules."""
TARGET_SECONDS, TARGET_ENTITY_SECONDS = 0.1, 1.8e-6
"""Per target, to choose its theory; and more per entity."""
QUERY_SECONDS, QUERY_ENTITY_SECONDS = 5e-4, 3e-8
"""Per query of weighing and calibration; and more per entity."""
QUERIES = 20_000
"""At most this many queries on a base of few entities; a base of few facts has two for each fact."""
RULES_PER_EDGE = 0.25
"""Anchored rules of generated graphs, per edge walked."""
SHARE = 0.5
"""Share of the bodies of up to two steps that have enough support for a target."""
MOST_CHAINS, MOST_UNARY = 200, 1_000
"""Of these, at most so many for a binary and for a unary target."""
GENERATED_CHAINS = 20
"""Chains for each target of a generated graph, where few predicates meet."""
RULE_SECONDS = 5e-7
"""Per rule: to join and write it."""
WRITE_SHARE = 0.25
"""Limit for joining and writing rules, as a share of the time left."""

NETWORK_BYTES = 1e9
"""Bytes per second that a node receives."""
BASE_BYTES = 80
"""Per fact with its indexes, which are sent to every node."""
ROW_BYTES = 24
"""Per rule sent back."""


class Size(NamedTuple):
    """The counts that determine the cost.

    Attributes:
        facts: training facts.
        entities: entities of the base.
        targets: predicates with facts.
        near: summed over all facts, the edges at the end with fewer: chains of two steps are found from these.
        walked: edges walked to count anchored rules, over all heads with enough facts.
        heads: heads q(X, c) with enough facts; each has a prior.
        anchored: anchored and half-anchored rules, as far as memory allows.
        others: chains, and rules of unary targets.
    """

    facts: float
    entities: float
    targets: float
    near: float
    walked: float
    heads: float
    anchored: float
    others: float

    @classmethod
    def of(
        cls,
        kb: KnowledgeBase,
        min_support: int = 2,
        min_confidence: float = 0.0,
        targets: Collection[Predicate] | None = None,
    ) -> Size:
        """Count `kb`, predicate by predicate; heads are those with `min_support` facts.

        Rules need this support and `min_confidence`; `targets` are the predicates to learn, None: all.
        """
        kb = kb.crisp
        facts, count = kb.binary, kb.num_entities
        degree = np.bincount(facts.subject, minlength=count) + np.bincount(facts.object, minlength=count)
        near = int(np.minimum(degree[facts.subject], degree[facts.object]).sum())
        chosen = [i for i, p in enumerate(kb.predicates) if targets is None or p in targets]
        walked, heads = 0, 0
        binary, unary = (np.intersect1d(column, chosen) for column in (facts.predicate, kb.unary.predicate))
        for target in binary.tolist():
            own = facts.of(target)
            for node, other in ((own.subject, own.object), (own.object, own.subject)):
                order = np.argsort(node, kind="stable")
                first = np.flatnonzero(np.diff(node[order], prepend=-1))
                enough = np.diff(first, append=len(node)) >= min_support
                edges = degree[other[order]]
                left = np.add.reduceat(edges, first) - np.maximum.reduceat(edges, first)
                walked += int(left[enough].sum())
                heads += int(enough.sum())
        codes, sets = 2 * len(np.unique(facts.predicate)), len(np.unique(kb.unary.predicate))
        others = len(binary) * min(SHARE * codes * (codes + 1), MOST_CHAINS)
        others += len(unary) * min(SHARE * (codes + 1) * (codes + sets), MOST_UNARY)
        if kb.graph_of is not None:
            walked = heads = 0  # scene graphs have no rules with constants
        rules = num_constant_rules(facts, count, binary, min_support, min_confidence) if heads else 0.0
        return cls(len(kb.facts), count, len(binary) + len(unary), near, walked, heads, rules, others)

    @classmethod
    def generated(cls, facts: float) -> Size:
        """Return the size of a graph with this number of `facts`, generated as in `nlil bench ladder`."""
        millions = facts / 1e6
        walked = 1.3e8 * millions**1.4
        rules = RULES_PER_EDGE * walked
        return cls(facts, facts / 8, 220, 6e7 * millions**1.2, walked, 0.33 * facts, rules, GENERATED_CHAINS * 220)


@dataclass(frozen=True)
class Cost:
    """The cost of one process, by part.

    Attributes:
        size: the counts it was computed from.
        memory: bytes, by purpose.
        seconds: of one core, by purpose.
        paths: edges walked.
        rules: rules kept.
    """

    size: Size
    memory: Mapping[str, float]
    seconds: Mapping[str, float]
    paths: float
    rules: float

    @property
    def bytes(self) -> float:
        """The total memory."""
        return sum(self.memory.values())

    @property
    def cpu_seconds(self) -> float:
        """The total seconds of one core."""
        return sum(self.seconds.values())

    def wall_seconds(self, cores: int) -> float:
        """Return the seconds on this number of `cores`: parallel work is divided, the rest is not."""
        alone = sum(value for name, value in self.seconds.items() if name in ALONE)
        return alone + (self.cpu_seconds - alone) / max(cores, 1)


ALONE = ("read and index", "write rules")
"""The parts that run on one thread."""


def cost(size: Size, memory: int, threads: int = 1, constants: bool = True) -> Cost:
    """Estimate the cost of learning on a base of this `size`.

    Args:
        size: counts of the base.
        memory: the budget in bytes, which limits the rules that are kept.
        threads: each has its own scratch space; threads whose scratch space does not fit are not used.
        constants: whether anchored rules and priors are counted.
    """
    anchored = min(size.anchored, most_rules(memory, int(size.facts), int(size.heads))) if constants else 0.0
    rules = anchored + (size.heads if constants else 0.0) + size.others
    queries = min(QUERIES, 2 * size.facts) * share_ranked(size.entities)
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
    """Return the share of facts ranked for decisions on a base of this many `entities`, relative to a small base."""
    return max(min(1.0, MANY_ENTITIES / max(entities, 1)), LEAST_SHARE)


def most_rules(memory: int, facts: int, others: int, seconds: float = float("inf")) -> int:
    """Return how many anchored rules fit into `memory` bytes, in addition to these numbers of `facts` and `others`.

    Joining and writing them may take only a part of the `seconds` left.
    """
    left = memory - PROCESS_BYTES - FACT_BYTES * facts - RULE_BYTES * others
    return max(int(min(left / RULE_BYTES, WRITE_SHARE * seconds / RULE_SECONDS)), LEAST_RULES)


def check_memory(memory: int, facts: int, rules: int = 0) -> None:
    """Raise LimitError if a budget of `memory` bytes is too small for this many `facts` and `rules`."""
    samples = SAMPLE_BYTES * min(facts, SAMPLED_FACTS)
    least = PROCESS_BYTES + samples + FACT_BYTES * facts + RULE_BYTES * rules
    if least > ROOM * memory + SPARE:
        needed = ceil((least - SPARE) / ROOM / 2**20)
        what = f"{facts:,} facts" + (f" and {rules:,} rules" if rules else "")
        raise LimitError(f"--memory {memory / 2**20:.4g}MiB is too little for {what}; they need {needed}MiB")


# many machines ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Simulation:
    """The cost of learning on many machines; each holds the whole base and counts a part of the targets.

    Attributes:
        nodes, cores: machines, and cores of each.
        node_bytes: memory of the machine that runs the command, which also holds all rules.
        moved_bytes: bytes of the base sent to every machine, and of all rules sent back.
        seconds: wall-clock time, by part.
    """

    nodes: int
    cores: int
    node_bytes: float
    moved_bytes: float
    seconds: Mapping[str, float]

    @property
    def total_seconds(self) -> float:
        """The total; parts run one after the other."""
        return sum(self.seconds.values())


def simulate(cost: Cost, nodes: int, cores: int) -> Simulation:
    """Simulate the work of `cost` on `nodes` machines with `cores` cores each: only counting is distributed."""
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
