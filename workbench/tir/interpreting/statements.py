"""Statements and functions as Python code.

A function becomes one Python function of the machine, its parameters and its shape variables.  Python nests at most
twenty loops in a function, so a deeper nest goes on in a function inside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ...arith import nodes as n
from ...core.errors import WorkbenchError, shorten
from ...core.node import pre_order
from ...core.trampoline import Task, run
from .. import nodes as t
from ..empty_reductions import empty_reductions, sizes_of
from ..verify import HIDDEN
from .code import ExprCompiler, Lines, Place, Value
from .expressions import COMPILERS
from .machine import Storage
from .masks import by_lane, is_masked

NESTED_LOOPS: Final = 14
_EXTENT: Final = (0, 1 << 40)


@dataclass(frozen=True)
class Checks:
    """Which checks beyond bounds and first writes are compiled in; `called`: storages may begin in the middle."""

    regions: bool = False
    races: bool = False
    called: bool = False


@dataclass(frozen=True)
class Compiled:
    """A function ready to run: ``run(machine, *parameters, *shape_variables)``."""

    run: Callable[..., None]
    shape_variables: tuple[n.Var, ...]


def shape_variables(function: t.PrimFunc) -> tuple[n.Var, ...]:
    """Variables in the buffers of the parameters that are no parameters themselves, by first appearance."""
    given = {id(parameter) for parameter in function.params}
    found: dict[int, n.Var] = {}
    for parameter in function.params:
        if isinstance(parameter, t.Buffer):
            for node in pre_order([*parameter.shape, *parameter.strides]):
                if isinstance(node, n.Var) and id(node) not in given:
                    found[id(node)] = node
    return tuple(found.values())


def compile_function(function: t.PrimFunc, checks: Checks) -> Compiled:
    """Python code for a function.  Raises `WorkbenchError` for what the interpreter does not know."""
    name = function.attrs.get("global_symbol", "main")
    compiler = Compiler(str(name), checks)
    variables = shape_variables(function)
    source = compiler.function_source(function, variables)
    try:
        code = compile(source, f"<interpreter of {shorten(str(name), 80)}>", "exec")
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise WorkbenchError(
            "E-TIR-INTERPRET",
            "the program nests too deeply for the interpreter",
            found=str(error)[:120],
            nodes=(function,),
        ) from None
    exec(code, compiler.namespace)
    return Compiled(compiler.namespace["run"], variables)


class Compiler(ExprCompiler):
    """Code for one function."""

    compilers = COMPILERS

    def __init__(self, function: str, checks: Checks) -> None:
        super().__init__(function, checks.regions, checks.races)
        self.checks = checks
        self.lines: list[str] = []
        self.indent = 0
        self.loop_depth = 0
        self.sizes: frozenset[n.Var] = frozenset()
        """The function's variables that stand still while it runs."""
        self.namespace["Storage"] = Storage

    def emit(self, *lines: str) -> None:
        pad = "    " * self.indent
        self.lines.extend(pad + line for line in lines)

    def function_source(self, function: t.PrimFunc, variables: tuple[n.Var, ...]) -> str:
        self.statement = function.body  # not the function, which the cache holds weakly
        self.sizes = sizes_of(function)
        for variable in (*(p for p in function.params if isinstance(p, n.Var)), *variables):
            low, high = (0, 0) if variable.dtype.is_float else variable.dtype.limits()
            is_shape = any(variable is other for other in variables)
            self.names[id(variable)] = Value(self.fresh("v"), *(_EXTENT if is_shape else (low, high)))
        arguments: list[str] = []
        for parameter in function.params:
            arguments.append(self.names[id(parameter)].code if isinstance(parameter, n.Var) else self.fresh("S"))
        shown = [*arguments, *(self.names[id(variable)].code for variable in variables)]
        self.emit(f"def run(m, {', '.join(shown)}):" if shown else "def run(m):")
        self.indent = 1
        for parameter, name in zip(function.params, arguments, strict=True):
            if isinstance(parameter, t.Buffer):
                self._parameter(parameter, name)
        self.emit("pass")
        run(self.stmt(function.body))
        return "\n".join(self.lines) + "\n"

    def _parameter(self, buffer: t.Buffer, name: str) -> None:
        offset = self.fresh("o") if self.checks.called else ""
        if offset:
            self.emit(f"{offset} = {name}.offset")
        cells = self.fresh("L")
        self.emit(f"{name} = {name}.storage", f"{cells} = {name}.cells")
        self.place(buffer, cells, name, offset, self.checks.called or bool(buffer.strides))

    def place(self, buffer: t.Buffer, cells: str, storage: str, offset: str, may_be_unwritten: bool) -> Place:
        """Note where a buffer lives, with code for its extents and strides."""
        if buffer.dtype.is_vector:
            raise WorkbenchError("E-TIR-INTERPRET", "the interpreter knows no buffers of vectors", nodes=(buffer,))
        lines = self.begin(self.statement, *buffer.shape, *buffer.strides, buffer.elem_offset)
        extents = tuple(self._simple(self.value(extent)) for extent in buffer.shape)
        strides = tuple(self._simple(self.value(stride)) for stride in buffer.strides) or self._row_major(extents)
        terms = [offset] if offset else []
        if buffer.elem_offset is not None:
            terms.append(self.value(buffer.elem_offset).code)
        start = " + ".join(terms) if terms != ["0"] else ""
        made = Place(cells, storage, start, extents, strides, not buffer.strides, may_be_unwritten)
        self.emit(*lines.lines)
        self.places[id(buffer)] = made
        return made

    def _simple(self, value: Value) -> Value:
        return value if value.constant is not None else self.hoisted(value)

    def _row_major(self, extents: tuple[Value, ...]) -> tuple[Value, ...]:
        strides: list[Value] = []
        stride = Value("1", 1, 1)
        for extent in reversed(extents):
            strides.append(stride)
            if stride.constant is not None and extent.constant is not None:
                size = stride.constant * extent.constant
                stride = Value(str(size), size, size)
            else:
                stride = self.hoisted(Value(f"({stride.code} * {extent.code})", 0, 1 << 62))
        return tuple(reversed(strides))

    def flush(self, lines: Lines) -> None:
        self.emit(*lines.lines)

    # --- the walk ---

    def stmt(self, node: t.Stmt) -> Task:
        compiler = _COMPILERS.get(type(node))
        if compiler is None:
            raise WorkbenchError("E-TIR-INTERPRET", f"the interpreter knows no {type(node).__name__}", nodes=(node,))
        return compiler(self, node)

    def suite(self, node: t.Stmt) -> Task:
        self.indent += 1
        length = len(self.lines)
        yield self.stmt(node)
        if len(self.lines) == length:
            self.emit("pass")
        self.indent -= 1


