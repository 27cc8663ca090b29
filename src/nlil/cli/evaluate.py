"""nlil evaluate RUN, nlil evaluate RUN --data OTHER, nlil evaluate --rules FILE --data DATA"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import ConfigError, DataError, RunError
from .session import AppliedRun, Bounds, Session, Written, sentence

if TYPE_CHECKING:
    from ..data.dataset import Dataset
    from ..evaluation.metrics import Metrics
    from ..learning.opening import Applied, OpenedRun

SHOWN_PREDICATES = 30


def evaluate(
    session: Session,
    run: Path | None = None,
    *,
    split: str = "test",
    rules: Path | None = None,
    data: str | None = None,
    calibration: Annotated[Path | None, Written()] = None,
    theory: bool = False,
    size: Annotated[int | None, Bounds(1)] = None,
    cluster: str | None = None,
) -> None:
    """Measure how well the rules predict the facts of a split, and how well their scores are calibrated.

    Args:
        session: The common options.
        run ([RUN]): A run folder.
        split (NAME): train, valid or test.
        rules (FILE): Rules written by hand or by another system: Prolog, JSON, or the output of AnyBURL or AMIE.
        data (DATA): Apply the rules to this data.
        calibration (FILE.png): Draw a reliability plot.
        cluster (ADDRESS): Work on a Ray cluster: ray (this machine alone) or ray://HOST:PORT. Same figures.
        theory: Use only the theories of the run: a few rules for each target (see: nlil theory).
        size (K): With --theory: maximum number of rules per target. Default: as learned.
    """
    if (run is None) == (rules is None) or (theory and run is None):
        raise ConfigError("evaluate needs a run folder, or --rules FILE together with --data DATA")
    opened = None if run is None else session.open_run(AppliedRun(run, data, theory, size))
    more: dict[str, Any] = {}
    if opened is not None and data is not None:
        more = {
            "left_out_unknown_constant": opened.bound.unknown_constant,
            "left_out_unknown_predicate": opened.bound.unknown_predicate,
            "left_out_exclusions": opened.bound.unknown_exclusion,
        }
    if rules is not None:
        applied, left_out = from_file(session, rules, data)
        more = {"left_out": left_out} if left_out else {}
    else:
        assert opened is not None
        applied = opened
    with session.workers(cluster, applied.config.threads):
        with session.progress() as progress:
            metrics = applied.evaluate(split, progress)
        more |= calibrated(session, applied, split, calibration)
    document, name = metrics.to_dict() | more, applied.dataset.name
    if not metrics.num_queries:
        session.note(f"{name}: no {split} fact belongs to a target of these rules: no figures")
    session.notes(f"{name}: {note}" for note in metrics.notes)
    if opened is not None and opened.is_own_data and not theory:
        keep(session, opened, split, document)
    session.show({"data": name, "split": split, **document}, *views(metrics, applied.dataset, split, more))


def from_file(session: Session, file: Path, data: str | None) -> tuple[Applied, dict[str, int]]:
    """Count the rules of `file` on the data; return also how many rules are left out, by reason."""
    from ..config import LearnerConfig
    from ..exports.rule_files import RuleFile
    from ..kernel.aggregation import Aggregation
    from ..learning.opening import Applied

    if data is None:
        raise ConfigError("--rules needs the facts to apply the rules to; name them with --data")
    config = session.configure(LearnerConfig())
    read = RuleFile.read(file)
    dataset = session.read_data(data, config.seed)
    known = read.known_to(dataset)
    if known.left_out:
        session.note(known.left_out_sentence())
    with session.progress() as progress:
        aggregation = Aggregation(config.aggregation, config.aggregation_top)
        rules = known.counted(dataset, aggregation, config.memory, progress, config.threads)
    return Applied(rules, dataset, config), known.num_left_out


def keep(session: Session, opened: OpenedRun, split: str, document: dict[str, Any]) -> None:
    """Store the figures, `document`, in metrics.json; a run folder that is not writable only causes a note."""
    from ..learning.run import save_metrics

    try:
        save_metrics(opened.path, split, document)
    except (OSError, RunError) as error:
        session.note(f"the figures were not stored ({sentence(error, session)})")


def calibrated(session: Session, applied: Applied, split: str, picture: Path | None) -> dict[str, Any]:
    """Measure the calibration of the rules `applied`; draw the plot if a `picture` is named."""
    name = applied.dataset.name
    if split == "train":
        if picture is not None:
            raise ConfigError("--calibration needs facts that the rules have not seen; choose --split valid or test")
        return {}
    if applied.rules.aggregation.unit:
        # These scores only order the classes of an object; they are no probabilities.
        if picture is not None:
            raise ConfigError(
                "--calibration draws scores as probabilities, but the scores of rules that were weighted "
                "jointly (joint=on) only order classes; nlil explain RUN OBJECT gives probabilities"
            )
        return {}
    with session.progress() as progress:
        found = applied.reliability(split, progress)
    session.notes(found.notes)
    if picture is not None:
        from ..evaluation.reliability_plot import plot_reliability

        if not len(found.candidates):
            raise DataError(f"{name}: no rule reaches a candidate of a {split} fact: there is nothing to draw")
        plot_reliability(found.candidates, found.calibration, picture, f"{name}, {split}", found.is_own_sample)
        session.note(f"reliability plot: {picture}")
    if found.calibration is None and len(found.candidates):
        session.note(
            f"{name}: scores are not calibrated, because rules reach no validation facts or too few; "
            "brier and ece are those of the raw scores"
        )
    return found.figures


def views(metrics: Metrics, dataset: Dataset, split: str, more: Mapping[str, Any] | None = None) -> list[Any]:
    """Return tables of the overall `metrics`, with `more` figures, and of the figures per predicate."""
    from ..evaluation.metrics import COLUMNS
    from .render import pairs_table, table

    document = metrics.to_dict() | dict(more or {})
    overall = {key: value for key, value in document.items() if key not in ("per_predicate", "notes", "left_out")}
    for key in ("seconds", "peak_memory_mb"):
        overall[key] = f"{overall[key]:,.1f}"
    tables: list[Any] = [pairs_table(overall, f"{dataset.name}, {split}")]
    rows: dict[str, dict[str, Any]] = document.get("per_predicate") or {}
    if len(rows) > 1:
        columns = [key for key in COLUMNS if key != "hits@3" and any(key in row for row in rows.values())]
        order = sorted(rows, key=lambda name: (-rows[name]["num_queries"], name))
        labels = dataset.kb.predicate_labels
        lines = [
            (labels.get(name.rpartition("/")[0], name), *(rows[name].get(key) for key in columns))
            for name in order[:SHOWN_PREDICATES]
        ]
        tables.append(table(("predicate", *columns), lines, right=columns))
        if len(order) > SHOWN_PREDICATES:
            tables.append(
                f"{SHOWN_PREDICATES} of {len(order):,} predicates, those with the most queries; --json has all"
            )
    return tables
