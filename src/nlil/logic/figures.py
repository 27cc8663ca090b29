"""Numbers as text for people."""

from __future__ import annotations

Cell = str | int | float | bool | None


def number(value: float | int) -> str:
    """Format `value`: a count with commas, a fraction with three digits, or with one significant digit if these are 0.

    >>> number(12345), number(0.95), number(1.0), number(0.0004)
    ('12,345', '.950', '1.000', '.0004')
    """
    if isinstance(value, int):
        return f"{value:,}"
    return _without_zero(f"{value:.3f}" if value == 0 or abs(value) >= 0.001 else f"{value:.1g}")


def number_pair(one: float, two: float) -> tuple[str, str]:
    """Format two numbers, `one` and `two`, with enough digits to tell them apart.

    >>> number_pair(0.5, 0.25), number_pair(0.99998, 0.99993)
    (('.500', '.250'), ('1.0000', '.9999'))
    """
    digits = next((d for d in range(3, 10) if f"{one:.{d}f}" != f"{two:.{d}f}"), 3)
    return _without_zero(f"{one:.{digits}f}"), _without_zero(f"{two:.{digits}f}")


def plural(count: int, what: str) -> str:
    """Return `count` and the noun `what`: 1 rule, 1,200 rules."""
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def cell_text(value: Cell) -> str:
    """Return `value` as the text of a table cell.

    >>> [cell_text(value) for value in (None, True, 12345, 0.5, "a")]
    ['', 'yes', '12,345', '.500', 'a']
    """
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return number(value)
        case _:
            return str(value)


def _without_zero(text: str) -> str:
    return text[1:] if text.startswith("0.") else text
