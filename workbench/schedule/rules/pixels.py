"""Convolutions of one tap over pictures NCHW: vectors of pixels, a register tile of output channels times pixels.

for n, panel in parallel:
    data_pack[c, pixels] = data[c, panel]          a panel, read by all output channels
    for o:
        conv_local[channels, pixels] = 0
        for rc: conv_local[o, :] += data_pack[rc, :] * weight[rc, o]
        output[o, panel] = epilogue(conv_local)

Pixels lie side by side, so that panels are copied and results stored by whole vectors; a panel of its own is read in
order, where the pixels of one channel after the other are a picture apart.
"""

from __future__ import annotations

from ...arith.scope import variables_in
from ..errors import require
from ..references import BlockRV
from ..schedule import Schedule
from .generic import block_by_itself
from .shapes import Machine, iterations, site_of
from .tiles import accumulate, loops_of_pictures, output_of


def panels(
    schedule: Schedule, anchor: str, machine: Machine, rows: int, width: int, together: int, dot: str = ""
) -> None:
    """Schedule a convolution over [n, o/lanes, lanes, pixels]: tiles of `rows` channels times `width` pixels.

    `together`: blocks of channels that one copy of a panel serves.  `dot`: the tensor intrinsic that computes a vector
    of pixels times the last reduction iterator.  Raises `ScheduleError` for other outputs.
    """
    output = output_of(schedule, anchor)
    site = site_of(schedule, anchor)
    sizes, (batch, channel, row, column) = loops_of_pictures(schedule, anchor, output)
    require_rows_of_pixels(schedule, anchor, output)
    block = sizes[2]
    panel, inside = schedule.split(schedule.fuse(row, column), factors=[None, width])
    if sizes[1] == 1:  # without loops of one iteration, which say less of where its sums are
        chunks, blocks = [], []
        part, channel_inner = schedule.split(channel, factors=[None, rows])
    else:
        *around, part, channel_inner = schedule.split(channel, factors=[None, together, block // rows, rows])
        chunks, blocks = around[:1], around[1:]
    schedule.reorder(batch, *chunks, panel, *blocks, part, channel_inner, inside)
    outer = schedule.fuse(batch, *chunks, panel)
    if iterations(site) >= 65536:
        schedule.parallel(outer)
    accumulate(schedule, schedule.get_block(anchor), part, 3, dot=dot, lanes=machine.lanes if dot else 0)
    schedule.vectorize(inside)
    pack = schedule.get_block("data_pack")
    schedule.compute_at(pack, outer, preserve_unit_loops=True)
    schedule.vectorize(schedule.get_loops(pack)[-1])
    for other in tuple(schedule.state.tree.leaves):
        if other.name not in (anchor, output.target, f"{anchor}_init", "data_pack"):
            block_by_itself(schedule, other.name, machine)


def require_rows_of_pixels(schedule: Schedule, anchor: str, output: BlockRV) -> None:
    """Refuse an output that turns channels and pixels about: its vectors would lie across the sums'."""
    block, sums = site_of(schedule, output.target).block, site_of(schedule, anchor).block.writes[0].buffer
    places = [region.region for region in block.reads if region.buffer is sums]
    channel, *pixel = (id(item.var) for item in block.iter_vars[1:])
    along = all(
        {id(var) for axis in place[1:3] for var in variables_in(axis.min)} <= {channel}
        and {id(var) for var in variables_in(place[3].min)} <= {*pixel}
        for place in places
    )
    require(
        along, "E-RULE-SHAPE", f"{output.target} reads {anchor} across pixels and channels",
        found="another order of axes", expected="the layout NCHW", fix="schedule block by block",
    )  # fmt: skip
