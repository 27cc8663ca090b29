"""The hierarchical Transformer that generates attentions, and stacks of generators.   [paper §5]

It sees predicates, never an entity or a query. Three stages mimic the evaluation of a rule with dummy embeddings:
operator calls, statements, formulas. Each returns scores; `space.softmax_attentions` turns them into distributions.

A stack consists of many members (a target and a restart each) that are computed, trained and stored together.
`GeneratorStack` has generators, `FreeStack` the scores themselves: the baseline that a Transformer has to match. The
restarts of a target share the weights of one Transformer and differ in its inputs: embeddings and queries. Free scores
can be added to those of a generator (`residual`), so that one choice can change without the others that share its
weights. Every parameter is drawn by its own random generator, seeded by its name, with the axis that padding may
lengthen first, so that a target starts the same whatever else is in its stack.

`dim` is the length of an embedding, `layers` and `heads` are those of each Transformer, `copies` run side by side with
separate weights; `name` is part of the seed of a parameter. In shapes, M counts members, G targets.
"""

from __future__ import annotations

import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from ..errors import ConfigError, RunError
from .space import Attentions, Masks, Shape, softmax_attentions

EXCLUDED = -1e9  # finite, so that a row without any choice is uniform instead of nan; exp of it is exactly 0
WIDENING = 1  # hidden units of a feed-forward block per input
ENCODING_DEVIATION = 0.5  # of encodings added to many embeddings: below theirs, so that they stay distinct
FREE_DEVIATION = 0.25  # of initial free scores: near-uniform attentions, different for each restart
HELD_STEPS = 32  # training steps for which a Transformer's scores are held while residual scores change
GENERATED_SHARE = 0.25  # factor of a Transformer's scores if there are residual ones
RESIDUAL = "residual."  # prefix of the names of residual scores


def member_seed(seed: int, target: int, restart: int) -> int:
    """Return the seed of a member from `seed`, target and `restart`, independent of the rest of the stack."""
    return int(np.random.SeedSequence((seed, target, restart)).generate_state(1)[0])


def draw(seed: int, name: str, *sizes: int, deviation: float = 1.0) -> Tensor:
    """Draw uniform numbers with mean 0 and this standard `deviation`, seeded by the `seed` and the name.

    `sizes` is the shape; a longer first axis only appends numbers.
    """
    source = torch.Generator().manual_seed(zlib.crc32(f"{name}:{seed}".encode()))
    return (torch.rand(sizes, generator=source) * 2 - 1) * (math.sqrt(3) * deviation)


def parameter(seeds: Sequence[int], name: str, *sizes: int, deviation: float = 1.0) -> nn.Parameter:
    """Return a parameter (M, *sizes), drawn separately for each member; `deviation` as in `draw`."""
    return nn.Parameter(torch.stack([draw(seed, name, *sizes, deviation=deviation) for seed in seeds]))


def excluding(mask: Tensor) -> Tensor:
    """Return what to add to scores so that only choices in the `mask` get attention."""
    return torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, EXCLUDED)


def normal(x: Tensor) -> Tensor:
    """Normalise the rows of `x`: layer norm. Gain and offset are left to the weights and encodings around it."""
    return functional.layer_norm(x, x.shape[-1:])


