"""The native entry: a fused relay function as one host PrimFunc that calls kernels.

The entry's parameters are the model's inputs, then its constants, then its outputs.  Its body is straight-line loop
IR: intermediates are allocated in the root block, each kernel is called through ``call_tir`` with addresses, and the
cancel word is polled between calls.  What only renames an operand's memory (`Operator.aliasing`) is no call.

    with T.block("root"):
        conv = T.alloc_buffer((1, 64, 56, 56), "float32")
        T.call_tir("fused_nn_conv2d_nn_relu", T.address_of(data[0, 0, 0, 0]), ..., T.address_of(conv[0, 0, 0, 0]))

A relay `If` becomes an `if` around the calls of its branches, whose results are copied into common buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Final

from ..arith.build import const
from ..arith.nodes import Call, PrimExpr, StringImm
from ..core import origin, progress, reliance
from ..core.dtype import DataType
from ..core.errors import WorkbenchError
from ..core.limits import limits
from ..core.module import IRModule
from ..core.node import FrozenMap
from ..core.tensor import Tensor
from ..core.walks import parts_first
from ..relay.ir import expr as r
from ..relay.ir.operator import Operator
from ..relay.ir.types import TensorType
from ..runtime.guards import Guard, guards_of
from ..target.target import Target
from ..tir import nodes as t
from ..tir.build import decl_buffer, load, seq
from ..topi.calls import call as call_operator
from .branches import shared_by_branches
from .implementation import Choice
from .kernel import Kernel, kernel_key, kernel_name, tensor_types
from .known import KnownKernels

NAMES: Final = "E-LOWER-OUTPUTS"
"""The code of the error for names of outputs that are none."""


_listener: ContextVar[Callable[[Kernel], object] | None] = ContextVar("workbench_kernels", default=None)
"""Who hears of each kernel that a graph is lowered to."""


@contextmanager
def listening_for_kernels(listener: Callable[[Kernel], object]) -> Generator[None]:
    """Tell `listener` of each kernel of a graph that is lowered inside the block, as it is made."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@dataclass(frozen=True)
class KernelCall:
    """One call in the entry: which kernel, on which buffers (outputs last), for which relay call."""

    kernel: str
    buffers: tuple[t.Buffer, ...]
    relay_call: r.Expr

    @property
    def label(self) -> str:
        """The operators that it computes, for people."""
        return self.kernel.removeprefix("fused_")


@dataclass(frozen=True)
class IfCall:
    """One `If` in the entry: the calls of either branch."""

    condition: t.Buffer
    then: tuple[KernelCall | IfCall, ...]
    otherwise: tuple[KernelCall | IfCall, ...]
    relay_call: r.Expr


@dataclass(frozen=True)
class Lowered:
    """A lowered model: loop IR, its kernels, and what the entry's parameters are."""

    module: IRModule
    kernels: tuple[Kernel, ...]
    calls: tuple[KernelCall, ...]
    """All that the entry calls, in order; none where an `If` decides that only at run time."""
    inputs: tuple[tuple[str, TensorType], ...]
    constants: tuple[tuple[str, Tensor], ...]
    outputs: tuple[TensorType, ...]
    temporaries: tuple[t.Buffer, ...] = ()
    """Intermediates between kernels."""
    output_names: tuple[str, ...] = ()
    """Names from the model's file, where it has them."""
    guards: tuple[Guard, ...] = ()
    """Values of inputs that the program was specialised for."""
    memo: dict[str, Any] = field(default_factory=dict[str, Any], init=False, compare=False, repr=False)
    """What others have found out about it, kept as long as it is."""

    def __getstate__(self) -> dict[str, Any]:
        """For copies and files: what was found out about this one names its own parts."""
        return {**self.__dict__, "memo": {}}


