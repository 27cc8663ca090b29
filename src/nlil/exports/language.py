"""What the writers share: the description of a language, the alternatives of a rule, the facts by name.

A fact is true or false (weight >= .5), so a body may be simplified and expanded without changing an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ..data.facts import NO_OBJECT
from ..errors import DataError, ExportError
from ..kernel.normal import All, Leaf, Tree, normal_form
from ..kernel.normal import alternatives as multiplied_out
from ..logic.formula import Constant, Statement, Variable
from ..logic.predicate import Predicate, Step
from ..logic.rule import Rule, RuleStats
from ..logic.simplify import simplify_formula
from ..logic.text import fact_text

if TYPE_CHECKING:
    from ..data.kb import KnowledgeBase
    from ..logic.labels import Labels

MAX_ALTERNATIVES = 256
"""A body with more alternatives is refused; nobody would read the query."""
ROWS_PER_BLOCK = 500
"""Entities or facts in one INSERT or UNWIND."""
Item = TypeVar("Item")
Denials = Iterable[tuple[Predicate, Step]]
"""(target, step): answers of the target are excluded wherever the step leads from X to Y."""


@dataclass(frozen=True)
class Options:
    """Options for writing a rule.

    number      distinguishes the helper relations of several rules
    graphs      whether the facts consist of many separate graphs; no fact joins two of them
    exclusions  (target, step) pairs that rule out answers
    labels      readable labels in place of names
    stats       the statistics of the rule, or None
    """

    number: int = 1
    graphs: bool = False
    exclusions: tuple[tuple[Predicate, Step], ...] = ()
    labels: Labels | None = None
    stats: RuleStats | None = None


@dataclass(frozen=True)
class Language:
    """How rules are written in one language; each writer module has a `LANGUAGE`.

    rule          the text of one rule
    facts         writes the facts that a program runs on; None if programs are not executable
    comment       the start of a comment; with it, a comment with exact text and statistics precedes each rule
    answers_only  a program sees only the given facts, so exclusions can be expressed;
                  otherwise heads are ordinary relations
    begin, end    text around the rules of a non-empty program
    between       text between rules
    after         text after each rule
    check         raises an error for rules that cannot be in one program
    """

    rule: Callable[[Rule, Options], str]
    facts: Callable[[KnowledgeBase], Iterator[str]] | None = None
    comment: str = ""
    answers_only: bool = False
    begin: str = ""
    between: str = ""
    after: str = "\n"
    end: str = ""
    check: Callable[[Sequence[Rule]], None] | None = None


def refuse_nul(name: str, language: str) -> str:
    """Return the name if a quoted string of the `language` can contain it."""
    if "\0" in name:
        raise ExportError(f"a string cannot hold the character NUL of {name!r}; rename it in the data", language)
    return name


# rules --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Alternative:
    """One conjunction of statements that makes a rule hold.

    joined    statements that bind head variables
    tested    other statements, of which only the truth matters, or if negated the falsehood
    unbound   head variables that no statement binds; they range over all entities
    in_graph  if the answers depend on graphs: the head's arguments, which must be in one graph together with
              `untied` variables; otherwise empty
    """

    joined: tuple[Leaf, ...]
    tested: tuple[Leaf, ...]
    unbound: tuple[Variable, ...]
    in_graph: tuple[Variable | Constant, ...]


def alternatives(rule: Rule, language: str, options: Options) -> tuple[Alternative, ...]:
    """Return the alternatives of the rule, one of which must hold; none if it never holds.

    Exclusions of its target become negated statements. `language` is for error messages.
    """
    tree = normal_form(simplify_formula(rule.body), rule.distinct)
    if num_alternatives(tree) > MAX_ALTERNATIVES:
        raise ExportError(
            f"the body of {rule} has {num_alternatives(tree):,} alternatives, at most "
            f"{MAX_ALTERNATIVES} are written; split the rule",
            language,
        )
    steps = [step for target, step in options.exclusions if target == rule.target]
    excluded = tuple(_excluded(rule, step) for step in steps)
    found = [_alternative(rule, leaves, excluded, options.graphs) for leaves in multiplied_out(tree)]
    return tuple(alternative for alternative in found if alternative is not None)


def num_alternatives(tree: Tree) -> int:
    """Return the number of conjunctions that `tree` expands into."""
    match tree:
        case Leaf():
            return 1
        case All(parts):
            return prod(map(num_alternatives, parts))
        case _:
            return sum(map(num_alternatives, tree.parts))


def depends_on_graph(rule: Rule) -> bool:
    """Return whether the answers depend on the graphs of entities, given that no fact joins two graphs."""
    return any(alternative.in_graph for alternative in alternatives(rule, "export", Options(graphs=True)))


def _alternative(rule: Rule, leaves: Sequence[Leaf], excluded: tuple[Leaf, ...], graphs: bool) -> Alternative | None:
    # X = Y never holds if the variables are distinct, and its negation always does.
    leaves_left = [leaf for leaf in dict.fromkeys(leaves) if not (leaf.equal and leaf.different)]
    if any(leaf not in leaves_left and not leaf.negated for leaf in leaves):
        return None
    head = [a for a in rule.head.arguments if isinstance(a, Variable)]
    joined = _binding(leaves_left)
    tested = tuple(leaf for leaf in leaves_left if leaf not in joined) + excluded
    bound = {variable for leaf in joined for variable in leaf.head_variables}
    unbound = tuple(variable for variable in head if variable not in bound)
    return Alternative(joined, tested, unbound, _in_graph(rule, leaves_left) if graphs else ())


def _excluded(rule: Rule, step: Step) -> Leaf:
    """Return the negated exclusion; unlike the rule it does not depend on `distinct`."""
    statement = Statement(rule.head.arguments[0], (step,), rule.head.arguments[1])
    names = tuple(getattr(anchor, "name", "") for anchor in statement.anchors)
    return Leaf(statement, names, negated=True)


def _binding(leaves: Sequence[Leaf]) -> tuple[Leaf, ...]:
    """Return the fewest statements that bind the head variables; those over both come first."""
    chosen: list[Leaf] = []
    bound: set[Variable] = set()
    for leaf in sorted(leaves, key=lambda one: -len(one.head_variables)):
        if leaf.atoms and not leaf.negated and not set(leaf.head_variables) <= bound:
            chosen.append(leaf)
            bound |= set(leaf.head_variables)
    return tuple(chosen)


def _in_graph(rule: Rule, leaves: Sequence[Leaf]) -> tuple[Variable | Constant, ...]:
    """Return the arguments that must share a graph; none if atoms already connect everything to the head."""
    ends = rule.head.arguments
    tied = len(ends) == 1 or any(not leaf.negated and set(ends) <= set(leaf.terms) for leaf in leaves)
    return () if tied and all(leaf.untied is None for leaf in leaves) else ends


# facts --------------------------------------------------------------------------------------------------


def entity_rows(kb: KnowledgeBase) -> Iterator[tuple[str, int]]:
    """Yield (name, graph) of every entity; one graph is graph 0."""
    graphs = np.zeros(kb.num_entities, np.int32) if kb.graph_of is None else kb.graph_of
    yield from zip(kb.entities, graphs.tolist())


def fact_rows(kb: KnowledgeBase) -> Iterator[tuple[str, str, str | None]]:
    """Yield (subject, predicate, object) of the facts of weight >= .5; the object of a unary fact is None."""
    facts = kb.crisp.facts
    if kb.graph_of is not None:
        crossing = ~facts.is_unary & (kb.graph_of[facts.subject] != kb.graph_of[facts.object])
        if crossing.any():
            row = int(np.flatnonzero(crossing)[0])
            fact = kb.fact(int(facts.predicate[row]), int(facts.subject[row]), int(facts.object[row]))
            raise DataError(
                f"expected each fact within one graph, got {fact_text(fact)} across two; rules that are "
                "tied to one graph by their facts cannot be exported then"
            )
    names = list(kb.entities)
    predicates = [p.name for p in kb.predicates]
    for p, s, o in zip(facts.predicate.tolist(), facts.subject.tolist(), facts.object.tolist()):
        yield names[s], predicates[p], None if o == NO_OBJECT else names[o]


def blocks(items: Iterable[Item], size: int = ROWS_PER_BLOCK) -> Iterator[list[Item]]:
    """Yield `items` in lists of `size`; the last may be shorter."""
    iterator = iter(items)
    while block := list(islice(iterator, size)):
        yield block
