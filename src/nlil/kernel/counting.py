"""Statistics of many given rules at once: the same integers as `rule_stats`, body by body instead of rule by rule.

Rules of a file, of another system or of a person share their bodies. Compiled loops walk a line once for all rules that
have it. Rules that the loops do not support (programs, class heads of scene graphs, given negatives) are counted one by
one by `BatchStatistics`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..data.arrays import Ids, Longs, Mask
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..errors import NlilError
from ..progress import Progress, silent
from .bodies import ANY_NODE, X_NODE, Y_NODE, Lines
from .compiled import compiled
from .graph import Graph, TargetFacts, has_unary, span_edges, target_facts
from .hidden import HiddenFact, can_hide
from .pool import Pool, workers
from .ruleset import FIRST, NO_ENTITY, STATISTICS, UNKNOWN, RuleSet, count_dtype
from .walk import NO_LIMIT, Walked, WalkSpace, reach, walk_space

BLOCK = 64
"""Bodies per task."""
LOOKUP = 8
"""Looking up the edges of one node takes about as long as scanning this many nodes."""


def count_statistics(
    rules: RuleSet,
    kb: KnowledgeBase,
    negatives: Facts | None = None,
    threads: int = 0,
    memory: int = 2**30,
    progress: Progress = silent,
) -> RuleSet:
    """Return `rules` with statistics counted on the crisp facts of `kb`, replacing those they had.

    Args:
        negatives: False facts. If the target of a rule has some, its other head tuples are unknown (see `rule_stats`).
        threads: 0: all cores.
        memory: Bytes of the caches between rules.
        progress: Receives the number of rules counted so far.
    """
    kb = kb.crisp
    counted: np.ndarray = np.zeros((len(STATISTICS), len(rules)), count_dtype(kb.num_entities**2))
    done = np.zeros(len(rules), bool)
    if kb.graph_of is None and not kb.classes and len(rules):
        counter = LineCounter(rules, kb, threads, memory)
        for rows, statistics in (*counter.chains(progress), *counter.entity_rules(progress)):
            counted[:, rows] = statistics
            done[rows] = True
    with_negatives = _targets(negatives)
    done &= ~np.isin(rules.head, with_negatives)
    _count_one_by_one(rules, kb, negatives, memory, np.flatnonzero(~done), counted, progress)
    columns: dict[str, np.ndarray] = dict(zip(STATISTICS, counted))
    return replace(rules, **columns)  # type: ignore[arg-type]


def _targets(negatives: Facts | None) -> Ids:
    return np.zeros(0, np.int32) if negatives is None else np.unique(negatives.predicate)


def _count_one_by_one(
    rules: RuleSet,
    kb: KnowledgeBase,
    negatives: Facts | None,
    memory: int,
    rows: Longs,
    counted: np.ndarray,
    progress: Progress,
) -> None:
    if not len(rows):
        return
    from .batch import BatchStatistics  # imports torch
    from .evaluator import Evaluator

    statistics = BatchStatistics(Evaluator(kb, memory=memory), negatives)
    # Consecutive rules of one head share its table.
    order = np.lexsort((rules.fixed[rows], rules.head_entity[rows], rules.head[rows]))
    for place, row in enumerate(rows[order].tolist(), start=1):
        rule = rules.rule(row)
        try:
            stats = statistics.stats(rule)
        except NlilError as error:
            raise NlilError(f"{rule}: {error}") from error
        pca = UNKNOWN if stats.pca_body is None else stats.pca_body
        counted[:, row] = stats.support, stats.body_size, stats.head_size, pca
        progress("statistics", place, len(rows))


class LineCounter:
    """Counts those of `rules` that compiled loops can walk, on the facts of `kb`, with up to `threads` threads.

    These are p(X, Y) with a line from X to Y, and heads of one variable with a line from it or with `true`; other rules
    are skipped. Fewer threads run if their scratch space does not fit into `memory`.
    """

    def __init__(self, rules: RuleSet, kb: KnowledgeBase, threads: int, memory: int) -> None:
        self.rules, self.kb, self.graph = rules, kb, Graph.of(kb)
        self.lines: Lines = rules.bodies.lines
        self.walked = Walked.of(self.lines, self.graph.is_unary)
        self.lengths, self.steps = self.walked.lengths, self.walked.steps
        self.line = rules.line
        width = self.lines.width
        self.pool: Pool[WalkSpace] = workers(lambda: walk_space(kb.num_entities, width), threads, memory)
        is_line = self.line >= 0
        start, end = (np.append(column, ANY_NODE)[self.line] for column in (self.lines.start, self.lines.end))
        moves = np.append(self.lines.moves(self.graph.is_unary), False)[self.line]
        arity = np.array([p.arity for p in kb.predicates])[rules.head]
        variable = np.where(rules.fixed == FIRST, Y_NODE, X_NODE)
        self.is_chain = is_line & (rules.fixed == 0) & (arity == 2) & (start == X_NODE) & (end == Y_NODE) & moves
        one_variable = (arity == 1) | (rules.fixed > 0)
        has_steps = np.append(self.lengths, 0)[self.line] > 0
        from_variable = has_steps & (start == variable) & ((end == ANY_NODE) | (end >= 0))
        self.is_entity = is_line & one_variable & (from_variable | rules.is_prior)

    def _by_line(self, rows: Longs) -> list[Longs]:
        """Return the rows grouped by line, sorted by head within a group."""
        rows = rows[np.lexsort((self.rules.fixed[rows], self.rules.head[rows], self.line[rows]))]
        return np.split(rows, np.flatnonzero(np.diff(self.line[rows])) + 1) if len(rows) else []

    def _names(self, line: int, predicate: int) -> bool:
        """Return whether a query's own fact of this predicate can be on the line."""
        return bool(can_hide(2 * predicate, self.steps[line, : self.lengths[line]]).any())

    def _blocks(self, groups: list[Longs]) -> list[list[Longs]]:
        return [groups[i : i + BLOCK] for i in range(0, len(groups), BLOCK)]

    # p(X, Y) ----------------------------------------------------------------------------------------

    def chains(self, progress: Progress) -> list[tuple[Longs, np.ndarray]]:
        """Return (rows, statistics) of the rules p(X, Y) with a line from X to Y, reporting to `progress`."""
        rows = np.flatnonzero(self.is_chain)
        if not len(rows):
            return []
        targets = np.unique(self.rules.head[rows]).astype(np.int32)
        facts = target_facts(self.kb, targets)
        position = np.zeros(self.kb.num_predicates, np.int64)
        position[targets] = np.arange(len(targets))

        def run(space: WalkSpace, block: list[Longs]) -> list[tuple[Longs, np.ndarray]]:
            return [(group, self._chain(space, group, facts, targets, position)) for group in block]

        found = self.pool.map(run, self._blocks(self._by_line(rows)), "chains", progress)
        return [pair for block in found for pair in block]

    def _chain(self, space: WalkSpace, rows: Longs, facts: TargetFacts, targets: Ids, position: Longs) -> np.ndarray:
        line = int(self.line[rows[0]])
        heads = self.rules.head[rows]
        touched = np.zeros(len(targets), bool)
        touched[position[heads]] = [self._names(line, int(head)) for head in heads]
        support, pca, lost = np.zeros((3, len(targets)), np.int64)
        steps = self.steps[line, : self.lengths[line]]
        body = _count_chain(
            self.graph,
            space,
            steps,
            bool(self.lines.distinct[line]),
            facts,
            2 * targets.astype(np.int64),
            touched,
            support,
            pca,
            lost,
        )
        own = position[heads]
        return np.stack((support[own], body - lost[own], facts.size[own], pca[own] - lost[own]))

    # p(X), p(X, c), p(c, Y) ---------------------------------------------------------------------------

    def entity_rules(self, progress: Progress) -> list[tuple[Longs, np.ndarray]]:
        """Return (rows, statistics) of rules with one head variable and a line from it or `true`, with `progress`."""
        blocks = self._blocks(self._by_line(np.flatnonzero(self.is_entity)))
        return self.pool.map(self._of_entities, blocks, "statistics", progress)

    def _of_entities(self, space: WalkSpace, groups: list[Longs]) -> tuple[Longs, np.ndarray]:
        """Return the rows of a block of lines, and their statistics."""
        rows, first = np.concatenate(groups), np.array([group[0] for group in groups])
        fixed, predicate = self.rules.fixed[rows], self.rules.head[rows].astype(np.int64)
        result = np.zeros((4, len(rows)), np.int64)
        _count_entities(
            self.graph,
            space,
            self.walked,
            self.line[first].astype(np.int64),
            np.cumsum([0, *map(len, groups)]),
            # The step code that leads from the head's variable to its constant; unary heads have none.
            np.where(fixed == FIRST, 2 * predicate + 1, 2 * predicate),
            np.where(fixed == 0, NO_ENTITY, self.rules.head_entity[rows]).astype(np.int64),
            self.kb.unary_pointer,
            self.kb.unary.subject,
            result,
        )
        return rows, result