@dataclass
class _Entry:
    """The entry being built."""

    target: Target
    earlier: KnownKernels
    by_hand: Mapping[str, Choice]
    now: reliance.Now = field(default_factory=reliance.Now)
    kernels: dict[str, Kernel] = field(default_factory=dict)
    by_key: dict[str, Kernel] = field(default_factory=dict)
    values: dict[int, tuple[t.Buffer, ...]] = field(default_factory=dict)
    constants: list[tuple[t.Buffer, str, Tensor]] = field(default_factory=list)
    alike: dict[Any, list[tuple[t.Buffer, str, Tensor]]] = field(default_factory=dict)
    """The constants by `Tensor.look`."""
    temporaries: list[t.Buffer] = field(default_factory=list)
    calls: list[KernelCall | IfCall] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    shared: dict[int, tuple[r.Expr, ...]] = field(default_factory=dict)
    """What the branches of each `If` read from around it."""
    depth: int = 0
    """The `If`s whose branches are being lowered, each in a branch of the one before."""

    def unique(self, name: str) -> str:
        """`name`, or with a number when it is taken."""
        count = self.names.get(name, 0)
        self.names[name] = count + 1
        return name if count == 0 else self.unique(f"{name}_{count}")


def lower_module(
    mod: IRModule, target: Target, earlier: KnownKernels | None = None, by_hand: Mapping[str, Choice] | None = None
) -> Lowered:
    """Lower a fused relay module; `earlier` keeps kernels from one call to the next.

    `by_hand`: what a person chose to compute kernels, by their fingerprints.  Raises `WorkbenchError` for what native
    code cannot do yet.
    """
    main = mod["main"]
    if not isinstance(main, r.Function):
        raise WorkbenchError("E-LOWER-MAIN", "main is not a relay function", found=type(main).__name__)
    known = KnownKernels() if earlier is None else earlier
    entry = _Entry(target, known, by_hand or {}, shared=shared_by_branches(main))
    inputs: list[tuple[str, TensorType]] = []
    for parameter, name in zip(main.params, input_names(main), strict=True):
        tensors = tensor_types(parameter.checked_type, f"parameter {parameter.name_hint}")
        if not isinstance(parameter.checked_type, TensorType):
            raise WorkbenchError(
                "E-LOWER-PARAMETER", f"parameter {parameter.name_hint} of main is a tuple of {len(tensors)} tensors",
                expected="one tensor for each parameter", fix="give main a parameter for each of them",
                nodes=(parameter,),
            )  # fmt: skip
        (tensor,) = tensors
        _require_static(tensor, f"parameter {parameter.name_hint} of main")
        buffer = decl_buffer(tensor.concrete_shape, tensor.dtype, entry.unique(parameter.name_hint))
        entry.values[id(parameter)] = (buffer,)
        inputs.append((name, tensor))
    _lower_all(main.body, entry)
    names = output_names(mod.attrs, tensor_types(main.body.checked_type, "the result of main"))
    lowered = _finish(main, entry, inputs, names)
    return replace(lowered, guards=guards_of(mod.attrs))


def output_names(attrs: Mapping[str, Any], outputs: Sequence[TensorType]) -> tuple[str, ...]:
    """The names of a module's outputs, where it has them.  Raises `WorkbenchError` where they are not one for each."""
    names = attrs.get("output_names", ())
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise WorkbenchError(NAMES, "names of outputs are texts", found=repr(names)[:80], expected='("y", ...)')
    if names and len(names) != len(outputs):
        raise WorkbenchError(
            NAMES, f"there are {len(names)} names of outputs for {len(outputs)}", where="attribute output_names",
            found=", ".join(names)[:80],
        )  # fmt: skip
    return tuple(names)


def _require_static(tensor: TensorType, where: str) -> None:
    """Refuse a tensor of which some extent is known only at run time."""
    if not tensor.is_static:
        raise WorkbenchError(
            "E-TYPE-DYNAMIC",
            "code is compiled for known extents only",
            where=where,
            found=repr(tensor),
            expected="a number for every dimension",
            fix="give the extents: relay.var(name, shape=numbers), or shape= when opening a model; "
            "the interpreter runs programs of unknown extents",
        )


