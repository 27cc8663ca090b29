"""Rules that are read into columns by their patterns are the rules that the parser reads."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nlil.exports.foreign import FORMATS
from nlil.exports.rule_columns import RuleColumns, RuleTexts
from nlil.exports.rule_files import RuleFile
from nlil.logic.parse import parse_rule
from nlil.logic.rule import Rule
from strategies import NASTY, Names, rules

PLAIN = Names(
    unary=("a", "b", "/film/genre", "été", "true"),
    binary=("p", "q", "s0", "A b", "42"),
    entities=("c", "d", "s1", "X", "-1.5", "", "true", "a.b", "% no", ":-", "/*"),
)
"""Names that stand in a rule's text without escapes."""
NASTY_TEXT = Names(*([name for name in NASTY if name != "\ud800"],) * 3)
"""Names that a file can hold."""


def assert_read_by_pattern(texts: list[str]) -> None:
    """Texts that are read by their patterns give the columns of the rules that the parser reads."""
    columns, parsed = RuleColumns(), RuleColumns()
    reader = RuleTexts(columns)
    assert all(reader.add(text, place) for place, text in enumerate(texts)), texts
    parsed.names.predicates.update(columns.names.predicates)
    parsed.names.entities.update(columns.names.entities)
    for place, text in enumerate(texts):
        parsed.add(parse_rule(text), place)
    assert (columns.rows, columns.heads) == (parsed.rows, parsed.heads)
    assert (columns.builder.lines, columns.builder.programs) == (parsed.builder.lines, parsed.builder.programs)
    assert [scored.rule for scored in columns.rules()] == [parse_rule(text) for text in texts]


@settings(deadline=None, max_examples=150)
@given(st.lists(rules(PLAIN, max_leaves=3), min_size=1, max_size=6))
def test_rules_read_by_pattern_are_those_of_the_parser(many: list[Rule]) -> None:
    """Every rule twice, so that heads and bodies repeat."""
    assert_read_by_pattern([str(rule) for rule in many * 2])


@settings(deadline=None, max_examples=60)
@given(st.lists(rules(NASTY_TEXT, max_leaves=3), min_size=1, max_size=4), st.randoms())
def test_a_file_read_by_lines_is_the_one_read_as_a_program(
    tmp_path_factory: pytest.TempPathFactory, many: list[Rule], random: Random
) -> None:
    """A comment that holds a rule keeps the text from being read line by line."""
    lines = [*(str(rule) for rule in many * 2), ":- p(X, Y), q(X, Y).", "% p(X) :- q(X).", "", "p(X, c)."]
    random.shuffle(lines)
    path = tmp_path_factory.mktemp("rules") / "rules.pl"
    found = []
    for comment in ("", "/* p(X) :- q(X). */"):
        path.write_text(comment + "\n".join(lines), encoding="utf-8", newline="\n")
        given = RuleFile.read(path)
        found.append(([scored.rule for scored in given.rules], given.numbers.tolist(), given.denials))
    assert found[0] == found[1]


def test_the_same_pattern_with_other_names() -> None:
    """Which end a line is read from, and the order of filters, may depend on names: these patterns are none."""
    texts = [
        "p(X, Y) :- q(X, Z1), r(Z1, Y).",
        "p(X, Y) :- r(X, Z1), q(Z1, Y).",
        "p(X, Y) :- q(X, Z1), q(Z1, Y).",
        "p(B, A) :- q(B, Z1), q(Z1, A).",
        "p(B, A) :- q(A, Z1), r(Z1, B).",
        "p(X, c) :- q(Z1, Z2), r(Z2, Z3).",
        "p(X, c) :- r(Z1, Z2), q(Z2, Z3).",
        "p(X, c) :- q(X, Z1), a(Z1), b(Z1).",
        "p(X, c) :- q(X, Z1), b(Z1), a(Z1).",
        "p(X, c) :- q(c, Z1), r(Z1, d).",
        "p(X, c) :- q(d, Z1), r(Z1, c).",
        "p(X, c) :- q(d, Z1), r(Z1, d).",
        "p(X, c) :- (a(d), X = d).",
        "p(X, c) :- (a(c), X = d).",
        "p(_, c) :- q(_, d).",
        "p(X, c) :- true.",
        "p(X, c) :- 'true'(X, d).",
        "p(X, c) :- 'it''s'(X, '''').",
        "p(X, 1.5) :- q(X, -2), \\+ q(X, 1.5e3).",
    ]
    assert_read_by_pattern(texts)


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet="pqXYZ1c(), \\+=.;%':-\"_\n", max_size=20))
@example("q(X, Y) % r(X, Y)")
@example("q(X, Z1.5)")
@example("q(X, 'a\\'b')")
@example("q(X, Y). r(X, Y)")
@example("1" * 60 + "%")
@example("'" * 61)
def test_what_is_no_plain_rule_is_left_to_the_parser(body: str) -> None:
    """What is taken is what the parser would take."""
    text = f"p(X, Y) :- {body}."
    columns = RuleColumns()
    if RuleTexts(columns).add(text, 1):
        assert columns.rules().rule(0) == parse_rule(text)
    else:
        assert not columns.rows


def test_heads_that_are_none_are_left_to_the_parser() -> None:
    for text in (
        "p(X, Y) % :- q(X, Y).",
        "p(X, Y):-q(X, Y), r(X, Y) :- q(X, Y).",
        "r(X, Y). p(X, Y) :- q(X, Y).",
        "p(X, Y):-true :- q(X, Y).",
        "p(X, X) :- q(X, X).",
        "p(X, Y) :- q(X, Y)",
        "p(X, c).",
        "p(X, ' :- ') :- q(X, Y).",
    ):
        assert not RuleTexts(RuleColumns()).add(text, 1), text


ATOMS = st.lists(
    st.tuples(st.sampled_from("pqr"), st.sampled_from(["X", "Y", "A", "B", "c", "d"]), st.sampled_from("XYABcd")),
    max_size=3,
)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(st.sampled_from(["p(X,Y)", "p(X,c)", "p(c,X)", "p(Y,X)", "p(X,X)", "q(d,e)"]), ATOMS)))
def test_rules_of_another_system_are_those_read_alone(many: list[tuple[str, list[tuple[str, str, str]]]]) -> None:
    """In one file a pattern is parsed for all its rules; in a file of its own each rule is parsed by itself."""
    lines = [f"9\t3\t0.3\t{head} <= {', '.join(f'{p}({s},{o})' for p, s, o in body)}" for head, body in many]
    anyburl = FORMATS["anyburl"]
    columns, left_out = anyburl.read("\n".join(lines), "rules")
    together = {line: scored.rule for scored, (*_, line) in zip(columns.rules(), columns.rows)} | {
        line: reason for reason, line in left_out
    }
    for number, line in enumerate(lines, start=1):
        alone, reasons = anyburl.read(line, "rules")
        assert together[number] == (reasons[0][0] if reasons else alone.rules().rule(0))
