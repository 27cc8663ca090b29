"""Hidden: which facts a query may not see. The only place that knows how hiding works.

A query about p(x, y) does not see that fact, in whichever direction a body walks along it; a query about p(x) does not
see p(x), nor any other class of x where p is one of an exclusive group of classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..logic.rule import Rule
from .bodies import IdLine
from .compiled import shared


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

    @classmethod
    def of_class(cls, kb: KnowledgeBase) -> Hidden:
        """What a query for the class of an object may not see: all its classes."""
        return cls(None, kb.classes)

    def own_facts(self, kb: KnowledgeBase) -> Facts:
        """The unary facts of `kb` that are hidden, each from the query about its entity."""
        return kb.unary[np.isin(kb.unary.predicate, sorted(self.unary))]

    def touches(self, line: IdLine) -> bool:
        """Whether hiding can change the value of the line at all."""
        return self.binary in line.predicates or bool(self.unary & line.predicates)


@shared
def hides_edge(code: Any, start: Any, end: Any, step: Any, here: Any, there: Any) -> Any:
    """Whether the edge here --step--> there is the hidden fact start --code--> end, walked either way.

    An `end` of -1 hides nothing. For numbers, inside compiled loops too, for arrays and for tensors.
    """
    forward = (step == code) & (here == start) & (there == end)
    backward = (step == (code ^ 1)) & (here == end) & (there == start)
    return forward | backward
