"""The checking interpreter: runs a loop program on NumPy arrays and says exactly what goes wrong.

Every access is checked against its buffer, every read of an allocated buffer against earlier writes; on demand also
each block against the regions it declares, and loops that run side by side against races.  Integers wrap to their
width, floats round after every operation to their dtype.  The program is compiled to Python once and then runs
about a million simple steps a second.

    interpret(matmul, a, b, c)          # c is changed in place
    interpret(main, x, y, module=mod, check_races=True)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final, TypeGuard
from weakref import WeakKeyDictionary

import numpy as np

from ..arith import nodes as n
from ..arith.build import const
from ..arith.intrinsics import ADDRESSES
from ..core import reliance
from ..core.arguments import unmasked
from ..core.errors import WorkbenchError, nearest
from ..core.limits import limits
from ..core.module import IRModule
from ..core.node import pre_order, substitute
from . import nodes as t
from .interpreting.machine import CELL_BYTES, Machine, Pointer, Returned, Storage
from .interpreting.numbers import wrap
from .interpreting.statements import Checks, Compiled, compile_function, shape_variables
from .op import writes_through
from .outside import require_allowed

GIVEN_BYTES: Final = 40
"""What an element takes that is a number of Python's."""
_compiled: WeakKeyDictionary[t.PrimFunc, dict[Checks, tuple[Compiled, reliance.Reliance]]] = WeakKeyDictionary()


def interpret(
    function: t.PrimFunc,
    *arguments: Any,
    module: IRModule | None = None,
    check_regions: bool = False,
    check_races: bool = False,
    max_steps: int | None = None,
) -> Any:
    """Run `function`; arrays that it writes are changed in place.  Answers what ``T.ret`` returns, else 0.

    `arguments` are an array a buffer (of its dtype and shape) and a number a scalar, in the parameters' order; shape
    variables are bound from the arrays.  Calls of ``T.call_tir`` go to functions of `module`.  Raises
    `WorkbenchError`: E-TIR-ARGUMENT for unfit arguments; E-TIR-BOUNDS, E-TIR-UNINITIALISED, E-TIR-DIVIDE,
    E-TIR-DOMAIN, E-TIR-ASSERT, E-TIR-REGION, E-TIR-RACE for errors of the program; E-TIR-STEPS after `max_steps`
    loop iterations (by default `limits.interpreter_steps`); E-LIMIT before its elements take more than
    `limits.interpreter_bytes`, and E-TIR-MEMORY where there is not so much.
    """
    try:
        return _interpreted(function, arguments, _Runner(module, check_regions, check_races), max_steps)
    except MemoryError:
        raise WorkbenchError(
            "E-TIR-MEMORY", "there is not enough memory to interpret this program",
            where=str(function.attrs.get("global_symbol", "")), found="an object of Python for each element",
            expected="smaller arrays", fix="interpret smaller shapes, or compile the program", nodes=(function,),
        ) from None  # fmt: skip


def _interpreted(function: t.PrimFunc, arguments: Sequence[Any], runner: _Runner, max_steps: int | None) -> Any:
    given = sum(argument.size for argument in arguments if _is_array(argument)) * GIVEN_BYTES
    limits.check("interpreter_bytes", given, "interpreting with these arguments", "the arguments")
    bound = _Arguments(function, arguments)
    written = _written_parameters(function, runner.module)
    bound.refuse_overlaps(written)
    machine = Machine(runner.call, max_steps if max_steps is not None else limits.interpreter_steps)
    machine.bytes = given
    compiled = runner.compiled(function, called=False)
    value = _run(compiled, machine, [*bound.values(), *bound.shape_values()])
    bound.write_back(written)
    return value


def interpreted_bytes(function: t.PrimFunc) -> int:
    """What the elements of a function take while it is interpreted, by the sizes that are written in it."""
    allocated = [buffer for node in pre_order(function.body) for buffer in _allocated_at(node)]
    parameters = [parameter for parameter in function.params if isinstance(parameter, t.Buffer)]
    return GIVEN_BYTES * sum(map(_elements, parameters)) + CELL_BYTES * sum(map(_elements, allocated))


def _allocated_at(node: Any) -> tuple[t.Buffer, ...]:
    if isinstance(node, t.Block):
        return node.alloc_buffers
    return (node.buffer,) if isinstance(node, t.AllocBuffer) else ()


def _elements(buffer: t.Buffer) -> int:
    return prod(extent.value if isinstance(extent, n.IntImm) else 1 for extent in buffer.shape)


def _run(compiled: Compiled, machine: Machine, values: Sequence[Any]) -> Any:
    try:
        with np.errstate(all="ignore"):
            compiled.run(machine, *values)
    except Returned as returned:
        return returned.value.item() if isinstance(returned.value, np.generic) else returned.value
    except RecursionError:
        raise WorkbenchError("E-TIR-INTERPRET", "functions call each other without end") from None
    return 0


