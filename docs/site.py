"""What the documentation site has beside the pages of this folder; mkdocs calls the functions with these names.

The pages beside `docs` (README, CONTRIBUTING, CHANGELOG), pictures of benchmarks, a page for each notebook with its
output, and a reference of commands and settings that is made from the program itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe
import typer.main
from mkdocs.structure.files import File, Files

from nlil.cli.main import application, installed_commands
from nlil.config import settings_help

ROOT = Path(__file__).parent.parent
BESIDE = [*ROOT.glob("*.md"), *ROOT.glob("benchmarks/results/*.png")]
"""Files outside of this folder that pages link to; on the site they are inside."""
TABLE = "| {} | {} |\n|---|---|\n"


def on_files(files: Files, config: Any) -> Files:
    """Add to the `files` of the site those beside this folder, and the pages that are made."""
    for path in BESIDE:
        files.append(File.generated(config, str(path.relative_to(ROOT)), abs_src_path=str(path)))
    for name, text in {"commands": "".join(commands()), "settings": settings()}.items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    for path in Path(__file__).parent.glob("*.ipynb"):
        files.append(File.generated(config, f"{path.stem}.md", content="\n\n".join(notebook(path))))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Return the text of a `page` with links that fit the site: the README lies beside the other pages, and a notebook
    is a page.
    """
    beside = re.sub(r"\]\((?:\.\./(?=README|benchmarks)|docs/)", "](", markdown)
    return re.sub(r"(\]\([\w/.-]+)\.ipynb\)", r"\1.md)", beside)


class Doctests(griffe.Extension):
    """Puts the examples of docstrings (>>>) between fences, so that they are shown as code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an `obj`."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^( *)>>> .*(?:\n *\S.*)*", self._fenced, obj.docstring.value, flags=re.M)

    @staticmethod
    def _fenced(example: re.Match[str]) -> str:
        indent = example[1]
        return f"{indent}```pycon\n{example[0]}\n{indent}```"


def notebook(path: Path) -> Iterator[str]:
    """Yield the cells of the notebook at `path` as Markdown, each piece of code with what it has shown."""
    for cell in json.loads(path.read_text())["cells"]:
        source = "".join(cell["source"])
        yield source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```"
        for output in cell.get("outputs", ()):
            shown = output.get("data", {"text/plain": output.get("text", "")})
            page, text = ("".join(shown.get(kind, "")).strip() for kind in ("text/html", "text/plain"))
            yield f'<div class="output">{page}</div>' if page else f"```text\n{text}\n```"


def commands() -> Iterator[str]:
    """Yield a page about every command: what it does, its arguments, its options."""
    yield "# Commands\n\nWhat `nlil COMMAND --help` prints. Examples: [the commands](../commands.md).\n\n"
    group: Any = typer.main.get_command(application(installed_commands()))
    context = group.make_context("nlil", [], resilient_parsing=True)
    for name, command in group.commands.items():
        inner = command.make_context(name, [], parent=context, resilient_parsing=True)
        yield f"## {name}\n\n{command.help}\n\n```text\n{command.get_usage(inner)}\n```\n\n"
        yield TABLE.format("option", "meaning")
        for parameter in command.params:
            names = ", ".join([*parameter.opts, *parameter.secondary_opts])
            meaning = " ".join((getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
            yield f"| `{names}` | {meaning} |\n"
        yield "\n"


def settings() -> str:
    """Return the page about the settings of `learn`."""
    begin = "# Settings\n\nFor `nlil learn --set NAME=VALUE`; `nlil settings NAME` explains one."
    return f"{begin}\n\n```text\n{settings_help()}\n```\n"
