"""Reading all members at once: the same rules, with the same probabilities, as reading them one by one."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from nlil.config import LearnerConfig
from nlil.data.kb import KnowledgeBase
from nlil.datasets.planted import planted
from nlil.logic.formula import Formula, Not, Path, Statement
from nlil.logic.rule import Head, Rule
from nlil.neural.candidates import as_codes, as_rule, usable, usable_chain
from nlil.neural.extract import LEAST_WEIGHT, NEVER, AttentionReader, Chain, _top, best_chains, formula_of
from nlil.neural.generator import FreeStack
from nlil.neural.paths import attention_graph
from nlil.neural.search import MemberGroup
from nlil.neural.space import Attentions, Kind, Masks, Shape, Space, Start, operators_of, softmax_attentions
from nlil.neural.vocabulary import Surroundings

FACTS = [("a", "p", "b"), ("b", "q", "c"), ("a", "t", "c"), ("a", "u"), ("c", "v")]


WIDER = 4
"""The beam of one member keeps the best of its choices, not of its rules: it is exact only where it is wide."""


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tensors this small only wait for a second thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Case:
    """Two targets, the first with the smaller vocabulary, and members whose attentions are drawn at random."""

    def __init__(
        self, seed: int, steps: int, heads: int = 1, instances: int = 1, spread: float = 1.5, restarts: int = 2
    ) -> None:
        self.kb = kb = KnowledgeBase.from_facts(FACTS)
        p, t, u = (kb.predicate_id(kb.predicate(name)) for name in "ptu")
        spaces = [
            self._space(t, sorted([p, u]), [Start(Kind.X), Start(Kind.Y, walks=False)]),
            self._space(p, list(range(kb.num_predicates)), [Start(Kind.Y), Start(Kind.X), Start(Kind.ANY)]),
        ]
        last = spaces[1]
        self.shape = Shape(len(last.operators), len(last.predicates), len(last.starts), steps, heads, instances)
        self.spaces = [space.padded(self.shape) for space in spaces]
        self.restarts = restarts
        random = torch.Generator().manual_seed(seed)

        def draw(*size: int) -> torch.Tensor:
            return spread * torch.randn(2 * restarts, *size, generator=random, dtype=torch.float64)

        argument = (self.shape.statements, self.shape.starts, self.shape.slots)
        logits = Attentions(
            draw(heads, steps, self.shape.operators), draw(*argument), draw(*argument), (), (), draw(self.shape.outputs)
        )
        self.attentions = softmax_attentions(logits, Masks.of(self.spaces, self.shape, restarts), self.shape)

    def _space(self, target: int, predicates: list[int], starts: list[Start]) -> Space:
        ids = np.array(predicates, np.int32)
        return Space(target, 2, operators_of(self.kb, ids), ids, tuple(starts))

    def chains(self, k: int, **settings: Any) -> list[dict[Chain, float]]:
        return best_chains(self.kb, self.spaces, self.shape, self.attentions, k, **settings)

    def reader(self, member: int, **settings: Any) -> AttentionReader:
        return AttentionReader(
            self.kb, self.spaces[member // self.restarts], self.shape, self.attentions, member, linked=True, **settings
        )


def every_formula(reader: AttentionReader, longest: int = 99) -> dict[Formula, float]:
    """The log-probability of the most probable way to say each linked statement and its negation, by trying all."""
    space, shape, kb = reader.space, reader.shape, reader.kb
    real = [o for o, code in enumerate(space.operators) if code >= 0]
    slots: list[list[tuple[float, tuple[int, ...]]]] = [[(0.0, ())]]
    for t, h in itertools.product(range(min(shape.steps, longest - 1)), range(shape.heads)):
        slots.append(
            [
                (sum(math.log(reader.operators[h, i, o]) for i, o in enumerate(codes)), codes)
                for codes in itertools.product(real, repeat=t + 1)
            ]
        )
    found: dict[Formula, float] = {}
    for s in range(shape.statements):
        number = int(space.predicates[s % shape.predicates])
        if number < 0 or kb.predicates[number].arity == 1:
            continue
        sides = [
            [
                (math.log(side[s, n, slot]) + p, start, codes)
                for n, start in enumerate(space.starts)
                if start is not None and start.kind <= Kind.Y
                for slot, paths in enumerate(slots)
                if side[s, n, slot]
                for p, codes in paths
            ]
            for side in (reader.left, reader.right)
        ]
        for (p, one, left), (q, two, right) in itertools.product(*sides):
            if one.kind == two.kind or len(left) + 1 + len(right) > longest:
                continue
            paths = [
                start.path(kb, tuple(kb.step(int(space.operators[o])) for o in codes))
                for start, codes in ((one, left), (two, right))
            ]
            line = Statement.meet(Path(paths[0].start, (*paths[0].steps, kb.step(2 * number))), paths[1])
            for formula, j in ((line, s), (Not(line), shape.statements + s)):
                value = math.log(max(reader.output[j], LEAST_WEIGHT)) + p + q
                found[formula] = max(found.get(formula, -math.inf), value)
    return found


def said(kb: KnowledgeBase, chains: dict[Chain, float]) -> list[Formula]:
    return [formula_of(kb, chain) for chain in chains]


def assert_the_best(kb: KnowledgeBase, mine: dict[Chain, float], every: dict[Formula, float], k: int) -> None:
    """Of equals any may be there: two paths of one head are as probable the other way round."""
    best = sorted(every.values(), reverse=True)[:k]
    formulas = said(kb, mine)
    assert len(set(formulas)) == len(formulas)
    assert list(mine.values()) == sorted(mine.values(), reverse=True) == pytest.approx(best)
    assert [every[formula] for formula in formulas] == pytest.approx(best)


@pytest.mark.parametrize("k", [1, 5, 20])
@pytest.mark.parametrize(
    ("steps", "heads", "instances"), [(1, 1, 1), (1, 2, 2), (2, 1, 1), (2, 2, 1), (3, 1, 1), (3, 2, 1)]
)
@pytest.mark.parametrize("positive", [False, True])
def test_all_members_at_once_are_read_as_one_by_one(
    steps: int, heads: int, instances: int, k: int, positive: bool
) -> None:
    case = Case(steps + heads, steps, heads, instances)
    found = case.chains(k, positive=positive)
    assert len(found) == 2 * case.restarts
    for member, mine in enumerate(found):
        scored = case.reader(member).scored(WIDER * k)
        beam = {formula: p for p, formula in reversed(scored) if not (positive and isinstance(formula, Not))}
        assert_the_best(case.kb, mine, beam, k)


@pytest.mark.parametrize("spread", [0.2, 1.5, 4.0])
@pytest.mark.parametrize(("steps", "heads", "longest"), [(1, 1, 99), (1, 2, 99), (2, 2, 2), (2, 1, 3), (3, 1, 3)])
def test_they_are_the_most_probable_of_all(steps: int, heads: int, longest: int, spread: float) -> None:
    case = Case(7, steps, heads, spread=spread)
    for member, mine in enumerate(case.chains(8, longest=longest)):
        assert_the_best(case.kb, mine, every_formula(case.reader(member), longest), 8)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here: reading chains on CUDA is not tested")
def test_a_gpu_reads_the_same_chains() -> None:
    case = Case(11, 2, 2)
    here = case.chains(10)
    case.attentions = case.attentions.map(lambda t: t.cuda())
    for mine, there in zip(here, case.chains(10)):
        assert list(mine.values()) == pytest.approx(list(there.values()))
        assert all(mine[chain] == pytest.approx(there[chain]) for chain in mine.keys() & there.keys())


@pytest.mark.parametrize(("steps", "longest", "positive"), [(1, 99, False), (2, 3, True)])
def test_a_wide_reading_has_every_rule_once(steps: int, longest: int, positive: bool) -> None:
    """Filters of one entity commute: with two steps they can be read in either order."""
    case = Case(3, steps, restarts=1)
    for member, mine in enumerate(case.chains(1000, longest=longest, positive=positive)):
        formulas = said(case.kb, mine)
        every = {
            formula
            for formula in every_formula(case.reader(member), longest)
            if not (positive and isinstance(formula, Not))
        }
        assert len(set(formulas)) == len(formulas)
        assert set(formulas) == every


def test_equal_choices_are_read_in_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uniform attentions are all ties; neither pieces nor the other members may change which are kept."""
    case = Case(0, 2, 2, spread=0.0, restarts=3)
    whole = case.chains(6)
    assert len({tuple(mine) for mine in whole[:3]}) == 1
    monkeypatch.setattr("nlil.neural.extract.MOST_SUMS", 1)
    assert [list(mine) for mine in case.chains(6)] == [list(mine) for mine in whole]
    values = torch.tensor([[1.0, 2.0, 2.0, 3.0, 2.0], [NEVER, 0.0, NEVER, 0.0, NEVER]])
    assert _top(values, 3)[1].tolist() == [[3, 1, 2], [1, 3, 0]]


