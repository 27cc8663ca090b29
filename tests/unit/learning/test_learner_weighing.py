"""When the learner weighs kinds of rules, and that a run keeps what it found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from nlil.config import LearnerConfig
from nlil.data.facts import Facts, Splits
from nlil.data.kb import KnowledgeBase
from nlil.errors import RunError
from nlil.kernel.aggregation import KINDS, Aggregation
from nlil.learning.folder import sha256
from nlil.learning.learner import Learner
from nlil.learning.run import Learned, load_run, save_run

SIZE = 300


@pytest.fixture(scope="module")
def shifted() -> tuple[KnowledgeBase, Splits]:
    """Facts to learn from follow `one` edges, those to choose by follow two `half` edges."""
    rows = [(f"e{i}", "half", f"e{(i + 10) % SIZE}") for i in range(SIZE)]
    rows += [(f"e{i}", "one", f"e{(i + 7) % SIZE}") for i in range(SIZE)]
    rows += [(f"e{i}", "t", f"e{(i + 7) % SIZE}") for i in range(0, SIZE, 2)]
    rows += [(f"e{i}", "t", f"e{(i + 20) % SIZE}") for i in range(40)]
    kb = KnowledgeBase.from_facts(rows)
    entity = np.array([[kb.entities.id(f"e{i}"), kb.entities.id(f"e{(i + 20) % SIZE}")] for i in range(40, SIZE)])
    target = np.full(len(entity), kb.predicate_id(kb.predicate("t")), np.int32)
    return kb, Splits(kb.facts, Facts(target, *entity.T.astype(np.int32)))


def learned(kb: KnowledgeBase, splits: Splits | None, **settings: object) -> Learned:
    config = LearnerConfig().with_values(
        {
            "search": "count",
            "constants": False,
            "max_length": 2,
            "body": "one,half",
            "threads": 1,
            "hold_out": 0,
            **settings,
        }
    )
    return Learner(config).fit(kb, ["t"], splits)


def test_validation_facts_weigh_the_kinds(shifted: tuple[KnowledgeBase, Splits]) -> None:
    kb, splits = shifted
    weighing = learned(kb, splits).rules.aggregation.weighing
    assert len(weighing) == len(KINDS)
    assert weighing[KINDS.index("one-step chain")][0] < weighing[KINDS.index("longer chain")][0]


def test_kinds_are_left_alike_where_nobody_asks(shifted: tuple[KnowledgeBase, Splits]) -> None:
    kb, splits = shifted
    assert learned(kb, splits, weigh=False).rules.aggregation == Aggregation("noisy-or", 5)
    assert learned(kb, None).rules.aggregation == Aggregation("noisy-or", 5)
    assert learned(kb, Splits(kb.facts)).rules.aggregation == Aggregation("noisy-or", 5)
    assert learned(kb, splits, aggregation="max").rules.aggregation == Aggregation("max", 5)
    soft = kb.with_facts(replace(kb.facts, weight=np.ones(len(kb.facts), np.float32)))
    assert learned(soft, splits).rules.aggregation == Aggregation("noisy-or", 5)


def test_the_paper_weighs_nothing() -> None:
    assert LearnerConfig().weigh
    assert not LearnerConfig().with_values({"preset": "paper"}).weigh


def test_a_run_keeps_the_weighing(shifted: tuple[KnowledgeBase, Splits], tmp_path: Path) -> None:
    one = learned(*shifted)
    again = load_run(save_run(one, tmp_path / "run"))
    assert again.rules.aggregation == one.rules.aggregation
    assert hash(again.rules.aggregation) == hash(one.rules.aggregation)
    plain = learned(*shifted, weigh=False)
    assert load_run(save_run(plain, tmp_path / "plain")).rules.aggregation == Aggregation("noisy-or", 5)


def altered(path: Path, weighing: object) -> Path:
    """The run with another weighing in its rule file, as another version of nlil might have written it."""
    table = pq.read_table(path / "rules.parquet")
    metadata = json.loads(table.schema.metadata[b"nlil"])
    if weighing is None:
        del metadata["aggregation"]["weighing"]
    else:
        metadata["aggregation"]["weighing"] = weighing
    pq.write_table(table.replace_schema_metadata({"nlil": json.dumps(metadata)}), path / "rules.parquet")
    sums = json.loads((path / "checksums.json").read_text()) | {"rules.parquet": sha256(path / "rules.parquet")}
    (path / "checksums.json").write_text(json.dumps(sums))
    return path


def test_runs_without_a_weighing_are_read_and_wrong_ones_refused(
    shifted: tuple[KnowledgeBase, Splits], tmp_path: Path
) -> None:
    path = save_run(learned(*shifted), tmp_path / "run")
    assert load_run(altered(path, None)).rules.aggregation == Aggregation("noisy-or", 5)
    for wrong in ([[1, 1]], [[2, 1]] * len(KINDS), [[1]] * len(KINDS), ["a"] * len(KINDS), 7):
        with pytest.raises(RunError, match=r"weighing: expected .* learn again") as caught:
            load_run(altered(path, wrong))
        assert "\n" not in str(caught.value)
