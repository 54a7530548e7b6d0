"""Integer buffers whose contents follow from loop variables alone, as arrays: indices that are kept in a buffer.

A buffer counts if every store into it has a value that is made of loop variables (or of other such buffers), and no
element is given two different values; then what it holds does not depend on when it is read.

    load = loader(func, inputs={"rows": array})
    values(index, known, load)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arith.nodes import literal
from ..core.errors import WorkbenchError
from ..tir import nodes as t
from ..tir.array_values import Loader, Values, refuse_load, values
from .instances import Instances, enumerate_loops, instances

Tables = dict[int, np.ndarray]
"""Contents by the identity of the buffer."""


def loader(func: t.PrimFunc, inputs: Mapping[str, Any] | None = None) -> Loader:
    """Answers loads of index buffers of a lowered function, and of parameters given in `inputs`; refuses others."""
    tables = _given(func, inputs or {})

    def load(node: t.BufferLoad, indices: tuple[Values, ...]) -> Values:
        table = tables.get(id(node.buffer))
        if table is None:
            return refuse_load(node, indices)
        try:
            return table[tuple(np.asarray(index, np.int64) for index in indices)]
        except IndexError:
            return refuse_load(node, indices)

    _compute(func, tables, load)
    return load


def _given(func: t.PrimFunc, inputs: Mapping[str, Any]) -> Tables:
    parameters = {item.name: item for item in func.params if isinstance(item, t.Buffer)}
    unknown = next((name for name in inputs if name not in parameters), None)
    if unknown is not None:
        raise WorkbenchError(
            "E-ANALYSIS-INPUT", f"there is no parameter {unknown!r}", expected=", ".join(parameters),
        )  # fmt: skip
    made: Tables = {}
    for name, array in inputs.items():
        shape = tuple(int(literal(extent, -1)) for extent in parameters[name].shape)
        try:
            made[id(parameters[name])] = np.asarray(array).astype(np.int64).reshape(shape)
        except ValueError:
            raise WorkbenchError(
                "E-ANALYSIS-INPUT", f"the array for {name} does not fit",
                found=f"shape {np.shape(array)}", expected=f"{int(np.prod(shape))} integers",
            ) from None  # fmt: skip
    return made


def _compute(func: t.PrimFunc, tables: Tables, load: Loader) -> None:
    """Fill `tables` with the buffers that hold indices, in the order of the text."""
    parameters = {id(item) for item in func.params}
    stores: dict[int, list[Instances]] = {}
    for item in instances(func):
        if isinstance(item.stmt, t.BufferStore) and item.stmt.buffer.dtype.is_integer:
            stores.setdefault(id(item.stmt.buffer), []).append(item)
    for key, group in stores.items():
        if key in parameters:
            continue
        table = _contents(group, load)
        if table is not None:
            tables[key] = table


def _contents(group: list[Instances], load: Loader) -> np.ndarray | None:
    first = group[0].stmt
    assert isinstance(first, t.BufferStore)
    shape = tuple(int(literal(extent, -1)) for extent in first.buffer.shape)
    if min(shape, default=0) < 0:
        return None
    table = np.zeros(shape, np.int64)
    written = np.zeros(shape, bool)
    for item in group:
        assert isinstance(item.stmt, t.BufferStore)
        try:
            made = _stored(item, item.stmt, load)
        except (WorkbenchError, IndexError, ValueError):
            return None
        if made is None:
            return None
        where, value = made
        if not np.size(value):
            continue
        if np.any(written[where] & (table[where] != value)):
            return None
        table[where] = value
        written[where] = True
        if np.any(table[where] != value):
            return None
    return table


def _stored(item: Instances, stmt: t.BufferStore, load: Loader) -> tuple[tuple[np.ndarray, ...], np.ndarray] | None:
    """Where a store writes in all its iterations, and what."""
    grid = enumerate_loops(item.loops)
    if grid is None:
        return None
    count, known = grid
    lanes = stmt.value.dtype.lanes
    shape = (count,) if lanes == 1 else (count, lanes)
    holds = np.ones(shape, bool)
    for condition, wanted in item.guards:
        holds &= _spread(values(condition, known, load), shape) == wanted
    where = tuple(_spread(values(index, known, load), shape)[holds] for index in stmt.indices)
    value = _spread(values(stmt.value, known, load), shape)[holds]
    if where or not value.size:
        return where, value
    return (where, value[0]) if np.all(value == value[0]) else None  # the one element of a buffer without axes


def _spread(found: Values, shape: tuple[int, ...]) -> np.ndarray:
    array = np.asarray(found)
    return np.broadcast_to(array[:, None] if array.ndim == 1 and len(shape) == 2 else array, shape)
