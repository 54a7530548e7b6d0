"""The operators of a graph that users wrote: a call holds its operator's class, whatever its name stands for by now.

    note_operators(module)                  # while a step runs: it relies on their code
    module = with_operators_of_now(module)  # after their cells were run again
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...core import reliance
from ...core.errors import WorkbenchError
from ...core.module import IRModule
from ...core.node import Node, rewrite, traced_in
from .expr import Call, Function
from .operator import OPERATORS, Operator


def note_operators(module: IRModule) -> None:
    """Say that what is made of a graph depends on the code of its users' operators."""
    for cls in dict.fromkeys(_classes(module)):
        reliance.note(reliance.InProgram("program's operator", cls), cls.name)


def with_operators_of_now(module: IRModule) -> IRModule:
    """The graph with each user's operator as it is defined now; the very same where all are.

    An attribute keeps its value.  Raises `WorkbenchError` E-OPERATOR-FIELD where the operator of now has not all of
    them; an operator that is in no table any more stays what it is.
    """
    if all(OPERATORS.get(cls.name, cls) is cls for cls in _classes(module)):
        return module
    changed = {name: rewrite(function, _of_now) for name, function in module.items()}
    return module.with_functions({name: made for name, made in changed.items() if made is not module[name]})


def _classes(module: IRModule) -> Iterator[type[Operator]]:
    graphs = [function for function in module.functions.values() if isinstance(function, Function)]
    for node in traced_in(graphs):
        if isinstance(node, Call) and isinstance(node.op, Operator) and node.op.class_code is not None:
            yield type(node.op)


def _of_now(node: Node) -> Any:
    if not isinstance(node, Operator) or node.class_code is None:
        return None
    now = OPERATORS.get(node.name)
    if now is None or now is type(node):
        return None
    attributes = {name: getattr(node, name) for name in node.field_names}
    lacking = [name for name in attributes if name not in now.field_names]
    if lacking:
        raise WorkbenchError(
            "E-OPERATOR-FIELD", f"operator {node.name} as it is defined now has no attribute {lacking[0]!r}",
            found=", ".join(now.field_names) or "none", expected=", ".join(attributes),
            fix="make the program again with the operator of now", kept="the program as it was",
        )  # fmt: skip
    return now(**attributes)
