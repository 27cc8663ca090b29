"""How a command ends: exit codes, one sentence, nothing on stdout."""

from __future__ import annotations

import errno
import inspect
import os
import platform
import subprocess
import sys
from typing import Annotated, get_args

import numpy as np
import pytest
from typer.models import OptionInfo

import nlil
from commandline import Nlil
from nlil.cli.main import COMMANDS, own_command
from nlil.cli.session import (
    NO_MEMORY,
    Bounds,
    Session,
    command,
    complain,
    guarded,
    memory_in_use,
    requested_bytes,
    sentence,
)
from nlil.errors import NlilError, UnknownName


def ending(error: BaseException, session: Session | None = None) -> int:
    def work() -> None:
        raise error

    return guarded(session or Session(), work)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (UnknownName("predicate", "mothr", ["mother"]), 2, "nlil: unknown predicate 'mothr'; closest: 'mother'\n"),
        (NlilError("two\nlines   here"), 2, "nlil: two lines here\n"),
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory", "a.pl"),
            2,
            "nlil: a.pl: no such file or directory\n",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device", "run/x"),
            2,
            "nlil: run/x: no space left on the device; free some space or write elsewhere\n",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            2,
            "nlil: no space left on the device; free some space or write elsewhere\n",
        ),
        (KeyboardInterrupt(), 130, "nlil: interrupted\n"),
    ],
)
def test_endings(error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ending(error) == code
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", said)


def test_a_bug_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        ending(ZeroDivisionError())


def test_debug_shows_the_traceback() -> None:
    def work() -> None:
        raise NlilError("x")

    with pytest.raises(NlilError):
        guarded(Session(debug=True), work)


def test_sentence_of_a_bare_error() -> None:
    assert sentence(OSError("odd"), Session()) == "odd"


def test_complaint_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    complain("a\n b")
    assert capsys.readouterr().err == "nlil: a b\n"


def test_every_command_has_the_common_options(nlil_command: Nlil) -> None:
    for name in COMMANDS:
        page = nlil_command(name, "--help")
        assert page.code == 0
        for option in ("--json", "--seed", "--device", "--threads", "--memory", "--quiet", "--debug"):
            assert option in page.out, (name, option)


def test_common_options_reach_the_session() -> None:
    import typer

    seen: list[Session] = []

    def probe(session: Session) -> None:
        seen.append(session)

    app = typer.Typer()
    app.command()(command(probe))
    app(
        ["--json", "--seed", "7", "--device", "cpu", "--threads", "2", "--memory", "2GiB", "--quiet"],
        standalone_mode=False,
    )
    assert seen == [Session(True, 7, "cpu", 2, "2GiB", quiet=True)]


def test_given_options_win_over_the_configuration() -> None:
    from nlil.config import LearnerConfig

    config = LearnerConfig(seed=3, threads=4)
    assert Session().configure(config) == config
    changed = Session(seed=5, memory="1GiB").configure(config)
    assert (changed.seed, changed.threads, changed.memory) == (5, 4, 2**30)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("learn",), "Missing argument 'DATA'; see: nlil learn --help"),
        (("learn", "kin"), "Missing option '--out'; see: nlil learn --help"),
        (("lern", "kin"), "No such command 'lern'"),
        (("inspect", "kin", "--sed", "1"), "No such option: --sed"),
        (("inspect", "kin", "--seed", "x"), "Invalid value for '--seed'"),
        (("inspect", "kin", "--seed", "-1"), "Invalid value for '--seed'"),
        (("predict", "run", "q", "--top", "0"), "Invalid value for '--top'"),
    ],
)
def test_usage_errors_are_one_sentence(arguments: tuple[str, ...], expected: str, nlil_command: Nlil) -> None:
    complaint = nlil_command(*arguments).complaint
    assert expected in complaint
    assert "--help" in complaint


def test_version_and_help(nlil_command: Nlil) -> None:
    assert nlil_command("--version").out == f"nlil {nlil.__version__}\n"
    for arguments in ((), ("--help",), ("-h",)):
        page = nlil_command(*arguments)
        assert page.code == 0
        assert all(name in page.out for name in COMMANDS)