def input_names(main: r.Function) -> list[str]:
    """A name for each parameter, by which it is set: its own; where several have one, the later ones get numbers."""
    own = [parameter.name_hint for parameter in main.params]
    taken, names = set(own), dict[str, None]()
    for name in own:
        if name in names:
            name = next(item for number in count(1) if (item := f"{name}_{number}") not in taken)
            taken.add(name)
        names[name] = None
    return list(names)


def _lower_all(body: r.Expr, entry: _Entry) -> None:
    """Lower everything that `body` needs, in dependency order; what stands in branches and kernels is their affair."""
    for current in progress.track(_needed(body, entry), "lower"):
        if id(current) not in entry.values:
            entry.values[id(current)] = _lower(current, entry)


def _needed(body: r.Expr, entry: _Entry) -> list[r.Expr]:
    """The expressions that `body` needs, operands first, down to those that are known."""
    return list(parts_first([body], lambda current: () if id(current) in entry.values else _operands(current, entry)))


def _operands(current: r.Expr, entry: _Entry) -> tuple[r.Expr, ...]:
    if isinstance(current, r.Call):
        return current.args
    if isinstance(current, r.Tuple):
        return current.fields
    if isinstance(current, r.TupleGetItem):
        return (current.tuple_value,)
    return (current.cond, *entry.shared.get(id(current), ())) if isinstance(current, r.If) else ()


def _choice(current: r.If, entry: _Entry) -> tuple[t.Buffer, ...]:
    """Both branches, each in a scope of its own: what only a branch computes is not known after it."""
    results = tuple(
        decl_buffer(tensor.concrete_shape, tensor.dtype, entry.unique("chosen"))
        for tensor in tensor_types(current.checked_type, "the result of an if")
    )
    branches: list[tuple[KernelCall | IfCall, ...]] = []
    entry.depth += 1
    limits.check("nesting", entry.depth, "an if in the branches of others, each in the one before,", "function main")
    for branch in (current.true_branch, current.false_branch):
        calls, values = entry.calls, dict(entry.values)
        entry.calls = []
        _lower_all(branch, entry)
        found = entry.values[id(branch)]
        copies = [_copy_call(source, target, entry) for source, target in zip(found, results, strict=True)]
        branches.append((*entry.calls, *copies))
        entry.calls, entry.values = calls, values
    entry.depth -= 1
    entry.temporaries.extend(results)
    entry.calls.append(IfCall(entry.values[id(current.cond)][0], branches[0], branches[1], current))
    return results


def _lower(current: r.Expr, entry: _Entry) -> tuple[t.Buffer, ...]:
    if isinstance(current, r.Constant):
        return (_constant(current.data, entry),)
    if isinstance(current, r.Tuple):
        return tuple(buffer for item in current.fields for buffer in entry.values[id(item)])
    if isinstance(current, r.TupleGetItem):
        return (entry.values[id(current.tuple_value)][current.index],)
    if isinstance(current, r.If):
        return _choice(current, entry)
    if isinstance(current, r.Call) and isinstance(current.op, r.Function):
        return _call(current, current.op, entry)
    if isinstance(current, r.Call) and isinstance(current.op, Operator):
        return _call(current, _alone(current, current.op), entry)
    fix = "functions, references and matches run in the interpreter"
    if isinstance(current, r.Let):
        fix = "run the pass ToGraphNormalForm after InferType: it takes lets without effects away"
    raise WorkbenchError(
        "E-LOWER-EXPRESSION",
        f"the native entry cannot hold a {type(current).__name__} yet",
        found=repr(current)[:120],
        fix=fix,
        nodes=(current,),
    )


def _alone(call: r.Call, op: Operator) -> r.Function:
    """An operator that no fusion took, as a kernel of its own."""
    params = tuple(r.Var(f"p{index}", argument.checked_type) for index, argument in enumerate(call.args))
    body = r.Call(op, params)
    origin.derived(body, call)
    return r.Function(params, body, call.checked_type, (), FrozenMap({"Primitive": 1}))