@compiled
def _count_chain(
    graph: Graph,
    space: WalkSpace,
    steps: Longs,
    distinct: bool,
    facts: TargetFacts,
    target_code: Longs,
    touched: Mask,
    support: Longs,
    pca: Longs,
    lost: Longs,
) -> int:
    """Return the number of pairs that the line joins, and add to the support and PCA body of each target.

    lost[t] counts the facts of a `touched` target t that the line joins only through the fact itself.
    """
    nothing = HiddenFact(-1, -1, -1, -1, graph.is_unary)
    body = 0
    check = np.empty(0, np.int64)
    starts = np.empty(graph.num_entities, np.int64)
    for k in range(_starts(graph, steps, len(steps), starts)):
        a = starts[k]
        found = reach(graph, space, steps, len(steps), a, distinct, nothing, NO_LIMIT, -1)
        if found == 0:
            continue
        body += found
        for t in range(facts.subject_pointer[a], facts.subject_pointer[a + 1]):
            pca[facts.subject_target[t]] += found
        epoch, to_check, num_facts = space.clock[0], 0, facts.pointer[a + 1] - facts.pointer[a]
        if num_facts > len(check):
            check = np.empty(2 * num_facts, np.int64)
        for f in range(facts.pointer[a], facts.pointer[a + 1]):
            if space.seen[facts.object[f]] != epoch:
                continue
            if touched[facts.target[f]]:
                check[to_check] = f
                to_check += 1
            else:
                support[facts.target[f]] += 1
        for i in range(to_check):
            b, t = int(facts.object[check[i]]), facts.target[check[i]]  # one variant of `reach`
            own = HiddenFact(target_code[t], a, b, -1, graph.is_unary)
            reach(graph, space, steps, len(steps), a, distinct, own, NO_LIMIT, -1)
            if space.seen[b] == space.clock[0]:
                support[t] += 1
            else:
                lost[t] += 1
    return body


