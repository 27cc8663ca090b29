"""Rules that imitate a classifier: its classes are the targets, and its output is the label of an object.

The true classes of an object are hidden, those of its neighbours are given. Objects without a score are not used for
learning. Fidelity is measured on scored objects of the test split; without any, on a tenth of the scored graphs (or of
the entities, if there are no graphs), which are held out.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..config import LearnerConfig
from ..data.arrays import Mask
from ..data.dataset import Dataset
from ..data.facts import Splits
from ..data.files import readable
from ..data.kb import KnowledgeBase
from ..data.target_scores import TargetScores, matrix_scores, read_target_scores, target_scores
from ..errors import ConfigError, DataError, RunError
from ..evaluation.fidelity import measure_fidelity
from ..kernel.ruleset import RuleSet
from ..progress import Progress, Stop, silent
from .folder import sha256
from .joint import class_rules, without_roles
from .missing_rules import body_facts
from .run import Learned

HELD_OUT = 0.1
"""Share of the scored graphs to hold out if no object of the test split has a score."""
BATCH = 4096
"""Rows per call of a PyTorch module."""


def imitate(
    model: Any,
    data: Dataset | KnowledgeBase,
    features: Any = None,
    entities: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    *,
    splits: Splits | None = None,
    config: LearnerConfig | None = None,
    progress: Progress = silent,
    stop: Stop | None = None,
    **settings: Any,
) -> Learned:
    """Return rules that imitate `model`, with their `fidelity`; `settings` are those of LearnerConfig.

    `model` has predict_proba and classes_ (scikit-learn), or is a PyTorch module that returns logits (name its
    `classes`); `features` has a row for each of `entities`, or maps entities to rows, or is a pandas table with
    entities as its index. Without features, `model` is the scores themselves: a file, a table of entity, class, score,
    or an array with a row for each of `entities` and a column for each of `classes`. `data` is a data set or its
    training facts; in the latter case `splits` may have the other facts. `config` replaces the default settings,
    `progress` receives reports of progress, `stop` ends the work early.
    """
    kb, given_splits = (data.kb, data.splits) if isinstance(data, Dataset) else (data, None)
    chosen = (config or LearnerConfig()).with_values(settings) if settings else config or LearnerConfig()
    scores, about = scores_of(model, kb, features, entities, classes)
    learned = learn_from_scores(kb, splits or given_splits, scores, chosen, progress, stop)
    return replace(learned, target_scores=about)


def learn_from_scores(
    kb: KnowledgeBase,
    splits: Splits | None,
    scores: TargetScores,
    config: LearnerConfig,
    progress: Progress = silent,
    stop: Stop | None = None,
) -> Learned:
    """Do the work of `imitate`, given the `scores`."""
    started = time.monotonic()
    stop = stop or Stop(config.time_limit)
    if not kb.classes:  # on a plain base, hide the classifier's classes together
        kb = replace(kb, classes=frozenset(scores.classes.tolist()))
    kb = without_roles(kb, [kb.predicates[c] for c in scores.classes], config.roles, joint=True)
    train, world, judged, held_out = parts(kb, splits, scores, config.seed)
    rules = class_rules(kb, body_facts(kb, config), scores.classes, config, progress, stop, train)
    fidelity = measure_fidelity(rules, kb, train, world, judged, held_out, config.threads, config.memory, progress)
    fidelity = replace(fidelity, formulas=formula_fidelity(rules, kb, train, world, judged, config, progress))
    targets = tuple(kb.predicates[c] for c in scores.classes)
    return Learned(
        rules,
        config,
        targets,
        stop.cut,
        {},
        time.monotonic() - started,
        notes=_notes(scores, train, judged),
        fidelity=fidelity,
    )


def formula_fidelity(
    rules: RuleSet,
    kb: KnowledgeBase,
    trained: TargetScores,
    world: KnowledgeBase,
    tested: TargetScores,
    config: LearnerConfig,
    progress: Progress = silent,
) -> tuple[dict[str, Any], ...]:
    """Return one formula for each class with its fidelity, most frequent class first.

    The formula comes from training (search=neural); otherwise it is the disjunction of the few bodies that best explain
    which objects the classifier assigns to the class. Precision, recall and F1 are measured on held-out objects.

    Args:
        rules: the rules that imitate the classifier.
        kb: the facts about the training objects.
        trained: the scores of the training objects.
        world: the facts about the held-out objects.
        tested: the scores of the held-out objects.
        config: threads and memory.
        progress: receives the number of finished classes.
    """
    from ..scene.class_formulas import class_formulas, formulas_hold

    count = np.bincount(trained.top, minlength=len(trained.classes))
    targets = [kb.predicates[trained.classes[c]] for c in np.argsort(-count, kind="stable") if count[c]]
    found = class_formulas(
        rules, kb, targets, threads=config.threads, memory=config.memory, progress=progress, given=trained
    )
    if not found:
        return ()
    holds = formulas_hold(found, world, tested.entities, config.threads, config.memory)
    documents = []
    for one, covered in zip(found, holds.T):
        is_member = tested.says(kb.predicate_id(one.rule.target))
        support, size, members = int((covered & is_member).sum()), int(covered.sum()), int(is_member.sum())
        documents.append(
            {
                "class": one.rule.target.name,
                "formula": str(one.rule),
                "num_bodies": one.num_bodies,
                "precision": support / max(size, 1),
                "recall": support / max(members, 1),
                "f1": 2 * support / max(size + members, 1),
                "num_objects": members,
            }
        )
    return tuple(documents)


def scores_file(path: Path) -> dict[str, str]:
    """Return what a run records about the file of scores: path and checksum."""
    return {"path": str(path.expanduser().resolve()), "sha256": sha256(path)}


def check_same_scores(run: Path, learned: Learned, path: Path | None) -> None:
    """Raise RunError unless the complete run was learned from the scores at `path` (None: without scores)."""
    now: dict[str, str] = {}
    if path is not None:
        with readable(path):
            now = scores_file(path)
    if now.get("sha256") != learned.target_scores.get("sha256"):
        before = learned.target_scores.get("path", "none")
        raise RunError(
            f"was learned with other target scores ({before}, now {path or 'none'}); choose another folder "
            "or use --force",
            run,
        )


def parts(
    kb: KnowledgeBase, splits: Splits | None, scores: TargetScores, seed: int
) -> tuple[TargetScores, KnowledgeBase, TargetScores, str]:
    """Return (scores to learn from, base of the held-out objects, their scores, a description of them).

    `scores` are all scores of the classifier; `seed` chooses the objects to hold out if `splits` has none.
    """
    here = kb.domain[scores.entities]
    if not here.any():
        raise DataError(
            f"target scores: expected scores of objects to learn from, got {len(scores):,} of other splits "
            "only; score the training objects too"
        )
    context = splits.context.get("test") if splits is not None else None
    if context is not None:
        world = kb.with_facts(context)
        there = world.domain[scores.entities] & ~here
        if there.any():
            return scores.take(here), world, scores.take(there), "test split"
    held, what = _held_out(kb, scores, here, seed)
    return scores.take(here & ~held), kb, scores.take(held), what


def _held_out(kb: KnowledgeBase, scores: TargetScores, here: Mask, seed: int) -> tuple[Mask, str]:
    group = scores.entities if kb.graph_of is None else kb.graph_of[scores.entities]
    what = "entities" if kb.graph_of is None else "graphs"
    groups = np.unique(group[here])
    if len(groups) < 2:
        raise DataError(
            f"target scores: expected two scored {what} or more, one of them to measure fidelity on, got {len(groups)}"
        )
    chosen = np.random.default_rng(seed).permutation(groups)[: max(1, int(len(groups) * HELD_OUT))]
    return here & np.isin(group, chosen), f"{len(chosen):,} of {len(groups):,} scored {what}"


def _notes(scores: TargetScores, train: TargetScores, judged: TargetScores) -> tuple[str, ...]:
    unused = len(scores) - len(train) - len(judged)
    return (f"target scores of {unused:,} objects of other splits are not used",) if unused else ()


# from models to scores --------------------------------------------------------------------------------


def scores_of(
    model: Any,
    kb: KnowledgeBase,
    features: Any = None,
    entities: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
) -> tuple[TargetScores, dict[str, str]]:
    """Return the scores of the `model`, and `scores_file` if it is a file.

    The arguments are those of `imitate`: `features`, `entities`, `classes`.
    """
    if isinstance(model, TargetScores):
        return model, {}
    if isinstance(model, str | Path):
        return read_target_scores(Path(model), kb), scores_file(Path(model))
    if features is None and not hasattr(model, "predict_proba") and not _is_module(model):
        if not isinstance(model, np.ndarray):
            return target_scores(model, kb), {}
        if entities is None or classes is None:
            raise ConfigError(
                "imitate: an array of scores needs the names of its rows and columns; give entities=... and classes=..."
            )
        return matrix_scores(model, list(entities), list(classes), kb), {}
    if features is None:
        raise ConfigError("imitate: a model needs features; give features=..., a row for each entity")
    rows, names = _rows(features, entities)
    if hasattr(model, "predict_proba"):
        found = getattr(model, "classes_", None) if classes is None else classes
        if found is None:
            raise ConfigError("imitate: the model has no classes_; name its classes with classes=...")
        return matrix_scores(model.predict_proba(rows), names, [str(c) for c in found], kb), {}
    if not _is_module(model):
        raise ConfigError(
            "imitate: expected a model with predict_proba, a PyTorch module or a table of scores, got "
            f"{type(model).__name__}"
        )
    if classes is None:
        raise ConfigError("imitate: a PyTorch module does not name its classes; give classes=..., one for each logit")
    return matrix_scores(_probabilities(model, rows), names, list(classes), kb), {}


def _is_module(model: Any) -> bool:
    from torch import nn

    return isinstance(model, nn.Module)


def _rows(features: Any, entities: Sequence[str] | None) -> tuple[Any, list[str]]:
    """Return (rows for the model, the entity of each)."""
    if isinstance(features, Mapping):
        names = [str(e) for e in (features if entities is None else entities)]
        absent = [name for name in names if name not in features]
        if absent:
            raise DataError(
                f"features: expected a row for each entity, got none for {len(absent):,}, {absent[0]!r} among them"
            )
        return np.stack([np.asarray(features[name]) for name in names]), names
    if entities is None and hasattr(features, "index") and hasattr(features, "to_numpy"):
        entities = [str(e) for e in features.index]
    if entities is None:
        raise ConfigError("imitate: features have no names of entities; give entities=..., one for each row")
    if len(entities) != len(features):
        raise DataError(f"features: expected {len(entities):,} rows, one for each entity, got {len(features):,}")
    return features, [str(e) for e in entities]


def _probabilities(module: Any, rows: Any) -> np.ndarray:
    """Return the softmax of the logits, in evaluation mode; the mode of the module is restored."""
    import torch

    first = next(iter(module.parameters()), torch.zeros(0))
    numbers = rows if isinstance(rows, torch.Tensor) else torch.from_numpy(np.asarray(rows, np.float32))
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            parts = [module(some.to(first.device)).double().softmax(dim=-1).cpu() for some in numbers.split(BATCH)]
    finally:
        module.train(was_training)
    return np.clip(torch.cat(parts).numpy(), 0.0, 1.0)
