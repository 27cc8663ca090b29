"""dILP, differentiable inductive logic programming (Evans and Grefenstette, JAIR 2018), for small sets.

Each target is learned separately: its training facts are the examples and are not given; the facts of all other
predicates are given. A rule template says which clauses may define a predicate, weights choose among them, and forward
chaining on truth values (`forward`) makes the choice differentiable. The program is read by argmax.

This implementation differs where the original leaves something open or is slow: valuations are tensors over entities,
so clauses over given facts only are computed once; several starts are trained side by side, as the original reports the
share of starts that succeed; a body that has one atom twice is that atom, not its square.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nlil.config import parse_size
from nlil.data.arrays import Ids, Longs
from nlil.data.dataset import Dataset
from nlil.data.kb import KnowledgeBase
from nlil.errors import LimitError
from nlil.evaluation.metrics import Metrics
from nlil.evaluation.protocol import member_figures
from nlil.kernel.aggregation import evidence
from nlil.kernel.device import resolve_device
from nlil.kernel.threads import one_torch_thread
from nlil.logic.predicate import Predicate
from nlil.logic.rule import Rule
from nlil.neural.generator import draw
from nlil.progress import Progress, silent
from nlil.settings import Allowed, Settings, at_least, setting

from .batch_ranking import batch_metrics
from .dilp_program import Definition, Program, Template, one_hot_weights, softmax_weights
from .interface import Baseline

MOST_ATOMS = 2_000_000
"""Ground atoms of a base, given or learned, that are still written down."""
NEVER = 1e-6
"""Truth values are kept so far from 0 and 1 in the logarithm of the loss."""
TRUE = 0.5


@dataclass(frozen=True)
class DILPSettings(Settings):
    """The program, then the training.

    `target` are the templates of each target: no further variable and only given predicates; one variable, recursive.
    `invented` are helper predicates: one binary predicate with one variable and only given predicates.
    """

    target: tuple[Template, ...] = (Template(0), Template(1, intensional=True))
    invented: tuple[Definition, ...] = (Definition(Predicate("invented", 2), (Template(1),)),)
    steps: int = setting(10, "steps of forward chaining in training; a program is judged by its fixpoint", at_least(1))
    starts: int = setting(10, "random starts; the program that fits the examples best is kept", at_least(1))
    updates: int = setting(400, "steps of RMSprop; the original: 6000, from one start")
    lr: float = setting(0.1, "learning rate; the original: .5")
    sample: float = setting(0.5, "share of the examples in each update", Allowed("0.01 or more", lambda v: v >= 0.01))
    device: str = setting("cpu", "cpu or cuda")
    memory: int = setting(2 * 2**30, "bytes; a set that needs more is refused", at_least(1), parse_size)


@dataclass(frozen=True, eq=False)
class DILPModel:
    """What was learned for one target. `value`: truth of each ground atom of the target, softly, (N,) or (N, N).

    `correct` of the `derived` atoms of the program's least fixpoint are among the `positives`.
    """

    target: Predicate
    rules: tuple[Rule, ...]
    value: np.ndarray
    loss: float
    correct: int
    derived: int
    positives: int
    wrong: int
    starts_solved: int
    starts: int

    @property
    def solved(self) -> bool:
        """All positive examples derived, and no negative one."""
        return self.correct == self.positives and self.wrong == 0

    @property
    def verdict(self) -> str:
        """One sentence."""
        if self.solved:
            return f"dilp solved {self.target} in {self.starts_solved} of {self.starts} starts"
        return (
            f"dilp did not solve {self.target}: its program derives {self.correct} of {self.positives} examples "
            f"and {self.wrong} that are false; give it more starts or updates, or other templates"
        )


@dataclass(frozen=True, eq=False)
class Examples:
    """`label` 1 and `weight` > 0 where an atom is a positive example; flat over all atoms of the target.

    Weights are those of a mean over positives and a mean over negatives, which count the same.
    """

    label: Tensor
    weight: Tensor

    @classmethod
    def of(cls, dataset: Dataset, target: Predicate, device: str) -> Examples:
        kb = dataset.kb.crisp
        number, size = kb.predicate_id(target), kb.num_entities
        label = relation(kb, target, device).flatten()
        counts = torch.ones_like(label)
        given = dataset.splits.negatives.get("train")
        given = given.of(number) if given is not None else None
        if given is not None and len(given):
            key = given.subject.astype(np.int64) * (1 if target.arity == 1 else size)
            key = key + (0 if target.arity == 1 else given.object)
            counts = label.clone()
            counts[torch.from_numpy(key).to(device)] = 1.0
        positive, negative = label * counts, (1 - label) * counts
        weight = positive / positive.sum().clamp(min=1) + negative / negative.sum().clamp(min=1)
        return cls(label, weight / 2)

    def loss(self, value: Tensor, chosen: Tensor | None = None) -> Tensor:
        """(members,): cross-entropy."""
        sure = value.flatten(1).clamp(NEVER, 1 - NEVER)
        each = -(self.label * sure.log() + (1 - self.label) * (1 - sure).log())
        weight = self.weight if chosen is None else self.weight * chosen
        return (each * weight).sum(1)


def relation(kb: KnowledgeBase, predicate: Predicate, device: str) -> Tensor:
    """(1, N) or (1, N, N): 1 where the predicate has a fact."""
    facts = kb.facts.of(kb.predicate_id(predicate))
    value = torch.zeros((kb.num_entities,) * predicate.arity, device=device)
    ends = (facts.subject, facts.object)[: predicate.arity]
    value[tuple(torch.from_numpy(end.astype(np.int64)).to(device) for end in ends)] = 1.0
    return value[None]


def learn_target(
    dataset: Dataset, target: Predicate, settings: DILPSettings, seed: int = 0, progress: Progress = silent
) -> DILPModel:
    """Train all starts for one target; LimitError where the set is too large."""
    device = resolve_device(settings.device)
    kb = dataset.kb.crisp
    given = tuple(p for p in kb.predicates if p != target and kb.predicate_counts[kb.predicate_id(p)])
    helpers = tuple(Definition(_unused(d.predicate, kb), d.templates) for d in settings.invented)
    definitions = (Definition(target, settings.target), *helpers)
    _check_atoms(kb, (*given, *(d.predicate for d in definitions)))
    program = Program.of(definitions, given, kb.num_entities)
    program.check_memory(settings.starts, settings.steps, settings.memory)
    facts = {p: relation(kb, p, device) for p in given}
    examples = Examples.of(dataset, target, device)
    with one_torch_thread():
        return _trained(program, facts, examples, settings, seed, device, progress)


def _trained(
    program: Program,
    given: dict[Predicate, Tensor],
    examples: Examples,
    settings: DILPSettings,
    seed: int,
    device: str,
    progress: Progress,
) -> DILPModel:
    target = program.definitions[0].predicate
    fixed = program.fixed(given)
    scores = [
        torch.nn.Parameter(
            torch.stack([draw(seed, f"dilp.{target}.{i}.{start}", *shape) for start in range(settings.starts)]).to(
                device
            )
        )
        for i, shape in enumerate(program.weight_shapes)
    ]
    optimiser = torch.optim.RMSprop(scores, settings.lr)
    random = torch.Generator().manual_seed(seed)
    for update in range(settings.updates):
        optimiser.zero_grad()
        chosen = (torch.rand(settings.starts, len(examples.label), generator=random) < settings.sample).to(device)
        value = program.chain(given, softmax_weights(scores), settings.steps, fixed)[target]
        loss = examples.loss(value, chosen / settings.sample)
        loss.sum().backward()
        optimiser.step()
        if (update + 1) % 10 == 0:
            progress(f"dilp {target}", update + 1, settings.updates, f"loss {float(loss.detach().min()):.4f}")
    return _read_off(program, given, examples, settings, scores, fixed)


@torch.no_grad()
def _read_off(
    program: Program,
    given: dict[Predicate, Tensor],
    examples: Examples,
    settings: DILPSettings,
    scores: Sequence[Tensor],
    fixed: list[list[Tensor | None]],
) -> DILPModel:
    """The best start: its program, and what that derives."""
    target = program.definitions[0].predicate
    soft = program.chain(given, softmax_weights(scores), settings.steps, fixed)[target]
    loss = examples.loss(soft)
    holds = fixpoint(program, given, one_hot_weights(scores), fixed)[target].flatten(1) > TRUE
    positive, negative = examples.label > TRUE, (examples.label <= TRUE) & (examples.weight > 0)
    correct, wrong = (holds & positive).sum(1), (holds & negative).sum(1)
    misses = (positive.sum() - correct + wrong).tolist()
    best = min(range(len(misses)), key=lambda start: (misses[start], float(loss[start])))
    return DILPModel(
        target,
        tuple(argmax_rules(program, scores, best)),
        soft[best].cpu().numpy(),
        float(loss[best]),
        int(correct[best]),
        int(holds[best].sum()),
        int(positive.sum()),
        int(wrong[best]),
        misses.count(0),
        len(misses),
    )


def fixpoint(
    program: Program, given: dict[Predicate, Tensor], weights: Sequence[Tensor], fixed: list[list[Tensor | None]]
) -> dict[Predicate, Tensor]:
    """The least fixpoint of crisp programs: steps until nothing changes."""
    learned = program.start(len(weights[0]), weights[0])
    while True:
        after = program.step({**given, **learned}, weights, fixed)
        if all(torch.equal(after[p], learned[p]) for p in after):
            return after
        learned = after


def argmax_rules(program: Program, scores: Sequence[Tensor], start: int) -> list[Rule]:
    """The clauses with the largest weights, each once; those of the target first."""
    rules: dict[Rule, None] = {}
    for sets, score in zip(program.choices, scores):
        position = np.unravel_index(int(score[start].argmax()), score[start].shape)
        rules.update({list(found)[int(i)]: None for found, i in zip(sets, position)})
    return list(rules)


class DILP(Baseline):
    """dILP behind the common interface: every target of the set, one after another."""

    name = "dilp"
    defaults = DILPSettings()
    models: dict[Predicate, DILPModel]

    def _learn(self, dataset: Dataset, seed: int, progress: Progress) -> None:
        if dataset.is_scene:
            raise LimitError(
                "dilp: expected one small graph, got many scene graphs, whose ground atoms are too many; "
                "use another model here"
            )
        self.models = {
            target: learn_target(dataset, target, self.settings, seed, progress) for target in dataset.targets
        }

    def scores(self, predicate: int, given: Ids, side: int) -> np.ndarray:
        """(batch, entities): soft truth values; the target's own facts were never given."""
        value = self.models[self.dataset.kb.predicates[predicate]].value
        return value[given] if side == 0 else value.T[given]

    def evaluate(self, split: str = "test", progress: Progress = silent) -> Metrics:
        kb, splits = self.dataset.kb, self.dataset.splits

        def member_evidence(target: int, entities: Ids) -> Longs:
            return evidence(self.models[kb.predicates[target]].value[entities].astype(np.float64))

        unary = [kb.predicate_id(p) for p in self.models if p.arity == 1]
        facts = splits[split]
        members = member_figures(member_evidence, kb, facts[np.isin(facts.predicate, unary)], splits.all() + kb.facts)
        return batch_metrics(
            self.scores,
            self.dataset,
            split,
            memory=self.settings.memory,
            others=(members,),
            notes=[model.verdict for model in self.models.values()],
            progress=progress,
        )


def _unused(predicate: Predicate, kb: KnowledgeBase) -> Predicate:
    """The helper's name, with as many marks as it takes to be new."""
    while predicate in kb.predicates:
        predicate = Predicate(predicate.name + "_", predicate.arity)
    return predicate


def _check_atoms(kb: KnowledgeBase, predicates: Sequence[Predicate]) -> None:
    atoms = sum(kb.num_entities**p.arity for p in predicates)
    if atoms > MOST_ATOMS:
        raise LimitError(
            f"dilp: {kb.num_entities:,} entities and {len(predicates)} predicates make {atoms:,} ground "
            f"atoms, expected at most {MOST_ATOMS:,}; it is for small sets, use another model here"
        )
