"""Control flow that is decided at import: a known condition takes its branch, a known trip count unrolls.

What only a run could decide is refused by name.
"""

from __future__ import annotations

from typing import Any

from .site import Site
from .table import onnx_op


@onnx_op("If", since=1)
def if_(node: Site, condition: Any, *, then_branch: Any, else_branch: Any) -> tuple[Any, ...]:
    known = node.known(condition)
    if known is None:
        raise node.refuse(
            "a branch that depends on the model's inputs is not supported yet",
            "a condition computed at run time",
            "a condition known during import",
            "fix the input that decides: import_model(..., values={name: array})",
        )
    taken = then_branch if bool(known.reshape(-1)[0]) else else_branch
    return node.importer.convert_subgraph(taken, node)
