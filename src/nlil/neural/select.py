"""Exact statistics of the candidates of every target, and the selection of the best.

Chains are counted by the compiled loops of the counting search, other rules by the tensor evaluator. `scored` is a rule
with its statistics; `negatives` are given negatives, or None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ..config import LearnerConfig
from ..data.arrays import Floats, Ids, Longs
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..errors import LimitError, RuleError
from ..kernel.batch import BatchStatistics, TruthTable
from ..kernel.evaluator import Evaluator
from ..kernel.fixpoint import fixpoint_stats, is_recursive
from ..kernel.graph import Graph
from ..kernel.pool import workers
from ..kernel.ruleset import RuleSet
from ..logic.formula import TRUE, And, Formula, Not, Or, Statement, X
from ..logic.parts import removals
from ..logic.predicate import Step
from ..logic.rule import Rule, RuleStats, ScoredRule
from ..logic.simplify import FALSE, simplify
from ..progress import Progress, Stop
from ..search.chains import ChainCounter
from ..search.longer import estimates
from ..search.options import ChainRows, CountingTask, CountOptions, join_rows
from .candidates import Candidate, Codes, as_candidate, as_rule, shorter
from .refine import LEAST_GAIN, Parts, Refiner

MOST_PATHS = 3e10
"""Chains of n steps are counted only if the graph has at most this many paths of n steps."""
MOST_STEPS = 8
"""Limit of the steps of a chain, however few paths there are."""
LONG_STEPS = 3
"""From this length on, a quarter of the bodies of a target is counted: each walks many paths."""
MOST_JOINED = 3
"""Limit of the parts that are joined to a rule after training."""
MOST_OTHERS = 60
"""Limit of the statements of other rules that are tried for this."""
MOST_PRUNED = 5
"""The best rules of a target that are pruned."""
MOST_FIXPOINTS = 20
"""Recursive rules of a target whose least fixpoint is computed."""
MOST_DERIVED = 1_000_000
"""Limit of the facts of such a fixpoint."""
MOST_RECURSIVE = 3
"""Recursive rules to which base cases are joined."""
BASE_CONFIDENCE = 0.95
"""Least confidence of a base case."""


WALK_SHARE = 8
"""The evaluator plans its walks with an eighth of the memory: extracted rules may be long and cyclic, and a row of such
a walk takes several times its estimate; cached answers come in addition."""


def count_candidates(
    kb: KnowledgeBase,
    proposed: Mapping[int, Iterable[Candidate]],
    parts: Mapping[int, Parts],
    config: LearnerConfig,
    negatives: Facts | None,
    progress: Progress,
    stop: Stop,
) -> RuleSet:
    """Return the selected rules; the first rule of a unary target is its best single explanation.

    Args:
        kb: the training facts.
        proposed: the candidates of each target.
        parts: the parts of new statements for each target; rules of other targets are not refined.
        config: how many candidates are counted, and which are kept.
        negatives: given negatives; all rules, chains too, are then counted against them by the evaluator.
        progress: receives reports of progress.
        stop: ends the work early.
    """
    longest = longest_chain(kb)
    chains: dict[int, list[Codes]] = {}
    others: dict[int, list[Rule]] = {}
    for target, candidates in proposed.items():
        for candidate in candidates:
            if isinstance(candidate, Rule) or (negatives is not None and len(negatives)):
                others.setdefault(target, []).append(as_rule(kb, target, candidate))
            elif len(candidate) <= longest:
                chains.setdefault(target, []).append(candidate)
    judge = Judge(Evaluator(kb, memory=config.memory // WALK_SHARE), negatives, config.min_confidence)
    kept: list[ScoredRule] = []
    for done, (target, rules) in enumerate(sorted(others.items()), start=1):
        if stop():
            break
        scored = judge.scored(rules[: config.neural_candidates])
        if config.select:
            selected = select(judge, scored, config.min_support, config.min_confidence, parts.get(target))
        else:
            selected = _supported(scored, config.min_support, config.min_confidence)
        progress("exact statistics", done, len(others), str(selected[0].rule) if selected else "")
        kept += selected
    return RuleSet.join([count_chains(kb, chains, config, progress, stop), RuleSet.of(kb, kept)])


# chains -------------------------------------------------------------------------------------------


def longest_chain(kb: KnowledgeBase) -> int:
    """Return the greatest number of steps of a chain that can be counted on this base."""
    graph = Graph.of(kb.crisp)
    paths: np.ndarray = np.ones(kb.num_entities)
    node = graph.node
    for length in range(MOST_STEPS):
        paths = np.bincount(node, weights=paths[graph.neighbour], minlength=kb.num_entities)
        if length >= 2 and paths.sum() > MOST_PATHS:
            return length
    return MOST_STEPS


def count_chains(
    kb: KnowledgeBase, proposed: Mapping[int, Sequence[Codes]], config: LearnerConfig, progress: Progress, stop: Stop
) -> RuleSet:
    """Count exact statistics of the `proposed` bodies, by target, for every target that they support.

    If a target has more than `neural_candidates` bodies, those with the best estimate on sampled starts are counted.
    """
    targets = np.array(sorted(proposed), np.int32)
    settings = CountOptions(min_support=config.min_support, min_confidence=config.min_confidence)
    task = CountingTask.of(kb.crisp, Graph.of(kb.crisp), targets, settings, progress)
    parts = [RuleSet.empty(kb)]
    for length in sorted({len(body) for bodies in proposed.values() for body in bodies}):
        own = [[body for body in proposed[t] if len(body) == length] for t in targets.tolist()]
        bodies = sorted({body for found in own for body in found})
        steps = np.array(bodies, np.int32)
        pool = workers(partial(ChainCounter, task, length), config.threads, config.memory)
        most = config.neural_candidates if length < LONG_STEPS else max(1, config.neural_candidates // 4)
        if max(map(len, own)) > most:
            row = {body: i for i, body in enumerate(bodies)}
            rows = [np.array([row[body] for body in found], np.int64) for found in own]
            told = estimates(pool, task, steps, f"estimate chains of length {length}", stop)
            guessed = np.zeros((len(steps), len(targets)), np.float32)
            guessed[told.body, told.target] = told.confidence
            steps = steps[_promising(guessed, rows, most)]

        def count(counter: ChainCounter, block: Ids) -> list[ChainRows]:
            return [counter.rows(codes) for codes in block]

        blocks = [steps[i : i + 4] for i in range(0, len(steps), 4)]
        found = pool.map(count, blocks, f"count chains of length {length}", progress, stop)
        parts.append(task.chain_rules(join_rows([rows for block in found for rows in block], length)))
    return RuleSet.join(parts)


def _promising(guessed: Floats, rows: list[Longs], most: int) -> Longs:
    """Return the bodies among the `most` rows with the best estimate of at least one target."""
    best = []
    for position, own in enumerate(rows):
        best.append(own[np.argsort(-guessed[own, position], kind="stable")[:most]])
    return np.unique(np.concatenate(best))


# other rules ------------------------------------------------------------------------------------------


def f1(stats: RuleStats) -> float:
    """Return the F1 of a rule's answers against the target's facts, by its `stats`."""
    return 2 * stats.support / max(1, stats.body_size + stats.head_size)


def _explains(scored: ScoredRule) -> tuple[float, int, str]:
    """Return the sort key of preference: by F1, then the shorter rule."""
    return (-f1(scored.stats), scored.rule.length, str(scored.rule))


class Judge:
    """Exact statistics of rules, each counted once by `evaluator`.

    Rules of a target share statements, so these are cached too.
    """

    def __init__(self, evaluator: Evaluator, negatives: Facts | None = None, min_confidence: float = 0.0) -> None:
        """Stop counting a rule when its number of answers rules out `min_confidence`."""
        self.kb = evaluator.kb
        self.counts = BatchStatistics(evaluator, negatives)
        self.min_confidence = max(min_confidence, 1e-9)
        self.known: dict[Rule, ScoredRule | None] = {}

    def score(self, rule: Rule | None) -> ScoredRule | None:
        """Return the `rule` with its statistics; None for None.

        Also None if a single query exceeds the memory budget, or if the rule holds for far too many tuples.
        """
        if rule is not None and rule not in self.known:
            size = int(self.kb.crisp.predicate_counts[self.kb.predicate_id(rule.target)])
            try:
                stats = self.counts.stats(rule, size / self.min_confidence)
                self.known[rule] = ScoredRule(rule, stats, stats.smoothed)
            except LimitError:
                self.known[rule] = None
        return None if rule is None else self.known[rule]

    def scored(self, rules: Iterable[Rule | None]) -> list[ScoredRule]:
        """Return those of `rules` that have statistics, with these."""
        return [scored for scored in map(self.score, rules) if scored is not None]

    def pruned(self, scored: ScoredRule) -> ScoredRule:
        """Remove arguments as long as F1 does not fall."""
        while True:
            head, body = scored.rule.head, scored.rule.body
            options = (self.score(as_candidate(Rule(head, formula))) for formula in shorter(body))
            better = (s for s in options if s is not None and f1(s.stats) >= f1(scored.stats))
            found = next(better, None)
            if found is None:
                return scored
            scored = found

    def dead_parts(self, scored: ScoredRule) -> list[tuple[Formula, ScoredRule]]:
        """Find arguments of connectives and atoms that change no count of a rule, each with the rule without it.

        Without one of them, a rule holds for a superset or a subset of its tuples, so equal counts mean equal tuples.
        """
        found, stats = [], scored.stats
        for part, rest in removals(scored.rule.body, atoms=True):
            rule = simplify(replace(scored.rule, body=rest))
            other = None if rule.body in (TRUE, FALSE) else self.score(rule)
            if other is not None and (other.stats.support, other.stats.body_size) == (stats.support, stats.body_size):
                found.append((part, other))
        return found

    def without_dead_parts(self, scored: ScoredRule) -> ScoredRule:
        """Remove parts that change no count, one by one."""
        if is_recursive([scored.rule], scored.rule.target):
            return scored  # a base case may change no one-step count, but everything that is derived
        while dead := self.dead_parts(scored):
            scored = min((rest for _, rest in dead), key=_explains)
        return scored

    def extended(self, scored: ScoredRule, others: Sequence[ScoredRule]) -> ScoredRule:
        """Join bodies of `others`, by and or by or, while F1 clearly rises: each restart finds a part of a rule."""
        for _ in range(MOST_JOINED):
            head, body = scored.rule.head, scored.rule.body
            joined = [Rule(head, kind(body, other.rule.body)) for other in others for kind in (And, Or)]
            options = self.scored(map(as_candidate, joined))
            options = [s for s in options if f1(s.stats) > f1(scored.stats) + LEAST_GAIN]
            if not options:
                break
            scored = min(options, key=_explains)
        return scored


def select(
    judge: Judge, scored: list[ScoredRule], min_support: int, min_confidence: float, parts: Parts | None = None
) -> list[ScoredRule]:
    """Return the selected rules of one target, the best single explanation first, then by confidence.

    A recursive rule explains what its least fixpoint derives when no fact of the target is given. With `parts` for new
    statements, the best rules are refined. `judge` counts; rules below `min_support` or `min_confidence` are dropped.
    """
    by_f1 = sorted(scored, key=_explains)
    lean = [judge.pruned(rule) for rule in by_f1[:MOST_PRUNED]]
    single = [s for s in by_f1 if isinstance(s.rule.body, (Statement, Not))][:MOST_OTHERS]
    lean += [judge.pruned(judge.extended(rule, single)) for rule in lean[:1]]
    if parts is not None and lean:
        lean += _refined(judge, [*lean, *by_f1], parts)
    pool = {s.rule: s for s in (*lean, *by_f1)}
    good = _supported(pool.values(), min_support, min_confidence)
    if not good:
        return []
    good += _with_base_cases(judge, sorted(good, key=_explains))
    best = _best(judge.kb, sorted(good, key=_explains))
    if best.stats.support == best.stats.body_size == best.stats.head_size:
        return [judge.without_dead_parts(best)]  # perfect: no other rule can add to it
    rest = sorted((s for s in good if s.rule != best.rule), key=lambda s: (-s.stats.smoothed, s.rule.length))
    # A longer rule with the same counts is equivalent on this data.
    kept: dict[tuple[int, int], ScoredRule] = {}
    for s in (best, *rest):
        kept.setdefault((s.stats.support, s.stats.body_size), s)
    return [judge.without_dead_parts(s) for s in kept.values()]


def _supported(scored: Iterable[ScoredRule], min_support: int, min_confidence: float) -> list[ScoredRule]:
    return [s for s in scored if s.stats.support >= min_support and s.stats.confidence >= min_confidence]


def _refined(judge: Judge, best: list[ScoredRule], parts: Parts) -> list[ScoredRule]:
    """Refine the best rules, if their truth for every tuple fits into memory."""
    if max(f1(s.stats) for s in best) == 1:
        return []
    table = TruthTable(judge.counts, best[0].rule)
    if not table.exists:
        return []
    new = judge.scored(Refiner(best[0].rule.head, table, parts).refined([s.rule.body for s in best]))
    return [judge.pruned(s) for s in sorted(new, key=_explains)]


def _with_base_cases(judge: Judge, by_f1: list[ScoredRule]) -> list[ScoredRule]:
    """Join recursive rules of a unary target with base cases.

    `zero(X)` covers one fact of many, so training hardly ever finds it, but nothing is derived without it.
    """
    kb, head, target = judge.kb, by_f1[0].rule.head, by_f1[0].rule.target
    recursive = [s for s in by_f1 if is_recursive([s.rule], target)][:MOST_RECURSIVE]
    if target.arity != 1 or not recursive or by_f1[0] not in recursive:
        return []
    single = [
        Rule(head, Statement(X, (Step(p),)))
        for p, count in zip(kb.predicates, kb.predicate_counts)
        if p.arity == 1 and p != target and count
    ]
    bases = judge.scored(single[:MOST_OTHERS])
    bases = [s for s in bases if s.stats.support and s.stats.confidence >= BASE_CONFIDENCE]
    joined = [Rule(head, Or(s.rule.body, base.rule.body)) for s in recursive for base in bases]
    return judge.scored(dict.fromkeys(map(as_candidate, joined)))


def _best(kb: KnowledgeBase, by_f1: list[ScoredRule]) -> ScoredRule:
    """Return the first rule, unless it is recursive and another rule derives more without target facts."""
    if not is_recursive([by_f1[0].rule], by_f1[0].rule.target):
        return by_f1[0]

    def derives(scored: ScoredRule) -> float:
        if not is_recursive([scored.rule], scored.rule.target):
            return f1(scored.stats)
        try:
            return f1(fixpoint_stats(kb, [scored.rule], scored.rule.target, max_facts=MOST_DERIVED))
        except (RuleError, LimitError):
            return 0.0  # negation through recursion, or too many derived facts

    return max(by_f1[:MOST_FIXPOINTS], key=derives)
