"""One GPU program per query: the `TOP` strongest firings of every candidate, kept in sorted slots.

Needs Triton, which comes with every CUDA build of torch for Linux; imported only where a GPU is used.
A firing list names each candidate once, so lanes never meet; lists follow one another with a barrier.
"""

import triton
import triton.language as tl


@triton.jit
def _insert(slots, candidate, evidence, mask, TOP: tl.constexpr):
    """Slots of a candidate are sorted, largest first; a new value sinks to its place and the last falls out."""
    place = slots + candidate.to(tl.int64) * TOP
    last = tl.load(place + TOP - 1, mask=mask, other=0)
    better = mask & (evidence > last)
    value = tl.zeros_like(last) + evidence
    for i in tl.static_range(TOP):
        held = tl.load(place + i, mask=better, other=0)
        tl.store(place + i, tl.maximum(held, value), mask=better)
        value = tl.minimum(held, value)


@triton.jit
def fire(
    chain_pointer, chain_begin, chain_end, chain_evidence, ends,
    back_begin, back_end, back_body, back_evidence, item_pointer, item_member,
    forward_pointer, forward_begin, forward_end, candidate, candidate_evidence,
    slots, num_entities, TOP: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    query = tl.program_id(0)
    mine = slots + query.to(tl.int64) * num_entities * TOP
    lane = tl.arange(0, BLOCK)
    for i in range(tl.load(chain_pointer + query), tl.load(chain_pointer + query + 1)):
        begin, end = tl.load(chain_begin + i), tl.load(chain_end + i)
        evidence = tl.load(chain_evidence + i)
        for m in range(begin, end, BLOCK):
            mask = m + lane < end
            _insert(mine, tl.load(ends + m + lane, mask=mask, other=0), evidence, mask, TOP)
        tl.debug_barrier()
    for i in range(tl.load(back_begin + query), tl.load(back_end + query)):
        body = tl.load(back_body + i)
        evidence = tl.load(back_evidence + i)
        end = tl.load(item_pointer + body + 1)
        for m in range(tl.load(item_pointer + body), end, BLOCK):
            mask = m + lane < end
            _insert(mine, tl.load(item_member + m + lane, mask=mask, other=0), evidence, mask, TOP)
        tl.debug_barrier()
    for i in range(tl.load(forward_pointer + query), tl.load(forward_pointer + query + 1)):
        begin, end = tl.load(forward_begin + i), tl.load(forward_end + i)
        for m in range(begin, end, BLOCK):
            mask = m + lane < end
            evidence = tl.load(candidate_evidence + m + lane, mask=mask, other=0)
            _insert(mine, tl.load(candidate + m + lane, mask=mask, other=0), evidence, mask, TOP)
        tl.debug_barrier()
