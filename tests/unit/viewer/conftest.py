"""One family and one street of scenes, learned once; tests that write have a copy of their own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import viewer_runs
from nlil.viewer.application import Guard, application

Client = TestClient


@pytest.fixture(scope="package")
def family_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return viewer_runs.learn_family(tmp_path_factory.mktemp("family"))


@pytest.fixture(scope="package")
def family(family_run: Path) -> TestClient:
    return client_of(family_run)


@pytest.fixture(scope="package")
def scene_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return viewer_runs.learn_scenes(tmp_path_factory.mktemp("scenes"))


@pytest.fixture(scope="package")
def scenes(scene_run: Path) -> TestClient:
    return client_of(scene_run)


@pytest.fixture
def own_run(family_run: Path, tmp_path: Path) -> Path:
    shutil.copytree(family_run, tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def reopened(own_run: Path) -> Callable[[], TestClient]:
    return lambda: client_of(own_run)


def client_of(run: Path) -> TestClient:
    app = application(viewer_runs.page_data_of(run), Guard.of([]))
    # A page that fails is answered, as it is to a browser, and not raised into the test.
    return TestClient(app, base_url="http://localhost:8000", raise_server_exceptions=False, follow_redirects=False)