@compiled
def _starts(graph: Graph, steps: Longs, length: int, starts: Longs) -> int:
    """Write the entities that have the first step into `starts`, ascending; return their number."""
    size = 0
    if length == 0:
        for x in range(graph.num_entities):
            starts[x] = x
        return graph.num_entities
    if graph.is_unary[steps[0] >> 1]:
        for x in range(graph.num_entities):
            if has_unary(graph, x, steps[0] >> 1):
                starts[size] = x
                size += 1
        return size
    for i in range(graph.code_pointer[steps[0]], graph.code_pointer[steps[0] + 1]):
        starts[size] = graph.span_node[graph.code_span[i]]
        size += 1
    return size


@compiled
def _holders(graph: Graph, space: WalkSpace, walked: Walked, line: int, members: Longs) -> int:
    """Write the entities for which the line holds, with nothing hidden, into `members`; return their number."""
    steps, length = walked.steps[line], walked.lengths[line]
    distinct, constant = walked.distinct[line], walked.end[line]
    nothing = HiddenFact(-1, -1, -1, -1, graph.is_unary)
    size = 0
    if constant >= 0 and not distinct:
        back = walked.backwards[line]
        size = reach(graph, space, back, length, constant, False, nothing, NO_LIMIT, -1)
        for i in range(size):
            members[i] = space.ends[i]
        return size
    for i in range(_starts(graph, steps, length, members)):
        x = members[i]  # overwritten below only by entities tried before
        if length == 0 or reach(graph, space, steps, length, x, distinct, nothing, 1, constant):
            members[size] = x
            size += 1
    return size


