"""nlil explain RUN "uncle(alice, bob)", nlil explain RUN obj17 --out picture.svg

`explanation` is the one to show; `classes` are those of the object in question, None if the query is a fact.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import ConfigError, UnknownName
from .session import AppliedRun, Bounds, Session, Written

if TYPE_CHECKING:
    from ..explanation.contrast import Contrast
    from ..explanation.what_if import NecessaryFacts, WhatIf
    from ..explanation.why import Explainer, Explanation, Side
    from ..explanation.why_not import WhyNot
    from ..learning.opening import OpenedRun
    from ..logic.predicate import Fact
    from ..scene.object_classes import ObjectClasses

MAX_CLASSES = 5
"""Classes listed for an object, including the most probable one."""


def explain(
    session: Session,
    run: AppliedRun,
    query: str,
    *,
    rather_than: str | None = None,
    all: bool = False,
    top: Annotated[int | None, Bounds(1)] = None,
    side: str = "object",
    out: Annotated[Path | None, Written()] = None,
    image: Path | None = None,
    why_not: bool = False,
    necessary: bool = False,
    without: list[str] | None = None,
    add: list[str] | None = None,
) -> None:
    """Explain a fact in a dozen lines: the strongest reason, further independent ones, and the evidence against it.

    Args:
        session: The common options.
        run: The rules.
        query (FACT): A fact such as uncle(alice, bob) or person(obj17); an object of a scene alone, obj17, explains its
            most probable class.
        rather_than (NAME): Show only the differences from another answer, or from another class.
        all: Show every rule with the facts behind it, what each fact is worth, and where other rules fail.
        top: Same as --all, with this many rules, strongest first. Default: all that count, up to 20.
        side (NAME): The answer to explain: object, as the answer to p(a, ?), or subject, as the answer to p(?, b).
        out (FILE): Draw the explanation, for a scene with its boxes: FILE.svg, FILE.png or FILE.html.
        image (FILE): Draw on top of this image (PNG or JPEG); with --out.
        why_not: Show single facts that would make the strongest rules fire that do not.
        necessary: Show the facts behind it, by how far the score falls without each.
        without (FACT): Show the score without this fact; may be repeated.
        add (FACT): Show the score with this fact added; may be repeated.
    """
    from ..explanation.why import SIDES, Explainer
    from ..scene.picture import check_picture_name, draw, write_picture

    if side not in SIDES:
        raise ConfigError(f"--side {side}: choose {' or '.join(SIDES)}", "side")
    if image is not None and out is None:
        raise ConfigError("--image needs --out FILE.svg, FILE.png or FILE.html, the file for the picture", "image")
    if out is not None:
        check_picture_name(out)
    question = Question(rather_than, why_not, necessary, tuple(without or ()), tuple(add or ()))
    question.check(out)
    opened = session.open_run(run)
    classes = classes_of(opened, query)
    explainer = Explainer(opened.rules, opened.base, opened.config.memory, opened.calibration)
    fact = query if classes is None else classes.fact
    if question.options:
        found = question.answer(explainer, fact, side, top)
        return session.show(found.to_dict(), found)
    explanation = explainer.explain(fact, top=top, side=side)
    if out is not None:
        write_picture(draw(explanation, opened.base, image), out, explanation)
    show(session, opened, explanation, classes, out, all or top is not None)


@dataclass(frozen=True)
class Question:
    """An alternative to a plain explanation: the options of `explain` with these names.

    They are `rather_than`, `why_not`, `necessary`, and together `without` and `add`.
    """

    rather_than: str | None
    why_not: bool
    necessary: bool
    without: tuple[str, ...]
    add: tuple[str, ...]

    @property
    def options(self) -> list[str]:
        """The options that the user gave."""
        named = {
            "--rather-than": self.rather_than is not None,
            "--why-not": self.why_not,
            "--necessary": self.necessary,
            "--without and --add": bool(self.without or self.add),
        }
        return [name for name, wanted in named.items() if wanted]

    def check(self, out: Path | None) -> None:
        """Raise ConfigError for two questions at once, or for one together with a picture."""
        if len(self.options) > 1:
            raise ConfigError(f"{' and '.join(self.options)} exclude each other; use one at a time", "explain")
        if self.options and out is not None:
            raise ConfigError(f"--out draws why a fact holds; leave out {self.options[0]}", "out")

    def answer(
        self, explainer: Explainer, fact: str | Fact, side: Side, top: int | None
    ) -> Contrast | WhyNot | NecessaryFacts | WhatIf:
        """Answer the question about `fact` with the `explainer`; `side` and `top` as in `explain`."""
        from ..explanation.contrast import explain_contrast, rival_of
        from ..explanation.what_if import explain_what_if, find_necessary_facts
        from ..explanation.why import as_fact
        from ..explanation.why_not import explain_why_not

        if self.rather_than is not None:
            named = as_fact(fact, explainer.kb)
            rival = rival_of(explainer.kb, named, self.rather_than, side)
            return explain_contrast(explainer, explainer, named, rival, side)
        if self.why_not:
            return explain_why_not(explainer, fact, side=side, **({} if top is None else {"top": top}))
        if self.necessary:
            return find_necessary_facts(explainer, fact, side=side, **({} if top is None else {"limit": top}))
        return explain_what_if(explainer, fact, without=self.without, add=self.add, side=side, top=top)


def show(
    session: Session,
    opened: OpenedRun,
    explanation: Explanation,
    classes: ObjectClasses | None,
    out: Path | None,
    everything: bool,
) -> None:
    """Show the explanation and the surroundings of an object; `everything`: not only what fits on the screen."""
    from ..explanation.brief import MAX_LINES, fitting
    from ..explanation.outline import as_tree
    from .session import terminal

    near = neighbours(opened, explanation)
    views: list[Any] = [] if classes is None else [verdict(classes)]
    if everything:
        views.append(explanation.listing)
        if near:
            views += ["", heading(opened, explanation), *map(line, near)]
    else:
        width = terminal().width
        used = sum(-(-len(view) // width) for view in views)
        views.append(as_tree(fitting(explanation, width, MAX_LINES - used)))
    if out is not None:
        views.append(f"picture written to {out}")
    more: dict[str, Any] = {"picture": None if out is None else str(out), "near": near}
    if classes is not None:
        more["object"] = classes.to_dict(MAX_CLASSES)
    session.show({**explanation.to_dict(), **more}, *views)


def classes_of(opened: OpenedRun, query: str) -> ObjectClasses | None:
    """Return the ranked classes if `query` is an object of a scene; None if it is a fact."""
    from ..scene.object_classes import object_classes

    kb = opened.base
    name = query.strip()
    if not kb.classes:
        return None
    if name not in kb.entities and len(name) > 1 and name[0] == name[-1] == "'":
        name = name[1:-1]  # quoted, as in explanations
    if name in kb.entities:
        return object_classes(opened.rules, kb, name, opened.config.memory)
    if "(" not in name:
        raise UnknownName("object", name, kb.entities, "name an object of a scene, or a fact as in person(obj17)")
    return None


def neighbours(opened: OpenedRun, explanation: Explanation) -> list[dict[str, Any]]:
    """Return the surroundings of the query in its scene; none for a plain knowledge graph."""
    from ..scene.picture_content import scene_of, surroundings

    kb = opened.base
    return surroundings(scene_of(explanation, kb)) if kb.graph_of is not None and kb.classes else []


def verdict(classes: ObjectClasses) -> str:
    """Return a line with the most probable class, that of the data, and the next ones."""
    from ..logic.figures import number

    shown = classes.probability or [value for _, value in classes.ranked]
    best, *others = [
        f"{predicate.name} ({number(value)})" for (predicate, _), value in zip(classes.ranked[:MAX_CLASSES], shown)
    ]
    true = " and ".join(predicate.name for predicate in classes.true) or "no class"
    rank = next((i for i, (p, _) in enumerate(classes.ranked, start=1) if p in classes.true), None)
    place = "" if rank in (None, 1) else f", at rank {rank} of {len(classes.ranked)}"
    known = "" if not classes.true or rank is not None else ", for which there are no rules"
    also = f"; next: {', '.join(others)}" if others else ""
    return f"{classes.name}: most probably {best}; in the data {true}{place}{known}{also}"


def heading(opened: OpenedRun, explanation: Explanation) -> str:
    """Return the heading of the surroundings."""
    name = explanation.fact.arguments[0]
    image = opened.base.image_of(opened.base.entities.id(name))
    return f"near X = {name}{'' if image is None else f' in {image}'}, * used by the strongest rules"


def line(near: dict[str, Any]) -> str:
    """Return a line about one object near the query: its class, place and relations."""
    mark = "X" if near["query"] else "*" if near["used"] else " "
    parts = [near["class"] or "no class", near["place"], ", ".join(near["relations"])]
    return f"{mark} {near['object']}: {'; '.join(part for part in parts if part)}"
