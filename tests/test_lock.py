"""requirements.lock: the versions of constraints.txt, each with a hash, and no address of a package host."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINE = re.compile(r"([\w.-]+)==(\S+) --hash=sha256:[0-9a-f]{64}")
WITHOUT_HASH = {"torch"}
"""Which build fits depends on the GPU."""
BUILD = {"setuptools"}
"""Needed to install without an isolated build, which would fetch packages without hashes."""


def pinned(name: str) -> dict[str, str]:
    lines = [line for line in (ROOT / name).read_text().splitlines() if not line.startswith("#")]
    return dict(line.split(" ")[0].split("==") for line in lines)


def test_every_package_has_the_version_of_the_constraints_and_a_hash() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert all(LINE.fullmatch(line) or line.startswith("#") for line in text.splitlines())
    locked, constraints = (
        {n.lower(): v for n, v in pinned(name).items()} for name in ("requirements.lock", "constraints.txt")
    )
    assert locked.keys() - BUILD == constraints.keys() - WITHOUT_HASH
    assert {name: locked[name] for name in locked.keys() - BUILD} == {
        name: version for name, version in constraints.items() if name not in WITHOUT_HASH
    }


def test_no_address_is_in_the_lock() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text
    assert not re.search(r"--(extra-)?index|--find-links|--trusted-host", text)
