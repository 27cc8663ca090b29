"""nlil bench debian: the Debian package graph, from the indexes that apt keeps on a Debian machine.

    python -m nlil_bench.debian OUT [LISTS]       only write the graph
    nlil bench debian [--data LISTS]              LISTS: a folder of apt indexes, /var/lib/apt/lists by default

`write_debian` writes a folder with train.tsv, valid.tsv and test.tsv. A package is known by its name; whatever else is
named gets a prefix: source:, section:, maintainer: and so on. Of a dependency on `a | b` both are facts; names are also
taken apart at hyphens, and the words of the short description are facts too. The same indexes and seed give the same
files.
"""

from __future__ import annotations

import gzip
import lzma
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from nlil.errors import DataError
from nlil.progress import Progress

from .cells import markdown, measured, source_text
from .registry import Bench, Request
from .results import Entries, Job, seed_of
from .watched import run_nlil

LISTS = "/var/lib/apt/lists"
INDEX = re.compile(r"_Packages(\.gz|\.xz|\.lz4)?$")
RELATIONS = (
    "Depends", "Pre-Depends", "Recommends", "Suggests", "Enhances", "Breaks", "Conflicts", "Replaces", "Provides",
)  # fmt: skip
"""Fields that name other packages: `a (>= 2), b:any | c`."""
VALUES = ("Source", "Section", "Priority", "Architecture", "Multi-Arch", "Maintainer", "Homepage", "Tag", "Essential")
HELD_OUT = 5_000
"""Facts of `valid` and of `test`."""
MEMORY = "4GiB"
KEPT = ("num_rules", "kinds", "mrr", "hits@1", "hits@10", "num_queries")
"""Of what the commands say."""

Triple = tuple[str, str, str]


