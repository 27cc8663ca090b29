"""From attentions to rules: the largest choices, samples that follow the attentions, the k most probable."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
import torch
from soft_cases import Chosen, attend, random_logits, shape_of, space_of

from nlil.data.kb import KnowledgeBase
from nlil.logic.formula import And, Formula, Not, Path, Statement, X, Y
from nlil.logic.parse import parse_rule
from nlil.logic.predicate import Step
from nlil.logic.rule import Rule
from nlil.logic.simplify import FALSE, simplify
from nlil.neural.candidates import usable
from nlil.neural.extract import AttentionReader
from nlil.neural.space import Attentions, Kind, Shape, Space, Start

FACTS = [("a", "p", "b"), ("b", "q", "c"), ("a", "u"), ("c", "h"), ("a", "t", "c")]


def base(*without: str) -> KnowledgeBase:
    return KnowledgeBase.from_facts([fact for fact in FACTS if fact[1] not in without])


def reader_of(
    kb: KnowledgeBase, space: Space, shape: Shape, attentions: Attentions, linked: bool = False
) -> AttentionReader:
    return AttentionReader(kb, space, shape, attentions, 0, linked)


# the largest choices ---------------------------------------------------------------------------------


def test_argmax_reads_every_choice() -> None:
    kb = base("t")
    space = space_of(kb, "h")
    shape = shape_of(space, steps=2, heads=2, instances=2, widths=(2, 1))
    chosen = Chosen(kb, space, shape)
    chosen.operator(0, "p").operator(1, "q", inverse=True).operator(0, "q", head=1)
    one = chosen.statement("u", right=(Kind.X, 3))  # two steps of head 0
    two = chosen.statement("p", (Kind.X, 2), (Kind.ANY, 0), instance=1)  # one step of head 1
    n = shape.statements
    chosen.formula(1, 0, one, n + two).formula(1, 1, two, two).formula(2, 0, 2, 1)
    level_1 = 2 * n
    first = "p(X, Z1), q(Z2, Z1), u(Z2)"
    second = "q(X, Z3), p(Z3, Z4)"

    def same(output: int, body: str) -> None:
        found = reader_of(kb, space, shape, chosen.output(output)).argmax()
        assert simplify(found) == simplify(parse_rule(f"h(X) :- {body}.")), str(found)

    same(one, first)
    same(n + two, f"\\+ ({second})")
    same(level_1, f"({first}), \\+ ({second})")
    same(level_1 + 2, f"\\+ (({first}), \\+ ({second}))")
    same(level_1 + 4, f"\\+ (({first}), \\+ ({second})), q(X, Z5), p(Z5, Z6)")


def test_argmax_does_not_ask_for_one_hot_attentions() -> None:
    kb = base()
    space = space_of(kb, "t")
    shape = shape_of(space, steps=2, heads=2, widths=(2,))
    for seed in range(20):
        soft = attend(space, shape, random_logits(shape, 1, seed))
        rules = [reader_of(kb, space, shape, a).argmax() for a in (soft, soft.one_hot())]
        assert rules[0] == rules[1]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_statement_and_its_negation_are_no_rule(sign: int) -> None:
    """psi * (1 - psi) is false, and its negation says nothing: both are dropped."""
    kb = base("t")
    space = space_of(kb, "h")
    shape = shape_of(space, steps=1, widths=(1,))
    chosen = Chosen(kb, space, shape)
    u = chosen.statement("u")
    chosen.formula(1, 0, u, shape.statements + u)
    rule = reader_of(kb, space, shape, chosen.output(2 * shape.statements + (sign < 0))).argmax()
    assert (simplify(rule).body == FALSE) == (sign > 0)
    assert usable([rule]) == []
    chosen.formula(1, 0, u, u)
    rule = reader_of(kb, space, shape, chosen.output(2 * shape.statements)).argmax()
    assert [str(r) for r in usable([rule])] == ["h(X) :- u(X)."]


# all rules of a tiny space -----------------------------------------------------------------------------


class Tiny:
    """p(X, Y) over two binary predicates: paths lead on from X only, so no rule can be read in two ways."""

    def __init__(self, seed: int, widths: tuple[int, ...] = (), spread: float = 1.0) -> None:
        self.kb = base("u", "h", "t")
        self.space = space_of(self.kb, "p", [Start(Kind.X), Start(Kind.Y, walks=False)])
        self.shape = shape_of(self.space, steps=1, widths=widths)
        self.attentions = attend(self.space, self.shape, random_logits(self.shape, 1, seed, spread))
        if widths:
            self._say_each_rule_once()
        self.reader = reader_of(self.kb, self.space, self.shape, self.attentions, linked=True)

    def _say_each_rule_once(self) -> None:
        """The first factor is of p, the second of q; q takes no step, so they share no operator."""
        a = self.attentions
        for factor, keep in ((a.first[0], [0, 2]), (a.second[0], [1, 3])):
            mask = torch.zeros(4, dtype=torch.bool)
            mask[keep] = True
            factor *= mask
            factor /= factor.sum(-1, keepdim=True)
        for side in (a.left, a.right):
            side[0, 1, :, 1:] = 0
            side[0, 1] /= side[0, 1].sum()

    def every_rule(self) -> dict[Rule, float]:
        """Probability of each rule that says something."""
        found: dict[Formula, float] = {}
        statements = [self._statements(s) for s in (0, 1)]
        output = self.attentions.output[0]
        for s, mine in enumerate(statements):
            for formula, p in mine:
                found[formula] = p * float(output[s])
                found[Not(formula)] = p * float(output[2 + s])
        for c in range(sum(self.shape.widths)):
            one, two = (side[0][0, c] for side in (self.attentions.first, self.attentions.second))
            for (f, p), (g, q) in itertools.product(*statements):
                for i, left in ((0, f), (2, Not(f))):
                    for j, right in ((1, g), (3, Not(g))):
                        p_all = p * q * float(one[i] * two[j])
                        both = And(left, right)
                        found[both] = p_all * float(output[4 + c])
                        found[Not(both)] = p_all * float(output[5 + c])
        return {self.reader.rule(formula): p for formula, p in found.items()}

    def _statements(self, s: int) -> list[tuple[Formula, float]]:
        """X on one side, Y on the other; X may take one step."""
        a, step = self.attentions, Step(self.kb.predicates[s])
        operators = [
            (self.kb.step(int(code)), float(a.operators[0, 0, 0, o])) for o, code in enumerate(self.space.operators)
        ]
        paths = [(0, Path(X), 1.0), *((1, Path(X).then(op), p) for op, p in operators)]
        found = []
        for slot, path, p in paths:
            if s == 1 and slot and self.shape.widths:
                continue
            found.append(
                (Statement.meet(path.then(step), Path(Y)), p * float(a.left[0, s, 0, slot] * a.right[0, s, 1, 0]))
            )
            found.append(
                (Statement.meet(Path(Y).then(step), path), p * float(a.left[0, s, 1, 0] * a.right[0, s, 0, slot]))
            )
        return found


@pytest.mark.parametrize("widths", [(), (1,)], ids=["statements", "formulas"])
@pytest.mark.parametrize("seed", range(4))
def test_the_beam_has_the_most_probable_rules(seed: int, widths: tuple[int, ...]) -> None:
    tiny = Tiny(seed, widths)
    every = tiny.every_rule()
    assert len(every) == (40 if not widths else 24 + 160)
    ranked = sorted(every, key=lambda rule: -every[rule])
    for k in (1, 3, 10, 20):
        found = tiny.reader.beam(k)
        assert len(set(found)) == len(found) == k
        assert [every[rule] for rule in found] == pytest.approx([every[rule] for rule in ranked[:k]])


@pytest.mark.parametrize("seed", range(3))
def test_a_wide_beam_has_every_rule_once(seed: int) -> None:
    tiny = Tiny(seed)
    found = tiny.reader.beam(1000)
    assert len(set(found)) == len(found)
    assert set(found) == set(tiny.every_rule())


def test_a_beam_over_decided_attentions_begins_with_the_argmax() -> None:
    kb = base()
    space = space_of(kb, "t")
    shape = shape_of(space, steps=2, heads=2, widths=(3, 2))
    compared = 0
    for seed in range(30):
        reader = reader_of(kb, space, shape, attend(space, shape, random_logits(shape, 1, seed, 20.0)))
        best = reader.argmax()
        found = reader.beam(8)
        assert len(set(found)) == len(found) <= 8
        if str(FALSE) not in str(best.body):
            compared += 1
            assert simplify(found[0]) == simplify(best)
    assert compared > 5


def test_samples_follow_the_attentions() -> None:
    tiny = Tiny(1, (1,))
    every = tiny.every_rule()
    count = 4000
    drawn = Counter(tiny.reader.samples(count, np.random.default_rng(0)))
    for rule, p in every.items():
        assert abs(drawn[rule] / count - p) < 4 * np.sqrt(p * (1 - p) / count) + 1e-3, str(rule)
    said = sum(drawn[rule] for rule in every) / count  # the rest does not speak of both X and Y
    assert said == pytest.approx(sum(every.values()), abs=0.03)
    assert 0.1 < said < 0.9


def test_samples_come_from_the_random_numbers_alone() -> None:
    tiny = Tiny(2)
    one, again, other = (list(tiny.reader.samples(20, np.random.default_rng(seed))) for seed in (1, 1, 2))
    assert one == again != other