def _is_array(given: object) -> TypeGuard[np.ndarray]:
    return isinstance(given, np.ndarray)


def _is_number(given: object) -> TypeGuard[int | float | np.number[Any] | np.bool_]:
    return isinstance(given, (int, float, np.number, np.bool_))


class _Runner:
    """Finds and runs the functions that are called."""

    def __init__(self, module: IRModule | None, regions: bool, races: bool) -> None:
        self.module = module
        self.regions, self.races = regions, races
        self._now = reliance.Now()

    def compiled(self, function: t.PrimFunc, called: bool) -> Compiled:
        checks = Checks(self.regions, self.races, called)
        known = _compiled.setdefault(function, {})
        found = known.get(checks)
        if found is None or not found[1].holds(self._now):
            require_allowed(function)
            with reliance.recording() as recorded:
                made = compile_function(function, checks)
            found = known[checks] = made, recorded.settled()
        return found[0]

    def call(self, machine: Machine, name: str, *arguments: Any) -> None:
        """``T.call_tir(name, ...)``: pointers for buffers, numbers for scalars and shape variables."""
        function = called_function(self.module, name)
        compiled = self.compiled(function, called=True)
        wanted = len(function.params) + len(compiled.shape_variables)
        if len(arguments) != wanted:
            raise WorkbenchError(
                "E-TIR-ARGUMENT",
                f"{name} takes {wanted} arguments",
                found=f"{len(arguments)} arguments",
                nodes=(function,),
            )
        variables = [parameter for parameter in function.params if isinstance(parameter, n.Var)]
        scalars = [
            value for parameter, value in zip(function.params, arguments, strict=False) if isinstance(parameter, n.Var)
        ]
        known = dict(
            zip([*variables, *compiled.shape_variables], [*scalars, *arguments[len(function.params) :]], strict=True)
        )
        for parameter, argument in zip(function.params, arguments, strict=False):
            if isinstance(parameter, t.Buffer):
                _check_pointer(name, parameter, argument, known)
        with machine.called():
            returned = _run(compiled, machine, arguments)
        if returned:
            raise WorkbenchError(
                "E-TIR-CALL", f"{name} returns a value by T.ret, which T.call_tir has no place for",
                expected="results in buffers", fix="store the value in a buffer of one element that is a parameter",
                nodes=(function,),
            )  # fmt: skip


def called_function(module: IRModule | None, name: str) -> t.PrimFunc:
    """The function of a module that ``T.call_tir`` names."""
    known = list(module) if module is not None else []
    function = module[name] if module is not None and name in module else None
    if not isinstance(function, t.PrimFunc):
        raise WorkbenchError(
            "E-TIR-CALL",
            f"there is no function {name!r} to call",
            fix=nearest(name, known) or ("pass module=" if module is None else "add it to the module"),
        )
    return function


def _check_pointer(name: str, parameter: t.Buffer, argument: Any, known: dict[n.Var, Any]) -> None:
    if not isinstance(argument, Pointer):
        raise WorkbenchError(
            "E-TIR-ARGUMENT",
            f"{name} wants the address of a buffer for {parameter.name}",
            found=type(argument).__name__,
        )
    if argument.storage.dtype != parameter.dtype:
        raise WorkbenchError(
            "E-TIR-ARGUMENT",
            f"{parameter.name} of {name} holds {parameter.dtype}",
            found=f"{argument.storage.name}, which holds {argument.storage.dtype}",
            nodes=(parameter,),
        )
    size = _storage_size(parameter, [_evaluated(extent, known) for extent in parameter.shape], known)
    rest = len(argument.storage.cells) - argument.offset
    if size > rest:
        raise WorkbenchError(
            "E-TIR-BOUNDS",
            f"{parameter.name} of {name} reaches beyond the end of {argument.storage.name}",
            found=f"{rest} elements from the address on",
            expected=f"{size} elements",
            nodes=(parameter,),
        )


def _evaluated(expr: n.PrimExpr, known: dict[n.Var, Any]) -> int:
    """The value of an index expression of known variables."""
    if isinstance(expr, n.IntImm):
        return expr.value
    if isinstance(expr, n.Var):
        return int(known[expr])
    variables = [node for node in pre_order(expr) if isinstance(node, n.Var)]
    closed = substitute(expr, {variable: const(int(known[variable]), variable.dtype) for variable in variables})
    result = t.Buffer("result", (const(1),), expr.dtype)
    cell = np.zeros(1, expr.dtype.to_numpy())
    interpret(t.PrimFunc((result,), t.BufferStore(result, closed, (const(0),))), cell)
    return int(cell[0])


