"""Candidate bodies: literals are added one at a time, each body is evaluated on all queries at once.

A body is dropped if it covers no positive example, or if it has the same bindings as one before it: whatever is added
to both, they stay alike. A literal that covers no positive example, or changes nothing, is not tried again below.
A literal is added only after those before it in the order of the list, so that a set of literals is made once.
A literal that finds exactly one value for its new variables, as a size or a colour, tells nothing yet: what comes after
it uses one of them, or finds a value that some predicate relates to them.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import Longs, Mask
from ..errors import LimitError
from .base import Base, Relation, Tuples
from .bias import Bias
from .clause import AT_LEAST, AT_MOST, BUILT_IN, DIFFERENT, EQUAL, LESS, Clause, Literal, Symbol
from .joins import Bindings, begin, extend

NEW = 1_000
"""The first new variable of a literal that is not added yet; the next one is NEW + 1."""
LOCAL = -1
"""In place of the type of a variable that is closed inside a negation."""
MAX_ROWS = 100_000
"""Limit of the bindings of one body."""
MOST_CONSTANTS, MOST_THRESHOLDS = 12, 6
"""Entities and numbers that one variable is compared with: those that occur with most positive examples."""


class LanguageBias(NamedTuple):
    """What bodies may have besides atoms: `\\=` (`distinct`), `constants`, comparisons of `numbers`, `negation`."""

    distinct: bool = False
    constants: bool = False
    numbers: bool = False
    negation: bool = False


PLAIN = LanguageBias()


@dataclass(eq=False, slots=True)
class BoundBody:
    """A body with its bindings.

    `types` are those of the variables; `covered` says which queries it covers. `inherited` are the literals of the body
    before it that can still be added, and `num_old` its number of variables: literals over newer ones are made when the
    body grows, because most bodies never do. `must_use`: its last literal finds one value for each new variable.
    """

    body: tuple[Literal, ...]
    bindings: Bindings
    types: tuple[int, ...]
    covered: Mask
    inherited: list[Literal] = field(default_factory=list)
    num_old: int = 0
    must_use: bool = False

    @property
    def cost(self) -> int:
        """The sum of the costs of the literals."""
        return sum(literal.cost for literal in self.body)


class Refinement:
    """Bodies over the predicates `symbols` for `queries`, tuples of `target`.

    `positive` says which queries a useful body covers at least one of. `language` says what else bodies may have.
    `num_tried` counts the literals that were evaluated; `was_cut` tells whether a body had too many bindings.
    """

    def __init__(
        self,
        base: Base,
        target: Symbol,
        queries: Tuples,
        positive: Mask,
        symbols: Sequence[Symbol],
        bias: Bias,
        language: LanguageBias = PLAIN,
    ) -> None:
        self.base, self.target, self.queries, self.positive = base, target, queries, positive
        self.symbols, self.bias, self.language = symbols, bias, language
        self.head = Literal(target, tuple(range(target.arity)))
        self.num_tried = 0
        self.was_cut = False
        self._seen: set[int] = set()
        self._relations = {symbol: base.relation(symbol) for symbol in symbols}
        self._joined = self._joined_types()

    def root(self) -> BoundBody:
        """Return the empty body."""
        types = self.base.types[self.target]
        node = BoundBody((), begin(self.queries), types, np.ones(len(self.queries), bool))
        self._seen.add(self._mark((), node.bindings))
        return node

    def grow(self, node: BoundBody) -> Iterator[BoundBody]:
        """Yield every body with one literal more than `node` that is worth keeping."""
        if len(node.body) >= self.bias.max_body:
            return
        alive: list[tuple[int, Literal]] = []
        children: list[tuple[int, BoundBody]] = []
        tried, later = self._extensions(node)
        for i, template in enumerate(tried):
            literal = _renumbered(template, len(node.types))
            if any(a >= self.bias.max_vars for a in literal.args):
                continue
            if not self.bias.can_grow(Clause(self.head, (*node.body, literal))):
                continue
            self.num_tried += 1
            child = self._child(node, literal)
            if child is None:
                continue
            alive.append((i, template))
            if child is not node:
                children.append((i, child))
        for i, child in children:
            child.inherited = [t for j, t in alive if j > i or (j == i and _has_new(t))] + later
            child.num_old = len(node.types)
            child.must_use = _is_determinate(node, child) and not self._may_recur(child.types[len(node.types) :])
            yield child

    def _extensions(self, node: BoundBody) -> tuple[list[Literal], list[Literal]]:
        """Return the literals to add to `node`, and those that only what follows it may have."""
        fresh = range(node.num_old, len(node.types))
        new = list(self._new_literals(node, fresh))
        if not node.must_use:
            return [*node.inherited, *new], []
        types = {node.types[v] for v in fresh}
        now = [self._joins(template, types) for template in node.inherited]
        also = [template for template, is_one in zip(node.inherited, now) if is_one]
        return [*new, *also], [template for template, is_one in zip(node.inherited, now) if not is_one]

    def _may_recur(self, types: Sequence[int]) -> bool:
        """Return whether a recursive literal may use a variable of one of these `types`: it is added last."""
        return self.bias.recursion and any(kind in self.base.types[self.target] for kind in types)

    def _joins(self, template: Literal, types: set[int]) -> bool:
        """Return whether some predicate can relate a new variable of the literal to a variable of these `types`."""
        own = [] if template.negated else self.base.types.get(template.symbol, ())
        return any(a >= NEW and (kind, one) in self._joined for kind, a in zip(own, template.args) for one in types)

    def _joined_types(self) -> set[tuple[int, int]]:
        """Return the types of every two arguments of one literal, also of tests."""
        every = [self.base.types[symbol] for symbol in self.symbols if symbol in self.base.types]
        if self.language.distinct or self.language.numbers:
            every += [(kind, kind) for kinds in every for kind in kinds]
        return {(a, b) for kinds in every for i, a in enumerate(kinds) for j, b in enumerate(kinds) if i != j}

    def _child(self, node: BoundBody, literal: Literal) -> BoundBody | None:
        """Return the body with the literal; `node` if it is like one before it; None if the literal is of no use."""
        try:
            bindings = extend(node.bindings, literal, self.base, self._relation(literal.symbol), MAX_ROWS)
        except LimitError:
            self.was_cut = True
            return None
        body = (*node.body, literal)
        is_test = len(bindings.columns) == len(node.bindings.columns)
        if is_test and len(bindings) == len(node.bindings) and self._standing(body) == self._standing(node.body):
            return None
        covered = np.zeros(len(self.queries), bool)
        covered[bindings.owner] = True
        if not (covered & self.positive).any():
            return None
        mark = self._mark(body, bindings)
        if mark in self._seen:
            return node
        self._seen.add(mark)
        return BoundBody(body, bindings, self._types(node.types, literal), covered)

    def _mark(self, body: tuple[Literal, ...], bindings: Bindings) -> int:
        """Return what bodies share that stay alike, whatever is added to both."""
        if not self.bias.directions:
            return hash((self._standing(body), fingerprint(bindings, self.target.arity)))
        _, bound, stuck = self.bias.executed(Clause(self.head, body))
        waiting = tuple(sorted(f"{literal.symbol}" for literal in stuck))
        places = ",".join((*waiting, *(str(v) for v in self.head.args if v in bound)))
        tags = [v in bound for v in range(len(bindings.columns))]
        shared = fingerprint(bindings, self.target.arity, tags)
        return hash((self._standing(body), zlib.crc32(places.encode()), shared))

    def _standing(self, body: Sequence[Literal]) -> tuple[int, ...]:
        """Return which head variables an atom binds, and, with directions, how many literals wait for an input."""
        arity = self.target.arity
        atoms = (b for b in body if not b.negated and (b.symbol == EQUAL or b.symbol not in BUILT_IN))
        bound = sorted({v for literal in atoms for v in literal.variables if v < arity})
        if not self.bias.directions:
            return tuple(bound)
        _, reached, stuck = self.bias.executed(Clause(self.head, tuple(body)))
        return (*bound, -1 - len(stuck), len(reached))

    def _relation(self, symbol: Symbol) -> Relation:
        if symbol not in self._relations:
            self._relations[symbol] = self.base.relation(symbol)
        return self._relations[symbol]

    def _types(self, types: tuple[int, ...], literal: Literal) -> tuple[int, ...]:
        """Return the types of the variables after the literal is added."""
        added = list(types)
        for i, argument in enumerate(literal.args):
            if argument >= len(added):
                added.append(LOCAL if literal.negated else self.base.types[literal.symbol][i])
        return tuple(added)

    def _new_literals(self, node: BoundBody, fresh: Iterable[int]) -> Iterator[Literal]:
        """Yield the literals that use one of the variables `fresh`, with new variables as NEW, NEW + 1, ..."""
        fresh = frozenset(v for v in fresh if node.types[v] != LOCAL)
        if not fresh:
            return
        for symbol in self.symbols:
            yield from self._atoms(node, symbol, fresh, negated=False)
        pairs = [
            (a, b) for b in sorted(fresh) for a in range(b) if node.types[a] == node.types[b] and node.types[a] != LOCAL
        ]
        if self.language.distinct:
            yield from (Literal(DIFFERENT, pair) for pair in pairs)
        if self.language.numbers:
            numeric = [v for v in sorted(fresh) if self._is_numeric(node, v)]
            yield from (Literal(LESS, p) for a, b in pairs if b in numeric for p in ((a, b), (b, a)))
            yield from (literal for v in numeric for literal in self._thresholds(node, v))
        if self.language.constants:
            for v in sorted(fresh):
                yield from self._equations(node, v)
        if self.language.negation:
            for symbol in self.symbols:
                yield from self._atoms(node, symbol, fresh, negated=True)

    def _atoms(self, node: BoundBody, symbol: Symbol, fresh: frozenset[int], negated: bool) -> Iterator[Literal]:
        types = self.base.types.get(symbol)
        if types is None:
            return
        choices = [[v for v, t in enumerate(node.types) if t == of] + [NEW, *self._categories(of)] for of in types]
        for args in product(*choices):
            if not fresh.intersection(args):
                continue
            new = iter(range(NEW, NEW + symbol.arity))
            extra = sum(self._entity_cost(of) for of, a in zip(types, args) if a < 0)
            yield Literal(symbol, tuple(next(new) if a == NEW else a for a in args), negated, extra)

    def _is_numeric(self, node: BoundBody, variable: int) -> bool:
        domain = self.base.domains.get(node.types[variable])
        return domain is not None and bool(np.isfinite(self.base.numbers[domain]).all())

    def _frequent(self, node: BoundBody, variable: int, most: int) -> Longs:
        """Return the values of a variable that occur with most positive examples."""
        column = node.bindings.columns[variable]
        assert column is not None
        is_positive = self.positive[node.bindings.owner]
        pairs = np.unique(np.column_stack((column[is_positive], node.bindings.owner[is_positive])), axis=0)
        values, counts = np.unique(pairs[:, 0], return_counts=True)
        return values[np.argsort(-counts, kind="stable")[:most]]

    def _categories(self, kind: int) -> list[int]:
        """Return the entities of a type as arguments, if they are few: colours, not people."""
        domain = self.base.domains[kind]
        return (~domain).tolist() if self.language.constants and len(domain) <= MOST_CONSTANTS else []

    def _equations(self, node: BoundBody, variable: int) -> Iterator[Literal]:
        if variable >= self.target.arity and self._categories(node.types[variable]):
            return  # the entity stands in the atom in its place
        extra = self._entity_cost(node.types[variable])
        for value in self._frequent(node, variable, MOST_CONSTANTS).tolist():
            yield Literal(EQUAL, (variable, ~value), extra=extra)

    def _entity_cost(self, kind: int) -> int:
        """Return what it costs to name an entity of this type: a literal is worth about 4 bits."""
        return round(math.log2(len(self.base.domains[kind])) / 4)

    def _thresholds(self, node: BoundBody, variable: int) -> Iterator[Literal]:
        values = self._frequent(node, variable, len(self.base.names))
        numbers = np.argsort(self.base.numbers[values], kind="stable")
        places = np.unique(np.linspace(0, len(values) - 1, MOST_THRESHOLDS).astype(int))
        for value in values[numbers[places]].tolist():
            yield Literal(AT_MOST, (variable, ~value), extra=1)
            yield Literal(AT_LEAST, (variable, ~value), extra=1)


def _is_determinate(node: BoundBody, child: BoundBody) -> bool:
    """Return whether the last literal of `child` finds exactly one value for each new variable."""
    is_new = len(child.types) > len(node.types) and not child.body[-1].negated
    return is_new and np.array_equal(child.bindings.owner, node.bindings.owner)


def _has_new(template: Literal) -> bool:
    return any(a >= NEW for a in template.args)


def _renumbered(template: Literal, num_vars: int) -> Literal:
    """Return the literal with its new variables numbered from `num_vars` on."""
    if not _has_new(template):
        return template
    args = tuple(a - NEW + num_vars if a >= NEW else a for a in template.args)
    return Literal(template.symbol, args, template.negated, template.extra)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = (values ^ (values >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return values ^ (values >> np.uint64(29))


def fingerprint(bindings: Bindings, arity: int, tags: Sequence[bool] = ()) -> int:
    """Return a number that bindings share if they are the same up to the order of rows and of body variables.

    The first `arity` columns follow from the owner and are left out. `tags` tell columns apart, if given.
    """
    owner = _mixed(bindings.owner.astype(np.uint64) + np.uint64(1))
    signed = []
    for number, column in enumerate(bindings.columns[arity:], arity):
        if column is not None:
            tag = 0x51ED27 if not tags or tags[number] else 0x9D2C56
            mixed = _mixed(column.astype(np.uint64) + np.uint64(tag))
            signed.append((int(_mixed(mixed ^ owner).sum()), mixed))
    signed.sort(key=lambda pair: pair[0])
    for _, mixed in signed:
        owner = _mixed(owner * np.uint64(0xD6E8FEB86659FD93) + mixed)
    return hash((len(signed), len(owner), int(owner.sum())))