def write_debian(folder: str | Path, lists: str | Path = LISTS, seed: int = 0) -> dict[str, int]:
    """Write the graph of all packages in the indexes of `lists` into `folder`; return the number of facts by split.

    `seed` chooses the facts that are held out.
    """
    folder, facts = Path(folder), sorted(set(read_facts(Path(lists))))
    order = np.random.default_rng(seed).permutation(len(facts))
    held_out = min(HELD_OUT, len(facts) // 20)
    parts = dict(zip(("test", "valid", "train"), np.split(order, [held_out, 2 * held_out])))
    folder.mkdir(parents=True, exist_ok=True)
    for split, rows in parts.items():
        lines = ["\t".join(facts[row]) + "\n" for row in np.sort(rows).tolist()]
        (folder / f"{split}.tsv").write_text("".join(lines), encoding="utf-8")
    return {split: len(rows) for split, rows in parts.items()}


def read_facts(lists: Path) -> Iterator[Triple]:
    """Yield (package, predicate, value) for each package of the indexes in the folder `lists`; some come twice."""
    indexes = sorted(path for path in lists.iterdir() if INDEX.search(path.name)) if lists.is_dir() else []
    if not indexes:
        raise DataError("expected a folder with package indexes of apt; make them with: apt-get update", lists)
    for index in indexes:
        for fields in stanzas(index):
            yield from package_facts(fields)


def stanzas(index: Path) -> Iterator[dict[str, str]]:
    """Yield the fields of each package of an `index`; lines that continue a field are joined to it."""
    fields: dict[str, str] = {}
    name = ""
    with _opened(index) as stream:
        for raw in stream:
            line = raw.decode("utf-8", "replace").rstrip("\n")
            if not line:
                if fields:
                    yield fields
                fields = {}
            elif line[0] in " \t":
                fields[name] += " " + line.strip()
            else:
                name, _, value = line.partition(":")
                fields[name] = value.strip()
    if fields:
        yield fields


@contextmanager
def _opened(index: Path) -> Iterator[IO[bytes]]:
    if index.suffix == ".lz4":  # as apt keeps them in containers
        import pyarrow as pa

        content = pa.CompressedInputStream(pa.OSFile(str(index), "rb"), "lz4").read()
        yield iter(bytes(content).splitlines(keepends=True))  # type: ignore[misc]
        return
    openers = {".gz": gzip.open, ".xz": lzma.open}
    with openers.get(index.suffix, open)(index, "rb") as stream:  # type: ignore[operator]
        yield stream


def package_facts(fields: dict[str, str]) -> Iterator[Triple]:
    """Yield the facts of one package by its `fields`."""
    package = fields["Package"]
    for field in RELATIONS:
        for other in re.split("[,|]", fields.get(field, "")):
            if name := re.sub(r"\(.*?\)|\[.*?\]|:any\b", "", other).strip():
                yield package, _predicate(field), name
    yield package, "source", "source:" + fields.get("Source", package).split(" ")[0]
    for part in re.split(r"[-.+]", package):
        if part and not part.isdigit():
            yield package, "name_part", f"part:{part}"
    for word in re.findall(r"[a-z]{4,}", fields.get("Description", "").lower()):
        yield package, "word", f"word:{word}"
    for field in VALUES:
        if field == "Source" or field not in fields:
            continue
        predicate = _predicate(field)
        for value in _values(field, fields[field]):
            yield package, predicate, f"{predicate}:{value}"


def _predicate(field: str) -> str:
    return field.lower().replace("-", "_")


def _values(field: str, text: str) -> list[str]:
    """The values of a field that are worth a name: an address is known by its host, a maintainer by the e-mail."""
    if field == "Tag":
        return [tag.strip() for tag in text.split(",") if tag.strip()]
    if field == "Homepage":
        host = re.match(r"\w+://([^/:]+)", text)
        return [host.group(1).lower()] if host else []
    if field == "Maintainer":
        mail = re.search(r"<([^>]+)>", text)
        return [mail.group(1).lower() if mail else text]
    return [text] if text else []


def measure(job: Job, progress: Progress) -> dict[str, Any]:
    """Write the graph, learn from it and evaluate, each in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="nlil-debian-") as folder:
        place = Path(folder)
        progress("read the indexes", 0, 3)
        sizes = write_debian(place / "graph", job["lists"], seed_of(job))
        threads = str(job["options"].get("threads", 0))
        budget = ["--memory", MEMORY, "--threads", threads, "--quiet", "--json"]
        took: dict[str, Any] = {}
        commands = {"learn": ["learn", str(place / "graph"), "--out"], "evaluate": ["evaluate"]}
        for done, (name, words) in enumerate(commands.items(), start=1):
            progress(name, done, 3)
            found = run_nlil([*words, str(place / "run"), *budget])
            took[name] = {"seconds": found.seconds, "cpu": found.cpu_seconds, "peak_mb": found.peak_mb}
            took[name]["document"] = {key: found.document[key] for key in KEPT if key in found.document}
    return {"num_facts": sizes["train"], "took": took, "load_average": os.getloadavg()[0]}


def jobs(request: Request, lists: str) -> list[Job]:
    """The graph of one folder of indexes."""
    return [request.job("debian", "debian", lists=lists)]


def debian_table(entries: Entries) -> str:
    """A row for each command."""
    shown = measured(entries)
    rows = [
        (
            f"{entry['num_facts']:,}",
            name,
            f"{took['seconds']:.0f} s",
            f"{took['cpu']:.0f} s",
            f"{took['peak_mb'] / 1000:.1f} GB",
            ", ".join(f"{key} {value}" for key, value in took["document"].items()),
        )
        for entry in shown.values()
        for name, took in entry["took"].items()
    ]
    head = ("facts", f"command, --memory {MEMORY}", "time", "CPU", "memory", "found")
    return markdown(head, rows, (0, 2, 3, 4), source_text("nlil bench debian", shown))


BENCH = Bench(measure, {"debian": debian_table}, names=lambda request: request.names or [LISTS], jobs=jobs)


if __name__ == "__main__":
    sys.stdout.write(f"{write_debian(sys.argv[1], (*sys.argv, LISTS)[2])}\n")
