"""nlil inspect DATA"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .session import Session

if TYPE_CHECKING:
    from ..data import Dataset, Summary


def inspect(
    session: Session,
    data: Annotated[str, typer.Argument(metavar="DATA", help="A built-in or catalogue name, or a path.")],
) -> None:
    """Count what is in a data set: facts, entities, predicates, splits, degrees."""
    from ..data import summarise
    from .opening import read_data

    dataset = read_data(session, data, session.seed or 0)
    summary = summarise(dataset)
    document = summary.to_dict()
    document["predicate_labels"] = {p.name: dataset.kb.predicate_labels[p.name] for p in dataset.kb.predicates
                                    if p.name in dataset.kb.predicate_labels}
    session.show(document, *views(summary, dataset))


def views(summary: Summary, dataset: Dataset) -> list[Any]:
    from .render import cells, pairs_table, plain_table

    s = summary
    counts = {
        "facts to learn from": f"{s.num_facts:,} ({s.num_unary_facts:,} unary, {s.num_binary_facts:,} binary)",
        "entities": s.num_entities,
        "predicates": f"{s.num_predicates:,} ({s.num_unary_predicates:,} unary, {s.num_binary_predicates:,} binary)",
        "splits": ", ".join(f"{name} {count:,}" for name, count in s.splits.items()),
        "facts at an entity": f"mean {s.degree.mean:.1f}, median {s.degree.median:g}, most {s.degree.max:,}",
    }
    if s.num_weighted_facts:
        counts["soft facts"] = s.num_weighted_facts
    if s.num_graphs > 1:
        counts["graphs"] = f"{s.num_graphs:,} with {s.num_classes:,} classes"
    if s.negatives:
        counts["given negatives"] = ", ".join(f"{name} {count:,}" for name, count in s.negatives.items())
    counts["checksum"] = s.checksum[:16]
    labels = dataset.kb.predicate_labels
    columns = ("predicate", "label", "facts") if labels else ("predicate", "facts")
    table = plain_table(*columns, right=("facts",))
    for name, count in s.top_predicates:
        label = [labels.get(name.rpartition("/")[0], "")] if labels else []
        table.add_row(*cells(name, *label, count))
    left = s.num_predicates - len(s.top_predicates)
    return [pairs_table(counts, s.name), table, *([f"... and {left:,} more predicates"] if left > 0 else [])]
