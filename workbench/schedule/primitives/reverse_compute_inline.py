"""reverse_compute_inline: a consumer disappears into its producer."""

from __future__ import annotations

from collections.abc import Mapping

from ...analysis.bindings import binding_facts, writes_box
from ...analysis.regions import hull_in_domain
from ...analysis.tree import BlockSite
from ...arith import build
from ...arith.build import conjuncts
from ...arith.nodes import Call, PrimExpr, Var
from ...core import origin
from ...core.equal import same
from ...core.node import Node, post_order, rewrite, substitute
from ...tir import nodes as t
from ..blocks import require_intermediate, require_overwriting, require_regular, runs_wholly_after
from ..errors import refuse, require
from ..inlining import require_not_accessed, single_store, without_block
from ..kinds import require_still_independent
from ..legality import require_legal
from ..placing import run_ranges
from ..reading_digits import reading_map
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState


@primitive(category="inline")
def reverse_compute_inline(state: ScheduleState, block: BlockRV) -> Change[None]:
    """Compute a consumer's values where its input is made; the consumer and the buffer between are gone.

    before:  B[i, j] = A[i, j] * 2          after:   C[i, j] = A[i, j] * 2 + 1
             C[i, j] = B[i, j] + 1

    Where the consumer reads its input at mixed-radix digits of its iterators (``C[v] = B[v // 8, v % 8]``), it writes
    where these lead; where it reads a part of it only, or runs for one, the producer runs for that part.
    Raises `ScheduleError`: several producers or consumers, a producer that reduces, an element read several times.
    """
    site = state.block(block)
    require_regular(state, site, "inline", later=False)
    store = single_store(site, "inline")
    load = _only_load(state, site, store)
    producer = _producer(state, site, load.buffer)
    made_store = single_store(producer, "inline into")
    ranges = run_ranges(site)
    require(
        binding_facts(site).covers or bool(ranges),
        "E-SCHEDULE-PARTIAL",
        f"cannot inline {site.name}: it does not run through its domain",
        found="loops that may leave a part of it out",
        expected="a consumer that runs for all values of its iterators, or for a box of constant sizes",
        fix="inline the producer instead: compute_inline",
        nodes=(site.block,),
    )
    if _is_conditional(store, load.buffer):
        _require_made(state, site, load, producer)
    values, condition = _reader_of(site, load, producer, made_store, ranges)

    def post(node: Node) -> Node | None:
        return made_store.value if isinstance(node, t.BufferLoad) and node.buffer is load.buffer else None

    placed = substitute(store, values)
    body = t.BufferStore(store.buffer, rewrite(placed.value, post), placed.indices)
    origin.derived(body, store, made_store)
    bindings = {item.var: build.cast(item.var.dtype, value) for item, value in producer.bindings}
    asked = conjuncts(producer.realize.predicate)
    asked += [one for one in conjuncts(substitute(condition, bindings)) if not any(same(one, other) for other in asked)]
    made = producer.realize.replace(
        predicate=build.all_of(*asked),
        block=producer.block.replace(body=body),
    )
    func = without_block(state, site, {producer.name: made}, load.buffer)
    require_not_accessed(func, load.buffer)
    touched = [region.buffer for block in (site.block, producer.block) for region in (*block.reads, *block.writes)]
    require_still_independent(state, func, [buffer for buffer in touched if buffer is not load.buffer])
    return Change(func)


def _is_conditional(store: t.BufferStore, buffer: t.Buffer) -> bool:
    """Whether a value reads a buffer under a condition only."""
    return any(
        isinstance(node, Call) and node.op == "if_then_else" and any(load.buffer is buffer for load in _loads(node))
        for node in post_order(store.value)
    )


def _require_made(state: ScheduleState, site: BlockSite, load: t.BufferLoad, producer: BlockSite) -> None:
    """Refuse a consumer that has values for elements that are not made: the producer does not run there."""
    region = next(item for item in producer.block.writes if item.buffer is load.buffer)
    made = hull_in_domain(region, producer, producer.loops)
    inside = writes_box(producer, region, producer.loops)
    scope = site.forms
    for index, bound in zip(load.indices, made, strict=True):
        low, high = scope.ends(scope.linear(index), site.iterators)
        if bound is None or low is None or high is None:
            inside = False
        else:
            inside = inside and scope.at_most(bound.low, low) and scope.at_most(high, bound.high)
    require_legal(
        state,
        inside,
        "E-SCHEDULE-PARTIAL",
        f"cannot inline {site.name}: it has values where {load.buffer.name} is not shown to be made",
        found="a read under a condition, of more than the producer writes",
        expected="a producer of all elements that the indices lead to",
        fix="inline the producer instead: compute_inline",
        nodes=(site.block, producer.block),
    )


