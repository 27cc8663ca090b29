"""Run folders: what `learn` writes and every other command reads.

    config.json        the resolved LearnerConfig
    run.json           format, source and checksum of the data, versions, targets, targets without rules and why,
                       expected quality on new facts
    entities.parquet   names and labels of the entities that rules may mention
    predicates.json    names, arities and labels of the predicates
    rules.parquet      the rules by column: head, number of the body, statistics
    bodies.parquet     the bodies of the rules, each once
    theory.parquet     for each target the rows of a few rules, in the order of what each adds (see theory.theory)
    history.jsonl      the course of training, one JSON object per line; empty without training
    attentions.safetensors  the attentions, by target (only after training)
    metrics.json       the figures of `evaluate`, by split (after `evaluate`)
    calibration.json   the map from scores to probabilities (if there were facts to fit it on)
    fidelity.json      how well the rules imitate a classifier (only for such rules; see imitation.py)
    feedback.json      rules that people accepted or rejected (if any; see feedback.py)
    checksums.json     sha256 of every file above, verified on load
    journal.json       time and host of learning and evaluation, and notes. Without a checksum: all other files are the
                       same for any number of threads or machines
    curves.png         history.jsonl as a picture (only after training); without a checksum, as no command reads it
    checkpoint/        unfinished work; see checkpoint.py

A run changes as a whole or not at all, see changing.py. No pickle anywhere.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config import LearnerConfig
from ..errors import ConfigError, NlilError, RunError
from ..logic.predicate import Predicate
from . import checkpoint
from .changing import CHECKSUMS, OWN, changing, read_whole, settle
from .folder import (
    FIGURE,
    MALFORMED,
    NUMBER,
    TEXT,
    read_arrays,
    read_json,
    read_json_lines,
    sha256,
    versions,
    write_arrays,
    write_json,
    write_json_lines,
)

if TYPE_CHECKING:
    import numpy as np

    from ..data.arrays import Longs
    from ..data.vocabulary import Vocabulary
    from ..evaluation.fidelity import Fidelity
    from ..kernel.binding import Bound
    from ..kernel.calibration import Calibration
    from ..kernel.ruleset import RuleSet
    from ..theory.theory import Theory

FORMAT = 3
"""2: the history has its own file. 3: bodies have their own file, each once."""
REQUIRED = ("config.json", "run.json", "entities.parquet", "predicates.json", "rules.parquet", "bodies.parquet")
THEORY = "theory.parquet"
HISTORY, ATTENTIONS, CURVES = "history.jsonl", "attentions.safetensors", "curves.png"
METRICS, CALIBRATION, FEEDBACK = "metrics.json", "calibration.json", "feedback.json"
FIDELITY, JOURNAL = "fidelity.json", "journal.json"
UNCHECKED = (JOURNAL, CURVES)
"""Files without a checksum: they differ from machine to machine."""
RUN_SHAPE = {
    **dict.fromkeys(("format", "seed", "num_rules"), int),
    **dict.fromkeys(("source", "checksum"), TEXT),
    "targets": [[(str, int)]],
    "partial": bool,
    "missing": {...: str},
    "versions": {...: str},
}
JOURNAL_SHAPE = {"learn": {"seconds": NUMBER, "notes": [str]}, "evaluate": {...: {"host": str, ...: NUMBER}}}
METRICS_SHAPE = {
    ...: {"per_predicate": {...: {...: NUMBER}}, "overall": {...: NUMBER}, "notes": [str], ...: NUMBER},
}
PREDICATES_SHAPE = [{"name": str, "arity": int, "label": TEXT}]
"""The forms of the JSON files of a run (see `folder.check_shape`): they are not trusted."""
TIMES = ("seconds", "peak_memory_mb")
"""Figures of `evaluate` that differ from run to run; they are written to the journal."""
LATER = (THEORY, ATTENTIONS, CURVES, METRICS, CALIBRATION, FEEDBACK, FIDELITY)
"""Files that not every run has; when a run is replaced, they must not stay."""


@dataclass(frozen=True)
class Estimate:
    """How well the rules are expected to answer queries about unseen facts.

    figures: `mrr`, `hits@1` and others as in `evaluate`, as far as there are facts of that kind.
    mrr_error: the standard error of the MRR; 0 without binary facts.
    num_facts: the number of facts it is estimated on; of many facts, a sample is ranked.
    num_held_out: how many of them are held-out training facts; the others are given.
    """

    figures: Mapping[str, float]
    mrr_error: float
    num_facts: int
    num_held_out: int

    @property
    def facts(self) -> str:
        """A description of the facts, for people."""
        if self.num_held_out == self.num_facts:
            return "held-out training facts"
        return "held-out training facts and validation facts" if self.num_held_out else "validation facts"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Estimate:
        """Read the `values` of `to_dict`."""
        figures = {str(name): float(value) for name, value in values["figures"].items()}
        return cls(figures, float(values["mrr_error"]), int(values["num_facts"]), int(values["num_held_out"]))


@dataclass(frozen=True)
class Learned:
    """The result of `Learner.fit`.

    rules: the rules found.
    config: the settings of the search.
    targets: the targets of the search.
    partial: whether the search was stopped early.
    missing: for each target without rules the reason, and what to change.
    seconds: how long learning took.
    history: the course of training, a record for each epoch of a target.
    notes: what was left out, one sentence each.
    attentions: the attentions of training, by names such as `uncle/2|operators`.
    fidelity: how well the rules imitate a classifier, if they do.
    theory: a few rules for each target; None if none were requested.
    target_scores: path and sha256 of the file with the scores of the classifier, if it was a file.
    estimate: the expected quality on new facts, measured on validation facts or held-out training facts.
    """

    rules: RuleSet
    config: LearnerConfig
    targets: tuple[Predicate, ...]
    partial: bool = False
    missing: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    history: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    attentions: Mapping[str, np.ndarray] = field(default_factory=dict)
    fidelity: Fidelity | None = None
    target_scores: Mapping[str, str] = field(default_factory=dict)
    estimate: Estimate | None = None
    theory: Theory | None = None

    def __repr__(self) -> str:
        partial = ", partial" if self.partial else ""
        return f"<Learned: {len(self.rules):,} rules for {len(self.targets):,} targets{partial}>"

    def with_theory(self, size: int | None = None, keep: float | None = None) -> Learned:
        """Return the same with only the rules of its theory; `size` and `keep` as in `Theory.rules`."""
        if self.theory is None:
            raise ConfigError("the run has no theories; learn again, with rules_per_target of 1 or more")
        rows = self.theory.rows[self.theory.chosen(self.rules, size, keep)]
        return self.over(self.theory.rules(self.rules, size, keep), rows)

    def for_target(self, target: str | Predicate) -> Learned:
        """Return the same with the rules of one target; see `RuleSet.for_target`."""
        return self.over(self.rules.for_target(target), self.rules.rows_for(target))

    def best_first(self) -> RuleSet:
        """Return the rules in reading order: first those of theories, by what each adds, then the others by weight."""
        if self.theory is None or self.rules.is_ordered:
            return self.rules
        from ..theory.listing import reading_order

        return replace(self.rules.take(reading_order(self.rules, self.theory)), is_ordered=True)

    def over(self, rules: RuleSet, kept: Longs) -> Learned:
        """Return the same with other `rules`, which are the rows `kept` of its own; the theory shrinks accordingly."""
        theory = None if self.theory is None else self.theory.over(kept, len(self.rules))
        return replace(self, rules=rules, theory=theory)

    def bound_to(self, bound: Bound) -> Learned:
        """Return the same in the ids of other data, to which its rules are `bound`; attentions are left as they are."""
        here = self.over(bound.rules, bound.kept)
        return here if bound.rules is self.rules else replace(here, attentions={})

    def save(self, path: str | Path, **about: Any) -> Path:
        """Write a run folder at `path`; `about` are the other arguments of `save_run`."""
        return save_run(self, path, **about)


@dataclass(frozen=True)
class RunInfo:
    """Where a run comes from: source and checksum of its data, its seed, and the versions it was learned with."""

    source: str | None
    checksum: str | None
    seed: int
    versions: Mapping[str, str]


def save_run(
    learned: Learned, path: str | Path, source: str | None = None, checksum: str | None = None, force: bool = False
) -> Path:
    """Write `learned` into a folder at `path`, atomically.

    An existing folder is replaced only with `force`, and only if it is a run folder. A checkpoint in it is kept if the
    run is partial, so that it can be continued, and removed if it is complete. Verdicts on rules that are learned again
    are kept (see `verdicts_that_stay`). `source` and `checksum` identify the data (None: data without a name).
    """
    from .feedback import verdicts_that_stay, write_feedback

    path = Path(path)
    check_writable(path, force)
    with changing(path, LATER if learned.partial else (*LATER, checkpoint.FOLDER)) as new:
        _write(learned, new, source, checksum)
        if feedback := verdicts_that_stay(path, learned.rules, source):
            write_feedback(new, feedback)
        seal(new)
    return path


def check_writable(path: Path, force: bool) -> None:
    """Raise the errors of `save_run` for this `path` before any work; `force` as there."""
    if path.exists() and not path.is_dir():
        raise RunError("a file of this name exists; choose another folder", path)
    place = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise RunError(f"{place} is not a folder that can be written to; choose another place", path)
    settle(path)
    if not path.exists() or all(file.name in OWN for file in path.iterdir()):
        return
    if checkpoint.is_unfinished(path):
        if not force:
            raise RunError(
                "the run is unfinished; continue it with --resume, replace it with --force (force=True), or choose "
                "another folder",
                path,
            )
        return
    if not (path / "run.json").is_file():
        raise RunError("the folder exists and is not a run folder, so it is left alone; choose another one", path)
    if not force:
        raise RunError(
            "the run exists; replace it with --force (force=True), continue it with --resume, or choose another folder",
            path,
        )


def load_run(path: str | Path) -> Learned:
    """Read the Learned value of the run folder at `path` and verify its files; needs no data. Raises RunError."""
    return load_with_info(path)[1]


def load_with_info(path: str | Path) -> tuple[RunInfo, Learned]:
    """Read the Learned value and the RunInfo of the run folder at `path`."""
    path = Path(path)
    return read_whole(path, lambda: _load(path))


def _load(path: Path) -> tuple[RunInfo, Learned]:
    verify(path)
    try:
        values, journal = read_json(path / "run.json", RUN_SHAPE), _read_journal(path).get("learn", {})
        info = RunInfo(values["source"], values["checksum"], int(values["seed"]), dict(values["versions"]))
        rules = _load_rules(path)
        return info, Learned(
            rules=rules,
            config=LearnerConfig().with_values(read_json(path / "config.json"), "config.json"),
            targets=tuple(Predicate(str(name), arity) for name, arity in values["targets"]),
            partial=bool(values["partial"]),
            missing=dict(values["missing"]),
            seconds=float(journal.get("seconds", 0.0)),
            notes=tuple(journal.get("notes", ())),
            history=read_json_lines(path / HISTORY, {"target": str, ...: FIGURE}),
            attentions=read_arrays(path / ATTENTIONS)[0] if (path / ATTENTIONS).is_file() else {},
            fidelity=_load_fidelity(path / FIDELITY),
            target_scores=dict(values["target_scores"] or {}),
            estimate=Estimate.from_dict(values["estimate"]) if values.get("estimate") else None,
            theory=_load_theory(path / THEORY, rules),
        )
    except (NlilError, *MALFORMED, OSError, NotImplementedError) as error:  # the last: a type that Arrow cannot read
        raise RunError(f"the run folder cannot be read ({error}); learn again", path) from error


def verify(path: Path) -> None:
    """Raise RunError unless `path` is a run folder whose files all match their checksums."""
    if not path.is_dir():
        what = "expected a run folder, got a file" if path.exists() else "no such run folder"
        raise RunError(f"{what}; make one with: nlil learn DATA --out RUN", path)
    if checkpoint.is_unfinished(path):
        raise RunError(f"this run is unfinished; continue it with: nlil learn DATA --out {path} --resume", path)
    if not (path / "run.json").is_file() or not (path / CHECKSUMS).is_file():
        raise RunError("not a run folder of nlil (run.json or checksums.json is missing)", path)
    try:
        checksums = dict(read_json(path / CHECKSUMS))
    except (*MALFORMED, OSError) as error:
        raise RunError(f"checksums.json is damaged ({error}); restore the folder or learn again", path) from error
    _check_format(path)
    for name in sorted({*REQUIRED, *checksums}):
        if not (path / name).is_file():
            raise RunError(f"{name} is missing; restore the folder or learn again", path)
        if sha256(path / name) != checksums.get(name):
            raise RunError(f"{name} is damaged (checksum mismatch); restore the folder or learn again", path)


def _check_format(path: Path) -> None:
    """Raise RunError for a run in another format."""
    try:
        found = int(read_json(path / "run.json")["format"])
    except MALFORMED as error:
        raise RunError(f"run.json is damaged ({error}); restore the folder or learn again", path) from error
    if found != FORMAT:
        age, advice = ("a newer", "update nlil") if found > FORMAT else ("an older", "learn again")
        raise RunError(f"written by {age} nlil (format {found}, this one reads {FORMAT}); {advice}", path)


def save_metrics(path: str | Path, split: str, metrics: Mapping[str, Any]) -> None:
    """Store the `metrics` measured on a `split` in the folder; time and memory go into the journal."""
    path = Path(path)
    with changing(path) as new:
        known = load_metrics(path)
        write_json(new / METRICS, {**known, split: {key: metrics[key] for key in metrics if key not in TIMES}})
        seal(new, path)
        journal = _read_journal(path)
        measured = {"host": platform.node(), **{key: metrics[key] for key in TIMES if key in metrics}}
        write_json(new / JOURNAL, {**journal, "evaluate": {**journal.get("evaluate", {}), split: measured}})


def load_metrics(path: Path) -> dict[str, Any]:
    """Return what `evaluate` measured on the run in the folder `path`, by split; nothing if it was not called."""
    try:
        return dict(read_json(path / METRICS, METRICS_SHAPE)) if (path / METRICS).is_file() else {}
    except MALFORMED as error:
        raise RunError(f"{METRICS} does not contain figures ({error}); evaluate again", path) from error


def _read_journal(path: Path) -> dict[str, Any]:
    return dict(read_json(path / JOURNAL, JOURNAL_SHAPE)) if (path / JOURNAL).is_file() else {}


def add_json(path: Path, name: str, value: Any) -> None:
    """Write `value` to the file `name` of a finished run folder."""
    with changing(path) as new:
        write_json(new / name, value)
        seal(new, path)


def seal(new: Path, run: Path | None = None) -> None:
    """Write the checksums of the files in `new`, and of all other files of the `run` they belong to."""
    known = {} if run is None else dict(read_json(run / CHECKSUMS))
    files = [file for file in sorted(new.iterdir()) if file.name not in UNCHECKED]
    write_json(new / CHECKSUMS, known | {file.name: sha256(file) for file in files})


def _write(learned: Learned, folder: Path, source: str | None, checksum: str | None) -> None:
    from ..kernel.rule_file import save_rules

    rules = learned.rules
    run = {
        "format": FORMAT,
        "created_by": f"nlil {versions().get('nlil', '')}".strip(),
        "source": source,
        "checksum": checksum,
        "target_scores": dict(learned.target_scores) or None,
        "seed": learned.config.seed,
        "num_rules": len(rules),
        "targets": [[p.name, p.arity] for p in learned.targets],
        "partial": learned.partial,
        "missing": dict(learned.missing),
        "estimate": None if learned.estimate is None else learned.estimate.to_dict(),
        "versions": versions(),
    }
    predicates = [
        {"name": p.name, "arity": p.arity, "label": rules.predicate_labels.get(p.name)} for p in rules.predicates
    ]
    write_json(folder / "config.json", learned.config.to_dict())
    write_json(folder / "run.json", run)
    write_json(folder / "predicates.json", predicates)
    _save_entities(rules, folder / "entities.parquet")
    save_rules(rules, folder / "rules.parquet")
    if learned.theory is not None:
        from ..theory.theory import save_theory

        save_theory(learned.theory, folder / THEORY)
    write_json_lines(folder / HISTORY, learned.history)
    if learned.attentions:
        write_arrays(folder / ATTENTIONS, learned.attentions)
    if learned.fidelity is not None:
        write_json(folder / FIDELITY, learned.fidelity.to_dict())
    if rules.calibration is not None:
        write_json(folder / CALIBRATION, rules.calibration.to_dict())
    about = {"host": platform.node(), "seconds": learned.seconds, "notes": list(learned.notes)}
    write_json(folder / JOURNAL, {"learn": about})


def _save_entities(rules: RuleSet, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from ..data.vocabulary import label_column

    label = label_column(rules.entity_labels, rules.entities)
    pq.write_table(pa.table({"name": rules.entities.array, "label": label}), path, compression="zstd")


def _load_theory(path: Path, rules: RuleSet) -> Theory | None:
    if not path.is_file():
        return None
    from ..theory.theory import load_theory

    return load_theory(path, rules)


def _load_fidelity(path: Path) -> Fidelity | None:
    if not path.is_file():
        return None
    from ..evaluation.fidelity import Fidelity  # deferred: most runs have none, and it imports all of evaluation

    return Fidelity.from_dict(read_json(path))


def load_calibration(path: Path) -> Calibration | None:
    """Read the calibration of a run folder whose checksums were verified; None if it has none."""
    from ..kernel.calibration import Calibration

    file = path / CALIBRATION
    if not file.is_file():
        return None
    try:
        return Calibration.from_dict(read_json(file))
    except MALFORMED as error:
        raise RunError(f"{CALIBRATION} does not describe a calibration ({error}); learn again", path) from error


def _load_rules(path: Path) -> RuleSet:
    from ..kernel.rule_file import load_rules

    entities, labels = _load_entities(path / "entities.parquet")
    predicates = read_json(path / "predicates.json", PREDICATES_SHAPE)
    rules = load_rules(path / "rules.parquet", entities)
    if [[p.name, p.arity] for p in rules.predicates] != [[p["name"], p["arity"]] for p in predicates]:
        raise ConfigError("predicates.json and rules.parquet disagree")
    shown = {p["name"]: p["label"] for p in predicates if p["label"] is not None}
    return replace(rules, entity_labels=labels, predicate_labels=shown, calibration=load_calibration(path))


def _load_entities(path: Path) -> tuple[Vocabulary, Mapping[str, str]]:
    from ..data.arrow import read_whole_table, strings
    from ..data.vocabulary import LabelTable, Vocabulary

    table = read_whole_table(path)
    names, labels = strings(table, "name"), strings(table, "label", has_gaps=True)
    if labels.null_count == len(labels):  # most data has none, and filtering imports much
        return Vocabulary(names), {}
    has_label = labels.is_valid()
    return Vocabulary(names), LabelTable(Vocabulary(names.filter(has_label)), labels.filter(has_label))
