"""Training: it can be cut anywhere, members do not see each other, it ends when nothing improves, it learns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from soft_cases import predicate_id

from nlil.config import LearnerConfig
from nlil.data.kb import KnowledgeBase
from nlil.datasets.planted import planted
from nlil.learning.checkpoint import Checkpoint
from nlil.neural.generator import HELD_STEPS
from nlil.neural.paths import QueryPaths, attention_graph
from nlil.neural.sampling import Sampler
from nlil.neural.search import MemberGroup
from nlil.neural.training import Trainer
from nlil.neural.vocabulary import Surroundings
from nlil.progress import Stop

SMALL: dict[str, Any] = {
    "steps": 1,
    "heads": 1,
    "levels": 1,
    "formulas": 2,
    "restarts": 2,
    "positives": 40,
    "dim": 8,
    "attention_heads": 2,
    "layers": 2,
    "recursive": False,
}
NAMES = ("loss", "valid_loss", "valid_f1", "entropy")


@pytest.fixture(scope="module")
def chain() -> KnowledgeBase:
    return planted("chain", size=60).kb


def trainer_of(kb: KnowledgeBase, *targets: str, **settings: Any) -> Trainer:
    options = LearnerConfig(**{**SMALL, **settings})
    surroundings = Surroundings(kb)
    spaces = [surroundings.space(predicate_id(kb, name), options) for name in targets]
    return MemberGroup(kb, attention_graph(kb), spaces, options).prepare(Sampler(kb, options))


def bits(trainer: Trainer) -> dict[str, bytes]:
    found = {name: tensor.numpy().tobytes() for name, tensor in trainer.stack.state().items()}
    for row in trainer.history:
        found |= {f"{row.epoch} {name}": getattr(row, name).tobytes() for name in NAMES}
        found[f"{row.epoch} temperature"] = np.float64(row.temperature).tobytes()
    return found


@pytest.mark.parametrize("generator", ["transformer", "free"])
@pytest.mark.parametrize("cut", [1, 6])
def test_cut_and_continued_it_ends_with_the_same_bits(
    generator: str, cut: int, chain: KnowledgeBase, tmp_path: Path
) -> None:
    def new() -> Trainer:
        trainer = trainer_of(chain, "works_in", generator=generator, batch=48, epochs=8, patience=3)
        assert len(trainer.blocks) > 1, "the order of the blocks is part of what must come back"
        return trainer

    whole, part, going_on = new(), new(), new()
    whole.run(lambda trainer: None)
    for _ in range(cut):
        part.step()
    Checkpoint(tmp_path / "checkpoint", {}).save("train", *part.state())
    saved = bits(part)
    part.step()  # what happens later must not reach what was saved
    loaded = Checkpoint(tmp_path / "checkpoint", {}).load("train")
    assert loaded is not None
    going_on.load(*loaded)
    assert going_on.epoch == cut
    assert bits(going_on) == saved
    going_on.run(lambda trainer: None)
    assert going_on.epoch == whole.epoch
    assert bits(going_on) == bits(whole)
    assert going_on.best.tolist() == whole.best.tolist()
    assert going_on.waited.tolist() == whole.waited.tolist()
    assert going_on.done


def test_patience_is_part_of_what_is_saved(chain: KnowledgeBase) -> None:
    """Nothing can improve here, so that there is some waiting to remember."""
    one, other = (
        trainer_of(chain, "works_in", generator="free", score_rate=1e-12, temperature=1.0, squash="sigmoid")
        for _ in range(2)
    )
    for _ in range(15):
        one.step()
    assert (one.waited > 0).all()
    other.load(*one.state())
    assert other.waited.tolist() == one.waited.tolist()
    assert other.best.tolist() == one.best.tolist()


def test_seeds_decide_everything(chain: KnowledgeBase) -> None:
    runs = [trainer_of(chain, "works_in", seed=seed) for seed in (0, 0, 1)]
    for trainer in runs:
        trainer.step()
    assert bits(runs[0]) == bits(runs[1]) != bits(runs[2])


@pytest.mark.parametrize("generator", ["transformer", "free"])
def test_a_target_learns_the_same_alone_and_beside_another(generator: str, chain: KnowledgeBase) -> None:
    """One has fewer queries than the other, so it is padded; all of them fit in one block."""
    names = ("works_in", "likes")
    facts = chain.facts
    keep = (facts.predicate != predicate_id(chain, "likes")) | (facts.subject % 3 == 0)
    kb = chain.with_facts(facts[keep])

    def trained(*targets: str) -> Trainer:
        # Rounding differs with the padding; a Transformer with residual scores at a high rate makes more of it.
        score_rate = 0.3 if generator == "free" else 0.1
        trainer = trainer_of(kb, *targets, generator=generator, rate=0.01, score_rate=score_rate, epochs=15, batch=256)
        for _ in range(15):
            trainer.step()
        return trainer

    together = trained(*names)
    assert not together.blocks[0].paths.real.all()
    for g, name in enumerate(names):
        alone = trained(name)
        members = slice(2 * g, 2 * g + 2)
        for one, both in zip(alone.history, together.history, strict=True):
            for column in NAMES:
                np.testing.assert_allclose(
                    getattr(one, column),
                    getattr(both, column)[members],
                    atol=2e-4,
                    err_msg=f"{name} {column} after epoch {one.epoch}",
                )
        losses = np.array([row.loss for row in alone.history])
        assert (np.ptp(losses, 0) > 2e-3).all(), "there was something to learn"
        assert np.ptp(losses[-1]) > 4e-4, "restarts differ"


def test_it_ends_when_nothing_improves(chain: KnowledgeBase) -> None:
    """Steps too small to change anything: as soon as the temperature is at its last value."""
    still: dict[str, Any] = {"generator": "free", "score_rate": 1e-12, "epochs": 40}
    trainer = trainer_of(chain, "works_in", patience=3, temperature=1.0, **still)
    trainer.run(lambda trainer: None)
    assert trainer.epoch < 40
    assert trainer.done
    patient = trainer_of(chain, "works_in", patience=1000, temperature=1.0, **still)
    patient.run(lambda trainer: None)
    assert patient.epoch == 40


def test_it_does_not_end_before_the_attentions_have_concentrated(chain: KnowledgeBase) -> None:
    trainer = trainer_of(chain, "works_in", generator="free", score_rate=1e-12, patience=1, epochs=20, temperature=0.2)
    trainer.waited[:] = 1000
    assert not trainer.done
    trainer.run(lambda trainer: None)
    temperatures = [row.temperature for row in trainer.history]
    assert temperatures[0] > 0.5
    assert temperatures == sorted(temperatures, reverse=True)
    assert min(temperatures) < 0.3


def test_stop_ends_it_after_the_epoch(chain: KnowledgeBase) -> None:
    stop = Stop()
    trainer = trainer_of(chain, "works_in", epochs=9)
    trainer.run(lambda trainer: stop.set() if trainer.epoch == 3 else None, stop)
    assert trainer.epoch == 3
    assert not trainer.done


@pytest.mark.parametrize(("generator", "squash"), [("transformer", "clamp"), ("free", "clamp"), ("free", "sigmoid")])
def test_loss_and_entropy_fall_on_a_planted_chain(generator: str, squash: str, chain: KnowledgeBase) -> None:
    trainer = trainer_of(
        chain, "works_in", generator=generator, squash=squash, levels=0, restarts=4, epochs=40, rate=0.003
    )
    trainer.run(lambda trainer: None)
    first, last = trainer.history[0], trainer.history[-1]
    assert last.loss.min() < (0.6 if squash == "clamp" else 0.97) * first.loss.min()
    assert last.valid_loss.min() < first.valid_loss.min()
    assert last.entropy.mean() < 0.8 * first.entropy.mean()
    if squash == "clamp":
        assert last.valid_f1.max() == 1.0, "the largest choices are the planted rule"


def test_positives_weigh_as_much_as_negatives(chain: KnowledgeBase) -> None:
    trainer = trainer_of(chain, "works_in", "likes", negatives=5.0)
    for block in trainer.blocks:
        label, weight = block.label, block.weight
        assert torch.allclose((weight * (label == 1)).sum(1), torch.tensor(0.5))
        assert torch.allclose((weight * (label == 0)).sum(1), torch.tensor(0.5))
        assert (weight[~block.paths.real] == 0).all()


def test_every_few_epochs_the_oldest_block_is_drawn_anew(chain: KnowledgeBase) -> None:
    trainer = trainer_of(chain, "works_in", batch=48, epochs=20, fresh=2, generator="free")
    count = len(trainer.blocks)
    assert count > 1
    seen = list(trainer.blocks)
    for epoch in range(1, 2 * count + 2):
        trainer.step()
        new = [one is not two for one, two in zip(trainer.blocks, seen)]
        assert sum(new) == (epoch - 1) // 2
    assert trainer_of(chain, "works_in", batch=48, epochs=20, fresh=0).fresh is None


@pytest.mark.parametrize("generator", ["transformer", "free"])
def test_little_memory_changes_no_bit(generator: str, chain: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Restarts are evaluated one after the other where they do not fit together."""
    settings = {"generator": generator, "restarts": 3, "epochs": 5, "threads": 1}
    whole = trainer_of(chain, "works_in", "likes", **settings)
    assert len(whole._pieces(whole.blocks[0].paths)) == 1
    for _ in range(5):
        whole.step()
    monkeypatch.setattr(QueryPaths, "bytes_of_restart", 2**30)
    apart = trainer_of(chain, "works_in", "likes", **settings)
    assert apart._pieces(apart.blocks[0].paths) == [slice(0, 2), slice(2, 3)]
    for _ in range(5):
        apart.step()
    assert bits(whole) == bits(apart)


