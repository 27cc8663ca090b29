"""Every public function, method and class says what its parameters mean.

A parameter is described where its docstring names it. What a parameter means throughout a class, a file or a room is
said once, in the docstring of that, in backticks. Names that `nlil` exports describe their parameters themselves, since
`help(nlil.explain)` shows nothing else.
"""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "nlil"
MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if path.name == "__init__.py" or path.name[0] != "_"]
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Documented:
    """A public thing: where it is, its own docstring, docstrings around it, and the parameters to be described."""

    name: str
    own: str
    around: tuple[str, ...]
    parameters: tuple[str, ...]

    @property
    def missing(self) -> list[str]:
        """The parameters that no docstring names."""
        return [p for p in self.parameters if not names(self.own, p) and not any(defines(d, p) for d in self.around)]


def names(docstring: str, parameter: str) -> bool:
    """Whether the docstring has this word; a single letter counts in backticks, or before a colon, only."""
    if len(parameter) == 1:
        return defines(docstring, parameter) or re.search(rf"`[^`]*\b{parameter}\b[^`]*`", docstring) is not None
    return re.search(rf"(?<!\w){re.escape(parameter)}(?!\w)", docstring) is not None


def defines(docstring: str, parameter: str) -> bool:
    """Whether the docstring has `parameter` in backticks, or in a list: `    one, parameter: what they are`."""
    return re.search(rf"`{parameter}`|^\s+(?:\w+, )*{parameter}(?:, \w+)*:", docstring, re.M) is not None


def documented(path: Path) -> Iterator[Documented]:
    """Every public function, method and class of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    room = ast.parse((path.parent / "__init__.py").read_text(encoding="utf-8"))
    around = (docstring_of(tree), docstring_of(room))
    exported = exports().get(path, set())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in tree.body:
        if not isinstance(node, Function | ast.ClassDef) or node.name.startswith("_"):
            continue
        shared = () if node.name in exported else around
        where = f"{path.relative_to(PACKAGE)}: {node.name}"
        if not isinstance(node, ast.ClassDef):
            yield Documented(where, docstring_of(node), shared, parameters(node))
            continue
        yield Documented(where, class_docstring(node), shared, class_parameters(node))
        for method in node.body:
            if (
                isinstance(method, Function)
                and not method.name.startswith("_")
                and not is_inherited(method, node, classes)
            ):
                own = docstring_of(method)
                yield Documented(f"{where}.{method.name}", own, (class_docstring(node), *shared), parameters(method))


@cache
def exports() -> dict[Path, set[str]]:
    """The names that `nlil` exports, by the file that has them."""
    found: dict[Path, set[str]] = {}
    for node in ast.walk(ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module is not None:
            place = PACKAGE.joinpath(*node.module.split("."))
            files = [place.with_suffix(".py")] if place.with_suffix(".py").is_file() else sorted(place.glob("*.py"))
            for path in files:
                found.setdefault(path, set()).update(alias.name for alias in node.names)
    return found


def docstring_of(node: ast.Module | ast.ClassDef | Function) -> str:
    return ast.get_docstring(node) or ""


def class_docstring(node: ast.ClassDef) -> str:
    """That of the class, and of its __init__."""
    methods = [docstring_of(part) for part in node.body if isinstance(part, Function) and part.name == "__init__"]
    return "\n".join([docstring_of(node), *methods])


def parameters(node: Function) -> tuple[str, ...]:
    """Public parameters; an option of the command line that has its help in its annotation is described there."""
    arguments = node.args
    listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return tuple(
        argument.arg
        for argument in listed
        if argument is not None and argument.arg not in ("self", "cls") and not argument.arg.startswith("_")
        if argument.annotation is None or "help=" not in ast.unparse(argument.annotation)
    )


def class_parameters(node: ast.ClassDef) -> tuple[str, ...]:
    """The fields of a dataclass or a named tuple, otherwise the parameters of __init__.

    A field is described by a string below it, or by the help that it is declared with, as settings are.
    """
    marks = [ast.unparse(mark) for mark in (*node.decorator_list, *node.bases)]
    if not any("dataclass" in mark or "NamedTuple" in mark for mark in marks):
        own = [part for part in node.body if isinstance(part, Function) and part.name == "__init__"]
        return parameters(own[0]) if own else ()
    found = []
    for field, below in zip(node.body, [*node.body[1:], None]):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        value = field.value
        has_help = isinstance(value, ast.Call) and any(
            isinstance(argument, ast.Constant) and " " in str(argument.value) for argument in value.args
        )
        is_told = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        is_private = field.target.id.startswith("_") or (value is not None and "init=False" in ast.unparse(value))
        if not (has_help or is_told or is_private or "ClassVar" in ast.unparse(field.annotation)):
            found.append(field.target.id)
    return tuple(found)


def is_inherited(method: Function, node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> bool:
    """Whether the method has the docstring of the one that it overrides, which `help` shows in its place."""
    bases = [classes[name] for base in node.bases if (name := ast.unparse(base).partition("[")[0]) in classes]
    above = [part for base in bases for part in base.body if isinstance(part, Function) and part.name == method.name]
    return not docstring_of(method) and any(docstring_of(part) for part in above)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_docstrings_name_every_parameter(path: Path) -> None:
    found = list(documented(path))
    assert [one.name for one in found if not one.own.strip()] == []
    assert {one.name: one.missing for one in found if one.missing} == {}


@pytest.mark.parametrize(
    "path",
    [path for path in MODULES if ">>> " in path.read_text(encoding="utf-8")],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_examples_in_docstrings_hold(path: Path) -> None:
    parts = [*path.relative_to(PACKAGE.parent).with_suffix("").parts]
    module = import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_a_parameter_that_is_not_named_is_found() -> None:
    one = Documented("f", "Return the facts of `kb`; x of them.", ("`seed` is chance; memory is not.",), ())
    cases = {"kb": True, "facts": True, "x": False, "seed": True, "memory": False, "fact": False}
    found = {p: not Documented(one.name, one.own, one.around, (p,)).missing for p in cases}
    assert found == cases


def misplaced(docstring: str) -> Iterator[str]:
    """Yield the lines of a list of parameters that stand where a name must, which the documentation site refuses."""
    for section in re.findall(r"^(?:Args|Attributes):\n((?:(?:    .*)?\n?)*)", docstring, re.M):
        for line in section.splitlines():
            if re.match(r"    \S", line) and not re.match(r"    \*{0,2}\w+(?:, \*{0,2}\w+)*(?: \([^:]*\))?:", line):
                yield line.strip()


def test_a_misplaced_line_is_found():
    good = "Do.\n\nArgs:\n    one, two (N): this: and\n        that: too\n    **rest: more.\n\nReturns nothing."
    assert list(misplaced(good)) == []
    assert list(misplaced(good.replace("        that", "    or that"))) == ["or that: too"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_lists_of_parameters_are_indented(path: Path) -> None:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    found = [docstring_of(node) for node in nodes if isinstance(node, ast.Module | ast.ClassDef | Function)]
    assert [line for docstring in found for line in misplaced(docstring)] == []
