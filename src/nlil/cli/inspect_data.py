"""nlil inspect DATA"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .session import Session, Source

if TYPE_CHECKING:
    from ..data.dataset import DataOptions, Dataset
    from ..datasets import Summary
    from ..scene.counts import SceneCounts


def inspect(session: Session, data: Source, *, settings: list[str] | None = None) -> None:
    """Show the size of a data set: facts, entities, predicates, splits, degrees.

    Args:
        session: The common options.
        data: The data set.
        settings (--set KEY=VALUE): A setting of the data: geometry, roles, drop, merge, min_count, num_classes, cuts.
    """
    from ..datasets import summarise

    dataset = session.read_data(data, session.seed or 0, chosen(settings or []))
    summary = summarise(dataset)
    document = summary.to_dict()
    document["predicate_labels"] = {
        p.name: dataset.kb.predicate_labels[p.name]
        for p in dataset.kb.predicates
        if p.name in dataset.kb.predicate_labels
    }
    session.show(document, *views(summary, dataset))


def chosen(settings: list[str]) -> DataOptions:
    """Return the data options of `settings`; other settings of `learn` raise ConfigError."""
    from ..config import LearnerConfig
    from ..data.dataset import KEYS
    from ..errors import ConfigError

    config = LearnerConfig().with_settings(settings)
    for setting in settings:
        key = setting.partition("=")[0].strip()
        if key not in KEYS:
            raise ConfigError(
                f"--set {setting}: expected a setting of the data ({', '.join(KEYS)}), got one of learning", key
            )
    return config.data_options()


def views(summary: Summary, dataset: Dataset) -> list[Any]:
    """Return tables of the `summary` and of the most frequent predicates."""
    from .render import pairs_table, table

    s = summary
    counts = {
        "training facts": by_arity(s.num_facts, s.num_unary_facts, s.num_binary_facts, s.num_wide_facts),
        "entities": s.num_entities,
        "predicates": by_arity(
            s.num_predicates, s.num_unary_predicates, s.num_binary_predicates, s.num_wide_predicates
        ),
        "splits": ", ".join(f"{name} {count:,}" for name, count in s.splits.items()),
        "facts per entity": "mean {mean:.1f}, median {median:g}, maximum {max:,}".format(**s.degree),
    }
    if s.num_weighted_facts:
        counts["soft facts"] = s.num_weighted_facts
    if s.scene is not None:
        counts |= scene_rows(s.scene)
    elif s.num_graphs > 1:
        counts["graphs"] = f"{s.num_graphs:,}"
    if s.negatives:
        counts["given negatives"] = ", ".join(f"{name} {count:,}" for name, count in s.negatives.items())
    counts["checksum"] = s.checksum[:16]
    labels = dataset.kb.predicate_labels
    columns = ("predicate", "label", "facts") if labels else ("predicate", "facts")
    rows = [(name, labels.get(name.rpartition("/")[0], ""), count) for name, count in s.top_predicates]
    shown = table(columns, rows if labels else [(name, count) for name, _, count in rows], right=("facts",))
    left = s.num_predicates - len(s.top_predicates)
    return [pairs_table(counts, s.name), shown, *([f"... and {left:,} more predicates"] if left > 0 else [])]


def by_arity(total: int, unary: int, binary: int, wide: int) -> str:
    """Return the number `total` and its parts: `unary`, `binary` and `wide` ones.

    >>> by_arity(3, 1, 2, 0), by_arity(4, 1, 2, 1)
    ('3 (1 unary, 2 binary)', '4 (1 unary, 2 binary, 1 of three or more arguments)')
    """
    more = f", {wide:,} of three or more arguments" if wide else ""
    return f"{total:,} ({unary:,} unary, {binary:,} binary{more})"


def scene_rows(scene: SceneCounts) -> dict[str, Any]:
    """Return the counts of the paper's Table 2, which has annotated facts, and the contents of the images of `scene`.

    Facts made from boxes are listed separately.
    """

    def by_split(parts: dict[str, int]) -> str:
        return ", ".join(f"{name} {count:,}" for name, count in parts.items())

    predicates = scene.num_classes + scene.num_attribute_predicates + scene.num_relation_predicates
    rows = {
        "annotated": f"{scene.num_facts:,} facts, {scene.num_objects:,} entities, {predicates:,} predicates "
        "(all splits)",
        "images": f"{scene.num_images:,}: {scene.num_related_images:,} with relations "
        f"({by_split(scene.related_images)}), {scene.num_unrelated_images:,} without",
        "objects": f"{scene.num_objects:,} of {scene.num_classes:,} classes ({by_split(scene.objects)})",
        "relations": f"{scene.num_relations:,} of {scene.num_relation_predicates:,} predicates "
        f"({by_split(scene.relations)})",
    }
    if scene.num_unlabelled_objects:
        rows["objects without a class"] = f"{scene.num_unlabelled_objects:,}"
    if scene.num_attributes:
        rows["attributes"] = (
            f"{scene.num_attributes:,} of {scene.num_attribute_predicates:,} predicates ({by_split(scene.attributes)})"
        )
    if scene.num_geometry_predicates:
        rows["made from boxes"] = (
            f"{scene.num_geometry_facts:,} training facts, {scene.num_geometry_predicates:,} predicates"
        )
    return rows
