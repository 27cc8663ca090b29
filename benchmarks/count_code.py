"""Count lines of code of each room: no blank lines, comments or docstrings; files, and how long functions are.

    python benchmarks/count_code.py                 the working tree
    python benchmarks/count_code.py --at e0b4461    a revision, read from git without a checkout
    ... --formatted                                 after `ruff format`, which older revisions had not seen

A room is a folder or a file of src/nlil or of src/nlil_bench. The house is nlil without benchmarks and baselines, which
older revisions have inside it.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import subprocess
import sys
import tarfile
import tokenize
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from statistics import fmean, median

ROOT = Path(__file__).parent.parent
PACKAGES = ("nlil", "nlil_bench")
BESIDE_THE_HOUSE = ("bench", "baselines")
"""Rooms of nlil in older revisions that are nlil_bench now."""
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}


@dataclass
class Count:
    """Files, lines of code, and the lines of code of each function; a function inside another counts in both."""

    files: int = 0
    lines: int = 0
    functions: list[int] = field(default_factory=list)

    def __add__(self, other: Count) -> Count:
        return Count(self.files + other.files, self.lines + other.lines, self.functions + other.functions)

    @property
    def row(self) -> tuple[str, ...]:
        """Files, lines, functions, their median and mean length."""
        middle = (f"{median(self.functions):g}", f"{fmean(self.functions):.1f}") if self.functions else ("", "")
        return (f"{self.files:,}", f"{self.lines:,}", f"{len(self.functions):,}", *middle)


def count_text(text: str) -> Count:
    """The count of one file.

    >>> count_text('x = 1  # one\\n\\ndef f():\\n    "Why."\\n    return x\\n')
    Count(files=1, lines=3, functions=[2])
    """
    tree = ast.parse(text)
    code = _code_lines(text) - _docstring_lines(tree)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    lengths = [len(code.intersection(range(node.lineno, (node.end_lineno or 0) + 1))) for node in functions]
    return Count(1, len(code), lengths)


def _code_lines(text: str) -> set[int]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {line for t in tokens if t.type not in NO_CODE for line in range(t.start[0], t.end[0] + 1)}


def _docstring_lines(tree: ast.Module) -> set[int]:
    """The lines of texts that stand alone: docstrings, also below constants."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found.update(range(node.lineno, (node.end_lineno or 0) + 1))
    return found


def working_tree() -> dict[PurePosixPath, str]:
    """Path below src -> text, of the files at hand."""
    src = ROOT / "src"
    files = [path for package in PACKAGES for path in sorted((src / package).rglob("*.py"))]
    return {PurePosixPath(path.relative_to(src).as_posix()): path.read_text(encoding="utf-8") for path in files}


def revision(name: str) -> dict[PurePosixPath, str]:
    """The same of a revision."""
    command = ["git", "-C", str(ROOT), "archive", name, "src"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"git archive {name}: {done.stderr.decode().strip()}")
    found = {}
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        for member in archive:
            path = PurePosixPath(member.name).relative_to("src") if "/" in member.name else PurePosixPath(".")
            content = archive.extractfile(member) if path.suffix == ".py" else None
            if content is not None and path.parts[0] in PACKAGES:
                found[path] = content.read().decode("utf-8")
    return found


def formatted(text: str) -> str:
    """The text as `ruff format` writes it with the settings of this project."""
    command = [sys.executable, "-m", "ruff", "format", "--quiet", "--stdin-filename", "src/nlil/a.py", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def count_rooms(texts: Mapping[PurePosixPath, str]) -> dict[str, Count]:
    """Room, as `nlil/data`, -> its count."""
    rooms: dict[str, Count] = {}
    for path, text in texts.items():
        room = "/".join(path.parts[:2])
        rooms[room] = rooms.get(room, Count()) + count_text(text)
    return dict(sorted(rooms.items()))


def is_house(room: str) -> bool:
    """Is it needed by the library?"""
    package, _, name = room.partition("/")
    return package == "nlil" and name not in BESIDE_THE_HOUSE


def total(counts: Iterable[Count]) -> Count:
    """All of them as one."""
    return sum(counts, Count())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--at", metavar="REV", help="a revision instead of the working tree")
    parser.add_argument("--formatted", action="store_true", help="format the code with ruff before it is counted")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    given = parser.parse_args()
    texts = revision(given.at) if given.at else working_tree()
    rooms = count_rooms({path: formatted(text) for path, text in texts.items()} if given.formatted else texts)
    rooms["house"] = total(count for room, count in rooms.items() if is_house(room))
    rooms["benchmarks and baselines"] = total(c for room, c in rooms.items() if "/" in room and not is_house(room))
    if given.json:
        print(json.dumps({room: asdict(count) for room, count in rooms.items()}))
        return
    head = ("room", "files", "lines", "functions", "median", "mean")
    for name, *cells in (head, *((room, *count.row) for room, count in rooms.items())):
        print(f"{name:<28}" + "".join(f"{cell:>11}" for cell in cells))


if __name__ == "__main__":
    main()
