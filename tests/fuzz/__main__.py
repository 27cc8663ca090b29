"""python -m fuzz: run many mutated inputs, or one of them again."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from .runner import CHUNK, fuzz
from .subjects import case_files, subject_named, write


def main() -> int:
    """Run what the arguments say; return 1 if something was found."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000, help="how many inputs of the seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time; call again to go on")
    parser.add_argument("--folder", type=Path, default=Path(".fuzz"), help="what has been run, and what was found")
    parser.add_argument("--replay", type=Path, metavar="DIR", help="read the input in SUBJECT/NAME again")
    given = parser.parse_args()
    if given.replay is not None:
        return replay(given.replay)
    state = fuzz(given.seed, given.inputs, given.workers, given.folder, most_seconds=given.seconds)
    run = min(len(state.chunks) * CHUNK, given.inputs)
    took = f"{state.seconds:,.0f} s ({state.cpu:,.0f} s of processor time)"
    print(f"\nseed {given.seed}: {run:,} inputs, {took}, {len(state.findings):,} findings")
    for key, count in state.by_place.most_common():
        example = next(
            one["number"] for one in state.findings if key == f"{one['subject']} {one['kind']} {one['where']}"
        )
        print(f"{count:6,}  {key}  (input {example})")
    return 1 if state.findings else 0


def replay(case: Path) -> int:
    """Read one stored input in this process, and show the traceback."""
    with tempfile.TemporaryDirectory() as place:
        write(case_files(case), Path(place))
        subject_named(case.resolve().parent.name).read(Path(place))
    return 0


if __name__ == "__main__":
    sys.exit(main())