def _store(c: Compiler, node: t.BufferStore) -> Task:
    if is_masked(node):
        yield _lanes(c, node)
        return
    lines = c.begin(node, node.value, *node.indices)
    wanted = node.buffer.dtype.with_lanes(node.value.dtype.lanes)
    vector = bool(node.indices) and node.indices[-1].dtype.is_vector
    if node.value.dtype != wanted or node.value.dtype.is_vector != vector:
        raise WorkbenchError(
            "E-TIR-DTYPE",
            f"a {node.value.dtype} is stored into {node.buffer.name}, which holds {node.buffer.dtype}",
            fix="cast the value",
            nodes=(node,),
        )
    value = c.value(node.value)  # before the place, as native code does: a call in one may write what the other reads
    indices = [c.value(index) for index in node.indices]
    position, _ = c.position(node.buffer, indices, vector, "writes")
    c.flush(lines)
    place = c.places[id(node.buffer)]
    if vector:
        c.emit(f"m.scatter({place.cells}, {position}, {value.code}, {node.buffer.dtype.is_float})")
    else:
        c.emit(f"{place.cells}[{position}] = {value.code}")
    return
    yield


def _sequence(c: Compiler, node: t.SeqStmt) -> Task:
    for stmt in node.stmts:
        yield c.stmt(stmt)


def _evaluate(c: Compiler, node: t.Evaluate) -> Task:
    lines = c.begin(node, node.value)
    value = c.value(node.value)
    c.flush(lines)
    if value.constant is None and value.code != "None":
        c.emit(value.code)
    return
    yield


def _assert(c: Compiler, node: t.AssertStmt) -> Task:
    lines = c.begin(node, node.condition)
    condition = c.value(node.condition)
    c.flush(lines)
    c.emit(f"if not {condition.code}: m.failed({c.site()}, {node.message!r}, {c.loop_values()})")
    return
    yield


def _let(c: Compiler, node: t.LetStmt) -> Task:
    lines = c.begin(node, node.value)
    value = c.value(node.value)
    c.flush(lines)
    name = c.fresh("v")
    c.emit(f"{name} = {value.code}")
    c.names[id(node.var)] = Value(name, value.low, value.high)
    yield c.stmt(node.body)


