"""Is this a graph?  Names, order, cycles, operator versions: every refusal says where, what was found, and the fix.

The result is a `ModelRecord` whose nodes are in a computable order.  Nothing is allocated for what tensors claim.

    record = check_model(source.proto, source.name)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...core.dtype import DataType
from ...core.errors import WorkbenchError, nearest, shorten
from ...core.limits import limits
from ...core.time_limit import check_time
from .functions import check_functions
from .limits import IR_VERSIONS, OPSETS
from .order import computable_order
from .records import GraphRecord, ModelRecord, NodeRecord, ValueClaim, domain_of
from .tensors import DTYPES, FOREIGN


def check_model(proto: Any, name: str, opset: int | None = None) -> ModelRecord:
    """Look at everything that can be judged without knowing shapes.  Raises `WorkbenchError`."""
    notes: list[str] = []
    check_ir_version(int(proto.ir_version), name)
    opsets = opset_versions(proto.opset_import, name)
    if opset is not None:
        opsets[""] = opset
    check_opset(opsets.get(""), name)
    functions = check_functions(proto, name)
    graph = check_graph(proto.graph, name, notes)
    if not graph.outputs:
        raise _refuse(
            "E-ONNX-NO-OUTPUT",
            f"{name}: the graph has no outputs",
            name,
            "0 outputs",
            "at least one",
            "name one",
        )
    return ModelRecord(graph, functions, opsets, tuple(notes))


def _refuse(code: str, message: str, where: str, found: str, expected: str, fix: str) -> WorkbenchError:
    return WorkbenchError(code, message, where=where, found=found, expected=expected, fix=fix)


def check_ir_version(version: int, name: str) -> None:
    low, high = IR_VERSIONS
    if not low <= version <= high:
        raise _refuse(
            "E-ONNX-IR-VERSION",
            f"{name}: this version of the file format is not read",
            name,
            f"IR version {version}",
            f"{low} to {high}",
            "convert it with onnx.version_converter, or export for an older IR version",
        )


def opset_versions(imports: Iterable[Any], name: str) -> dict[str, int]:
    """Operator set versions by domain."""
    found: dict[str, int] = {}
    for entry in imports:
        domain, version = domain_of(entry.domain), int(entry.version)
        if found.setdefault(domain, version) != version:
            raise _refuse(
                "E-ONNX-OPSET",
                f"{name}: two versions of one operator set",
                f"opset_import {shorten(domain, 60) or 'ai.onnx'!r}",
                f"{found[domain]} and {version}",
                "one version",
                "export again",
            )
    return found


def check_opset(version: int | None, name: str) -> None:
    low, high = OPSETS
    if version is None or not low <= version <= high:
        raise _refuse(
            "E-ONNX-OPSET",
            f"{name}: this version of the operator set is not read",
            f"{name}: opset_import",
            "none" if version is None else f"opset {version}",
            f"opset {low} to {high}",
            "onnx.version_converter.convert_version(model, 21)",
        )


# --- graphs -------------------------------------------------------------------------------------------------------


def check_graph(proto: Any, name: str, notes: list[str], outer: frozenset[str] = frozenset()) -> GraphRecord:
    """The record of a graph; `outer` are names that an enclosing graph lends to it."""
    where = shorten(f"{name}: graph '{proto.name}'", 120)
    if len(proto.node) > limits.nodes:
        raise _refuse(
            "E-IMPORT-NODES",
            "the graph has too many nodes",
            where,
            str(len(proto.node)),
            f"at most {limits.nodes} (wb.limits.nodes)",
            f"split the model; {limits.fix('nodes')}",
        )
    if len(proto.sparse_initializer):
        raise _refuse(
            "E-ONNX-SPARSE",
            "sparse initializers are not imported",
            where,
            shorten(proto.sparse_initializer[0].values.name, 80),
            "dense initializers",
            "make them dense before exporting",
        )
    initializers = _unique((tensor.name, tensor) for tensor in proto.initializer)
    if isinstance(initializers, str):
        places = [str(index) for index, tensor in enumerate(proto.initializer) if tensor.name == initializers]
        raise _duplicate("initializer", initializers, where, f"initializers {' and '.join(places[:4])} of the graph")
    free = len(proto.input) - len(initializers) if len(proto.input) > limits.operands else 0
    limits.check("operands", free, "the graph with its inputs", where)
    inputs = tuple(claim_of(value, where) for value in proto.input)
    outputs = tuple(claim_of(value, where) for value in proto.output)
    nodes = tuple(node_record(node, index, where) for index, node in enumerate(proto.node))
    _check_names(nodes, inputs, outputs, initializers, where, outer)
    known = frozenset(initializers) | {claim.name for claim in inputs} | outer
    ordered = computable_order(nodes, known, where, notes)
    claims = {claim.name: claim for claim in (claim_of(value, where) for value in proto.value_info)}
    return GraphRecord(proto.name, ordered, inputs, outputs, initializers, claims)


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any] | str:
    """The pairs as a dict, or the first name that occurs twice."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            return name
        found[name] = value
    return found


def _duplicate(kind: str, name: str, where: str, found: str) -> WorkbenchError:
    return _refuse(
        "E-ONNX-DUPLICATE",
        f"the {kind} '{shorten(name, 80)}' is defined twice",
        where,
        found,
        "each value is made exactly once",
        "rename one of them in the exporter",
    )


