"""Ctrl-C ends every command soon, even if no thread gets to run Python."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

ENDLESS = 120
"""Seconds that a test may take at most; without an answer to Ctrl-C, the command would run for hours."""

BUSY = """
import hashlib, sys, threading, time
import nlil.datasets
from nlil.cli import main

sys.setswitchinterval(ENDLESS)  # threads take turns only where one waits, or calls C code that lets others run

def endless():
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # one call, which lets others run

def report(thread):
    while sys._current_frames()[thread].f_code.co_name != "endless":
        time.sleep(0.01)
    print("busy", flush=True)

def in_main_thread(*args, **options):
    threading.Thread(target=report, args=(threading.get_ident(),), daemon=True).start()
    endless()

def in_another_thread(*args, **options):
    thread = threading.Thread(target=endless)
    thread.start()
    report(thread.ident)
    threading.Event().wait()

nlil.datasets.load_dataset = WHERE
sys.argv = ["nlil", "inspect", "kin"]
main.main()
"""


@pytest.mark.parametrize("where", ["in_main_thread", "in_another_thread"])
def test_a_command_inside_one_long_call_ends(where: str) -> None:
    command = [sys.executable, "-c", BUSY.replace("WHERE", where).replace("ENDLESS", str(ENDLESS))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "busy\n"
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=ENDLESS)
        finally:
            process.kill()
    assert (process.returncode, output, errors) == (130, "", "nlil: interrupted\n")
