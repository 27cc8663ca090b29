"""dILP: its clauses, its inference against forward chaining by hand, its gradient, what it learns, what it refuses."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod

import numpy as np
import pytest
import torch
from torch import Tensor

from kbs import knowledge_base
from nlil.data.dataset import Dataset, make_dataset
from nlil.data.facts import NO_OBJECT, Facts, Splits
from nlil.data.kb import KnowledgeBase
from nlil.datasets import load_dataset
from nlil.errors import ConfigError, LimitError
from nlil.logic.predicate import Predicate
from nlil_bench import es
from nlil_bench.baselines import make_baseline
from nlil_bench.baselines.dilp import DILP, DILPSettings, fixpoint, learn_target, relation
from nlil_bench.baselines.dilp_program import (
    Body,
    Definition,
    Program,
    Template,
    clauses,
    one_hot_weights,
    softmax_weights,
)

EVEN, SUCC, ZERO = Predicate("even", 1), Predicate("succ", 2), Predicate("zero", 1)
SUCC2 = Definition(Predicate("succ2", 2), (Template(1),))
TASK = (Definition(EVEN, (Template(0), Template(1, intensional=True))), SUCC2)


# clauses --------------------------------------------------------------------------------------------


def test_the_clauses_of_the_task_are_there_and_no_nonsense() -> None:
    recursive = {str(rule) for rule in clauses(EVEN, Template(1, True), (ZERO, SUCC), (EVEN, SUCC2.predicate))}
    assert "even(X) :- succ2(Z1, X), even(Z1)." in recursive
    assert not any("even(X)" in rule.split(":-")[1] for rule in recursive)
    assert all("X" in rule.split(":-")[1] for rule in recursive)
    assert "succ2(X, Y) :- succ(X, Z1), succ(Z1, Y)." in {
        str(rule) for rule in clauses(SUCC2.predicate, Template(1), (ZERO, SUCC), (EVEN, SUCC2.predicate))
    }


def test_only_an_intensional_template_sees_what_is_learned() -> None:
    for intensional in (False, True):
        found = clauses(EVEN, Template(1, intensional), (ZERO, SUCC), (EVEN,))
        assert any(EVEN in rule.predicates for rule in found) == intensional


def test_every_meaning_once() -> None:
    found = clauses(EVEN, Template(2, True), (ZERO, SUCC), (EVEN,))
    texts = [str(rule) for rule in found]  # succ(X, Z) is said with either of two variables, and means the same
    assert texts.count("even(X) :- succ(X, Z1).") == 1
    assert len(set(texts)) == len(texts)


def test_names_that_need_quotes() -> None:
    (rule,) = clauses(Predicate("is a", 1), Template(), (Predicate("/x/Y", 1),), ())
    assert str(rule) == "'is a'(X) :- '/x/Y'(X)."


# inference ------------------------------------------------------------------------------------------


def soft_by_hand(program: Program, value: dict, weights: list[np.ndarray], steps: int) -> dict:
    """The equations of the paper, atom by atom, in plain Python."""

    def truth(body: Body, arguments: tuple[int, ...]) -> float:
        free = 1 + max(v for atom in body for v in atom.variables)
        best = 0.0
        for rest in product(range(program.size), repeat=max(free - len(arguments), 0)):
            ground = (*arguments, *rest)
            best = max(best, prod(value[a.predicate][tuple(ground[v] for v in a.variables)] for a in body))
        return best

    for d in program.definitions:
        value[d.predicate] = dict.fromkeys(product(range(program.size), repeat=d.predicate.arity), 0.0)
    for _ in range(steps):
        after = {}
        for d, sets, weight in zip(program.definitions, program.choices, weights):
            after[d.predicate] = {}
            for arguments, before in value[d.predicate].items():
                bodies = [[truth(body, arguments) for body in found.values()] for found in sets]
                follows = sum(
                    weight[i] * max(b[j] for b, j in zip(bodies, i)) for i in product(*(range(len(b)) for b in bodies))
                )
                after[d.predicate][arguments] = before + follows - before * follows
        value.update(after)
    return {d.predicate: value[d.predicate] for d in program.definitions}


def base(seed: int, size: int = 3) -> tuple[Program, dict[Predicate, Tensor], list[Tensor]]:
    """Random truth values of zero and succ over three entities, and random scores for two programs."""
    random = torch.Generator().manual_seed(seed)
    given = {
        ZERO: torch.rand(1, size, generator=random, dtype=torch.float64),
        SUCC: torch.rand(1, size, size, generator=random, dtype=torch.float64),
    }
    program = Program.of(TASK, (ZERO, SUCC), size)
    scores = [torch.randn(2, *shape, generator=random, dtype=torch.float64) for shape in program.weight_shapes]
    return program, given, scores


@pytest.mark.parametrize("seed", [0, 1])
def test_soft_inference_is_that_of_the_equations(seed: int) -> None:
    program, given, scores = base(seed)
    weights = softmax_weights(scores)
    assert all(torch.allclose(w.flatten(1).sum(1), torch.ones(2, dtype=torch.float64)) for w in weights)
    found = program.chain(given, weights, steps=3)
    for member in (0, 1):
        value = {p: {i: float(t[0][i]) for i in np.ndindex(*t[0].shape)} for p, t in given.items()}
        by_hand = soft_by_hand(program, value, [w[member].numpy() for w in weights], 3)
        for predicate, atoms in by_hand.items():
            for arguments, truth in atoms.items():
                assert float(found[predicate][member][arguments]) == pytest.approx(truth, abs=1e-12)


def test_every_clause_shape_of_two_variables_is_that_of_the_equations() -> None:
    """Binary head, two existential variables: every way of joining two atoms, each as a program of its own."""
    other = Predicate("other", 2)
    program = Program.of((Definition(other, (Template(2),)),), (ZERO, SUCC), 3)
    _, given, _ = base(4)
    count = program.weight_shapes[0][0]
    assert count > 40
    found = program.chain(given, [torch.eye(count, dtype=torch.float64)], steps=1)[other]
    value = {p: {i: float(t[0][i]) for i in np.ndindex(*t[0].shape)} for p, t in given.items()}
    for j in range(count):
        by_hand = soft_by_hand(program, dict(value), [np.eye(count)[j]], 1)[other]
        for arguments, truth in by_hand.items():
            assert float(found[j][arguments]) == pytest.approx(truth, abs=1e-12), str(list(program.choices[0][0])[j])


def test_gradients_are_those_of_finite_differences() -> None:
    program, given, scores = base(2)

    def even(*scores: Tensor) -> Tensor:
        return program.chain(given, softmax_weights(scores), steps=3)[EVEN]

    assert torch.autograd.gradcheck(even, [s.requires_grad_() for s in scores], fast_mode=True)


@pytest.mark.parametrize("seed", range(8))
def test_one_hot_programs_derive_what_our_engine_derives(seed: int) -> None:
    """Random programs on the even numbers: the crisp fixpoint is that of the extracted rules, by `materialize`."""
    data = load_dataset("even:6")
    kb = data.kb
    program = Program.of(TASK, (ZERO, SUCC), kb.num_entities)
    random = np.random.default_rng(seed)
    rows = [[int(random.integers(n)) for n in shape] for shape in program.weight_shapes]
    rows[1] = [
        next(i for i, (rule, body) in enumerate(program.choices[1][0].items()) if len(body) == 2 and "Z1" in str(rule))
    ]
    scores = [torch.zeros(1, *shape) for shape in program.weight_shapes]
    for score, row in zip(scores, rows):
        score[(0, *row)] = 1.0
    given = {p: relation(kb, p, "cpu") for p in (ZERO, SUCC)}
    holds = fixpoint(program, given, one_hot_weights(scores), program.fixed(given))[EVEN][0] > 0.5
    rules = [list(found)[i] for sets, row in zip(program.choices, rows) for found, i in zip(sets, row)]
    verdict = es.judged(data, rules)
    assert verdict["derived"] == int(holds.sum()), [str(r) for r in rules]
    assert verdict["correct"] == int(holds[::2].sum())


# learning -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_even_and_successor_with_ten_integers() -> None:
    data = load_dataset("even:10")
    settings = DILPSettings(invented=(SUCC2,), updates=150)
    model = learn_target(data, EVEN, settings)
    assert model.solved
    assert (model.correct, model.derived, model.positives, model.wrong) == (6, 6, 6, 0)
    assert model.verdict.startswith("dilp solved even/1 in ")
    assert any(rule.target == SUCC2.predicate for rule in model.rules)
    assert es.judged(load_dataset("even:50"), model.rules)["solved"]
    again = learn_target(data, EVEN, replace(settings, updates=3))
    once_more = learn_target(data, EVEN, replace(settings, updates=3))
    assert np.array_equal(again.value, once_more.value)
    assert not np.array_equal(again.value, learn_target(data, EVEN, replace(settings, updates=3), seed=1).value)


def test_it_says_when_it_does_not_solve_it() -> None:
    model = learn_target(load_dataset("even:10"), EVEN, DILPSettings(invented=(), updates=60, starts=3))
    assert not model.solved
    assert model.verdict.startswith("dilp did not solve even/1: its program derives ")
    assert "of 6 examples" in model.verdict


def children() -> Dataset:
    """parent, some grandparents to learn from, the others to find; nothing else to learn."""
    pairs = [(f"a{i}", f"b{i}", f"c{i}") for i in range(5)]
    text = "\n".join(f"{a} parent {b}\n{b} parent {c}\n{a} grand {c}" for a, b, c in pairs)
    kb = knowledge_base(text)
    grand = kb.predicate_id(Predicate("grand", 2))
    held = (kb.facts.predicate == grand) & (np.cumsum(kb.facts.predicate == grand) > 3)
    train, test = kb.facts[~held], kb.facts[held]
    return make_dataset("children", kb.with_facts(train), Splits(train, test=test), (Predicate("grand", 2),))


SMALL = DILPSettings(target=(Template(1),), invented=(), updates=60, starts=4, steps=2)


def test_answers_are_ranked_by_truth_values() -> None:
    model = DILP(SMALL)
    model.fit(children())
    metrics = model.evaluate("test")
    assert metrics["mrr"] == metrics["mrr_pessimistic"] == 1.0
    assert metrics.num_queries == 4
    (learned,) = model.models.values()
    assert [str(rule) for rule in learned.rules] == ["grand(X, Y) :- parent(X, Z1), parent(Z1, Y)."]


def test_unlisted_atoms_are_unknown_where_negatives_are_given() -> None:
    """Closed world: the two held-out grandparents count as wrong. With given negatives they are nobody's business."""
    data = children()
    assert not learn_target(data, data.targets[0], SMALL).solved
    grand, kb = data.kb.predicate_id(data.targets[0]), data.kb
    false = [(kb.entities.id("a0"), kb.entities.id("b0")), (kb.entities.id("b0"), kb.entities.id("c0"))]
    given = Facts(np.full(2, grand, np.int32), *np.array(false, np.int32).T)
    told = replace(data, splits=replace(data.splits, negatives={"train": given}))
    assert learn_target(told, data.targets[0], SMALL).solved


