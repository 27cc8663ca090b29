"""A statement's line with ids in place of names: what the engine walks.

Anchors become integers: an entity id for a constant, or one of X_NODE, Y_NODE, FREE.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..data.kb import KnowledgeBase
from ..errors import RuleError
from ..logic.formula import Anchor, Constant, Statement, Variable
from ..logic.rule import Rule

X_NODE, Y_NODE, FREE = -1, -2, -3


def anchor_id(kb: KnowledgeBase, anchor: Anchor) -> int:
    match anchor:
        case Variable("X"):
            return X_NODE
        case Variable():
            return Y_NODE
        case Constant(name):
            return kb.entities.id(name)
        case _:
            return FREE


@dataclass(frozen=True)
class IdLine:
    """start --codes[0]-- node 1 -- ... ; `filters[i]` are unary predicate ids; `equal` as in Line."""

    anchors: tuple[int, ...]
    filters: tuple[tuple[int, ...], ...]
    codes: tuple[int, ...]
    equal: int | None

    @classmethod
    def of(cls, kb: KnowledgeBase, statement: Statement) -> IdLine:
        line = statement.line
        return cls(
            tuple(anchor_id(kb, a) for a in line.anchors),
            tuple(tuple(kb.predicate_id(p) for p in run) for run in line.filters),
            tuple(kb.code(step) for step in line.moves),
            None if line.equal is None else anchor_id(kb, line.equal),
        )

    def reversed(self) -> IdLine:
        """The same line read from its far end: codes 2p and 2p + 1 change places."""
        codes = tuple(code ^ 1 for code in reversed(self.codes))
        return IdLine(self.anchors[::-1], self.filters[::-1], codes, self.equal)

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """The anchors that can be named: both ends, or the node and its equation."""
        return (self.anchors[0], self.anchors[-1]) if self.equal is None else (self.anchors[0], self.equal)

    @property
    def uses_x(self) -> bool:
        return X_NODE in self.ends

    @property
    def uses_y(self) -> bool:
        return Y_NODE in self.ends

    @cached_property
    def predicates(self) -> frozenset[int]:
        return frozenset(code >> 1 for code in self.codes) | {p for run in self.filters for p in run}


@dataclass(frozen=True)
class Hidden:
    """The query's own fact, invisible while the query is evaluated: p(x, y), or p(x) and x's other classes."""

    binary: int | None
    unary: frozenset[int]

    @classmethod
    def of(cls, kb: KnowledgeBase, rule: Rule) -> Hidden:
        target = kb.predicate_id(rule.target)
        if rule.target.arity == 2:
            return cls(target, frozenset())
        return cls(None, kb.classes if target in kb.classes else frozenset([target]))

    def touches(self, line: IdLine) -> bool:
        """Whether hiding can change the value of the line at all."""
        return self.binary in line.predicates or bool(self.unary & line.predicates)


@dataclass(frozen=True)
class IdHead:
    """p(X), p(X, Y), p(X, c), p(c, Y): `subject` and `object` are X_NODE, Y_NODE or an entity id."""

    subject: int
    object: int | None

    @classmethod
    def of(cls, kb: KnowledgeBase, rule: Rule) -> IdHead:
        ids = [anchor_id(kb, a) for a in rule.head.arguments]
        return cls(ids[0], ids[1] if len(ids) == 2 else None)

    @property
    def is_open(self) -> bool:
        """Both sides vary: p(X, Y)."""
        return self.subject == X_NODE and self.object == Y_NODE


def check_arity(rule: Rule, has_object: bool) -> None:
    """Unary heads are asked about x alone, binary heads about x and y."""
    if has_object != (rule.target.arity == 2):
        wanted, got = ("x alone", "x and y") if has_object else ("x and y", "x alone")
        raise RuleError(f"{rule.target}: a query of this head is {wanted}, got {got}")