class Layer(nn.Module):
    """One layer of ATTN: x += attention(x, values); x += feed-forward(x), both of the normalised x.

    Rows of all batches are in one axis: there is one product with weights for each group, a copy of a member. Its
    contribution to x is scaled by `quiet`. With `scores_only` it computes scores only, with only the weights for these.
    """

    def __init__(
        self, seeds: Sequence[int], name: str, copies: int, dim: int, heads: int, quiet: float, scores_only: bool
    ) -> None:
        super().__init__()
        self.heads, self.scale = heads, math.sqrt(heads / dim)

        def weights(part: str, into: int, out: int, gain: float = 1.0) -> nn.Parameter:
            return parameter(seeds, f"{name}.{part}", copies, into, out, deviation=gain / math.sqrt(into))

        self.query = weights("query", dim, dim)
        if not scores_only:
            self.merge = weights("merge", dim, dim, quiet)
            self.widen = weights("widen", dim, WIDENING * dim, math.sqrt(2))
            self.narrow = weights("narrow", WIDENING * dim, dim, quiet)

    def forward(self, x: Tensor, key: Tensor, value: Tensor | None, bias: Tensor) -> tuple[Tensor, Tensor]:
        """Map `x` (g, b * q, d), key and value (g, b * v, d), bias (g, b, 1, v) to x, scores (g * b * heads, q, v)."""
        batches, heads = bias.shape[1], self.heads
        query = torch.bmm(normal(x), self.query.flatten(0, 1))
        excluded = bias.expand(-1, -1, heads, -1).reshape(-1, 1, bias.shape[-1])
        keys = split_heads(key, batches, heads).transpose(1, 2)
        # q . k / sqrt(size of a head)
        scores = torch.baddbmm(excluded, split_heads(query, batches, heads), keys, alpha=self.scale)
        if value is None:
            return x, scores
        mixed = torch.bmm(torch.softmax(scores, -1), split_heads(value, batches, heads))
        x = torch.baddbmm(x, join_heads(mixed, x, batches, heads), self.merge.flatten(0, 1))
        hidden = torch.relu(torch.bmm(normal(x), self.widen.flatten(0, 1)))
        return torch.baddbmm(x, hidden, self.narrow.flatten(0, 1)), scores


