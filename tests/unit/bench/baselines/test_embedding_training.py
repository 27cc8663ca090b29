"""The epochs of TransE and RotatE: negatives, loss, learning rate. Skipped where the extra `kge` is not installed."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
import torch

from nlil_bench.baselines.embeddings import LAST_RATE, Embedding, EmbeddingSettings, EmbeddingTrainer, RotatE, TransE

pytestmark = pytest.mark.skipif(
    find_spec("pykeen") is None,
    reason="PyKEEN is not installed: the training of TransE and RotatE is NOT tested; pip install 'nlil[kge]'",
)
ENTITIES = 6
TRIPLES = torch.tensor([[0, 0, 1], [1, 0, 2], [2, 1, 3], [3, 1, 4], [4, 0, 5], [5, 1, 0], [0, 1, 2]])


def trainer(kind: type[Embedding] = TransE, negatives: int = 4) -> EmbeddingTrainer:
    from pykeen.triples import CoreTriplesFactory

    model = kind(EmbeddingSettings(dim=4))._untrained(CoreTriplesFactory(TRIPLES, ENTITIES, 2), 0)
    return EmbeddingTrainer(model, TRIPLES, lr=0.1, epochs=4, batch=5, negatives=negatives, seed=0)


def test_negatives_are_all_entities_but_the_own() -> None:
    own = torch.arange(ENTITIES)
    drawn = trainer(negatives=500).others(own)
    assert drawn.shape == (ENTITIES, 500)
    for entity, row in zip(own.tolist(), drawn):
        assert set(row.tolist()) == set(range(ENTITIES)) - {entity}


@pytest.mark.parametrize("kind", [TransE, RotatE])
@pytest.mark.parametrize("size", [1, 2, 7])
def test_the_loss_is_that_of_pykeen_on_facts_written_out(kind: type[Embedding], size: int) -> None:
    made, again = trainer(kind), trainer(kind)
    facts = TRIPLES[:size]
    half = (size + 1) // 2
    written = facts[:, None].repeat(1, 4, 1)
    written[:half, :, 0] = again.others(facts[:half, 0])
    written[half:, :, 2] = again.others(facts[half:, 2])
    scores = again.model.score_hrt(written.reshape(-1, 3)).reshape(size, 4)
    expected = again.model.loss.process_slcwa_scores(again.model.score_hrt(facts), scores)
    torch.testing.assert_close(made.loss(facts), expected)


def test_an_epoch_sees_every_fact_once_and_the_rate_falls_to_its_last(monkeypatch: pytest.MonkeyPatch) -> None:
    made = trainer()
    seen: list[list[int]] = []
    plain = EmbeddingTrainer.loss

    def noted(self: EmbeddingTrainer, facts: torch.Tensor) -> torch.Tensor:
        seen.extend(facts.tolist())
        return plain(self, facts)

    monkeypatch.setattr(EmbeddingTrainer, "loss", noted)
    rates = []
    for _ in range(4):
        seen.clear()
        rates.append(made.optimiser.param_groups[0]["lr"])
        made.epoch()
        assert sorted(seen) == sorted(TRIPLES.tolist())
    assert rates == pytest.approx([0.1, 0.07, 0.04, 0.1 * LAST_RATE])


def test_rotations_keep_their_length() -> None:
    made = trainer(RotatE)
    before = made.model.relation_representations[0]().detach().clone()
    made.epoch()
    after = made.model.relation_representations[0]().detach()
    assert not torch.allclose(before, after)
    torch.testing.assert_close(after.abs(), torch.ones_like(after.abs()))
