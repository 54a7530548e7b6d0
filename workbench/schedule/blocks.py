"""What several primitives ask of blocks: their buffers, their regularity, their neighbours."""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.bindings import guards_only, writes_once
from ..analysis.coverage import runs_everywhere, wanders
from ..analysis.reduction_loops import adds_once, initialises_first, reduce_variables, runs_once
from ..analysis.tree import BlockSite, extent_of
from ..arith import nodes as a
from ..arith.scope import variables_in
from ..core.errors import nearest
from ..core.node import pre_order
from ..tir import nodes as t
from .errors import refuse, require
from .legality import blocks_under, require_legal
from .recurrence import meets_later_writer, over_time, write_apart
from .reductions import reduction_operator
from .references import BlockRV
from .state import ScheduleState


def written_buffer(state: ScheduleState, block: BlockRV, index: int | str) -> t.Buffer:
    """The buffer of a block's write number `index`, or of that name."""
    return _buffer(state.block(block), state.block(block).block.writes, index, "writes")


def read_buffer(state: ScheduleState, block: BlockRV, index: int | str) -> t.Buffer:
    """The buffer of a block's read number `index`, or of that name."""
    return _buffer(state.block(block), state.block(block).block.reads, index, "reads")


def chosen_buffer(state: ScheduleState, site: BlockSite, choice: tuple[str, int] | str) -> t.Buffer:
    """The buffer that a `BufferChoice` means at a block."""
    read, written = distinct_buffers(site.block.reads), distinct_buffers(site.block.writes)
    touched = distinct_buffers((*site.block.writes, *site.block.reads))
    if isinstance(choice, str):
        return _named(site, touched, "touches", choice, 'name it by place: ("write", 0)')
    kind, index = choice
    own = [buffer for buffer in touched if any(buffer is item for item in state.tree.root.alloc_buffers)]
    pools = {"read": (read, "reads"), "write": (written, "writes"), "own": (own, "touches, of the function's own,")}
    return _numbered(site, *pools[kind], index)


def require_not_addressed(state: ScheduleState, buffer: t.Buffer) -> None:
    """Refuse a buffer whose elements' addresses are taken: who reads it through them cannot be told."""
    for node in pre_order(state.func.body):
        if isinstance(node, a.Call) and node.op == "address_of":
            item = node.args[0]
            require(
                not (isinstance(item, t.BufferLoad) and item.buffer is buffer),
                "E-SCHEDULE-ADDRESSED",
                f"the address of {buffer.name} is handed out, so who reads it cannot be told",
                found="T.address_of an element",
                expected="loads and stores only",
                fix="leave the buffer as it is",
                nodes=(node,),
            )


def _buffer(site: BlockSite, regions: tuple[t.BufferRegion, ...], index: int | str, verb: str) -> t.Buffer:
    if isinstance(index, str):
        return _named(site, distinct_buffers(regions), verb, index, "name it by its number, from 0 on")
    return _numbered(site, distinct_buffers(regions), verb, index)


def _named(site: BlockSite, pool: list[t.Buffer], verb: str, name: str, fix: str) -> t.Buffer:
    """The one buffer of a name among those that a block reads, writes or touches."""
    named = [buffer for buffer in pool if buffer.name == name]
    require(
        len(named) == 1,
        "E-SCHEDULE-BUFFER",
        f"block {site.name} {verb} {len(named) or 'no'} buffer{'s' * (len(named) > 1)} named {name!r}",
        found=f"it {verb} {', '.join(buffer.name for buffer in pool) or 'nothing'}",
        expected=f"the name of one buffer that it {verb}",
        fix=nearest(name, [buffer.name for buffer in pool]) or fix,
        nodes=(site.block,),
    )
    return named[0]


def distinct_buffers(regions: tuple[t.BufferRegion, ...]) -> list[t.Buffer]:
    """The buffers of regions, in order, each once."""
    found: list[t.Buffer] = []
    for region in regions:
        if all(region.buffer is not other for other in found):
            found.append(region.buffer)
    return found


def _numbered(site: BlockSite, distinct: list[t.Buffer], verb: str, index: int) -> t.Buffer:
    require(
        0 <= index < len(distinct),
        "E-SCHEDULE-BUFFER",
        f"block {site.name} {verb} no buffer number {index}",
        found=f"it {verb} {', '.join(buffer.name for buffer in distinct) or 'nothing'}",
        expected=f"0 to {len(distinct) - 1}" if distinct else "a block with buffers",
        fix="count from 0, in the order of the text",
        nodes=(site.block,),
    )
    return distinct[index]


def require_leaf(state: ScheduleState, site: BlockSite, verb: str, *, around: bool = False) -> None:
    """Refuse the root, and blocks inside other blocks; those around other blocks, too, unless `around` allows them."""
    inside = [] if around else state.tree.inside(site)
    why = "it is the root" if site.scope is None else f"{inside[0].name} stands inside it" if inside else ""
    if not why and site.scope is not None and site.scope is not state.tree.root:
        why = f"it stands inside {site.scope.name}"
    others = [one.name for one in state.tree.leaves if one is not site and (around or not state.tree.inside(one))]
    require(
        not why,
        "E-SCHEDULE-LEAF",
        f"cannot {verb} {site.name}: {why}",
        found="the root, or nested blocks",
        expected="a block that stands in loops under the root and computes",
        fix=f"choose one of {', '.join(others or [one.name for one in inside] or ['its loops'])}",
        nodes=(site.block,),
    )


