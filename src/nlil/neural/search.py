"""The neural search: rules for every target from trained attentions, with exact statistics.

Targets are independent. On a GPU all of them are one stack; on a CPU groups of a few are trained in parallel,
each with one thread, so that the number of threads changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from time import monotonic
from typing import Any, Protocol

import numpy as np

from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..kernel.evaluator import Evaluator
from ..kernel.pool import Pool
from ..kernel.ruleset import RuleSet
from ..kernel.threads import one_torch_thread
from ..logic.rule import Rule, ScoredRule
from ..progress import Progress, silent
from .candidates import Judge
from .chains import chain_codes, count_chains, longest_chain
from .found import Found
from .group import Group
from .neighbours import Parts
from .options import NeuralOptions
from .roads import Roads
from .sampling import Sampler
from .select import select
from .training import Trainer
from .vocabulary import Hints, Surroundings

CPU_GROUP, GPU_GROUP = 4, 256
SAVE_SECONDS = 10.0
SAVED_PER_SECOND = 50e6
"""Bytes; a careful guess."""


class Store(Protocol):
    """Where unfinished work is kept; `learning.Checkpoint` is one."""

    def load(self, key: str) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None: ...

    def save(self, key: str, arrays: Mapping[str, np.ndarray], values: Mapping[str, Any]) -> None: ...


def neural_rules(
    kb: KnowledgeBase,
    targets: Sequence[int],
    options: NeuralOptions,
    allowed: set[int] | None = None,
    negatives: Facts | None = None,
    valid: Facts | None = None,
    progress: Progress = silent,
    store: Store | None = None,
    hints: Hints | None = None,
) -> Found:
    """Rules for the target predicate ids; bodies use the `allowed` predicates, those of the `hints` first."""
    found = Found(RuleSet.empty(kb))
    with one_torch_thread():
        groups = _groups(kb, targets, options, Surroundings(kb, allowed, hints))
        sampler = Sampler(kb, options, negatives, valid)
        lock = Lock()

        def work(_: None, number: int) -> None:
            arrays, history = _train(groups[number], sampler, options, progress, store, f"group-{number}")
            with lock:
                trained[number] = (arrays, history)

        trained: dict[int, tuple[dict[str, np.ndarray], list[dict[str, Any]]]] = {}
        threads = 1 if options.device != "cpu" else options.threads
        Pool(lambda: None, threads).map(work, range(len(groups)), "train groups of targets", progress, None)
        for number in sorted(trained):
            found.attentions |= trained[number][0]
            found.history += trained[number][1]
    proposed = {t: list(rules) for group in groups for t, rules in zip(group.targets, group.found)}
    parts = {space.target: Parts.of(kb, space) for group in groups for space in group.spaces} if options.refine else {}
    found.rules, found.best = _counted(kb, proposed, parts, options, negatives, progress)
    return found


def _groups(
    kb: KnowledgeBase, targets: Sequence[int], options: NeuralOptions, surroundings: Surroundings
) -> list[Group]:
    """Targets of one arity side by side; those without anything to make a rule of are left out."""
    roads = Roads.of(kb, options.device)
    longest = longest_chain(kb)
    size = CPU_GROUP if options.device == "cpu" else GPU_GROUP
    groups = []
    for arity in (1, 2):
        spaces = [surroundings.space(t, options) for t in targets if kb.predicates[t].arity == arity]
        spaces = [s for s in spaces if len(s.predicates) and len(kb.facts.of(s.target))]
        groups += [
            Group(kb, roads, spaces[i : i + size], options, surroundings.hints, longest)
            for i in range(0, len(spaces), size)
        ]
    return groups


def _train(
    group: Group, sampler: Sampler, options: NeuralOptions, progress: Progress, store: Store | None, key: str
) -> tuple[dict[str, np.ndarray], list[dict[str, Any]]]:
    """Attentions and history of the group, whose rules are then in `group.found`.

    What is kept of a finished group is just that; of one under way, the state of its trainer.
    """
    kept = None if store is None else store.load(key)
    if kept is not None:
        group.load(kept[1]["found"])
        if "history" in kept[1]:
            return kept[0], kept[1]["history"]
    trainer = group.prepare(sampler)
    if kept is not None:
        trainer.load(kept[0], kept[1]["trainer"])
    names = [str(group.kb.predicates[t]) for t in group.targets]
    stage = "train " + (names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more")
    size = 3 * sum(p.numel() * p.element_size() for p in trainer.stack.parameters())
    # A large state is saved less often, so that at most a twentieth of the time goes into it.
    pause = max(SAVE_SECONDS, 20 * size / SAVED_PER_SECOND)
    next_save = monotonic() + pause

    def each(trainer: Trainer) -> None:
        if trainer.epoch in group.readings or trainer.done:
            group.read(trainer)
        total = trainer.epoch if trainer.done else options.epochs
        progress(stage, trainer.epoch, total, _note(group, trainer))
        if not trainer.done and monotonic() > next_save:
            save()

    def save() -> None:
        nonlocal next_save
        if store is not None:
            arrays, values = trainer.state()
            store.save(key, arrays, {"trainer": values, "found": group.texts()})
            next_save = monotonic() + pause

    trainer.run(each, options.stop)
    attentions, history = group.attentions(trainer), group.history(trainer)
    if not trainer.done:
        save()  # before rules are read that a run which is not stopped would not have read
        group.read(trainer)  # stopped early: what there is
    elif store is not None:
        store.save(key, attentions, {"history": history, "found": group.texts()})
    return attentions, history


def _note(group: Group, trainer: Trainer) -> str:
    loss = f"loss {float(np.nanmean(trainer.history[-1].loss)):.3f}" if trainer.history else ""
    rules = [next(iter(rules)) for rules in group.found if rules]
    return "  ".join([loss, *map(str, rules[:1])])


def _counted(
    kb: KnowledgeBase,
    proposed: Mapping[int, list[Rule]],
    parts: Mapping[int, Parts],
    options: NeuralOptions,
    negatives: Facts | None,
    progress: Progress,
) -> tuple[RuleSet, dict[int, ScoredRule]]:
    """Exact statistics of what was proposed: chains by compiled loops, every other rule by the engine."""
    judge = Judge(Evaluator(kb, memory=options.memory), negatives)
    longest = longest_chain(kb)
    chains: dict[int, list[tuple[int, ...]]] = {}
    others: dict[int, list[Rule]] = {}
    for target, rules in proposed.items():
        for rule in rules:
            codes = None if negatives is not None and len(negatives) else chain_codes(kb, rule)
            if codes is not None and len(codes) > longest:
                continue
            if codes is not None:
                chains.setdefault(target, []).append(codes)
            else:
                others.setdefault(target, []).append(rule)
    sets = [RuleSet.empty(kb)]
    if chains:
        sets.append(
            count_chains(
                kb,
                chains,
                options.candidates,
                options.min_support,
                options.min_confidence,
                options.threads,
                progress,
                options.stop,
            )
        )
    best: dict[int, ScoredRule] = {}
    kept: list[ScoredRule] = []
    for done, (target, rules) in enumerate(sorted(others.items()), start=1):
        if options.stop is not None and options.stop():
            break
        mine = select(
            kb,
            judge,
            judge.scored(rules[: options.candidates]),
            options.min_support,
            options.min_confidence,
            parts.get(target),
        )
        progress("exact statistics", done, len(others), str(mine[0].rule) if mine else "")
        if mine:
            best[target] = mine[0]
            kept += mine
    if kept:
        sets.append(RuleSet.of(kb, kept))
    return RuleSet.join(sets), best
