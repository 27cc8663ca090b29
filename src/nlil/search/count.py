"""The counting search: every rule of the pool with exact statistics, as one RuleSet.

Order of the rules: chains by length, typed chains, then for each direction of each target its anchored,
half-anchored rules and priors, then rules for unary targets. It depends on the data alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..data.arrays import Ids
from ..data.kb import KnowledgeBase
from ..kernel.bodies import ANY_NODE, NO_STEP, X_NODE, Y_NODE, unary_mask
from ..kernel.graph import Graph, TargetFacts, num_paths, target_facts
from ..kernel.pool import Pool
from ..kernel.ruleset import FIRST, SECOND, RuleSet
from ..progress import Progress, silent
from . import anchored, chains, longer, typed
from .chains import Chains
from .options import CountOptions
from .twins import spellings, twin_of
from .unary import UnaryRules, unary_rules

if TYPE_CHECKING:
    from .tensors import TensorCounter


MOST_WAYS = 1e6
"""Paths from an entity, on average, up to which chains longer than max_length are tried."""


@dataclass(frozen=True)
class Counted:
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
    """Rules for the target predicate ids; bodies use the facts of `body` (default: of kb)."""
    kb = kb.crisp
    graph = Graph.of((kb if body is None else body).crisp)
    binary = np.array([t for t in targets if kb.predicates[t].arity == 2], np.int32)
    unary = np.array([t for t in targets if kb.predicates[t].arity == 1], np.int32)
    parts = [RuleSet.empty(kb)]
    notes: list[str] = []
    if len(binary):
        options, notes = _bounded(graph, options)
        parts += _binary(kb, graph, binary, options, body, progress)
    if len(unary) and not _late(options):
        parts += _unary_part(kb, unary, unary_rules(kb, graph, unary, options, progress))
    return Counted(RuleSet.join(parts), options.stop is not None and options.stop.cut, tuple(notes))


def _bounded(graph: Graph, options: CountOptions) -> tuple[CountOptions, list[str]]:
    """Chains only as long as the graph's paths of that length stay within max_paths (two steps always).

    Steps between the same two entities are one: most are twins.
    """
    longest = max(options.max_length, options.tried_length)
    for length, paths in enumerate(num_paths(graph, longest), start=1):
        if length > 2 and 0 < options.max_paths < paths:
            note = (
                f"chains of length {length} left out: the graph has {paths:.1e} such paths, "
                f"more than max_paths = {options.max_paths:.0e}"
            )
            return replace(options, chain_length=length - 1), [note]
        if length > options.max_length and paths > MOST_WAYS * graph.num_entities:
            return replace(options, chain_length=length - 1), []  # only tried: too many ways from each entity to rank
        if length > 2 and graph.num_codes**length >= 2**63:
            note = f"chains of length {length} left out: a body over {graph.num_codes} steps has no 64-bit number"
            return replace(options, chain_length=length - 1), [note]
    return replace(options, chain_length=longest), []


def _late(options: CountOptions) -> bool:
    return options.stop is not None and options.stop()


def _binary(
    kb: KnowledgeBase,
    graph: Graph,
    targets: Ids,
    options: CountOptions,
    body: KnowledgeBase | None,
    progress: Progress,
) -> list[RuleSet]:
    facts = target_facts(kb, targets)
    tensors = _tensors(graph, facts, targets, options)
    found = _short(graph, facts, targets, options, tensors, progress)
    short = list(found)
    # Before longer chains, though they stand behind them: where time is short they bring more for less.
    constants = _constants(kb, graph, facts, targets, options, tensors, body, progress)
    for length in range(3, options.chain_length + 1):
        # What is only tried leaves time for what comes after the counting.
        tried = length > options.max_length and options.stop is not None
        mine = replace(options, stop=options.stop.part(1 / 3)) if tried and options.stop else options
        found.append(_longer(graph, facts, len(targets), length, mine, progress))
    if options.typed and len(graph.unary_predicate):
        found += _typed(kb, graph, facts, short, options, progress)
    return [*(chain_part(kb, targets, facts, c) for c in found), *constants]


def _constants(
    kb: KnowledgeBase,
    graph: Graph,
    facts: TargetFacts,
    targets: Ids,
    options: CountOptions,
    tensors: TensorCounter | None,
    body: KnowledgeBase | None,
    progress: Progress,
) -> list[RuleSet]:
    """Anchored, half-anchored rules and priors, where they are asked for."""
    if not options.constants or kb.graph_of is not None:
        return []
    if body is None:
        return _by_code(kb, graph, targets, options, tensors, progress)
    # Heads are items of the whole base; a body is one atom, so those not allowed are left out afterwards.
    graph = Graph.of(kb.crisp)
    found = _by_code(kb, graph, targets, options, _tensors(graph, facts, targets, options), progress)
    return [_with_bodies(part, body) for part in found]


def _tensors(graph: Graph, facts: TargetFacts, targets: Ids, options: CountOptions) -> TensorCounter | None:
    if options.device == "cpu" or not len(graph.code):
        return None
    from .tensors import TensorCounter

    return TensorCounter(graph, facts, targets, options.device, options.memory)


def _short(
    graph: Graph,
    facts: TargetFacts,
    targets: Ids,
    options: CountOptions,
    tensors: TensorCounter | None,
    progress: Progress,
) -> list[Chains]:
    """Chains of length 1 and 2."""
    least = (options.min_support, options.min_confidence)
    if tensors is not None:
        return tensors.chains(*least)[: options.max_length]
    found = [chains.one_step_chains(graph, facts, targets, *least)]
    if options.max_length >= 2:
        pool = Pool(lambda: chains.Workspace(graph, len(targets)), options.threads)

        def two(work: chains.Workspace, first: int) -> Chains:
            return chains.chains_from(graph, facts, first, work, *least)

        found.append(Chains.join(pool.map(two, range(graph.num_codes), "chains", progress, options.stop), 2))
    return found


def _by_code(
    kb: KnowledgeBase,
    graph: Graph,
    targets: Ids,
    options: CountOptions,
    tensors: TensorCounter | None,
    progress: Progress,
) -> list[RuleSet]:
    codes = [int(code) for t in targets for code in (2 * t, 2 * t + 1)]
    least = (options.min_support, options.min_confidence)

    def part(code: int, rows: anchored.Anchored) -> RuleSet:
        rows = anchored.Anchored.join([rows, anchored.priors(graph, code, options.min_support)])
        return _anchored_part(kb, graph, code, rows)

    if tensors is not None:
        parts = []
        for done, (code, rows) in enumerate(tensors.anchored(codes, *least)):
            parts.append(part(code, rows))
            progress("constants", done + 1, len(codes))
            if done + 1 < len(codes) and _late(options):
                break
        return parts
    pool: Pool[None] = Pool(lambda: None, options.threads)
    budget = max(options.memory // (4 * pool.threads), 2**20)

    def constant(_: None, code: int) -> RuleSet:
        return part(code, anchored.anchored_rules(graph, code, *least, budget))

    return pool.map(constant, codes, "constants", progress, options.stop)


def _with_bodies(rules: RuleSet, body: KnowledgeBase) -> RuleSet:
    """The rules of one step or none whose step has facts in `body`."""
    step = rules.bodies.lines.steps[rules.line, 0].astype(np.int64)
    return rules.take((step == NO_STEP) | (body.predicate_counts[step >> 1] > 0))


def _longer(
    graph: Graph, facts: TargetFacts, num_targets: int, length: int, options: CountOptions, progress: Progress
) -> Chains:
    """Propose from sampled facts, estimate on sampled starts, count the best exactly."""
    twin = twin_of(graph)
    pool = Pool(lambda: longer.ChainCounter(graph, facts, num_targets, length, twin), options.threads)
    subject = np.repeat(np.arange(len(facts.pointer) - 1, dtype=np.int32), np.diff(facts.pointer))

    most = longer.most_candidates(facts.size, options.candidates)

    def propose(counter: longer.ChainCounter, target: int) -> np.ndarray:
        mine = facts.target == target
        random = np.random.default_rng((options.seed, length, target))
        return longer.proposals(
            counter,
            (subject[mine], facts.object[mine]),
            length,
            options.samples,
            longer.ESTIMATED * most[target],
            random,
            min(options.min_support, 2),
        )

    # A stage that took all the time would leave nothing counted.
    begin = None if options.stop is None else options.stop.part(1 / 3)
    proposed = pool.map(propose, range(num_targets), f"length {length}: propose", progress, begin)
    bodies = np.unique(np.concatenate([np.zeros(0, np.int64), *proposed]))
    steps = longer.unpack(bodies, length, graph.num_codes)
    blocks = [steps[i : i + 64] for i in range(0, len(steps), 64)]

    def guess(counter: longer.ChainCounter, block: Ids) -> np.ndarray:
        return np.array([longer.estimate(counter, row, options.min_confidence) for row in block], np.float32)

    middle = None if options.stop is None else options.stop.part(1 / 2)
    guessed = np.concatenate(
        [
            np.zeros((0, num_targets), np.float32),
            *pool.map(guess, blocks, f"length {length}: estimate", progress, middle),
        ]
    )
    chosen = np.zeros(len(guessed), bool)
    for target in range(num_targets):
        mine = guessed[:, target]
        best = np.argsort(-mine, kind="stable")[: most[target]]
        chosen[best[mine[best] > 0]] = True
    picked = spellings(steps[: len(guessed)][chosen], twin)

    def count(counter: longer.ChainCounter, place: int) -> tuple[int, Chains]:
        return place, longer.counted(counter, picked[place], options.min_support, options.min_confidence)

    # One by one, as a single body may take a second; such bodies first, unless they might take the time of all others.
    is_timed = options.stop is not None and options.stop.is_timed
    order = range(len(picked)) if is_timed else longer.by_effort(graph, picked).tolist()
    counted = pool.map(count, order, f"length {length}: count", progress, options.stop)
    return Chains.join([chains for _, chains in sorted(counted, key=lambda pair: pair[0])], length)


def _typed(
    kb: KnowledgeBase,
    graph: Graph,
    facts: TargetFacts,
    short: list[Chains],
    options: CountOptions,
    progress: Progress,
) -> list[Chains]:
    pool = Pool(lambda: typed.TypedCounter(graph, kb.num_predicates), options.threads)
    found = []
    for c in short:
        length = c.steps.shape[1] + 1
        if length > options.max_length:
            continue
        rows = np.flatnonzero(c.support < c.body_size)

        def variants(counter: typed.TypedCounter, row: int, c: Chains = c) -> Chains:
            return typed.typed_variants(graph, facts, c, row, counter, options)

        found.append(Chains.join(pool.map(variants, rows.tolist(), "typed", progress, options.stop), length))
    return found


def prior_rules(kb: KnowledgeBase, targets: Ids, min_support: int) -> RuleSet:
    """p(X, c) :- true and p(c, Y) :- true of the binary targets, p(X) :- true of the unary ones."""
    kb = kb.crisp
    graph = Graph.of(kb.crisp)
    parts = [RuleSet.empty(kb)]
    for t in targets:
        if kb.predicates[t].arity == 2 and kb.graph_of is None:
            parts += [
                _anchored_part(kb, graph, code, anchored.priors(graph, code, min_support))
                for code in (2 * int(t), 2 * int(t) + 1)
            ]
    unary = np.array([t for t in targets if kb.predicates[t].arity == 1], np.int32)
    return RuleSet.join([*parts, _unary_priors(kb, unary)])


def chain_part(kb: KnowledgeBase, targets: Ids, facts: TargetFacts, c: Chains) -> RuleSet:
    """p(X, Y) :- a chain from X to Y, all variables distinct."""
    return RuleSet.of_lines(
        kb,
        c.steps,
        head=targets[c.target],
        end=Y_NODE,
        support=c.support,
        body_size=c.body_size,
        head_size=facts.size[c.target],
        pca_body=c.pca_body,
    )


def _anchored_part(kb: KnowledgeBase, graph: Graph, code: int, rows: anchored.Anchored) -> RuleSet:
    """q(X, c) for an even code, q(c, Y) for an odd one: the same spans seen from the other argument."""
    low, high = graph.edges(rows.head, code ^ 1)
    return RuleSet.of_lines(
        kb,
        rows.step[:, None],
        head=code >> 1,
        head_entity=rows.head,
        fixed=SECOND if code % 2 == 0 else FIRST,
        start=X_NODE if code % 2 == 0 else Y_NODE,
        end=rows.end,
        distinct=(rows.step != NO_STEP) & (rows.end == ANY_NODE),
        support=rows.support,
        body_size=rows.body_size,
        head_size=high - low,
        pca_body=rows.pca_body,
    )


def _unary_part(kb: KnowledgeBase, targets: Ids, found: UnaryRules) -> list[RuleSet]:
    size = kb.predicate_counts
    moves = np.zeros(len(found.target), np.int64)
    is_move = ~unary_mask(kb.predicates)
    for column in found.steps.T:
        moves += (column != NO_STEP) & is_move[column >> 1]
    rules = RuleSet.of_lines(
        kb,
        found.steps,
        head=found.target,
        end=found.end,
        distinct=(moves > 1) | ((moves == 1) & (found.end == ANY_NODE)),
        support=found.support,
        body_size=found.body_size,
        head_size=size[found.target],
    )
    return [rules, _unary_priors(kb, targets)]


def _unary_priors(kb: KnowledgeBase, targets: Ids) -> RuleSet:
    size, everyone = kb.predicate_counts, int(kb.domain.sum())
    return RuleSet.of_lines(
        kb,
        np.full((len(targets), 1), NO_STEP),
        head=targets,
        support=size[targets],
        body_size=everyone,
        head_size=size[targets],
    )
