"""Entries: the figures of one measurement with everything that belongs to them, and the files that store them.

benchmarks/results/<bench>.json holds one entry for each (data, device, options); measuring again replaces it. An entry
says on which machine, with which versions, at which commit and on which day it was measured.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from nlil.errors import DataError

RESULTS = Path("benchmarks/results")
Entry = Mapping[str, Any]
Entries = Mapping[str, Entry]
"""Key -> entry; `entry_key` makes the keys."""
Job = Mapping[str, Any]
"""What a measuring process is told: `bench` names the measurement, `quick` says whether it is a small version."""


# what stands beside a figure ------------------------------------------------------------------------------


def stamped(entry: Entry, job: Job) -> dict[str, Any]:
    """The entry with what every entry has: data, seed, machine, versions, commit, date, memory of this process.

    Args:
        entry: What was measured; its own values come before the common ones.
        job: What the measuring process was told.
    """
    from nlil.learning.folder import versions

    common = {
        "data": job.get("data"),
        "quick": bool(job.get("quick")),
        "seed": seed_of(job),
        "peak_memory_mb": peak_memory_mb(),
        "machine": machine(),
        "versions": versions(),
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    return {**common, **entry}


def seed_of(job: Job) -> int:
    """Return the seed that the user gave, or 0."""
    return int(job.get("options", {}).get("seed", 0))


def peak_memory_mb(children: bool = False) -> float:
    """Most memory that this process ever held, in MB (10^6 bytes); with `children`, that one of its children held."""
    import resource

    who = resource.RUSAGE_CHILDREN if children else resource.RUSAGE_SELF
    peak = resource.getrusage(who).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


@cache
def commit() -> str | None:
    """The commit of the code that runs, with `+` if files were changed since; None outside of a checkout."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(here), *words], capture_output=True, text=True, check=True).stdout

    try:
        changed = "+" if git("status", "--porcelain", "--untracked-files=no", ":/src").strip() else ""
        return git("rev-parse", "--short=10", "HEAD").strip() + changed
    except (OSError, subprocess.CalledProcessError):
        return None


def machine(device: str = "cpu") -> dict[str, Any]:
    """Return the processor, cores and memory, and the accelerator unless `device` is cpu or there is none."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found: dict[str, Any] = {"cpu": _cpu_model(), "cores": cores, "system": platform.system()}
    if hasattr(os, "sysconf"):
        found["memory_gib"] = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    found["device"] = device if device == "cpu" else _gpu_name()
    return found


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _gpu_name() -> str:
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


# result files ---------------------------------------------------------------------------------------------


def read_entries(bench: str, folder: Path = RESULTS) -> dict[str, Any]:
    """The entries of a bench that `folder` keeps; none where nothing was measured yet."""
    path = folder / f"{bench}.json"
    if not path.is_file():
        return {}
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))["entries"])
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"not a result file of nlil bench ({error}); move it away and measure again", path) from error


def save_entries(bench: str, entries: Entries, folder: Path = RESULTS) -> Path:
    """Merge these entries into the result file, atomically; others keep their figures."""
    from nlil.data.files import replacing

    path = folder / f"{bench}.json"
    merged = {**read_entries(bench, folder), **entries}
    document = {"bench": bench, "entries": {key: merged[key] for key in sorted(merged)}}
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return path


def entry_key(entry: Entry, *words: str) -> str:
    """What an entry is kept under: the words that are not empty; an entry of --quick has a key of its own."""
    return " ".join([*filter(None, words), *(["quick"] if entry["quick"] else [])])


def job_key(entry: Entry, job: Job, *words: str) -> str:
    """Return the key of an entry: `words` that tell it apart, then the options and settings that the user gave.

    The device is a word of its own (`device_word`), and the number of threads changes no figure.
    """
    options = [f"{name}={value}" for name, value in sorted(job["options"].items()) if name not in ("device", "threads")]
    return entry_key(entry, *words, *options, *job["settings"])


def device_word(entry: Entry) -> str:
    """Return `cpu` or `cuda`."""
    return "cpu" if entry["machine"]["device"] == "cpu" else "cuda"