def test_unary_targets_are_decided_and_not_ranked() -> None:
    data = load_dataset("even:10")
    model = DILP(DILPSettings(invented=(SUCC2,), updates=100))
    model.fit(data)
    metrics = model.evaluate("train")
    assert metrics["f1"] > 0.9
    assert "mrr" not in metrics.values
    assert metrics.notes == (model.models[EVEN].verdict,)


# limits ---------------------------------------------------------------------------------------------


def many(entities: int, predicates: int = 1) -> Dataset:
    rows = [(f"e{i}", f"p{i % predicates}", f"e{i + 1}") for i in range(entities - 1)]
    kb = KnowledgeBase.from_facts([*rows, ("e0", "q", "e1")])
    return make_dataset("many", kb, Splits(kb.facts), (Predicate("q", 2),))


@pytest.mark.parametrize(
    ("data", "settings", "expected"),
    [
        (many(2000), (), "make 12,000,000 ground atoms, expected at most 2,000,000"),
        (many(90), ("memory=1MiB",), "GiB (16,200 ground atoms"),
        (many(60, predicates=40), (), "clause bodies over"),
    ],
)
def test_large_sets_are_refused_in_one_sentence(data: Dataset, settings: tuple[str, ...], expected: str) -> None:
    with pytest.raises(LimitError) as caught:
        make_baseline("dilp", settings).fit(data)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_estimate_of_memory_is_no_less_than_what_gradients_keep() -> None:
    program = Program.of(TASK, (ZERO, SUCC), 11)
    given = {ZERO: torch.rand(1, 11), SUCC: torch.rand(1, 11, 11)}
    scores = [torch.randn(4, *shape).requires_grad_() for shape in program.weight_shapes]
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        program.chain(given, softmax_weights(scores), 6)[EVEN].sum()
    assert sum(kept.values()) < program.bytes_needed(4, 6) < 10 * sum(kept.values())


def test_templates_that_allow_nothing() -> None:
    with pytest.raises(ConfigError, match="allows no clause"):
        Program.of((Definition(SUCC2.predicate, (Template(0),)),), (), 3)
    with pytest.raises(ConfigError, match="expected one or two"):
        Program.of((Definition(EVEN, (Template(), Template(), Template())),), (ZERO,), 3)


def test_an_invented_name_that_is_taken() -> None:
    kb = knowledge_base("a q\nb q\na invented b\na r b")
    assert NO_OBJECT in kb.facts.object
    data = make_dataset("taken", kb, Splits(kb.facts), (Predicate("q", 1),))
    model = learn_target(data, Predicate("q", 1), DILPSettings(updates=1, starts=1))
    assert {rule.target.name for rule in model.rules} == {"q", "invented_"}
