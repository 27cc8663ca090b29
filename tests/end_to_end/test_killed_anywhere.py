"""A kill before every file operation: what is there is the old or the new state, and the next call tidies up.

A driver prepares a folder and forks; the child kills itself before its n-th operation on a file in that folder, which
an audit hook of Python counts. n grows until the child comes to its end.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

DRIVER = '''
import os, shutil, signal, sys
from pathlib import Path

from nlil.cli.main import run as nlil
from nlil.learning.changing import OWN
from nlil.learning.feedback import Verdict, load_feedback, save_verdict
from nlil.learning.learner import Learner
from nlil.learning.run import load_run

root, command = Path(sys.argv[1]), sys.argv[2]
run, report = root / "run", root / "report.html"
LEARN = ["learn", "even:10", "--set", "min_support=1", "--out", str(run), "--quiet"]
EVENTS = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.truncate", "os.link"}
RULE = "even(X) :- zero(X)."


def changes(event, arguments):
    """Whether an audit event is an operation on a file of the folder, other than to read it."""
    if event not in EVENTS:
        return False
    path = arguments[0]
    if not isinstance(path, str):
        return False
    if event == "open" and not (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        return False
    return path.startswith(str(root)) or (event != "open" and not path.startswith("/"))


def die_before(last):
    left = [last]

    def hook(event, arguments):
        if changes(event, arguments):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def learn():
    assert nlil([*LEARN, "--force", "--set", "max_length=2"]) == 0


def evaluate():
    assert nlil(["evaluate", str(run), "--split", "train", "--quiet"]) == 0


def verdict():
    save_verdict(run, RULE, Verdict("accepted"))


def make_report():
    assert nlil(["report", str(run), "--out", str(report), "--quiet"]) == 0


COMMANDS = {"learn": learn, "evaluate": evaluate, "verdict": verdict, "report": make_report}


def state():
    """What a reader finds: which settings, whether there are figures and verdicts, and a whole report."""
    learned = load_run(run)
    assert len(learned.rules)
    text = report.read_text() if report.exists() else None
    assert text is None or text.rstrip().endswith("</html>")
    return learned.config.max_length, (run / "metrics.json").exists(), len(load_feedback(run)), text is not None


def names():
    return sorted(str(file.relative_to(root)) for file in root.rglob("*"))


os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
assert nlil(LEARN) == 0
old = state()
shutil.copytree(root, kept := root.with_name("kept"))
if command == "learn":  # what was found is not what is tested
    found = {}
    fit = Learner.fit
    def once(self, *data, **options):
        key = self.config.max_length
        found[key] = found.get(key) or fit(self, *data, **options)
        return found[key]
    Learner.fit = once
COMMANDS[command]()
new, whole = state(), names()
assert old != new, "nothing to see"
last, seen = 0, set()
while True:
    last += 1
    shutil.rmtree(root)
    shutil.copytree(kept, root)
    child = os.fork()
    if not child:
        die_before(last)
        COMMANDS[command]()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    now = state()
    assert now in (old, new), (last, now)
    seen.add(now)
    assert not any((run / name).exists() for name in OWN), (last, names())
    if status == 0:
        break
    assert os.WIFSIGNALED(status), (last, status)
    if command == "learn" and (run / "checkpoint").exists():
        assert nlil([*LEARN, "--resume", "--set", "max_length=2"]) == 0
    COMMANDS[command]()
    assert (state(), names()) == (new, whole), (last, set(names()) ^ set(whole))
assert seen == {old, new}
print(last - 1, file=sys.stderr)
'''


@pytest.mark.parametrize("command", ["learn", "evaluate", "verdict", "report"])
def test_old_or_new_never_neither(command: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(tmp_path / "folder"), command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stderr.split()[-1]) > 3, done.stderr
