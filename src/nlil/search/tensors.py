"""The exhaustive part of the counting search on tensors: chains of length 1 and 2 and rules with constants.

The rows and their order are those of the compiled loops of `chains.py` and `anchored.py`, computed from sorted integer
keys: expand edges, build keys (owner, steps, end), `unique` them, count. On a GPU this takes a fraction of a second
where a CPU needs several; on a CPU it is slower than the loops, and tested against them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..kernel.calculus import ranges as ranges_between
from ..kernel.calculus import unique_pairs
from ..kernel.graph import Graph, TargetFacts
from ..kernel.hidden import hides_edge, is_own_fact, num_seen
from .options import ChainRows, CountingTask
from .top_rules import BODY, BODY_SIZE, HEAD, ROW, SUPPORT

BYTES_PER_PATH = 96
"""Per path of a block: its keys, and the buffers to sort them."""
HELD_BYTES = 24
"""Upper limit per path of two steps, until all are counted: its start and body, their count, a rule."""


def has_room(graph: Graph, device: str) -> bool:
    """Return whether half of the memory of `device` suffices to count the paths of two steps of `graph`.

    The compiled loops do not store paths, and walk fewer of them around hubs.
    """
    if torch.device(device).type != "cuda":
        return True
    return HELD_BYTES * num_two_steps(graph) <= torch.cuda.get_device_properties(device).total_memory / 2


def num_two_steps(graph: Graph) -> float:
    """Return the number of paths of two edges in `graph`: the sum of the squared degrees."""
    return float(np.square(np.diff(graph.pointer).astype(np.float64)).sum())


def ranges(low: Tensor, count: Tensor) -> Tensor:
    """Concatenate low_i .. low_i + count_i - 1 for each i of `low` and `count`."""
    return ranges_between(low, low + count)[1]


class TensorCounter:
    """Edges and target facts on a device."""

    def __init__(self, task: CountingTask) -> None:
        graph, self.options = task.graph, task.options
        self.num_entities, self.num_codes = graph.num_entities, graph.num_codes
        self.num_targets, self.most_paths = len(task.targets), max(task.options.memory // BYTES_PER_PATH, 1)
        self.device = device = torch.device(task.options.device)

        def tensor(array: Any) -> Any:
            return torch.as_tensor(array.astype(np.int64), device=device)

        self.graph = graph.to(device, wide=True)
        of_targets: Any = TargetFacts(*map(tensor, task.facts))
        self.facts = of_targets
        everyone = torch.arange(graph.num_entities, device=device)
        self.degree = self.graph.pointer.diff()
        self.node = torch.repeat_interleave(everyone, self.degree)
        self.target_code = 2 * tensor(task.targets)
        subject = torch.repeat_interleave(everyone, self.facts.pointer.diff())
        self.pair, self.pair_count = torch.unique_consecutive(
            subject * self.num_entities + self.facts.object, return_counts=True
        )
        self.pair_start = self.pair_count.cumsum(0) - self.pair_count

    def _blocks(self, work: Tensor) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows whose total work fits the budget; at least one row each."""
        total = work.cumsum(0).cpu().numpy()
        begin = 0
        while begin < len(total):
            done = total[begin - 1] if begin else 0
            end = max(int(np.searchsorted(total, done + self.most_paths, side="right")), begin + 1)
            yield begin, end
            begin = end

    # chains ---------------------------------------------------------------------------------------

    def chains(self) -> list[ChainRows]:
        """Return all chains of length 1 and of length 2."""
        graph = self.graph
        apart = graph.neighbour != self.node
        one = (self.node[apart], graph.code[apart], graph.neighbour[apart])
        return [self._count([one], 1), self._count(self._two_steps(), 2)]

    def _two_steps(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield (start, body, end) of every two-step path with distinct nodes, in blocks of starts."""
        graph = self.graph
        reached = self.degree[graph.neighbour]
        work = torch.zeros(self.num_entities, dtype=torch.int64, device=self.device).index_add_(0, self.node, reached)
        for begin, end in self._blocks(work):
            low, high = int(graph.pointer[begin]), int(graph.pointer[end])
            first = torch.arange(low, high, device=self.device)
            second = ranges(graph.pointer[graph.neighbour[low:high]], reached[low:high])
            first = torch.repeat_interleave(first, reached[low:high])
            start, middle, last = self.node[first], graph.neighbour[first], graph.neighbour[second]
            keep = (middle != start) & (last != start) & (last != middle)
            body = graph.code[first] * self.num_codes + graph.code[second]
            yield start[keep], body[keep], last[keep]

    def _count(self, paths: Iterable[tuple[Tensor, Tensor, Tensor]], length: int) -> ChainRows:
        num_bodies = self.num_codes**length
        body_size = torch.zeros(num_bodies, dtype=torch.int64, device=self.device)
        supported: list[Tensor] = []
        reached: list[tuple[Tensor, Tensor]] = []
        for start, body, end in paths:
            start_body, end = unique_pairs(start * num_bodies + body, end, self.num_entities)
            owner, count = torch.unique_consecutive(start_body, return_counts=True)
            body_size.index_add_(0, owner % num_bodies, count)
            reached.append((owner, count))
            supported.append(self._supported(start_body // num_bodies, start_body % num_bodies, end, num_bodies))
        key, support = torch.unique(torch.cat(supported), return_counts=True)
        target, body = key // num_bodies, key % num_bodies
        enough = self.options.enough(support, body_size[body])
        if length == 1:
            enough &= ~is_own_fact(self.target_code[target], body)
        key, support, target, body = key[enough], support[enough], target[enough], body[enough]
        counts = torch.stack((target, support, body_size[body], self._pca(key, reached, num_bodies)))
        steps = torch.stack([body // self.num_codes**i % self.num_codes for i in reversed(range(length))], dim=1)
        # The order of the loops: first step, target, second step.
        first = steps[:, 0] if length == 2 else torch.zeros_like(body)
        order = torch.argsort((first * max(self.num_targets, 1) + target) * self.num_codes + steps[:, -1])
        return steps[order].int().cpu().numpy(), counts[:, order].cpu().numpy()

    def _supported(self, start: Tensor, body: Tensor, end: Tensor, num_bodies: int) -> Tensor:
        """Return target * num_bodies + body for each target fact that joins the ends of a path."""
        at, place = _find(self.pair, start * self.num_entities + end)
        count = self.pair_count[place]
        fact = ranges(self.pair_start[place], count)
        return self.facts.target[fact] * num_bodies + torch.repeat_interleave(body[at], count)

    def _pca(self, wanted: Tensor, reached: list[tuple[Tensor, Tensor]], num_bodies: int) -> Tensor:
        """Return for each wanted target * num_bodies + body the number of pairs whose start has a target fact."""
        total = torch.zeros_like(wanted)
        fan = self.facts.subject_pointer.diff()
        for owner, count in reached:
            start = owner // num_bodies
            for begin, end in self._blocks(fan[start]):
                some, many = start[begin:end], fan[start[begin:end]]
                target = self.facts.subject_target[ranges(self.facts.subject_pointer[some], many)]
                key = target * num_bodies + torch.repeat_interleave(owner[begin:end] % num_bodies, many)
                at, place = _find(wanted, key)
                total.index_add_(0, place, torch.repeat_interleave(count[begin:end], many)[at])
        return total

    # constants --------------------------------------------------------------------------------------

    def anchored(self, codes: list[int]) -> Iterator[tuple[int, np.ndarray]]:
        """Yield (code, rows) for each of `codes`: its anchored and half-anchored rules, as in `HeadCounter.rows`."""
        graph = self.graph
        self.step = torch.cat((graph.span_code ^ 1, torch.arange(self.num_codes, device=self.device)))
        self._list_bodies()
        self._count_pca()
        size = graph.span_pointer.diff()
        wanted = torch.zeros(self.num_codes, dtype=torch.bool, device=self.device)
        wanted[torch.as_tensor(codes, device=self.device)] = True
        heads = (wanted[self.step[: graph.num_spans]] & (size >= self.options.min_support)).nonzero().squeeze(1)
        work = torch.zeros_like(size).index_add_(0, graph.back_span, self.num_bodies[self.node])
        parts = [torch.zeros((ROW, 0), dtype=torch.int64, device=self.device)]
        for low, high in self._blocks(work[heads]):
            rows = self._count_bodies(heads[low:high])
            parts.append(rows[:, self.options.enough(rows[SUPPORT], rows[BODY_SIZE])])
        found = self._sorted(torch.cat(parts, dim=1))
        code_of = self.step[found[HEAD]]
        ends = torch.searchsorted(code_of, torch.arange(self.num_codes + 1, device=self.device)).tolist()
        narrow = found.int() if len(self.step) + 1 < 2**31 else found
        rows_of_all = narrow.cpu().numpy()
        for code in codes:
            yield code, rows_of_all[:, ends[code] : ends[code + 1]]

    def _list_bodies(self) -> None:
        """List the bodies that hold for each entity, with the number of edges: k(X, d) by span, k(X, Z1) by code."""
        graph, codes = self.graph, self.num_codes
        apart = graph.neighbour != self.node
        beyond, many = torch.unique((self.node * codes + graph.code)[apart], return_counts=True)
        owner = torch.cat((self.node, beyond // codes))
        order = torch.argsort(owner, stable=True)
        self.body = torch.cat((graph.back_span, graph.num_spans + beyond % codes))[order]
        self.edges_of_body = torch.cat((torch.ones_like(graph.code), many))[order]
        self.num_bodies = torch.bincount(owner, minlength=self.num_entities)
        self.body_pointer = self.num_bodies.cumsum(0) - self.num_bodies
        self.body_size = torch.bincount(self.body, minlength=len(self.step))

    def _count_pca(self) -> None:
        """Count the entities with an edge q for which each body holds, for even codes q."""
        has = self.graph.span_key[:-1]
        has = has[has % self.num_codes % 2 == 0]
        owner, code = has // self.num_codes, has % self.num_codes
        keys, counts = [has[:0]], [has[:0]]
        for low, high in self._blocks(self.num_bodies[owner]):
            many = self.num_bodies[owner[low:high]]
            body = self.body[ranges(self.body_pointer[owner[low:high]], many)]
            key = torch.repeat_interleave(code[low:high], many) * len(self.step) + body
            for found, part in zip((keys, counts), torch.unique(key, return_counts=True)):
                found.append(part)
        self.pca_key, place = torch.unique(torch.cat(keys), return_inverse=True)
        self.pca_count = torch.zeros_like(self.pca_key).index_add_(0, place, torch.cat(counts))

    def _count_bodies(self, head: Tensor) -> Tensor:
        """Return the rows (see `top_rules.ROW`) of all rules of the heads."""
        graph, bodies = self.graph, len(self.step)
        low, high = graph.span_pointer[head], graph.span_pointer[head + 1]
        owner = torch.repeat_interleave(torch.arange(len(head), device=self.device), high - low)
        x = graph.neighbour[ranges(low, high - low)]
        entry = ranges(self.body_pointer[x], self.num_bodies[x])
        owner, x = (torch.repeat_interleave(column, self.num_bodies[x]) for column in (owner, x))
        body, c, q = self.body[entry], graph.span_node[head][owner], self.step[head][owner]
        # If c is another entity than x, the hidden fact is one of the edges of k(X, Z1).
        is_half, d = self._end(body, c)
        own = hides_edge(q, x, c, self.step[body], x, d) & ~(is_half & (x == c))
        seen = num_seen(self.edges_of_body[entry], own.long()) > 0
        key, support = torch.unique((owner * bodies + body)[seen], return_counts=True)
        hidden, times = torch.unique((owner * bodies + body)[~seen], return_counts=True)
        lost = _counts(hidden, times, key, torch.zeros_like(key))
        owner, body = key // bodies, key % bodies
        q, size = self.step[head][owner], self.body_size[body]
        pca = _counts(self.pca_key, self.pca_count, q * bodies + body, size)
        return torch.stack((head[owner], body, support, size - lost, pca - lost))

    def _end(self, body: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
        """Return whether each body is k(X, Z1), and its end: d of k(X, d), else `other`."""
        is_half = body >= self.graph.num_spans
        return is_half, torch.where(is_half, other, self.graph.span_node[body.clamp(max=self.graph.num_spans - 1)])

    def _sorted(self, rows: Tensor) -> Tensor:
        """Sort rows by code and head; within a head, anchored by step and end, then half-anchored by step."""
        head, body = rows[HEAD], rows[BODY]
        is_half, end = self._end(body, torch.zeros_like(body))
        # Spans ascend by node, so the spans of a code are in the order of their constants.
        within = (is_half * self.num_codes + self.step[body]) * self.num_entities + end
        order = torch.argsort(within, stable=True)
        order = order[torch.argsort((self.step[head] * self.graph.num_spans + head)[order], stable=True)]
        return rows[:, order]


def _find(keys: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Return (positions of the wanted numbers that are among the ascending keys, their positions there)."""
    if not len(keys):
        return wanted[:0], wanted[:0]
    place = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
    at = (keys[place] == wanted).nonzero().squeeze(1)
    return at, place[at]


def _counts(keys: Tensor, counts: Tensor, wanted: Tensor, default: Tensor) -> Tensor:
    """Return the counts of the wanted numbers among the ascending keys; `default` for those not found."""
    at, place = _find(keys, wanted)
    return default.index_put((at,), counts[place])
