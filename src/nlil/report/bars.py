"""Bars as SVG: unlike a coloured background they are printed as they are seen."""

from __future__ import annotations

from .svg import element


def bar(share: float, interval: tuple[float, float] | None = None) -> str:
    """A bar of `share` of its width; `interval` is drawn as a line with ends over it."""
    share = min(max(share, 0.0), 1.0)
    body = element("rect", width=100.0, height=10.0, class_="rest") + element(
        "rect", width=100 * share, height=10.0, class_="part"
    )
    if interval is not None:
        low, high = (100 * bound for bound in interval)
        body += element("line", x1=low, x2=high, y1=5.0, y2=5.0, class_="interval")
        for bound in (low, high):
            body += element("line", x1=bound, x2=bound, y1=1.5, y2=8.5, class_="interval")
    return f'<svg class="bar" aria-hidden="true" viewBox="0 0 100 10" preserveAspectRatio="none">{body}</svg>'
