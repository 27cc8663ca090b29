"""Hidden: which facts a query may not see. The only place that knows how hiding works.

A query about p(x, y) does not see that fact, in whichever direction a body walks along it; a query about p(x) does not
see p(x), nor any other class of x where p is one of an exclusive group of classes.

Drivers take one value, `Hidden` for tensors and witnesses or `HiddenFact` for compiled loops, and ask the functions
below. A hidden binary fact is written as an edge: start --code--> end, where `code` is the step code of the query's
target as the query knows it (2p from x, 2p + 1 from y) and an `end` of -1 hides nothing.

`kb` is always the base of the query; `targets` are predicate ids; `x` and `y` are the entities that a query is about.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..data.arrays import Ids, Mask
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..logic.rule import Rule
from .bodies import IdLine
from .compiled import compiled, shared


@dataclass(frozen=True)
class Hidden:
    """The query's own fact, invisible while the query is evaluated: p(x, y), or p(x) and x's other classes.

    `binary` is the id of a binary target, else None; `unary` are the ids of the unary predicates hidden at x.
    """

    binary: int | None
    unary: frozenset[int]

    @classmethod
    def of(cls, kb: KnowledgeBase, rule: Rule) -> Hidden:
        """Return what a query of the head of `rule` may not see."""
        target = kb.predicate_id(rule.target)
        if rule.target.arity == 2:
            return cls(target, frozenset())
        return cls(None, hidden_classes(kb, [target]))

    @classmethod
    def of_class(cls, kb: KnowledgeBase) -> Hidden:
        """Return what a query for the class of an object of `kb` may not see: all its classes."""
        return cls(None, kb.classes)

    def own_facts(self, kb: KnowledgeBase) -> Facts:
        """Return the unary facts of `kb` that are hidden, each from the query about its entity."""
        return kb.unary[np.isin(kb.unary.predicate, sorted(self.unary))]

    def touches(self, line: IdLine) -> bool:
        """Return whether hiding can change the value of the line at all."""
        return self.binary in line.predicates or bool(self.unary & line.predicates)

    def edge(self, x: Any, y: Any, step: int, here: Any, there: Any) -> Any:
        """Return whether here --step--> there is the own fact of the query about (x, y): numbers, arrays or tensors."""
        return hides_edge(-1 if self.binary is None else 2 * self.binary, x, y, step, here, there)

    def hides_step(self, step: int) -> bool:
        """Return whether some edge of the step may be hidden."""
        return self.binary == step >> 1

    def member(self, x: Any, predicate: int, here: Any) -> Any:
        """Return whether predicate(here) is hidden from the query about x: numbers, arrays or tensors."""
        return (here == x) & (predicate in self.unary)


class HiddenFact(NamedTuple):
    """What one query may not see, as compiled loops take it: the edge start --code--> end (end = -1: none), and at
    `node` the unary predicates marked in `group`."""

    code: int
    start: int
    end: int
    node: int
    group: Mask


# edges ------------------------------------------------------------------------------------------------


@shared
def hides_edge(code: Any, start: Any, end: Any, step: Any, here: Any, there: Any) -> Any:
    """Return whether the edge here --step--> there is the hidden fact start --code--> end, walked either way.

    For numbers, inside compiled loops too, for arrays and for tensors.
    """
    forward = (step == code) & (here == start) & (there == end)
    backward = (step == (code ^ 1)) & (here == end) & (there == start)
    return forward | backward


@shared
def can_hide(code: Any, step: Any) -> Any:
    """Return whether some edge of `step` may be a fact along `code`, walked either way: numbers, arrays or tensors."""
    return (step == code) | (step == (code ^ 1))


@shared
def is_own_fact(code: Any, step: Any) -> Any:
    """Return whether the body step(X, Y) of the head code(X, Y), X and Y different, holds of each fact only by the fact
    itself: numbers, inside compiled loops too, arrays or tensors."""
    return step == code


@compiled
def hides(hidden: HiddenFact, step: int, here: int, there: int) -> bool:
    """Return whether the edge here --step--> there is hidden."""
    return hidden.end >= 0 and hides_edge(hidden.code, hidden.start, hidden.end, step, here, there)


@compiled
def hidden_neighbour(code: int, start: int, end: int, step: int, here: int) -> int:
    """Return where the hidden fact start --code--> end would lead from `here` along `step`; -1: nowhere.

    No such edge counts. For loops over the edges of one node: they compare each neighbour with one number.
    """
    if end >= 0:
        if step == code and here == start:
            return end
        if step == (code ^ 1) and here == end:
            return start
    return -1


# unary facts ------------------------------------------------------------------------------------------


def hidden_classes(kb: KnowledgeBase, targets: Iterable[int]) -> frozenset[int]:
    """Return the unary predicates that are hidden at x from a query whether x is in one of the unary `targets`."""
    own = frozenset(targets)
    return own | kb.classes if own & kb.classes else own


def hidden_mask(kb: KnowledgeBase, targets: Iterable[int]) -> Mask:
    """Return `hidden_classes` by predicate, and one entry more that is False: what `walk.reach` takes."""
    mask = np.zeros(kb.num_predicates + 1, bool)
    mask[list(hidden_classes(kb, targets))] = True
    return mask


def hides_without_fact(kb: KnowledgeBase, target: int) -> bool:
    """Return whether a query about the target hides something even where what it asks is no fact: x's other classes."""
    return target in kb.classes


def hides_membership(kb: KnowledgeBase, target: Ids, predicate: Ids) -> Mask:
    """Return whether predicate[i](x) is hidden from a query target[i](x)."""
    is_class = np.zeros(kb.num_predicates, bool)
    is_class[list(kb.classes)] = True
    return (predicate == target) | (is_class[predicate] & is_class[target])


def num_seen(count: Any, is_own: Any) -> Any:
    """Return how many facts a query sees out of `count`: arrays or tensors.

    The hidden one is among them where `is_own`.
    """
    return count - is_own


@compiled
def hides_member(hidden: HiddenFact, predicate: int, here: int) -> bool:
    """Return whether predicate(here) is hidden."""
    return hidden.group[predicate] and here == hidden.node
