"""nlil evaluate RUN, nlil evaluate RUN --data OTHER, nlil evaluate --rules FILE --data DATA"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError, DataError
from .opening import Opened, open_rules, open_run
from .session import Session

if TYPE_CHECKING:
    from ..data import KnowledgeBase
    from ..evaluation import Calibration, Metrics

SHOWN_PREDICATES = 30
PER_PREDICATE = (
    "mrr",
    "hits@1",
    "hits@10",
    "r@1",
    "r@5",
    "precision",
    "recall",
    "f1",
    "fixpoint_f1",
    "auc",
    "accuracy",
    "num_queries",
)


def evaluate(
    session: Session,
    run: Annotated[Path | None, typer.Argument(metavar="[RUN]", help="A run folder.")] = None,
    split: Annotated[str, typer.Option(metavar="NAME", help="train, valid or test.")] = "test",
    rules: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Rules written by hand or by another system: Prolog text, JSON, or what AnyBURL or AMIE wrote.",
        ),
    ] = None,
    data: Annotated[str | None, typer.Option(metavar="DATA", help="Apply the rules to this data.")] = None,
    calibration: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw how well scores mean probabilities.")
    ] = None,
) -> None:
    """Measure how well the rules predict the facts of a split, and what their scores mean as probabilities."""
    opened = choose(session, run, rules, data)
    metrics = measure(session, opened, split)
    more: dict[str, Any] = left_out(run, opened.dataset.kb) if run is not None and data is not None else {}
    more |= {"left_out": dict(opened.left_out)} if opened.left_out else {}
    more |= calibrated(session, opened, run, split, calibration)
    document = metrics.to_dict() | more
    if not metrics.num_queries:
        session.note(f"{opened.dataset.name}: no {split} fact belongs to a target of these rules: no figures")
    for note in metrics.notes:
        session.note(f"{opened.dataset.name}: {note}")
    if run is not None and opened.is_own_data:
        keep(session, run, split, document)
    session.show({"data": opened.dataset.name, "split": split, **document}, *views(metrics, opened, split, more))


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
        return evaluate_rules(
            opened.rules,
            dataset.kb,
            facts,
            splits=dataset.splits,
            split=split,
            threads=config.threads,
            memory=config.memory,
            device=config.device,
            progress=progress,
        )


def keep(session: Session, run: Path, split: str, document: dict[str, Any]) -> None:
    """metrics.json is a convenience: a run folder that cannot be written to is no reason to lose the figures."""
    from ..learning.run import save_metrics

    try:
        save_metrics(run, split, document)
    except OSError as error:
        session.note(f"{run}: the figures were not kept there ({error.strerror})")


def left_out(run: Path, kb: KnowledgeBase) -> dict[str, int]:
    """How many rules and exclusions of a run other data cannot say; `open_run` says so to people."""
    from ..kernel.binding import bind
    from ..learning.run import load_run

    bound = bind(load_run(run).rules, kb)
    return {
        "left_out_unknown_constant": bound.unknown_constant,
        "left_out_unknown_predicate": bound.unknown_predicate,
        "left_out_exclusions": bound.unknown_exclusion,
    }


def calibrated(session: Session, opened: Opened, run: Path | None, split: str, picture: Path | None) -> dict[str, Any]:
    """The figures of `calibration_figures`, and the reliability plot where one is asked for."""
    from ..evaluation import calibration_figures, scored_candidates

    config, dataset = opened.config, opened.dataset
    if split == "train":
        if picture is not None:
            raise ConfigError("--calibration needs facts that the rules have not seen; choose --split valid or test")
        return {}
    if opened.rules.aggregation.unit:
        # Scores that only order the classes of an object: as probabilities they would say nothing.
        if picture is not None:
            raise ConfigError(
                "--calibration draws scores as probabilities, but the scores of rules that were weighed "
                "together (joint=on) only order classes; nlil explain RUN OBJECT gives probabilities"
            )
        return {}
    with session.progress() as progress:
        found = calibration_of(session, opened, run)
        candidates = scored_candidates(
            opened.rules,
            dataset.kb,
            dataset.splits,
            split,
            seed=config.seed,
            threads=config.threads,
            memory=config.memory,
            progress=progress,
        )
    # Rules that are applied elsewhere keep the map of what they were learned from.
    is_own_sample = split == "valid" and (run is None or opened.is_own_data)
    if picture is not None:
        from ..evaluation.reliability_plot import plot_reliability

        if not len(candidates):
            raise DataError(f"{dataset.name}: no rule reaches a candidate of a {split} fact: there is nothing to draw")
        plot_reliability(candidates, found, picture, f"{dataset.name}, {split}", is_own_sample)
        session.note(f"reliability plot: {picture}")
    if found is None and len(candidates):
        session.note(
            f"{dataset.name}: scores are not calibrated, as there are no validation facts or too few of them "
            "are reached; brier and ece are those of the scores"
        )
    return calibration_figures(candidates, found, is_own_sample)


def calibration_of(session: Session, opened: Opened, run: Path | None) -> Calibration | None:
    """What the run keeps; else fitted on the validation facts of this data, and kept if it is the run's own.

    Rules that are applied elsewhere keep the map of what they were learned from.
    """
    from ..learning.calibrating import calibrate, load_calibration, save_calibration
    from ..learning.run import load_info

    kept = load_calibration(run) if run is not None else None
    if kept is not None or (run is not None and not opened.is_own_data):
        return kept
    info = None if run is None else load_info(run)
    # Not the seed of this call: what a run keeps follows from the run alone.
    seed = opened.config.seed if info is None else info.seed
    found = calibrate(opened.rules, opened.dataset, seed, opened.config.threads, opened.config.memory)
    if run is not None and info is not None and found is not None and info.checksum == opened.dataset.checksum:
        try:
            save_calibration(run, found)
        except OSError as error:
            session.note(f"{run}: the calibration was not kept there ({error.strerror})")
    return found


def views(metrics: Metrics, opened: Opened, split: str, more: Mapping[str, Any] | None = None) -> list[Any]:
    """The figures overall, with `more` beside them, and those of each predicate."""
    from .render import cells, pairs_table, plain_table

    document = metrics.to_dict() | dict(more or {})
    overall = {key: value for key, value in document.items() if key not in ("per_predicate", "notes", "left_out")}
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
