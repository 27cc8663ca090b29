"""Small pieces of SVG text. Names from the data enter through `text` and `titled` only, which escape them."""

from __future__ import annotations

from html import escape


def number(value: float) -> str:
    """
    >>> number(12.0), number(3.14159), number(-0.001)
    ('12', '3.14', '0')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def element(name: str, body: str = "", **attributes: str | float) -> str:
    """`class_` and `stroke_width` are written as class and stroke-width; numbers to two places."""
    words = [name]
    for key, value in attributes.items():
        shown = escape(value, quote=True) if isinstance(value, str) else number(value)
        words.append(f'{key.rstrip("_").replace("_", "-")}="{shown}"')
    return f"<{' '.join(words)}>{body}</{name}>" if body else f"<{' '.join(words)}/>"


def text(x: float, y: float, content: str, **attributes: str | float) -> str:
    return element("text", escape(content), x=x, y=y, **attributes)


def titled(title: str, body: str, **attributes: str | float) -> str:
    """A group that says `title` where a pointer rests on it."""
    return element("g", f"<title>{escape(title)}</title>{body}", **attributes)


def picture(width: float, height: float, title: str, body: str, kind: str) -> str:
    return (
        f'<svg class="{kind}" role="img" width="{number(width)}" height="{number(height)}" '
        f'viewBox="0 0 {number(width)} {number(height)}"><title>{escape(title)}</title>{body}</svg>'
    )


def path(points: list[tuple[float, float]]) -> str:
    """The `points` attribute of a polyline."""
    return " ".join(f"{number(x)},{number(y)}" for x, y in points)
