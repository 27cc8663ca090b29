"""Run by the Python of a peer, never imported by nlil: PyClause ranks the candidates of every query of a file.

    python peer_script.py JOB.json

JOB has the paths `train`, `valid`, `test`, `rules`, `out`, the `threads`, and the options of PyClause's ranking. A line
of `out` is: direction, relation, entity, then candidate and score in turn, in PyClause's own order.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def rank(job: dict[str, Any]) -> None:
    from c_clause import Loader, RankingHandler  # type: ignore[import-not-found]
    from clause import Options  # type: ignore[import-not-found]

    options = Options()
    for name, value in job["options"].items():
        options.set(f"ranking_handler.{name}", value)
    options.set("ranking_handler.num_threads", job["threads"])
    options.set("loader.num_threads", job["threads"])
    loader = Loader(options=options.get("loader"))
    loader.load_data(data=job["train"], filter=job["valid"], target=job["test"])
    loader.load_rules(rules=job["rules"])
    ranker = RankingHandler(options=options.get("ranking_handler"))
    ranker.calculate_ranking(loader=loader)
    with Path(job["out"]).open("w", encoding="utf-8") as out:
        for direction in ("head", "tail"):
            for relation, queries in ranker.get_ranking(direction=direction, as_string=True).items():
                for entity, candidates in queries.items():
                    words = [word for name, score in candidates for word in (name, repr(score))]
                    out.write("\t".join([direction, relation, entity, *words]) + "\n")


if __name__ == "__main__":
    rank(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
