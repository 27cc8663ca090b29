"""The wheel and the sdist hold everything that nlil needs, and run where nothing else is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from urllib.request import urlopen

import pytest

from pages import ROOT

PACKAGE = ROOT / "src" / "nlil"
pytestmark = pytest.mark.slow


def call(*words: object, folder: Path) -> str:
    """Run a program outside of the checkout, so that it finds installed packages only; return what it prints."""
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([*map(str, words)], cwd=folder, env=outside, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the sdist and with the wheel that is built from it.

    They are built from a copy: two test processes that build in one folder disturb each other.
    """
    pytest.importorskip("build")
    folder, copy = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("source") / "nlil"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "build", "tests", "__pycache__", "*.egg-info"))
    call(sys.executable, "-m", "build", "--outdir", folder, copy, folder=folder)
    return folder


def test_both_are_complete_and_well_described(built: Path) -> None:
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    said = call(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist, folder=built)
    assert said.count("PASSED") == 2
    ours = {
        str(path.relative_to(ROOT / "src"))
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {Path(name).suffix for name in ours} >= {".py", ".html", ".css", ".js", ".pl", ".toml", ".typed"}
    assert ours - set(zipfile.ZipFile(wheel).namelist()) == set()
    with tarfile.open(sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {f"src/{name}" for name in ours} - names == set()
    assert {"LICENSE", "README.md", "CHANGELOG.md", "constraints.txt"} - names == set()


def test_a_fresh_environment_runs_it(built: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    programs = tmp_path / "env" / "bin"
    (wheel,) = built.glob("*.whl")
    quiet = ("--quiet", "--disable-pip-version-check")
    call(programs / "pip", "install", *quiet, "-c", ROOT / "constraints.txt", f"{wheel}[viewer]", folder=tmp_path)
    nlil = programs / "nlil"
    assert call(nlil, "--version", folder=tmp_path).startswith("nlil ")
    call(nlil, "learn", "kin:60", "--out", "run", "--set", "search=count", "--quiet", folder=tmp_path)
    assert "because" in call(nlil, "explain", "run", "aunt(sophie1, kate2)", folder=tmp_path)
    call(nlil, "rules", "run", "--format", "prolog", "--facts", "facts.pl", folder=tmp_path)
    call(nlil, "report", "run", "--out", "report.html", folder=tmp_path)
    words = [programs / "nlil", "serve", "run", "--port", "0", "--json", "--quiet"]
    with subprocess.Popen([*map(str, words)], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as viewer:
        assert viewer.stdout is not None
        document = "".join(iter(viewer.stdout.readline, "}\n")) + "}"
        with urlopen(json.loads(document)["address"]) as answer:
            assert b"predicates with rules" in answer.read()
        viewer.terminate()
