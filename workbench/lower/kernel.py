"""One fused relay function as a kernel: its tensor expressions, put together, as a loop-IR function of blocks."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any

from .. import te
from ..core import origin
from ..core.equal import fingerprint
from ..core.errors import WorkbenchError
from ..core.node import FrozenMap, children, post_order, pre_order
from ..core.tensor import Tensor
from ..relay.ir import expr as r
from ..relay.ir.operator import Operator
from ..relay.ir.types import TensorType, TupleType, Type
from ..target.target import Target
from ..te.prim_func import Lowered, lowered
from ..tir import nodes as t
from ..topi.widen import tensor_expression
from .choosing import chosen
from .implementation import Choice, Workload


@dataclass(frozen=True)
class Kernel:
    """A kernel before it is scheduled: what a schedule provider is asked about."""

    name: str
    func: t.PrimFunc
    """In block form; parameters are inputs, then constants, then outputs."""
    target: Target
    workload: Workload | None
    """The operator that decides the schedule, the one hardest to fuse, with what it is called on."""
    fingerprint: str
    """Of the fused relay function: equal functions share a kernel."""
    constants: tuple[Tensor, ...] = ()
    """Data of the constants inside the fused function, as further inputs."""
    choice: Choice | None = None
    """What computes the workload; none: block by block."""
    block: str = ""
    """The block of the workload: its reduction, where it has one; else its result."""
    tensors: tuple[te.Tensor, ...] = ()
    """What it computes, as tensor expressions: inputs, constants, outputs; where its implementation reads them."""
    outputs: tuple[te.Tensor, ...] = ()
    """Those of its outputs."""
    memo: dict[str, Any] = field(default_factory=dict[str, Any], init=False, compare=False, repr=False)
    """What others have found out about it, kept as long as it is."""

    def __getstate__(self) -> dict[str, Any]:
        """For copies and files: what was found out about this one names its own parts."""
        return {**self.__dict__, "memo": {}}

    @property
    def of_graph(self) -> bool:
        """Whether it was lowered from a graph, whose entry and executors call it; else it is a loop program's own."""
        return bool(self.fingerprint)


def tensor_types(found: Type, where: str) -> tuple[TensorType, ...]:
    """The tensors that a value of a type consists of, tuples flattened."""
    if isinstance(found, TensorType):
        return (found,)
    if isinstance(found, TupleType):
        return tuple(tensor for item in found.fields for tensor in tensor_types(item, where))
    raise WorkbenchError(
        "E-LOWER-TYPE",
        "only tensors and tuples of tensors reach native code so far",
        where=where,
        found=repr(found),
        fix="evaluate functions, references and ADTs away first; the interpreter runs them all",
    )


def anchor_of(function: r.Function) -> r.Call | None:
    """The call of the operator of the highest fusion kind in a fused function (the first of equals)."""
    best: r.Call | None = None
    highest: int | None = None
    for current in post_order(function.body):
        if isinstance(current, r.Call) and isinstance(current.op, Operator):
            if highest is None or current.op.fusion > highest:
                best, highest = current, current.op.fusion
    return best


def workload_of(function: r.Function, target: Target) -> Workload | None:
    """What decides the schedule of a fused function: its anchor; none in a function without operators."""
    call = anchor_of(function)
    if call is None or not isinstance(call.op, Operator):
        return None
    return Workload(call.op, tuple(argument.checked_type for argument in call.args), target)


def kernel_name(function: r.Function) -> str:
    """fused_<operators in order>, shortened like the classic names."""
    names = [
        current.op.name.replace(".", "_")
        for current in post_order(function.body)
        if isinstance(current, r.Call) and isinstance(current.op, Operator)
    ]
    full = "fused_" + "_".join(names)
    return full if len(full) <= 80 else f"{full[:60]}_and_{len(names) - 1}_more"


def kernel_key(function: r.Function) -> str:
    """What `make_kernel` reads of a function, as a key: all of it up to names, and types that no annotation says."""
    plain = function.replace(attrs=FrozenMap())
    inferred = tuple(parameter.checked_type for parameter in function.params if parameter.type_annotation is None)
    return fingerprint((plain, *inferred) if inferred else plain)


