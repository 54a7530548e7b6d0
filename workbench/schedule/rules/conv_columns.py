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
from .loops import vectors as in_vectors
from .shapes import Machine, extent, iterations, site_of
from .tiles import accumulate, in_step, loops_of_pictures, output_of

TAPS = 3
"""Taps of a row that are written out, at most."""


def columns(schedule: Schedule, anchor: str, machine: Machine, channels: int, vectors: int, lanes: int) -> None:
    """Schedule conv2d over [n, o, y, x]: tiles of `channels` times `vectors` of `lanes` columns.

    Raises `ScheduleError` for other outputs.
    """
    output = output_of(schedule, anchor, keep=("data_pad",))
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
        if other.name == "data_pack":
            _rows_in_phases(schedule, lanes)
        elif other.name not in (anchor, output.target, f"{anchor}_init", "data_pad"):
            block_by_itself(schedule, other.name, machine)
    if any(other.name == "data_pad" for other in schedule.state.tree.leaves):
        block_by_itself(schedule, "data_pad", machine)


def _rows_in_phases(schedule: Schedule, lanes: int) -> None:
    """Columns that lie a stride apart, one row after the other: what is padded of a row stays near."""
    pack = schedule.get_block("data_pack")
    batch, channel, row, _, column = schedule.get_loops(pack)
    around = schedule.fuse(batch, channel, row)
    if iterations(site_of(schedule, "data_pack")) >= 65536:
        schedule.parallel(around)
    in_vectors(schedule, column, lanes)
    if any(other.name == "data_pad" for other in schedule.state.tree.leaves):
        pad = schedule.get_block("data_pad")
        schedule.compute_at(pad, around, preserve_unit_loops=True)
        in_vectors(schedule, schedule.get_loops(pad)[-1], lanes)
