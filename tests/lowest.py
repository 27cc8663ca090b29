"""Print the lowest versions that pyproject.toml allows, as constraints for pip; torch stays at its pin.

`make test-lowest` installs them in an environment of its own and runs the tests there. Packages that we do not name
ourselves keep the newest versions that fit.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PINNED = "torch"
"""Each of its versions needs a build of its own for CPUs, so it is not varied."""


def lowest() -> Iterator[str]:
    """Yield a line `name==version` for every package that the project names, once."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    bounds: dict[str, str] = {}
    for wanted in (*project["dependencies"], *(one for extra in extras for one in extra)):
        found = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)", wanted)
        if found is None:
            if wanted.partition("[")[0] != project["name"]:
                raise ValueError(f"pyproject.toml: expected NAME>=VERSION, got {wanted!r}")
            continue
        if bounds.setdefault(found[1], found[2]) != found[2]:
            raise ValueError(f"pyproject.toml: {found[1]} has the bounds {bounds[found[1]]} and {found[2]}")
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    yield from (f"{name}=={version}" for name, version in bounds.items() if name != PINNED)
    yield from (pin for pin in pins if pin.startswith(f"{PINNED}=="))


if __name__ == "__main__":
    print("\n".join(lowest()))
