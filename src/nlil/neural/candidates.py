"""Rules that the attentions propose, and what exact statistics make of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ..data.facts import Facts
from ..engine.evaluator import Evaluator
from ..engine.statistics import rule_stats
from ..errors import LimitError, RuleError
from ..logic.formula import TRUE, And, Formula, Not, Or, Statement, X, Y
from ..logic.rule import Rule, RuleStats, ScoredRule
from ..logic.simplify import FALSE, simplify


def as_candidate(rule: Rule) -> Rule | None:
    """The simplified rule, chains with all their entities distinct; None when it says nothing or says itself."""
    rule = simplify(rule)
    if rule.body in (TRUE, FALSE):
        return None
    if isinstance(rule.body, Statement) and {rule.body.start, rule.body.end} == {X, Y}:
        rule = replace(rule, distinct=True)
    return rule


def parts(formula: Formula) -> Iterator[Formula]:
    """The arguments of the outermost connective: each is a rule of its own."""
    if isinstance(formula, (And, Or)):
        yield from formula.arguments


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


def f1(stats: RuleStats) -> float:
    """Of the rule's answers against the target's facts."""
    return 2 * stats.support / max(1, stats.body_size + stats.head_size)


@dataclass
class Judge:
    """Exact statistics of rules, each counted once."""

    evaluator: Evaluator
    negatives: Facts | None = None

    def __post_init__(self) -> None:
        self.known: dict[Rule, RuleStats | None] = {}

    def stats(self, rule: Rule) -> RuleStats | None:
        """None for a rule that one query of which outgrows the memory budget."""
        if rule not in self.known:
            try:
                self.known[rule] = rule_stats(self.evaluator, rule, self.negatives)
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


def usable(rules: Iterable[Rule]) -> list[Rule]:
    """Candidates from extracted rules, with the parts of each, in order, each once."""
    found: dict[Rule, None] = {}
    for rule in rules:
        try:
            whole = as_candidate(rule)
        except RuleError:
            continue
        if whole is None:
            continue
        found.setdefault(whole)
        for part in parts(whole.body):
            one = as_candidate(Rule(whole.head, part))
            if one is not None:
                found.setdefault(one)
    return list(found)
