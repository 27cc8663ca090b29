"""Figures: what stands beside each of them, the files that keep them, and the cells of tables.

benchmarks/results/<bench>.json holds one entry for each (data, device, options); measuring again replaces it. An entry
says on which machine, with which versions, at which commit and on which day it was measured.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlil.errors import DataError, require

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

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
        "seed": int(job.get("options", job).get("seed", 0)),
        "peak_memory_mb": peak_memory_mb(),
        "machine": machine(),
        "versions": versions(),
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    return {**common, **entry}


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
    """Processor, cores, memory, and the accelerator if `device` is one."""
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


def device_word(entry: Entry) -> str:
    """`cpu` or `cuda`."""
    return "cpu" if entry["machine"]["device"] == "cpu" else "cuda"


def option_words(job: Job, leave_out: Iterable[str] = ("device",)) -> list[str]:
    """The common options that the user gave, as words of a key."""
    return [f"{name}={value}" for name, value in sorted(job["options"].items()) if name not in leave_out]


# cells of tables ------------------------------------------------------------------------------------------


def measured(entries: Entries) -> dict[str, Entry]:
    """The entries without those of --quick."""
    return {key: entry for key, entry in entries.items() if not entry.get("quick")}


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] | range = ()) -> str:
    """A Markdown table; `right`: the columns that are aligned to the right."""
    if not rows:
        return "Not measured yet."
    rule = ["--:" if i in right else "---" for i in range(len(head))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *rows))


def source_text(command: str, entries: Entries) -> str:
    """The sentence below a table: the command that measures it, and commit and day where entries have them."""
    stamps = {(e["date"], e["commit"]) for e in entries.values() if e.get("commit") and e.get("date")}
    known = "; ".join(f"commit {commit} on {date}" for date, commit in sorted(stamps))
    return f"Measured by `{command}`{f' ({known})' if known else ''}."


def machine_text(machine: Mapping[str, Any]) -> str:
    """The accelerator, or the number of cores."""
    return f"{machine['cores']} cores" if machine["device"] == "cpu" else str(machine["device"])


def minutes_text(value: float | None) -> str:
    """Minutes, or nothing."""
    return "" if value is None else f"{value:g} min"


def share_text(value: float | None, deviation: float | None = None) -> str:
    """A number from 0 to 1 with three digits.

    >>> share_text(0.95), share_text(None), share_text(0.95, 0.004)
    ('.950', '', '.950 ± .004')
    """
    spread = "" if deviation is None else f" ± {share_text(deviation)}"
    return "" if value is None else f"{value:.3f}".removeprefix("0") + spread


# pictures -------------------------------------------------------------------------------------------------


@contextmanager
def picture(path: Path, width: float, height: float) -> Iterator[Figure]:
    """An empty figure (inches), written to `path` as PNG at the end."""
    from nlil.data.files import replacing

    require("matplotlib", "report", "the picture of the figures")
    # Not pyplot: it would look for a display and keep the figure in a global list.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    yield figure
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png")


def shared_legend(figure: Figure, columns: int) -> None:
    """One legend below all panels."""
    handles = {label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels())}
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=columns, frameon=False)
