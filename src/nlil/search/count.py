"""The counting search: every rule of the pool with exact statistics, as one RuleSet.

The order of the rules depends on the data alone: chains by length, typed chains, then for each direction of each target
its anchored rules, half-anchored rules and priors, then rules for unary targets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..data.arrays import Ids
from ..data.kb import KnowledgeBase
from ..kernel.bodies import NO_STEP, unary_mask
from ..kernel.graph import Graph, num_paths
from ..kernel.ruleset import RuleSet
from ..progress import Progress, silent
from .chains import one_step_chains
from .constants import constant_rules, priors
from .cost import RULE_SECONDS
from .longer import longer_chains
from .options import ChainRows, CountingTask, CountOptions
from .two_steps import two_step_chains
from .typed import typed_chains
from .unary import unary_priors, unary_rules

if TYPE_CHECKING:
    from .tensors import TensorCounter


PATHS_PER_PAIR = 16
"""Mean number of paths per pair of entities up to which paths are informative: FB15k-237 has 39 of three steps, a
generated graph of a million facts with hubs has 3."""
MOST_WAYS = 1e6
"""Mean number of paths per entity up to which chains longer than max_length are tried."""


@dataclass(frozen=True)
class Counted:
    """The `rules` found; `partial` if time was too short for all of them; `notes` say what was left out."""

    rules: RuleSet
    partial: bool
    notes: tuple[str, ...] = ()


def count_rules(
    kb: KnowledgeBase,
    targets: Ids,
    options: CountOptions,
    body: KnowledgeBase | None = None,
    progress: Progress = silent,
) -> Counted:
    """Count rules for the `targets`; bodies use the facts of `body` (None: of `kb`)."""
    kb = kb.crisp
    graph = Graph.of((kb if body is None else body).crisp)
    binary, unary = _by_arity(kb, targets)
    parts = [RuleSet.empty(kb)]
    notes: list[str] = []
    if len(binary):
        options, notes = _bounded(graph, options)
        found, more = _binary(CountingTask.of(kb, graph, binary, options, progress), body)
        parts += found
        notes += more
    if len(unary):
        parts += unary_rules(kb, graph, unary, options, progress)
    return Counted(RuleSet.join(parts), options.stop is not None and options.stop.cut, tuple(notes))


def _by_arity(kb: KnowledgeBase, targets: Ids) -> tuple[Ids, Ids]:
    """Return the binary targets and the unary ones."""
    targets = np.asarray(targets, np.int32)
    is_unary = unary_mask(kb.predicates)[targets]
    return targets[~is_unary], targets[is_unary]


def _bounded(graph: Graph, options: CountOptions) -> tuple[CountOptions, list[str]]:
    """Limit the length of chains: paths of that length must be at most max_paths, or few for the size of the graph.

    Parallel edges between two entities count once, since most are synonyms.
    """
    longest, pairs = max(options.max_length, options.tried_length), float(graph.num_entities) ** 2
    for length, paths in enumerate(num_paths(graph, longest), start=1):
        # Two steps are always allowed. Effort is bounded for every length; a large graph has many paths but few pairs.
        is_sparse = length <= options.max_length and paths <= PATHS_PER_PAIR * pairs
        if length > 2 and 0 < options.max_paths < paths and not is_sparse:
            note = (
                f"chains of length {length} left out: the graph has {paths:.1e} such paths, "
                f"more than max_paths = {options.max_paths:.0e}"
            )
            return replace(options, chain_length=length - 1), [note]
        if length > options.max_length and paths > MOST_WAYS * graph.num_entities:
            return replace(options, chain_length=length - 1), []  # longer ones are only tried: too costly to rank
        if length > 2 and graph.num_codes**length >= 2**63:
            note = f"chains of length {length} left out: a body over {graph.num_codes} steps has no 64-bit number"
            return replace(options, chain_length=length - 1), [note]
    return replace(options, chain_length=longest), []


def _binary(task: CountingTask, body: KnowledgeBase | None) -> tuple[list[RuleSet], list[str]]:
    options, tensors = task.options, _tensors(task)
    short = _short(task, tensors)
    # Counted before longer chains, though listed after them: if time is short, they achieve more in less time.
    constants, notes = _constants(task, tensors, body)
    if tensors is None and options.device != "cpu" and len(task.graph.code):
        notes = [*notes, "counted on the CPU: the paths of two steps do not fit on the GPU"]
    if options.stop is not None:
        options.stop.reserve(RULE_SECONDS * len(constants))
    found = list(short)
    for length in range(3, options.chain_length + 1):
        if options.is_late:  # preparing the search alone takes a second on large graphs
            break
        # Lengths that are only tried must leave time for the steps after counting.
        stop = options.stop_after(1 / 3) if length > options.max_length else options.stop
        timed = replace(task, options=replace(options, stop=stop))
        found.append(options.rows(f"chains of {length}", partial(longer_chains, timed, length)))
    if options.typed and len(task.graph.unary_predicate):
        found += [
            options.rows(f"typed chains of {rows[0].shape[1]}", partial(typed_chains, task, rows))
            for rows in short
            if rows[0].shape[1] < options.max_length
        ]
    return [*map(task.chain_rules, found), constants], notes


def _tensors(task: CountingTask) -> TensorCounter | None:
    if task.options.device == "cpu" or not len(task.graph.code):
        return None
    from .tensors import TensorCounter, has_room

    return TensorCounter(task) if has_room(task.graph, task.options.device) else None


def _short(task: CountingTask, tensors: TensorCounter | None) -> list[ChainRows]:
    """Return the chains of length 1 and 2."""
    if tensors is not None:
        return tensors.chains()[: task.options.max_length]
    two = [task.options.rows("chains of 2", lambda: two_step_chains(task))] if task.options.max_length >= 2 else []
    return [one_step_chains(task), *two]


def _constants(
    task: CountingTask, tensors: TensorCounter | None, body: KnowledgeBase | None
) -> tuple[RuleSet, list[str]]:
    """Return anchored rules, half-anchored rules and priors, if requested, and notes."""
    if not task.options.constants or task.kb.graph_of is not None:
        return RuleSet.empty(task.kb), []
    if body is None:
        return constant_rules(task, tensors)
    # Heads are spans of the whole base; a body is one atom, so bodies that are not allowed are dropped afterwards.
    task = replace(task, graph=Graph.of(task.kb))
    rules, notes = constant_rules(task, _tensors(task))
    return _with_bodies(rules, body), notes


def _with_bodies(rules: RuleSet, body: KnowledgeBase) -> RuleSet:
    """Return the rules with at most one step whose step has facts in `body`."""
    step = rules.bodies.lines.steps[rules.line, 0].astype(np.int64)
    return rules.take((step == NO_STEP) | (body.predicate_counts[step >> 1] > 0))


def prior_rules(kb: KnowledgeBase, targets: Ids, min_support: int) -> RuleSet:
    """Return p(X, c) :- true and p(c, Y) :- true of the binary targets, p(X) :- true of the unary ones."""
    kb = kb.crisp
    binary, unary = _by_arity(kb, targets)
    with_constants = binary.tolist() if kb.graph_of is None else []
    return RuleSet.join([priors(kb, with_constants, min_support), unary_priors(kb, unary)])
