"""What a figure needs beside it to mean something: machine, versions, memory; and the files figures are kept in.

benchmarks/results/<bench>.json holds one entry for each (data, device, options); measuring again replaces it.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nlil.data.files import replacing
from nlil.errors import DataError
from nlil.learning.run import versions

__all__ = ["machine", "peak_memory_mb", "read_entries", "save_entries", "versions"]

RESULTS = Path("benchmarks/results")


def peak_memory_mb() -> float:
    """Most memory this process ever held, in MB (10^6 bytes)."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def machine(device: str = "cpu") -> dict[str, Any]:
    """Processor, cores, memory, and the accelerator if one is used."""
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


def read_entries(bench: str, folder: Path = RESULTS) -> dict[str, Any]:
    path = folder / f"{bench}.json"
    if not path.is_file():
        return {}
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))["entries"])
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"not a result file of nlil bench ({error}); move it away and measure again", path) from error


def save_entries(bench: str, entries: Mapping[str, Any], folder: Path = RESULTS) -> Path:
    """Merge these entries into the result file, atomically; others keep their figures."""
    path = folder / f"{bench}.json"
    merged = {**read_entries(bench, folder), **entries}
    document = {"bench": bench, "entries": {key: merged[key] for key in sorted(merged)}}
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return path
