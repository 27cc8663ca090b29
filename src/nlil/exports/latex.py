"""LaTeX: one rule per line of an align* environment (amsmath) that breaks across pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..kernel.normal import BodyVariable, Leaf, Term, node_names
from ..logic.formula import And, Constant, Formula, Not, Or, Statement
from ..logic.predicate import Predicate
from ..logic.rule import Rule
from .language import Language, Options

BEGIN = (
    "% needs amsmath and, for pdfLaTeX, \\usepackage[T1]{fontenc} (letters that T1 lacks show by number);\n"
    "% for LuaLaTeX and XeLaTeX \\usepackage{fontspec} and a font that has the letters\n"
    "\\providecommand*{\\nlilchar}[2]{\\ifdefined\\Umathchar\\symbol{#1}\\else\\texttt{U+#2}\\fi}\n"
    "\\begingroup\\allowdisplaybreaks\n\\begin{align*}\n"
)
END = "\\end{align*}\n\\endgroup\n"
_ESCAPES = {
    "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", "$": "\\$", "&": "\\&", "#": "\\#", "%": "\\%", "_": "\\_",
    "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "\\textless{}", ">": "\\textgreater{}",
    "|": "\\textbar{}", '"': "\\textquotedbl{}", "'": "\\textquotesingle{}", "`": "\\textasciigrave{}",
    "-": "{-}", ",": "{,}", " ": "\\ ",
}  # fmt: skip
_IN_T1 = {chr(c) for c in range(0x20, 0x17F)} - set("\u00adĦħĸĿŀŉŦŧ")
"""The characters that pdfLaTeX can print; tests/unit/exports/test_latex.py compiles all of them."""


def escaped(name: str) -> str:
    """Escape `name` for text mode without ligatures; a character that cannot be printed becomes its code point.

    >>> escaped("has_part & 5%")
    'has\\\\_part\\\\ \\\\&\\\\ 5\\\\%'
    """
    return "".join(_ESCAPES.get(c) or _other(c) for c in name)


def _other(character: str) -> str:
    number = ord(character)
    if not character.isprintable():
        return f"\\textbackslash{{}}x{number:x}"
    return character if character in _IN_T1 else f"\\nlilchar{{{number}}}{{{number:04X}}}"


def rule_line(rule: Rule, options: Options) -> str:
    """Write head &\\leftarrow body; with labels in place of entity names where there are some."""
    writer = _Writer(rule, options.labels.entities if options.labels else {})
    head = writer.atom(rule.target, rule.head.arguments)
    return f"{head} &\\leftarrow {writer.body(rule.body)}"


class _Writer:
    def __init__(self, rule: Rule, labels: Mapping[str, str]) -> None:
        self._names: Iterator[tuple[str, ...]] = node_names(rule.body)
        self._distinct, self._labels = rule.distinct, labels

    def body(self, formula: Formula, inside: bool = False) -> str:
        """Write a body; `inside` another connective, a compound formula is put in brackets."""
        match formula:
            case Statement():
                return self._statement(Leaf(formula, next(self._names), distinct=self._distinct), inside)
            case Not(argument):
                return f"\\lnot {self.body(argument, inside=True)}"
            case And(arguments) | Or(arguments):
                mark = " \\land " if isinstance(formula, And) else " \\lor "
                text = mark.join(self.body(a, inside=True) for a in arguments)
                return f"({text})" if inside else text
            case _:
                return "\\top"

    def _statement(self, leaf: Leaf, inside: bool) -> str:
        """Write a statement, with quantifiers for its body variables."""
        items = [self.atom(atom.predicate, atom.arguments) for atom in leaf.atoms]
        if leaf.equal is not None:
            items.append(" = ".join(map(self._term, leaf.equal)))
        items += [f"{self._term(two)} \\neq {self._term(one)}" for one, two in leaf.different]
        text = " \\land ".join(items)
        free = [self._term(t) for t in leaf.terms if isinstance(t, BodyVariable)]
        if not inside:
            return text
        if free:
            return f"\\exists {', '.join(free)}\\,({text})"
        return f"({text})" if len(items) > 1 or leaf.equal is not None else text

    def atom(self, predicate: Predicate, arguments: Sequence[Term]) -> str:
        return f"\\text{{{escaped(predicate.name)}}}({', '.join(map(self._term, arguments))})"

    def _term(self, term: Term) -> str:
        if isinstance(term, Constant):
            return f"\\text{{{escaped(self._labels.get(term.name, term.name))}}}"
        return f"Z_{{{term.name[1:]}}}" if isinstance(term, BodyVariable) else term.name


LANGUAGE = Language(rule_line, begin=BEGIN, between=" \\\\\n", after="", end="\n" + END)
