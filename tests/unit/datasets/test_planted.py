"""Planted bases: the engine agrees with their labels, every part of a rule matters, noise is what was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

import numpy as np
import pytest

from nlil.datasets import load_dataset
from nlil.datasets.planted import CONSTRUCTS, LONG_LENGTHS, Planted, planted
from nlil.errors import ConfigError, UnknownName
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.materialize import materialize
from nlil.kernel.statistics import rule_stats
from nlil.logic.formula import ANY, And, Constant, Formula, Not, Or, Statement, Variable, X, Y, statements
from nlil.logic.predicate import Step
from nlil.logic.rule import Rule

SEEDS = range(5)
CLEARLY_WORSE = 0.93
each_construct = pytest.mark.parametrize("construct", CONSTRUCTS)


@cache
def clean_base(construct: str, seed: int = 0) -> Planted:
    return planted(construct, seed)


def keys(facts) -> set[tuple[int, int]]:
    return set(zip(facts.subject.tolist(), facts.object.tolist(), strict=True))


def labels(base: Planted) -> set[tuple[int, int]]:
    return keys(base.kb.facts.of(base.kb.predicate_id(base.target)))


def weaker(formula: Formula) -> Iterator[Formula | None]:
    """The formula without one part: a conjunct, a disjunct, or one atom of a statement; None is nothing left."""
    match formula:
        case Statement(start, steps, end):
            shorter = [steps[:i] + steps[i + 1 :] for i in range(len(steps))]
            yield from (Statement(start, rest, end) if rest else None for rest in shorter)
        case Not(argument):
            yield from (None if part is None else Not(part) for part in weaker(argument))
        case And(arguments) | Or(arguments):
            for i, argument in enumerate(arguments):
                rest = arguments[:i] + arguments[i + 1 :]
                yield rest[0] if len(rest) == 1 else type(formula)(*rest)
                for part in weaker(argument):
                    if part is not None:
                        yield type(formula)(*arguments[:i], part, *arguments[i + 1 :])


@pytest.mark.parametrize("seed", SEEDS[:2])
@each_construct
def test_the_rule_is_exact_and_complete(construct, seed):
    base = clean_base(construct, seed)
    stats = rule_stats(Evaluator(base.kb), base.rule)
    assert stats.confidence == stats.head_coverage == 1.0
    assert labels(base) == keys(base.clean)
    assert set(base.clean.predicate.tolist()) == {base.kb.predicate_id(base.target)}


@pytest.mark.parametrize("seed", SEEDS)
def test_recursion_is_its_least_fixpoint(seed):
    base = clean_base("recursion", seed)
    without = base.kb.without([base.kb.predicate_id(base.target)])
    derived = materialize(without, [(base.rule, 1.0)])
    assert keys(derived.facts) == keys(base.clean)
    assert derived.rounds > 3
    springs = len(base.kb.members(base.kb.predicate_id(base.kb.predicate("spring"))))
    assert len(base.clean) > 1.5 * springs


class Masks:
    """Formulas over a base as masks over X, or over X and Y: by matrices, many of them in little time."""

    def __init__(self, base: Planted) -> None:
        kb, self.arity, size = base.kb, base.target.arity, base.kb.num_entities
        self.kb, self.steps = kb, {}
        for number, predicate in enumerate(kb.predicates):
            facts = kb.facts.of(number)
            matrix = np.zeros((size, size), np.float32)
            matrix[facts.subject, facts.subject if predicate.arity == 1 else facts.object] = 1
            self.steps[Step(predicate)] = matrix
            if predicate.arity == 2:
                self.steps[Step(predicate, True)] = matrix.T.copy()
        self.true = np.zeros((size,) * self.arity, np.float32)
        self.true[base.clean.subject if self.arity == 1 else (base.clean.subject, base.clean.object)] = 1

    def of(self, formula: Formula) -> np.ndarray:
        match formula:
            case Not(argument):
                return 1 - self.of(argument)
            case And(arguments):
                return np.prod([self.of(argument) for argument in arguments], axis=0)
            case Or(arguments):
                return np.max([self.of(argument) for argument in arguments], axis=0)
        end = self.kb.entities.id(formula.end.name) if isinstance(formula.end, Constant) else None
        return self.after(formula.steps, end)

    @cache  # noqa: B019
    def after(self, steps: tuple[Step, ...], end: int | None = None) -> np.ndarray:
        """From where the steps lead to the end: anywhere or one entity (unary targets), or each entity."""
        size = self.kb.num_entities
        if not steps:
            identity = np.eye(size, dtype=np.float32)
            return identity[end] if end is not None else identity if self.arity == 2 else np.ones(size, np.float32)
        return np.minimum(self.steps[steps[0]] @ self.after(steps[1:], end), 1)

    def f1(self, found: np.ndarray) -> np.ndarray:
        """Of one mask, or of each of many along the last axis."""
        axes = tuple(range(self.true.ndim))
        true = self.true.reshape(self.true.shape + (1,) * (found.ndim - self.true.ndim))
        return 2 * (found * true).sum(axes) / (found.sum(axes) + true.sum())


@pytest.mark.parametrize("seed", SEEDS)
@each_construct
def test_every_part_of_the_rule_matters(construct, seed):
    base = clean_base(construct, seed)
    masks, body = Masks(base), base.rule.body
    assert (masks.of(body) == masks.true).all()
    itself = Statement(X, (Step(base.target),), ANY) if base.target.arity == 1 else None
    parts = [part for part in weaker(body) if part is not None and itself not in statements(part)]
    assert parts or construct == "inverse"
    for part in parts:
        assert masks.f1(masks.of(part)) < CLEARLY_WORSE, str(Rule(base.rule.head, part))


@each_construct
def test_no_single_statement_says_the_same(construct):
    base = clean_base(construct)
    masks, body = Masks(base), base.rule.body
    planted_statement = body.argument if isinstance(body, Not) else body
    alone = isinstance(planted_statement, Statement)
    steps = [step for step in masks.steps if step.predicate != base.target]
    # Longer ones than the planted one may say the same with an atom to spare.
    for length in range(1, 1 + (len(planted_statement.steps) if alone else 3)):
        # All continuations of a first step at once: one matrix product instead of hundreds.
        rests = list(product(steps, repeat=length - 1))
        for first in steps:
            found = masks.steps[first] @ np.stack([masks.after(rest) for rest in rests], axis=-1).reshape(300, -1)
            found = np.minimum(found, 1).reshape(*masks.true.shape, len(rests))
            for rest, f1 in zip(rests, np.maximum(masks.f1(found), masks.f1(1 - found)), strict=True):
                statement = Statement(X, (first, *rest), ANY if base.target.arity == 1 else Y)
                assert f1 < CLEARLY_WORSE or statement == planted_statement, str(Rule(base.rule.head, statement))


@pytest.mark.parametrize("seed", SEEDS)
@each_construct
def test_sizes(construct, seed):
    base = clean_base(construct, seed)
    kb, positives = base.kb, len(base.clean)
    assert kb.num_entities == 300
    if base.target.arity == 1:
        assert 0.15 * 300 <= positives <= 0.6 * 300
    else:
        assert 200 <= positives <= 800
    others = [p for p in kb.predicates if p != base.target]
    for arity in (1, 2):
        of_arity = [p for p in others if p.arity == arity]
        assert 3 <= len(of_arity) <= 6
        assert set(of_arity) - base.rule.predicates, "a distractor is missing"
    for predicate in others:
        if predicate.arity == 2:
            degree = kb.predicate_counts[kb.predicate_id(predicate)] / 300
            assert 1.0 <= degree <= 2.5 or (predicate.name == "flows_to" and degree > 0.85)


def test_the_long_rule_is_long_and_its_statements_are_nearly_independent():
    for seed in SEEDS:
        base = clean_base("long", seed)
        assert base.rule.length >= 12
        holds = [Masks(base).of(statement) for statement in statements(base.rule.body)]
        assert all(0.6 < h.mean() < 0.85 for h in holds)
        assert np.abs(np.corrcoef(holds) - np.eye(len(holds))).max() < 0.3


@each_construct
def test_settings_suffice_for_the_rule(construct):
    base = clean_base(construct)
    assert set(base.settings) == {"steps", "heads", "levels", "constants"}
    for statement in statements(base.rule.body):
        # A statement is its own predicate with up to T steps on either side; a unary set may be where a side starts.
        assert len(statement.moves) <= 2 * base.settings["steps"] + 1
    assert base.settings["constants"] == bool(base.rule.constants)
    assert len(base.settings["levels"]) == levels_needed(base.rule.body)


def levels_needed(formula: Formula) -> int:
    """Products of two on top of each other; a disjunction is a negated product."""
    match formula:
        case Not(argument):
            return levels_needed(argument)
        case And(arguments) | Or(arguments):
            return max(map(levels_needed, arguments)) + (len(arguments) - 1).bit_length()
        case _:
            return 0


@each_construct
def test_label_noise_touches_a_tenth_of_the_labels_and_nothing_else(construct):
    clean, noisy = clean_base(construct), planted(construct, label_noise=0.1)
    true, given = keys(clean.clean), labels(noisy)
    assert keys(noisy.clean) == true
    assert len(true - given) == len(given - true) == round(0.1 * len(true))
    target = noisy.kb.predicate_id(noisy.target)
    for number in set(range(noisy.kb.num_predicates)) - {target}:
        assert keys(noisy.kb.facts.of(number)) == keys(clean.kb.facts.of(number))


@each_construct
def test_fact_noise_replaces_a_fifth_of_each_body_predicate_after_labelling(construct):
    clean, noisy = clean_base(construct), planted(construct, fact_noise=0.2)
    assert labels(noisy) == keys(noisy.clean) == keys(clean.clean)
    for number, predicate in enumerate(noisy.kb.predicates):
        if predicate != noisy.target:
            before, after = keys(clean.kb.facts.of(number)), keys(noisy.kb.facts.of(number))
            assert len(before - after) == len(after - before) == round(0.2 * len(before))
    masks = Masks(noisy)
    assert masks.f1(masks.of(noisy.rule.body)) < 1.0


@each_construct
def test_the_seed_decides(construct):
    def columns(base):
        facts = base.kb.facts
        return np.stack((facts.predicate, facts.subject, facts.object)).tolist()

    noise = {"label_noise": 0.1, "fact_noise": 0.2}
    assert columns(planted(construct, 3, **noise)) == columns(planted(construct, 3, **noise))
    assert columns(clean_base(construct, 3)) != columns(clean_base(construct, 4))
    assert planted(construct, size=60).kb.num_entities == 60


def test_bases_by_name():
    for construct in CONSTRUCTS:
        dataset, base = load_dataset(f"planted:{construct}", seed=2), clean_base(construct, 2)
        assert dataset.name == f"planted:{construct}"
        assert dataset.targets == (base.target,)
        assert dataset.planted == (base.rule,)
        assert len(dataset.splits.train) == len(dataset.kb.facts) == len(base.kb.facts)
        assert not len(dataset.splits.test)


def test_the_constructs():
    assert CONSTRUCTS == (
        "chain",
        "inverse",
        "tree",
        "unary-start",
        "conjunction",
        "disjunction",
        "negation",
        "negated-conjunction",
        "constant",
        "recursion",
        "two-levels",
        "long",
    )
    assert isinstance(clean_base("negated-conjunction").rule.body, Not)
    assert isinstance(clean_base("negated-conjunction").rule.body.argument, And)
    assert [type(part) for part in clean_base("two-levels").rule.body.arguments] == [Or, Or]
    assert all(s.start == Variable("X") for c in CONSTRUCTS for s in statements(clean_base(c).rule.body))


@pytest.mark.parametrize("atoms", LONG_LENGTHS)
def test_rules_of_a_chosen_length(atoms):
    base = planted(f"long-{atoms}")
    assert base.rule.length == atoms
    assert 2 ** (len(base.settings["levels"]) + 1) == atoms
    assert 0.25 < len(base.clean) / base.kb.num_entities < 0.55
    assert base.kb.num_predicates >= atoms + 1 + 2, "a distractor of each arity"


@pytest.mark.parametrize("source", ["planted:chian", "planted", "planted:300"])
def test_an_unknown_construct_names_the_known_ones(source):
    with pytest.raises(UnknownName, match=r"^unknown construct") as caught:
        load_dataset(source)
    assert all(construct in str(caught.value) for construct in CONSTRUCTS)


@pytest.mark.parametrize(("key", "value"), [("label_noise", 0.6), ("fact_noise", -0.1), ("size", 10), ("seed", -1)])
def test_bad_settings(key, value):
    with pytest.raises(ConfigError, match=f"^{key}: expected .*, got {value}$"):
        planted("chain", **{key: value})
