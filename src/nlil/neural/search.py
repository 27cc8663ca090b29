"""The neural search: rules for every target from trained attentions, with exact statistics.

Targets are independent. On a GPU they are one stack; on a CPU small groups are trained in parallel, each with one
thread, so that the number of threads does not change the result.

`trainer` trains the stack of a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Protocol

import numpy as np
import torch

from ..config import LearnerConfig
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..kernel.graph import TensorGraph
from ..kernel.pool import Pool
from ..kernel.ruleset import RuleSet
from ..kernel.threads import one_torch_thread
from ..logic.parse import parse_rule
from ..logic.rule import Rule
from ..logic.text import rule_text
from ..progress import Progress, Stop, silent
from .candidates import Candidate, as_candidate, as_codes, as_rule, usable, usable_chain
from .extract import ANY_LENGTH, AttentionReader, Chain, best_chains
from .generator import make_stack, member_seed
from .paths import PathLimits, attention_graph, build_paths
from .refine import Parts
from .sampling import LabelledQueries, Sampler, blocks
from .select import count_candidates, longest_chain
from .space import Masks, Space
from .training import COLUMNS, Block, Trainer
from .vocabulary import Hints, Surroundings, common_shape, is_linked, warm_start

CPU_GROUP, GPU_GROUP = 4, 256
"""Targets per stack."""
READINGS = tuple(part / 10 for part in range(1, 11))
"""Shares of the epochs after which rules are read: attentions that have not converged propose more rules."""
BEAMS = (0.3, 0.6, 1.0)
"""Shares of the epochs after which the most probable rules are read, which takes longer."""
BEAM_RESTARTS = 16
"""Restarts per target whose most probable rules are read: those with the least loss."""
MOST_PAIRS = 4_000_000
"""With at most this many pairs of entities, a binary rule may hold for pairs that X does not lead to, as a negation."""
SAVE_SECONDS = 10.0
"""Least time between two checkpoints of a group."""
SAVED_PER_SECOND = 50e6
"""Bytes written per second, a conservative estimate."""


class Store(Protocol):
    """Storage for unfinished work, such as `learning.Checkpoint`."""

    def load(self, key: str) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """Return the arrays and values stored under `key`, or None."""

    def save(self, key: str, arrays: Mapping[str, np.ndarray], values: Mapping[str, Any]) -> None:
        """Store `arrays` and the JSON values `values` under `key`."""


Trained = tuple[dict[str, np.ndarray], list[dict[str, Any]]]
"""The attentions and the history of one group, in the form of `Training`."""


def train_targets(
    kb: KnowledgeBase,
    targets: Sequence[int],
    config: LearnerConfig,
    allowed: set[int] | None = None,
    negatives: Facts | None = None,
    valid: Facts | None = None,
    progress: Progress = silent,
    stop: Stop | None = None,
    store: Store | None = None,
    hints: Hints | None = None,
    positives: Facts | None = None,
) -> Training:
    """Train for the targets and read rules from the attentions; rules are not counted yet.

    Args:
        kb: the training facts.
        targets: predicates to find rules for.
        config: the settings; `device` is cpu or cuda.
        allowed: predicates that bodies may use; default: all.
        negatives: given negatives, instead of drawn ones.
        valid: validation facts; without them, a tenth of the queries is held out.
        progress: receives reports of progress.
        stop: ends the search early.
        store: stores unfinished work.
        hints: weights of step codes that are tried first.
        positives: facts to train on, instead of those of kb.
    """
    stop = stop or Stop()
    with one_torch_thread():
        groups = _groups(kb, targets, config, Surroundings(kb, allowed, hints))
        sampler = Sampler(kb, config, negatives, valid, positives)

        def work(_: None, number: int) -> Trained:
            return _train(groups[number], sampler, progress, stop, store, f"group-{number}")

        pool = Pool(lambda: None, 1 if config.device != "cpu" else config.threads)
        trained = pool.map(work, range(len(groups)), "train groups of targets", progress, None)
    attentions = {name: array for arrays, _ in trained for name, array in arrays.items()}
    history = [record for _, records in trained for record in records]
    return Training(kb, groups, attentions, history, negatives)


@dataclass(frozen=True)
class Training:
    """Trained targets, with the rules read from their attentions.

    Attributes:
        groups: targets that were trained together.
        attentions: those of the best restart of each target, by names such as `uncle/2|operators`.
        history: the records of the same restarts, by epoch.
        negatives: given negatives, or None.
    """

    kb: KnowledgeBase
    groups: list[MemberGroup]
    attentions: dict[str, np.ndarray]
    history: list[dict[str, Any]]
    negatives: Facts | None = None

    def rules(self, config: LearnerConfig, progress: Progress = silent, stop: Stop | None = None) -> RuleSet:
        """Return rules with statistics.

        If `config` has `select`, these are the best rules made from the candidates of all restarts; otherwise they are
        those of the best restart, as read. The first rule of a unary target is its best single explanation. Rules of
        one training may be read with different settings, but without `select` in training there are no candidates.
        """
        most = config.beam + config.extract_samples  # the most probable rules come first
        targets = [
            (space, list(group.found[g]) if config.select else list(group.best[g])[:most])
            for group in self.groups
            for g, space in enumerate(group.spaces)
        ]
        proposed = {space.target: read for space, read in targets}
        parts = {space.target: Parts.of(self.kb, space) for space, _ in targets} if config.refine else {}
        return count_candidates(self.kb, proposed, parts, config, self.negatives, progress, stop or Stop())


def _groups(
    kb: KnowledgeBase, targets: Sequence[int], config: LearnerConfig, surroundings: Surroundings
) -> list[MemberGroup]:
    """Group targets of one arity; targets without a vocabulary are left out."""
    graph = attention_graph(kb, config.device)
    longest = longest_chain(kb)
    size = CPU_GROUP if config.device == "cpu" else GPU_GROUP
    groups = []
    for arity in (1, 2):
        spaces = [surroundings.space(t, config) for t in targets if kb.predicates[t].arity == arity]
        spaces = [s for s in spaces if len(s.predicates) and len(kb.facts.of(s.target))]
        groups += [
            MemberGroup(kb, graph, spaces[i : i + size], config, surroundings.hints, longest)
            for i in range(0, len(spaces), size)
        ]
    return groups


@dataclass
class MemberGroup:
    """Targets of one arity that are trained as one stack: all restarts of all of them are its members.

    `longest` is the number of body atoms of the longest chain that can be counted; `graph` has the facts as edges.
    """

    kb: KnowledgeBase
    graph: TensorGraph
    spaces: list[Space]
    config: LearnerConfig
    hints: Hints = field(default_factory=dict)
    longest: int = ANY_LENGTH  # body atoms of the longest chain that can be counted
    found: list[dict[Candidate, None]] = field(init=False)  # for each target, in the order of reading
    best: list[dict[Candidate, None]] = field(init=False)  # those of its best restart at the end, as read
    read_chains: list[set[Chain]] = field(init=False)  # chains that were already read

    def __post_init__(self) -> None:
        config = self.config
        self.found, self.best = [{} for _ in self.spaces], [{} for _ in self.spaces]
        self.read_chains = [set() for _ in self.spaces]
        self.shape = common_shape(self.spaces, config)
        self.spaces = [space.padded(self.shape) for space in self.spaces]
        arity = self.spaces[0].arity
        self.linked = is_linked(arity, config)
        self.large = arity == 2 and self.kb.num_entities**2 > MOST_PAIRS
        self.readings, self.beams = (
            {max(1, round(part * config.epochs)) for part in parts} for parts in (READINGS, BEAMS)
        )

    @property
    def names(self) -> list[str]:
        """The names of the targets."""
        return [str(self.kb.predicates[space.target]) for space in self.spaces]

    # training -------------------------------------------------------------------------------------

    def prepare(self, sampler: Sampler) -> Trainer:
        """Make queries with `sampler`, their paths, and new generators."""
        config, device = self.config, self.graph.pointer.device
        drawn = [sampler.queries(space.target) for space in self.spaces]
        masks = Masks.of(self.spaces, self.shape, config.restarts, device)
        seeds = [member_seed(config.seed, space.target, r) for space in self.spaces for r in range(config.restarts)]
        sizes = (config.restarts, config.dim, config.layers, config.attention_heads)
        stack = make_stack(config.generator, masks, self.shape, seeds, *sizes, config.residual)
        stack.deep_score = config.deep_score
        if self.hints:
            prior = torch.from_numpy(warm_start(self.hints, self.spaces)).repeat_interleave(config.restarts, 0)
            stack.prior = prior[:, None, None, :].to(device)
        train, valid = (
            [self._block(block) for block in blocks([both[i] for both in drawn], config.batch)] for i in (0, 1)
        )
        targets = [space.target for space in self.spaces]
        share = -(-config.positives // len(train))

        def fresh(round: int) -> Block:
            (block,) = blocks([sampler.fresh(target, round, share) for target in targets])
            return self._block(block)

        renewed = fresh if any(map(sampler.has_more, targets)) else None
        return Trainer(stack, train, valid, config, self._makes_a_rule, renewed)

    def _block(self, queries: LabelledQueries) -> Block:
        limits = PathLimits(self.config.step_edges, self.config.meet_edges)
        return Block(
            build_paths(self.kb, self.graph, self.spaces, self.shape, queries, limits, self.linked),
            torch.from_numpy(queries.label).to(self.graph.pointer.device),
        )

    def _makes_a_rule(self, trainer: Trainer, member: int) -> bool:
        with torch.no_grad():
            attentions = trainer.stack.attentions(trainer.temperature(trainer.epoch))
        space = self.spaces[member // self.config.restarts]
        reader = AttentionReader(self.kb, space, self.shape, attentions, member, self.linked)
        return as_candidate(reader.argmax()) is not None

    # reading rules ----------------------------------------------------------------------------------

    def read_best(self, trainer: Trainer) -> None:
        """Read the rules of the best restart, without simplifying or splitting them."""
        kb, config, large = self.kb, self.config, self.large
        members = self._best_members(trainer)
        with torch.no_grad():
            attentions = trainer.stack.attentions(trainer.temperature(trainer.epoch))
            attentions = attentions[torch.tensor(members, device=trainer.stack.device)]
            chains = None
            if config.beam > 1 and self.linked:
                chains = best_chains(kb, self.spaces, self.shape, attentions, config.beam, self.longest, large)
            attentions = attentions.map(lambda t: t.cpu())
        for g, space in enumerate(self.spaces):
            reader = AttentionReader(kb, space, self.shape, attentions, g, self.linked, self.longest)
            restart = members[g] % config.restarts
            random = np.random.default_rng((config.seed, 3, space.target, restart, trainer.epoch))
            rules = [reader.argmax()]
            if config.beam > 1 and chains is None:
                rules += reader.beam(config.beam)
            rules += reader.samples(config.extract_samples, random)
            self.best[g] = {as_codes(kb, rule): None for rule in usable(rules, large, parts=False)}
            for chain in chains[g] if chains is not None else ():
                self.best[g] |= dict.fromkeys(usable_chain(kb, space.target, chain, large, parts=False))

    def read(self, trainer: Trainer) -> None:
        """Add rules from the current attentions: the largest choices, the most probable rules, random samples."""
        config, large = self.config, self.large
        wide = config.beam > 1 and (trainer.epoch in self.beams or trainer.done)
        # The restarts of each target whose most probable rules are read.
        promising = np.sort(trainer.order()[:, :BEAM_RESTARTS], 1) if wide else np.zeros((len(self.spaces), 0), int)
        members = [g * config.restarts + restart for g, chosen in enumerate(promising.tolist()) for restart in chosen]
        chains: dict[int, dict[Chain, float]] = {}
        with torch.no_grad():
            attentions = trainer.stack.attentions(trainer.temperature(trainer.epoch))
            if wide and self.linked:
                some = attentions[torch.tensor(members, device=trainer.stack.device)]
                found = best_chains(self.kb, self.spaces, self.shape, some, config.beam, self.longest, large)
                chains = dict(zip(members, found))
            attentions = attentions.map(lambda t: t.cpu())
        for g, space in enumerate(self.spaces):
            for restart in range(config.restarts):
                member = g * config.restarts + restart
                reader = AttentionReader(self.kb, space, self.shape, attentions, member, self.linked, self.longest)
                self._add(g, [reader.argmax()])
                if member in chains:
                    self._add_chains(g, chains[member])
                elif restart in promising[g]:
                    self._add(g, reader.beam(config.beam))
                random = np.random.default_rng((config.seed, 3, space.target, restart, trainer.epoch))
                self._add(g, reader.samples(config.extract_samples, random))

    def _add(self, g: int, rules: Iterable[Rule]) -> None:
        self.found[g] |= {as_codes(self.kb, rule): None for rule in usable(rules, self.large)}

    def _add_chains(self, g: int, chains: Iterable[Chain]) -> None:
        """Add chains; restarts and readings propose mostly the same ones, and each is processed once."""
        for chain in chains:
            if chain not in self.read_chains[g]:
                self.read_chains[g].add(chain)
                self.found[g] |= dict.fromkeys(usable_chain(self.kb, self.spaces[g].target, chain, self.large))

    # results -------------------------------------------------------------------------------

    def results(self, trainer: Trainer) -> Trained:
        """Return attentions, by names such as `uncle/2|operators`, and history of the best restart of each target."""
        with torch.no_grad():
            tensors = trainer.stack.attentions(trainer.temperature(trainer.epoch)).tensors()
        arrays: dict[str, np.ndarray] = {}
        history: list[dict[str, Any]] = []
        for target, space, m in zip(self.names, self.spaces, self._best_members(trainer)):
            arrays |= {f"{target}|{name}": tensor[m].cpu().numpy() for name, tensor in tensors.items()}
            arrays |= {f"{target}|{name}": array for name, array in space.arrays().items()}
            for row in trainer.history:
                values = {column: float(getattr(row, column)[m]) for column in COLUMNS}
                history.append({"target": target, "epoch": row.epoch, **values, "temperature": row.temperature})
        return arrays, history

    def _best_members(self, trainer: Trainer) -> list[int]:
        """Return for each target the restart with the least loss whose largest choices make a valid rule.

        A rule that negates its own head may have a small one-step loss, but derives nothing.
        """
        with torch.no_grad():
            attentions = trainer.stack.attentions(trainer.temperature(trainer.epoch)).map(lambda t: t.cpu())
        ranked, best = trainer.order(), []
        for g, space in enumerate(self.spaces):
            order = (g * self.config.restarts + ranked[g]).tolist()
            readers = (
                AttentionReader(self.kb, space, self.shape, attentions, m, self.linked, self.longest) for m in order
            )
            said = (m for m, reader in zip(order, readers) if usable([reader.argmax()], self.large, parts=False))
            best.append(next(said, order[0]))
        return best

    def note(self, trainer: Trainer) -> str:
        """Return a line for the progress: the loss and a rule."""
        loss = f"loss {float(np.nanmean(trainer.history[-1].loss)):.3f}" if trainer.history else ""
        first = [as_rule(self.kb, s.target, next(iter(said))) for s, said in zip(self.spaces, self.found) if said]
        return "  ".join([loss, *map(str, first[:1])])

    def state(self) -> dict[str, Texts]:
        """Return the candidates as JSON values, for a checkpoint: rules as text, chains as codes."""
        return {"found": _texts(self.found), "best": _texts(self.best)}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore the `state`."""
        self.found, self.best = _candidates(state["found"]), _candidates(state["best"])
        self.read_chains = [set() for _ in self.found]