def _constant(data: Tensor, entry: _Entry) -> t.Buffer:
    alike = entry.alike.setdefault(data.look, [])
    known = next((known for known in alike if known[2] == data), None)
    if known is None:
        name = entry.unique(f"constant_{len(entry.constants)}")
        known = (decl_buffer(data.shape, data.dtype, name), name, data)
        entry.constants.append(known)
        alike.append(known)
    return known[0]


def _call(call: r.Call, function: r.Function, entry: _Entry) -> tuple[t.Buffer, ...]:
    arguments = [buffer for item in call.args for buffer in entry.values[id(item)]]
    renamed = _renamed_operand(function)
    if renamed is not None:
        return entry.values[id(call.args[renamed])]
    kernel = _kernel(function, entry)
    arguments += [_constant(data, entry) for data in kernel.constants]
    outputs = tuple(
        decl_buffer(tensor.concrete_shape, tensor.dtype, entry.unique(kernel.name.removeprefix("fused_")))
        for tensor in tensor_types(call.checked_type, f"call of {kernel.name}")
    )
    entry.temporaries.extend(outputs)
    entry.calls.append(KernelCall(kernel.name, (*arguments, *outputs), call))
    return outputs


def _renamed_operand(function: r.Function) -> int | None:
    """The operand whose bytes a fused function answers as they are; None if it computes something."""
    body = function.body
    while isinstance(body, r.Call) and isinstance(body.op, Operator) and isinstance(body.checked_type, TensorType):
        if body.op.aliasing is None:
            return None
        operand = body.args[body.op.aliasing]
        _check_aliasing(body, operand)
        body = operand
    places = (at for at, parameter in enumerate(function.params) if parameter is body)
    return next(places, None)


def _check_aliasing(call: r.Call, operand: r.Expr) -> None:
    """An operator that says it renames memory must answer as many bytes as the operand has."""
    result, source = (tensor_types(part.checked_type, "an operand that is renamed") for part in (call, operand))
    if [(one.size, one.dtype) for one in result] != [(one.size, one.dtype) for one in source]:
        assert isinstance(call.op, Operator)
        raise WorkbenchError(
            "E-OPERATOR-FACT",
            f"operator {call.op.name}: aliasing cannot be that: the result does not hold the operand's elements",
            found=f"{operand.checked_type} becomes {call.checked_type}",
            expected="as many elements of the same dtype",
            nodes=(call,),
        )


def _kernel(function: r.Function, entry: _Entry) -> Kernel:
    """The kernel of a fused function; equal functions share one."""
    key = kernel_key(function)
    kernel = entry.by_key.get(key)
    if kernel is None:
        name = entry.unique(kernel_name(function))
        kernel = entry.earlier.kernel(name, function, key, entry.target, entry.now, entry.by_hand.get(key))
        entry.by_key[key] = kernel
        entry.kernels[kernel.name] = kernel
        listener = _listener.get()
        if listener is not None:
            listener(kernel)
    return kernel


def _finish(
    main: r.Function, entry: _Entry, inputs: list[tuple[str, TensorType]], output_names: tuple[str, ...]
) -> Lowered:
    types = tensor_types(main.body.checked_type, "the result of main")
    outputs, stands_for, copies = _outputs(entry.values[id(main.body)], types, entry)
    allocated = tuple(buffer for buffer in entry.temporaries if id(buffer) not in stands_for)
    calls = tuple(_renamed(call, stands_for) for call in [*entry.calls, *copies])
    body = _statements(calls)
    root = t.Block("root", (), (), (), allocated, None, body)
    held = entry.constants
    params = tuple(entry.values[id(parameter)][0] for parameter in main.params)
    attrs = FrozenMap({"global_symbol": "main", "target": entry.target, "role": "entry"})
    func = t.PrimFunc(
        (*params, *(buffer for buffer, _, _ in held), *outputs), t.BlockRealize((), const(True), root), attrs
    )
    origin.derived(func, main)
    functions = {"main": func, **{name: kernel.func for name, kernel in entry.kernels.items()}}
    return Lowered(
        IRModule(functions),
        tuple(entry.kernels.values()),
        tuple(call for call in calls if isinstance(call, KernelCall)) if _straight(calls) else (),
        tuple(inputs),
        tuple((name, data) for _, name, data in held),
        types,
        allocated,
        output_names,
    )


