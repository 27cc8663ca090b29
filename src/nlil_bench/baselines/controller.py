"""The controller of Neural-LP: a recurrent network that reads the query and says where to look at each step."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from nlil.neural.products import multiply_add
from nlil.neural.transformer import draw

from .chain_walks import Walks

THRESHOLD = 1e-20
"""Less than this is nothing: the floor under sums that divide and under scores in a logarithm."""
LARGEST_GRADIENT = 1e15


@dataclass(frozen=True, eq=False)
class ChainAttentions:
    """For C query codes and R chains; each distribution sums to 1 over its last dimension."""

    operators: Tensor  # a (C, R, T, O)
    memories: tuple[Tensor, ...]  # b_1 .. b_(T + 1): (C, R, t), over u_0 .. u_(t - 1)

    def precise(self) -> ChainAttentions:
        """The same for a recurrence in double precision: gradients through two sums near the threshold need it.

        What comes back is cut to a size that the controller can bear in single precision.
        """

        def widened(t: Tensor) -> Tensor:
            wide = t.double()
            if wide.requires_grad:
                wide.register_hook(lambda gradient: gradient.clamp(-LARGEST_GRADIENT, LARGEST_GRADIENT))
            return wide

        return ChainAttentions(widened(self.operators), tuple(map(widened, self.memories)))


class Controller(nn.Module):
    """h_t = LSTM(h_(t-1), query), the last input being "end";  a_t = softmax(W h_t + w);
    b_t = softmax over tau < t of h_(tau+1) . h_t: the state that is about to write cell tau + 1 speaks for cell tau.

    Each of the `rank` chains has an LSTM and a W of its own; the embeddings of the queries are shared.
    """

    def __init__(self, num_queries: int, num_operators: int, steps: int, rank: int, hidden: int, seed: int) -> None:
        super().__init__()
        self.steps, self.hidden = steps, hidden

        def parameter(name: str, *sizes: int, deviation: float = 1.0) -> nn.Parameter:
            return nn.Parameter(draw(seed, f"neural-lp.{name}", *sizes, deviation=deviation))

        glorot = math.sqrt(2 / (6 * hidden))
        self.embedding = nn.Parameter(functional.normalize(parameter("embedding", num_queries + 1, hidden).data))
        self.input = parameter("input", rank, hidden, 4 * hidden, deviation=glorot)
        self.recurrent = parameter("recurrent", rank, hidden, 4 * hidden, deviation=glorot)
        self.bias = nn.Parameter(torch.zeros(rank, 1, 4 * hidden))
        self.bias.data[:, :, hidden : 2 * hidden] = 1.0  # a forget gate that is open at first
        self.choose = parameter("choose", rank, hidden, num_operators)
        self.choose_bias = nn.Parameter(torch.zeros(rank, 1, num_operators))

    def forward(self, queries: Tensor) -> ChainAttentions:
        """`queries` (C,): positions in the vocabulary of queries."""
        states = self._states(queries)
        operators = torch.stack(
            [torch.softmax(torch.baddbmm(self.choose_bias, h, self.choose), -1) for h in states[:-1]], 2
        )
        memories = []
        for t in range(1, self.steps + 2):
            earlier = torch.stack(states[:t], 2)  # (R, C, t, hidden)
            memories.append(torch.softmax((earlier * states[t - 1][:, :, None]).sum(-1), -1).transpose(0, 1))
        return ChainAttentions(operators.transpose(0, 1), tuple(memories))

    def _states(self, queries: Tensor) -> list[Tensor]:
        """h_1 .. h_(T + 1), each (R, C, hidden)."""
        rank = len(self.input)
        query, end = self.embedding[queries], self.embedding[-1:].expand(len(queries), -1)
        read, read_end = (torch.baddbmm(self.bias, v.expand(rank, -1, -1), self.input) for v in (query, end))
        h = c = torch.zeros(rank, len(queries), self.hidden, dtype=query.dtype, device=query.device)
        states = []
        for t in range(self.steps + 1):
            gates = torch.baddbmm(read if t < self.steps else read_end, h, self.recurrent)
            write, forget, new, show = gates.chunk(4, -1)
            c = torch.sigmoid(forget) * c + torch.sigmoid(write) * torch.tanh(new)
            h = torch.sigmoid(show) * torch.tanh(c)
            states.append(h)
        return states


def chain_values(walks: Walks, attentions: ChainAttentions) -> Tensor:
    """(rows, R): u of every row, each chain by itself.

        u_t = normal( sum_k a_t^k M_k^T (sum_tau b_t^tau u_tau) ),   u = sum_tau b_(T+1)^tau u_tau

    M_k^T moves from subject to object; normal() divides by the sum over entities, as the original does.
    """
    operators = attentions.operators
    codes, rank, steps, choices = operators.shape
    cells = [walks.start.to(operators.dtype)[:, None].expand(-1, rank).contiguous()]
    one = torch.ones(1, rank, dtype=operators.dtype, device=operators.device)
    for t in range(steps):
        table = operators[:, :, t].transpose(1, 2).reshape(codes * choices, rank).contiguous()
        value = multiply_add(_read(walks, cells, attentions.memories[t]), table, walks.moves[t])
        total = multiply_add(value, one, walks.into_source)
        cells.append(multiply_add(value, 1 / total.clamp(min=THRESHOLD), walks.by_source))
    return _read(walks, cells, attentions.memories[steps])


def _read(walks: Walks, cells: list[Tensor], memory: Tensor) -> Tensor:
    """sum_tau b^tau u_tau"""
    parts = [multiply_add(cell, memory[:, :, tau].contiguous(), walks.by_code) for tau, cell in enumerate(cells)]
    return parts[0] if len(parts) == 1 else torch.stack(parts).sum(0)
