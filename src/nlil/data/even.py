"""`even:n`: even numbers and the successor (the paper's ES-n).

Facts over the numbers 0 .. n: zero(0), succ(i, i + 1), even(i) for every even i. The target is `even`. Planted:

    even(X) :- zero(X).
    even(X) :- even(Z2), succ(Z2, Z1), succ(Z1, X).     (X, Z1, Z2 different)

Everything is training facts: the task is to find the two rules, whose least fixpoint is `even` again.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ..logic.formula import ANY, Statement, X
from ..logic.predicate import Predicate, Step
from ..logic.rule import Head, Rule
from .dataset import Dataset, make_dataset
from .facts import NO_OBJECT, Facts, Splits
from .kb import KnowledgeBase
from .vocabulary import Vocabulary

EVEN, SUCC, ZERO = Predicate("even", 1), Predicate("succ", 2), Predicate("zero", 1)


def make_even(size: int, seed: int = 0) -> Dataset:
    """zero(0), succ(i, i + 1), even(2 i) over 0 .. size; nothing in it is random."""
    numbers = np.arange(size + 1, dtype=np.int32)
    evens = numbers[::2]
    predicate = np.repeat(np.asarray([0, 1, 2], np.int32), [len(evens), size, 1])
    subject = np.concatenate((evens, numbers[:-1], numbers[:1]))
    object = np.full(len(subject), NO_OBJECT, np.int32)
    object[predicate == 1] = numbers[1:]
    facts = Facts(predicate, subject, object).unique()
    kb = KnowledgeBase(Vocabulary(pa.array(numbers).cast(pa.string())), (EVEN, SUCC, ZERO), facts)
    return make_dataset(f"even:{size}", kb, Splits(facts), (EVEN,), planted_even())


def planted_even() -> tuple[Rule, ...]:
    back = Step(SUCC, inverse=True)
    return (
        Rule(Head.of(EVEN), Statement(X, (Step(ZERO),))),
        Rule(Head.of(EVEN), Statement(X, (back, back, Step(EVEN)), ANY), distinct=True),
    )
