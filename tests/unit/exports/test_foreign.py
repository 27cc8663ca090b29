"""AnyBURL's text, written and read; AMIE's text, read."""

from __future__ import annotations

import pytest

from nlil.errors import DataError, ExportError
from nlil.exports.anyburl import rule_line
from nlil.exports.foreign import FORMATS, REASONS
from nlil.exports.language import Options
from nlil.logic.parse import parse_rule
from nlil.logic.rule import Rule, RuleStats


def read(system: str, text: str) -> list[tuple[Rule | str, int]]:
    """The rules of a text, or why they are left out, each with its line."""
    columns, left_out = FORMATS[system].read(text, "rules")
    rules = [(scored.rule, line) for scored, (*_, line) in zip(columns.rules(), columns.rows)]
    return sorted([*rules, *left_out], key=lambda found: found[1])


OPTIONS = Options(stats=RuleStats(10, 12, 20, 11))
SAYABLE = (
    "uncle(X, Y) :- brother(X, Z1), parent(Z1, Y), Z1 \\= X, Y \\= X, Y \\= Z1.",
    "uncle(X, Y) :- parent(Z1, Y), brother(Z2, Z1), knows(X, Z2), Z2 \\= X, Z1 \\= X, Z1 \\= Z2, Y \\= X, Y \\= Z2, "
    "Y \\= Z1.",
    "aunt(X, Y) :- '/people/wife'(Y, X), Y \\= X.",
    "speaks(X, english) :- lives_in(X, london).",
    "speaks(X, english) :- lives_in(X, Z1), in(Z1, england), Z1 \\= X.",
    "speaks(ann, Y) :- official(Z1, Y), Z1 \\= Y.",
    "speaks(X, '/m/02h40lc') :- true.",
)


def test_written_and_read_back(golden) -> None:
    rules = [parse_rule(text) for text in SAYABLE]
    text = "".join(f"{rule_line(rule, OPTIONS)}\n" for rule in rules)
    golden("export-anyburl.txt", text)
    assert [rule for rule, _ in read("anyburl", text)] == rules


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("person(X) :- inside(X, Z1), Z1 \\= X.", "no unary predicates, but the head"),
        ("p(X, Y) :- q(X, Z1), big(Z1), r(Z1, Y), Z1 \\= X, Y \\= X, Y \\= Z1.", "no unary predicates, but the body"),
        ("p(X, Y) :- q(X, Z1), r(Z1, Y).", "variables always stand for different entities"),
        ("p(X, Y) :- q(X, Y), r(X, Y), Y \\= X.", "a body is one path"),
        ("p(X, Y) :- \\+ q(X, Y).", "a body is one path"),
        ("p(X, Y) :- X = Y.", "no equations"),
        ("p(X, Y) :- true.", "a prior needs a constant"),
        ("p(X, Y) :- q(X, Z1), Z1 \\= X.", "a path leads from X to Y"),
        ("p(X, c) :- q(a, b).", "a path leads from X to Y"),
        ("p(X, c) :- q(Z1, Z2), Z2 \\= Z1.", "a path leads from X to Y"),
        ("p(X, c) :- q(X, Z1), r(Z1, X), Z1 \\= X.", "a path leads from X to Y"),
        ("p(X, 'C') :- true.", "for a variable"),
        ("p(X, 'New York') :- true.", "names are not quoted"),
        ("'p,q'(X, c) :- true.", "names are not quoted"),
        ("p(X, '') :- true.", "names are not quoted"),
    ],
)
def test_refused(text: str, reason: str) -> None:
    with pytest.raises(ExportError, match=f"^AnyBURL: .*{reason}"):
        rule_line(parse_rule(text), OPTIONS)


