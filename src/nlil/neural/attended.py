"""The attentions of a trained target, as strips of named choices: operators, arguments, formulas, the rule.

Each distribution of `space.Attentions` is a strip: its largest choices by name, and the total weight of all others. The
*path* consists of the strips from which the rule of the largest entries is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..kernel.ruleset import RuleSet
from ..logic.labels import Labels
from ..logic.predicate import Predicate
from ..logic.rule import Rule
from ..logic.simplify import FALSE, simplify
from .extract import AttentionReader
from .space import Attentions, Kind, Shape, Space, Start

MOST_CHOICES = 8
"""Limit of the named choices per strip."""
LEAST_WEIGHT = 0.005
"""Least weight of a named choice, except for the largest one."""
MOST_STRIPS = 16
"""Limit of the strips per layer, those on the path first."""
INVERSE = "⁻¹"


@dataclass(frozen=True)
class NamedChoice:
    """A choice by `name`, and its `weight` in the distribution."""

    name: str
    weight: float


@dataclass(frozen=True)
class Strip:
    """One distribution.

    Attributes:
        title: what is chosen.
        choices: the largest choices; the rule uses the first.
        num_others: the number of other choices.
        others: their total weight.
        on_path: whether the rule is read from it.
    """

    title: str
    choices: tuple[NamedChoice, ...]
    num_others: int
    others: float
    on_path: bool


@dataclass(frozen=True)
class AttendedLayer:
    """Distributions of one kind, named by `title`: the `strips` that are shown.

    `num_left_out` others are not shown; none of them is on the path.
    """

    title: str
    strips: tuple[Strip, ...]
    num_left_out: int


@dataclass(frozen=True)
class Attended:
    """The attentions of a trained target.

    Attributes:
        target: the predicate.
        rule: the simplified rule of the largest entries; None if it does not depend on the head variables.
        layers: from operators to the rule.
    """

    target: Predicate
    rule: Rule | None
    layers: tuple[AttendedLayer, ...]

    def to_dict(self, labels: Labels) -> dict[str, Any]:
        """Return plain values for JSON; `labels` are readable names."""
        return {
            "target": str(self.target),
            "rule": None if self.rule is None else str(self.rule),
            "label": None if self.rule is None else labels.short_rule(self.rule),
            "layers": [
                {
                    "title": layer.title,
                    "num_left_out": layer.num_left_out,
                    "strips": [
                        {
                            "title": strip.title,
                            "on_path": strip.on_path,
                            "choices": [{"name": c.name, "weight": c.weight} for c in strip.choices],
                            "num_others": strip.num_others,
                            "others": strip.others,
                        }
                        for strip in layer.strips
                    ],
                }
                for layer in self.layers
            ],
        }


def trained_targets(attentions: Mapping[str, np.ndarray], predicates: Sequence[Predicate]) -> list[Predicate]:
    """Return the `predicates` whose `attentions` can be shown; runs of older versions lack the names of choices."""
    return [predicate for predicate in predicates if f"{predicate}|space.starts" in attentions]


def attended(
    attentions: Mapping[str, np.ndarray], target: Predicate, rules: RuleSet, linked: bool, num_graphs: int = 1
) -> Attended:
    """Return the attentions of a trained target, with names.

    Args:
        attentions: those of a run, by names such as `uncle/2|operators`.
        target: one of `trained_targets`.
        rules: the rules of the run, which have the names of predicates and entities.
        linked: whether only statements between X and Y count, as in training.
        num_graphs: the number of graphs of the data.
    """
    named = {
        name.removeprefix(f"{target}|"): array
        for name, array in attentions.items()
        if name.startswith(f"{target}|")
    }  # fmt: skip
    space = Space.of_arrays(rules.predicates.index(target), target.arity, named)
    return _ChoiceNames(named, space, rules, linked, num_graphs).attended(target)


class _ChoiceNames:
    """The attentions of one target with the names of all choices."""

    def __init__(
        self, named: Mapping[str, np.ndarray], space: Space, rules: RuleSet, linked: bool, num_graphs: int
    ) -> None:
        tensors = {name: torch.from_numpy(a)[None] for name, a in named.items() if not name.startswith("space.")}
        stack = Attentions.of_tensors(tensors)
        heads, steps, operators = named["operators"].shape
        statements, starts, _ = named["left"].shape
        predicates = len(space.predicates)
        widths = tuple(len(first[0]) for first in stack.first)
        self.shape = Shape(operators, predicates, starts, steps, heads, statements // predicates, widths)
        # Only names are read from this base, and whether it has several graphs.
        graph_of = None if num_graphs == 1 else np.arange(len(rules.entities), dtype=np.int32)
        self.kb = KnowledgeBase(rules.entities, rules.predicates, Facts.empty(), graph_of)
        self.space, self.labels = space, Labels.of(rules)
        self.reader = AttentionReader(self.kb, space, self.shape, stack, 0, linked)
        self.statement_texts = [self._statement_text(s) for s in range(self.shape.statements)]

    def attended(self, target: Predicate) -> Attended:
        """Return all layers and the rule."""
        formulas = self._path()
        statements = {c for level, c in formulas if level == 0}
        rule = simplify(self.reader.argmax())
        layers = [
            _layer("Operators of each step", self._operators(statements)),
            _layer("Statements: what their arguments are", self._arguments(statements)),
            *(
                _layer(f"Formulas of level {level}: what each joins", self._factors(level, formulas))
                for level in range(1, len(self.shape.levels))
            ),
            _layer("The formula that is the rule", [self._output()]),
        ]
        return Attended(target, None if rule.body == FALSE else rule, tuple(layers))

    # the path ---------------------------------------------------------------------------------------

    def _path(self) -> set[tuple[int, int]]:
        """Return the formulas that the rule of the largest entries consists of, as (level, number)."""
        reader, found = self.reader, set()

        def visit(level: int, c: int) -> None:
            if (level, c) in found:
                return
            found.add((level, c))
            for side in reader.factors[level - 1] if level else ():
                visit(level - 1, int(np.argmax(side[c])) % self.shape.levels[level - 1])

        level, signed = self._level_of(int(np.argmax(reader.output)))
        visit(level, signed % self.shape.levels[level])
        return found

    def _level_of(self, j: int) -> tuple[int, int]:
        """Return a position in the output as (level, signed position in it)."""
        level = 0
        while j >= 2 * self.shape.levels[level]:
            j -= 2 * self.shape.levels[level]
            level += 1
        return level, j

    # strips -----------------------------------------------------------------------------------------

    def _operators(self, statements: set[int]) -> Iterator[Strip]:
        """Yield each step of each head; steps that an argument of the rule's statements uses are on the path."""
        walked = {
            (head, step)
            for s in statements
            for side in self._sides(s)
            for head, length in [self._slot(int(np.argmax(side[s])) % self.shape.slots)]
            for step in range(length)
        }
        names = [self._operator(o) for o in range(self.shape.operators)]
        for head, steps in enumerate(self.reader.operators):
            for step, weights in enumerate(steps):
                title = f"step {step + 1}" if self.shape.heads == 1 else f"sequence {head + 1}, step {step + 1}"
                yield _strip(title, weights, names, (head, step) in walked)

    def _arguments(self, statements: set[int]) -> Iterator[Strip]:
        """Yield the two arguments of each statement; a unary predicate has one."""
        names = [self._argument(start, slot) for start in self.space.starts for slot in range(self.shape.slots)]
        for s in range(self.shape.statements):
            if (predicate := self._predicate(s)) is None:
                continue
            sides = self._sides(s)
            for place, side in zip(
                ("its argument",) if len(sides) == 1 else ("first argument", "second argument"), sides
            ):
                count = f" ({s // self.shape.predicates + 1})" if self.shape.instances > 1 else ""
                title = f"{self.labels.predicate(predicate.name)}{count}: {place}"
                yield _strip(title, side[s].ravel(), names, s in statements)

    def _factors(self, level: int, path: set[tuple[int, int]]) -> Iterator[Strip]:
        """Yield the two factors of each formula of a level."""
        names = self._signed(level - 1)
        first, second = self.reader.factors[level - 1]
        for c in range(len(first)):
            for place, side in (("first", first), ("second", second)):
                yield _strip(f"{_formula_name(level, c)}: {place}", side[c], names, (level, c) in path)

    def _output(self) -> Strip:
        names = [name for level in range(len(self.shape.levels)) for name in self._signed(level)]
        return _strip("the rule is", self.reader.output, names, True)

    # names ------------------------------------------------------------------------------------------

    def _sides(self, s: int) -> tuple[np.ndarray, ...]:
        """Return the arguments of statement s; a unary predicate has one."""
        predicate = self._predicate(s)
        is_unary = predicate is not None and predicate.arity == 1
        return (self.reader.right,) if is_unary else (self.reader.left, self.reader.right)

    def _predicate(self, s: int) -> Predicate | None:
        """Return the predicate of statement s; None for padding."""
        id = int(self.space.predicates[s % self.shape.predicates])
        return None if id < 0 else self.kb.predicates[id]

    def _slot(self, slot: int) -> tuple[int, int]:
        """Return a slot as (head, length)."""
        if slot == 0:
            return 0, 0
        length, head = divmod(slot - 1, self.shape.heads)
        return head, length + 1

    def _operator(self, o: int) -> str | None:
        code = int(self.space.operators[o])
        if code < 0:
            return None
        step = self.kb.step(code)
        name = self.labels.predicate(step.predicate.name)
        return f"is {name}" if step.is_filter else name + INVERSE * step.inverse

    def _argument(self, start: Start | None, slot: int) -> str | None:
        """Return the text of a start and the largest operators along the slot."""
        if start is None:
            return None
        head, length = self._slot(slot)
        steps = [self._operator(int(np.argmax(weights))) or "" for weights in self.reader.operators[head][:length]]
        return " → ".join([self._start(start), *steps])

    def _start(self, start: Start) -> str:
        match start.kind:
            case Kind.X | Kind.Y:
                return start.kind.name
            case Kind.UNARY:
                return f"any {self.labels.predicate(self.kb.predicates[start.id].name)}"
            case Kind.CONSTANT:
                return self.labels.entity(self.kb.entities.name(start.id))
            case _:
                return "anything"

    def _statement_text(self, s: int) -> str | None:
        """Return the text of a statement by its largest entries; None for padding."""
        if (predicate := self._predicate(s)) is None:
            return None
        said = self.reader.statement(s)
        if said == FALSE:
            return f"{self.labels.predicate(predicate.name)}: nothing of the head"
        return self.labels.formula(said, False)

    def _signed(self, level: int) -> list[str | None]:
        """Return the names of the formulas of a level, then of their negations."""
        count = self.shape.levels[level]
        names = self.statement_texts if level == 0 else [_formula_name(level, c) for c in range(count)]
        return [*names, *(None if name is None else f"not: {name}" for name in names)]


def _formula_name(level: int, c: int) -> str:
    return f"formula {level}.{c + 1}"


def _strip(title: str, weights: np.ndarray, names: Sequence[str | None], on_path: bool) -> Strip:
    """Return the largest choices of a distribution; ties go to the first. Padding has no name and no weight."""
    real = [i for i in np.argsort(-weights, kind="stable").tolist() if names[i] is not None]
    count = max(1, min(MOST_CHOICES, sum(weights[i] >= LEAST_WEIGHT for i in real)))
    choices, rest = tuple(NamedChoice(str(names[i]), float(weights[i])) for i in real[:count]), real[count:]
    return Strip(title, choices, len(rest), float(weights[rest].sum()), on_path)


def _layer(title: str, strips: Iterator[Strip] | Sequence[Strip]) -> AttendedLayer:
    """Return the strips of one kind that are shown, those on the path first."""
    found = sorted(strips, key=lambda strip: not strip.on_path)
    needed = max(MOST_STRIPS, sum(strip.on_path for strip in found))
    return AttendedLayer(title, tuple(found[:needed]), max(len(found) - needed, 0))
