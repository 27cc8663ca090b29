"""Exact statistics of the candidates of every target: chains by the compiled loops of the counting search, other rules
by the engine; which of them are kept, and in which order they are preferred.

`scored` is a rule with its statistics; `negatives` are given false facts, None: none.
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
from ..logic.predicate import Step
from ..logic.rule import Rule, RuleStats, ScoredRule
from ..logic.simplify import FALSE, simplify
from ..progress import Progress, Stop
from ..search.chains import ChainCounter
from ..search.longer import estimates
from ..search.options import ChainRows, CountOptions, Task, join_rows
from .candidates import Candidate, Codes, as_candidate, as_rule, removals, shorter
from .refine import LEAST_GAIN, Parts, Refiner

MOST_PATHS = 3e10
"""A chain of n steps is counted exactly only where the graph has at most so many paths of n steps."""
MOST_STEPS = 8
"""Steps of the longest chain that is counted, however few paths there are."""
LONG_STEPS = 3
"""From this length on a quarter of the bodies of a target is counted: each walks many paths."""
MOST_JOINED = 3
"""Parts that are joined to a rule after training, at most, ..."""
MOST_OTHERS = 60
"""... of so many statements of other rules."""
MOST_PRUNED = 5
"""Best rules of a target from which superfluous parts are taken."""
MOST_FIXPOINTS = 20
"""Recursive rules of a target whose least fixpoint is computed, ..."""
MOST_DERIVED = 1_000_000
"""... each of at most so many facts."""
MOST_RECURSIVE = 3
"""Recursive rules to which base cases are joined, ..."""
BASE_CONFIDENCE = 0.95
"""... if these hold with this confidence."""


WALK_SHARE = 8
"""The engine plans its walks with an eighth of the memory: what attentions propose may be long and cyclic, and a row of
such a walk takes several times what the engine reckons; answers that are kept come on top."""


def count_candidates(
    kb: KnowledgeBase,
    proposed: Mapping[int, Iterable[Candidate]],
    parts: Mapping[int, Parts],
    config: LearnerConfig,
    negatives: Facts | None,
    progress: Progress,
    stop: Stop,
) -> RuleSet:
    """The rules worth keeping; of a unary target, the best single explanation is the first of its rules.

    Args:
        kb: the training facts.
        proposed: the candidates of each target.
        parts: what refined rules of a target may be made of; without them nothing is refined.
        config: how many candidates are counted, and which of them are kept.
        negatives: given ones, against which rules are then counted: by the engine, chains too.
        progress: told which rules are counted.
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
            mine = select(judge, scored, config.min_support, config.min_confidence, parts.get(target))
        else:
            mine = _supported(scored, config.min_support, config.min_confidence)
        progress("exact statistics", done, len(others), str(mine[0].rule) if mine else "")
        kept += mine
    return RuleSet.join([count_chains(kb, chains, config, progress, stop), RuleSet.of(kb, kept)])


# chains -------------------------------------------------------------------------------------------