def test_what_is_no_number_is_no_rule() -> None:
    """Training that fails for one member leaves the others as they are."""
    case = Case(1, 2)
    case.attentions.left[0] = math.nan
    case.attentions.output[1] = math.nan
    case.attentions.operators[2] = math.nan
    found = case.chains(5)
    assert found[0] == {}
    assert not any(map(math.isnan, [*found[1].values(), *found[2].values()]))
    assert found[3] == Case(1, 2).chains(5)[3] != {}


class Untrained:
    """What `MemberGroup.read` asks of a trainer."""

    done = True

    def __init__(self, group: MemberGroup, epoch: int) -> None:
        masks = Masks.of(group.spaces, group.shape, group.config.restarts)
        self.stack = FreeStack(masks, group.shape, range(epoch, epoch + len(masks.operators)))
        self.epoch = epoch
        self.targets = len(group.spaces)

    def temperature(self, epoch: int) -> float:
        return 0.3

    def order(self) -> np.ndarray:
        return np.arange(len(self.stack)).reshape(self.targets, -1) % (len(self.stack) // self.targets)


def test_a_group_keeps_what_its_members_say_in_their_order() -> None:
    """Also when chains were said before, and when it goes on from a checkpoint."""
    kb = planted("chain", size=40).kb
    options = LearnerConfig(steps=2, heads=1, levels=0, beam=6, restarts=3, extract_samples=1)
    targets = [p for p in range(kb.num_predicates) if kb.predicates[p].arity == 2][:2]

    def new() -> MemberGroup:
        surroundings = Surroundings(kb)
        return MemberGroup(
            kb, attention_graph(kb), [surroundings.space(t, options) for t in targets], options, longest=2
        )

    group, resumed = new(), new()
    wanted: list[dict[Rule, None]] = [{}, {}]
    for epoch in (0, 1, 0):
        trainer: Any = Untrained(group, epoch)
        group.read(trainer)
        with torch.no_grad():
            attentions = trainer.stack.attentions(0.3)
        chains = best_chains(kb, group.spaces, group.shape, attentions, 6, 2)
        for member, mine in enumerate(chains):
            g, restart = divmod(member, 3)
            reader = AttentionReader(kb, group.spaces[g], group.shape, attentions, member, linked=True)
            random = np.random.default_rng((options.seed, 3, targets[g], restart, epoch))
            rules = [reader.argmax(), *map(reader.rule, said(kb, mine)), *reader.samples(1, random)]
            wanted[g] |= dict.fromkeys(usable(rules))
        resumed.read(trainer)
        assert [list(found) for found in group.found] == [[as_codes(kb, rule) for rule in rules] for rules in wanted]
        assert {type(found) for found in group.found[0]} == {Rule, tuple}
        assert [list(found) for found in resumed.found] == [list(found) for found in group.found]
        assert group.state() == resumed.state()
        resumed = new()
        resumed.load(json.loads(json.dumps(group.state())))


def test_chains_are_used_as_any_rule_is() -> None:
    """The short way from a chain to candidates, also where it takes a step back, ends where `usable` does."""
    case = Case(5, 3, spread=0.3)
    target = case.spaces[1].target
    head = Head.of(case.kb.predicates[target])
    chains = [chain for mine in case.chains(60) for chain in mine]
    codes = [2 * case.kb.predicate_id(case.kb.predicate(name)) for name in "pq"]
    p, q, filter_ = *codes, 2 * case.kb.predicate_id(case.kb.predicate("u"))
    chains += [
        (0, p),
        (0, p, p + 1),
        (0, p, p + 1, q),
        (0, q, p, p + 1, p),
        (0, p, p + 1, p, p + 1, q),
        (1, p, p + 1, q),
        (0, filter_, p),
        (0, p, filter_, q),
        (0, p, filter_, p + 1, q),
        (1, filter_, p),
    ]
    assert any(chain[0] for chain in chains)
    for linked in (False, True):
        for chain in chains:
            wanted = usable([Rule(head, formula_of(case.kb, chain))], linked)
            found = usable_chain(case.kb, target, chain, linked)
            assert [as_rule(case.kb, target, candidate) for candidate in found] == wanted
            assert [as_codes(case.kb, rule) for rule in wanted] == found, "one candidate, however it was read"