class Attention(nn.Module):
    """ATTN: Q (q, d), V (v, d) -> O (q, d), S (q, v): the output of each query and its scores.   [paper §5]

    `copies` with separate weights are computed together: the two arguments of a stage are two copies. All layers except
    the last have several heads. With `scores_only` there is no O.
    """

    def __init__(
        self, seeds: Sequence[int], name: str, copies: int, dim: int, layers: int, heads: int, scores_only: bool = False
    ) -> None:
        super().__init__()
        # The more layers there are, the less each adds to the residual stream, so that queries stay recognisable.
        quiet = 1 / math.sqrt(2 * layers)
        last = layers - 1
        self.layers = nn.ModuleList(
            Layer(seeds, f"{name}.{n}", copies, dim, 1 if n == last else heads, quiet, scores_only and n == last)
            for n in range(layers)
        )
        # One product gives the key and the value of every layer.
        self.look = parameter(
            seeds, f"{name}.look", copies, dim, (2 * layers - scores_only) * dim, deviation=1 / math.sqrt(dim)
        )

    def forward(self, queries: Tensor, values: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """queries (M, c, b, q, d), values (M, c or 1, b, v, d), bias (M, v) -> O like queries, S (M, c, b, q, v)."""
        M, copies, batches, _, dim = queries.shape
        targets = len(self.look)

        def together(x: Tensor) -> Tensor:
            """(M, c, b, ...) -> (G * c, R * b, ...): the restarts of a target are batches of one product."""
            x = x.expand(M, copies, batches, *x.shape[3:]).unflatten(0, (targets, -1)).transpose(1, 2)
            return x.flatten(2, 3).flatten(0, 1)

        def apart(x: Tensor) -> Tensor:
            """Do the inverse, for any tensor with n rows per query."""
            x = x.view(targets, copies, -1, *queries.shape[2:4], x.shape[-1])
            return x.transpose(1, 2).flatten(0, 1)

        looked = iter(torch.bmm(together(normal(values)).flatten(1, 2), self.look.flatten(0, 1)).split(dim, -1))
        excluded = together(bias[:, None, None, None])
        x = together(queries).flatten(1, 2)
        for layer in self.layers:
            x, scores = layer(x, next(looked), next(looked, None), excluded)
        return apart(x), apart(scores)


def split_heads(x: Tensor, batches: int, heads: int) -> Tensor:
    """Split (g, b * n, d) `x` of b `batches` into (g * b * heads, n, d / heads)."""
    groups, rows, dim = x.shape
    apart = x.view(groups, batches, rows // batches, heads, dim // heads)
    return apart.transpose(2, 3).reshape(-1, rows // batches, dim // heads)


def join_heads(x: Tensor, like: Tensor, batches: int, heads: int) -> Tensor:
    """Join (g * b * heads, n, d / heads) `x` to (g, b * n, d), the shape of `like`: the inverse of `split_heads`.

    There are b `batches`.
    """
    return x.view(len(like) * batches, heads, x.shape[1], x.shape[2]).transpose(1, 2).reshape(like.shape)


class Generator(nn.Module):
    """T(e_X, h*, e_X'; w): the scores of S_phi, S_psi, S_psi', S_f, S_f', s_o.

    Members (one for each seed) share no embedding: axis M always comes first, and the rest is as in the paper. Each
    group of `restarts` members shares weights. Predicates have two embeddings, as operators (O, one for each direction)
    and as statements (K).
    """

    def __init__(
        self, shape: Shape, seeds: Sequence[int], restarts: int = 1, dim: int = 32, layers: int = 3, heads: int = 4
    ) -> None:
        super().__init__()
        if dim % heads:
            raise ConfigError(
                f"generator: expected dim to be a multiple of heads, got dim {dim} and heads {heads}; "
                "change one of them",
                "heads",
            )
        self.shape = shape
        owners = seeds[::restarts]

        def embedding(name: str, *sizes: int, deviation: float = 1.0) -> nn.Parameter:
            return parameter(seeds, name, *sizes, dim, deviation=deviation)

        def linear(name: str) -> nn.Parameter:
            return parameter(owners, name, 2 * dim, dim, deviation=1 / math.sqrt(dim))

        def attention(name: str, copies: int = 1, scores_only: bool = False) -> Attention:
            return Attention(owners, name, copies, dim, layers, heads, scores_only)

        self.operators = embedding("operators", shape.operators)  # H, for the operator search
        self.predicates = embedding("predicates", shape.predicates)  # H, for the statement search
        self.target = embedding("target", 1, deviation=ENCODING_DEVIATION)  # h*
        self.alter = linear("alter")  # fc of h_hat
        self.starts = embedding("starts", shape.starts)  # e_X, e_X', one for each further start

        if shape.steps:
            self.operator_encoding = embedding("operator_encoding", 1, deviation=ENCODING_DEVIATION)  # e_phi
            self.chains = embedding("chains", shape.heads, 1)  # distinguishes the V_hat of the heads
            self.operator_queries = embedding("operator_queries", shape.heads, shape.steps)  # q_phi^(h, t)
            self.call = attention("call")
            self.select = attention("select")

        self.instances = embedding("instances", shape.instances, 1)
        self.argument_encodings = embedding("argument_encodings", 2, 1, deviation=ENCODING_DEVIATION)  # e_psi, e_psi'
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
        """Return the scores of every choice; `masks` only restrict what the stages aggregate."""
        both = torch.cat([self.operators, self.predicates], 1)
        altered = linear(torch.cat([both, self.target.expand_as(both)], -1), self.alter)  # h_hat = fc(concat(h_k, h*))
        as_operators, as_statements = altered.split([self.shape.operators, self.shape.predicates], 1)

        starts = excluding(masks.arguments[:, :, 0])
        s_phi, paths = self._search_operators(as_operators, excluding(masks.operators), starts)
        s_psi, formulas = self._search_statements(as_statements, paths, excluding(masks.arguments.flatten(1)))
        s_f, s_o = self._search_formulas(formulas, excluding(masks.statements))
        first, second = (tuple(level[:, side] for level in s_f) for side in (0, 1))
        return Attentions(s_phi, s_psi[:, 0], s_psi[:, 1], first, second, s_o)

    def _search_operators(self, altered: Tensor, operators: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """S_phi (M, H, T, O), and V_phi (M, T * H, d) in the order of the slots.

        V_hat^(t) = ATTN(H_hat + e_phi, V_hat^(t-1)): the result of calling each operator;
        v^(t), s^(t) = ATTN(q^(t), V_hat^(t)): the chosen call.
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
        # Choices are independent, so all heads and steps are computed at once.
        chosen, scores = self.select(
            self.operator_queries.view(M, 1, H * T, 1, dim), torch.stack(called, 3).flatten(2, 3), operators
        )
        return scores.view(M, H, T, -1), chosen.view(M, H, T, dim).transpose(1, 2).flatten(1, 2)

    def _search_statements(self, altered: Tensor, paths: Tensor, arguments: Tensor) -> tuple[Tensor, Tensor]:
        """Return S_psi and S_psi' (M, 2, I * K, N, P), and V_psi (M, I * K, d).

        Both arguments attend to every start, itself (slot 0) and at the end of every path.
        """
        bare = self.starts[:, :, None]
        tokens = torch.cat([bare, bare + paths[:, None]], 2)
        statements = (altered[:, None] + self.instances).flatten(1, 2)
        queries = statements[:, None] + self.argument_encodings
        values, scores = self.argue(queries[:, :, None], tokens.flatten(1, 2)[:, None, None], arguments)
        return scores.view(*queries.shape[:3], *tokens.shape[1:3]), linear(concat(values), self.state)

    def _search_formulas(self, formulas: Tensor, statements: Tensor) -> tuple[list[Tensor], Tensor]:
        """Return S_f and S_f' of each level (M, 2, C_l, 2 * C_(l-1)), and s_o over both signs of all levels."""
        levels, biases, scores = [self._signed(formulas)], [torch.cat([statements, statements], 1)], []
        for level, width in enumerate(self.shape.widths):
            queries = self.formula_queries[level][:, :, None]
            values, found = self.combine(queries, levels[-1], biases[-1])
            scores.append(found[:, :, 0])
            levels.append(self._signed(linear(concat(values), self.conclude)))
            biases.append(statements.new_zeros(len(statements), 2 * width))
        _, output = self.choose(self.output_query, torch.cat(levels, 3), torch.cat(biases, 1))
        return scores, output.flatten(1)

    def _signed(self, formulas: Tensor) -> Tensor:
        """Return [V + e_+, V + e_neg] as the values of an ATTN: (M, 1, 1, 2 * C, d)."""
        return (formulas[:, None] + self.signs).flatten(1, 2)[:, None, None]


def linear(x: Tensor, weights: Tensor) -> Tensor:
    """Return (M, n, d'): each row of `x` (M, n, d) times the `weights` (G, d, d') of its target."""
    return torch.bmm(x.reshape(len(weights), -1, x.shape[-1]), weights).view(*x.shape[:2], -1)


def concat(pair: Tensor) -> Tensor:
    """Return concat(V, V') of a `pair`: (M, 2, 1, n, d) -> (M, n, 2 * d)."""
    return torch.cat([pair[:, 0, 0], pair[:, 1, 0]], -1)


class Stack(ABC):
    """Named parameters `values` (M, ...), one row for each member, on the device of the masks."""

    def __init__(self, masks: Masks, shape: Shape, values: Mapping[str, Tensor]) -> None:
        self.masks, self.shape = masks, shape
        self.held_steps = 1  # steps of training between two calls of `pass_back`
        self.prior: Tensor | None = None  # (M, 1, 1, O), added to the operators' scores: a warm start
        self.device = masks.operators.device
        self.deep_score = 0.0  # added to the output's scores of the last level
        self._named = {
            name: value.detach().to(self.device).contiguous().requires_grad_() for name, value in values.items()
        }

    def __len__(self) -> int:
        return len(self.masks.operators)

    def parameters(self) -> list[Tensor]:
        """Return all parameters, in the given order of names."""
        return list(self._named.values())

    @abstractmethod
    def rates(self, rate: float, score_rate: float) -> list[dict[str, Any]]:
        """Return all parameters with their learning rates, in the form that an optimiser takes.

        Args:
            rate: the learning rate of the weights of a Transformer.
            score_rate: the learning rate of scores that are parameters.
        """

    @abstractmethod
    def logits(self) -> Attentions:
        """Return the scores of every choice, before the softmax; those that masks exclude are undefined."""

    def held_logits(self) -> Attentions:
        """Return the same scores; they may be held until `pass_back`, and accumulate gradients meanwhile."""
        return self.logits()

    @abstractmethod
    def pass_back(self) -> None:
        """Propagate the gradients accumulated by held scores to the parameters that they come from."""

    def gathered(self) -> dict[str, Tensor]:
        """Return the gradients of held scores that are still to be passed back, by name."""
        return {}

    @abstractmethod
    def gather(self, gradients: Mapping[str, Tensor]) -> None:
        """Restore the `gradients` of `gathered`."""

    def attentions(self, temperature: float = 1.0, held: bool = False) -> Attentions:
        """Return the distributions of every member: softmax of scores / `temperature`; `held` scores may be used."""
        logits = self.held_logits() if held else self.logits()
        if self.deep_score:
            deep = logits.output.new_zeros(self.shape.outputs)
            deep[-2 * self.shape.levels[-1] :] = self.deep_score
            logits = replace(logits, output=logits.output + deep)
        if self.prior is not None:
            logits = replace(logits, operators=logits.operators + self.prior)
        return softmax_attentions(logits, self.masks, self.shape, temperature)

    def state(self) -> dict[str, Tensor]:
        """Return a copy of the parameters, for a file."""
        return {name: value.detach().clone() for name, value in self._named.items()}

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Restore a `state` in place, so that an optimiser keeps its references to the parameters."""
        wanted = {name: tuple(value.shape) for name, value in self._named.items()}
        given = {name: tuple(value.shape) for name, value in state.items()}
        for name in sorted(wanted.keys() | given.keys()):
            if wanted.get(name) != given.get(name):
                raise RunError(
                    f"state of a stack: expected {name!r} of shape {wanted.get(name, 'none')}, "
                    f"got {given.get(name, 'none')}; use the settings that the state was saved with"
                )
        with torch.no_grad():
            for name, value in self._named.items():
                value.copy_(state[name])


class GeneratorStack(Stack):
    """Generators of one shape, computed in one pass; the `restarts` of a target share weights.

    With `residual`, free scores are added to theirs. Generated scores are then held until `pass_back`; meanwhile only
    the residual ones change.
    """

    def __init__(
        self,
        masks: Masks,
        shape: Shape,
        seeds: Sequence[int],
        restarts: int,
        dim: int,
        layers: int,
        heads: int,
        residual: bool = False,
    ) -> None:
        generator = Generator(shape, seeds, restarts, dim, layers, heads)
        values: dict[str, Tensor] = dict(generator.named_parameters())
        if residual:
            values |= {RESIDUAL + name: t for name, t in stacked_scores(shape, seeds).items()}
        super().__init__(masks, shape, values)
        self.held_steps = HELD_STEPS if residual else 1
        self._made: Attentions | None = None  # the generated scores
        self._held: Attentions | None = None  # the same values, as leaves that accumulate gradients
        self._generator = generator.to("meta")  # parameters are passed to it; it only defines the computation

    def _split(self) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Return the weights of the generators, and the residual scores by the names of `Attentions.tensors`."""
        added = {name.removeprefix(RESIDUAL): t for name, t in self._named.items() if name.startswith(RESIDUAL)}
        return {name: t for name, t in self._named.items() if not name.startswith(RESIDUAL)}, added

    def rates(self, rate: float, score_rate: float) -> list[dict[str, Any]]:
        groups = zip(self._split(), (rate, score_rate))
        return [{"params": list(named.values()), "lr": lr} for named, lr in groups if named]

    def logits(self) -> Attentions:
        if self._held is not None and not torch.is_grad_enabled():
            return self._with_residual(self._held)  # still current: weights change only in `pass_back`
        return self._with_residual(self._generate())

    def held_logits(self) -> Attentions:
        if self._held is None:
            self._made = self._generate()
            self._held = self._made.map(lambda t: t.detach().requires_grad_())
        return self._with_residual(self._held)

    def _generate(self) -> Attentions:
        weights, _ = self._split()
        generated: Attentions = functional_call(self._generator, weights, self.masks)
        return generated

    def _with_residual(self, generated: Attentions) -> Attentions:
        _, added = self._split()
        if not added:
            return generated
        return Attentions.of_tensors({n: GENERATED_SHARE * t + added[n] for n, t in generated.tensors().items()})

    def pass_back(self) -> None:
        known = self.gathered()
        if self._made is not None and known:
            made = self._made.tensors()
            torch.autograd.backward([made[name] for name in known], list(known.values()))
        self._made = self._held = None

    def gathered(self) -> dict[str, Tensor]:
        held = {} if self._held is None else self._held.tensors()
        return {name: t.grad for name, t in held.items() if t.grad is not None}

    def gather(self, gradients: Mapping[str, Tensor]) -> None:
        self.held_logits()
        for name, t in self._held.tensors().items() if self._held is not None else ():
            t.grad = gradients[name].to(self.device) if name in gradients else None

    def load(self, state: Mapping[str, Tensor]) -> None:
        super().load(state)
        self._made = self._held = None


class FreeStack(Stack):
    """Scores that are parameters themselves: no choice depends on another."""

    def __init__(self, masks: Masks, shape: Shape, seeds: Sequence[int]) -> None:
        super().__init__(masks, shape, stacked_scores(shape, seeds))

    def rates(self, rate: float, score_rate: float) -> list[dict[str, Any]]:
        return [{"params": self.parameters(), "lr": score_rate}]

    def logits(self) -> Attentions:
        return Attentions.of_tensors(self._named)

    def pass_back(self) -> None:
        """Nothing is held."""

    def gather(self, gradients: Mapping[str, Tensor]) -> None:
        """Nothing is held, so `gradients` is empty."""


def stacked_scores(shape: Shape, seeds: Sequence[int]) -> dict[str, Tensor]:
    """Draw random scores of all members, one for each of `seeds`, by the names of `Attentions.tensors`."""
    members = [free_scores(shape, seed) for seed in seeds]
    return {name: torch.stack([member[name] for member in members]) for name in members[0]}


def free_scores(shape: Shape, seed: int) -> dict[str, Tensor]:
    """Draw random scores of one member by its `seed`, by the names of `Attentions.tensors`.

    The axis that padding lengthens is drawn first.
    """

    def scores(name: str, *sizes: int) -> Tensor:
        return draw(seed, name, *sizes, deviation=FREE_DEVIATION)

    def argument(name: str) -> Tensor:
        rows = [scores(f"{name}.{k}", shape.starts, shape.instances, shape.slots) for k in range(shape.predicates)]
        return torch.stack(rows).permute(2, 0, 1, 3).flatten(0, 1)

    def over_statements(name: str, rows: int) -> Tensor:
        return scores(name, shape.predicates, 2, shape.instances, rows).permute(3, 1, 2, 0).flatten(1)

    named = {
        "operators": scores("operators", shape.operators, shape.heads, shape.steps).permute(1, 2, 0),
        "left": argument("left"),
        "right": argument("right"),
    }
    for level, width in enumerate(shape.widths, start=1):
        for side in ("first", "second"):
            name = f"{side}.{level}"
            below = 2 * shape.levels[level - 1]
            named[name] = over_statements(name, width) if level == 1 else scores(name, width, below)
    formulas = scores("output.formulas", 2 * sum(shape.widths))
    named["output"] = torch.cat([over_statements("output", 1).flatten(), formulas])
    return named


def make_stack(
    kind: str,
    masks: Masks,
    shape: Shape,
    seeds: Sequence[int],
    restarts: int = 1,
    dim: int = 32,
    layers: int = 3,
    heads: int = 4,
    residual: bool = False,
) -> Stack:
    """Return a stack on the device of the masks, with one member for each of their rows.

    Args:
        kind: transformer or free.
        masks: which choices exist.
        shape: the sizes of the attentions.
        seeds: one for each member.
        restarts: the number of members per target.
        dim: the dimension of every ATTN of a Transformer.
        layers: its number of layers.
        heads: its number of heads.
        residual: whether free scores are added to those of a Transformer.
    """
    if len(seeds) != len(masks.operators):
        raise ConfigError(
            f"stack: expected a seed for each of {len(masks.operators)} members, got {len(seeds)}; "
            "give every target and restart one",
            "seeds",
        )
    match kind:
        case "transformer":
            return GeneratorStack(masks, shape, seeds, restarts, dim, layers, heads, residual)
        case "free":
            return FreeStack(masks, shape, seeds)
    raise ConfigError(f"stack: expected the kind 'transformer' or 'free', got {kind!r}; name one of them", "kind")
