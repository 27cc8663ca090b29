"""Labels for people in place of names of the data; a name without a label is shown as in a rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..data.kb import KnowledgeBase
from ..logic.formula import Formula
from ..logic.predicate import Fact
from ..logic.query import Query
from ..logic.rule import Rule
from ..logic.text import atom_text, formula_text, readable_text


@dataclass(frozen=True, eq=False)
class Labels:
    entities: Mapping[str, str] = field(default_factory=dict)
    predicates: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, kb: KnowledgeBase) -> Labels:
        return cls(kb.entity_labels, kb.predicate_labels)

    def entity(self, name: str) -> str:
        return self.entities[name] if name in self.entities else atom_text(name)

    def predicate(self, name: str) -> str:
        return self.predicates[name] if name in self.predicates else atom_text(name)

    def fact(self, fact: Fact) -> str:
        return f"{self.predicate(fact.predicate.name)}({', '.join(map(self.entity, fact.arguments))})"

    def query(self, query: Query) -> str:
        arguments = ", ".join("?" if name is None else self.entity(name) for name in query.arguments)
        return f"{self.predicate(query.predicate)}({arguments})"

    def rule(self, rule: Rule) -> str:
        return readable_text(rule, self.entity, self.predicate)

    def formula(self, formula: Formula, distinct: bool) -> str:
        return formula_text(formula, distinct, self.entity, self.predicate)
