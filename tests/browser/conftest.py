"""A viewer that really listens, and Debian's chromium that really asks it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import viewer_runs
from nlil.viewer.application import Guard, application, listen

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("NO BROWSER: the viewer was not tested in one; install Debian's chromium")
    sync_api = pytest.importorskip("playwright.sync_api", reason="NO PLAYWRIGHT: the viewer was not tested")
    with sync_api.sync_playwright() as playwright:
        # Tests may run as root in a container, where chromium's own sandbox cannot be set up.
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield found
        found.close()


@pytest.fixture(scope="session")
def family_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from served(viewer_runs.learn_family(tmp_path_factory.mktemp("family")))


@pytest.fixture(scope="session")
def scene_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from served(viewer_runs.learn_scenes(tmp_path_factory.mktemp("scenes")))


def served(run: Path) -> Iterator[str]:
    import uvicorn

    with listen("127.0.0.1", 0) as socket:
        data = viewer_runs.page_data_of(run)
        data.warm_up()
        data.work_ahead()
        app = application(data, Guard.of([]))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{socket.getsockname()[1]}"
        server.should_exit = True
        thread.join(10)


@pytest.fixture(params=[1280, 390], ids=["desktop", "phone"])
def width(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def page(browser: Any, width: int) -> Iterator[Any]:
    """A fresh window; whatever its console complains of fails the test."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.complaints = complaints
    page.set_default_timeout(120_000)  # the first visit of a page compiles what it needs
    yield page
    context.close()
    assert complaints == []