def make_kernel(
    name: str, function: r.Function, key: str, target: Target, by_hand: Choice | None = None
) -> Kernel:
    """Compose the operators' tensor expressions and make blocks of them; or take an operator's own loops.

    `by_hand`: what a person chose for the anchor; else the cheapest computes it.
    """
    workload = workload_of(function, target)
    alone = _own_loops(name, function)
    if alone is not None:
        return Kernel(name, _as_kernel(alone, name, target), target, workload, key)
    anchor = anchor_of(function)
    choice = by_hand or (None if workload is None else chosen(workload))
    values: dict[int, list[te.Tensor]] = {}
    constants: list[tuple[te.Tensor, Tensor]] = []
    inputs: list[te.Tensor] = []
    for parameter in function.params:
        types = tensor_types(parameter.checked_type, f"parameter {parameter.name_hint} of {name}")
        made = [
            te.placeholder(tensor.shape, tensor.dtype, name=_suffixed(parameter.name_hint, index, len(types)))
            for index, tensor in enumerate(types)
        ]
        values[id(parameter)] = made
        inputs.extend(made)
    for current in post_order(function.body):
        if id(current) not in values and isinstance(current, r.Expr):
            values[id(current)] = _value(current, values, constants, name, choice if current is anchor else None)
    outputs = _own_outputs(values[id(function.body)])
    held = [tensor for tensor, _ in constants]
    made = lowered([*inputs, *held, *outputs], name)
    data = tuple(data for _, data in constants)
    block = "" if anchor is None or choice is None else _block_of(anchor, values, made)
    kept = choice is not None and choice.implementation.of_person
    tensors, own = ((*inputs, *held, *outputs), tuple(outputs)) if kept else ((), ())
    func = _as_kernel(made.func, name, target)
    return Kernel(name, func, target, workload, key, data, choice, block, tensors, own)


def _as_kernel(func: t.PrimFunc, name: str, target: Target) -> t.PrimFunc:
    attrs = FrozenMap({**func.attrs, "noalias": True, "global_symbol": name, "target": target, "role": "kernel"})
    return origin.derived(func.replace(attrs=attrs), func)


def _own_loops(name: str, function: r.Function) -> t.PrimFunc | None:
    """The loops of the one operator of a function, if it has such."""
    body = function.body
    if not (isinstance(body, r.Call) and isinstance(body.op, Operator) and _are(body.args, function.params)):
        return None
    kinds = [item.checked_type for item in body.args]
    if not all(isinstance(kind, TensorType) for kind in kinds):
        return None
    made = body.op.loops(*kinds)
    if made is not None:
        for node in pre_order(made.body):
            if isinstance(node, t.Stmt):
                origin.derived(node, body)
    return made


def _are(arguments: tuple[r.Expr, ...], parameters: tuple[r.Var, ...]) -> bool:
    """Whether a call's operands are exactly the function's parameters."""
    return len(arguments) == len(parameters) and all(map(operator.is_, arguments, parameters))


def _suffixed(name: str, index: int, count: int) -> str:
    return name if count == 1 else f"{name}_{index}"


def _value(
    current: r.Expr,
    values: dict[int, list[te.Tensor]],
    constants: list[tuple[te.Tensor, Tensor]],
    kernel: str,
    choice: Choice | None = None,
) -> list[te.Tensor]:
    """The te tensors of one expression whose operands are known; `choice`: what computes it."""
    if isinstance(current, r.Constant):
        return [_constant(current, constants)]
    if isinstance(current, r.Tuple):
        return [tensor for item in current.fields for tensor in values[id(item)]]
    if isinstance(current, r.TupleGetItem):
        return [values[id(current.tuple_value)][current.index]]
    if isinstance(current, r.Call) and isinstance(current.op, Operator):
        arguments = [_operand(item, values) for item in current.args]
        try:
            made = tensor_expression(current.op, arguments, None if choice is None else choice.compute)
        except NotImplementedError:
            raise WorkbenchError(
                "E-LOWER-OPERATOR",
                f"operator {current.op.name} has no tensor expression and does not decompose",
                where=f"kernel {kernel}",
                fix="give its class a compute() or a decompose()",
            ) from None
        tensors = list(made) if isinstance(made, (list, tuple)) else [made]
        _require_typed(current, current.op, tensors, kernel)
        if origin.active() is not None:
            for tensor in [*tensors, *_stages(tensors, arguments)]:
                origin.derived(tensor, current)
        return tensors
    raise WorkbenchError(
        "E-LOWER-EXPRESSION",
        f"{type(current).__name__} cannot stand inside a kernel",
        where=f"kernel {kernel}",
    )


