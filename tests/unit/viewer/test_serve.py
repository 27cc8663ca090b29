"""nlil serve as a process: where it listens, how it ends, what it refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from commandline import Nlil
from nlil.viewer.application import listen


def test_it_listens_on_this_machine_only_and_ends_with_ctrl_c(family_run: Path) -> None:
    command = [sys.executable, "-m", "nlil", "serve", str(family_run), "--port", "0", "--json", "--quiet"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    ) as process:
        try:
            said = document(process)
            assert said["address"].startswith("http://127.0.0.1:")
            with urllib.request.urlopen(said["address"] + "search.json?q=aunt", timeout=20) as response:
                assert json.load(response)["suggestions"][0]["name"] == "aunt"
                assert "server" not in {name.lower() for name in response.headers}
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=20)
            assert process.returncode == 130
            assert errors == "nlil: interrupted\n"
        finally:
            process.kill()


def document(process: subprocess.Popen[str]) -> dict[str, str]:
    """The JSON document that a process prints first."""
    assert process.stdout is not None
    said = ""
    while not said.endswith("}\n"):
        line = process.stdout.readline()
        assert line, process.communicate()
        said += line
    found: dict[str, str] = json.loads(said)
    return found


def test_refusals(nlil_command: Nlil, family_run: Path, tmp_path: Path) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        outcome = nlil_command("serve", family_run, "--port", port)
        assert f"--port {port}: another program listens there" in outcome.complaint
    assert "no such run folder" in nlil_command("serve", tmp_path / "none", "--port", 0).complaint
    assert (
        "expected a name or address of this machine"
        in nlil_command("serve", family_run, "--host", "no.such.host.invalid", "--port", 0, "--quiet").err
    )
    assert "65535" in nlil_command("serve", family_run, "--port", 70000).complaint


def test_without_the_extra_it_says_what_to_install(
    nlil_command: Nlil, family_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fastapi", None)
    complaint = nlil_command("serve", family_run).complaint
    assert "the viewer needs the package 'fastapi'" in complaint
    assert "pip install 'nlil[viewer]'" in complaint


def test_templates_and_script_are_packaged() -> None:
    import nlil.viewer

    folder = Path(nlil.viewer.__file__).parent
    project = (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    assert '"viewer/templates/*.html", "viewer/static/*"' in project
    assert {file.suffix for file in (folder / "templates").iterdir()} == {".html"}
    assert sorted(file.name for file in (folder / "static").iterdir()) == ["icon.svg", "viewer.css", "viewer.js"]
    for file in (folder / "static").iterdir():
        assert "//" not in file.read_text(encoding="utf-8").replace("// ", "").replace("http://www.w3.org/2000/svg", "")
