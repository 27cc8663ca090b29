"""Valid inputs to begin with: small files of every format, run folders, texts and requests."""

from __future__ import annotations

import gzip
import io
import json
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import kbs

from .mutations import Files

FACTS = [line.split() for line in kbs.FAMILY.split("\n") if line]
BINARY = [row for row in FACTS if len(row) == 3]
TSV = "".join("\t".join(row) + "\n" for row in FACTS)
RULES = (
    "uncle(X, Y) :- father(Z1, Y), mother(Z2, Z1), mother(Z2, X).",
    "uncle(X, cleo) :- mother(Z1, X).",
    "mother(X, Y) :- married(X, Z1), father(Z1, Y), Z1 \\= X, Y \\= X, Y \\= Z1.",
    "male(X) :- father(X, Z1), \\+ female(X).",
    "father(X, Y) :- (married(X, Z1), mother(Z1, Y) ; uncle(X, Y)), male(X).",
    "aunt('bea', Y) :- true.",
    ":- mother(X, Y), father(X, Y).",
)
QUERIES = ("uncle(tom, ?)", "uncle(?, cleo)", "uncle(tom, cleo)", "male(?)", "male(tom)", "'mother'('ann', ? )")
ANYBURL = (
    "9\t7\t0.7\tuncle(X,Y) <= mother(A,X), mother(A,B), mother(B,Y)\n"
    "5\t3\t0.6\tmother(X,bea) <= married(X,A)\n"
    "4\t4\t1.0\taunt(bea,Y) <= \n6\t2\t0.3\taunt(X,me_myself_i) <= father(X,A)\n"
)
AMIE = (
    "Rule\tHead Coverage\tStd Confidence\tPCA Confidence\tPositive Examples\tBody size\tPCA Body size\t"
    "Functional variable\n"
    "?e  mother  ?a  ?e  mother  ?b   => ?a  uncle  ?b\t0.5\t0.5\t0.6\t2\t4\t3\t?a\n"
    "?b  married  ?a   => ?a  married  ?b\t1.0\t1.0\t1.0\t2\t2\t2\t?a\n"
)
SCENE = {
    "i1": {
        "width": 100,
        "height": 60,
        "objects": {
            "1": {
                "name": "person",
                "x": 1,
                "y": 2,
                "w": 30,
                "h": 40,
                "attributes": ["tall"],
                "relations": [{"name": "on", "object": "2"}],
            },
            "2": {"name": "street", "x": 0, "y": 50, "w": 100, "h": 10, "attributes": [], "relations": []},
        },
    },
    "i2": {"width": 64, "height": 48, "objects": {"3": {"name": "car", "x": 1, "y": 1, "w": 5, "h": 5}}},
}
VISUAL_GENOME = [
    {
        "image_id": 7,
        "width": 800,
        "height": 600,
        "objects": [
            {"object_id": 1, "x": 1, "y": 2, "w": 3, "h": 4, "names": ["man"]},
            {"object_id": 2, "x": 5, "y": 6, "w": 7, "h": 8, "names": ["street"]},
        ],
        "attributes": [{"object_id": 1, "names": ["man"], "attributes": ["tall"]}],
        "relationships": [
            {
                "predicate": "on",
                "subject": {"object_id": 1, "names": ["man"]},
                "object": {"object_id": 2, "name": "street"},
            },
            {"predicate": "near", "subject_id": 1, "object_id": 2},
        ],
    }
]
VRD_END = {"category": 0, "bbox": [10, 50, 20, 40]}
VRD = {"a.jpg": [{"predicate": 0, "subject": VRD_END, "object": {"category": 1, "bbox": [1, 2, 3, 4]}}], "b.jpg": []}
HICO_LABEL = {"hoi_id": 1, "human_bbox": [0, 0, 10, 20], "object_bbox": [0, 10, 20, 30], "width": 64, "height": 48}
HICO = {"one.jpg": {"dataset": "hico-det", "labels": [HICO_LABEL, {**HICO_LABEL, "hoi_id": 2}]}}
PARALLEL = {
    "annotation": [{"boxes_h": [[0, 0, 10, 20]], "boxes_o": [[0, 10, 20, 30]], "hoi": [0]}],
    "filenames": ["four.jpg"],
    "objects": ["bicycle"],
    "verbs": ["hold", "ride"],
    "correspondence": [[0, 0, 1], [1, 0, 0]],
    "size": [[64, 48]],
}
GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="label" attr.type="string"/>
<key id="d1" for="edge" attr.name="label" attr.type="string"/>
<key id="d2" for="edge" attr.name="weight" attr.type="double"/>
<graph edgedefault="directed"><node id="n0"><data key="d0">Ann</data></node><node id="n1"/>
<edge source="n0" target="n1"><data key="d1">mother</data><data key="d2">0.5</data></edge>
<edge source="n1" target="n0"><data key="d1">child</data></edge></graph></graphml>
"""
TURTLE = (
    "@prefix : <http://x/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
    ":ann :mother :bea , :tom ; a :Female .\n"
    ':bea rdfs:label "Bea"@en ; :age 7 . _:b :mother [ :father "x"^^<http://t> ] . :ann :age 31.5, 4 .\n'
    ':tom :born "1999-02-03"^^xsd:date . :bea :born "2001"^^xsd:gYear .\n'
)
SQL = (
    "SELECT * FROM facts",
    "SELECT s AS head, p AS relation, o AS tail, w AS weight FROM facts WHERE o LIKE '%a' OR s = 'ann'",
    "SELECT o AS subject, 'p' AS predicate, count(*) AS object FROM facts GROUP BY o HAVING count(*) > 0",
)
PROLOG = (
    "% facts\nmother(ann, bea). mother('Ann B', \"x\").\nfemale(ann). likes(a, -7).\n"
    "/* c */ p(1, -2.5e3). q('a\\'b\\\\', z).\n"
)
TOML = (
    'search = "count"\nmax_length = 3\nmin_confidence = 0.01\nbody = ["mother", "father"]\n'
    'geometry = true\nmemory = "1GiB"\n'
    'time_limit = "60s"\nrate = 1e-3\nseed = 7\n'
)
SETTINGS = (
    "max_length=3",
    "body=p,q",
    "memory=1GiB",
    "time_limit=60s",
    "geometry=off",
    "min_confidence=.5",
    "preset=paper",
)
COLUMNS = ("subject=source,predicate=type,object=3", "subject=1,predicate=2,weight=4", "object=target,subject=a")
NEO4J_NODES = ':ID,name,:LABEL\n1,Ann,"Person;Female"\n2,Bea,Person\n'
NEO4J_RELATIONS = ":START_ID,:END_ID,:TYPE,weight\n1,2,MOTHER,1\n"
BK = "edge(a,b,x). edge(b,c,y).\nred(a). path(A,B) :- edge(A,B,_).\npath(A,C) :- edge(A,B,_), path(B,C).\n"
EXS = "pos(reach(a,c)).\npos(reach(a,b)).\nneg(reach(c,a)).\n"
BIAS = (
    "head_pred(reach,2).\nbody_pred(path,2).\nbody_pred(red,1).\ntype(reach,(node,node)).\ntype(path,(node,node)).\n"
    "type(red,(node,)).\ndirection(path,(in,out)).\nmax_vars(4).\nmax_body(3).\nenable_recursion.\n"
)
LISTS = "p([a, b, [c|d]], [], 'x y', -1.5e3, \"s\").\n"
LIST_EXAMPLES = "pos(last([a, b, c], c)).\npos(last([b], b)).\nneg(last([a, b], a)).\n"
ALEPH = (
    ":- modeh(*, reach(+node, +node)).\n:- modeb(*, path(+node, -node)).\n:- determination(reach/2, path/2).\n"
    ":- set(clauselength, 4).\npath(a, b). path(b, c).\n"
)
REQUESTS = (
    *("GET /", "GET /.json", "GET /search?q=an&kind=entity", "GET /feedback", "GET /predicate/1?sort=weight&page=1"),
    *("GET /predicate/0.json?min_support=2&max_length=3&construct=chain&order=desc", "GET /entity/2?page=1"),
    *("GET /rule/0?examples=1&counterexamples=1", "GET /rule/1.json", "GET /training/1", "GET /static/viewer.js"),
    *("GET /ask?q=uncle(tom,+%3F)", "GET /ask?predicate=uncle&entity=tom&place=subject&answer=2&page=1"),
    *("GET /explain?q=uncle(tom,cleo)", "GET /explain.json?q=uncle(tom,cleo)&side=subject", "GET /attentions.css"),
    *("GET /contrast?q=uncle(tom,cleo)&rather_than=max", "GET /why-not?q=uncle(sam,cleo)&side=object"),
    *("GET /contrast?q=uncle(tom,cleo)&rival=max", "GET /predicate/4?theory=1&size=3&family=0&verdict=accepted"),
    *("POST /rule/0/verdict token=TOKEN&verdict=accepted&note=good", "POST /rule/1/verdict token=TOKEN&verdict="),
    *("POST /rule/0/verdict token=x&verdict=rejected", "GET /explain?q=male(tom)", "GET /ask?q=male(%3F)"),
)


def text_files(name: str, *texts: str) -> tuple[Files, ...]:
    """Return one input for each text, with one file."""
    return tuple({name: text.encode()} for text in texts)


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


@cache
def parquet(weighted: bool = True, numbered: bool = False) -> bytes:
    rows = BINARY + [[s, p, None] for s, p in (row for row in FACTS if len(row) == 2)]
    columns: dict[str, Any] = dict(zip(("subject", "predicate", "object"), map(list, zip(*rows))))
    if weighted:
        columns["weight"] = [0.5] * len(rows)
        columns["split"] = ["train"] * (len(rows) - 1) + ["test"]
    if numbered:
        columns = {"subject": list(range(9)), "predicate": ["p"] * 9, "object": [i // 2 for i in range(9)]}
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


def numbers() -> bytes:
    """Return numbers of entities as Parquet."""
    stream = io.BytesIO()
    pq.write_table(pa.table({"entity": ["ann", "bea", "tom"], "age": [30, 7, 9], "size": [1.5, None, 3.0]}), stream)
    return stream.getvalue()


@cache
def data_files() -> tuple[Files, ...]:
    """One file or folder in each format of facts."""
    half = "\n".join("\t".join(row) for row in BINARY[:4]) + "\n"
    lines = [dict(zip(("subject", "predicate", "object"), row)) for row in BINARY]
    jsonl = "".join(json.dumps({**line, "weight": 1}) + "\n" for line in lines).encode()
    csv = "subject,predicate,object,weight\n" + "".join(",".join(row) + ",0.5\n" for row in BINARY)
    vrd = {"objects.json": as_json(["person", "cup"]), "predicates.json": as_json(["holds", "near"])}
    nt = '<http://x/a> <http://x/p> <http://x/b> .\n<http://x/a> <http://www.w3.org/2000/01/rdf-schema#label> "A" .\n'
    return (
        {"train.tsv": TSV.encode()},
        {"train.csv": csv.encode()},
        {"train.txt": (half + "a b\tp\tc\t0.5\n").encode()},
        {"train.tsv.gz": gzip.compress(TSV.encode(), mtime=0)},
        {"train.jsonl": jsonl},
        {"train.ndjson.gz": gzip.compress(jsonl, mtime=0)},
        {"train.parquet": parquet()},
        {"train.parquet": parquet(False, True)},
        {"train.graphml": GRAPHML.encode()},
        {"train.ttl": TURTLE.encode()},
        {"train.nt": nt.encode()},
        {"train.pl": PROLOG.encode()},
        {"train.pl": b"visit(ann, paris, may). visit(bea, rome, 'June'). route(a, b, c, d). lives(ann, rome).\n"},
        {"visit.tsv": b"predicate\targ1\targ2\targ3\nvisit\tann\tparis\tmay\nlives\tann\trome\t\nbig\trome\t\t\n"},
        {"visit.jsonl": b'{"arg1": "ann", "arg2": "paris", "arg3": "may"}\n{"arg1": "bea", "arg2": "rome"}\n'},
        {"bk.pl": PROLOG.encode(), "exs.pl": b"pos(uncle(ann, bea)). neg(uncle(bea, ann)).\n"},
        {"nodes.csv": NEO4J_NODES.encode(), "relations.csv": NEO4J_RELATIONS.encode()},
        {
            "train.tsv": TSV.encode(),
            "valid.tsv": half.encode(),
            "test.csv": b"ann,mother,tom\n",
            "train_negatives.tsv": b"ann\tuncle\tbea\n",
            "labels.tsv": b"ann\tAnn\nbea\tB\n",
            "relation_labels.tsv": b"uncle\tuncle of\n",
            "numbers.tsv": b"entity\tage\tsize\nann\t30\t1.5\nbea\t7\t\nsam\t31\t2\ntom\t9\t3\n",
        },
        {"train.tsv": TSV.encode(), "numbers.parquet": numbers()},
        {"train_sceneGraphs.json": as_json(SCENE)},
        {"train_sceneGraphs.json.gz": gzip.compress(as_json(SCENE), mtime=0)},
        {"scene_graphs.json": as_json(VISUAL_GENOME)},
        {"relationships.json": as_json(VISUAL_GENOME)},
        {
            "annotations_train.json": as_json(VRD),
            "train_image_metadata.json": as_json({"a.jpg": {"width": 8, "height": 6}}),
            **vrd,
        },
        {"hico-det-training-set.json": as_json(HICO), "hico_hoi_list.txt": b"001  bicycle  ride\n002  bicycle  hold\n"},
        {"instances_train2015.json": as_json(PARALLEL)},
    )


@cache
def run_files() -> Files:
    """A run folder with every file that one may have, and the facts it was learned from."""
    from nlil.config import LearnerConfig
    from nlil.data.facts import Facts
    from nlil.datasets import load_dataset
    from nlil.kernel.aggregation import Aggregation
    from nlil.kernel.calibration import Calibration, CalibrationMap
    from nlil.kernel.counting import count_statistics
    from nlil.kernel.ruleset import RuleSet
    from nlil.learning.feedback import Verdict, save_verdict
    from nlil.learning.run import Estimate, Learned, save_metrics, save_run
    from nlil.logic.parse import parse_rule
    from nlil.logic.rule import RuleStats, ScoredRule
    from nlil.theory.theory import SIZES, SizeScore, Theory, ValidationScores

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "train.tsv").write_text(TSV)
        kb = load_dataset(folder / "train.tsv").kb
        scored = [ScoredRule(parse_rule(text), RuleStats(1, 2, 1, 1), 0.25) for text in RULES[:-1]]
        rules = count_statistics(RuleSet.of(kb, scored), kb, Facts.empty(), 1, 2**30)
        maps = {1: CalibrationMap(1.0, 1.0, 0.1), 2: CalibrationMap(0.5, 1.0, 0.0, (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))}
        rules = replace(rules, calibration=Calibration(maps, 9), requested=tuple(kb.predicates))
        count = len(rules)
        rows = np.arange(count)
        zeros = np.zeros(count, np.int64)
        scores = {"uncle/2": ValidationScores(1, 0.5, tuple(SizeScore(size, 0.5) for size in SIZES))}
        theory = Theory(
            rows,
            zeros,
            np.ones(count),
            zeros,
            zeros,
            rows,
            np.arange(count + 1),
            rows,
            20,
            Aggregation(),
            scores,
            weight=np.ones(count),
        )
        attentions = {"uncle/2|operators": np.ones((1, 2, 3), np.float32)}
        history = ({"target": "uncle/2", "epoch": 5, "loss": 0.5, "valid_f1": 0.5},)
        learned = Learned(
            rules,
            LearnerConfig(search="count"),
            tuple(kb.predicates),
            missing={"married/2": "none"},
            seconds=1.5,
            notes=("a note",),
            history=history,
            attentions=attentions,
            estimate=Estimate({"mrr": 0.5}, 0.1, 7, 7),
            theory=theory,
        )
        run = save_run(learned, folder / "run", source="kin:30", checksum="0" * 64)
        save_metrics(run, "test", {"mrr": 0.5, "hits@1": 0.4, "seconds": 1.0, "overall": {"mrr": 0.5}})
        save_verdict(run, str(scored[1].rule), Verdict("rejected", "wrong", "2026-01-01T00:00:00+00:00"))
        files = {f"run/{file.name}": file.read_bytes() for file in sorted(run.iterdir()) if file.is_file()}
    return {**files, "train.tsv": TSV.encode()}
