"""nlil serve RUN"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError, require
from .opening import Opened, open_run
from .session import Session

if TYPE_CHECKING:
    from ..viewer.page_data import OpenRun

LOCAL = ("127.0.0.1", "localhost", "::1")
FIGURES = ("mrr", "hits@1", "hits@10", "r@1", "r@5", "f1")
"""Of what `evaluate` kept, shown on the first page."""


def serve(
    session: Session,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where the viewer listens; 0: any free port.")] = 8000,
    host: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Who can reach it: by default only this machine; 0.0.0.0 "
            "lets everyone on the network read the data and judge rules.",
        ),
    ] = "127.0.0.1",
    data: Annotated[str | None, typer.Option(metavar="DATA", help="Apply the rules to this data.")] = None,
) -> None:
    """Look at a run in the browser: rules, answers, explanations, and what people say of the rules."""
    for package in ("fastapi", "uvicorn", "jinja2"):
        require(package, "viewer", "the viewer")
    from ..viewer.application import Guard, application, listen, serve_until_stopped
    from ..viewer.page_data import PageData

    if host not in LOCAL:
        session.warn(f"--host {host}: everyone who can reach this machine can read this data and judge its rules")
    with listen(host, port) as socket:  # before the data is read: a port that is taken should be said at once
        pages = PageData(open_for_viewer(session, run, data))
        pages.warm_up()
        address = f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{socket.getsockname()[1]}/"
        session.show({"address": address, "run": str(run)}, f"viewer of {run} at {address} (stop it with Ctrl-C)")
        sys.stdout.flush()  # whoever reads this through a pipe waits for the address
        serve_until_stopped(application(pages, Guard.of([host])), socket)


def open_for_viewer(session: Session, run: Path, data: str | None) -> OpenRun:
    from ..learning.calibrating import load_calibration
    from ..learning.run import load_info
    from ..viewer.page_data import OpenRun

    opened = open_run(session, run, data)
    if not len(opened.all_rules):
        raise ConfigError(f"{run}: the run has no rules, so there is nothing to look at; nlil learn says why")
    info = load_info(run)
    summary: dict[str, Any] = {
        "source": info.source,
        "partial": info.partial,
        "seconds": info.seconds,
        "figures": figures(run, opened),
    }
    return OpenRun(
        run,
        opened.all_rules,
        opened.dataset,
        opened.base,
        opened.feedback,
        load_calibration(run),
        opened.config.memory,
        summary,
    )


def figures(run: Path, opened: Opened) -> dict[str, float]:
    """The main figures of the test split, where `evaluate` has measured the run on its own data."""
    from ..learning.folder import read_json
    from ..learning.run import METRICS

    if not opened.is_own_data or not (run / METRICS).is_file():
        return {}
    measured = read_json(run / METRICS)
    kept: dict[str, Any] = measured.get("test") or next(iter(measured.values()), {})
    overall = kept.get("overall", kept)
    return {f"test {name}" if "test" in measured else name: float(overall[name]) for name in FIGURES if name in overall}
