"""nlil learn DATA --out RUN"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Lock
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ClusterError, ConfigError, RunError
from ..progress import Stop
from .session import Bounds, Session, Source
from .signals import hearing

if TYPE_CHECKING:
    from ..config import LearnerConfig
    from ..data.dataset import Dataset
    from ..data.target_scores import TargetScores
    from ..evaluation.fidelity import Fidelity
    from ..kernel.ruleset import RuleSet
    from ..learning.checkpoint import Checkpoint
    from ..learning.run import Estimate, Learned
    from ..logic.predicate import Predicate
    from ..progress import Progress

ENDING = [number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]
"""Signals that end learning: Ctrl-C, and the end of a service, a container or a terminal."""
SHOWN_TARGETS = 6
SHOWN_MISSING = 10
SHOWN_DISAGREEMENTS = 8
SHOWN_FORMULAS = 10
STOPPING = "stopping: writing the results so far; another Ctrl-C ends at once, without them"


def learn(
    session: Session,
    data: Source,
    *,
    out: Path,
    target: list[str] | None = None,
    target_scores: Path | None = None,
    config: Path | None = None,
    settings: list[str] | None = None,
    rules_per_target: Annotated[int | None, Bounds(0)] = None,
    resume: bool = False,
    force: bool = False,
    time_limit: str | None = None,
    cluster: str | None = None,
) -> None:
    """Learn rules from facts and write them to a run folder.

    Args:
        session: The common options.
        data: The data to learn from.
        out (RUN): The run folder to write.
        target (P): Learn rules for this predicate; may be repeated. Default: every predicate with facts.
        target_scores (FILE): Imitate a classifier, given a table of entity, class, score (TSV, CSV, Parquet).
        config (FILE): Settings as TOML.
        settings (--set KEY=VALUE): A setting such as max_length=2; overrides --config.
        rules_per_target (K): Maximum number of rules in a theory; 0: no theories. Default: 20.
        resume: Continue RUN if it was interrupted.
        force: Replace RUN.
        cluster (ADDRESS): Work on a Ray cluster: ray (this machine alone) or ray://HOST:PORT. Same rules, same files.
        time_limit (TIME): Stop the search after e.g. 60s.
    """
    from ..datasets.load import lasting_source
    from ..learning.changing import settle
    from ..learning.checkpoint import FOLDER, Checkpoint, claimed, fingerprint
    from ..learning.run import check_writable, save_run

    if rules_per_target is not None:
        settings = [*(settings or []), f"rules_per_target={rules_per_target}"]
    chosen = resolve(session, config, settings or [], time_limit)
    if resume and force:
        raise ConfigError("--resume and --force exclude each other")
    settle(out)
    # A checkpoint in a complete run belongs to an interrupted replacement, which is continued.
    is_complete = resume and (out / "run.json").exists() and not (out / FOLDER).is_dir()
    if is_complete and finished(session, out, data, chosen, target_scores):
        return
    check_writable(out, force or resume)
    dataset = session.read_data(data, chosen.seed, chosen.data_options())
    task = requested(dataset, target or [], target_scores)
    work = fingerprint(chosen, dataset.checksum, task.targets) | ({"target scores": task.about} if task.about else {})
    checkpoint = Checkpoint(out / FOLDER, work)
    again = resume_command(session, data, out, target or [], target_scores, config, settings or [])
    stop = Stop(chosen.time_limit)
    with session.workers(cluster, chosen.threads) as worked, claimed(out):
        if force:
            checkpoint.start_over()
        with unfinished(session, checkpoint, again):
            with session.progress() as progress, interruptible(stop, lambda: session.warn(STOPPING)) as interrupted:
                learned = task.learn(dataset, chosen, checkpoint, progress, stop)
            learned = replace(learned, notes=(*learned.notes, *worked()))
            num_verdicts = judged(out)
            save_run(learned, out, lasting_source(data), dataset.checksum, force=True)
    note_verdicts(session, out, num_verdicts)
    draw_curves(session, learned, out)
    session.notes(learned.notes)
    if dataset.is_scene and not chosen.joint and chosen.search != "neural":
        session.note("object classes: --set preset=scene weights their rules jointly and ranks them better")
    session.show(document(learned, out, data), *views(learned, dataset, out))
    if interrupted.is_set():
        what = interrupted.signal
        by = "Ctrl-C" if what == signal.SIGINT else what.name
        session.warn(f"stopped by {by}: {out} holds what was found so far; complete it with: {again}")
        raise typer.Exit(128 + what)


@dataclass(frozen=True)
class Request:
    """What to learn: rules for `targets`, or rules that imitate the `scores` of a classifier (None: no classifier).

    `about` is what the run stores about the file of scores.
    """

    targets: Sequence[Predicate]
    scores: TargetScores | None = None
    about: Mapping[str, str] = field(default_factory=dict)

    def learn(
        self, dataset: Dataset, config: LearnerConfig, checkpoint: Checkpoint, progress: Progress, stop: Stop
    ) -> Learned:
        """Learn with the settings of `config`; `progress`, `stop` and `checkpoint` as in `Learner.fit`."""
        from ..learning.imitation import imitate
        from ..learning.learner import Learner

        if self.scores is None:
            return Learner(config).fit(
                dataset.kb, self.targets, dataset.splits, progress=progress, stop=stop, checkpoint=checkpoint
            )
        learned = imitate(self.scores, dataset, config=config, progress=progress, stop=stop)
        return replace(learned, target_scores=self.about)


def requested(dataset: Dataset, targets: list[str], target_scores: Path | None) -> Request:
    """Return the task: `targets` by name, or the classes in the file `target_scores`."""
    from ..data.target_scores import read_target_scores
    from ..learning.imitation import scores_file

    if target_scores is None:
        return Request([dataset.kb.predicate(name) for name in targets] if targets else list(dataset.targets))
    if targets:
        raise ConfigError(
            "--target and --target-scores exclude each other: the classes in the file are the targets; "
            "leave the others out of it"
        )
    scores = read_target_scores(target_scores, dataset.kb)
    return Request([dataset.kb.predicates[c] for c in scores.classes], scores, scores_file(target_scores))


@contextmanager
def unfinished(session: Session, checkpoint: Checkpoint, again: str) -> Iterator[None]:
    """Hold RUN/checkpoint during the work; if the work fails before anything is saved, leave no trace.

    `again` is the command that continues it.
    """
    from ..learning.changing import OWN

    run = checkpoint.folder.parent
    checkpoint.begin()
    try:
        yield
    except BaseException as error:
        others = [path.name for path in run.iterdir() if path != checkpoint.folder and path.name not in OWN]
        if isinstance(error, ClusterError):  # the work so far is valid and can be continued anywhere
            session.warn(f"{run} is unfinished; continue it, with or without --cluster, with: {again}")
        elif checkpoint.is_empty and (not others or "run.json" in others):
            checkpoint.clear()
        elif isinstance(error, KeyboardInterrupt):
            session.warn(f"{run} is unfinished; continue it with: {again}")
        raise


def resume_command(
    session: Session,
    data: str,
    out: Path,
    targets: list[str],
    target_scores: Path | None,
    config: Path | None,
    settings: list[str],
) -> str:
    """Return the command that continues this call, with every option that its result depends on.

    These are the options of `learn`: `targets`, `target_scores`, and `config`, the settings file.
    """
    import shlex

    words = ["nlil", "learn", data, "--out", str(out), "--resume"]
    words += [word for name in targets for word in ("--target", name)]
    words += ["--target-scores", str(target_scores)] if target_scores is not None else []
    words += ["--config", str(config)] if config is not None else []
    words += [word for setting in settings for word in ("--set", setting)]
    words += ["--seed", str(session.seed)] if session.seed is not None else []
    words += [word for key, value in session.reading.items() for word in (f"--{key}", value)]
    return shlex.join(words)


def judged(run: Path) -> int:
    """Return the number of verdicts of a `run` that is about to be replaced."""
    from ..learning.feedback import load_feedback

    try:
        return len(load_feedback(run))
    except RunError:
        return 0


def note_verdicts(session: Session, run: Path, num_verdicts: int) -> None:
    """Report what became of the verdicts of the replaced `run`; there were `num_verdicts`.

    Lost verdicts are reported even with --quiet.
    """
    kept = judged(run)
    if num_verdicts > kept:
        session.warn(
            f"{num_verdicts - kept:,} of {num_verdicts:,} verdicts on rules of the replaced run are lost: {run} has "
            "none of these rules, or was learned from other data"
        )
    elif num_verdicts:
        session.note(f"all {num_verdicts:,} verdicts on rules are kept: the new run has these rules too")


def draw_curves(session: Session, learned: Learned, out: Path) -> None:
    """Draw curves.png for a run with a history, if matplotlib is installed."""
    from ..errors import MissingExtra
    from ..learning.changing import changing
    from ..learning.curves import plot_history
    from ..learning.run import CURVES

    if not learned.history:
        return
    try:
        with changing(out) as new:
            plot_history(learned.history, new / CURVES)
        session.note(f"learning curves: {out / CURVES}")
    except MissingExtra as missing:
        session.note(f"no {CURVES}: {missing}")


class Interruption(Event):
    """Set once a `signal` has come."""

    signal = signal.SIGINT


@contextmanager
def interruptible(stop: Stop, answer: Callable[[], None]) -> Iterator[Interruption]:
    """Let the first signal of ENDING end the search through `stop` and keep its results; `answer` says so at once.

    A second signal does what it did before.
    """
    interrupted, first = Interruption(), Lock()
    count, heard, told_before = 0, 0, -1

    def end(number: int) -> None:
        if first.acquire(blocking=False):
            interrupted.signal = signal.Signals(number)
            interrupted.set()
            stop.set()
            answer()

    def on_signal(number: int, frame: FrameType | None) -> None:
        nonlocal count
        count += 1
        if count == 1:
            end(number)
        elif callable(usual := before[number]):
            usual(number, frame)
        else:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    def hear(number: int) -> None:
        nonlocal heard
        heard += number in ENDING
        if heard == 1 and number in ENDING:
            end(number)
        elif told_before >= 0:
            os.write(told_before, bytes([number]))

    before = {number: signal.signal(number, on_signal) for number in ENDING}
    try:
        with hearing(hear) as told_before:
            yield interrupted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def resolve(session: Session, file: Path | None, settings: list[str], time_limit: str | None = None) -> LearnerConfig:
    """Return the settings: defaults, overridden by the `file`, by --set, and by options such as `time_limit`."""
    from ..config import LearnerConfig

    config = LearnerConfig.from_toml(file) if file is not None else LearnerConfig()
    config = config.with_settings(settings)
    if time_limit is not None:
        config = config.with_values({"time_limit": time_limit}, "--time-limit")
    if config.merge:  # the run may be opened from another folder
        config = config.with_values({"merge": str(Path(config.merge).expanduser().resolve())})
    return session.configure(config)


def finished(session: Session, out: Path, data: str, config: LearnerConfig, target_scores: Path | None) -> bool:
    """Return whether the run is complete, and say so; raises RunError if it cannot be continued by this call.

    `config` has the settings of this call, `target_scores` its file of scores.
    """
    from ..datasets.load import lasting_source
    from ..learning.checkpoint import settings_that_matter
    from ..learning.imitation import check_same_scores
    from ..learning.run import load_with_info

    info, learned = load_with_info(out)
    if info.source != lasting_source(data):
        raise RunError(f"was learned from {info.source}, not from {data}; choose another folder or use --force", out)
    if learned.partial:
        return False
    if settings_that_matter(learned.config) != settings_that_matter(config):
        raise RunError("is complete and was learned with other settings; choose another folder or use --force", out)
    check_same_scores(out, learned, target_scores)
    session.note(f"{out}: the run is complete, nothing is left to do")
    session.show(document(learned, out, data), f"{len(learned.rules):,} rules in {out}")
    return True


def document(learned: Learned, out: Path, data: str) -> dict[str, Any]:
    """Return the run as plain values for JSON."""
    from .render import kinds

    return {
        "run": str(out),
        "data": data,
        "num_rules": len(learned.rules),
        "kinds": kinds(learned.rules),
        "num_exclusions": len(learned.rules.exclusions),
        "targets": [p.name for p in learned.targets],
        "missing": dict(learned.missing),
        "partial": learned.partial,
        "notes": list(learned.notes),
        "num_history": len(learned.history),
        "seconds": learned.seconds,
        "seed": learned.config.seed,
        "target_scores": dict(learned.target_scores) or None,
        "fidelity": None if learned.fidelity is None else learned.fidelity.to_dict(),
        "estimate": None if learned.estimate is None else learned.estimate.to_dict(),
    }


def views(learned: Learned, dataset: Dataset, out: Path) -> list[Any]:
    """Return the summary of a run: rules by kind, the best of a few targets, targets without rules."""
    from rich.text import Text

    from ..logic.figures import plural
    from .render import kinds, listing

    rules, labels = learned.rules, dataset.kb.predicate_labels
    lines: list[Any] = [
        Text(
            f"{plural(len(rules), 'rule')} for {plural(len(learned.targets), 'target')} of {dataset.name} in "
            f"{learned.seconds:.1f} s" + (f" ({listing(kinds(rules))})" if len(rules) else "")
        )
    ]
    if learned.estimate is not None and learned.estimate.figures:
        lines.append(Text(estimate_text(learned.estimate)))
    lines += theory_views(learned) if learned.theory is not None else best_views(learned)
    if learned.missing:
        shown = list(learned.missing.items())[:SHOWN_MISSING]
        lines.append(Text(f"no rule for {plural(len(learned.missing), 'target')}:"))
        lines += [Text(f"  {labels.get(name.rpartition('/')[0], name)}: {why}") for name, why in shown]
        if len(shown) < len(learned.missing):
            lines.append(Text(f"  ... and {len(learned.missing) - len(shown):,} more"))
    if learned.partial:
        lines.append(Text("partial: the search was cut short; continue with --resume", style="yellow"))
    lines += [] if learned.fidelity is None else fidelity_views(learned.fidelity, rules)
    show = "rules" if learned.theory is None else "theory"
    lines.append(Text(f"written to {out}; next: nlil {show} {out}, nlil evaluate {out}"))
    return lines


def theory_views(learned: Learned) -> list[Any]:
    """Return the size of the theories, and the first rule of a few."""
    from rich.text import Text

    from ..logic.figures import number
    from ..logic.labels import Labels
    from .theory import COLUMNS_MEAN, first_rules, theory_table

    theory = learned.theory
    assert theory is not None
    if not (rules := first_rules(learned, shown_targets(learned), 1)):
        return []
    sentence = f"{len(theory.chosen(learned.rules)):,} of them form the theories, at most {theory.size} per target"
    shares = {one.size: one.mrr / theory.pool_score for one in theory.curve() if theory.pool_score}
    if theory.size in shares:
        sentence += f", with {shares[theory.size]:.0%} of the score of all rules on validation facts"
    title = f"first rule of {len(rules)} of {number(len(learned.targets) - len(learned.missing))} theories"
    return [Text(sentence), theory_table(rules, Labels.of(learned.rules), title), Text(f"{COLUMNS_MEAN}.")]


def best_views(learned: Learned) -> list[Any]:
    """Return the best rule of a few targets of a run without theories."""
    from ..logic.figures import number
    from ..logic.labels import Labels
    from .render import rule_table

    best = [learned.rules.for_target(p).top(1)[0] for p in shown_targets(learned)]
    if not best:
        return []
    best.sort(key=lambda scored: (-scored.weight, str(scored.rule)))
    title = f"best rule of {len(best)} of {number(len(learned.targets) - len(learned.missing))} targets"
    return [rule_table(best, Labels.of(learned.rules), title)]


def estimate_text(estimate: Estimate) -> str:
    """Return the `estimate` of the quality on new facts, as one line."""
    from ..logic.figures import number

    shown = [f"{name.upper() if name == 'mrr' else name} {number(value)}" for name, value in estimate.figures.items()]
    if "mrr" in estimate.figures:
        shown[0] += f" ± {number(estimate.mrr_error)}"
    return f"estimate for new facts: {', '.join(shown)} ({estimate.num_facts:,} {estimate.facts})"


def shown_targets(learned: Learned) -> list[Any]:
    """Return the targets with most facts among those with rules."""
    import numpy as np

    rules = learned.rules
    sizes = np.zeros(len(rules.predicates), np.int64)
    np.maximum.at(sizes, rules.head, rules.head_size)
    heads = sorted(np.flatnonzero(rules.has_head).tolist(), key=lambda head: (-sizes[head], head))[:SHOWN_TARGETS]
    return [rules.predicates[head] for head in heads]


def fidelity_views(fidelity: Fidelity, rules: RuleSet) -> list[Any]:
    """Return the figures of `fidelity`, and the most frequent and largest disagreements."""
    from rich.text import Text

    from ..logic.figures import number
    from ..logic.labels import Labels
    from ..logic.parse import parse_rule
    from .render import pairs_table, table

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
    if fidelity.formulas:
        names_of = ("precision", "recall", "f1")
        labels, some = Labels.of(rules), fidelity.formulas[:SHOWN_FORMULAS]
        rows = [(labels.short_rule(parse_rule(row["formula"])), *(row[name] for name in names_of)) for row in some]
        shown = f"one formula for each class of the classifier: {len(rows)} of {len(fidelity.formulas)}"
        views.append(table(("formula", *names_of), rows, shown, names_of))
    if not fidelity.pairs:
        return [*views, Text("rules and classifier agree on every object")]

    def names(row: Mapping[str, Any], *keys: str) -> list[str]:
        return ["" if row[key] is None else label.get(row[key], row[key]) for key in keys]

    pairs = [(*names(pair, "classifier", "rules", "truth"), pair["count"]) for pair in fidelity.pairs]
    objects = []
    for row in fidelity.objects[:SHOWN_DISAGREEMENTS]:
        classifier, rules_class, truth = names(row, "classifier", "rules", "truth")
        shown = rules.entity_labels.get(row["object"], row["object"])
        scores = row["classifier_score"], row["rules_score"]
        objects.append((shown, classifier, scores[0], rules_class, scores[1], truth, row["distance"]))
    columns = ("object", "classifier", "its score", "rules", "their score", "truth", "distance")
    numbers = ("its score", "their score", "distance")
    classes = ("classifier", "rules", "truth", "objects")
    views.append(table(classes, pairs[:SHOWN_DISAGREEMENTS], "where they disagree", ("objects",)))
    return [*views, table(columns, objects, "objects where they disagree most", numbers)]