def test_names_with_brackets_and_commas_are_read() -> None:
    line = "5\t3\t0.6\tin(X,Alien_(film,_1979)) <= starring(X,A), of(Foo,_Bar,A)"
    ((rule, number),) = read("anyburl", f"\n{line}\n")
    assert str(rule) == "in(X, 'Alien_(film,_1979)') :- starring(X, Z1), of('Foo,_Bar', Z1), Z1 \\= X."
    assert number == 2


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("p(X,Y) <= q(X,Y)", "rules:1: expected predicted, correct, confidence"),
        ("5\t3\t0.6\tp(X) <= q(X,A)", "expected an atom such as"),
        ("5\t3\tmuch\tp(X,Y) <= q(X,Y)", "rules:1: expected predicted, correct, confidence"),
        ("# by hand", "rules:1: expected predicted, correct, confidence"),
    ],
)
def test_wrong_lines_of_anyburl(line: str, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        read("anyburl", line)


UNSAYABLE = {
    "p(X,X) <= q(X,A)": "with one variable twice in the head",
    "p(X,me_myself_i) <= q(X,A)": "with one variable twice in the head",
    "p(a,b) <= q(a,A)": "with no variable in the head",
    "p(X,Y) <= q(X,A), r(A,B), s(A,Y)": "with a variable that three binary atoms share",
    "p(X,Y) <= q(X,Y), r(A,B), s(B,A)": "with a ring of variables in the body",
    "p(X,Y) <= q(X,Y), r(A,A)": "with a body variable twice in one atom",
    "p(X,c) <= r(me_myself_i,A), q(A,X)": "with a body variable twice in one atom",
}


def test_rules_that_are_none_of_ours_come_with_their_reason() -> None:
    text = "".join(f"5\t3\t0.6\t{rule}\n" for rule in UNSAYABLE)
    assert [(found, line) for found, line in read("anyburl", text)] == [
        (reason, line) for line, reason in enumerate(UNSAYABLE.values(), start=1)
    ]
    assert set(UNSAYABLE.values()) == set(REASONS.values()), "or a reason is said of no rule"


def test_me_myself_is_the_other_argument() -> None:
    text = "5\t3\t0.6\tp(X,c) <= likes(X,me_myself_i)\n5\t3\t0.6\tp(X,c) <= likes(me_myself_i,d), q(X,d)\n"
    assert [str(rule) for rule, _ in read("anyburl", text)] == [
        "p(X, c) :- likes(X, X).",
        "p(X, c) :- likes(d, d), q(X, d).",
    ]


def test_a_line_separator_in_a_name_ends_no_line() -> None:
    ((rule, _),) = read("anyburl", "5\t3\t0.6\tp(X,a\u2028b) <= q(X,c)")
    assert rule == parse_rule("p(X, 'a\u2028b') :- q(X, c).")


AMIE = """Assuming rdf:type as type relation
Loading files...
  Starting family.tsv
  Finished family.tsv, still running: 0
Loaded 32 facts in 0.02 s using 1 MB
Using HeadCoverage as pruning metric with minimum threshold 0.01
Starting the mining phase... Using 1 threads
Rule\tHead Coverage\tStd Confidence\tPCA Confidence\tPositive Examples\tBody size\tPCA Body size\tFunctional variable
?e  parent  ?b  ?a  brother  ?e   => ?a  uncle  ?b\t0.5\t0.833333333\t0.909090909\t10\t12\t11\t?a
?b  <wife>  ?a   => ?a  <husband>  ?b\t0.5\t0.8\t0.9\t10\t12\t11\t?a
?a  lives in  London   => ?a  speaks  english\t0.5\t0.8\t0.9\t10\t12\t11\t?a
?a  p  ?b  ?a  q  ?b   => ?b  r  ?a\t0.5\t0.8\t0.9\t10\t12\t11\t-1
<london>  <home_of>  ?a   => ?a  <speaks>  <english>\t1\t1\t1\t20\t20\t20\t-2
?a  p  ?c  ?c  q  ?d  ?c  r  ?b   => ?a  s  ?b\t0,5\t0,8\t0,9\t10\t12\t11\t?a
Mining done in 0.2 s
Total time 0.31 s
6 rules mined.
"""
"""The words around the rules and the columns are those of AMIE 3; some of its versions write -1 for ?a."""


def test_amie() -> None:
    found = [(str(rule), line) for rule, line in read("amie", AMIE)]
    assert found == [
        ("uncle(X, Y) :- brother(X, Z1), parent(Z1, Y).", 9),
        ("husband(X, Y) :- wife(Y, X).", 10),
        ("speaks(X, english) :- 'lives in'(X, 'London').", 11),
        ("r(X, Y) :- p(Y, X), q(Y, X).", 12),
        ("speaks(X, english) :- home_of(london, X).", 13),
        ("with a variable that three binary atoms share", 14),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("?a  p  ?b   => ?a  q", "rules:1: expected atoms of three words"),
        ("?a  p  ?b   => ?a  q  ?b  ?a  r  ?b", "expected one atom"),
        ("?a  p  ?b\t0.5\t0.8", "rules:1: expected a rule such as"),
        ("?a  p  ?b  ?b  q", "rules:1: expected a rule such as"),
        ("a\tp\tb", "rules:1: expected a rule such as"),
    ],
)
def test_wrong_lines_of_amie(line: str, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        read("amie", line)
