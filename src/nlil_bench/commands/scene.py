"""nlil bench scene|fewshot"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nlil.cli.session import Session

from .parts import available, finish, given_options, measured


def bench_scene(
    session: Session, names: list[str] | None, quick: bool, model: str | None, settings: tuple[str, ...], out: Path
) -> None:
    from .. import scene

    options = given_options(session)
    check_settings(session, model, settings, options)
    skipped: dict[str, str] = {}
    jobs = [
        scene.job(name, who, row, options, quick)
        for name in names or (scene.QUICK_DATA if quick else scene.DATA)
        if available(session, name, skipped, asked=names is not None)
        for who, row in scene.rows(name, model, settings)
    ]
    finish(session, "scene", measured(session, "scene", jobs, scene.key, out), skipped, out)


def bench_fewshot(
    session: Session, names: list[str] | None, quick: bool, model: str | None, settings: tuple[str, ...], out: Path
) -> None:
    from .. import fewshot, scene
    from ..plots import plot_fewshot
    from ..record import read_entries

    options = given_options(session)
    check_settings(session, model, settings, options)
    skipped: dict[str, str] = {}
    entries: dict[str, Any] = {}
    for name in names or (fewshot.QUICK_DATA if quick else fewshot.DATA):
        if available(session, name, skipped, asked=names is not None):
            jobs = fewshot.jobs(name, model, settings, options, quick)
            entries |= measured(session, "fewshot", jobs, scene.key, out)
    # Figures of --quick are drawn too, but never where those of the full bench are.
    kept = (
        entries if quick else {key: entry for key, entry in read_entries("fewshot", out).items() if not entry["quick"]}
    )
    if kept:
        session.note(f"drawn: {plot_fewshot(kept, out / ('fewshot_quick.png' if quick else 'fewshot.png'))}")
    finish(session, "fewshot", entries, skipped, out)


def check_settings(session: Session, model: str | None, settings: tuple[str, ...], options: dict[str, Any]) -> None:
    """A wrong setting is told before anything runs."""
    from nlil.learning.config import LearnerConfig

    from ..scene import OURS, our_config

    if model is None or model == OURS:
        session.configure(our_config(settings))
        return
    from ..baselines import make_baseline

    session.configure(LearnerConfig())
    make_baseline(model, settings, options)
