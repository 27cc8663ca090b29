"""nlil serve RUN"""

from __future__ import annotations

import sys
from typing import Annotated

from ..errors import ConfigError, require
from .session import Bounds, OtherData, Run, Session

LOCAL = ("127.0.0.1", "localhost", "::1")


def serve(
    session: Session,
    run: Run,
    *,
    port: Annotated[int, Bounds(0, 65535)] = 8000,
    host: str = "127.0.0.1",
    data: OtherData = None,
    theory: bool = False,
) -> None:
    """Look at a run in the browser: rules, answers, explanations, and what people say of the rules.

    Args:
        session: The common options.
        run: The rules.
        port: Where the viewer listens; 0: any free port.
        host (NAME): Who can reach it: by default only this machine; 0.0.0.0 lets everyone on the network read the data
            and judge rules.
        data: Other facts.
        theory: Use only the theories of the run: a few rules for each target (see: nlil theory).
    """
    for package in ("fastapi", "uvicorn", "jinja2"):
        require(package, "viewer", "the viewer")
    from ..viewer.application import Guard, application, listen, serve_until_stopped
    from ..viewer.page_data import PageData

    if host not in LOCAL:
        session.warn(f"--host {host}: everyone who can reach this machine can read this data and judge its rules")
    with listen(host, port) as socket:  # before the data is read: a port that is taken should be said at once
        opened = session.open_run(run, data, theory)
        if not len(opened.all_rules):
            raise ConfigError(f"{run}: the run has no rules, so there is nothing to look at; nlil learn says why")
        pages = PageData(opened)
        pages.warm_up()
        address = f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{socket.getsockname()[1]}/"
        session.show({"address": address, "run": str(run)}, f"viewer of {run} at {address} (stop it with Ctrl-C)")
        sys.stdout.flush()  # whoever reads this through a pipe waits for the address
        serve_until_stopped(application(pages, Guard.of([host])), socket)