def _allocate(c: Compiler, buffer: t.Buffer) -> None:
    cells, storage = c.fresh("L"), c.fresh("S")
    place = c.place(buffer, cells, storage, "", True)
    size = " * ".join(extent.code for extent in place.extents) or "1"
    if buffer.strides:
        steps = [
            f"({extent.code} - 1) * {stride.code}" for extent, stride in zip(place.extents, place.strides, strict=True)
        ]
        size = " + ".join(["1", place.offset or "0", *steps])
    elif place.offset:
        size = f"{place.offset} + {size}"
    dtype = c.bind("dtype", buffer.dtype, ("dtype", buffer.dtype))
    c.emit(f"{cells} = m.allocate({c.site(buffer)}, {size})", f"{storage} = Storage({cells}, {dtype}, {buffer.name!r})")
    for block in c.blocks:
        block["inside"].add(id(buffer))


def _alloc_stmt(c: Compiler, node: t.AllocBuffer) -> Task:
    c.statement = node
    _allocate(c, node.buffer)
    yield c.stmt(node.body)


def _lanes(c: Compiler, node: t.BufferStore | t.IfThenElse) -> Task:
    """A masked statement as a loop over lanes; the loop must outlive the names that were made for it."""
    loop = by_lane(node)
    c.bind("lanes", loop)
    yield c.stmt(loop)


def _if(c: Compiler, node: t.IfThenElse) -> Task:
    if is_masked(node):
        yield _lanes(c, node)
        return
    lines = c.begin(node, node.condition)
    condition = c.value(node.condition)
    c.flush(lines)
    c.emit(f"if {condition.code}:")
    yield c.suite(node.then_case)
    if node.else_case is not None:
        c.emit("else:")
        yield c.suite(node.else_case)


def _inside_function(c: Compiler, loop: Task) -> Task:
    """Go on in a function inside, where Python counts loops anew."""
    name, depth = c.fresh("nest"), c.loop_depth
    c.emit(f"def {name}():")
    c.indent += 1
    c.loop_depth = 0
    yield loop
    c.indent -= 1
    c.loop_depth = depth
    c.emit(f"{name}()")


def _for(c: Compiler, node: t.For) -> Task:
    return _inside_function(c, _plain_for(c, node)) if c.loop_depth >= NESTED_LOOPS else _plain_for(c, node)


def _plain_for(c: Compiler, node: t.For) -> Task:
    for condition, inits, _ in empty_reductions(node, c.sizes):
        lines = c.begin(node, condition)
        never = c.value(condition)
        c.flush(lines)
        c.emit(f"if {never.code}:")
        yield c.suite(inits)
    lines = c.begin(node, node.min, node.extent)
    start, extent = c.value(node.min), c.value(node.extent)
    c.flush(lines)
    name = c.fresh("v")
    c.emit(f"m.tick({c.site()}, {extent.code})")
    stop = f"{start.code} + {extent.code}" if start.constant != 0 else extent.code
    # The threads of a reduction wait for each other.
    watched = c.check_races and node.kind in t.AT_ONCE and not node.is_cross_thread
    race = c.fresh("race")
    if watched:
        c.emit(f"{race} = m.enter({c.site()}, {node.var.name!r})")
    c.emit(f"for {name} in range({stop if start.constant == 0 else f'{start.code}, {stop}'}):")
    if watched:
        c.emit(f"    {race}.iteration = {name}")
    high = max(start.high + extent.high - 1, start.low)
    least, most = node.var.dtype.limits()
    c.names[id(node.var)] = Value(name, max(start.low, least), min(high, most))
    c.loops.append(node.var)
    c.loop_depth += 1
    yield c.suite(node.body)
    c.loop_depth -= 1
    c.loops.pop()
    if watched:
        c.emit("m.leave()")


def _while(c: Compiler, node: t.While) -> Task:
    return _inside_function(c, _plain_while(c, node)) if c.loop_depth >= NESTED_LOOPS else _plain_while(c, node)


def _plain_while(c: Compiler, node: t.While) -> Task:
    c.emit("while True:")
    c.indent += 1
    lines = c.begin(node, node.condition)
    condition = c.value(node.condition)
    c.flush(lines)
    c.emit(f"if not {condition.code}: break", f"m.tick({c.site()}, 1)")
    c.indent -= 1
    c.loop_depth += 1
    yield c.suite(node.body)
    c.loop_depth -= 1


