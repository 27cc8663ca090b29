"""Popper folders for tests."""

from __future__ import annotations

from pathlib import Path


def folder(place: Path, bk: str, exs: str, bias: str | None = None, **others: str) -> Path:
    """Write bk.pl, exs.pl, perhaps bias.pl and other files, `test="..."` for test.pl, into a folder."""
    place.mkdir(parents=True, exist_ok=True)
    texts = {"bk": bk, "exs": exs, **others} | ({} if bias is None else {"bias": bias})
    for name, text in texts.items():
        (place / f"{name}.pl").write_text(text, encoding="utf-8")
    return place


GRANDPARENT = {
    "bk": """
        mother(ann, bob). mother(ann, cat). father(bob, dan). mother(cat, eve).
        father(dan, fred). mother(eve, gus). father(hal, bob).
    """,
    "exs": """
        pos(gp(ann, dan)). pos(gp(ann, eve)). pos(gp(bob, fred)). pos(gp(cat, gus)). pos(gp(hal, dan)).
        neg(gp(ann, bob)). neg(gp(dan, ann)). neg(gp(hal, eve)). neg(gp(bob, dan)). neg(gp(ann, fred)).
    """,
    "bias": """
        max_vars(3). max_body(2). max_clauses(4).
        head_pred(gp, 2). body_pred(mother, 2). body_pred(father, 2).
    """,
}


def numbers(count: int) -> str:
    """zero and succ."""
    return "zero(0).\n" + "".join(f"succ({i}, {i + 1}).\n" for i in range(count - 1))


def examples(target: str, positive: list[tuple[object, ...]], negative: list[tuple[object, ...]]) -> str:
    """The text of exs.pl."""
    lines = [f"pos({target}({', '.join(map(str, row))}))." for row in positive]
    lines += [f"neg({target}({', '.join(map(str, row))}))." for row in negative]
    return "\n".join(lines) + "\n"
