"""nlil evaluate RUN, nlil evaluate --rules FILE --data DATA"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError, DataError
from .opening import Opened, open_rules, open_run
from .session import Session

if TYPE_CHECKING:
    from ..evaluation import Metrics

SHOWN_PREDICATES = 30
PER_PREDICATE = ("mrr", "hits@1", "hits@10", "r@1", "r@5", "precision", "recall", "f1", "fixpoint_f1",
                 "num_queries")


def evaluate(
    session: Session,
    run: Annotated[Path | None, typer.Argument(metavar="[RUN]", help="A run folder.")] = None,
    split: Annotated[str, typer.Option(metavar="NAME", help="train, valid or test.")] = "test",
    rules: Annotated[Path | None, typer.Option(metavar="FILE", help="Rules written by hand or by another system: "
                                               "Prolog text or JSON.")] = None,
    data: Annotated[str | None, typer.Option(metavar="DATA", help="Apply the rules to this data.")] = None,
) -> None:
    """Measure how well the rules predict the facts of a split."""
    opened = choose(session, run, rules, data)
    metrics = measure(session, opened, split)
    document = metrics.to_dict()
    if not metrics.num_queries:
        session.note(f"{opened.dataset.name}: no {split} fact belongs to a target of these rules: no figures")
    for note in metrics.notes:
        session.note(f"{opened.dataset.name}: {note}")
    if run is not None and opened.is_own_data:
        keep(session, run, split, document)
    session.show({"data": opened.dataset.name, "split": split, **document}, *views(metrics, opened, split))


def choose(session: Session, run: Path | None, rules: Path | None, data: str | None) -> Opened:
    if (run is None) == (rules is None):
        raise ConfigError("evaluate needs a run folder, or --rules FILE together with --data DATA")
    if run is not None:
        return open_run(session, run, data)
    if data is None or rules is None:
        raise ConfigError("--rules needs the facts to apply the rules to; name them with --data")
    return open_rules(session, rules, data)


def measure(session: Session, opened: Opened, split: str) -> Metrics:
    from ..evaluation import evaluate as evaluate_rules

    dataset, config = opened.dataset, opened.config
    facts = dataset.splits[split]
    if not len(facts):
        raise DataError(f"{dataset.name} has no {split} facts; choose another split with --split")
    with session.progress() as progress:
        return evaluate_rules(opened.rules, dataset.kb, facts, splits=dataset.splits, split=split,
                              threads=config.threads, memory=config.memory, device=config.device,
                              progress=progress)


def keep(session: Session, run: Path, split: str, document: dict[str, Any]) -> None:
    """metrics.json is a convenience: a run folder that cannot be written to is no reason to lose the figures."""
    from ..learning.run import save_metrics

    try:
        save_metrics(run, split, document)
    except OSError as error:
        session.note(f"{run}: the figures were not kept there ({error.strerror})")


def views(metrics: Metrics, opened: Opened, split: str) -> list[Any]:
    from .render import cells, pairs_table, plain_table

    document = metrics.to_dict()
    overall = {key: value for key, value in document.items() if key not in ("per_predicate", "notes")}
    for key in ("seconds", "peak_memory_mb"):
        overall[key] = f"{overall[key]:,.1f}"
    tables: list[Any] = [pairs_table(overall, f"{opened.dataset.name}, {split}")]
    rows: dict[str, dict[str, Any]] = document.get("per_predicate") or {}
    if len(rows) > 1:
        columns = [key for key in PER_PREDICATE if any(key in row for row in rows.values())]
        table = plain_table("predicate", *columns, right=columns)
        order = sorted(rows, key=lambda name: (-rows[name]["num_queries"], name))
        for name in order[:SHOWN_PREDICATES]:
            label = opened.dataset.kb.predicate_labels.get(name.rpartition("/")[0], name)
            table.add_row(*cells(label, *[rows[name].get(key) for key in columns]))
        tables.append(table)
        if len(order) > SHOWN_PREDICATES:
            tables.append(f"{SHOWN_PREDICATES} of {len(order):,} predicates, those with most queries; --json has all")
    return tables
