"""One measurement in a fresh process, so that time and memory of one data set do not run into the next.

The child writes JSON lines to stdout: {"progress": [...]} while it works, {"result": {...}} or {"error": "..."} last;
"limit" beside an error says that the data were too large for the method.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from nlil.errors import LimitError, NlilError
from nlil.progress import Progress, silent

Measure = Callable[[Mapping[str, Any], Progress], dict[str, Any]]


def measure_apart(job: Mapping[str, Any], progress: Progress = silent) -> dict[str, Any]:
    """The result of `job` (its `bench` names the measurement), measured in a process of its own."""
    command = [sys.executable, "-m", "nlil_bench.job", json.dumps(job)]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, encoding="utf-8") as child:
            try:
                outcome = _follow(child, progress)
            except BaseException:
                child.kill()
                raise
        errors.seek(0)
        said = errors.read()
    if "result" in outcome:
        return dict(outcome["result"])
    reason = outcome.get("error") or (said.strip().splitlines() or ["it ended without a result"])[-1]
    kind = LimitError if outcome.get("limit") else NlilError
    raise kind(f"{job['bench']} on {job.get('data', 'generated data')}: {reason}")


def _follow(child: subprocess.Popen[str], progress: Progress) -> dict[str, Any]:
    outcome: dict[str, Any] = {}
    for line in child.stdout or ():
        message = json.loads(line)
        if "progress" in message:
            progress(*message["progress"])
        else:
            outcome = message
    return outcome


def _tell(message: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _report(stage: str, done: int, total: int, note: str = "") -> None:
    _tell({"progress": [stage, int(done), int(total), note]})


def _measurement(bench: str) -> Measure:
    match bench:
        case "kb":
            from .kb import measure

            return measure
        case "stats":
            from .stats import measure as measure_stats

            return measure_stats
        case "scale":
            from .scale import measure as measure_scale

            return measure_scale
        case "recovery":
            from .recovery import measure as measure_recovery

            return measure_recovery
        case "es":
            from .es import measure as measure_es

            return measure_es
        case "length":
            from .length import measure as measure_length

            return measure_length
        case "speed":
            from .speed import measure as measure_speed

            return measure_speed
        case "curve":
            from .curve import measure as measure_curve

            return measure_curve
        case "scene" | "fewshot":
            from .scene import measure as measure_scene

            return measure_scene
        case "viewer":
            from .viewer import measure as measure_viewer

            return measure_viewer
        case _:
            raise NlilError(f"unknown bench {bench!r}")


def run_job(text: str) -> None:
    """The child's side."""
    job = json.loads(text)
    try:
        _tell({"result": _measurement(job["bench"])(job, _report)})
    except (NlilError, OSError, MemoryError) as error:
        _tell({"error": str(error) or type(error).__name__, "limit": isinstance(error, LimitError)})


if __name__ == "__main__":
    run_job(sys.argv[1])
