"""CPU seconds of the call `materialize` alone, of the working tree and of an older checkout, with the same rules.

    python benchmarks/derive.py kin --older ../older
    python benchmarks/derive.py fb15k-237 --rules RULES.txt --min-confidence 0.9 --older ../older

Without --rules they are learned by counting. The older side runs in a process of its own with PYTHONPATH on its
sources. The first call of each side does not count; the facts and confidences of both are compared.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

RUNS = 5


def measured(derive: Callable[[], Any], runs: int) -> dict[str, Any]:
    """The median CPU seconds of some calls, and what they derive."""
    seconds = []
    for _ in range(runs + 1):
        begin = time.process_time()
        found = derive()
        seconds.append(time.process_time() - begin)
    columns = (found.facts.predicate, found.facts.subject, found.facts.object, np.round(found.confidence, 9))
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(column).tobytes() for column in columns)).hexdigest()
    return {"seconds": median(seconds[1:]), "facts": len(found.facts), "rounds": found.rounds, "digest": digest}


def older_side(file: str, data: str, runs: int) -> None:
    """What the process of the older side does: rules one by one, as it takes them."""
    from nlil import load_dataset, materialize, parse_rule

    kb = load_dataset(data).kb
    pairs = (line.split("\t", 1) for line in Path(file).read_text(encoding="utf-8").splitlines())
    rules = [(parse_rule(text), float(confidence)) for confidence, text in pairs]
    print(json.dumps(measured(lambda: materialize(kb, rules), runs)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", help="a built-in or catalogue name, or a path")
    parser.add_argument("--rules", metavar="FILE", help="a rule file; default: rules learned by counting")
    parser.add_argument("--min-confidence", type=float, default=0.95, metavar="C", help="rules of at least this (0.95)")
    parser.add_argument("--older", metavar="FOLDER", help="a checkout of an older revision")
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N", help=f"calls that count ({RUNS})")
    given = parser.parse_args()
    from nlil import Learner, LearnerConfig, load_dataset, materialize, read_rules

    dataset = load_dataset(given.data)
    if given.rules is None:
        config = LearnerConfig(search="count")
        rules = Learner(config).fit(dataset.kb, list(dataset.targets), dataset.splits).rules
    else:
        rules = read_rules(given.rules, dataset)
    strong = rules.take(rules.confidence >= given.min_confidence)
    new = measured(lambda: materialize(dataset.kb, strong), given.runs)
    print(f"{len(strong):,} rules, {new['facts']:,} facts in {new['rounds']} rounds: {new['seconds']:.3f} s")
    if given.older is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rules.tsv"
        texts = (f"{float(c)!r}\t{strong.rule(row)}\n" for row, c in enumerate(strong.confidence))
        file.write_text("".join(texts), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(Path(given.older).resolve() / "src")}
        command = f"import derive; derive.older_side({str(file)!r}, {given.data!r}, {given.runs})"
        child = subprocess.run(
            [sys.executable, "-c", command], env=environment, cwd=Path(__file__).parent, capture_output=True, text=True
        )
    if child.returncode:
        sys.exit(f"{given.older}: exit code {child.returncode}: {child.stderr[-500:]}")
    old = json.loads(child.stdout.splitlines()[-1])
    same = "same facts" if old["digest"] == new["digest"] else "FACTS DIFFER"
    print(f"{given.older}: {old['seconds']:.3f} s, {old['seconds'] / new['seconds']:.0f} times as long; {same}")
    sys.exit(old["digest"] != new["digest"])


if __name__ == "__main__":
    main()
