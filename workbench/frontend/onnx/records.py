"""What `check` makes of a model's protobuf: plain records whose claims have been looked at.

A `NodeRecord` carries the name that people see for it: ``Conv#3 ('conv_out')``, ``Relu#4`` when it has none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core.dtype import DataType
from ...core.errors import shorten
from ...core.limits import limits

DEFAULT_DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True, slots=True)
class ValueClaim:
    """What the file says about a value; None where it says nothing.  A dimension may be a name."""

    name: str
    dtype: DataType | None = None
    shape: tuple[int | str | None, ...] | None = None
    kind: str = "tensor"

    @property
    def shape_text(self) -> str:
        if self.shape is None:
            return "(unknown rank)"
        inside = ", ".join("?" if extent is None else shorten(str(extent), 40) for extent in self.shape)
        return f"({inside}{',' if len(self.shape) == 1 else ''})"


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """One node; `index` is its position in the file's graph."""

    index: int
    op_type: str
    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    """AttributeProto by name."""
    captures: tuple[str, ...] = ()
    """Outer values that the graphs among its attributes read."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Every value that has to be there before the node; absent operands left out."""
        return (*(name for name in self.inputs if name), *self.captures)

    @property
    def label(self) -> str:
        kind = shorten(self.op_type, 60)
        return f"{kind}#{self.index} ('{shorten(self.name, 80)}')" if self.name else f"{kind}#{self.index}"

    @property
    def operator_name(self) -> str:
        return shorten(f"{self.domain}.{self.op_type}" if self.domain else self.op_type, 80)


@dataclass(frozen=True, slots=True)
class GraphRecord:
    """A graph with its nodes in an order in which each can be computed."""

    name: str
    nodes: tuple[NodeRecord, ...]
    inputs: tuple[ValueClaim, ...]
    outputs: tuple[ValueClaim, ...]
    initializers: Mapping[str, Any]
    """TensorProto by name."""
    claims: Mapping[str, ValueClaim]


@dataclass(frozen=True, slots=True)
class FunctionRecord:
    """A function of the model; `opsets` are those that its body is written in."""

    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[NodeRecord, ...]
    opsets: Mapping[str, int]
    defaults: Mapping[str, Any]
    """Default AttributeProto by name."""

    @property
    def label(self) -> str:
        return shorten(f"{self.domain}.{self.name}" if self.domain else self.name, 80)


@dataclass(frozen=True, slots=True)
class ModelRecord:
    graph: GraphRecord
    functions: Mapping[tuple[str, str], FunctionRecord]
    opsets: Mapping[str, int]
    notes: tuple[str, ...]


def kept_name(name: str) -> str:
    """A name as the program carries it: names beyond `wb.limits.name_length` are cut, and told apart by a digest."""
    if len(name) <= limits.name_length:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{name[: max(limits.name_length - 13, 0)]}#{digest}"


def domain_of(text: str) -> str:
    """The domain, with both spellings of the default one made the empty text."""
    return "" if text in DEFAULT_DOMAINS else text