def _storage_size(buffer: t.Buffer, shape: Sequence[int], known: dict[n.Var, Any]) -> int:
    """How many elements a buffer's storage has at least."""
    offset = _evaluated(buffer.elem_offset, known) if buffer.elem_offset is not None else 0
    if any(extent <= 0 for extent in shape):
        return 0
    if not buffer.strides:
        return offset + int(np.prod(shape, dtype=object)) if shape else offset + 1
    strides = [_evaluated(stride, known) for stride in buffer.strides]
    return offset + 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))


# --- arguments ----------------------------------------------------------------------------------------------------


class _Arguments:
    """The caller's arrays and numbers, checked, and the storages made of them."""

    def __init__(self, function: t.PrimFunc, arguments: Sequence[Any]) -> None:
        self.function = function
        if len(arguments) != len(function.params):
            raise self._error(
                f"{len(function.params)} arguments are wanted", f"{len(arguments)} arguments",
                ", ".join(parameter.name for parameter in function.params),
            )  # fmt: skip
        self.known: dict[n.Var, Any] = {}
        self.arguments: list[Any] = []
        for parameter, argument in zip(function.params, arguments, strict=True):
            if isinstance(parameter, n.Var):
                self.known[parameter] = self._scalar(parameter, argument)
                self.arguments.append(self.known[parameter])
            else:
                self.arguments.append(self._array(parameter, argument))
        for parameter, argument in zip(function.params, self.arguments, strict=True):
            if isinstance(parameter, t.Buffer):
                self._bind_shape(parameter, argument)
        self._check_shapes()
        self.storages = {
            id(parameter): self._storage(parameter, argument)
            for parameter, argument in zip(function.params, self.arguments, strict=True)
            if isinstance(parameter, t.Buffer)
        }

    def _error(self, message: str, found: str = "", expected: str = "", node: Any = None) -> WorkbenchError:
        return WorkbenchError(
            "E-TIR-ARGUMENT", message, found=found, expected=expected, nodes=(node,) if node is not None else ()
        )

    def _scalar(self, parameter: n.Var, argument: Any) -> Any:
        if _is_array(argument) and argument.ndim == 0:
            argument = argument[()]
        if not _is_number(argument):
            raise self._error(f"{parameter.name} is a number", type(argument).__name__, str(parameter.dtype), parameter)
        if parameter.dtype.is_float:
            return parameter.dtype.to_numpy().type(argument)
        if int(argument) != argument or wrap(int(argument), parameter.dtype) != argument:
            raise self._error(
                f"{parameter.name} is a {parameter.dtype}", repr(argument), str(parameter.dtype), parameter
            )
        return bool(argument) if parameter.dtype.is_bool else int(argument)

    def _array(self, parameter: t.Buffer, argument: Any) -> np.ndarray:
        if not _is_array(argument):
            raise self._error(f"{parameter.name} is an array", type(argument).__name__, "a NumPy array", parameter)
        unmasked(argument, f"parameter {parameter.name}")
        if argument.dtype != parameter.dtype.to_numpy():
            raise self._error(
                f"{parameter.name} holds {parameter.dtype}", str(argument.dtype), str(parameter.dtype), parameter
            )
        if argument.ndim != len(parameter.shape):
            raise self._error(
                f"{parameter.name} has {len(parameter.shape)} axes", f"shape {argument.shape}", "", parameter
            )
        return argument

    def _bind_shape(self, parameter: t.Buffer, array: np.ndarray) -> None:
        for extent, found in zip(parameter.shape, array.shape, strict=True):
            if isinstance(extent, n.Var) and extent not in self.known:
                self.known[extent] = found

    def _check_shapes(self) -> None:
        for variable in shape_variables(self.function):
            if variable not in self.known:
                raise self._error(
                    f"shape variable {variable.name} is the extent of no axis",
                    "",
                    "a parameter or a plain axis",
                    variable,
                )
        for parameter, array in zip(self.function.params, self.arguments, strict=True):
            if isinstance(parameter, t.Buffer):
                wanted = tuple(_evaluated(extent, self.known) for extent in parameter.shape)
                if wanted != array.shape:
                    raise self._error(
                        f"{parameter.name} has shape {wanted}", f"shape {array.shape}", f"shape {wanted}", parameter
                    )

    def _storage(self, parameter: t.Buffer, array: np.ndarray) -> Storage:
        cells = _cells(array, parameter)
        if parameter.strides or parameter.elem_offset is not None:
            spread: list[Any] = [None] * _storage_size(parameter, array.shape, self.known)
            for value, place in zip(cells, self._places(parameter, array.shape), strict=True):
                spread[place] = value
            cells = spread
        return Storage(cells, parameter.dtype, parameter.name)

    def _places(self, parameter: t.Buffer, shape: tuple[int, ...]) -> list[int]:
        offset = _evaluated(parameter.elem_offset, self.known) if parameter.elem_offset is not None else 0
        if not parameter.strides:
            return list(range(offset, offset + int(np.prod(shape))))
        strides = [_evaluated(stride, self.known) for stride in parameter.strides]
        return [
            offset + sum(index * stride for index, stride in zip(point, strides, strict=True))
            for point in np.ndindex(shape)
        ]

    def values(self) -> list[Any]:
        return [
            Pointer(self.storages[id(parameter)], 0) if isinstance(parameter, t.Buffer) else argument
            for parameter, argument in zip(self.function.params, self.arguments, strict=True)
        ]

    def shape_values(self) -> list[int]:
        return [int(self.known[variable]) for variable in shape_variables(self.function)]

    def refuse_overlaps(self, written: set[int]) -> None:
        """Refuse read-only outputs and memory that is given twice and written."""
        buffers = [(p, a) for p, a in zip(self.function.params, self.arguments, strict=True) if isinstance(p, t.Buffer)]
        for parameter, array in buffers:
            if id(parameter) not in written:
                continue
            if not array.flags.writeable:
                raise self._error(f"{parameter.name} is written, but its array is read-only", node=parameter)
            for other, partner in buffers:
                if other is not parameter and np.may_share_memory(array, partner):
                    raise self._error(
                        f"{parameter.name} is written and shares memory with {other.name}",
                        expected="arrays that do not overlap", node=parameter,
                    )  # fmt: skip

    def write_back(self, written: set[int]) -> None:
        """Copy what was written into the caller's arrays."""
        for parameter, array in zip(self.function.params, self.arguments, strict=True):
            if not isinstance(parameter, t.Buffer) or id(parameter) not in written or not array.size:
                continue
            cells = self.storages[id(parameter)].cells
            if parameter.strides or parameter.elem_offset is not None:
                cells = [cells[place] for place in self._places(parameter, array.shape)]
            array[...] = np.array(cells, array.dtype).reshape(array.shape)


