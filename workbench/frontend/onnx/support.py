"""Which operators can be imported: all that cannot are named at once, with their counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...core.errors import WorkbenchError, shorten
from .records import ModelRecord, NodeRecord, domain_of
from .schema import check_node, has_body
from .table import converter_for, converters

Missing = dict[tuple[str, str, int], list[str]]
"""Labels of nodes by (domain, operator, opset)."""


def check_support(record: ModelRecord, name: str) -> None:
    """Refuse a model with operators that nothing converts, listing all; then judge each node's operands."""
    missing: Missing = {}
    for node, opsets in _all_nodes(record):
        opset = opsets.get(node.domain)
        if (node.domain, node.op_type) in record.functions:
            continue
        if opset is None or not _is_known(node, opset):
            missing.setdefault((node.domain, node.op_type, opset or 0), []).append(node.label)
    if missing:
        raise unsupported_error(missing, name)
    for node in record.graph.nodes:
        if (node.domain, node.op_type) not in record.functions:
            check_node(node, record.opsets.get(node.domain, 1), name)


def _is_known(node: NodeRecord, opset: int) -> bool:
    known = converter_for(node.domain, node.op_type, opset) is not None
    return known or has_body(node.op_type, node.domain, opset)


def _all_nodes(record: ModelRecord) -> Iterator[tuple[NodeRecord, Mapping[str, int]]]:
    """Nodes of the graph, of its subgraphs, and of the functions that are called, each once."""
    pending: list[tuple[Any, Mapping[str, int]]] = [(node, record.opsets) for node in reversed(record.graph.nodes)]
    seen: set[tuple[str, str]] = set()
    while pending:
        node, opsets = pending.pop()
        yield node, opsets
        key = (node.domain, node.op_type)
        if key in record.functions and key not in seen:
            seen.add(key)
            function = record.functions[key]
            pending.extend((inner, function.opsets) for inner in reversed(function.nodes))
        for attribute in node.attributes.values():
            if attribute.HasField("g"):
                pending.extend((_bare(inner, index), opsets) for index, inner in enumerate(attribute.g.node))


def _bare(proto: Any, index: int) -> NodeRecord:
    given = {attribute.name: attribute for attribute in proto.attribute}
    return NodeRecord(index, proto.op_type, domain_of(proto.domain), proto.name, (), (), given)


def unsupported_error(missing: Missing, name: str) -> WorkbenchError:
    """The refusal that lists operators without a converter."""
    counted = sorted(missing.items(), key=lambda item: (-len(item[1]), item[0]))
    shown = [
        f"{shorten(f'{domain}.{op_type}' if domain else op_type, 60)} x{len(labels)}"
        + ("" if opset else " (its domain is not in opset_import)")
        for (domain, op_type, opset), labels in counted
    ]
    first_domain, first_op, _ = counted[0][0]
    domain = f", domain={first_domain!r}" if first_domain else ""
    more = f" and {len(shown) - 24} more" if len(shown) > 24 else ""
    return WorkbenchError(
        "E-ONNX-UNSUPPORTED",
        f"{name}: {len(shown)} operator{'s' if len(shown) > 1 else ''} cannot be imported",
        where=f"{name}: first {counted[0][1][0]}",
        found=", ".join(shown[:24]) + more,
        expected="operators of frontend.onnx.coverage()",
        fix=f"register one: @frontend.onnx.onnx_op({shorten(first_op, 60)!r}{domain}) def convert(node, x): ...",
        partial={key: tuple(labels) for key, labels in missing.items()},
    )


def coverage() -> list[tuple[str, str, str]]:
    """(operator, opsets, element types) of everything that has a converter, by name."""
    from .limits import OPSETS
    from .schema import signature_of

    rows: list[tuple[str, str, str]] = []
    for item in converters():
        signature = signature_of(item.op_type, item.domain, min(item.until, OPSETS[1]))
        kinds: set[str] = set()
        if signature is not None:
            for _, _, parameter in signature.operands[:1]:
                kinds |= {
                    kind[7:-1] for kind in signature.element_types.get(parameter, ()) if kind.startswith("tensor(")
                }
        low, high = max(item.since, OPSETS[0]), item.until
        name = f"{item.domain}.{item.op_type}" if item.domain else item.op_type
        rows.append((name, f"{low}-{high}", ", ".join(sorted(kinds))))
    return sorted(rows)
