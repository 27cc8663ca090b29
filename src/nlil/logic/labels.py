"""Readable labels in place of names of the data; a name without a label is shown as in a rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from .formula import Formula
from .predicate import Fact
from .query import Query
from .rule import Rule
from .text import atom_text, formula_text, readable_text


class HasLabels(Protocol):
    """A knowledge base, or a set of rules."""

    @property
    def entity_labels(self) -> Mapping[str, str]:
        """Labels of entities, by name."""

    @property
    def predicate_labels(self) -> Mapping[str, str]:
        """Labels of predicates, by name."""


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of `entities` and `predicates`, by name. Names without a label have no entry."""

    entities: Mapping[str, str] = field(default_factory=dict)
    predicates: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, owner: HasLabels) -> Labels:
        """Return the labels of `owner`, a knowledge base or a set of rules."""
        return cls(owner.entity_labels, owner.predicate_labels)

    def entity(self, name: str) -> str:
        """Return the label of an entity, or its name as in a rule."""
        return self.entities[name] if name in self.entities else atom_text(name)

    def predicate(self, name: str) -> str:
        """Return the label of a predicate, or its name as in a rule."""
        return self.predicates[name] if name in self.predicates else atom_text(name)

    def fact(self, fact: Fact) -> str:
        """Return the fact with labels in place of names."""
        return f"{self.predicate(fact.predicate.name)}({', '.join(map(self.entity, fact.arguments))})"

    def query(self, query: Query) -> str:
        """Return the query with labels in place of names."""
        arguments = ", ".join("?" if name is None else self.entity(name) for name in query.arguments)
        return f"{self.predicate(query.predicate)}({arguments})"

    def rule(self, rule: Rule) -> str:
        """Return the rule with labels in place of names."""
        return readable_text(rule, self.entity, self.predicate)

    def short_rule(self, rule: Rule) -> str:
        """Return the rule without its inequalities; callers that show it mark it as distinct."""
        return self.rule(replace(rule, distinct=False))

    def formula(self, formula: Formula, distinct: bool) -> str:
        """Return `formula` as text with labels in place of names; `distinct` as in its rule."""
        return formula_text(formula, distinct, self.entity, self.predicate)