def _require_typed(call: r.Call, op: Operator, tensors: list[te.Tensor], kernel: str) -> None:
    """Refuse tensors of other dtypes than the call's type: whoever reads them would read other bytes."""
    kind = call.type_or_none
    kinds = [one for one in (kind.fields if isinstance(kind, TupleType) else (kind,)) if isinstance(one, TensorType)]
    made, wanted = [str(tensor.dtype) for tensor in tensors], [str(one.dtype) for one in kinds]
    if kind is not None and made != wanted:
        raise WorkbenchError(
            "E-LOWER-TYPE",
            f"the tensor expression of operator {op.name} is of another type than the operator",
            where=f"kernel {kernel}",
            found=", ".join(made),
            expected=", ".join(wanted),
            fix="compute() gives the dtypes that infer() says",
        )


def _stages(tensors: list[te.Tensor], arguments: list[Any]) -> list[Any]:
    """The tensors and stages that an operator's expression went through, from its operands to its results."""
    operands = [tensor for item in arguments for tensor in (item if isinstance(item, list) else [item])]
    seen = {id(tensor.op) for tensor in operands}
    found: list[Any] = []
    stack: list[Any] = list(tensors)
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            stack.extend(children(node))
            if isinstance(node, (te.Tensor, te.Operation)):
                found.append(node)
    return found


def _block_of(anchor: r.Call, values: dict[int, list[te.Tensor]], made: Lowered) -> str:
    """The block of the anchor's one reduction; where it has several or none, that of its result."""
    results = values[id(anchor)]
    stages = _stages(results, [_operand(item, values) for item in anchor.args])
    reductions = [stage for stage in stages if isinstance(stage, te.ComputeOp) and stage.reduce_axis]
    return made.blocks.get(id(reductions[0] if len(reductions) == 1 else results[0].op), "")


def _operand(item: r.Expr, values: dict[int, list[te.Tensor]]) -> Any:
    """One tensor, or a list for an operand of tuple type."""
    tensors = values[id(item)]
    return list(tensors) if isinstance(item.type_or_none, TupleType) or isinstance(item, r.Tuple) else tensors[0]


def _constant(current: r.Constant, constants: list[tuple[te.Tensor, Tensor]]) -> te.Tensor:
    """A scalar becomes part of the expression; anything larger becomes one more input of the kernel."""
    data = current.data
    if data.size == 1:
        value = data.numpy().reshape(-1)[0]
        return te.compute(data.shape, lambda *_: te.const(value, data.dtype), name="constant")
    held = te.placeholder(data.shape, data.dtype, name=f"constant_{len(constants)}")
    constants.append((held, data))
    return held


def _own_outputs(outputs: list[te.Tensor]) -> list[te.Tensor]:
    """Outputs that are inputs, or stand twice, become copies: each output has a buffer of its own."""
    taken: set[tuple[int, int]] = set()
    made: list[te.Tensor] = []
    for tensor in outputs:
        if isinstance(tensor.op, te.PlaceholderOp) or (id(tensor.op), tensor.value_index) in taken:
            tensor = _copy(tensor)
        taken.add((id(tensor.op), tensor.value_index))
        made.append(tensor)
    return made


def _copy(source: te.Tensor) -> te.Tensor:
    return te.compute(source.shape, lambda *where: source(*where), name="copy")
