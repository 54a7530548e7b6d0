"""Attributes of a node as Python values: numbers, text, tuples of them, tensors, graphs as they are.

values_of(record, reader, where)["strides"] == (2, 2)
"""

from __future__ import annotations

from typing import Any

from ...core.errors import WorkbenchError, shorten
from .records import NodeRecord
from .tensors import TensorReader, to_tensor


def values_of(record: NodeRecord, reader: TensorReader, where: str) -> dict[str, Any]:
    """The attribute values by name.  Raises `WorkbenchError` for kinds that are not read."""
    return {name: _value(proto, reader, where) for name, proto in record.attributes.items()}


def _value(proto: Any, reader: TensorReader, where: str) -> Any:
    reads = {
        1: lambda: float(proto.f),
        2: lambda: int(proto.i),
        3: lambda: proto.s.decode("utf-8", "replace"),
        4: lambda: to_tensor(proto.t, reader, f"{where}, attribute '{shorten(proto.name, 60)}'"),
        5: lambda: proto.g,
        6: lambda: tuple(float(item) for item in proto.floats),
        7: lambda: tuple(int(item) for item in proto.ints),
        8: lambda: tuple(item.decode("utf-8", "replace") for item in proto.strings),
        13: lambda: proto.tp,
    }
    read = reads.get(proto.type)
    if read is None:
        raise WorkbenchError(
            "E-ONNX-ATTRIBUTE",
            f"attribute '{shorten(proto.name, 60)}' is of a kind that is not read",
            where=where,
            found=f"kind {proto.type}",
            expected="numbers, text, a tensor or a graph",
            fix="export the model again",
        )
    return read()