def _straight(calls: tuple[KernelCall | IfCall, ...]) -> bool:
    return all(isinstance(call, KernelCall) for call in calls)


def _renamed(call: KernelCall | IfCall, stands_for: dict[int, t.Buffer]) -> KernelCall | IfCall:
    """The call with outputs in place of the intermediates that they stand for."""
    if isinstance(call, KernelCall):
        return replace(call, buffers=tuple(stands_for.get(id(buffer), buffer) for buffer in call.buffers))
    then, otherwise = (tuple(_renamed(inner, stands_for) for inner in branch) for branch in (call.then, call.otherwise))
    return IfCall(stands_for.get(id(call.condition), call.condition), then, otherwise, call.relay_call)


def _statements(calls: tuple[KernelCall | IfCall, ...]) -> t.Stmt:
    """The calls in order, with a look at the cancel word between them."""
    body: list[t.Stmt] = []
    for call in calls:
        stmt = _call_stmt(call) if isinstance(call, KernelCall) else _if_stmt(call)
        poll = t.Evaluate(Call(DataType("void"), "poll_cancel", ()))
        body += [origin.derived(item, call.relay_call) for item in (stmt, poll)]
    return seq(body[:-1] if body else body)


def _if_stmt(choice: IfCall) -> t.Stmt:
    condition = load(choice.condition, *(0 for _ in choice.condition.shape))
    return t.IfThenElse(condition, _statements(choice.then), _statements(choice.otherwise))


def _outputs(
    results: tuple[t.Buffer, ...], types: tuple[TensorType, ...], entry: _Entry
) -> tuple[list[t.Buffer], dict[int, t.Buffer], list[KernelCall]]:
    """An output parameter for each result.

    It stands for the intermediate that holds the result (whose shape may differ by a reshape); results that are
    inputs, constants or repeated are copied into it.
    """
    temporary = {id(buffer) for buffer in entry.temporaries}
    stands_for: dict[int, t.Buffer] = {}
    outputs: list[t.Buffer] = []
    copies: list[KernelCall] = []
    for index, (buffer, tensor) in enumerate(zip(results, types, strict=True)):
        output = decl_buffer(tensor.concrete_shape, tensor.dtype, entry.unique(f"output_{index}"))
        outputs.append(output)
        if id(buffer) in temporary and id(buffer) not in stands_for:
            stands_for[id(buffer)] = output
        else:
            copies.append(_copy_call(buffer, output, entry))
    return outputs, stands_for, copies


def _copy_call(source: t.Buffer, target: t.Buffer, entry: _Entry) -> KernelCall:
    tensor = TensorType(source.shape, source.dtype)  # type: ignore[arg-type]
    parameter = r.Var("source", tensor)
    function = r.Function((parameter,), call_operator("copy", parameter), tensor, (), FrozenMap({"Primitive": 1}))
    kernel = _kernel(function, entry)
    return KernelCall(kernel.name, (source, target), function)


def _call_stmt(call: KernelCall) -> t.Stmt:
    addresses = tuple(_address(buffer) for buffer in call.buffers)
    return t.Evaluate(Call(DataType("void"), "call_tir", (StringImm(call.kernel), *addresses)))


def _address(buffer: t.Buffer) -> PrimExpr:
    return Call(DataType("handle"), "address_of", (load(buffer, *(0 for _ in buffer.shape)),))
