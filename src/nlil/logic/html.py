"""Tables for a notebook: plain, unstyled HTML; everything from the data is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from .figures import Cell, cell_text


def code_html(text: str) -> str:
    """Return the text as escaped HTML code."""
    return f"<code>{escape(text)}</code>"


def table_html(
    columns: Sequence[str], rows: Iterable[Sequence[Cell]], caption: str = "", code: Sequence[str] = ()
) -> str:
    """Return an HTML table with a header row (`columns`), then `rows`, and a `caption` unless it is empty.

    The columns named in `code` are shown in a monospaced font.

    >>> table_html(["name", "n"], [("<b>", 1000)], caption="one")
    '<table><caption>one</caption><tr><th>name</th><th>n</th></tr><tr><td>&lt;b&gt;</td><td>1,000</td></tr></table>'
    """
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    lines = []
    for row in rows:
        cells = (code_html(str(c)) if column in code else escape(cell_text(c)) for column, c in zip(columns, row))
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    return f"<table>{title}<tr>{head}</tr>{''.join(lines)}</table>"
