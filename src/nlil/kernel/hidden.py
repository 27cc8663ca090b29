"""Hidden: which facts a query may not see."""

from __future__ import annotations

from dataclasses import dataclass

from ..data.kb import KnowledgeBase
from ..logic.rule import Rule
from .bodies import IdLine


@dataclass(frozen=True)
class Hidden:
    """The query's own fact, invisible while the query is evaluated: p(x, y), or p(x) and x's other classes."""

    binary: int | None
    unary: frozenset[int]

    @classmethod
    def of(cls, kb: KnowledgeBase, rule: Rule) -> Hidden:
        """What a query of the rule's head may not see."""
        target = kb.predicate_id(rule.target)
        if rule.target.arity == 2:
            return cls(target, frozenset())
        return cls(None, kb.classes if target in kb.classes else frozenset([target]))

    def touches(self, line: IdLine) -> bool:
        """Whether hiding can change the value of the line at all."""
        return self.binary in line.predicates or bool(self.unary & line.predicates)
