"""Run by test_bounds.py: commands whose compiled loops check every index, and one loop that does not keep to its array.

python with_bounds.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from nlil.cli.main import run
from nlil.kernel.compiled import compiled


@compiled
def beyond(values: np.ndarray, place: int) -> int:
    return values[place]


def main() -> None:
    folder = Path(sys.argv[1])
    try:
        beyond(np.arange(3), 3)
        sys.exit("indices are not checked")
    except IndexError:
        pass
    fact = "uncle(jack1, emil1)"
    kin = [("check",), ("complete", "--top", "3"), ("predict", "uncle(jack1, ?)"), ("explain", fact), ("theory",)]
    runs = {
        "kin:40": (["search=count"], [("evaluate",), ("evaluate", "--theory"), *kin]),
        "scenes:30": (["preset=scene"], [("evaluate",), ("check",)]),
        "even:20": (["min_support=1"], []),
    }
    for data, (settings, commands) in runs.items():
        out = str(folder / data.partition(":")[0])
        words = [word for setting in settings for word in ("--set", setting)]
        call("learn", data, "--out", out, *words)
        for name, *rest in commands:
            call(name, out, *rest)
        call("materialize", out, "--out", f"{out}.tsv")


def call(*words: str) -> None:
    if run([*words, "--quiet"]) != 0:
        sys.exit(f"failed: {' '.join(words)}")


if __name__ == "__main__":
    main()
