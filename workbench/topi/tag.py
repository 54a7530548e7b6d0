"""Classic `topi.tag`: what kind of computation a te stage is, told to schedules by `te.compute(..., tag=...)`."""

ELEMWISE = "elemwise"
BROADCAST = "broadcast"
INJECTIVE = "injective"
COMM_REDUCE = "comm_reduce"
COMM_REDUCE_IDX = "comm_reduce_idx"

_BROADCAST = (ELEMWISE, BROADCAST)


def is_broadcast(tag: str) -> bool:
    """True for elementwise and broadcast computations."""
    return tag.startswith(_BROADCAST)


def is_injective(tag: str) -> bool:
    """True for those, and for what only moves elements."""
    return tag.startswith((*_BROADCAST, INJECTIVE))