def test_a_transformer_moves_every_few_steps_and_residual_scores_at_each(chain: KnowledgeBase) -> None:
    trainer = trainer_of(chain, "works_in", generator="transformer", batch=1000)
    assert len(trainer.blocks) == 1
    assert trainer.stack.held_steps == HELD_STEPS

    def moved(before: dict[str, torch.Tensor]) -> tuple[set[bool], set[bool]]:
        now = trainer.stack.state()
        same = {name: torch.equal(t, before[name]) for name, t in now.items()}
        free = {name for name in now if name.startswith("residual.")}
        return {same[name] for name in now if name not in free}, {same[name] for name in free}

    for step in range(1, 2 * HELD_STEPS + 1):
        before = trainer.stack.state()
        trainer.step()
        weights, residual = moved(before)
        assert residual == {False}
        assert (weights == {True}) == (step % HELD_STEPS > 0)


def test_the_restart_whose_rule_is_right_comes_first(chain: KnowledgeBase) -> None:
    """Whatever the losses of attentions that are still spread say."""
    trainer = trainer_of(chain, "works_in", generator="free", restarts=6, epochs=40, score_rate=0.1, levels=0)
    trainer.run(lambda trainer: None)
    losses = trainer._rule_losses().numpy()
    first = trainer.order()[0]
    assert losses[first].tolist() == sorted(losses.tolist())
    trainer.history[-1].loss[:] = -losses
    assert trainer.order()[0].tolist() == first.tolist() or len(set(losses.tolist())) < len(losses)
    assert trainer.solved == bool(losses.min() < 0.01)
