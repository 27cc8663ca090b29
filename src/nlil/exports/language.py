"""What the writers share: the description of a language, a rule as alternatives, the facts by name.

Facts count or they do not (weight >= .5), so a body may be simplified and multiplied out without changing an answer.
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
"""A body that multiplies out to more is refused: nobody would read the query."""
ROWS_PER_BLOCK = 500
"""Entities or facts in one INSERT or UNWIND."""
Item = TypeVar("Item")
Denials = Iterable[tuple[Predicate, Step]]
"""(target, step): answers of the target are ruled out wherever the step leads from X to Y."""


@dataclass(frozen=True)
class Options:
    """What a rule is written with.

    number      keeps helper relations of several rules apart
    graphs      the facts are many graphs, each a world of its own; no fact joins two of them
    exclusions  what rules answers out
    labels      for people in place of names
    stats       what was counted for the rule; None where nobody counted
    """

    number: int = 1
    graphs: bool = False
    exclusions: tuple[tuple[Predicate, Step], ...] = ()
    labels: Labels | None = None
    stats: RuleStats | None = None


@dataclass(frozen=True)
class Language:
    """How rules are written in one language; each writer module has one as `LANGUAGE`.

    rule          the text of one rule
    facts         what a program runs on, piece by piece; None: programs do not run
    comment       begins a comment; with one, each rule follows a comment with its exact text and figures
    answers_only  a program answers from the given facts alone, so that exclusions can be said;
                  otherwise heads are relations like any other
    begin, end    around the rules of a program that has some
    between       between rules
    after         after each rule
    check         refuses rules that cannot stand in one program
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
    """Return the name, if a quoted string of the language can hold it."""
    if "\0" in name:
        raise ExportError(f"a string cannot hold the character NUL of {name!r}; rename it in the data", language)
    return name


# rules --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Alternative:
    """One conjunction of statements that makes a rule hold.

    joined    statements that bind head variables
    tested    the others, which only have to hold or (negated) not to hold, whatever their number of groundings
    unbound   head variables that nothing binds: they range over all entities
    in_graph  where the answers depend on graphs, the head's arguments, which must lie in one graph together with
              what is `untied`; else nothing
    """

    joined: tuple[Leaf, ...]
    tested: tuple[Leaf, ...]
    unbound: tuple[Variable, ...]
    in_graph: tuple[Variable | Constant, ...]


def alternatives(rule: Rule, language: str, options: Options) -> tuple[Alternative, ...]:
    """Return the alternatives of the rule: it holds where one of these does; none: it never holds.

    Exclusions of its target are negated statements. `language` is for errors.
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
    """Into how many conjunctions the tree multiplies out."""
    match tree:
        case Leaf():
            return 1
        case All(parts):
            return prod(map(num_alternatives, parts))
        case _:
            return sum(map(num_alternatives, tree.parts))


def depends_on_graph(rule: Rule) -> bool:
    """Return whether the answers depend on which graph an entity belongs to, where no fact joins two graphs."""
    return any(alternative.in_graph for alternative in alternatives(rule, "export", Options(graphs=True)))


def _alternative(rule: Rule, leaves: Sequence[Leaf], excluded: tuple[Leaf, ...], graphs: bool) -> Alternative | None:
    # X = Y of two variables that differ never holds, and its negation says nothing.
    said = [leaf for leaf in dict.fromkeys(leaves) if not (leaf.equal and leaf.different)]
    if any(leaf not in said and not leaf.negated for leaf in leaves):
        return None
    head = [a for a in rule.head.arguments if isinstance(a, Variable)]
    joined = _binding(said)
    tested = tuple(leaf for leaf in said if leaf not in joined) + excluded
    bound = {variable for leaf in joined for variable in leaf.head_variables}
    unbound = tuple(variable for variable in head if variable not in bound)
    return Alternative(joined, tested, unbound, _in_graph(rule, said) if graphs else ())


def _excluded(rule: Rule, step: Step) -> Leaf:
    """`distinct` is the rule's own matter: an exclusion holds for a pair of one entity too."""
    statement = Statement(rule.head.arguments[0], (step,), rule.head.arguments[1])
    names = tuple(getattr(anchor, "name", "") for anchor in statement.line.anchors)
    return Leaf(statement, names, negated=True)


def _binding(leaves: Sequence[Leaf]) -> tuple[Leaf, ...]:
    """The fewest statements that bind what can be bound; those over both head variables first."""
    chosen: list[Leaf] = []
    bound: set[Variable] = set()
    for leaf in sorted(leaves, key=lambda one: -len(one.head_variables)):
        if leaf.atoms and not leaf.negated and not set(leaf.head_variables) <= bound:
            chosen.append(leaf)
            bound |= set(leaf.head_variables)
    return tuple(chosen)


def _in_graph(rule: Rule, leaves: Sequence[Leaf]) -> tuple[Variable | Constant, ...]:
    """Nothing, where atoms tie everything to the head and the sides of the head to each other."""
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
    """Yield `items` in lists of `size`, the last maybe shorter."""
    iterator = iter(items)
    while block := list(islice(iterator, size)):
        yield block
