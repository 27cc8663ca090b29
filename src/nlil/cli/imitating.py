"""nlil learn --target-scores FILE: rules that imitate a classifier, and how well they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, RunError

if TYPE_CHECKING:
    from ..data import Dataset
    from ..data.target_scores import TargetScores
    from ..evaluation.fidelity import Fidelity
    from ..kernel.ruleset import RuleSet
    from ..learning.config import LearnerConfig
    from ..learning.learner import Learned
    from ..logic.predicate import Predicate
    from ..progress import Progress, Stop

SHOWN = 8
"""Rows of a table of disagreements."""


@dataclass(frozen=True)
class Given:
    """What the classifier says, and the path and sha256 of the file that says it."""

    scores: TargetScores
    about: Mapping[str, str]

    def targets(self, dataset: Dataset) -> list[Predicate]:
        return [dataset.kb.predicates[c] for c in self.scores.classes]

    def learn(self, dataset: Dataset, config: LearnerConfig, progress: Progress, stop: Stop) -> Learned:
        from ..learning.imitation import learn_from_scores

        learned = learn_from_scores(dataset.kb, dataset.splits, self.scores, config, progress, stop)
        return replace(learned, target_scores=self.about)


def open_scores(path: Path | None, dataset: Dataset, targets: list[str] | None) -> Given | None:
    from ..data.target_scores import read_target_scores
    from ..learning.imitation import scores_file

    if path is None:
        return None
    if targets:
        raise ConfigError(
            "--target and --target-scores exclude each other: the classes in the file are the targets; "
            "leave the others out of it"
        )
    return Given(read_target_scores(path, dataset.kb), scores_file(path))


def check_same_scores(out: Path, learned: Learned, path: Path | None) -> None:
    """A complete run is left as it is only if these scores, or none, are what it was learned from."""
    from ..data.files import readable
    from ..learning.imitation import scores_file

    now: dict[str, str] = {}
    if path is not None:
        with readable(path):
            now = scores_file(path)
    if now.get("sha256") != learned.target_scores.get("sha256"):
        before = learned.target_scores.get("path", "none")
        raise RunError(
            f"was learned with other target scores ({before}, now {path or 'none'}); choose another folder "
            "or use --force",
            out,
        )


def fidelity_views(fidelity: Fidelity, rules: RuleSet) -> list[Any]:
    """Figures, what the two say where they disagree, and the objects where they disagree most."""
    from rich.text import Text

    from .render import cells, number, pairs_table, plain_table

    label = rules.predicate_labels
    figures: dict[str, Any] = {
        "agreement with the classifier (r@1)": fidelity["r@1"],
        "its class among the first five (r@5)": fidelity["r@5"],
        "cross-entropy": f"{number(fidelity['cross_entropy'])} (of the classifier's own scores: "
        f"{number(fidelity['entropy'])})",
    }
    for who, value in fidelity.accuracy.items():
        figures[f"accuracy of the {who}"] = f"{number(value)} ({fidelity.num_known:,} true classes known)"
    title = f"fidelity on {fidelity.num_objects:,} objects ({fidelity.held_out})"
    views: list[Any] = [pairs_table(figures, title)]
    if not fidelity.pairs:
        return [*views, Text("rules and classifier agree on every object")]

    def name(of_class: str | None) -> str:
        return "" if of_class is None else label.get(of_class, of_class)

    pairs = plain_table("classifier", "rules", "truth", "objects", title="where they disagree", right=("objects",))
    for pair in fidelity.pairs[:SHOWN]:
        pairs.add_row(*cells(name(pair["classifier"]), name(pair["rules"]), name(pair["truth"]), pair["count"]))
    objects = plain_table(
        "object",
        "classifier",
        "its score",
        "rules",
        "their score",
        "truth",
        "distance",
        title="objects where they disagree most",
        right=("its score", "their score", "distance"),
    )
    for row in fidelity.objects[:SHOWN]:
        shown = rules.entity_labels.get(row["object"], row["object"])
        objects.add_row(
            *cells(
                shown,
                name(row["classifier"]),
                row["classifier_score"],
                name(row["rules"]),
                row["rules_score"],
                name(row["truth"]),
                row["distance"],
            )
        )
    return [*views, pairs, objects]
