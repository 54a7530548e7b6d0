"""Convolutions over pictures NCHW with vectors along their rows: a register tile of output channels times columns.

for n, ob, y in parallel:
    for xo:
        conv_local[channels, columns] = 0
        for rc, rh, rw: conv_local[o, :] += data_pad[rc, y + rh, x + rw] * weight[o, rc, rh, rw]
        output[...] = epilogue(conv_local)

Results are stored as they lie, by whole vectors.
"""

from __future__ import annotations

from ..errors import require
from ..schedule import Schedule
from .generic import block_by_itself
from .shapes import Machine, extent, iterations, site_of
from .tiles import accumulate, in_step, loops_of_pictures, output_of

TAPS = 3
"""Taps of a row that are written out, at most."""


def columns(schedule: Schedule, anchor: str, machine: Machine, channels: int, vectors: int, lanes: int) -> None:
    """Schedule conv2d over [n, o, y, x]: tiles of `channels` times `vectors` of `lanes` columns.

    Raises `ScheduleError` for other outputs.
    """
    output = output_of(schedule, anchor)
    site = site_of(schedule, anchor)
    _, (batch, channel, row, column) = loops_of_pictures(schedule, anchor, output)
    require(
        in_step(schedule, anchor, output, 4), "E-RULE-SHAPE", f"{output.target} reads {anchor} in another order",
        found="another order of axes", expected="the layout NCHW", fix="schedule block by block",
    )  # fmt: skip
    channel_outer, channel_inner = schedule.split(channel, factors=[None, channels])
    column_outer, vector, lane = schedule.split(column, factors=[None, vectors, lanes])
    schedule.reorder(batch, channel_outer, row, column_outer, channel_inner, vector, lane)
    outer = schedule.fuse(batch, channel_outer, row)
    if iterations(site) >= 65536:
        schedule.parallel(outer)
    last = extent(site.block.iter_vars[-1]) or 1
    accumulate(schedule, schedule.get_block(anchor), column_outer, 3, reduce_unroll=min(last, TAPS), lanes=lanes)
    schedule.unroll(vector)
    schedule.vectorize(lane)
    for other in tuple(schedule.state.tree.leaves):
        if other.name not in (anchor, output.target, f"{anchor}_init"):
            block_by_itself(schedule, other.name, machine)