def test_module_can_be_run() -> None:
    done = subprocess.run([sys.executable, "-m", "nlil", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"nlil {nlil.__version__}\n"


def test_a_reader_that_goes_away_is_no_error() -> None:
    """`nlil datasets | head -0`: no traceback, no complaint."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [sys.executable, "-m", "nlil", "inspect", "even:10"],
        stdout=write_end,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write_end)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_docstring_of_a_command_is_the_help_of_its_options() -> None:
    def greet(
        session: Session, who: str, *, times: Annotated[int, Bounds(1, 3)] = 1, words: str = "", loud: bool = False
    ) -> None:
        """Greet somebody.

        Args:
            session: The common options.
            who (NAME): The one to greet.
            times: How often, in
                two lines.
            words (--say TEXT): What to say.
            loud: Shout.
        """

    made = command(greet)
    about = {name: p.annotation.__metadata__[0] for name, p in inspect.signature(made).parameters.items()}
    assert made.__doc__ == "Greet somebody."
    assert (about["who"].metavar, about["who"].help) == ("NAME", "The one to greet.")
    assert (about["times"].help, about["times"].min, about["times"].max) == (
        "How often, in two lines.",
        1,
        3,
    )
    assert (about["words"].default, about["words"].metavar, about["words"].help) == ("--say", "TEXT", "What to say.")
    assert (about["loud"].default, about["loud"].help) == ("--loud", "Shout.")
    assert [type(about[name]).__name__ for name in ("who", "times")] == ["ArgumentInfo", "OptionInfo"]


def test_every_option_has_help() -> None:
    for name in COMMANDS:
        parameters = inspect.signature(command(own_command(name))).parameters.values()
        assert all(p.annotation.__metadata__[0].help for p in parameters), name


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_names_its_flag(name: str) -> None:
    """typer 0.27 makes the flag of an option from its metavar if it has no other."""
    parameters = inspect.signature(command(own_command(name))).parameters.values()
    options = [info for p in parameters for info in get_args(p.annotation) if isinstance(info, OptionInfo)]
    assert options
    # Inside Annotated, typer keeps the first flag where a default would be.
    assert [option.help for option in options if not str(option.default).startswith("-")] == []


@pytest.mark.parametrize(
    ("error", "used", "said"),
    [
        (MemoryError(), 1_700e6, "up to 1,700 MB were in use; try --memory 953MiB"),
        (MemoryError(), 9_000e6, "up to 9,000 MB were in use; try --memory 1000MiB"),  # half of the budget
        (
            MemoryError("malloc of size 7000000 failed"),
            1_220e6,
            "up to 1,220 MB were in use and 7 MB more were needed; try --memory 572MiB",
        ),
        (MemoryError(), 100e6, "up to 100 MB were in use; free some memory, or use a larger machine"),
        (RuntimeError("can't start new thread"), 0, "free some memory, or use a larger machine"),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 40000000 bytes."),
            1_220e6,
            "up to 1,220 MB were in use and 40 MB more were needed; try --memory 572MiB",
        ),
        (
            RuntimeError("CUDA out of memory. Tried to allocate 2 GiB."),
            1_220e6,
            "1,220 MB were in use; try --memory 572MiB",
        ),
    ],
)
def test_a_failed_allocation_names_a_budget_that_would_do(
    error: Exception, used: float, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("nlil.cli.session.memory_in_use", lambda: int(used))
    assert ending(error, Session(memory="2000MiB")) == 2
    message = capsys.readouterr().err
    assert message.startswith("nlil: not enough memory" + (": up to " if used else ";"))
    assert message.endswith(f"{said}\n")


def test_the_size_of_an_array_that_does_not_fit() -> None:
    with pytest.raises(MemoryError) as caught:
        np.zeros(10**15)
    assert requested_bytes(caught.value) == 8 * 10**15
    assert memory_in_use() > 10**7
    with pytest.raises(RuntimeError):
        ending(RuntimeError("another"))


def test_torch_says_what_it_could_not_allocate() -> None:
    import torch

    with pytest.raises(RuntimeError) as caught:
        torch.empty(10**15)
    assert NO_MEMORY.search(str(caught.value))
    assert requested_bytes(MemoryError(str(caught.value))) == 4 * 10**15


def test_the_help_fits_a_screen(nlil_command: Nlil) -> None:
    lines = nlil_command("--help").out.splitlines()
    assert len(lines) <= 50
    for name in COMMANDS:
        assert sum(line.startswith(f"│ {name} ") for line in lines) == 1
    assert any(line.strip().startswith("nlil demo ") for line in lines)


@pytest.mark.parametrize(("typed", "found"), [("nlil le", "learn"), ("nlil rules --min-s", "--min-support")])
def test_the_shell_completes(typed: str, found: str) -> None:
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1), "_NLIL_COMPLETE": "complete_bash"}
    code = "from nlil.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **words}, capture_output=True, text=True)
    assert done.stdout.split() == [found]


ARRAYS = """
import resource
import numpy as np
from nlil.cli.main import return_memory

return_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(200):
    np.ones(2**18)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is told how to return memory")
def test_an_array_is_not_taken_from_the_system_again_and_again() -> None:
    """Two hundred arrays of 2 MB, one after the other: 100,000 page faults if each is given back at once."""
    done = subprocess.run([sys.executable, "-c", ARRAYS], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 10_000