def _check_names(
    nodes: tuple[NodeRecord, ...],
    inputs: tuple[ValueClaim, ...],
    outputs: tuple[ValueClaim, ...],
    initializers: dict[str, Any],
    where: str,
    outer: frozenset[str],
) -> None:
    """Every value has one maker, and everything that is read has one."""
    repeated = _unique((claim.name, claim) for claim in inputs)
    if isinstance(repeated, str):
        raise _duplicate("input", repeated, where, "twice in the graph's inputs")
    makers: dict[str, str] = {name: "an initializer" for name in initializers}
    makers |= {claim.name: "a graph input" for claim in inputs}
    for record in nodes:
        for made in filter(None, record.outputs):
            if made in makers:
                raise _duplicate("value", made, where, f"made by {makers[made]} and by {record.label}")
            makers[made] = record.label
    known = makers.keys() | outer
    for record in nodes:
        lost = next((read for read in record.reads if read not in known), None)
        if lost is not None:
            message = f"{record.label} reads '{shorten(lost, 80)}', which nothing makes"
            raise _dangling(message, lost, known, where)
    for claim in outputs:
        if claim.name not in known:
            message = f"the output '{shorten(claim.name, 80)}' is never made"
            raise _dangling(message, claim.name, known, where)


def _dangling(message: str, name: str, known: Iterable[str], where: str) -> WorkbenchError:
    hint = nearest(name[:200], [other[:200] for other in list(known)[:5000]])
    return _refuse(
        "E-ONNX-DANGLING",
        message,
        where,
        shorten(repr(name), 80),
        "a graph input, initializer or node output",
        hint or "name the value that was meant",
    )


def node_record(proto: Any, index: int, where: str) -> NodeRecord:
    """The record of a NodeProto; attributes have different names."""
    check_time(where)
    label = f"{shorten(proto.op_type, 60)}#{index}"
    limits.check("operands", max(len(proto.input), len(proto.output)), f"{label} with its operands", where)
    attributes = _unique((attribute.name, attribute) for attribute in proto.attribute)
    if isinstance(attributes, str):
        raise _duplicate("attribute", attributes, f"{where}, {label}", "twice on one node")
    return NodeRecord(
        index,
        proto.op_type,
        domain_of(proto.domain),
        proto.name,
        tuple(proto.input),
        tuple(proto.output),
        attributes,
        _captures(proto, where),
    )


def _captures(proto: Any, where: str) -> tuple[str, ...]:
    """Names that graphs inside a node read and do not make, found on an explicit stack."""
    pending = [(attribute.g, frozenset[str](), 1) for attribute in proto.attribute if attribute.HasField("g")]
    found: dict[str, None] = {}
    while pending:
        graph, outer, depth = pending.pop()
        if depth > limits.nesting:
            raise _refuse(
                "E-IMPORT-NESTING",
                "graphs nest too deeply",
                where,
                f"more than {limits.nesting} levels",
                f"at most {limits.nesting} (wb.limits.nesting)",
                f"export the model without such nesting; {limits.fix('nesting')}",
            )
        made = outer.union(
            (value.name for value in graph.input),
            (tensor.name for tensor in graph.initializer),
            (name for node in graph.node for name in node.output),
        )
        reads = [name for node in graph.node for name in node.input] + [value.name for value in graph.output]
        found.update((name, None) for name in reads if name and name not in made)
        for node in graph.node:
            pending.extend((item.g, made, depth + 1) for item in node.attribute if item.HasField("g"))
    return tuple(found)


_VALUE_KINDS = {
    "tensor_type": "tensor",
    "sequence_type": "sequence",
    "map_type": "map",
    "optional_type": "optional",
    "sparse_tensor_type": "sparse tensor",
}


def claim_of(value: Any, where: str) -> ValueClaim:
    """What a ValueInfoProto says.  A negative dimension other than -1 is refused; -1 means unknown."""
    kind = _VALUE_KINDS.get(value.type.WhichOneof("value") or "", "tensor")
    if kind != "tensor":
        return ValueClaim(value.name, None, None, kind)
    stated = value.type.tensor_type
    dtype = DTYPES.get(stated.elem_type)
    if dtype is None and stated.elem_type in FOREIGN and stated.elem_type:
        kind = f"tensor of {FOREIGN[stated.elem_type]}"
    elif dtype is None and stated.elem_type:
        kind = f"tensor of unknown element type {stated.elem_type}"
    typed = DataType(dtype) if dtype else None
    if not stated.HasField("shape"):
        return ValueClaim(value.name, typed, None, kind)
    shape = tuple(_dimension(dim, value.name, where) for dim in stated.shape.dim)
    return ValueClaim(value.name, typed, shape, kind)


def _dimension(dim: Any, name: str, where: str) -> int | str | None:
    if dim.HasField("dim_value"):
        extent = int(dim.dim_value)
        if extent < -1:
            raise _refuse(
                "E-ONNX-DIMENSION",
                f"'{shorten(name, 80)}' has a negative dimension",
                where,
                str(extent),
                "at least 0, or -1 for unknown",
                "export again",
            )
        return extent if extent >= 0 else None
    return dim.dim_param or None
