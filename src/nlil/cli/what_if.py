"""nlil explain RUN FACT --why-not | --necessary | --without FACT | --add FACT: what would change the score."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError

if TYPE_CHECKING:
    from ..explanation import Explainer, NecessaryFacts, WhatIf, WhyNot
    from ..explanation.why import Side
    from ..logic.predicate import Fact


@dataclass(frozen=True)
class Supposed:
    """What the user wants to know beside why; nothing of it: just why."""

    why_not: bool
    necessary: bool
    without: tuple[str, ...]
    add: tuple[str, ...]

    def __bool__(self) -> bool:
        return self.why_not or self.necessary or bool(self.without) or bool(self.add)

    def check(self, out: Path | None) -> None:
        """One question a call, and none of them has a picture."""
        asked = [
            name
            for name, value in (
                ("--why-not", self.why_not),
                ("--necessary", self.necessary),
                ("--without and --add", self.without or self.add),
            )
            if value
        ]
        if len(asked) > 1:
            raise ConfigError(f"{' and '.join(asked)} are different questions; ask one at a time", "explain")
        if asked and out is not None:
            raise ConfigError(f"--out draws why a fact holds; leave out {asked[0]}", "out")

    def answer(
        self, explainer: Explainer, query: str | Fact, top: int | None, side: Side
    ) -> WhyNot | WhatIf | NecessaryFacts:
        from ..explanation.what_if import explain_what_if, find_necessary_facts
        from ..explanation.why_not import explain_why_not

        given: dict[str, Any] = {} if top is None else {"top": top}
        if self.why_not:
            return explain_why_not(explainer, query, side=side, **given)
        if self.necessary:
            return find_necessary_facts(explainer, query, side=side, **({} if top is None else {"limit": top}))
        return explain_what_if(explainer, query, without=self.without, add=self.add, side=side, **given)