def _cells(array: np.ndarray, parameter: t.Buffer) -> list[Any]:
    """The elements as the interpreter keeps them: Python integers and bools, NumPy floats."""
    flat = array.reshape(-1)
    if parameter.dtype.is_float:
        return list(flat)
    return [int(value) for value in flat] if array.dtype.kind == "V" else flat.tolist()


def _written_parameters(function: t.PrimFunc, module: IRModule | None) -> set[int]:
    """Which buffer parameters (by identity) the function or what it calls may write."""
    known: dict[int, set[int]] = {}
    stack: list[tuple[t.PrimFunc, bool]] = [(function, False)]
    while stack:
        current, expanded = stack.pop()
        if id(current) in known and not expanded:
            continue
        known.setdefault(id(current), set())
        if not expanded:
            stack.append((current, True))
            stack.extend((callee, False) for callee, _ in _calls(current, module))
            continue
        written = known[id(current)]
        written.update(id(node.buffer) for node in pre_order(current) if isinstance(node, t.BufferStore))
        written.update(_handed_out(current))
        for callee, passed in _calls(current, module):
            for parameter, buffer in zip(callee.params, passed, strict=False):
                if buffer is not None and id(parameter) in known.get(id(callee), ()):
                    written.add(id(buffer))
    return known[id(function)]


def _handed_out(function: t.PrimFunc) -> set[int]:
    """Buffers (by identity) whose addresses are given, to be written through, to what is no function of the module."""
    found: set[int] = set()
    passed: set[int] = set()
    for node in pre_order(function):
        if isinstance(node, n.Call) and node.op == "call_tir":
            passed.update(id(argument) for argument in node.args)
        elif isinstance(node, n.Call) and node.op in ADDRESSES and id(node) not in passed and writes_through(node):
            found.update(id(load.buffer) for load in node.args if isinstance(load, t.BufferLoad))
    return found


def _calls(function: t.PrimFunc, module: IRModule | None) -> list[tuple[t.PrimFunc, list[t.Buffer | None]]]:
    """The functions called, each with the buffers whose addresses it gets."""
    found: list[tuple[t.PrimFunc, list[t.Buffer | None]]] = []
    for node in pre_order(function):
        if not isinstance(node, n.Call) or node.op != "call_tir" or not isinstance(node.args[0], n.StringImm):
            continue
        if module is None or node.args[0].value not in module:
            continue
        callee = module[node.args[0].value]
        if isinstance(callee, t.PrimFunc):
            found.append((callee, [_addressed(argument) for argument in node.args[1:]]))
    return found


def _addressed(argument: n.PrimExpr) -> t.Buffer | None:
    if isinstance(argument, n.Call) and argument.op == "address_of" and isinstance(argument.args[0], t.BufferLoad):
        return argument.args[0].buffer
    return None