def require_regular(state: ScheduleState, site: BlockSite, verb: str, *, later: bool = True) -> None:
    """Refuse a block unless each element it writes has one value that does not depend on when it is computed.

    It must be the only writer of its buffers, write each element at one point of its spatial iterators, read nothing
    of its own (its reduction apart), and nothing that is written after it or that it shares with other writers.

    Without `later`, the caller looks after what is written later: a block that stays where it is does not care.
    """
    require_leaf(state, site, verb)
    for why in (*_own_irregularities(state, site), *_shared(state, site), *_read_too_early(state, site, later)):
        _irregular(state, site, verb, why)
    blocks_under(state, site.realize)
    if not _single_valued(state, site):
        _irregular(
            state, site, verb, "it reads a buffer whose elements are written more than once with different values"
        )


def require_written_apart(state: ScheduleState, site: BlockSite, verb: str) -> None:
    """`require_regular`, of a block whose buffer may have writers of other elements: it stays where it is."""
    require_any_order(state, site, verb)
    for region in site.block.writes:
        writers = state.tree.writers(region.buffer)
        if len(writers) != 1 and not write_apart(writers, region.buffer):
            _irregular(state, site, verb, f"{region.buffer.name} has other writers too")
    if not _single_valued(state, site):
        _irregular(
            state, site, verb, "it reads a buffer whose elements are written more than once with different values"
        )


def require_any_order(state: ScheduleState, site: BlockSite, verb: str) -> None:
    """Refuse a block unless its instances may run in any order, for a block that stays alone in its loops."""
    require_leaf(state, site, verb)
    for why in _own_irregularities(state, site):
        _irregular(state, site, verb, why)
    blocks_under(state, site.realize)


def require_overwriting(state: ScheduleState, site: BlockSite, verb: str, *, once: bool) -> None:
    """Refuse a block whose results depend on what its buffers held before, for one that stays where it is and runs as
    it does, but leaves them elsewhere.  With `once`, no two of its spatial iterations may write the same element."""
    require_leaf(state, site, verb)
    whys = [*_own_reads(state, site)]
    if site.block.init is not None and not initialises_first(site):
        whys.append("its reduction does not begin where its initialisation runs")
    if once and not writes_once(site.block, site.held):
        whys.append("its writes are not single elements, one for each point of its spatial iterators")
    for why in whys:
        _irregular(state, site, verb, why)
    blocks_under(state, site.realize)


def _own_irregularities(state: ScheduleState, site: BlockSite) -> Iterator[str]:
    """What makes a block's values depend on the order of its iterations."""
    block = site.block
    kinds = {iter_var.kind for iter_var in block.iter_vars}
    if not kinds <= {t.IterKind.SPATIAL, t.IterKind.REDUCE}:
        yield "it has opaque or scan iterators"
    if t.IterKind.REDUCE in kinds and block.init is None:
        yield "it reduces without an initialisation of its own"
    if not _reduces_in_order(site):
        yield "its reduction must keep its order, which its iterators do not stand in"
    if block.init is not None and not initialises_first(site):
        yield "its reduction does not begin where its initialisation runs"
    if block.init is not None and not adds_once(site):
        yield "it may add a value several times"
    if not writes_once(block, site.held):
        yield "its writes are not single elements, one for each point of its spatial iterators"
    yield from (f"it uses the loop {loop.var.name} itself, beside its iterators" for loop in site.used_loops)
    yield from _own_reads(state, site)


def _shared(state: ScheduleState, site: BlockSite) -> Iterator[str]:
    """What others have to do with what a block writes."""
    for region in site.block.writes:
        if len(state.tree.writers(region.buffer)) != 1:
            yield f"{region.buffer.name} has other writers too"


def _own_reads(state: ScheduleState, site: BlockSite) -> Iterator[str]:
    """What a block, or something that is not known, has to do with what it writes."""
    written = [region.buffer for region in site.block.writes]
    if any(region.buffer is buffer for region in site.reads for buffer in written):
        yield "it reads what it writes"
    for region in (*site.reads, *site.block.writes):
        if id(region.buffer) in state.tree.loose:
            yield f"{region.buffer.name} is touched outside blocks"


def runs_wholly_after(writer: BlockSite, site: BlockSite) -> bool:
    """Whether a block begins when all iterations of another are over."""
    return writer.order > site.order and not any(loop is other for loop in site.loops for other in writer.loops)


def _read_too_early(state: ScheduleState, site: BlockSite, later: bool) -> Iterator[str]:
    for region in site.block.writes:
        for reader in state.tree.readers(region.buffer):
            if _is_unfinished(site, reader):
                yield f"{reader.name} reads it before it is finished"
    for region in site.reads:
        for writer in state.tree.writers(region.buffer):
            if later and writer.order > site.order and meets_later_writer(site, region, writer):
                yield f"it reads {region.buffer.name}, which {writer.name} writes later"


