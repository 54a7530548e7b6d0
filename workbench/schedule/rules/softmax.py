"""Softmax along the last axis: everything of a row inside one parallel loop over rows."""

from __future__ import annotations

from ..errors import require
from ..schedule import Schedule
from .generic import inline_elementwise
from .lanes import in_lanes
from .loops import parallel, several_vectors, vectors
from .shapes import Machine, contiguous_axes, is_reduction, iterations, site_of


def rows(schedule: Schedule, anchor: str, machine: Machine) -> None:
    """Move the maximum, the exponentials and the sum of a row into the row's loop; rows lie along the last axis."""
    last = schedule.state.tree.leaves[-1].name
    if last != anchor:
        inline_elementwise(
            schedule, keep=frozenset(site.name for site in schedule.state.tree.leaves if site.name != anchor)
        )
        last = schedule.state.tree.leaves[-1].name
    site = site_of(schedule, last)
    output = schedule.get_block(last)
    loops = schedule.get_loops(output)
    require(
        len(loops) >= 2 and contiguous_axes(site) >= 1,
        "E-RULE-SHAPE",
        f"rows of {last} are not side by side in memory",
        found=f"{len(loops)} loops",
        expected="a row along the last of several axes",
        fix="schedule block by block",
    )
    row = parallel(schedule, loops[:-1], iterations(site) * 8)
    assert row is not None
    for other in reversed(schedule.state.tree.leaves[:-1]):
        block = schedule.get_block(other.name)
        schedule.compute_at(block, row)
    lanes = machine.lanes_for(site.block.writes[0].buffer)
    for other in tuple(schedule.state.tree.leaves):
        if is_reduction(other):
            in_lanes(schedule, other.name, machine)
        else:
            inner = schedule.get_loops(schedule.get_block(other.name))
            if len(inner) > 1:
                vectors(schedule, inner[-1], several_vectors(schedule, inner[-1], lanes, machine))
