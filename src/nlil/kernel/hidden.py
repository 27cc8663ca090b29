"""Hidden: which facts a query may not see. Only this file knows how hiding works.

A query about p(x, y) does not see that fact, in either direction. A query about p(x) does not see p(x); if p is a
class, it does not see any class of x.

Drivers take a `Hidden` (tensors and witnesses) or a `HiddenFact` (compiled loops) and call the functions below. A
hidden binary fact is an edge start --code--> end, where `code` is the step code of the target as seen from the query
(2p from x, 2p + 1 from y); an `end` of -1 hides nothing.

`kb` is always the base of the query; `targets` are predicate ids; `x` and `y` are the entities of the query.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..data.arrays import Mask
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..logic.rule import Rule
from .bodies import Line
from .compiled import compiled, shared


@dataclass(frozen=True)
class Hidden:
    """The query's own fact, hidden while the query is evaluated: p(x, y), or p(x) and the other classes of x.

    `binary` is the id of a binary target, else None; `unary` are the ids of the unary predicates hidden at x.
    """

    binary: int | None
    unary: frozenset[int]

    @classmethod
    def of(cls, kb: KnowledgeBase, rule: Rule) -> Hidden:
        """Return what queries of the head of `rule` may not see."""
        target = kb.predicate_id(rule.target)
        if rule.target.arity == 2:
            return cls(target, frozenset())
        return cls(None, hidden_classes(kb, [target]))

    @classmethod
    def of_class(cls, kb: KnowledgeBase) -> Hidden:
        """Return what queries for the class of an object of `kb` may not see: all its classes."""
        return cls(None, kb.classes)

    def own_facts(self, kb: KnowledgeBase) -> Facts:
        """Return the unary facts of `kb` that are hidden from the queries about their entities."""
        return kb.unary[np.isin(kb.unary.predicate, sorted(self.unary))]

    def touches(self, line: Line) -> bool:
        """Return whether hiding can change the value of `line`."""
        return self.binary in line.predicates or bool(self.unary & line.predicates)

    def edge(self, x: Any, y: Any, step: int, here: Any, there: Any) -> Any:
        """Return whether here --step--> there is the query's own fact, for numbers, arrays or tensors."""
        return hides_edge(-1 if self.binary is None else 2 * self.binary, x, y, step, here, there)

    def hides_step(self, step: int) -> bool:
        """Return whether an edge along `step` may be hidden."""
        return self.binary == step >> 1

    def member(self, x: Any, predicate: int, here: Any) -> Any:
        """Return whether predicate(here) is hidden from the query about x, for numbers, arrays or tensors."""
        return (here == x) & (predicate in self.unary)


class HiddenFact(NamedTuple):
    """What one query may not see, for compiled loops: the edge start --code--> end (end = -1: none), and the unary
    predicates marked in `group` at `node`.

    The query itself is at the entity `start`, and asks along `code`. With a `node` of -1 no unary fact is hidden and
    the group is never looked at, so that any mask will do, such as `graph.is_unary`.
    """

    code: int
    start: int
    end: int
    node: int
    group: Mask


# edges ------------------------------------------------------------------------------------------------


@shared
def hides_edge(code: Any, start: Any, end: Any, step: Any, here: Any, there: Any) -> Any:
    """Return whether the edge here --step--> there is the hidden fact start --code--> end, in either direction.

    Takes numbers (also in compiled loops), arrays or tensors.
    """
    forward = (step == code) & (here == start) & (there == end)
    backward = (step == (code ^ 1)) & (here == end) & (there == start)
    return forward | backward


@shared
def can_hide(code: Any, step: Any) -> Any:
    """Return whether an edge along `step` may be a fact of `code`, in either direction: numbers, arrays or tensors."""
    return (step == code) | (step == (code ^ 1))


@shared
def is_own_fact(code: Any, step: Any) -> Any:
    """Return whether the body step(X, Y) of the head code(X, Y) holds only through the fact itself, if X and Y differ.

    Takes numbers (also in compiled loops), arrays or tensors.
    """
    return step == code


@compiled
def hides(hidden: HiddenFact, step: int, here: int, there: int) -> bool:
    """Return whether the edge here --step--> there is hidden."""
    return hidden.end >= 0 and hides_edge(hidden.code, hidden.start, hidden.end, step, here, there)


@compiled
def hidden_neighbour(hidden: HiddenFact, step: int, here: int) -> int:
    """Return the entity that the `hidden` edge leads to from `here` along `step`, or -1.

    Loops over the edges of one node compare each neighbour with this number.
    """
    if hidden.end >= 0:
        if step == hidden.code and here == hidden.start:
            return hidden.end
        if step == (hidden.code ^ 1) and here == hidden.end:
            return hidden.start
    return -1


# unary facts ------------------------------------------------------------------------------------------


def hidden_classes(kb: KnowledgeBase, targets: Iterable[int]) -> frozenset[int]:
    """Return the unary predicates that are hidden at x from queries about the unary `targets`."""
    own = frozenset(targets)
    return own | kb.classes if own & kb.classes else own


def hidden_mask(kb: KnowledgeBase, targets: Iterable[int]) -> Mask:
    """Return `hidden_classes` as a mask by predicate, plus one False entry, as `walk.reach` expects it."""
    mask = np.zeros(kb.num_predicates + 1, bool)
    mask[list(hidden_classes(kb, targets))] = True
    return mask


def hides_without_fact(kb: KnowledgeBase, target: int) -> bool:
    """Return whether a query about `target` hides something even if it is about no fact: the other classes of x."""
    return target in kb.classes


def class_mask(kb: KnowledgeBase) -> Mask:
    """Return which predicates of `kb` are classes, by id."""
    mask = np.zeros(kb.num_predicates, bool)
    mask[list(kb.classes)] = True
    return mask


def hides_membership(is_class: Any, target: Any, predicate: Any) -> Any:
    """Return whether predicate[i](x) is hidden from a query target[i](x), for arrays or tensors.

    `is_class` is `class_mask`.
    """
    return (predicate == target) | (is_class[predicate] & is_class[target])


def num_seen(count: Any, is_own: Any) -> Any:
    """Return the number of facts out of `count` that a query sees: one fewer if `is_own`. Arrays or tensors."""
    return count - is_own


@compiled
def hides_member(hidden: HiddenFact, predicate: int, here: int) -> bool:
    """Return whether predicate(here) is hidden."""
    return here == hidden.node and hidden.group[predicate]
