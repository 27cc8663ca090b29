"""From extracted rules to distinct candidates that can be counted: simplified, and with their parts.

A plain chain stays a sequence of step codes from X to Y until it is counted; every other candidate is a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from ..data.kb import KnowledgeBase
from ..errors import RuleError
from ..kernel.bodies import X_NODE, Y_NODE, Line
from ..logic.formula import TRUE, And, Formula, Not, Or, Statement, X, Y, statements
from ..logic.parts import removals
from ..logic.predicate import Predicate
from ..logic.rule import Head, Rule
from ..logic.simplify import FALSE, simplify
from .extract import Chain, formula_of

Codes = tuple[int, ...]
"""The step codes of p(X, Y) :- r1(X, Z1), ..., rn(Zn, Y) with all entities distinct."""
Candidate = Rule | Codes
S = TypeVar("S")


def as_candidate(rule: Rule) -> Rule | None:
    """Return the simplified `rule`, chains with distinct entities; None if it is trivial or negates its own head."""
    rule = simplify(rule)
    if rule.body in (TRUE, FALSE) or negates(rule.body, rule.target):
        return None
    if isinstance(rule.body, Statement) and {rule.body.start, rule.body.end} == {X, Y}:
        rule = replace(rule, distinct=True)
    return rule


def negates(formula: Formula, predicate: Predicate) -> bool:
    """Return whether `predicate` occurs under a negation in `formula`.

    A rule that negates its own head has no least fixpoint, and may hold for a fact only because that fact is hidden.
    """
    match formula:
        case Not(argument):
            return any(step.predicate == predicate for s in statements(argument) for step in s.steps)
        case And(arguments) | Or(arguments):
            return any(negates(argument, predicate) for argument in arguments)
        case _:
            return False


def links(formula: Formula) -> bool:
    """Return whether each answer to `formula` is reached from X.

    Otherwise a binary rule holds for a share of all pairs of entities.
    """
    match formula:
        case Statement():
            return {formula.start, formula.end} == {X, Y}
        case And(arguments):
            return any(links(argument) for argument in arguments)
        case Or(arguments):
            return all(links(argument) for argument in arguments)
        case _:
            return False


def shorter(formula: Formula) -> Iterator[Formula]:
    """Yield `formula` with one argument of one connective left out, for every such argument."""
    return (rest for _, rest in removals(formula))


def usable(rules: Iterable[Rule], linked: bool = False, parts: bool = True) -> list[Rule]:
    """Return the distinct candidates of extracted `rules`, in order.

    Args:
        linked: keep only rules whose answers are reached from X.
        parts: add the parts of each rule as separate rules.
    """
    found: dict[Rule, None] = {}
    for rule in rules:
        try:
            whole = as_candidate(rule)
        except RuleError:
            continue
        if whole is None:
            continue
        found.setdefault(whole)
        for part in _parts(whole.body) if parts else ():
            one = as_candidate(Rule(whole.head, part))
            if one is not None:
                found.setdefault(one)
    return [rule for rule in found if not linked or links(rule.body)]


def _parts(formula: Formula) -> Iterator[Formula]:
    """Yield the arguments of the outermost connective, and a statement without its returns."""
    if isinstance(formula, (And, Or)):
        yield from formula.arguments
    elif isinstance(formula, Statement):
        for steps in without_returns(formula.steps, lambda step: None if step.is_filter else step.reversed()):
            yield Statement(formula.start, steps, formula.end)


def without_returns(steps: tuple[S, ...], back: Callable[[S], S | None]) -> Iterator[tuple[S, ...]]:
    """Yield the chain of `steps` without each pair of a step and its inverse (`back`).

    r(X, Z1), r(Z2, Z1), q(Z2, Y) becomes q(X, Y).

    If variables may be equal, going back and forth adds a path for each q(X, Y), which a count of paths rewards; with
    distinct entities it is a different rule.
    """
    for i in range(len(steps) - 1):
        if len(steps) > 2 and steps[i + 1] == back(steps[i]):
            reduced = steps[:i] + steps[i + 2 :]
            yield reduced
            yield from without_returns(reduced, back)


def usable_chain(
    kb: KnowledgeBase, target: int, chain: Chain, linked: bool = False, parts: bool = True
) -> list[Candidate]:
    """Return the `usable` candidates of one `chain`; `linked` and `parts` as there.

    Plain steps from X to Y need no simplification, which is most of the cost.
    """
    codes = chain[1:]
    if chain[0] or any(kb.predicates[code >> 1].arity == 1 for code in codes):
        rule = Rule(Head.of(kb.predicates[target]), formula_of(kb, chain))
        return [as_codes(kb, found) for found in usable([rule], linked, parts)]
    shortened = without_returns(codes, lambda code: code ^ 1) if parts else ()
    return list(dict.fromkeys([codes, *shortened]))


def as_codes(kb: KnowledgeBase, rule: Rule) -> Candidate:
    """Return the codes of a plain chain; any other `rule` unchanged."""
    if rule.target.arity != 2 or not rule.distinct or not isinstance(rule.body, Statement):
        return rule
    line = Line.of(kb, rule.body)
    if any(line.filters) or line.equal is not None:
        return rule
    if (line.anchors[0], line.anchors[-1]) == (Y_NODE, X_NODE):
        line = line.reversed()
    return line.codes if (line.anchors[0], line.anchors[-1]) == (X_NODE, Y_NODE) else rule


def as_rule(kb: KnowledgeBase, target: int, candidate: Candidate) -> Rule:
    """Return the rule of a `candidate` for the target: the inverse of `as_codes`."""
    if isinstance(candidate, Rule):
        return candidate
    return Rule(Head.of(kb.predicates[target]), formula_of(kb, (0, *candidate)), distinct=True)