Texts = list[list[str | list[int]]]


def _texts(candidates: list[dict[Candidate, None]]) -> Texts:
    return [[rule_text(c) if isinstance(c, Rule) else list(c) for c in said] for said in candidates]


def _candidates(texts: Texts) -> list[dict[Candidate, None]]:
    return [{parse_rule(c) if isinstance(c, str) else tuple(c): None for c in said} for said in texts]


def _train(
    group: MemberGroup, sampler: Sampler, progress: Progress, stop: Stop, store: Store | None, key: str
) -> Trained:
    """Return the attentions and the history of the group; its candidates are then in `group.found`.

    The checkpoint of a finished group has just these; that of an unfinished one, the state of its trainer.
    """
    config = group.config
    saved = None if store is None else store.load(key)
    if saved is not None:
        group.load(saved[1])
        if "history" in saved[1]:
            return saved[0], saved[1]["history"]
    trainer = group.prepare(sampler)
    if saved is not None:
        trainer.load(saved[0], saved[1]["trainer"])
    first, *more = group.names
    stage = f"train {first} and {len(more)} more" if more else f"train {first}"
    size = 3 * sum(p.numel() * p.element_size() for p in trainer.stack.parameters())
    # A large state is saved less often, so that saving takes at most a twentieth of the time.
    pause = max(SAVE_SECONDS, 20 * size / SAVED_PER_SECOND)
    next_save = monotonic() + pause

    def each(trainer: Trainer) -> None:
        if config.select and (trainer.epoch in group.readings or trainer.done):
            group.read(trainer)
        if trainer.done:
            group.read_best(trainer)
        total = trainer.epoch if trainer.done else config.epochs
        progress(stage, trainer.epoch, total, group.note(trainer))
        if not trainer.done and monotonic() > next_save:
            save()

    def save() -> None:
        nonlocal next_save
        if store is not None:
            arrays, values = trainer.state()
            store.save(key, arrays, {"trainer": values, **group.state()})
            next_save = monotonic() + pause

    trainer.run(each, stop)
    attentions, history = group.results(trainer)
    if not trainer.done:
        save()  # before reading rules that an uninterrupted run would not read
        if config.select:
            group.read(trainer)  # stopped early
        group.read_best(trainer)
    elif store is not None:
        store.save(key, attentions, {"history": history, **group.state()})
    return attentions, history
