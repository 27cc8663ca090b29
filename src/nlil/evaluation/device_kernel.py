"""One GPU program per query: the `TOP` strongest firings of each kind for every candidate, kept in sorted slots.

Needs Triton, which comes with every CUDA build of torch for Linux; imported only where a GPU is used.
A firing list has each candidate once, so lanes never conflict; there is a barrier between lists. All rules of a list
are of one kind; if there is only one kind (KINDS = 1), kinds are not read.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs
# (Triton reads the annotations of a kernel, so only compile-time constants have one.)

import triton
import triton.language as tl


@triton.jit
def _insert(slots, candidate, evidence, mask, TOP: tl.constexpr):
    """Insert a value into the slots of a candidate, which are sorted, largest first; the last value is dropped."""
    place = slots + candidate.to(tl.int64) * TOP
    last = tl.load(place + TOP - 1, mask=mask, other=0)
    better = mask & (evidence > last)
    value = tl.zeros_like(last) + evidence
    for i in tl.static_range(TOP):
        held = tl.load(place + i, mask=better, other=0)
        tl.store(place + i, tl.maximum(held, value), mask=better)
        value = tl.minimum(held, value)


@triton.jit
def _of_kind(slots, kinds, i, num_entities, TOP: tl.constexpr, KINDS: tl.constexpr):
    """Return the slots of a query for the kind of list i."""
    if KINDS > 1:
        slots += tl.load(kinds + i).to(tl.int64) * num_entities * TOP
    return slots


@triton.jit
def fire(
    chain_pointer, chain_begin, chain_end, chain_evidence, chain_kind, ends,
    back_begin, back_end, back_body, back_evidence, back_kind, item_pointer, item_member,
    forward_pointer, forward_begin, forward_end, forward_kind, candidate, candidate_evidence,
    slots, num_entities, TOP: tl.constexpr, KINDS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Fill slots[query, kind, candidate, place]: from zeros to the evidence of the strongest rules, largest first.

    Each pointer is indexed by query and points to lists of firings; a list begin .. end has one evidence and one kind.

    Args:
        chain_pointer: into the lists of chains: chain_begin, chain_end, chain_evidence, chain_kind.
        ends: the candidates of chains.
        back_begin: by query, the first rule whose head has the known entity; the last is before back_end.
        back_body: the items of these rules, with back_evidence and back_kind.
        item_pointer: by item, into item_member: the candidates in it.
        forward_pointer: into the lists of proposals: forward_begin, forward_end, forward_kind.
        candidate: the candidate of each proposal, with candidate_evidence.
        slots: the output, initially zeros.
        num_entities: the number of candidates of each query.
        TOP: the number of rules that count per candidate and kind.
        KINDS: the number of kinds.
        BLOCK: the number of lanes of a program.
    """
    query = tl.program_id(0)
    slots_of_query = slots + query.to(tl.int64) * num_entities * (KINDS * TOP)
    lane = tl.arange(0, BLOCK)
    for i in range(tl.load(chain_pointer + query), tl.load(chain_pointer + query + 1)):
        begin, end = tl.load(chain_begin + i), tl.load(chain_end + i)
        evidence = tl.load(chain_evidence + i)
        here = _of_kind(slots_of_query, chain_kind, i, num_entities, TOP, KINDS)
        for m in range(begin, end, BLOCK):
            mask = m + lane < end
            _insert(here, tl.load(ends + m + lane, mask=mask, other=0), evidence, mask, TOP)
        tl.debug_barrier()
    for i in range(tl.load(back_begin + query), tl.load(back_end + query)):
        body = tl.load(back_body + i)
        evidence = tl.load(back_evidence + i)
        end = tl.load(item_pointer + body + 1)
        here = _of_kind(slots_of_query, back_kind, i, num_entities, TOP, KINDS)
        for m in range(tl.load(item_pointer + body), end, BLOCK):
            mask = m + lane < end
            _insert(here, tl.load(item_member + m + lane, mask=mask, other=0), evidence, mask, TOP)
        tl.debug_barrier()
    for i in range(tl.load(forward_pointer + query), tl.load(forward_pointer + query + 1)):
        begin, end = tl.load(forward_begin + i), tl.load(forward_end + i)
        here = _of_kind(slots_of_query, forward_kind, i, num_entities, TOP, KINDS)
        for m in range(begin, end, BLOCK):
            mask = m + lane < end
            evidence = tl.load(candidate_evidence + m + lane, mask=mask, other=0)
            _insert(here, tl.load(candidate + m + lane, mask=mask, other=0), evidence, mask, TOP)
        tl.debug_barrier()
