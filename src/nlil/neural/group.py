"""A group: targets that are trained as one stack, from their queries to the rules their attentions propose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from ..data.kb import KnowledgeBase
from ..logic.parse import parse_rule
from ..logic.rule import Head, Rule
from ..logic.text import rule_text
from .attention import Masks
from .best_chains import Chain, best_chains
from .build import build_plan
from .candidates import as_candidate, usable, usable_chain
from .extract import Reader
from .options import NeuralOptions
from .roads import Roads
from .sampling import Pool, Sampler, blocks
from .sources import Limits
from .space import Space
from .stack import make_stack
from .training import Block, Trainer
from .vocabulary import Hints, common_shape, is_linked, warm_start

READINGS = tuple(part / 10 for part in range(1, 11))
"""Parts of the epochs after which rules are read: attentions that have not settled yet propose more of them, ..."""
BEAMS = (0.3, 0.6, 1.0)
"""... and after which the most probable rules are read, which takes longer."""


MOST_PAIRS = 4_000_000
"""Pairs of entities over which a binary rule may range freely, such as a negation; on larger bases X leads to Y."""


@dataclass
class Group:
    """Targets of one arity; all restarts of all of them are members of one stack."""

    kb: KnowledgeBase
    roads: Roads
    spaces: list[Space]
    options: NeuralOptions
    hints: Hints = field(default_factory=dict)
    longest: int = 2**31  # body atoms of the longest chain that can be counted
    found: list[dict[Rule, None]] = field(init=False)
    said: list[set[Chain]] = field(init=False)  # chains whose rules are found already
    written: dict[Rule, str] = field(init=False, default_factory=dict)  # their texts: each is in many checkpoints

    def __post_init__(self) -> None:
        options = self.options
        self.found, self.said = [{} for _ in self.spaces], [set() for _ in self.spaces]
        self.shape = common_shape(self.spaces, options)
        self.spaces = [space.padded(self.shape) for space in self.spaces]
        self.linked = is_linked(self.spaces[0].arity, options)
        self.readings, self.beams = (
            {max(1, round(part * options.epochs)) for part in parts} for parts in (READINGS, BEAMS)
        )

    @property
    def targets(self) -> list[int]:
        return [space.target for space in self.spaces]

    def prepare(self, sampler: Sampler) -> Trainer:
        """Queries, plans and freshly drawn generators."""
        options = self.options
        pools = [sampler.pools(space.target) for space in self.spaces]
        masks = Masks.of(self.spaces, self.shape, options.restarts, self.roads.device)
        seeds = [_member_seed(options.seed, space.target, r) for space in self.spaces for r in range(options.restarts)]
        stack = make_stack(
            options.generator,
            masks,
            self.shape,
            seeds,
            self.roads.device,
            options.dim,
            options.layers,
            options.attention_heads,
        )
        if self.hints:
            prior = torch.from_numpy(warm_start(self.hints, self.spaces)).repeat_interleave(options.restarts, 0)
            stack.prior = prior[:, None, None, :].to(self.roads.device)
        return Trainer(
            stack, self._blocks([p[0] for p in pools]), self._blocks([p[1] for p in pools]), options, self._makes_a_rule
        )

    def _makes_a_rule(self, trainer: Trainer, member: int) -> bool:
        with torch.no_grad():
            attentions = trainer.stack.attentions(trainer.temperature(trainer.epoch))[member : member + 1]
        space = self.spaces[member // self.options.restarts]
        reader = Reader.of(self.kb, space, self.shape, attentions, 0, self.linked)
        return as_candidate(reader.argmax()) is not None

    def _blocks(self, pools: list[Pool]) -> list[Block]:
        limits = Limits(self.options.step_edges, self.options.meet_edges)
        return [
            Block(
                build_plan(self.kb, self.roads, self.spaces, self.shape, queries, limits, self.linked),
                torch.from_numpy(queries.label).to(self.roads.device),
            )
            for queries in blocks(pools, self.options.batch)
        ]

    def read(self, trainer: Trainer) -> None:
        """Add what the attentions say now: the largest choices, the most probable rules, some at random."""
        options = self.options
        wide = options.beam > 1 and (trainer.epoch in self.beams or trainer.done)
        large = self.spaces[0].arity == 2 and self.kb.num_entities**2 > MOST_PAIRS
        with torch.no_grad():
            attentions = trainer.stack.attentions(trainer.temperature(trainer.epoch))
            chains = (
                best_chains(self.kb, self.spaces, self.shape, attentions, options.beam, self.longest, large)
                if wide and self.linked
                else None
            )
            attentions = attentions.map(lambda t: t.cpu())
        for g, space in enumerate(self.spaces):
            for restart in range(options.restarts):
                member = g * options.restarts + restart
                reader = Reader.of(self.kb, space, self.shape, attentions, member, self.linked, self.longest, large)
                self._keep(g, usable([reader.argmax()], large))
                if chains is not None:
                    self._keep_chains(g, reader.head, chains[member], large)
                elif wide:
                    self._keep(g, usable(reader.beam(options.beam), large))
                random = np.random.default_rng((options.seed, 3, space.target, restart, trainer.epoch))
                self._keep(g, usable(reader.samples(options.samples, random), large))

    def _keep(self, g: int, rules: Iterable[Rule]) -> None:
        for rule in rules:
            self.found[g].setdefault(rule)

    def _keep_chains(self, g: int, head: Head, chains: Iterable[Chain], large: bool) -> None:
        """Restarts and readings propose mostly the same chains; each is made a rule once."""
        for chain in chains:
            if chain not in self.said[g]:
                self.said[g].add(chain)
                self._keep(g, usable_chain(self.kb, head, chain, large))

    def best_member(self, trainer: Trainer, g: int) -> int:
        """The restart with the smallest validation loss."""
        restarts = self.options.restarts
        if not trainer.history:
            return g * restarts
        mine = trainer.history[-1].valid_loss[g * restarts : (g + 1) * restarts]
        return g * restarts + int(np.argmin(np.nan_to_num(mine, nan=np.inf)))

    def history(self, trainer: Trainer) -> list[dict[str, Any]]:
        """For each target and epoch its best restart."""
        rows = []
        for g, target in enumerate(self.targets):
            m = self.best_member(trainer, g)
            rows += [
                {
                    "target": str(self.kb.predicates[target]),
                    "epoch": row.epoch,
                    "loss": float(row.loss[m]),
                    "valid_loss": float(row.valid_loss[m]),
                    "valid_f1": float(row.valid_f1[m]),
                    "entropy": float(row.entropy[m]),
                    "temperature": row.temperature,
                }
                for row in trainer.history
            ]
        return rows

    def attentions(self, trainer: Trainer) -> dict[str, np.ndarray]:
        """The best restart of each target, by names such as `uncle/2|operators`."""
        with torch.no_grad():
            tensors = trainer.stack.attentions(trainer.temperature(trainer.epoch)).tensors()
        return {
            f"{self.kb.predicates[t]}|{name}": tensor[self.best_member(trainer, g)].cpu().numpy()
            for g, t in enumerate(self.targets)
            for name, tensor in tensors.items()
        }

    # what a checkpoint keeps beside the trainer -------------------------------------------------------

    def texts(self) -> list[list[str]]:
        for rules in self.found:
            self.written.update((rule, rule_text(rule)) for rule in rules if rule not in self.written)
        return [[self.written[rule] for rule in rules] for rules in self.found]

    def load(self, texts: Sequence[Sequence[str]]) -> None:
        self.found = [{parse_rule(text): None for text in rules} for rules in texts]
        self.said = [set() for _ in texts]


def _member_seed(seed: int, target: int, restart: int) -> int:
    """One number for each member, whatever else is in the stack."""
    return int(np.random.SeedSequence((seed, target, restart)).generate_state(1)[0])
