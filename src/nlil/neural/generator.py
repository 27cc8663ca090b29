"""The hierarchical Transformer that generates attentions: it sees predicates, never an entity or a query.   [paper §5]

Three stages mimic the evaluation of a rule with dummy embeddings: operator calls, statements, formulas. Each
returns scores; `attention.softmax_attentions` makes distributions of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..errors import ConfigError
from .attention import Attentions, Masks
from .space import Shape
from .transformer import Attention, excluding, parameter

ENCODING = 0.5  # deviation of what is added to many embeddings alike: below theirs, so that they stay distinct


class Generator(nn.Module):
    """T(e_X, h*, e_X'; w): the scores of S_phi, S_psi, S_psi', S_f, S_f', s_o.

    Members (one for each seed) share no weights: axis M leads everywhere and the rest reads as the paper.
    Predicates have two embeddings, as operators (O, one for each direction) and as statements (K).
    """

    def __init__(self, shape: Shape, seeds: Sequence[int], dim: int = 32, layers: int = 3, heads: int = 4) -> None:
        super().__init__()
        if dim % heads:
            raise ConfigError(
                f"generator: expected dim to be a multiple of heads, got dim {dim} and heads {heads}; "
                "change one of them",
                "heads",
            )
        self.shape = shape

        def embedding(name: str, *sizes: int, deviation: float = 1.0) -> nn.Parameter:
            return parameter(seeds, name, *sizes, dim, deviation=deviation)

        def linear(name: str) -> nn.Parameter:
            return parameter(seeds, name, 2 * dim, dim, deviation=1 / math.sqrt(dim))

        def attention(name: str, copies: int = 1, scores_only: bool = False) -> Attention:
            return Attention(seeds, name, copies, dim, layers, heads, scores_only)

        self.operators = embedding("operators", shape.operators)  # H, for the operator search
        self.predicates = embedding("predicates", shape.predicates)  # H, for the statement search
        self.target = embedding("target", 1, deviation=ENCODING)  # h*
        self.alter = linear("alter")  # fc of h_hat
        self.starts = embedding("starts", shape.starts)  # e_X, e_X', one for each further start

        if shape.steps:
            self.operator_encoding = embedding("operator_encoding", 1, deviation=ENCODING)  # e_phi
            self.chains = embedding("chains", shape.heads, 1)  # what tells the V_hat of the heads apart
            self.operator_queries = embedding("operator_queries", shape.heads, shape.steps)  # q_phi^(h, t)
            self.call = attention("call")
            self.select = attention("select")

        self.instances = embedding("instances", shape.instances, 1)
        self.argument_encodings = embedding("argument_encodings", 2, 1, deviation=ENCODING)  # e_psi, e_psi'
        self.argue = attention("argue", copies=2)
        self.state = linear("state")  # fc of V_psi

        self.signs = embedding("signs", 2, 1)  # e_+, e_neg
        if shape.widths:
            self.formula_queries = nn.ParameterList(  # Q_f,l and Q'_f,l
                embedding(f"formula_queries.{level}", 2, width) for level, width in enumerate(shape.widths, start=1)
            )
            self.combine = attention("combine", copies=2)
            self.conclude = linear("conclude")  # fc of V_f,l
        self.output_query = embedding("output_query", 1, 1, 1)  # q_o
        self.choose = attention("choose", scores_only=True)

    def forward(self, masks: Masks) -> Attentions:
        """Scores of every choice; the masks only say what the stages may aggregate."""
        both = torch.cat([self.operators, self.predicates], 1)
        altered = torch.cat([both, self.target.expand_as(both)], -1) @ self.alter  # h_hat = fc(concat(h_k, h*))
        as_operators, as_statements = altered.split([self.shape.operators, self.shape.predicates], 1)

        starts = excluding(masks.arguments[:, :, 0])
        s_phi, paths = self._search_operators(as_operators, excluding(masks.operators), starts)
        s_psi, formulas = self._search_statements(as_statements, paths, excluding(masks.arguments.flatten(1)))
        s_f, s_o = self._search_formulas(formulas, excluding(masks.statements))
        first, second = (tuple(level[:, side] for level in s_f) for side in (0, 1))
        return Attentions(s_phi, s_psi[:, 0], s_psi[:, 1], first, second, s_o)

    def _search_operators(self, altered: Tensor, operators: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """S_phi (M, H, T, O), and V_phi (M, T * H, d) in the order of the slots.

        V_hat^(t) = ATTN(H_hat + e_phi, V_hat^(t-1)): what calling each operator gives;
        v^(t), s^(t) = ATTN(q^(t), V_hat^(t)): the call that is chosen.
        """
        M, _, dim = altered.shape
        H, T = self.shape.heads, self.shape.steps
        if not T:
            return altered.new_zeros(M, H, 0, self.shape.operators), altered.new_zeros(M, 0, dim)
        queries = (altered + self.operator_encoding)[:, None, None].expand(-1, 1, H, -1, -1)
        values, bias, called = (self.starts[:, None] + self.chains)[:, None], starts, []
        for _ in range(T):
            values, _ = self.call(queries, values, bias)
            bias = operators
            called.append(values)
        # No choice depends on another, so that all heads and steps choose at once.
        chosen, scores = self.select(
            self.operator_queries.view(M, 1, H * T, 1, dim), torch.stack(called, 3).flatten(2, 3), operators
        )
        return scores.view(M, H, T, -1), chosen.view(M, H, T, dim).transpose(1, 2).flatten(1, 2)

    def _search_statements(self, altered: Tensor, paths: Tensor, arguments: Tensor) -> tuple[Tensor, Tensor]:
        """S_psi and S_psi' (M, 2, I * K, N, P), and V_psi (M, I * K, d).

        Both arguments attend to every start, bare (slot 0) and at the end of every path.
        """
        bare = self.starts[:, :, None]
        tokens = torch.cat([bare, bare + paths[:, None]], 2)
        statements = (altered[:, None] + self.instances).flatten(1, 2)
        queries = statements[:, None] + self.argument_encodings
        values, scores = self.argue(queries[:, :, None], tokens.flatten(1, 2)[:, None, None], arguments)
        return scores.view(*queries.shape[:3], *tokens.shape[1:3]), joined(values) @ self.state

    def _search_formulas(self, formulas: Tensor, statements: Tensor) -> tuple[list[Tensor], Tensor]:
        """S_f and S_f' of each level (M, 2, C_l, 2 * C_(l-1)), and s_o over both signs of all levels."""
        levels, biases, scores = [self._signed(formulas)], [torch.cat([statements, statements], 1)], []
        for level, width in enumerate(self.shape.widths):
            queries = self.formula_queries[level][:, :, None]
            values, found = self.combine(queries, levels[-1], biases[-1])
            scores.append(found[:, :, 0])
            levels.append(self._signed(joined(values) @ self.conclude))
            biases.append(statements.new_zeros(len(statements), 2 * width))
        _, output = self.choose(self.output_query, torch.cat(levels, 3), torch.cat(biases, 1))
        return scores, output.flatten(1)

    def _signed(self, formulas: Tensor) -> Tensor:
        """[V + e_+, V + e_neg], as the values of an ATTN: (M, 1, 1, 2 * C, d)"""
        return (formulas[:, None] + self.signs).flatten(1, 2)[:, None, None]


def joined(pair: Tensor) -> Tensor:
    """concat(V, V'): (M, 2, 1, n, d) -> (M, n, 2 * d)"""
    return torch.cat([pair[:, 0, 0], pair[:, 1, 0]], -1)
