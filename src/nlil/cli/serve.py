"""nlil serve RUN"""

from __future__ import annotations

import sys
from typing import Annotated

from ..errors import ConfigError, require
from .session import AppliedRun, Bounds, Session
from .signals import unheard

LOCAL = ("127.0.0.1", "localhost", "::1")


def serve(
    session: Session,
    run: AppliedRun,
    *,
    port: Annotated[int, Bounds(0, 65535)] = 8000,
    host: str = "127.0.0.1",
) -> None:
    """Browse a run: rules, answers, explanations, and verdicts on the rules.

    Args:
        session: The common options.
        run: The rules.
        port: The port to listen on; 0: any free port.
        host (NAME): The address to listen on: by default only this machine can connect; with 0.0.0.0 everyone on the
            network can read the data and judge rules.
    """
    for package in ("fastapi", "uvicorn", "jinja2"):
        require(package, "viewer", "the viewer")
    from ..viewer.application import Guard, application, listen, serve_until_stopped
    from ..viewer.page_data import PageData

    if host not in LOCAL:
        session.warn(
            f"--host {host}: everyone who can reach this machine can read this data and accept or reject its rules"
        )
    with listen(host, port) as socket:  # before reading the data, so that a port in use is reported at once
        opened = session.open_run(run)
        if not len(opened.all_rules):
            raise ConfigError(f"{run}: the run has no rules, so there is nothing to show; nlil learn says why")
        pages = PageData(opened)
        pages.warm_up()
        pages.work_ahead()
        address = f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{socket.getsockname()[1]}/"
        session.show({"address": address, "run": str(run)}, f"viewer of {run} at {address} (stop it with Ctrl-C)")
        sys.stdout.flush()  # a program that reads a pipe waits for the address
        reopen = lambda: PageData(session.open_run(run))  # noqa: E731
        with unheard():
            serve_until_stopped(application(pages, Guard.of([host]), reopen), socket)
