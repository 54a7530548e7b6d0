"""Which operators can be imported: all that cannot are named at once, with their counts; and what is claimed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from ...core.errors import WorkbenchError, shorten
from .records import ModelRecord, NodeRecord, domain_of
from .schema import check_node, has_body
from .table import converter_for

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


# --- claims -------------------------------------------------------------------------------------------------------

CLAIMS_HEAD: Final = (
    "# operator, opsets, element types: what compiles and gives the right numbers.  Written by\n"
    "#     python -m tests.conformance.claims --write"
)
EXCEPT: Final[dict[str, tuple[str, str]]] = {
    "Dropout": ("training_dropout(?!_zero_ratio)", "training with a ratio above 0, which is random"),
}
"""By operator: which of its cases are not claimed (a pattern of their names), and what they have in common."""


class Claim(NamedTuple):
    """One row of `coverage()`."""

    operator: str
    opsets: str
    types: str
    less: str = ""
    """What is left out, in words."""


@cache
def claims() -> tuple[tuple[str, int, int, frozenset[str]], ...]:
    """(operator, first opset, last opset, element types), as the operator cases have shown."""
    lines = (Path(__file__).parent / "claims.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return tuple(
        (name, int(opsets.split("-")[0]), int(opsets.split("-")[1]), frozenset(types.split(" ")))
        for name, opsets, types in rows
    )


def claimed(operator: str, opset: int, types: frozenset[str]) -> bool:
    """Whether a node with operands and results of these element types is covered by a claim."""
    return any(
        name == operator and first <= opset <= last and types <= held for name, first, last, held in claims()
    )


def excepted(operator: str, case: str) -> bool:
    """Whether a case is one that its operator's claims leave out."""
    return operator in EXCEPT and re.search(EXCEPT[operator][0], case) is not None


def coverage() -> list[Claim]:
    """What is claimed: operators with the opsets and element types at which they compile and compute rightly.

    A claim covers nodes whose operands and results all have one of its types.  Other operators, versions and types
    may be converted too (a model says at import), but nothing has been shown of them.

        for row in coverage(): print(*row)
    """
    return [
        Claim(name, f"{first}-{last}", ", ".join(sorted(types)), EXCEPT.get(name, ("", ""))[1])
        for name, first, last, types in claims()
    ]