def longest_chain(kb: KnowledgeBase) -> int:
    """Return the most steps of a chain that can be counted on this base."""
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
    """Count exact statistics of the `proposed` bodies, by target, for every target that they serve.

    Of more than `neural_candidates` bodies of a target those with the best estimate, on sampled starts, are counted.
    """
    targets = np.array(sorted(proposed), np.int32)
    settings = CountOptions(min_support=config.min_support, min_confidence=config.min_confidence)
    task = Task.of(kb.crisp, Graph.of(kb.crisp), targets, settings, progress)
    parts = [RuleSet.empty(kb)]
    for length in sorted({len(body) for bodies in proposed.values() for body in bodies}):
        mine = [[body for body in proposed[t] if len(body) == length] for t in targets.tolist()]
        bodies = sorted({body for found in mine for body in found})
        steps = np.array(bodies, np.int32)
        pool = workers(partial(ChainCounter, task, length), config.threads, config.memory)
        most = config.neural_candidates if length < LONG_STEPS else max(1, config.neural_candidates // 4)
        if max(map(len, mine)) > most:
            row = {body: i for i, body in enumerate(bodies)}
            rows = [np.array([row[body] for body in found], np.int64) for found in mine]
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
    """The bodies that are, for some target, among the `most` of its own rows with the best estimate."""
    best = []
    for position, mine in enumerate(rows):
        best.append(mine[np.argsort(-guessed[mine, position], kind="stable")[:most]])
    return np.unique(np.concatenate(best))


# other rules ------------------------------------------------------------------------------------------


def f1(stats: RuleStats) -> float:
    """Return the F1 of a rule's answers against the target's facts, by its `stats`."""
    return 2 * stats.support / max(1, stats.body_size + stats.head_size)


def _explains(scored: ScoredRule) -> tuple[float, int, str]:
    """Order of preference: by F1, then the shorter rule."""
    return (-f1(scored.stats), scored.rule.length, str(scored.rule))


class Judge:
    """Exact statistics of rules, each counted once by `evaluator`.

    Rules of a target share statements, so these are cached too.
    """

    def __init__(self, evaluator: Evaluator, negatives: Facts | None = None, min_confidence: float = 0.0) -> None:
        """`min_confidence`: a rule with so many answers that it cannot reach this need not be counted to the end."""
        self.kb = evaluator.kb
        self.counts = BatchStatistics(evaluator, negatives)
        self.min_confidence = max(min_confidence, 1e-9)
        self.known: dict[Rule, ScoredRule | None] = {}

    def score(self, rule: Rule | None) -> ScoredRule | None:
        """Return the rule with its statistics; None for no rule.

        None also for one of which a single query outgrows the memory budget, and for one that holds for far too many
        tuples.
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
        """Return those of `rules` that are rules and have statistics, with them."""
        return [scored for scored in map(self.score, rules) if scored is not None]

    def pruned(self, scored: ScoredRule) -> ScoredRule:
        """Leave out arguments as long as F1 does not fall: what a rule does not need, it does not say."""
        while True:
            head, body = scored.rule.head, scored.rule.body
            options = (self.score(as_candidate(Rule(head, formula))) for formula in shorter(body))
            better = (s for s in options if s is not None and f1(s.stats) >= f1(scored.stats))
            found = next(better, None)
            if found is None:
                return scored
            scored = found

    def dead_parts(self, scored: ScoredRule) -> list[tuple[Formula, ScoredRule]]:
        """Find the arguments of connectives that change no count of a rule, each with the rule without it.

        Without an argument a rule holds for more tuples, or for fewer, and not for other ones: where no count changes,
        it holds for the same.
        """
        found, stats = [], scored.stats
        for part, rest in removals(scored.rule.body):
            rule = simplify(replace(scored.rule, body=rest))
            other = None if rule.body in (TRUE, FALSE) else self.score(rule)
            if other is not None and (other.stats.support, other.stats.body_size) == (stats.support, stats.body_size):
                found.append((part, other))
        return found

    def without_dead_parts(self, scored: ScoredRule) -> ScoredRule:
        """Leave out what changes no count, one part after the other."""
        if is_recursive([scored.rule], scored.rule.target):
            return scored  # a base case may change no count of one step, and yet all that is derived
        while dead := self.dead_parts(scored):
            scored = min((rest for _, rest in dead), key=_explains)
        return scored

    def extended(self, scored: ScoredRule, others: Sequence[ScoredRule]) -> ScoredRule:
        """Join what `others` say, by and or by or, as long as F1 rises clearly: restarts each find a part."""
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
    """Return the rules of one target worth keeping, the best single explanation first, then by confidence.

    A recursive rule explains as much as its least fixpoint derives when no fact of the target is given. With `parts` to
    make new statements of, the best rules are changed as long as that makes them better. `judge` counts; rules below
    `min_support` or `min_confidence` go.
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
        return [judge.without_dead_parts(best)]  # explains all facts and nothing else: no other rule can add to it
    rest = sorted((s for s in good if s.rule != best.rule), key=lambda s: (-s.stats.smoothed, s.rule.length))
    # A longer rule with the same counts says the same of the data.
    kept: dict[tuple[int, int], ScoredRule] = {}
    for s in (best, *rest):
        kept.setdefault((s.stats.support, s.stats.body_size), s)
    return [judge.without_dead_parts(s) for s in kept.values()]


def _supported(scored: Iterable[ScoredRule], min_support: int, min_confidence: float) -> list[ScoredRule]:
    return [s for s in scored if s.stats.support >= min_support and s.stats.confidence >= min_confidence]


def _refined(judge: Judge, best: list[ScoredRule], parts: Parts) -> list[ScoredRule]:
    """Small changes of the best rules, where their truth at every tuple fits into memory."""
    if max(f1(s.stats) for s in best) == 1:
        return []
    table = TruthTable(judge.counts, best[0].rule)
    if not table.exists:
        return []
    new = judge.scored(Refiner(best[0].rule.head, table, parts).refined([s.rule.body for s in best]))
    return [judge.pruned(s) for s in sorted(new, key=_explains)]


def _with_base_cases(judge: Judge, by_f1: list[ScoredRule]) -> list[ScoredRule]:
    """Recursive rules for a unary target, joined with what they may begin from: `zero(X)` has one fact among many,
    so training hardly ever sees it, but nothing is derived without it."""
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
    """The first, unless it is recursive and another derives more from nothing."""
    if not is_recursive([by_f1[0].rule], by_f1[0].rule.target):
        return by_f1[0]

    def derives(scored: ScoredRule) -> float:
        if not is_recursive([scored.rule], scored.rule.target):
            return f1(scored.stats)
        try:
            return f1(fixpoint_stats(kb, [scored.rule], scored.rule.target, max_facts=MOST_DERIVED))
        except (RuleError, LimitError):
            return 0.0  # negation through itself, or more than can be derived

    return max(by_f1[:MOST_FIXPOINTS], key=derives)