def _reader_of(
    site: BlockSite, load: t.BufferLoad, producer: BlockSite, store: t.BufferStore, ranges: Mapping[Var, t.Range]
) -> tuple[dict[Var, PrimExpr], PrimExpr]:
    """The iterators of the consumer that reads what the producer's iterators write, and whether there is one.

    `ranges`: what the consumer runs for, where that is not all of an iterator's domain.
    """
    extents = [item.dom.extent for item in site.block.iter_vars]
    reading = reading_map(site, load.indices)
    read, added = reading if reading is not None else (None, ())
    back = read.inverted(extents) if read is not None and read.is_injective(extents) else None
    if read is None or back is None:
        raise refuse(
            "E-SCHEDULE-INLINE-INDEX",
            f"cannot inline {site.name}: what reads an element of {load.buffer.name} is not told from its place",
            found="an element that several iterations read, or indices that are no digits of the iterators",
            expected="an access like B[vi, vj] or B[v // 8, v % 8], by iterators from 0 on",
            fix="move it with reverse_compute_at instead",
            nodes=(site.block,),
        )
    written = [build.subtract(index, still) for index, still in zip(store.indices, added, strict=True)]
    scope = producer.forms
    at = [scope.simplify(value) for value in back.map_indices(written)]
    domains = [ranges.get(item.var, item.dom) for item in site.block.iter_vars]
    conditions = [
        build.all_of(value >= domain.min, value < build.add(domain.min, domain.extent))
        for value, domain in zip(at, domains, strict=True)
    ]
    found = zip(read.map_indices(at), written, strict=True)
    conditions += [build.equal(index, where) for index, where in found]
    values = {item.var: build.cast(item.var.dtype, value) for item, value in zip(site.block.iter_vars, at, strict=True)}
    asked = [condition for condition in conditions if not scope.can_prove(condition)]
    return values, scope.simplify(build.all_of(*asked))


def _only_load(state: ScheduleState, site: BlockSite, store: t.BufferStore) -> t.BufferLoad:
    """The load, all at one place, of the one intermediate buffer that the block consumes alone."""
    own = {id(buffer) for buffer in state.tree.root.alloc_buffers}
    loads = [node for node in post_order(store.value) if isinstance(node, t.BufferLoad)]
    inner = [load for load in loads if id(load.buffer) in own and len(state.tree.readers(load.buffer)) == 1]
    latest = max(inner, key=lambda load: _written_last(state, load.buffer), default=None)
    candidates = [load for load in inner if latest is not None and load.buffer is latest.buffer]
    require(
        bool(candidates),
        "E-SCHEDULE-INLINE-INPUT",
        f"there is no producer to inline {site.name} into",
        found="no intermediate buffer that it alone reads",
        expected="one intermediate buffer with no other reader",
        fix="inline the producer instead: compute_inline",
        nodes=(site.block,),
    )
    first = candidates[0]
    require(
        all(same(load.indices, first.indices) for load in candidates)
        and not any(load.buffer is first.buffer for index in store.indices for load in _loads(index)),
        "E-SCHEDULE-INLINE-READS",
        f"{site.name} reads {first.buffer.name} at several places",
        found="loads that differ",
        expected="one element read for each element written",
        fix="inline the producer instead: compute_inline",
        nodes=(site.block,),
    )
    return first


def _written_last(state: ScheduleState, buffer: t.Buffer) -> int:
    return max((writer.order for writer in state.tree.writers(buffer)), default=0)


def _loads(expr: Node) -> list[t.BufferLoad]:
    return [node for node in post_order(expr) if isinstance(node, t.BufferLoad)]


def _producer(state: ScheduleState, site: BlockSite, buffer: t.Buffer) -> BlockSite:
    writers = state.tree.writers(buffer)
    if len(writers) != 1:
        raise refuse(
            "E-SCHEDULE-INLINE-INPUT",
            f"{buffer.name} has {len(writers)} writers",
            found=", ".join(writer.name for writer in writers),
            expected="one producer",
            fix="inline before decompose_reduction",
            nodes=(site.block,),
        )
    producer = writers[0]
    require_overwriting(state, producer, "inline into", once=True)
    require_intermediate(state, producer, "inline into")
    for region in site.block.reads:
        for writer in state.tree.writers(region.buffer):
            shared = any(loop is other for loop in producer.loops for other in writer.loops)
            before = writer.order < producer.order and not shared
            require_legal(
                state,
                writer is producer or before or runs_wholly_after(writer, site),
                "E-SCHEDULE-PRODUCER-LATE",
                f"{site.name} also reads {region.buffer.name}, which is not finished before {producer.name} runs",
                found=f"{writer.name} runs beside or after {producer.name}",
                expected="all other inputs finished before",
                fix="inline the producer instead: compute_inline",
                nodes=(site.block, writer.block),
            )
    for region in site.block.writes:
        for reader in state.tree.readers(region.buffer):
            require_legal(
                state,
                reader.order > site.order,
                "E-SCHEDULE-READ-BEFORE",
                f"{reader.name} reads {region.buffer.name} before {site.name} writes it",
                found="a read of older values",
                expected="readers after the block",
                fix="leave the block where it is",
                nodes=(reader.block, site.block),
            )
    return producer
