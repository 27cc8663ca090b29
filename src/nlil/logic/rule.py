"""Rule, RuleStats, and ScoredRule, which combines them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..errors import RuleError
from .formula import Constant, Formula, Variable, X, Y, length, statements
from .predicate import Predicate

SMOOTHING = 5.0
"""Added to the body size in the smoothed confidence, so that rules with few examples count less."""


def smoothed_confidence(support: Any, body_size: Any) -> Any:
    """support / (body_size + 5): the default weight of a rule. Takes numbers or arrays.

    >>> smoothed_confidence(5, 5)
    0.5
    """
    return support / (body_size + SMOOTHING)


@dataclass(frozen=True, slots=True)
class Head:
    """p(X), p(X, Y), p(X, c) or p(c, Y): a `predicate` and its `arguments`."""

    predicate: Predicate
    arguments: tuple[Variable | Constant, ...]

    def __post_init__(self) -> None:
        allowed = "p(X)" if self.predicate.arity == 1 else "p(X, Y), p(X, c) or p(c, Y)"
        match self.arguments:
            case (Variable("X"),) if self.predicate.arity == 1:
                return
            case (Variable("X"), Variable("Y") | Constant()) if self.predicate.arity == 2:
                return
            case (Constant(), Variable("Y")) if self.predicate.arity == 2:
                return
        raise RuleError(f"the head of a rule for {self.predicate} must be {allowed}, got {self.arguments}")

    @classmethod
    def of(cls, predicate: Predicate) -> Head:
        """Return p(X) or p(X, Y), depending on the arity of `predicate`."""
        return cls(predicate, (X,) if predicate.arity == 1 else (X, Y))

    @property
    def variables(self) -> frozenset[Variable]:
        """The variables of the head: X, Y, or both."""
        return frozenset(a for a in self.arguments if isinstance(a, Variable))


@dataclass(frozen=True, slots=True)
class Rule:
    """head :- body.  With `distinct`, all variables of a statement stand for different entities.

    `distinct` makes no difference, and is stored as False, if no statement has two variables.
    """

    head: Head
    body: Formula
    distinct: bool = False
    _hash: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        wide = False
        for statement in statements(self.body):
            for anchor in (statement.start, statement.end):
                if isinstance(anchor, Variable) and anchor not in self.head.variables:
                    raise RuleError(f"{anchor.name} is used in the body but is not a variable of the head")
            wide = wide or statement.num_variables > 1
        object.__setattr__(self, "distinct", self.distinct and wide)
        object.__setattr__(self, "_hash", hash((self.head, self.body, self.distinct)))

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"<Rule: {self}>"

    def __str__(self) -> str:
        from .text import rule_text  # text.py prints rules, so it imports this module

        return rule_text(self)

    def _repr_html_(self) -> str:
        from .html import code_html

        return code_html(str(self))

    @property
    def target(self) -> Predicate:
        """The predicate of the head."""
        return self.head.predicate

    @property
    def length(self) -> int:
        """The number of body atoms."""
        return length(self.body)

    @property
    def constants(self) -> frozenset[str]:
        """The names of all entities in head and body."""
        ends = [a for s in statements(self.body) for a in (s.start, s.end)]
        return frozenset(a.name for a in (*self.head.arguments, *ends) if isinstance(a, Constant))

    @property
    def predicates(self) -> frozenset[Predicate]:
        """Predicates of the body."""
        return frozenset(step.predicate for s in statements(self.body) for step in s.steps)


@dataclass(frozen=True, slots=True)
class RuleStats:
    """Counts of a rule, with each target fact hidden while it is tested.

    support    target facts for which the body holds
    body_size  head tuples for which the body holds (with given negatives: covered positives + covered negatives)
    head_size  target facts that the head can match
    pca_body   the part of body_size whose X has some target fact; None for unary heads
    """

    support: int
    body_size: int
    head_size: int
    pca_body: int | None = None

    @property
    def confidence(self) -> float:
        """support / body size; 0 if the body never holds."""
        return self.support / self.body_size if self.body_size else 0.0

    @property
    def smoothed(self) -> float:
        """`smoothed_confidence` of the counts."""
        return float(smoothed_confidence(self.support, self.body_size))

    @property
    def head_coverage(self) -> float:
        """The share of the target facts for which the body holds."""
        return self.support / self.head_size if self.head_size else 0.0

    @property
    def pca_confidence(self) -> float | None:
        """support / pca_body; None for unary heads."""
        if self.pca_body is None:
            return None
        return self.support / self.pca_body if self.pca_body else 0.0

    def to_dict(self) -> dict[str, int | float | None]:
        """Return the counts and the derived figures, for JSON."""
        return {
            "support": self.support,
            "body_size": self.body_size,
            "head_size": self.head_size,
            "confidence": self.confidence,
            "smoothed_confidence": self.smoothed,
            "head_coverage": self.head_coverage,
            "pca_confidence": self.pca_confidence,
        }


@dataclass(frozen=True, slots=True)
class ScoredRule:
    """A `rule` with its `stats` and its `weight` in the set."""

    rule: Rule
    stats: RuleStats
    weight: float

    def __repr__(self) -> str:
        from .figures import number

        support = f"{self.stats.support:,} of {self.stats.body_size:,}"
        return f"<ScoredRule: {self.rule} weight {number(self.weight)}, right in {support}>"

    def _repr_html_(self) -> str:
        return rules_html([self])


def rules_html(scored: Iterable[ScoredRule], read: Callable[[Rule], str] = str, caption: str = "") -> str:
    """Return rules with their statistics as an HTML table.

    `scored` are the rows, in this order; `read` returns the text of a rule; `caption` is shown above unless empty.
    """
    from .html import table_html

    columns = ("rule", "weight", "confidence", "PCA", "support", "body")
    rows = [
        (read(s.rule), s.weight, s.stats.confidence, s.stats.pca_confidence, s.stats.support, s.stats.body_size)
        for s in scored
    ]
    return table_html(columns, rows, caption, code=("rule",))
