"""One measurement in a fresh process, so that one data set does not affect time and memory of the next.

The child writes JSON lines to stdout: {"progress": [...]} while it works, {"result": {...}} or {"error": "..."} last;
"limit" with an error means that the data were too large for the method.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from nlil.errors import LimitError, NlilError
from nlil.progress import Progress, silent

from .registry import load_bench
from .results import Job, stamped


def measure_here(job: Job, progress: Progress = silent) -> dict[str, Any]:
    """The entry of `job` (its `bench` names the measurement), measured in this process."""
    return stamped(load_bench(job["bench"]).measure(job, progress), job)


def measure_apart(job: Job, progress: Progress = silent) -> dict[str, Any]:
    """The entry of `job`, measured in a process of its own."""
    command = [sys.executable, "-m", "nlil_bench.job", json.dumps(job)]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, encoding="utf-8") as child:
            try:
                outcome = _follow(child, progress)
            except BaseException:
                child.kill()
                raise
        errors.seek(0)
        text = errors.read()
    if "result" in outcome:
        return dict(outcome["result"])
    reason = outcome.get("error") or (text.strip().splitlines() or ["it ended without a result"])[-1]
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


def _send(message: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _report(stage: str, done: int, total: int, note: str = "") -> None:
    _send({"progress": [stage, int(done), int(total), note]})


def run_job(text: str) -> None:
    """The child's side."""
    try:
        _send({"result": measure_here(json.loads(text), _report)})
    except (NlilError, OSError, MemoryError) as error:
        _send({"error": str(error) or type(error).__name__, "limit": isinstance(error, LimitError)})


if __name__ == "__main__":
    run_job(sys.argv[1])
