"""reverse_compute_inline: a consumer disappears into its producer."""

from __future__ import annotations

from ...analysis.affine import Affine, Ranges
from ...analysis.bindings import binding_facts
from ...analysis.tree import BlockSite
from ...arith import build
from ...arith.nodes import Var
from ...core import origin
from ...core.equal import same
from ...core.node import Node, post_order, rewrite, substitute
from ...tir import nodes as t
from ..blocks import require_intermediate, require_regular, runs_wholly_after
from ..errors import refuse, require
from ..inlining import plain_variables, require_not_accessed, single_store, without_block
from ..kinds import require_still_independent
from ..legality import require_legal
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState


@primitive(category="inline")
def reverse_compute_inline(state: ScheduleState, block: BlockRV) -> Change[None]:
    """Compute a consumer's values where its input is made; the consumer and the buffer between are gone.

    before:  B[i, j] = A[i, j] * 2          after:   C[i, j] = A[i, j] * 2 + 1
             C[i, j] = B[i, j] + 1

    Raises `ScheduleError`: several producers or consumers, a producer that reduces, indices that are not plain.
    """
    site = state.block(block)
    require_regular(state, site, "inline", later=False)
    store = single_store(site, "inline")
    load = _only_load(state, site, store)
    producer = _producer(state, site, load.buffer)
    made_store = single_store(producer, "inline into")
    axes = plain_variables(site, load.indices, "inline")
    for item in site.block.iter_vars:
        axis = axes.get(id(item.var))
        whole = axis is None or Affine.of(item.dom.extent, Ranges()).same_as(
            Affine.of(load.buffer.shape[axis], Ranges())
        )
        require(
            whole and Affine.of(item.dom.min, Ranges()).value == 0 and binding_facts(site).covers,
            "E-SCHEDULE-PARTIAL",
            f"cannot inline {site.name}: it does not run through all of {load.buffer.name}",
            found="a domain smaller than the buffer",
            expected="a consumer of every element",
            fix="inline the producer instead: compute_inline",
            nodes=(site.block,),
        )
    for axis, extent in enumerate(load.buffer.shape):
        require(
            axis in axes.values() or Affine.of(extent, Ranges()).value == 1,
            "E-SCHEDULE-PARTIAL",
            f"cannot inline {site.name}: it does not run through all of {load.buffer.name}",
            found=f"one index along axis {axis}",
            expected="a consumer of every element",
            fix="inline the producer instead: compute_inline",
            nodes=(site.block,),
        )
    values = {
        item.var: build.cast(
            item.var.dtype, made_store.indices[axes[id(item.var)]] if id(item.var) in axes else item.dom.min
        )
        for item in site.block.iter_vars
    }

    def post(node: Node) -> Node | None:
        return made_store.value if isinstance(node, t.BufferLoad) and node.buffer is load.buffer else None

    placed = substitute(store, values)
    body = t.BufferStore(store.buffer, rewrite(placed.value, post), placed.indices)
    origin.derived(body, store, made_store)
    changed = {producer.name: producer.realize.replace(block=producer.block.replace(body=body))}
    func = without_block(state, site, changed, load.buffer)
    require_not_accessed(func, load.buffer)
    touched = [region.buffer for block in (site.block, producer.block) for region in (*block.reads, *block.writes)]
    require_still_independent(state, func, [buffer for buffer in touched if buffer is not load.buffer])
    return Change(func)


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
    require(
        all(isinstance(index, Var) or Affine.of(index, Ranges()).value is not None for index in first.indices),
        "E-SCHEDULE-INLINE-INDEX",
        f"cannot inline {site.name}: its indices are not its iterators, each once",
        found="an index that is an expression",
        expected="an access like B[vi, vj]",
        fix="move it with reverse_compute_at instead",
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
    require_regular(state, producer, "inline into", later=False)
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
