"""A command watched while it runs: seconds, CPU seconds and peak memory of it and of its children.

Memory is what belongs to the processes alone or is shared between them (anonymous and shared pages); pages of mapped
files, which the system may drop at any time, are counted apart. Linux only: it reads /proc.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlil.errors import NlilError

EVERY = 0.02
"""Seconds between two looks."""
MB = 1e6


@dataclass(frozen=True)
class Watched:
    """What a command took.

    Attributes:
        code: its exit code.
        seconds: from start to end.
        cpu_seconds: of it and its children.
        peak_mb: most anonymous and shared memory at a time, 10^6 bytes.
        mapped_mb: most pages of mapped files at a time.
        output: what it wrote to stdout.
        errors: what it wrote to stderr.
    """

    code: int
    seconds: float
    cpu_seconds: float
    peak_mb: float
    mapped_mb: float
    output: str
    errors: str

    @property
    def document(self) -> dict[str, Any]:
        """The output as JSON."""
        return dict(json.loads(self.output))


def run_nlil(words: Sequence[str], environment: Mapping[str, str] | None = None) -> Watched:
    """Run the command `nlil` with these `words`; raise NlilError if it fails.

    Args:
        words: The command and its options.
        environment: Variables to add to the environment of this process.
    """
    done = watch([sys.executable, "-m", "nlil", *words], environment)
    if done.code:
        raise NlilError(f"nlil {words[0]} ended with {done.code}: {done.errors.strip()[-500:]}")
    return done


def watch(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Watched:
    """Run `command` to its end; `environment` is added to that of this process."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        began = time.monotonic()
        before = os.times()
        child = subprocess.Popen(command, stdout=output, stderr=errors, env={**os.environ, **(environment or {})})
        peak, mapped = 0, 0
        while child.poll() is None:
            private, files = memory_of(child.pid)
            peak, mapped = max(peak, private), max(mapped, files)
            time.sleep(EVERY)
        after = os.times()
        seconds = time.monotonic() - began
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        output.seek(0)
        errors.seek(0)
        return Watched(child.returncode, seconds, cpu, peak / MB, mapped / MB, output.read(), errors.read())


def memory_of(process: int) -> tuple[int, int]:
    """Bytes of a process and its children: anonymous and shared memory, pages of mapped files."""
    private, mapped = 0, 0
    for one in processes_of(process):
        try:
            text = Path(f"/proc/{one}/status").read_text(encoding="utf-8")
        except OSError:
            continue
        sizes = {
            line.split(":")[0]: int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Rss")
        }
        private += sizes.get("RssAnon", 0) + sizes.get("RssShmem", 0)
        mapped += sizes.get("RssFile", 0)
    return private, mapped


def processes_of(process: int) -> list[int]:
    """The process and all its descendants."""
    found, waiting = [], [process]
    while waiting:
        one = waiting.pop()
        found.append(one)
        try:
            tasks = list(Path(f"/proc/{one}/task").iterdir())
            waiting += [int(word) for task in tasks for word in (task / "children").read_text().split()]
        except OSError:
            continue
    return found


if __name__ == "__main__":
    told = watch(sys.argv[1:])
    sys.stdout.write(told.output)
    sys.stderr.write(told.errors)
    about = (
        f"{told.seconds:.1f} s, {told.cpu_seconds:.1f} CPU s, {told.peak_mb:,.0f} MB, mapped {told.mapped_mb:,.0f} MB"
    )
    sys.stderr.write(f"exit {told.code}: {about}\n")
