"""What is fuzzed: for each subject valid inputs, and the code that reads an input.

The code may raise NlilError, and an OSError that names a file: the command line makes a sentence of both. Everything
else is a finding.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from . import seeds
from .mutations import Files, mutated

if TYPE_CHECKING:
    from nlil.data.dataset import Dataset

CORPUS = Path(__file__).parent / "corpus"
MAX_PREDICTIONS = 3
"""Queries asked of each run."""
MAX_EXPORTED = 20
SEALED = 0.9
"""Share of the run folders whose checksums fit, as whoever forges one would make them."""


@dataclass(frozen=True)
class Subject:
    """One of the things that read input.

    Args:
        name: Its name, and that of its folder in the corpus.
        seeds: Makes valid inputs.
        read: Reads an input that lies in a folder.
        weight: How often it is chosen.
        packages: What it needs; without them it is skipped.
        finish: Completes a mutated input.
    """

    name: str
    seeds: Callable[[], Sequence[Files]]
    read: Callable[[Path], object]
    weight: int = 1
    packages: tuple[str, ...] = ()
    finish: Callable[[Files, random.Random], Files] = lambda files, _: files

    @property
    def missing(self) -> list[str]:
        """The packages that it needs and that are not installed."""
        return [package for package in self.packages if find_spec(package) is None]


def input_of(seed: int, number: int) -> tuple[Subject, Files]:
    """Return the subject and the input of this `number`: the same for the same seed, code and packages."""
    rng = random.Random(f"{seed}/{number}")
    usable = present_subjects()
    subject = rng.choices(usable, [one.weight for one in usable])[0]
    return subject, subject.finish(mutated(rng.choice(subject.seeds()), rng), rng)


def found_cases() -> list[Path]:
    """Return the folders of all cases that were found: CORPUS/SUBJECT/NAME, with the files that were changed."""
    return sorted(case for subject in CORPUS.iterdir() for case in subject.iterdir())


def case_files(case: Path) -> Files:
    """Return the input of a found case; files of a run that it does not have are those of the valid run."""
    files = {str(file.relative_to(case)): file.read_bytes() for file in case.rglob("*") if file.is_file()}
    return sealed({**seeds.run_files(), **files}) if any(name.startswith("run/") for name in files) else files


def write(files: Files, folder: Path) -> None:
    """Write the files of an input into a folder."""
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


# data ---------------------------------------------------------------------------------------------------


def read_data(folder: Path) -> None:
    """Read the folder as data, or its only file, as `nlil inspect` does."""
    from nlil.datasets import load_dataset

    files = list(folder.iterdir())
    load_dataset(files[0] if len(files) == 1 else folder)


def read_sql(folder: Path) -> None:
    """Read the rows of a query on a DuckDB file."""
    from nlil.datasets import load_dataset

    path, _ = database()
    load_dataset(f"duckdb:///{path}?{_text(folder)}")


@cache
def database() -> tuple[Path, object]:
    """A DuckDB file with the facts that rules are about, and a connection: while it is open, others open fast."""
    import tempfile

    import duckdb

    from nlil.data.database import RESTRICTED

    path = Path(tempfile.mkdtemp()) / "facts.db"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE facts (s VARCHAR, p VARCHAR, o VARCHAR, w DOUBLE)")
        made.executemany("INSERT INTO facts VALUES (?, ?, ?, .5)", [list(row) for row in seeds.BINARY])
    atexit.register(database.cache_clear)  # DuckDB complains about what is still open later
    return path, duckdb.connect(str(path), read_only=True, config=RESTRICTED)


def data_seeds(*endings: str) -> Callable[[], Sequence[Files]]:
    """Return the inputs with a file of one of these endings."""

    def some() -> Sequence[Files]:
        return [files for files in seeds.data_files() if any(name.endswith(endings) for name in files)]

    return some


def read_with_columns(folder: Path) -> None:
    """Read data with named columns and another encoding."""
    from nlil.data.dataset import DataOptions
    from nlil.datasets import load_dataset

    columns, encoding = (folder / name for name in ("columns", "encoding"))
    told = [file.read_text("utf-8", "replace").strip() if file.is_file() else "" for file in (columns, encoding)]
    load_dataset(folder / "data.csv", options=DataOptions(columns=told[0], encoding=told[1] or "utf-8"))


def columns_seeds() -> list[Files]:
    csv = "source,type,target,a\n" + "".join(",".join(row) + ",1\n" for row in seeds.BINARY)
    told = [(columns, "utf-8") for columns in seeds.COLUMNS] + [("", code) for code in ("latin-1", "utf-16", "cp1252")]
    return [
        {"data.csv": csv.encode(code), "columns": columns.encode(), "encoding": code.encode()} for columns, code in told
    ]


def read_merges(folder: Path) -> None:
    """Read a file of merged names, and apply it."""
    from nlil.data.dataset import DataOptions
    from nlil.datasets import load_dataset

    load_dataset(family(), options=DataOptions(merge=str(folder / "merge.txt")))


def read_scores(folder: Path) -> None:
    """Read the scores of a classifier."""
    from nlil.data.target_scores import read_target_scores

    read_target_scores(next(folder.iterdir()), base().kb)


def scores_seeds() -> list[Files]:
    rows = [(name, kind, value) for name in ("ann", "tom") for kind, value in (("male", 0.25), ("female", 0.75))]
    text = "".join(f"{name}\t{kind}\t{value}\n" for name, kind, value in rows)
    return [{"scores.tsv": text.encode()}, {"scores.csv": ("entity,class,score\n" + text.replace("\t", ",")).encode()}]


@cache
def family() -> Path:
    """A file with the facts that rules and queries are about."""
    import tempfile

    path = Path(tempfile.mkdtemp()) / "family.tsv"
    path.write_text(seeds.TSV)
    return path


@cache
def base() -> Dataset:
    """The facts that rules and queries are about."""
    from nlil.datasets import load_dataset

    return load_dataset(family())


# rules, queries, settings -------------------------------------------------------------------------------


def read_rule_file(folder: Path) -> None:
    """Read rules, count them on the base, and write them in every language."""
    from nlil.errors import ExportError
    from nlil.exports.programs import LANGUAGES, program
    from nlil.exports.rule_files import RuleFile

    rules = RuleFile.read(next(folder.iterdir())).known_to(base()).counted(base(), threads=1)
    for language in LANGUAGES:
        try:
            for _ in program(list(rules)[:MAX_EXPORTED], language, refuse=lambda error: None):
                pass
        except ExportError:
            continue


def rule_file_seeds() -> list[Files]:
    text = "\n".join(seeds.RULES)
    listed = {"rules": list(seeds.RULES[:-1]), "exclusions": [seeds.RULES[-1]]}
    return [
        {"rules.pl": text.encode()},
        {"rules.pl": ("/* a */ " + text.replace(", ", ",\n  ") + " % end\n").encode()},
        {"rules.json": seeds.as_json(listed)},
        {"rules.json": seeds.as_json([{"rule": rule} for rule in seeds.RULES[:-1]])},
        *seeds.text_files("rules.txt", seeds.ANYBURL, seeds.AMIE),
    ]


def read_rule(folder: Path) -> None:
    """Parse a rule; its text says the same, and so does its English."""
    from nlil.logic.english import rule_sentence
    from nlil.logic.parse import parse_program, parse_rule

    text = _text(folder)
    _, denials = parse_program(text)
    if denials:
        return
    rule = parse_rule(text)
    assert parse_rule(str(rule)) == rule, f"{rule} is read back as another rule"
    rule_sentence(rule)


def read_query(folder: Path) -> None:
    """Parse a query, answer it and explain it with a run."""
    from nlil.explanation.why import Explainer
    from nlil.logic.query import parse_fact, parse_query

    text = _text(folder)
    query = parse_query(text)
    assert parse_query(str(query)) == query, f"{query} is read back as another query"
    predictor().predict(text, 3)
    if None in query.arguments:
        return
    parse_fact(text)
    Explainer(predictor().rules, predictor().kb).explain(text, top=3, groundings=2)


def _text(folder: Path) -> str:
    return next(folder.iterdir()).read_text("utf-8", "surrogateescape")


def read_settings(folder: Path) -> None:
    """Read settings from TOML or, like --set, from lines."""
    from nlil.config import LearnerConfig

    file = next(folder.iterdir())
    if file.suffix == ".toml":
        config = LearnerConfig.from_toml(file)
    else:
        config = LearnerConfig().with_settings(_text(folder).split("\n"))
    assert LearnerConfig().with_values(json.loads(json.dumps(config.to_dict()))) == config, (
        "settings change when stored"
    )
    config.data_options()


# runs ---------------------------------------------------------------------------------------------------


@cache
def predictor() -> Any:
    """Answers by the rules of the valid run."""
    from nlil.evaluation.prediction import Predictor
    from nlil.kernel.ruleset import RuleSet
    from nlil.logic.parse import parse_rule
    from nlil.logic.rule import RuleStats, ScoredRule

    kb = base().kb
    scored = [ScoredRule(parse_rule(text), RuleStats(1, 2, 1, 1), 0.25) for text in seeds.RULES[:-1]]
    return Predictor(RuleSet.of(kb, scored), kb, kb.facts, 1, 2**30)


def mostly_sealed(files: Files, rng: random.Random) -> Files:
    """Return a run folder with checksums that fit, mostly."""
    return sealed(files) if rng.random() < SEALED else files


def sealed(files: Files) -> Files:
    """Return a run folder with checksums that fit."""
    import hashlib

    try:
        stored = dict(json.loads(files["run/checksums.json"]))
    except (KeyError, ValueError, TypeError, RecursionError):
        return files
    found = {name: content for name, content in files.items() if name.startswith("run/")}
    sums = {name: hashlib.sha256(found[f"run/{name}"]).hexdigest() for name in stored if f"run/{name}" in found}
    return {**files, "run/checksums.json": seeds.as_json(sums)}


def read_run(folder: Path) -> None:
    """Open a run, and answer and explain with it what it can be asked."""
    from nlil.errors import NlilError
    from nlil.explanation.why import Explainer
    from nlil.learning.opening import open_run
    from nlil.logic.text import fact_text

    opened = open_run(folder / "run", str(folder / "train.tsv"))
    _ = opened.metrics(), opened.main_figures(), opened.theory, opened.notes, opened.warnings, opened.active
    opened.learned.best_first()
    asked = opened.predictor
    explainer = Explainer(opened.rules, opened.base, probabilities=opened.calibration)
    for row in _some(len(opened.base.facts)):
        facts = opened.base.facts
        fact = opened.base.fact(int(facts.predicate[row]), int(facts.subject[row]), int(facts.object[row]))
        try:
            asked.predict(fact_text(fact), 3)
            explainer.explain(fact, top=3, groundings=2)
        except NlilError:
            continue
    if opened.learned.theory is not None:
        opened.learned.with_theory()


def _some(count: int) -> Iterable[int]:
    return range(0, count, max(1, count // MAX_PREDICTIONS))


def run_seeds() -> list[Files]:
    return [seeds.run_files()]


def read_run_for_report(folder: Path) -> None:
    """Make the report of a run."""
    from nlil.learning.opening import open_run
    from nlil.report.contents import make_report
    from nlil.report.page import render

    opened = open_run(folder / "run", str(folder / "train.tsv"))
    render(
        make_report(opened.active, opened.dataset, figures=opened.metrics(), versions=opened.info.versions, threads=1)
    )


def read_checkpoint(folder: Path) -> None:
    """Continue from a checkpoint."""
    from nlil.learning.checkpoint import Checkpoint

    Checkpoint(folder / "checkpoint", {"settings": {"seed": 0}, "targets": {"targets": ["p"]}}).load("group")


@cache
def checkpoint_seeds() -> list[Files]:
    import tempfile

    import numpy as np

    from nlil.learning.checkpoint import Checkpoint

    with tempfile.TemporaryDirectory() as place:
        stored = Checkpoint(Path(place) / "checkpoint", {"settings": {"seed": 0}, "targets": {"targets": ["p"]}})
        stored.save("group", {"a": np.arange(6).reshape(2, 3)}, {"epoch": 3})
        return [{f"checkpoint/{file.name}": file.read_bytes() for file in sorted(stored.folder.iterdir())}]


def read_facts_to_score(folder: Path) -> None:
    """Score the facts of a file, as `nlil score` does."""
    from nlil.data.dataset import DataOptions
    from nlil.datasets.folder import file_batches

    for batch in predictor().score_batches(file_batches(next(folder.iterdir()), DataOptions())):
        list(batch.rows())


def scored_seeds() -> list[Files]:
    tables = data_seeds(".tsv", ".jsonl", ".csv", ".parquet")()
    return [files for files in tables if len(files) == 1 and not any(name.startswith("visit.") for name in files)]


def read_task(folder: Path) -> None:
    """Read the folder of a logic program."""
    from nlil.program.reading import read_folder

    read_folder(folder)


def task_seeds() -> list[Files]:
    popper = {"bk.pl": seeds.BK, "exs.pl": seeds.EXS, "bias.pl": seeds.BIAS}
    lists = {"bk.pl": seeds.LISTS, "exs.pl": seeds.LIST_EXAMPLES}
    aleph = {"task.b": seeds.ALEPH, "task.f": "reach(a, c).\n", "task.n": "reach(c, a).\n"}
    return [{name: text.encode() for name, text in files.items()} for files in (popper, aleph, lists)]


# the viewer ---------------------------------------------------------------------------------------------


@cache
def viewer() -> Any:
    """The application of the viewer over the valid run, and its token."""
    import tempfile

    from nlil.learning.opening import open_run
    from nlil.viewer.application import Guard, application
    from nlil.viewer.page_data import PageData

    place = Path(tempfile.mkdtemp())
    write(seeds.run_files(), place)
    guard = Guard()
    return application(PageData(open_run(place / "run", str(place / "train.tsv"))), guard), guard.token


@cache
def event_loop() -> asyncio.AbstractEventLoop:
    """An event loop that runs in a thread of its own: the browser tests keep one running in theirs."""
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, daemon=True).start()
    return loop


def read_request(folder: Path) -> None:
    """Send a request to the viewer: its method, its address, and the form."""
    app, token = viewer()
    content = next(folder.iterdir()).read_bytes().replace(b"TOKEN", token.encode())
    method, _, rest = content.partition(b" ")
    address, _, form = rest.partition(b" ")
    path, _, query = address.partition(b"?")
    from urllib.parse import unquote_to_bytes

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method.decode("latin-1")[:20],
        "scheme": "http",
        "path": unquote_to_bytes(path).decode("utf-8", "replace"),
        "raw_path": path,
        "query_string": query[:60_000],
        "root_path": "",
        "headers": [(b"host", b"localhost:8000"), (b"content-type", b"application/x-www-form-urlencoded")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
        "state": {},
    }
    statuses = []
    pending = [{"type": "http.request", "body": form, "more_body": False}]

    async def receive() -> Any:
        return pending.pop() if pending else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    asyncio.run_coroutine_threadsafe(app(scope, receive, send), event_loop()).result()
    assert statuses, "no answer"
    assert statuses[0] < 500, f"status {statuses[0]}"


def request_seeds() -> Sequence[Files]:
    return seeds.text_files("request", *seeds.REQUESTS)


SUBJECTS = (
    Subject("tables", data_seeds(".tsv", ".csv", ".txt", ".tsv.gz"), read_data, 3),
    Subject("json-lines", data_seeds(".jsonl", ".ndjson.gz"), read_data),
    Subject("parquet", data_seeds(".parquet"), read_data, 2),
    Subject("graphml", data_seeds(".graphml"), read_data),
    Subject("rdf", data_seeds(".ttl", ".nt"), read_data, packages=("pyoxigraph",)),
    Subject("sql", lambda: seeds.text_files("query", *seeds.SQL), read_sql, packages=("duckdb",)),
    Subject("prolog", data_seeds(".pl"), read_data, 2),
    Subject("scenes", data_seeds(".json", ".json.gz"), read_data, 4, ("ijson",)),
    Subject("columns", columns_seeds, read_with_columns),
    Subject("merges", lambda: seeds.text_files("merge.txt", "kin: father,mother\nmale: male\n"), read_merges),
    Subject("target-scores", scores_seeds, read_scores),
    Subject("rule-files", rule_file_seeds, read_rule_file, 4),
    Subject("rules", lambda: seeds.text_files("rule", *seeds.RULES), read_rule, 2),
    Subject("queries", lambda: seeds.text_files("query", *seeds.QUERIES), read_query, 2),
    Subject(
        "settings",
        lambda: [*seeds.text_files("a.toml", seeds.TOML), *seeds.text_files("set", *seeds.SETTINGS)],
        read_settings,
        2,
    ),
    Subject("runs", run_seeds, read_run, 5, finish=mostly_sealed),
    Subject("reports", run_seeds, read_run_for_report, 1, ("jinja2", "matplotlib"), mostly_sealed),
    Subject("checkpoints", checkpoint_seeds, read_checkpoint),
    Subject("scored-facts", scored_seeds, read_facts_to_score),
    Subject("tasks", task_seeds, read_task, 3),
    Subject("requests", request_seeds, read_request, 4, ("fastapi", "jinja2")),
)


@cache
def present_subjects() -> tuple[Subject, ...]:
    """The subjects whose packages are installed."""
    return tuple(one for one in SUBJECTS if not one.missing)


def subject_named(name: str) -> Subject:
    """Return the subject of this name."""
    return next(one for one in SUBJECTS if one.name == name)
