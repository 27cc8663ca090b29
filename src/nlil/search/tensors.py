"""The exhaustive part of the counting search on tensors: chains of length 1 and 2 and rules with constants.

The same rows in the same order as the compiled loops of `chains.py` and `anchored.py`, computed from
sorted integer keys: expand edges, build keys (owner, steps, end), `unique` them, count. On a GPU this takes
a fraction of a second where a CPU needs several; on a CPU it is slower than the loops, and tested against them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..data.arrays import Ids
from ..kernel.bodies import ANY_NODE
from ..kernel.calculus import ranges as ranges_between
from ..kernel.calculus import unique_pairs
from ..kernel.graph import Graph, TargetFacts
from ..kernel.hidden import hides_edge, is_own_fact, num_seen
from .anchored import Anchored
from .chains import Chains

BYTES_PER_PATH = 96
"""Keys, their sort and its result, for each path of a block."""


def ranges(low: Tensor, count: Tensor) -> Tensor:
    return ranges_between(low, low + count)[1]


class TensorCounter:
    """Edges and target facts on a device."""

    def __init__(self, graph: Graph, facts: TargetFacts, targets: Ids, device: str, memory: int) -> None:
        self.num_entities, self.num_codes = graph.num_entities, graph.num_codes
        self.num_targets, self.most_paths = len(targets), max(memory // BYTES_PER_PATH, 1)

        def tensor(array: Any) -> Any:
            return torch.as_tensor(array.astype(np.int64), device=device)

        self.device = torch.device(device)
        self.graph = graph.to(device, wide=True)
        of_targets: Any = TargetFacts(*map(tensor, facts))
        self.facts = of_targets
        everyone = torch.arange(graph.num_entities, device=device)
        self.degree = self.graph.pointer.diff()
        self.node = torch.repeat_interleave(everyone, self.degree)
        self.target_code = 2 * tensor(targets)
        subject = torch.repeat_interleave(everyone, self.facts.pointer.diff())
        self.pair, self.pair_count = torch.unique_consecutive(
            subject * self.num_entities + self.facts.object, return_counts=True
        )
        self.pair_start = self.pair_count.cumsum(0) - self.pair_count

    def _blocks(self, work: Tensor) -> Iterator[tuple[int, int]]:
        """Consecutive rows whose summed work fits the budget, one row at least."""
        total = work.cumsum(0).cpu().numpy()
        begin = 0
        while begin < len(total):
            done = total[begin - 1] if begin else 0
            end = max(int(np.searchsorted(total, done + self.most_paths, side="right")), begin + 1)
            yield begin, end
            begin = end

    # chains ---------------------------------------------------------------------------------------

    def chains(self, min_support: int, min_confidence: float) -> list[Chains]:
        """All chains of length 1 and of length 2."""
        graph = self.graph
        apart = graph.neighbour != self.node
        one = self._count(
            iter([(self.node[apart], graph.code[apart], graph.neighbour[apart])]), 1, min_support, min_confidence
        )
        two = self._count(self._two_steps(), 2, min_support, min_confidence)
        return [one, two]

    def _two_steps(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """(start, body, end) of every two-step path with distinct nodes, by blocks of starts."""
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

    def _count(
        self, paths: Iterator[tuple[Tensor, Tensor, Tensor]], length: int, min_support: int, min_confidence: float
    ) -> Chains:
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
        enough = (support >= min_support) & (support >= min_confidence * body_size[body])
        if length == 1:
            enough &= ~is_own_fact(self.target_code[target], body)
        key, support, target, body = key[enough], support[enough], target[enough], body[enough]
        pca = self._pca(key, reached, num_bodies)
        return self._chains(target, body, support, body_size[body], pca, length)

    def _supported(self, start: Tensor, body: Tensor, end: Tensor, num_bodies: int) -> Tensor:
        """target * num_bodies + body for each target fact at the ends of a path."""
        pair = start * self.num_entities + end
        place = torch.searchsorted(self.pair, pair).clamp(max=max(len(self.pair) - 1, 0))
        hit = (self.pair[place] == pair).nonzero().squeeze(1) if len(self.pair) else place[:0]
        count = self.pair_count[place[hit]]
        fact = ranges(self.pair_start[place[hit]], count)
        return self.facts.target[fact] * num_bodies + torch.repeat_interleave(body[hit], count)

    def _pca(self, wanted: Tensor, reached: list[tuple[Tensor, Tensor]], num_bodies: int) -> Tensor:
        """For each wanted target * num_bodies + body the pairs whose start has some fact of the target."""
        total = torch.zeros_like(wanted)
        fan = self.facts.subject_pointer.diff()
        for owner, count in reached:
            start = owner // num_bodies
            for begin, end in self._blocks(fan[start]):
                some, many = start[begin:end], fan[start[begin:end]]
                target = self.facts.subject_target[ranges(self.facts.subject_pointer[some], many)]
                key = target * num_bodies + torch.repeat_interleave(owner[begin:end] % num_bodies, many)
                place = torch.searchsorted(wanted, key).clamp(max=max(len(wanted) - 1, 0))
                hit = (wanted[place] == key).nonzero().squeeze(1) if len(wanted) else place[:0]
                total.index_add_(0, place[hit], torch.repeat_interleave(count[begin:end], many)[hit])
        return total

    def _chains(self, target: Tensor, body: Tensor, support: Tensor, size: Tensor, pca: Tensor, length: int) -> Chains:
        steps = torch.stack([body // self.num_codes**i % self.num_codes for i in reversed(range(length))], dim=1)
        # The loops go first step by first step, then target, then second step.
        first = steps[:, 0] if length == 2 else torch.zeros_like(body)
        order = torch.argsort((first * max(self.num_targets, 1) + target) * self.num_codes + steps[:, -1])
        columns = (t[order].cpu().numpy() for t in (target, steps, support, size, pca))
        target_, steps_, *rest = columns
        return Chains(target_.astype(np.int32), steps_.astype(np.int32), *rest)

    # constants --------------------------------------------------------------------------------------

    def anchored(self, codes: list[int], min_support: int, min_confidence: float) -> Iterator[tuple[int, Anchored]]:
        """(code, its anchored and half-anchored rules) in the order of `codes`."""
        graph = self.graph
        self.size, self.step = graph.span_pointer.diff(), graph.span_code ^ 1
        self._prepare_constants()
        wanted = torch.zeros(self.num_codes, dtype=torch.bool, device=self.device)
        wanted[torch.as_tensor(codes, device=self.device)] = True
        heads = (wanted[self.step] & (self.size >= min_support)).nonzero().squeeze(1)
        work = torch.zeros_like(self.size).index_add_(0, graph.back_span, self.degree[self.node])
        parts = [torch.zeros((7, 0), dtype=torch.int64, device=self.device)]
        for low, high in self._blocks(work[heads]):
            parts.append(_enough(self._anchored(heads[low:high]), min_support, min_confidence))
            parts.append(_enough(self._half(heads[low:high]), min_support, min_confidence))
        rows = _sorted(torch.cat(parts, dim=1))
        for code in codes:
            low, high = np.searchsorted(rows[0], (code, code + 1))
            yield code, Anchored(*rows[1:, low:high])

    def _prepare_constants(self) -> None:
        """What every head needs: codes that lead to another entity, self-loops, and the PCA counts of even codes."""
        graph, codes = self.graph, self.num_codes
        apart = graph.neighbour != self.node
        self.loop = torch.zeros(len(self.size), dtype=torch.bool, device=self.device)
        self.loop[graph.back_span[~apart]] = True
        beyond, self.beyond_many = torch.unique((self.node * codes + graph.code)[apart], return_counts=True)
        beyond_node, self.beyond_code = beyond // codes, beyond % codes
        everyone = torch.arange(self.num_entities + 1, device=self.device)
        self.beyond_pointer = torch.searchsorted(beyond_node, everyone)
        self.half_body = torch.bincount(self.beyond_code, minlength=codes)
        has = torch.unique(self.node * codes + graph.code)
        has = has[has % codes % 2 == 0]
        owner, code = has // codes, has % codes
        count = self.beyond_pointer[owner + 1] - self.beyond_pointer[owner]
        other = self.beyond_code[ranges(self.beyond_pointer[owner], count)]
        pairs = torch.repeat_interleave(code, count) * codes + other
        self.code_pca = torch.bincount(pairs, minlength=codes * codes)
        keys, counts = [], []
        for low, high in self._blocks(self.degree[owner]):
            many = self.degree[owner[low:high]]
            item = graph.back_span[ranges(graph.pointer[owner[low:high]], many)]
            key, number = torch.unique(
                torch.repeat_interleave(code[low:high], many) * len(self.size) + item, return_counts=True
            )
            keys.append(key)
            counts.append(number)
        every = torch.cat(keys) if keys else torch.zeros(0, dtype=torch.int64, device=self.device)
        self.pca_key, place = torch.unique(every, return_inverse=True)
        self.pca_count = torch.zeros_like(self.pca_key)
        if keys:
            self.pca_count.index_add_(0, place, torch.cat(counts))

    def _members(self, head: Tensor) -> tuple[Tensor, Tensor]:
        """(position in head, member) of every member of the head spans."""
        member = self.graph.neighbour[ranges(self.graph.span_pointer[head], self.size[head])]
        return torch.repeat_interleave(torch.arange(len(head), device=self.device), self.size[head]), member

    def _anchored(self, head: Tensor) -> Tensor:
        """Rows (code of the head, its constant, step, end, support, body size, PCA body) of all anchored rules."""
        graph, num_items = self.graph, len(self.size)
        owner, x = self._members(head)
        edge = ranges(graph.pointer[x], self.degree[x])
        owner = torch.repeat_interleave(owner, self.degree[x])
        x = torch.repeat_interleave(x, self.degree[x])
        item, c, q = graph.back_span[edge], graph.span_node[head][owner], self.step[head][owner]
        keep = ~hides_edge(q, x, c, graph.code[edge], x, graph.neighbour[edge])
        key, support = torch.unique(owner[keep] * num_items + item[keep], return_counts=True)
        owner, item = key // num_items, key % num_items
        c, q, k, d = graph.span_node[head][owner], self.step[head][owner], self.step[item], graph.span_node[item]
        # At a self-loop the mirrored body holds of c only by the hidden fact.
        less = (self.loop[head][owner] & hides_edge(q, c, c, k, c, d)).long()
        place = torch.searchsorted(self.pca_key, q * num_items + item).clamp(max=max(len(self.pca_key) - 1, 0))
        pca = torch.where(q % 2 == 0, self.pca_count[place], self.size[item]) if len(self.pca_key) else self.size[item]
        return torch.stack((q, c, k, d, support, self.size[item] - less, pca - less))

    def _half(self, head: Tensor) -> Tensor:
        """Rows as those of `_anchored` of all half-anchored rules."""
        codes = self.num_codes
        owner, x = self._members(head)
        count = self.beyond_pointer[x + 1] - self.beyond_pointer[x]
        entry = ranges(self.beyond_pointer[x], count)
        owner, x = torch.repeat_interleave(owner, count), torch.repeat_interleave(x, count)
        code, own, c = self.beyond_code[entry], self.step[head], self.graph.span_node[head][owner]
        # For k = q the edge to c is the fact itself: another one is needed.
        others = num_seen(self.beyond_many[entry], (hides_edge(own[owner], x, c, code, x, c) & (c != x)).long())
        key, support = torch.unique((owner * codes + code)[others > 0], return_counts=True)
        lonely = torch.zeros(len(head), dtype=torch.int64, device=self.device)
        lonely.index_add_(0, owner, (others == 0).long())
        owner, k = key // codes, key % codes
        q = own[owner]
        body = self.half_body[k] - torch.where(k == q, lonely[owner], 0)
        pca = torch.where((k == q) | (q % 2 == 1), body, self.code_pca[q * codes + k])
        return torch.stack((q, self.graph.span_node[head][owner], k, torch.full_like(k, ANY_NODE), support, body, pca))


def _enough(rows: Tensor, min_support: int, min_confidence: float) -> Tensor:
    return rows[:, (rows[4] >= min_support) & (rows[4] >= min_confidence * rows[5])]


def _sorted(rows: Tensor) -> np.ndarray:
    """Rows by head; of one head the anchored by step and end, then the half-anchored by step."""
    code, constant, step, end = rows[:4]
    order = torch.arange(rows.shape[1], device=rows.device)
    for column in (end, step, end == ANY_NODE, constant, code):
        order = order[torch.argsort(column[order], stable=True)]
    return rows[:, order].cpu().numpy()
