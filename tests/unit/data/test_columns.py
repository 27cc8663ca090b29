"""Which column has which role: headers, --columns, separators, encodings, JSON lines, GraphML, Neo4j."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from data_cases import rows, write
from nlil import KnowledgeBase, load
from nlil.data.columns import parse_columns
from nlil.data.dataset import DataOptions
from nlil.data.tables import table_splits
from nlil.datasets import load_dataset
from nlil.datasets.anything import as_dataset
from nlil.errors import ConfigError, DataError

FACTS = {("ann", "lives_in", "rome"), ("bob", "lives_in", "oslo"), ("bob", "knows", "ann")}


def read(path, **options):
    return load_dataset(path, options=DataOptions(**options))


def table(header: tuple[str, str, str], order: str, separator: str = ",") -> str:
    """FACTS with a header; `order` says where subject, predicate and object stand, such as "sop"."""
    places = ["spo".index(letter) for letter in order]
    lines = [header, *sorted(FACTS)]
    return "".join(separator.join(line[i] for i in places) + "\n" for line in lines)


@pytest.mark.parametrize(
    "header",
    [
        ("head", "relation", "tail"),
        ("subject", "predicate", "object"),
        ("source", "type", "target"),
        ("Source", "Relation", "Target"),
        ("from", "edge_type", "to"),
        ("s", "p", "o"),
        ("h", "r", "t"),
        (":START_ID(Person)", ":TYPE", ":END_ID(City)"),
        ("#head", "relation", "tail"),
    ],
)
@pytest.mark.parametrize("order", ["spo", "sop", "pos"])
def test_headers_are_recognised_in_any_order(tmp_path, header, order):
    if header[0].startswith("#") and order != "spo":
        pytest.skip("a hash begins a line")
    dataset = read(write(tmp_path / "f.csv", table(header, order)))
    assert rows(dataset.kb) == FACTS
    assert len(dataset.notes) == 1
    assert f"subject={header[0]}, predicate={header[1]}, object={header[2]}" in dataset.notes[0]


def test_letters_of_two_families_are_a_fact(tmp_path):
    assert rows(read(write(tmp_path / "f.csv", "s,r,t\n")).kb) == {("s", "r", "t")}


@pytest.mark.parametrize("order", ["spo", "sop", "pso"])
def test_the_columns_beside_a_relation_are_its_ends(tmp_path, order):
    dataset = read(write(tmp_path / "f.csv", table(("person", "Relation", "city"), order)))
    assert rows(dataset.kb) == FACTS
    assert "subject=person, predicate=Relation, object=city" in dataset.notes[0]


def test_a_name_that_facts_have_too_makes_no_header(tmp_path):
    assert rows(read(write(tmp_path / "f.csv", "person,type,city\n")).kb) == {("person", "type", "city")}


def test_pairs_have_the_predicate_of_their_file(tmp_path):
    dataset = read(write(tmp_path / "knows.csv", "from,to,since\nann,bob,1990\n"))
    assert rows(dataset.kb) == {("ann", "knows", "bob")}
    assert "predicate is 'knows' in each row" in dataset.notes[0]
    assert "not read: since" in dataset.notes[0]


@pytest.mark.parametrize("columns", ["subject=who,predicate=what,object=where", "subject=2,predicate=3,object=1"])
def test_columns_by_name_and_by_place(tmp_path, columns):
    names = table(("who", "what", "where"), "osp")
    text = names if "who" in columns else names.partition("\n")[2]
    assert rows(read(write(tmp_path / "f.csv", text), columns=columns).kb) == FACTS


def test_given_columns_and_recognised_ones_go_together(tmp_path):
    path = write(tmp_path / "f.csv", "source,target,kind,type\nann,rome,lives_in,x\n")
    assert rows(read(path, columns="predicate=kind").kb) == {("ann", "lives_in", "rome")}


def test_weight_split_and_label_columns(tmp_path):
    text = (
        "source,target,type,p,fold,title\n"
        "Q1,Q2,likes,.5,train,Ann\nQ2,Q1,likes,.25,test,Bob\nQ3,Q1,likes,1,VAL,\nQ1,Q3,likes,1,,Ann\n"
    )
    path = write(tmp_path / "f.csv", text)
    dataset = read(path, columns="weight=p,split=fold,label=title")
    assert rows(dataset.kb) == {("Q1", "likes", "Q2"), ("Q1", "likes", "Q3")}
    assert sorted(dataset.splits.train.weight.tolist()) == [0.5, 1.0]
    assert (len(dataset.splits.valid), len(dataset.splits.test)) == (1, 1)
    assert dataset.splits.test.weight.tolist() == [0.25]
    assert dataset.kb.entity_labels == {"Q1": "Ann", "Q2": "Bob"}
    with pytest.raises(DataError, match=r"f\.csv:2: expected train, valid or test in the split column .* got 'Ann'"):
        read(path, columns="split=title")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("subject=nobody", r"f\.csv:1: expected a column 'nobody', got 'who', 'what', 'where'; name the columns"),
        ("subject=who", "expected a subject and a predicate or an object among 'who', 'what', 'where', got subject"),
        ("subject=7,predicate=2", "expected a column '7'"),
    ],
)
def test_a_wrong_column_is_said(tmp_path, columns, said):
    with pytest.raises(DataError, match=said):
        read(write(tmp_path / "f.csv", table(("who", "what", "where"), "spo")), columns=columns)


@pytest.mark.parametrize("text", ["subject", "place=1", "subject=1,subject=2"])
def test_a_wrong_text_is_said(text):
    with pytest.raises(ConfigError, match="columns: expected"):
        parse_columns(text)


def test_a_doubtful_reading_is_said_with_the_option(tmp_path):
    text = "".join(f"person{i},city{i % 40},lives_in\n" for i in range(200))
    path = write(tmp_path / "f.csv", text)
    (note,) = read(path).notes
    assert note.startswith("f.csv: 40 predicates in 200 facts: if other columns were meant")
    option = note.rpartition("--columns ")[2]
    assert option == "subject=1,predicate=3,object=2"
    mended = read(path, columns=option)
    assert [p.name for p in mended.kb.predicates] == ["lives_in"]
    assert len(mended.notes) == 1


def test_most_predicates_are_entities(tmp_path):
    text = "".join(f"city{i % 5},city{(i + 1) % 5},near{i}\n" for i in range(200))
    assert "most of which are entities too" in read(write(tmp_path / "f.csv", text)).notes[0]


def test_an_ordinary_base_raises_no_doubt(tmp_path):
    text = "".join(f"a{i}\tp{i % 20}\tb{i}\n" for i in range(200))
    assert read(write(tmp_path / "f.tsv", text)).notes == ()


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("Person;Verb;Who", "subject=Person,predicate=Verb,object=Who"),
        ("Person Name;is a", "subject=Person Name,predicate=is a"),
    ],
)
def test_an_unknown_header_is_noted_with_the_option_that_reads_it(tmp_path, header, columns):
    width = header.count(";") + 1
    text = "".join(";".join((f"a{i}", "knows", f"b{i}")[:width]) + "\n" for i in range(3))
    path = write(tmp_path / "f.csv", f"{header}\n{text}")
    (note,) = read(path).notes
    assert note.startswith("f.csv: the first line looks like a header")
    assert note.endswith(f"--columns {columns!r}")
    assert len(read(path, columns=columns).kb.facts) == 3


@pytest.mark.parametrize("first", ["ann;knows;zoe", "ann;hates;b1", "b2;hates;zoe"])
def test_a_first_fact_is_no_header_if_a_name_returns(tmp_path, first):
    text = "".join(f"a{i};knows;b{i}\n" for i in range(3))
    assert read(write(tmp_path / "f.csv", f"{first}\n{text}")).notes == ()


def test_pairs_without_a_header_are_doubted(tmp_path):
    path = write(tmp_path / "f.csv", "".join(f"p{i},p{(7 * i + 1) % 60}\n" for i in range(60)))
    (note,) = read(path).notes
    assert note.endswith("all unary: if each line is a pair of entities, add --columns subject=1,object=2")
    assert [str(p) for p in read(path, columns="subject=1,object=2").kb.predicates] == ["f/2"]


@pytest.mark.parametrize("name", ["f.csv", "f.txt"])
def test_semicolons_with_quotes_and_commas(tmp_path, name):
    text = '"Smith, John";knows;"Doe; Jane, Sir"\na;knows;b\n'
    assert rows(read(write(tmp_path / name, text)).kb) == {
        ("Smith, John", "knows", "Doe; Jane, Sir"),
        ("a", "knows", "b"),
    }


def test_comments_are_skipped_and_noted_but_no_fact_is(tmp_path):
    text = "# who made this\n#\n#tag\tused_by\tann\nann\tknows\tbob\n## end\n"
    dataset = read(write(tmp_path / "f.tsv", text))
    assert rows(dataset.kb) == {("#tag", "used_by", "ann"), ("ann", "knows", "bob")}
    assert dataset.notes == ("f.tsv: lines that begin with # are comments",)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252"])
def test_other_encodings(tmp_path, encoding, monkeypatch):
    monkeypatch.setattr("nlil.data.files.BLOCK_BYTES", 7)
    path = write(tmp_path / "f.tsv", "josé\tknows\tmünchen\na\tknows\tb\n".encode(encoding))
    assert rows(read(path, encoding=encoding).kb) == {("josé", "knows", "münchen"), ("a", "knows", "b")}
    with pytest.raises(
        DataError, match=r"expected UTF-8 text, got .*; name the encoding, for example --encoding latin-1"
    ):
        read(path)


def test_an_encoding_that_nobody_knows_and_one_that_does_not_fit(tmp_path, monkeypatch):
    path = write(tmp_path / "f.tsv", "josé\tknows\tb\n")
    with pytest.raises(ConfigError, match="encoding: expected one that Python knows"):
        read(path, encoding="klingon")
    with monkeypatch.context() as context:
        context.setattr("codecs.lookup", lambda name: pytest.fail("Python takes a second to look up a megabyte"))
        with pytest.raises(ConfigError, match="encoding: expected one"):
            read(path, encoding="x" * 1_000)
    with pytest.raises(DataError, match="expected text in the encoding ascii"):
        read(path, encoding="ascii")


@pytest.mark.parametrize("name", ["f.jsonl", "f.ndjson.gz"])
def test_json_lines(tmp_path, name):
    records = [{"head": s, "tail": o, "relation": p, "n": 3} for s, p, o in sorted(FACTS)]
    text = "\n".join(map(json.dumps, [*records, {"head": "ann", "relation": "female"}]))
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    assert rows(read(path).kb) == FACTS | {("ann", "female")}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"head": "a"', "expected a JSON object"),
        ("[1]", "expected a JSON object"),
        ('{"head": ["a"], "relation": "p", "tail": "b"}', "expected text or a number"),
        ('{"head": null, "relation": "p", "tail": "b"}', "expected a name for subject"),
    ],
)
def test_a_bad_line_of_json(tmp_path, line, said):
    text = '{"head": "a", "relation": "p", "tail": "b"}\n' + line + "\n"
    with pytest.raises(DataError, match=rf"f\.jsonl:2: .*{said}"):
        read(write(tmp_path / "f.jsonl", text))


def test_json_lines_need_names(tmp_path):
    path = write(tmp_path / "f.jsonl", '{"x": "a", "y": "p", "z": "b"}\n')
    with pytest.raises(DataError, match="expected keys such as subject"):
        read(path)
    assert rows(read(path, columns="subject=x,predicate=y,object=z").kb) == {("a", "p", "b")}


def test_graphml_of_networkx(tmp_path):
    import networkx as nx

    graph = nx.MultiDiGraph()
    graph.add_node("a", type="person", name="Ann")
    graph.add_edge("a", "b", relation="knows", strength=0.5)
    graph.add_edge("b", "a", relation="likes", strength=1.0)
    nx.write_graphml(graph, tmp_path / "f.graphml")
    dataset = read(tmp_path / "f.graphml")
    assert rows(dataset.kb) == {("a", "person"), ("a", "knows", "b"), ("b", "likes", "a")}
    assert dataset.kb.entity_labels["a"] == "Ann"
    weighted = read(tmp_path / "f.graphml", columns="weight=strength")
    assert sorted(weighted.kb.facts.weight.tolist()) == [0.5, 1.0, 1.0]
    with pytest.raises(DataError, match="expected edges with the attribute 'no'"):
        read(tmp_path / "f.graphml", columns="predicate=no")
    named = nx.DiGraph([("a", "b", {"label": "knows", "weight": 2.5})])
    named.add_node("a", label="Ann", type="Person")
    named.add_node("b", label="Bob")
    nx.write_graphml(named, tmp_path / "n.graphml")
    with pytest.raises(
        DataError, match=r"edge a - b: expected a weight in \[0, 1\], got '2.5'; --columns weight= ignores"
    ):
        read(tmp_path / "n.graphml")
    kb = read(tmp_path / "n.graphml", columns="weight=").kb
    assert rows(kb) == {("a", "Person"), ("a", "knows", "b")}
    assert kb.entity_labels == {"a": "Ann", "b": "Bob"}
    nx.write_graphml(nx.Graph([("a", "b")]), tmp_path / "g.graphml")
    with pytest.raises(DataError, match="expected a directed graph"):
        read(tmp_path / "g.graphml")
    with pytest.raises(DataError, match="expected GraphML"):
        read(write(tmp_path / "h.graphml", "<graphml>"))


def test_a_folder_of_neo4j_tables(tmp_path):
    write(tmp_path / "people.csv", "personId:ID(Person),name,:LABEL\n1,Ann,Person;Actor\n2,Bob,Person\n")
    write(tmp_path / "roles.csv", ":START_ID(Person),role,:END_ID(Person),:TYPE\n1,x,2,KNOWS\n")
    dataset = read(tmp_path)
    assert rows(dataset.kb) == {("1", "Person"), ("1", "Actor"), ("2", "Person"), ("1", "KNOWS", "2")}
    assert dataset.kb.entity_labels == {"1": "Ann", "2": "Bob"}
    write(tmp_path / "other.csv", "a,b,c\n")
    with pytest.raises(DataError, match="tables with headers"):
        read(tmp_path)


def test_a_folder_of_parts(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for i, fact in enumerate(sorted(FACTS)):
        frame = pd.DataFrame([fact], columns=["head", "relation", "tail"])
        frame.to_parquet(folder / f"train-{i:05}-of-00003.parquet")
    pd.DataFrame([("a", "knows", "b")], columns=["head", "relation", "tail"]).to_parquet(
        folder / "validation-00000-of-00001.parquet"
    )
    dataset = read(tmp_path)
    assert rows(dataset.kb) == FACTS
    assert len(dataset.splits.valid) == 1


def test_load_and_from_pandas_take_columns(tmp_path):
    path = write(tmp_path / "f.csv", table(("who", "what", "where"), "osp"))
    columns = {"subject": "who", "predicate": "what", "object": "where"}
    kb, _ = load(path, columns=columns)
    assert rows(kb) == FACTS
    assert rows(KnowledgeBase.from_pandas(pd.read_csv(path), columns)) == FACTS
    assert rows(KnowledgeBase.from_pandas(pd.read_csv(path), "subject=who,predicate=3,object=1")) == FACTS
    with pytest.raises(DataError, match="expected a predicate among"):
        KnowledgeBase.from_pandas(pd.DataFrame({"source": ["a"], "target": ["b"]}))


def test_missing_values_in_pandas_are_errors():
    frame = pd.DataFrame({"head": ["a", "b"], "relation": ["p", "p"], "tail": ["b", None]})
    with pytest.raises(DataError, match=r"row 2: expected the name of an object, got a missing value; leave such rows"):
        KnowledgeBase.from_pandas(frame)
    assert rows(KnowledgeBase.from_pandas(frame.fillna({"tail": ""}))) == {("a", "p", "b"), ("b", "p")}
    with pytest.raises(DataError, match="row 2: expected the name of a subject, got none"):
        KnowledgeBase.from_pandas(frame.assign(head=["a", float("nan")], tail="c"))
    numbers = pd.DataFrame({"head": [1, None], "relation": ["p", "p"], "tail": [2, 3]})
    with pytest.raises(DataError, match="row 2: expected the name of a subject"):
        KnowledgeBase.from_pandas(numbers)
    assert rows(KnowledgeBase.from_pandas(numbers.dropna())) == {("1", "p", "2")}


def test_missing_values_beside_weights_and_splits_are_errors():
    frame = pd.DataFrame({"head": ["a", "b"], "relation": "p", "tail": ["b", None], "weight": [0.5, 0.7]})
    assert rows(KnowledgeBase.from_pandas(frame)) == {("a", "p", "b"), ("b", "p")}
    with pytest.raises(DataError, match=r"row 1: expected a weight in \[0, 1\], got nan"):
        KnowledgeBase.from_pandas(frame.assign(tail="c", weight=[float("nan"), 1.0]))
    with pytest.raises(DataError, match=r"row 2: expected train, valid or test in the split column .* missing value"):
        table_splits(frame.assign(tail="c", weight=1.0, split=["train", None]))
    for source in ([("a", "p", float("nan"))], np.array([("a", "p", float("nan"))], object)):
        with pytest.raises(DataError, match="got a missing value"):
            KnowledgeBase.from_numpy(source) if isinstance(source, np.ndarray) else KnowledgeBase.from_facts(source)


@pytest.mark.parametrize("convert", [lambda frame: frame, pa.Table.from_pandas], ids=["pandas", "arrow"])
def test_a_split_column_of_a_table_counts(convert):
    frame = pd.DataFrame({"head": list("abcd"), "relation": "p", "tail": list("bcda"), "fold": "train"})
    frame.loc[2, "fold"], frame.loc[3, "fold"] = "dev", "TEST"
    table = convert(frame)
    kb, splits = table_splits(table, "split=fold")
    assert rows(kb) == {("a", "p", "b"), ("b", "p", "c")}
    assert [f.arguments for f in kb.named(splits.valid)] == [("c", "d")]
    assert [f.arguments for f in kb.named(splits.test)] == [("d", "a")]
    assert len(as_dataset(table, options=DataOptions(columns="split=fold")).splits.valid) == 1
    # Found by its name too; a base alone has no splits, so it is not made of a mixture in silence.
    named = convert(frame.rename(columns={"fold": "split"}))
    assert len(as_dataset(named).splits.test) == 1
    read = KnowledgeBase.from_arrow if isinstance(named, pa.Table) else KnowledgeBase.from_pandas
    with pytest.raises(DataError, match=r"got some of the split valid: nlil.learn\(table\) keeps them apart"):
        read(named)
    assert len(read(named, "split=").facts) == 4
    with pytest.raises(DataError, match="at least one training fact"):
        table_splits(convert(frame.assign(fold="test")), "split=fold")


def test_a_doubtful_frame_warns():
    frame = pd.DataFrame({"a": [f"p{i}" for i in range(60)], "b": [f"c{i % 30}" for i in range(60)], "c": "lives_in"})
    with pytest.warns(UserWarning, match='columns="subject=1,predicate=3,object=2"'):
        KnowledgeBase.from_pandas(frame)


def test_only_training_facts_give_a_doubt(tmp_path):
    """Among few validation facts, few predicates occur twice."""
    train = [f"a{i % 10}\tp{i % 40}\tb{i % 7}" for i in range(800)]
    for name, lines in (("train", train), ("valid", train[:60]), ("test", train[60:120])):
        write(tmp_path / f"{name}.tsv", "".join(f"{line}\n" for line in lines))
    assert load_dataset(tmp_path).notes == ()
    write(tmp_path / "train.tsv", "".join(f"{line}\n" for line in train[:60]))
    (note,) = load_dataset(tmp_path).notes
    assert note.startswith("train.tsv: 40 predicates in 60 facts")
