"""Names from data on a terminal, in a pipe of any encoding, and in messages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.text import Text

from commandline import Nlil
from nlil.cli.session import Session, check_file, json_text
from nlil.errors import ConfigError, DataError, NlilError, RuleSyntaxError, printable

ESCAPE = "\x1b[31mred\x9b31m\u202e"


def test_messages_quote_at_most_eighty_characters() -> None:
    error = DataError(f"expected a name, got {'x' * 10**6!r}; shorten it", "a.tsv", 3)
    assert str(error) == f"a.tsv:3: expected a name, got '{'x' * 77}...'; shorten it"
    assert len(str(NlilError("no quotes " * 10**5))) == 2000
    assert len(str(NlilError(repr("x" * 10**7)))) <= 82
    text = "p(X) :- " + "q(X), " * 1000 + "?"
    syntax = RuleSyntaxError("unexpected '?'", text, len(text))
    assert str(syntax).endswith("q(X), ?'")
    assert len(str(syntax)) < 150
    assert str(NlilError("it's 'a' and isn't " + "b " * 60)).count("b") == 60  # an apostrophe is no quote


def test_control_characters_do_not_reach_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    session = Session()
    session.note(ESCAPE)
    session.warn(ESCAPE)
    session.show(None, Text(ESCAPE, style="bold"), ESCAPE)
    Session(as_json=True).show({"name": ESCAPE})
    captured = capsys.readouterr()
    for written in (captured.out, captured.err):
        assert printable(written) == written
        assert "\\x1b[31mred" in written or "\\u001b[31mred" in written
    assert printable(str(NlilError(ESCAPE))) == str(NlilError(ESCAPE))
    assert json.loads(json_text({"name": ESCAPE})) == {"name": ESCAPE}


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_any_encoding_of_stdout_will_do(encoding: str, tmp_path: Path) -> None:
    facts = tmp_path / "facts.pl"
    facts.write_text("p('é漢', 'é漢').\np(b, 'c\\xd\\').\n", encoding="utf-8")
    for options in ((), ("--json",)):
        done = subprocess.run(
            [sys.executable, "-m", "nlil", "inspect", str(facts), *options],
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": encoding},
            check=False,
        )
        assert done.returncode == 0, done.stderr
    script = "from nlil.cli.session import *; never_fail_to_print(); print('a ≠ 漢 \\ud800'); print(json_text('≠ 😀'))"
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=environment, check=True)
    first, second = done.stdout.decode(encoding).splitlines()
    assert first == ("a ≠ 漢 \\ud800" if encoding == "utf-8" else "a != \\u6f22 \\ud800")
    assert json.loads(second) == "≠ 😀"


def test_where_a_file_cannot_be_written_is_said_before_any_work(nlil_command: Nlil, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for out in (tmp_path, tmp_path / "file" / "x.html", "/"):
        with pytest.raises(ConfigError):
            check_file(Path(out))
    check_file(tmp_path / "new" / "folder" / "x.html")
    complaint = nlil_command("report", tmp_path / "no-run", "--out", tmp_path / "file" / "x.html").complaint
    assert "is not a folder that can be written to" in complaint
    complaint = nlil_command("learn", "even:10", "--out", "/").complaint
    assert "not a run folder" in complaint