# --- blocks -------------------------------------------------------------------------------------------------------


def _realize(c: Compiler, node: t.BlockRealize) -> Task:
    block = node.block
    domains = [part for iterator in block.iter_vars for part in (iterator.dom.min, iterator.dom.extent)]
    lines = c.begin(node, node.predicate, *node.iter_values, *domains)
    values = [c.value(value) for value in node.iter_values]
    always = isinstance(node.predicate, n.IntImm) and node.predicate.value == 1
    condition = "" if always else c.value(node.predicate).code
    ranges = [(c.value(iterator.dom.min), c.value(iterator.dom.extent)) for iterator in block.iter_vars]
    c.flush(lines)
    if condition:
        c.emit(f"if {condition}:")
        c.indent += 1
    starting: list[str] = []
    for iterator, value, (low, extent) in zip(block.iter_vars, values, ranges, strict=True):
        made = _bind_iterator(c, iterator, value, low, extent)
        if iterator.kind is t.IterKind.REDUCE:
            starting.append(f"{made.code} == {low.code}")
    watch = _declare_regions(c, block)
    for buffer in block.alloc_buffers:
        c.statement = block
        _allocate(c, buffer)
    if watch is not None:
        c.blocks.append(watch)
        watch["inside"].update(id(buffer) for buffer in block.alloc_buffers)
    if block.init is not None:
        c.emit(f"if {' and '.join(starting) or 'True'}:")
        yield c.suite(block.init)
    yield c.stmt(block.body)
    if watch is not None:
        c.blocks.pop()
    if condition:
        c.emit("pass")
        c.indent -= 1


def _bind_iterator(c: Compiler, iterator: t.IterVar, value: Value, low: Value, extent: Value) -> Value:
    """Give a block's iterator its value, inside its domain."""
    name = c.fresh("v")
    c.emit(f"{name} = {value.code}")
    inside = low.constant is not None and extent.constant is not None
    least, most = (low.low, low.low + extent.low - 1) if inside else (value.low, value.high)
    if not (inside and least <= value.low and value.high <= most):
        failure = (
            f"m.outside_domain({c.site()}, {iterator.var.name!r}, {name}, {low.code}, {extent.code}, {c.loop_values()})"
        )
        c.emit(f"if not {low.code} <= {name} < {low.code} + {extent.code}: {failure}")
    made = Value(name, max(value.low, least), min(value.high, most))
    if made.low > made.high:  # the check above always fails
        made = Value(name, least, least)
    c.names[id(iterator.var)] = made
    return made


def _declare_regions(c: Compiler, block: t.Block) -> dict[Any, Any] | None:
    """Code for the boxes that a block declares, by buffer and kind of access; None where nothing is checked."""
    if not c.check_regions or not (block.iter_vars or block.reads or block.writes) or HIDDEN in block.annotations:
        return None
    boxes: dict[Any, list[str]] = {}
    lines = c.begin(
        block,
        *(
            part
            for region in (*block.reads, *block.writes)
            for item in region.region
            for part in (item.min, item.extent)
        ),
    )
    for kinds, regions in ((("reads",), block.reads), (("reads", "writes"), block.writes)):
        for region in regions:
            sides: list[str] = []
            for item in region.region:
                low, extent = c.value(item.min), c.value(item.extent)
                sides.append(f"({low.code}, {low.code} + {extent.code}), ")
            for kind in kinds:
                boxes.setdefault((id(region.buffer), kind), []).append(f"({''.join(sides)}), ")
    c.flush(lines)
    watch: dict[Any, Any] = {"inside": set()}
    for key, codes in boxes.items():
        name = c.fresh("r")
        c.emit(f"{name} = ({''.join(codes)})")
        watch[key] = name
    return watch


def _bare_block(c: Compiler, node: t.Block) -> Task:
    raise WorkbenchError("E-TIR-INTERPRET", f"block {node.name} stands without a realization", nodes=(node,))
    yield


_COMPILERS: Final[dict[type, Callable[[Compiler, Any], Task]]] = {
    t.BufferStore: _store,
    t.SeqStmt: _sequence,
    t.Evaluate: _evaluate,
    t.AssertStmt: _assert,
    t.LetStmt: _let,
    t.AllocBuffer: _alloc_stmt,
    t.IfThenElse: _if,
    t.For: _for,
    t.While: _while,
    t.BlockRealize: _realize,
    t.Block: _bare_block,
}