@compiled
def _count_entities(
    graph: Graph,
    space: WalkSpace,
    walked: Walked,
    lines: Longs,
    pointer: Longs,
    code: Longs,
    entity: Longs,
    unary_pointer: Longs,
    unary_subject: Ids,
    result: Longs,
) -> None:
    """Write support, body size, head size and PCA body of rule i into result[:, i].

    The rules of lines[k] are pointer[k] .. pointer[k + 1].
    """
    group = np.zeros(len(graph.is_unary), np.bool_)
    members = np.empty(graph.num_entities, np.int64)
    is_member = np.zeros(graph.num_entities, np.bool_)
    for k in range(len(lines)):
        line = lines[k]
        steps, length = walked.steps[line], walked.lengths[line]
        distinct, constant = walked.distinct[line], walked.end[line]
        size = _holders(graph, space, walked, line, members)
        is_member[members[:size]] = True
        counted, with_fact = -1, 0
        for i in range(pointer[k], pointer[k + 1]):
            predicate = code[i] >> 1
            touched = False  # whether a query's own fact can be on the line
            for step in steps[:length]:
                touched |= can_hide(code[i], step)
            if entity[i] < 0:
                low, high = unary_pointer[predicate], unary_pointer[predicate + 1]
            else:
                low, high = span_edges(graph, entity[i], code[i] ^ 1)
            support, inside = 0, 0
            for f in range(low, high):
                x = int(unary_subject[f] if entity[i] < 0 else graph.neighbour[f])
                if not is_member[x]:
                    continue
                inside += 1
                if not touched:
                    support += 1
                    continue
                group[predicate] = entity[i] < 0  # hides p(x); a head with a constant hides the edge from x to it
                own = HiddenFact(code[i], x, entity[i], x, group)
                support += reach(graph, space, steps, length, x, distinct, own, 1, constant) > 0
                group[predicate] = False
            others = size - inside
            result[0, i], result[1, i], result[2, i] = support, support + others, high - low
            if entity[i] < 0:
                result[3, i] = -1
            elif code[i] & 1:  # p(c, Y): every other tuple has the same subject
                result[3, i] = support + (others if high > low else 0)
            else:
                if counted != code[i]:
                    counted, with_fact = code[i], _with_fact(graph, code[i], members[:size], is_member)
                result[3, i] = support + with_fact - inside
        is_member[members[:size]] = False


@compiled
def _with_fact(graph: Graph, code: int, members: Longs, is_member: Mask) -> int:
    """Return the number of members that have an edge of this code."""
    count = 0
    low, high = graph.code_pointer[code], graph.code_pointer[code + 1]
    if len(members) < (high - low) // LOOKUP:
        for x in members:
            begin, end = span_edges(graph, x, code)
            count += end > begin
        return count
    for i in range(low, high):
        count += is_member[graph.span_node[graph.code_span[i]]]
    return count
