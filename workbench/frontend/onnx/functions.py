"""Functions of a model: each is checked like a graph, and their calls must end: no cycles, bounded depth and size.

How many nodes inlining would make is computed beforehand, in whole numbers, so that an exponential chain of calls
is refused without being walked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.errors import WorkbenchError, shorten
from ...core.limits import limits
from .order import computable_order
from .records import FunctionRecord, NodeRecord, domain_of

Key = tuple[str, str]


def check_functions(proto: Any, name: str) -> dict[Key, FunctionRecord]:
    """The model's functions by (domain, name).  Raises `WorkbenchError`."""
    functions: dict[Key, FunctionRecord] = {}
    for function in proto.functions:
        record = function_record(function, name, proto.opset_import)
        key = (record.domain, record.name)
        if key in functions:
            raise _refuse(
                "E-ONNX-DUPLICATE",
                f"the function {record.label} is defined twice",
                name,
                record.label,
                "one definition",
            )
        functions[key] = record
    if functions:
        _check_calls(proto.graph, functions, name)
    return functions


def function_record(function: Any, name: str, imports: Any) -> FunctionRecord:
    """The record of a FunctionProto, its nodes in a computable order."""
    from .check import node_record, opset_versions

    where = shorten(f"{name}: function '{function.name}'", 120)
    nodes = tuple(node_record(node, index, where) for index, node in enumerate(function.node))
    opsets = opset_versions(function.opset_import or imports, where)
    ordered = computable_order(nodes, frozenset(function.input), where, [])
    defaults = {attribute.name: attribute for attribute in function.attribute_proto}
    return FunctionRecord(
        domain_of(function.domain),
        function.name,
        tuple(function.input),
        tuple(function.output),
        ordered,
        opsets,
        defaults,
    )


def _refuse(code: str, message: str, where: str, found: str, expected: str, limit: str = "") -> WorkbenchError:
    return WorkbenchError(
        code,
        message,
        where=where,
        found=found,
        expected=expected,
        fix="export the model without these functions" + (f"; {limits.fix(limit)}" if limit else ""),
    )


def _called(nodes: Any, functions: Mapping[Key, FunctionRecord]) -> list[Key]:
    keys = ((domain_of(node.domain), node.op_type) for node in nodes)
    return [key for key in keys if key in functions]


def _check_calls(graph: Any, functions: Mapping[Key, FunctionRecord], name: str) -> None:
    """Measure every function once, callees first, on an explicit stack."""
    sizes: dict[Key, int] = {}
    depths: dict[Key, int] = {}
    for start in dict.fromkeys(_called(graph.node, functions)):
        path: list[Key] = []
        stack: list[tuple[Key, bool]] = [(start, False)]
        while stack:
            key, measured = stack.pop()
            if measured:
                path.pop()
                _measure(key, functions, sizes, depths, name)
                continue
            if key in sizes:
                continue
            if key in path:
                raise _function_cycle([*path[path.index(key) :], key], functions, name)
            path.append(key)
            stack.append((key, True))
            stack.extend((callee, False) for callee in _called(functions[key].nodes, functions))
    total = sum(sizes.get((domain_of(node.domain), node.op_type), 1) for node in graph.node)
    _require_size(total, name)


def _measure(
    key: Key,
    functions: Mapping[Key, FunctionRecord],
    sizes: dict[Key, int],
    depths: dict[Key, int],
    name: str,
) -> None:
    callees = _called(functions[key].nodes, functions)
    sizes[key] = sum(sizes.get((node.domain, node.op_type), 1) for node in functions[key].nodes)
    depths[key] = 1 + max((depths[callee] for callee in callees), default=0)
    if depths[key] > limits.nesting:
        raise _refuse(
            "E-IMPORT-NESTING",
            "functions call each other too deeply",
            f"{name}: function {functions[key].label}",
            f"a chain of more than {limits.nesting} calls",
            f"at most {limits.nesting} (wb.limits.nesting)",
            "nesting",
        )
    _require_size(sizes[key], f"{name}: function {functions[key].label}")


def _require_size(size: int, where: str) -> None:
    if size > limits.nodes:
        raise _refuse(
            "E-IMPORT-NODES",
            "inlining the model's functions would make too many nodes",
            where,
            f"{size} nodes" if size < 10**12 else f"about 2^{size.bit_length() - 1} nodes",
            f"at most {limits.nodes} (wb.limits.nodes)",
            "nodes",
        )


def _function_cycle(path: list[Key], functions: Mapping[Key, FunctionRecord], name: str) -> WorkbenchError:
    shown = " → ".join(functions[key].label for key in path[:10])
    return _refuse("E-ONNX-CYCLE", "functions call each other in a circle", f"{name}: {shown}", shown, "calls that end")


def substituted(record: NodeRecord, given: Mapping[str, Any]) -> NodeRecord:
    """`record` with attributes that refer to the function's own (`ref_attr_name`) replaced; absent ones go."""
    if not any(attribute.ref_attr_name for attribute in record.attributes.values()):
        return record
    attributes: dict[str, Any] = {}
    for key, attribute in record.attributes.items():
        if not attribute.ref_attr_name:
            attributes[key] = attribute
        elif attribute.ref_attr_name in given:
            renamed = type(attribute)()
            renamed.CopyFrom(given[attribute.ref_attr_name])
            renamed.name = key
            attributes[key] = renamed
    return NodeRecord(
        record.index, record.op_type, record.domain, record.name, record.inputs, record.outputs, attributes
    )
