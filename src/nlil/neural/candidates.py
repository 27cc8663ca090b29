"""Rules that the attentions propose, and what exact statistics make of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..errors import LimitError, RuleError
from ..kernel.batch import BatchStatistics
from ..kernel.evaluator import Evaluator
from ..logic.formula import TRUE, And, Formula, Not, Or, Statement, X, Y, statements
from ..logic.predicate import Predicate
from ..logic.rule import Head, Rule, RuleStats, ScoredRule
from ..logic.simplify import FALSE, simplify
from .best_chains import Chain, formula_of

MOST_JOINED = 3
"""Parts that are joined to a rule after training, at most."""
CLEARLY = 0.01


def as_candidate(rule: Rule) -> Rule | None:
    """The simplified rule, chains with all their entities distinct; None when it says nothing or says itself."""
    rule = simplify(rule)
    if rule.body in (TRUE, FALSE) or negates(rule.body, rule.target):
        return None
    if isinstance(rule.body, Statement) and {rule.body.start, rule.body.end} == {X, Y}:
        rule = replace(rule, distinct=True)
    return rule


def negates(formula: Formula, predicate: Predicate) -> bool:
    """Whether the predicate stands under a negation. A rule that negates its own head has no least fixpoint, and
    holds for a fact just because that fact is hidden."""
    match formula:
        case Not(argument):
            return any(step.predicate == predicate for s in statements(argument) for step in s.steps)
        case And(arguments) | Or(arguments):
            return any(negates(argument, predicate) for argument in arguments)
        case _:
            return False


def parts(formula: Formula) -> Iterator[Formula]:
    """The arguments of the outermost connective: each is a rule of its own."""
    if isinstance(formula, (And, Or)):
        yield from formula.arguments


def without_returns(formula: Formula) -> Iterator[Formula]:
    """A chain that goes a step and takes it back, without both: r(X, Z1), r(Z2, Z1), q(Z2, Y) as q(X, Y).

    Where variables may be equal, going back and forth is one more path for each of q(X, Y), which a count of
    paths rewards; with distinct entities it says something else.
    """
    if not isinstance(formula, Statement):
        return
    steps = formula.steps
    for i in range(len(steps) - 1):
        if len(steps) > 2 and not steps[i].is_filter and steps[i + 1] == steps[i].reversed():
            reduced = Statement(formula.start, steps[:i] + steps[i + 2 :], formula.end)
            yield reduced
            yield from without_returns(reduced)


def shorter(formula: Formula) -> Iterator[Formula]:
    """Every formula with one argument of one connective left out."""
    match formula:
        case Not(argument):
            for inner in shorter(argument):
                yield Not(inner)
        case And(arguments) | Or(arguments):
            for i, argument in enumerate(arguments):
                rest = arguments[:i] + arguments[i + 1 :]
                yield rest[0] if len(rest) == 1 else type(formula)(*rest)
                for inner in shorter(argument):
                    yield type(formula)(*arguments[:i], inner, *arguments[i + 1 :])


def links(formula: Formula) -> bool:
    """Whether each answer is reached from X: otherwise a binary rule holds for a share of all pairs of entities."""
    match formula:
        case Statement():
            return {formula.start, formula.end} == {X, Y}
        case And(arguments):
            return any(links(argument) for argument in arguments)
        case Or(arguments):
            return all(links(argument) for argument in arguments)
        case _:
            return False


def f1(stats: RuleStats) -> float:
    """Of the rule's answers against the target's facts."""
    return 2 * stats.support / max(1, stats.body_size + stats.head_size)


@dataclass
class Judge:
    """Exact statistics of rules, each counted once; rules of a target share statements, so these are kept too."""

    evaluator: Evaluator
    negatives: Facts | None = None

    def __post_init__(self) -> None:
        self.known: dict[Rule, RuleStats | None] = {}
        self.counts = BatchStatistics(self.evaluator, self.negatives)

    def stats(self, rule: Rule) -> RuleStats | None:
        """None for a rule that one query of which outgrows the memory budget."""
        if rule not in self.known:
            try:
                self.known[rule] = self.counts.stats(rule)
            except LimitError:
                self.known[rule] = None
        return self.known[rule]

    def scored(self, rules: Iterable[Rule]) -> list[ScoredRule]:
        found = [(rule, self.stats(rule)) for rule in rules]
        return [ScoredRule(rule, stats, stats.smoothed) for rule, stats in found if stats is not None]

    def pruned(self, scored: ScoredRule) -> ScoredRule:
        """Leave out arguments as long as F1 does not fall: what a rule does not need, it does not say."""
        best = scored
        while True:
            for formula in shorter(best.rule.body):
                rule = as_candidate(Rule(best.rule.head, formula))
                stats = None if rule is None else self.stats(rule)
                if rule is not None and stats is not None and f1(stats) >= f1(best.stats):
                    best = ScoredRule(rule, stats, stats.smoothed)
                    break
            else:
                return best

    def extended(self, scored: ScoredRule, others: Sequence[ScoredRule]) -> ScoredRule:
        """Join what other rules say, by and or by or, as long as F1 rises clearly: restarts each find a part."""
        best = scored
        for _ in range(MOST_JOINED):
            options = []
            for other in others:
                for kind in (And, Or):
                    rule = as_candidate(Rule(best.rule.head, kind(best.rule.body, other.rule.body)))
                    stats = None if rule is None or rule == best.rule else self.stats(rule)
                    if rule is not None and stats is not None and f1(stats) > f1(best.stats) + CLEARLY:
                        options.append(ScoredRule(rule, stats, stats.smoothed))
            if not options:
                break
            best = min(options, key=lambda s: (-f1(s.stats), s.rule.length, str(s.rule)))
        return best


def usable(rules: Iterable[Rule], linked: bool = False) -> list[Rule]:
    """Candidates from extracted rules, with the parts of each, in order, each once; `linked` ones only if asked."""
    found: dict[Rule, None] = {}
    for rule in rules:
        try:
            whole = as_candidate(rule)
        except RuleError:
            continue
        if whole is None:
            continue
        found.setdefault(whole)
        for part in (*parts(whole.body), *without_returns(whole.body)):
            one = as_candidate(Rule(whole.head, part))
            if one is not None:
                found.setdefault(one)
    return [rule for rule in found if not linked or links(rule.body)]


def usable_chain(kb: KnowledgeBase, head: Head, chain: Chain, linked: bool = False) -> list[Rule]:
    """`usable` of one chain. Plain steps from X to Y need no simplifying, which is most of the cost."""
    formula, codes = formula_of(kb, chain), chain[1:]
    if chain[0] or any(kb.predicates[code >> 1].arity == 1 for code in codes):
        return usable([Rule(head, formula)], linked)
    returns = any(one ^ 1 == two for one, two in pairwise(codes))
    formulas = [formula, *(without_returns(formula) if returns else ())]
    return list(dict.fromkeys(Rule(head, each, distinct=True) for each in formulas))
