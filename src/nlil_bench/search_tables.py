"""The tables of the benches of the neural search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .cells import Entries, machine_text, markdown, measured, share
from .es import METHODS
from .length import LENGTHS, LONGEST_EPOCH, levels_for
from .published import EVEN, KB
from .recovery import NOISES
from .speed import CHAINS, DATA, OURS, SETTINGS

ES_NAMES = {
    "neural": "**nlil**, search=neural",
    "both": "**nlil**, search=both",
    "neural-lp": "Neural-LP, our code",
    "dilp": "dILP, our code",
}


def recovery_table(entries: Entries) -> str:
    """By noise, then by construct; time is that of one seed."""
    from nlil.data.planted import CONSTRUCTS

    order = {name: position for position, name in enumerate((*NOISES, *CONSTRUCTS))}
    shown = measured(entries)
    rows = []
    for key in sorted(shown, key=lambda key: (order[shown[key]["noise"]], order[shown[key]["construct"]], key)):
        entry, seeds = shown[key], shown[key]["seeds"]
        rows.append(
            (
                _with_options(entry["construct"], key, 3),
                NOISES[entry["noise"]].text,
                share(entry["least"]),
                f"{entry['passed']} of {len(seeds)}",
                share(_mean(s["precision"] for s in seeds)),
                share(_mean(s["recall"] for s in seeds)),
                f"{_mean(s['seconds'] for s in seeds):.1f} s",
                machine_text(entry["machine"]),
            )
        )
    head = ("construct", "noise", "to pass", "seeds passed", "precision", "recall", "time", "machine")
    return markdown(head, rows, right=range(2, 7))


def es_table(entries: Entries) -> str:
    """For each size ours, Neural-LP and dILP as measured, then what was published."""
    shown = measured(entries)
    rows: list[Sequence[str]] = []
    for size in sorted({entry["size"] for entry in shown.values()}):
        mine = [key for key in shown if shown[key]["size"] == size]
        for key in sorted(mine, key=lambda key: (METHODS.index(shown[key]["method"]), key)):
            entry = shown[key]
            seconds = entry["seconds"]["load"] + entry["seconds"]["learn"]
            rows.append(
                (
                    f"{size:,}",
                    _with_options(ES_NAMES[entry["method"]], key, 3),
                    _verdict(entry),
                    f"{seconds:.1f} s",
                    _transfer(entry["transfer"]),
                    machine_text(entry["machine"]),
                )
            )
        rows += [(f"{size:,}", f"{method}, published", "", time, "", "") for method, time in EVEN.get(size, ())]
    head = ("integers", "method", "solved", "time", "the same rules on more", "machine")
    return markdown(head, rows, right=(0, 3))


def _verdict(found: Mapping[str, Any]) -> str:
    if found["solved"]:
        return "yes"
    if found["why"]:
        return "no: a rule negates its own head"
    wrong = found["derived"] - found["correct"]
    soft = f"; soft F1 {share(found['soft_f1'])}" if found.get("soft_f1") is not None else ""
    return f"no: derives {found['correct']:,} of {found['even']:,}" + (f", {wrong:,} wrong" if wrong else "") + soft


def _transfer(found: Mapping[str, Any] | None) -> str:
    return "" if found is None else f"{found['size']:,}: {_verdict(found)}"


def length_table(entries: Entries) -> str:
    """Every length with the smallest model of ours that has it, and the claim of the paper below."""
    blocks = []
    shown = measured(entries)
    for data in sorted({entry["data"] for entry in shown.values()}):
        mine = [entry for entry in shown.values() if entry["data"] == data]
        ours = {entry["levels"]: entry for entry in mine if entry["model"] == "nlil"}
        chains = {entry["length"]: entry for entry in mine if entry["model"] == "chain"}
        rows = [
            _length_row(length, ours.get(levels_for(length)), chains)
            for length in LENGTHS
            if levels_for(length) in ours or length in chains
        ]
        head = (f"{data}: longest rule", "levels", "paths, once", "epoch", "chain model, epoch", "chain / ours")
        blocks.append(markdown(head, rows, right=range(6)) + _claim(ours, chains))
    return "\n\n".join(blocks) or markdown((), ())


def _length_row(length: int, ours: Mapping[str, Any] | None, chains: Mapping[int, Mapping[str, Any]]) -> Sequence[str]:
    once, epoch, ratio = "", "", ""
    if ours is not None:
        once, epoch = (f"{ours['seconds'][part]:,.0f} s" for part in ("once", "epoch"))
        if length in chains:
            ratio = f"{chains[length]['seconds']['epoch'] / ours['seconds']['epoch']:.1f}"
    chain = "" if not chains else "longer still, not run" if _is_over(length, chains) else "not measured"
    if length in chains:
        seconds = chains[length]["seconds"]["epoch"]
        chain = f"{seconds:,.0f} s" if seconds <= LONGEST_EPOCH else f"over 20 min (estimated {seconds / 60:,.0f})"
    return str(length), str(levels_for(length)), once, epoch, chain, ratio


def _is_over(length: int, chains: Mapping[int, Mapping[str, Any]]) -> bool:
    return any(e["seconds"]["epoch"] > LONGEST_EPOCH for shorter, e in chains.items() if shorter < length)


def _claim(ours: Mapping[int, Mapping[str, Any]], chains: Mapping[int, Mapping[str, Any]]) -> str:
    """The paper: length 32 takes about what length 3 takes a chain model."""
    long, short = ours.get(levels_for(32)), chains.get(3)
    if long is None or short is None:
        return ""
    ratio = long["seconds"]["epoch"] / short["seconds"]["epoch"]
    first = (long["seconds"]["once"] + long["seconds"]["epoch"]) / short["seconds"]["epoch"]
    return (
        f"\n\nAn epoch is {short['queries']:,} queries on one thread, scaled up from {long['measured']:,} of ours "
        f"and {short['measured']:,} of the chain model. Length 32 costs {ratio:.2g} times the chain model's "
        f"length 3 ({first:.2g} times in the first epoch, with the enumeration of paths that later epochs reuse)."
    )


def speed_table(entries: Entries) -> str:
    """Seconds of learning, how many times longer Neural-LP takes, and below what was scaled up."""
    shown = measured(entries)
    found = {(entry["data"], entry["model"]): entry for entry in shown.values()}
    sets = [
        data
        for data in dict.fromkeys((*DATA, *sorted(data for data, _ in found)))
        if (data, OURS) in found and (data, CHAINS) in found
    ]
    pairs = {data: (found[data, OURS], found[data, CHAINS]) for data in sets}
    if not pairs:
        return markdown((), ())
    rows = [
        (
            data,
            *(f"{entry['seconds']['learn']:,.0f} s" for entry in pair),
            _times(pair[1]["seconds"]["learn"] / pair[0]["seconds"]["learn"]),
            _published_times(data),
            machine_text(pair[0]["machine"]),
        )
        for data, pair in pairs.items()
    ]
    head = ("data", "**nlil**", "Neural-LP, our code", "Neural-LP / ours", "in the paper", "machine")
    return f"{markdown(head, rows, right=range(1, 5))}\n\n{_assumptions(pairs)}"


def _assumptions(pairs: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    ours, chains = (entry["config"] for entry in next(iter(pairs.values())))
    targets = "; ".join(f"{data}: {entry['measured']:,} of {entry['targets']:,}" for data, (entry, _) in pairs.items())
    queries = "; ".join(f"{data}: {entry['measured']:,} of {entry['queries']:,}" for data, (_, entry) in pairs.items())
    return (
        f"One thread of the CPU, both in one run. Ours: `{' '.join(SETTINGS)}`, all of learning, scaled up by the "
        f"number of targets from a random sample ({targets}). Neural-LP: chains of length {chains['steps']}, rank "
        f"{chains['rank']}; one epoch, scaled up from a random sample of its queries ({queries}), times "
        f"{chains['epochs']} epochs. Ours trains on at most {ours['positives']} facts of each target, Neural-LP on "
        "all of them. Time only: what the rules are worth is in the first table."
    )


def _times(ratio: float) -> str:
    """
    >>> _times(0.0512), _times(3.05), _times(1234.5)
    ('0.051', '3', '1,234')
    """
    return f"{ratio:.2g}" if ratio < 10 else f"{ratio:,.0f}"


def _published_times(data: str) -> str:
    """The quotient of the minutes in the paper's Table 1."""
    taken = {published.method: published.minutes for published in KB.get(data, ())}
    ours, chains = taken.get("NLIL, the paper"), taken.get("Neural-LP")
    return _times(chains / ours) if ours and chains else ""


def _with_options(name: str, key: str, words: int) -> str:
    """The settings that a key ends with, where the user gave some."""
    options = key.removesuffix(" quick").split(" ", words)[words:]
    return f"{name}, {options[0]}" if options else name


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / max(len(found), 1)