def _reduces_in_order(site: BlockSite) -> bool:
    """Whether loops made of the reduction iterators, in their order, would run as the loops around do, or may not."""
    if reduction_operator(site.block) is not None:
        return True
    places = {id(loop.var): number for number, loop in enumerate(site.loops) if extent_of(loop) != 1}
    found: list[int] = []
    for item, value in site.bindings:
        if item.kind is t.IterKind.REDUCE:
            found.extend(sorted(places[id(var)] for var in variables_in(value) if id(var) in places))
    return found == sorted(found)


def _single_valued(state: ScheduleState, site: BlockSite, above: frozenset[str] = frozenset()) -> bool:
    """True if each buffer read is written by one regular block at most, or by a reduction and its initialisation; and
    finished when it is read.  What is written several times is so with one value: its writer reads such buffers only.

    `above`: the blocks that this was asked for.
    """
    above |= {site.name}
    for region in site.reads:
        writers = state.tree.writers(region.buffer)
        if len(writers) > 1 and not is_decomposed(writers) and not write_apart(writers, region.buffer):
            return False
        if not all(writes_once(over_time(writer.block), writer.held) for writer in writers):
            return False
        if any(_is_unfinished(writer, site) for writer in writers):
            return False
        again = [writer for writer in writers if writer.name not in above and not runs_once(writer)]
        if not all(_single_valued(state, writer, above) for writer in again):
            return False
    return True


def _is_unfinished(writer: BlockSite, reader: BlockSite) -> bool:
    """Whether a reader stands in a loop of the writer's reduction: it sees what has been added so far."""
    around = {id(loop.var) for loop in reader.loops}
    return writer.name != reader.name and not around.isdisjoint(reduce_variables(writer))


def is_decomposed(writers: tuple[BlockSite, ...]) -> bool:
    """True for the initialisation and the update that decompose_reduction makes of one reduction."""
    if len(writers) != 2 or writers[0].order > writers[1].order:
        return False
    return reduction_operator(writers[1].block) is not None and not writers[0].block.reads


def _irregular(state: ScheduleState, site: BlockSite, verb: str, why: str) -> None:
    require_legal(
        state,
        False,
        "E-SCHEDULE-IRREGULAR",
        f"cannot {verb} {site.name}: its values depend on when they are computed",
        found=why,
        expected="the only writer of its buffers, each element written at one point",
        fix="choose a block as te.compute makes them",
        nodes=(site.block,),
    )


def require_intermediate(state: ScheduleState, site: BlockSite, verb: str) -> None:
    """Refuse a block that writes a parameter of the function, or a buffer that the block around it shares."""
    for region in site.block.writes:
        name = region.buffer.name
        if any(region.buffer is buffer for buffer in state.tree.root.alloc_buffers):
            continue
        found, expected = "a parameter of the function", "a buffer that the function allocates"
        fix = f"cache_write({site.name!r}, 0, ...) gives the block a buffer of its own"
        if is_shared(state, region.buffer):
            found = f"{name} is used elsewhere too, or read where {site.name} writes nothing"
            expected = "a buffer that the block around it has to itself"
            fix = f"allocate {name} in the block around {site.name}"
        raise refuse(
            "E-SCHEDULE-OUTPUT", f"cannot {verb} {site.name}: it writes {name}, {leaving(state, region.buffer)}",
            found=found, expected=expected, fix=fix, nodes=(site.block,),
        )  # fmt: skip


def is_shared(state: ScheduleState, buffer: t.Buffer) -> bool:
    """Whether a parameter of a block's body, where that is scheduled by itself, is none of the whole function's."""
    return state.full is not None and id(buffer) not in state.full


def leaving(state: ScheduleState, buffer: t.Buffer) -> str:
    """Of a buffer whose values are needed later, in words: why that is so."""
    shared = is_shared(state, buffer)
    return "which the block around it does not have to itself" if shared else "an output of the function"


def require_whole_domain(state: ScheduleState, site: BlockSite, verb: str) -> None:
    """Refuse a block whose loops do not run through all of its iterators' domains."""
    require(
        not wanders(site),
        "E-SCHEDULE-PARTIAL",
        f"cannot {verb} {site.name}: its domain moves with loops around it, and its predicate leaves some of these out",
        found="a domain that does not say how far its loops may go",
        expected="a domain that stands still, such as a whole axis of what is written",
        fix="write the block's iterators over whole axes",
        nodes=(site.block,),
    )
    guarded = guards_only(site)
    what = "it may leave" if guarded else "its predicate leaves"
    require_legal(
        state,
        runs_everywhere(site),
        "E-SCHEDULE-PARTIAL",
        f"cannot {verb} {site.name}: {what} out part of its domain",
        found="loops not shown to run through the domains of its iterators"
        if guarded
        else "a condition beyond the domains of its iterators",
        expected="a block that runs through its domain",
        fix="choose another block",
        nodes=(site.block,),
    )
