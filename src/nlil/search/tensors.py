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
from ..engine.calculus import ranges as ranges_between
from ..engine.edges import EdgeIndex, TargetFacts
from .anchored import HALF, Anchored
from .chains import Chains

BYTES_PER_PATH = 96
"""Keys, their sort and its result, for each path of a block."""


def ranges(low: Tensor, count: Tensor) -> Tensor:
    return ranges_between(low, low + count)[1]


class TensorCounter:
    """Edges and target facts on a device."""

    def __init__(self, edges: EdgeIndex, facts: TargetFacts, targets: Ids, device: str, memory: int) -> None:
        self.num_entities, self.num_codes = edges.num_entities, edges.num_codes
        self.num_targets, self.most_paths = len(targets), max(memory // BYTES_PER_PATH, 1)

        def tensor(array: np.ndarray) -> Tensor:
            return torch.as_tensor(array.astype(np.int64), device=device)

        self.device = torch.device(device)
        # The same fields as the index of arrays, as tensors.
        arrays: dict[str, Any] = {n: tensor(a) for n, a in edges._asdict().items() if isinstance(a, np.ndarray)}
        columns: dict[str, Any] = {name: tensor(array) for name, array in facts._asdict().items()}
        index: Any = edges._replace(**arrays)
        of_targets: Any = facts._replace(**columns)
        self.edges, self.facts = index, of_targets
        self.node = torch.repeat_interleave(torch.arange(edges.num_entities, device=device), self.edges.pointer.diff())
        self.degree = self.edges.pointer.diff()
        self.target_code = 2 * tensor(targets)
        subject = torch.repeat_interleave(torch.arange(edges.num_entities, device=device), self.facts.pointer.diff())
        self.pair, self.pair_count = torch.unique_consecutive(subject * self.num_entities + self.facts.object,
                                                              return_counts=True)
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
        edges = self.edges
        apart = edges.neighbour != self.node
        one = self._count(iter([(self.node[apart], edges.code[apart], edges.neighbour[apart])]), 1, min_support,
                          min_confidence)
        two = self._count(self._two_steps(), 2, min_support, min_confidence)
        return [one, two]

    def _two_steps(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """(start, body, end) of every two-step path with distinct nodes, by blocks of starts."""
        edges = self.edges
        reached = self.degree[edges.neighbour]
        work = torch.zeros(self.num_entities, dtype=torch.int64, device=self.device).index_add_(0, self.node, reached)
        for begin, end in self._blocks(work):
            low, high = int(edges.pointer[begin]), int(edges.pointer[end])
            first = torch.arange(low, high, device=self.device)
            second = ranges(edges.pointer[edges.neighbour[low:high]], reached[low:high])
            first = torch.repeat_interleave(first, reached[low:high])
            start, middle, last = self.node[first], edges.neighbour[first], edges.neighbour[second]
            keep = (middle != start) & (last != start) & (last != middle)
            body = edges.code[first] * self.num_codes + edges.code[second]
            yield start[keep], body[keep], last[keep]

    def _count(self, paths: Iterator[tuple[Tensor, Tensor, Tensor]], length: int, min_support: int,
               min_confidence: float) -> Chains:
        num_bodies = self.num_codes**length
        body_size = torch.zeros(num_bodies, dtype=torch.int64, device=self.device)
        supported: list[Tensor] = []
        reached: list[tuple[Tensor, Tensor]] = []
        for start, body, end in paths:
            key = torch.unique((start * num_bodies + body) * self.num_entities + end)
            start_body, end = key // self.num_entities, key % self.num_entities
            owner, count = torch.unique_consecutive(start_body, return_counts=True)
            body_size.index_add_(0, owner % num_bodies, count)
            reached.append((owner, count))
            supported.append(self._supported(start_body // num_bodies, start_body % num_bodies, end, num_bodies))
        key, support = torch.unique(torch.cat(supported), return_counts=True)
        target, body = key // num_bodies, key % num_bodies
        enough = (support >= min_support) & (support >= min_confidence * body_size[body])
        if length == 1:
            enough &= self.target_code[target] != body
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
        edges = self.edges
        size = edges.item_pointer.diff()
        apart = edges.neighbour != self.node
        own_code = self.node * self.num_codes + edges.code
        beyond, many = torch.unique(own_code[apart], return_counts=True)
        beyond_node, beyond_code = beyond // self.num_codes, beyond % self.num_codes
        half_body = torch.bincount(beyond_code, minlength=self.num_codes)
        half_pointer = torch.searchsorted(beyond_node, torch.arange(self.num_entities + 1, device=self.device))
        work = torch.zeros(len(size), dtype=torch.int64, device=self.device)
        work.index_add_(0, edges.item_of_edge, self.degree[self.node])
        for code in codes:
            begin = int(torch.searchsorted(edges.item_code, code))
            end = int(torch.searchsorted(edges.item_code, code, side="right"))
            item_pca, code_pca = self._constants_pca(code, beyond_node, beyond_code)
            parts = []
            for low, high in self._blocks(work[begin:end]):
                head = torch.arange(begin + low, begin + high, device=self.device)
                parts.append(self._anchored(code, head[size[head] >= min_support], size, item_pca, min_support,
                                            min_confidence))
                parts.append(self._half(code, head[size[head] >= min_support], half_pointer, beyond_code, many,
                                        half_body, code_pca, min_support, min_confidence))
            yield code, _sorted(parts)

    def _constants_pca(self, code: int, beyond_node: Tensor, beyond_code: Tensor) -> tuple[Tensor, Tensor]:
        """Of the entities with an edge `code`: how many have each item, and each code to another entity."""
        has = torch.zeros(self.num_entities, dtype=torch.bool, device=self.device)
        low, high = int(self.edges.code_pointer[code]), int(self.edges.code_pointer[code + 1])
        has[self.edges.code_node[low:high]] = True
        items = self.edges.item_of_edge[has[self.node]]
        return (torch.bincount(items, minlength=len(self.edges.item_code)),
                torch.bincount(beyond_code[has[beyond_node]], minlength=self.num_codes))

    def _members(self, head: Tensor) -> tuple[Tensor, Tensor]:
        """(position in head, member) of every member of the head items."""
        count = self.edges.item_pointer[head + 1] - self.edges.item_pointer[head]
        member = self.edges.item_member[ranges(self.edges.item_pointer[head], count)]
        return torch.repeat_interleave(torch.arange(len(head), device=self.device), count), member

    def _anchored(self, q: int, head: Tensor, size: Tensor, item_pca: Tensor, min_support: int,
                  min_confidence: float) -> Tensor:
        edges, num_items = self.edges, len(self.edges.item_code)
        owner, x = self._members(head)
        edge = ranges(edges.pointer[x], self.degree[x])
        owner = torch.repeat_interleave(owner, self.degree[x])
        x = torch.repeat_interleave(x, self.degree[x])
        item, c = edges.item_of_edge[edge], edges.item_entity[head][owner]
        mirrored = (x == c) & (edges.code[edge] == (q ^ 1)) & (edges.neighbour[edge] == c)
        keep = (item != head[owner]) & ~mirrored
        key, support = torch.unique(owner[keep] * num_items + item[keep], return_counts=True)
        owner, item = key // num_items, key % num_items
        c = edges.item_entity[head][owner]
        loops = edges.item_entity[edges.item_of_edge[(edges.neighbour == self.node) & (edges.code == q)]]
        has_loop = torch.zeros(self.num_entities, dtype=torch.bool, device=self.device)
        has_loop[loops] = True
        less = (has_loop[c] & (edges.item_code[item] == (q ^ 1)) & (edges.item_entity[item] == c)).to(torch.int64)
        body = size[item] - less
        pca = (item_pca[item] if q % 2 == 0 else size[item]) - less
        return _enough(torch.stack((head[owner], item, support, body, pca)), min_support, min_confidence)

    def _half(self, q: int, head: Tensor, half_pointer: Tensor, beyond_code: Tensor, many: Tensor, half_body: Tensor,
              code_pca: Tensor, min_support: int, min_confidence: float) -> Tensor:
        owner, x = self._members(head)
        count = half_pointer[x + 1] - half_pointer[x]
        entry = ranges(half_pointer[x], count)
        owner_, x_ = torch.repeat_interleave(owner, count), torch.repeat_interleave(x, count)
        c = self.edges.item_entity[head]
        # For k = q the edge to c is the fact itself: another one is needed.
        others = many[entry] - ((beyond_code[entry] == q) & (c[owner_] != x_)).to(torch.int64)
        key, support = torch.unique((owner_ * self.num_codes + beyond_code[entry])[others > 0], return_counts=True)
        lonely = torch.zeros(len(head), dtype=torch.int64, device=self.device)
        lonely.index_add_(0, owner_, ((beyond_code[entry] == q) & (others == 0)).to(torch.int64))
        owner, k = key // self.num_codes, key % self.num_codes
        body = half_body[k] - torch.where(k == q, lonely[owner], 0)
        pca = torch.where(k == q, body, code_pca[k]) if q % 2 == 0 else body
        return _enough(torch.stack((head[owner], HALF - k, support, body, pca)), min_support, min_confidence)


def _enough(rows: Tensor, min_support: int, min_confidence: float) -> Tensor:
    return rows[:, (rows[2] >= min_support) & (rows[2] >= min_confidence * rows[3])]


def _sorted(parts: list[Tensor]) -> Anchored:
    """Rows by head; of one head the anchored by item, then the half-anchored by code."""
    rows = torch.cat(parts, dim=1) if parts else torch.zeros((5, 0), dtype=torch.int64)
    head, body = rows[0], rows[1]
    place = torch.where(body >= 0, body, 2**31 - body)
    order = torch.argsort(head * 2**33 + place)
    return Anchored(*rows[:, order].cpu().numpy().astype(np.int32))
