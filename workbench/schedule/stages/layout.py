"""`Stage.transform_layout`: the result under other indices, and the loops in their order.

    s[C].transform_layout(lambda i, j: (i // 4, j, i % 4))        # loops i.outer .. of C are gone, three new ones there

Where the map leaves no gaps the loops over data become loops over the new indices; else only the storage changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...core.errors import WorkbenchError
from ...te.nodes import ComputeOp
from ...tir.index_map import IndexMap
from ...tir.nodes import IterKind
from .calls import Call, refused
from .relations import StageRecord, Transform, derived, names


def transformed(record: StageRecord, mapping: Callable[..., Any], call: Call) -> StageRecord:
    """The record of a stage whose data axes are mapped.

    Raises `StageError` for a stage whose loops over data were changed before, and for what is no index map.
    """
    data = tuple(axis for axis in record.roots if axis.kind is not IterKind.REDUCE)
    leaves = {id(leaf) for leaf in record.leaves}
    before = next((item.call for item in record.relations if isinstance(item, Transform)), None)
    changed = next(
        (item.call for item in record.relations if any(part is axis for part in item.inputs for axis in data)), before
    )
    if not isinstance(record.op, ComputeOp) or changed is not None or any(id(axis) not in leaves for axis in data):
        raise refused(
            call, "E-STAGE-SCHEDULED", f"the loops over data of {record.op.name} were changed before",
            found=changed.where if changed is not None else "a stage that is not computed element by element",
            expected=f"the loops {names(data)}", fix="transform the layout first, then split and fuse",
        )  # fmt: skip
    for axis in data:
        record.require_unmarked(axis, call)
    extents = [axis.dom.extent for axis in data]
    try:
        index_map = IndexMap.from_func(mapping, ndim=len(data))
        fills = index_map.is_bijective(extents) is True
        shape = index_map.map_shape(extents)
    except WorkbenchError as error:
        raise refused(
            call, error.code, error.message, found=error.found, expected=error.expected or "an index map",
            fix=error.fix or f"a function of {len(data)} indices that answers a list of expressions",
        ) from None  # fmt: skip
    if not fills:
        return replace(record, relations=(*record.relations, Transform((), (), index_map, call)))
    made = tuple(derived(f"axis{number}", extent, IterKind.SPATIAL) for number, extent in enumerate(shape))
    rest = tuple(axis for axis in record.roots if axis.kind is IterKind.REDUCE)
    gone = {id(axis) for axis in data}
    kept = [leaf for leaf in record.leaves if id(leaf) not in gone]
    return replace(
        record,
        roots=(*made, *rest),
        leaves=(*made, *kept),
        relations=(*record.relations, Transform(data, made, index_map, call)),
    )
