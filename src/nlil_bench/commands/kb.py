"""nlil bench kb"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nlil.cli.session import Session

from .parts import available, finish, given_options


def bench_kb(
    session: Session,
    names: list[str] | None,
    quick: bool,
    model: str | None,
    seeds: int,
    split: str,
    settings: tuple[str, ...],
    out: Path,
) -> None:
    from nlil.errors import LimitError

    from .. import kb
    from ..record import save_entries

    options = given_options(session)
    chosen = check_settings(session, model, settings, options)
    who = kb.OURS if model is None or model in kb.SEARCHES else model
    entries: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    for name in names or (kb.QUICK_DATA if quick else kb.DATA):
        if not available(session, name, skipped, asked=names is not None):
            continue
        job = kb.job(name, chosen, options, quick, who, seeds, split)
        try:
            entry = measured_seeds(session, job)
        except LimitError as error:
            if names is not None:
                raise
            skipped[name] = str(error)  # the usual sets are of all sizes, and a method for small ones does its own
            session.note(f"{name}: skipped, {error}")
            continue
        entries[kb.key(entry, job)] = entry
        save_entries("kb", entries, out)
    finish(session, "kb", entries, skipped, out)


def measured_seeds(session: Session, job: Mapping[str, Any]) -> dict[str, Any]:
    """Every seed in a process of its own, then one entry for all."""
    from .. import kb
    from ..job import measure_apart

    found = []
    for number, part in enumerate(kb.seed_jobs(job), start=1):
        told = f", {number} of {job['seeds']} seeds" if job["seeds"] > 1 else ""
        session.note(f"{job['data']}: learning and evaluating, {job['model']}{told}")
        with session.progress() as progress:
            found.append(measure_apart(part, progress))
    return kb.combined(found)


def check_settings(
    session: Session, model: str | None, settings: tuple[str, ...], options: dict[str, Any]
) -> tuple[str, ...]:
    """The settings for the job. A wrong one is told before anything runs."""
    from nlil.learning.config import LearnerConfig

    from ..kb import SEARCHES

    if model is not None and model not in SEARCHES:
        from ..baselines import make_baseline

        session.configure(LearnerConfig())
        make_baseline(model, settings, options)
        return settings
    chosen = settings if model is None else (*settings, f"search={model}")
    session.configure(LearnerConfig().with_settings(chosen))
    return chosen
