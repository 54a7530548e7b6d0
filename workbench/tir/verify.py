"""The verifier: rules that every well-formed function keeps, as a table of named checks.

`problems(function)` lists what is wrong, each with the check's name, a message and the nodes; `verify(function)`
raises for the first.  Checks judge one function by itself and only report what is surely wrong.

>>> from workbench.tir.build import decl_buffer, store
>>> A = decl_buffer((4,), name="A")
>>> problems(t.PrimFunc((), store(A, 1.0, 0)))[0].check
'defined'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from ..arith import nodes as n
from ..arith.forms import FINITE
from ..arith.intrinsics import ADDRESSES, INTRINSICS, NAMED_CALLS, Result
from ..arith.nodes import PrimExpr, Var
from ..arith.simplify import Simplifier
from ..core.dtype import DataType
from ..core.errors import WorkbenchError, nearest
from ..core.node import FieldValue, Node, pre_order
from . import nodes as t
from .flat import LAW, disagreements
from .scopes import BIND, UNBIND, events, parts
from .script import text

CODE: Final = "E-TIR-VERIFY"
HIDDEN: Final = "hidden_buffer_access"
"""The annotation of a block some of whose accesses are not declared on purpose: its regions are not checked."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: `check` names the rule broken, `nodes` are the places."""

    check: str
    message: str
    nodes: tuple[Node, ...]

    def __str__(self) -> str:
        return f"{self.check}: {self.message}"


Findings = Iterator[tuple[str, Node]]


@dataclass
class Facts:
    """What one walk over a function finds, for all checks."""

    function: t.PrimFunc
    expressions: list[PrimExpr] = field(default_factory=list[PrimExpr])
    others: list[Node] = field(default_factory=list[Node])
    names: list[tuple[Any, Any]] = field(default_factory=list[tuple[Any, Any]])

    @classmethod
    def of(cls, function: t.PrimFunc) -> Facts:
        made = cls(function)
        for node in pre_order(function):
            (made.expressions if isinstance(node, PrimExpr) else made.others).append(node)  # type: ignore[arg-type]
        made.names = list(events(function))
        return made

    def of_class(self, *classes: type) -> Iterator[Any]:
        source = self.expressions if issubclass(classes[0], PrimExpr) else self.others
        return (node for node in source if isinstance(node, classes))


@dataclass(frozen=True)
class Check:
    """A rule by name, with its text."""

    name: str
    law: str
    find: Callable[[Facts], Findings]


def problems(function: t.PrimFunc, checks: Iterable[Check] | None = None) -> list[Problem]:
    """Everything that is wrong with a function, in the order of the checks (all of them by default)."""
    facts = Facts.of(function)
    found: list[Problem] = []
    for check in CHECKS if checks is None else checks:
        found += [Problem(check.name, message, (node,)) for message, node in check.find(facts)]
    return found


def verify(function: t.PrimFunc) -> None:
    """Raise `WorkbenchError` E-TIR-VERIFY if the function is not well-formed."""
    found = problems(function)
    if not found:
        return
    first = found[0]
    law = next(check.law for check in CHECKS if check.name == first.check)
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    raise WorkbenchError(
        CODE, f"{first.message}{more}", where=_place(function, first.nodes), found=f"check {first.check!r}",
        expected=law, nodes=first.nodes, partial=found,
    )  # fmt: skip


def _place(function: t.PrimFunc, nodes: tuple[Node, ...]) -> str:
    """Function and line of the text where a problem stands."""
    name = function.attrs.get("global_symbol", "main")
    try:
        shown = text(function)
    except WorkbenchError:
        return str(name)
    line = next((found for node in nodes if (found := shown.line_of(node)) is not None), None)
    return f"{name} line {line}: {shown.lines[line - 1].strip()}" if line is not None else str(name)


# --- names --------------------------------------------------------------------------------------------------------


def _defined(facts: Facts) -> Findings:
    active: dict[int, int] = {}
    told: set[int] = set()
    shape_variables = _sizes_of_arguments(facts.function)
    for event, variable in facts.names:
        if event is BIND:
            active[id(variable)] = active.get(id(variable), 0) + 1
        elif event is UNBIND:
            active[id(variable)] -= 1
        elif not active.get(id(variable)) and id(variable) not in shape_variables and id(variable) not in told:
            told.add(id(variable))
            kind = "buffer" if isinstance(variable, t.Buffer) else "variable"
            yield f"{kind} {variable.name} is used where it is not defined", variable


def _sizes_of_arguments(function: t.PrimFunc) -> set[int]:
    """The variables in the shapes of the arguments, by identity: a call binds them."""
    arguments = [argument for argument in function.params if isinstance(argument, t.Buffer)]
    sizes = [size for argument in arguments for size in (*argument.shape, *argument.strides)]
    return {id(node) for node in pre_order(sizes) if isinstance(node, Var)}


def _bound_once(facts: Facts) -> Findings:
    binders: dict[int, Node] = dict.fromkeys(_sizes_of_arguments(facts.function), facts.function)
    for node in [facts.function, *facts.others, *facts.of_class(n.Let)]:
        for name in node.binds:
            value: tuple[Any, ...] | n.Var | t.Buffer = getattr(node, name)
            for variable in value if isinstance(value, tuple) else (value,):
                if binders.setdefault(id(variable), node) is not node:
                    yield f"{variable.name} is defined in two places", node
    statements: set[int] = set()
    for node in facts.others:
        for child in _child_statements(node):
            if id(child) in statements and any(inner.binds for inner in pre_order(child)):
                yield "one statement that defines names stands in two places", child
            statements.add(id(child))


def _child_statements(node: Node) -> list[t.Stmt]:
    found: list[t.Stmt] = []
    for name in node.field_names:
        value: FieldValue = getattr(node, name)
        if isinstance(value, t.Stmt):
            found.append(value)
        elif type(value) is tuple:
            found.extend(item for item in value if isinstance(item, t.Stmt))
    return found


# --- dtypes -------------------------------------------------------------------------------------------------------


def _operand_dtypes(facts: Facts) -> Findings:
    for node in facts.of_class(n.BinaryExpr):
        if node.a.dtype != node.b.dtype:
            yield f"{type(node).__name__} of {node.a.dtype} and {node.b.dtype}", node
        elif isinstance(node, (n.And, n.Or)) and not node.a.dtype.is_bool:
            yield f"{type(node).__name__} of {node.a.dtype}", node
        elif node.a.dtype.is_handle and not isinstance(node, n.CompareExpr):
            yield f"{type(node).__name__} of handles", node


def _kept_dtypes(facts: Facts) -> Findings:
    for node in facts.of_class(n.Not):
        if not node.a.dtype.is_bool:
            yield f"Not of {node.a.dtype}", node
    for node in facts.of_class(n.Select):
        if node.true_value.dtype != node.false_value.dtype:
            yield f"Select between {node.true_value.dtype} and {node.false_value.dtype}", node
    for node in [*facts.of_class(n.Let), *facts.of_class(t.LetStmt)]:
        if node.var.dtype != node.value.dtype:
            yield f"{node.var.name} is a {node.var.dtype}, its value a {node.value.dtype}", node


def _constants(facts: Facts) -> Findings:
    for node in facts.of_class(n.IntImm):
        if not (node.dtype.is_integer or node.dtype.is_bool) or node.dtype.is_vector:
            yield f"an integer constant of dtype {node.dtype}", node
        elif not node.dtype.limits()[0] <= node.value <= node.dtype.limits()[1]:
            yield f"{node.value} does not fit {node.dtype}", node
    for node in facts.of_class(n.FloatImm):
        if not node.dtype.is_float or node.dtype.is_vector:
            yield f"a float constant of dtype {node.dtype}", node
    for node in facts.of_class(n.FloorDiv, n.FloorMod, n.Div, n.Mod):
        if isinstance(node.b, n.IntImm) and node.b.value == 0:
            yield "division by the constant zero", node


def _vectors(facts: Facts) -> Findings:
    for node in facts.of_class(n.Ramp):
        if not node.base.dtype.is_integer or node.base.dtype.is_vector or node.base.dtype != node.stride.dtype:
            yield f"a ramp of {node.base.dtype} by {node.stride.dtype}", node
    for node in facts.of_class(n.Broadcast):
        if node.value.dtype.is_vector:
            yield f"a broadcast of the vector {node.value.dtype}", node
    for node in facts.of_class(n.Cast):
        if node.dtype.lanes != node.value.dtype.lanes:
            yield f"a cast from {node.value.dtype} to {node.dtype} changes the lanes", node
        elif node.value.dtype != node.dtype and not (_is_number(node.value.dtype) and _is_number(node.dtype)):
            yield f"a cast from {node.value.dtype} to {node.dtype}, of which one is no number", node


def _conditions(facts: Facts) -> Findings:
    for node in facts.of_class(t.IfThenElse, t.While, t.AssertStmt):
        # A condition of lanes masks the stores under it (VectorizeLoop makes these).
        masks = isinstance(node, t.IfThenElse) and node.else_case is None and node.condition.dtype.is_bool
        if node.condition.dtype != "bool" and not masks:
            yield f"the condition of {type(node).__name__} is a {node.condition.dtype}", node
    for node in facts.of_class(t.BlockRealize):
        if node.predicate.dtype != "bool":
            yield f"the predicate of block {node.block.name} is a {node.predicate.dtype}", node
    for node in facts.of_class(n.Select):
        if not node.condition.dtype.is_bool or node.condition.dtype.lanes not in (1, node.dtype.lanes):
            yield f"the condition of Select is a {node.condition.dtype}", node


def _calls(facts: Facts) -> Findings:
    for node in facts.of_class(n.Call):
        entry = INTRINSICS.get(node.op)
        if entry is None:
            yield f"there is no intrinsic {node.op!r}; {nearest(node.op, INTRINSICS)}".rstrip("; "), node
        elif entry.arity is not None and len(node.args) != entry.arity:
            yield f"{node.op} takes {entry.arity} arguments, not {len(node.args)}", node
        elif entry.floats_only and any(not argument.dtype.is_float for argument in node.args):
            yield f"{node.op} of {', '.join(argument.dtype for argument in node.args)}", node
        elif node.op == "if_then_else":
            yield from _choice(node)
        elif node.op == "reinterpret":
            yield from _bits(node)
        elif node.op in NAMED_CALLS and not _names_a_function(node):
            yield f"{node.op} names its function by text first", node
        elif node.op in ADDRESSES and not isinstance(node.args[0], t.BufferLoad):
            yield f"{node.op} takes an element of a buffer", node
        elif entry.result is Result.FIRST and node.dtype != node.args[0].dtype:
            yield f"{node.op} of {node.args[0].dtype} is declared {node.dtype}", node


def _choice(node: n.Call) -> Findings:
    condition, a, b = node.args
    if not condition.dtype.is_bool:
        yield f"the condition of if_then_else is a {condition.dtype}", node
    if not node.dtype == a.dtype == b.dtype:
        yield f"if_then_else of {a.dtype} and {b.dtype} is declared {node.dtype}", node


def _bits(node: n.Call) -> Findings:
    source, target = node.args[0].dtype, node.dtype
    if source == target:
        return
    if source.is_bool or target.is_bool or not (_is_number(source) and _is_number(target)):
        yield f"reinterpret of {source} as {target}: a handle, a bool and void are no numbers of so many bits", node
    elif source.bytes != target.bytes:
        yield f"reinterpret of {source} as {target}, which has {8 * target.bytes} bits, not {8 * source.bytes}", node


def _is_number(dtype: DataType) -> bool:
    return not dtype.is_handle and dtype != "void"


def _names_a_function(node: n.Call) -> bool:
    return bool(node.args) and isinstance(node.args[0], n.StringImm)


# --- buffers ------------------------------------------------------------------------------------------------------


def _accesses(facts: Facts) -> Findings:
    for node in [*facts.of_class(t.BufferLoad), *facts.of_class(t.BufferStore)]:
        buffer = node.buffer
        if len(node.indices) != len(buffer.shape):
            yield f"{buffer.name} has {len(buffer.shape)} axes, found {len(node.indices)} indices", node
            continue
        for axis, index in enumerate(node.indices):
            if not index.dtype.is_integer:
                yield f"index {axis} of {buffer.name} is a {index.dtype}", node
            elif index.dtype.is_vector and axis != len(node.indices) - 1:
                yield f"index {axis} of {buffer.name} is a vector, but not the last", node
    for node in facts.of_class(t.BufferRegion):
        if len(node.region) != len(node.buffer.shape):
            yield f"{node.buffer.name} has {len(node.buffer.shape)} axes, its region {len(node.region)}", node


def _stores(facts: Facts) -> Findings:
    for node in facts.of_class(t.BufferStore):
        lanes = node.indices[-1].dtype.lanes if node.indices else 1
        wanted = node.buffer.dtype.with_lanes(lanes * node.buffer.dtype.lanes)
        if node.value.dtype != wanted:
            yield f"a {node.value.dtype} is stored where {node.buffer.name} takes a {wanted}", node


def _buffers(facts: Facts) -> Findings:
    for node in facts.of_class(t.Buffer):
        if node.strides and len(node.strides) != len(node.shape):
            yield f"{node.name} has {len(node.shape)} axes and {len(node.strides)} strides", node
        if any(not part.dtype.is_integer or part.dtype.is_vector for part in (*node.shape, *node.strides)):
            yield f"the shape of {node.name} is not made of integers", node
        if any(isinstance(extent, n.IntImm) and extent.value < 0 for extent in node.shape):
            yield f"{node.name} has a negative extent", node
        if not node.scope:
            yield f"{node.name} has no scope", node
        if node.dtype == "void":
            yield f"{node.name} has elements of no type", node
    for parameter in facts.function.params:
        if isinstance(parameter, t.Buffer) and parameter.scope.split(".")[0] in ("local", "shared", "warp"):
            yield f"parameter {parameter.name} lies in scope {parameter.scope!r}, where no caller can put it", parameter


# --- loops and blocks ---------------------------------------------------------------------------------------------


def _loops(facts: Facts) -> Findings:
    for node in facts.of_class(t.For):
        name = node.var.name
        if not node.var.dtype.is_integer or {node.min.dtype, node.extent.dtype} != {node.var.dtype}:
            yield f"loop {name} is a {node.var.dtype} from {node.min.dtype} for {node.extent.dtype}", node
        if (node.kind is t.ForKind.THREAD_BINDING) != bool(node.thread):
            yield f"loop {name} is {node.kind.value} with thread {node.thread!r}", node
        if node.kind is t.ForKind.VECTORIZED and not isinstance(node.extent, n.IntImm):
            yield f"vectorized loop {name} has no constant extent", node
        if isinstance(node.extent, n.IntImm) and node.extent.value < 0:
            yield f"loop {name} has the negative extent {node.extent.value}", node


def _reductions(facts: Facts) -> Findings:
    loops = {id(loop.var): loop for loop in facts.of_class(t.For)}
    for node in facts.of_class(t.BlockRealize):
        idle = any(_at_most(iterator.dom.extent, 0) for iterator in node.block.iter_vars)
        for iterator, value in zip(node.block.iter_vars, node.iter_values, strict=False):
            if iterator.kind is not t.IterKind.REDUCE or idle:
                continue
            for part in pre_order(value):
                loop = loops.get(id(part))
                if loop is None or _at_most(loop.extent, 1):
                    continue  # with one iteration, or none, nothing meets
                if loop.kind in (t.ForKind.PARALLEL, t.ForKind.VECTORIZED):
                    yield (
                        f"{loop.kind.value} loop {loop.var.name} runs the reduction {iterator.var.name} of block "
                        f"{node.block.name}", loop
                    )  # fmt: skip


def _at_most(extent: n.PrimExpr, most: int) -> bool:
    return isinstance(extent, n.IntImm) and extent.value <= most


def _block_names(facts: Facts) -> Findings:
    seen: set[str] = set()
    for node in facts.of_class(t.Block):
        if node.name in seen:
            yield f"two blocks are named {node.name!r}", node
        seen.add(node.name)


def _blocks(facts: Facts) -> Findings:
    realized = {id(node.block) for node in facts.of_class(t.BlockRealize)}
    for node in facts.of_class(t.Block):
        if id(node) not in realized:
            yield f"block {node.name} stands without a realization", node
    for node in facts.of_class(t.BlockRealize):
        block = node.block
        if len(node.iter_values) != len(block.iter_vars):
            yield f"block {block.name} has {len(block.iter_vars)} iterators, {len(node.iter_values)} values", node
            continue
        for iterator, value in zip(block.iter_vars, node.iter_values, strict=True):
            if isinstance(iterator.dom.extent, n.IntImm) and iterator.dom.extent.value < 0:
                yield f"{iterator.var.name} of block {block.name} has a negative extent", node
            if iterator.var.dtype != value.dtype:
                yield (
                    f"{iterator.var.name} of block {block.name} is a {iterator.var.dtype}, its value a {value.dtype}",
                    node,
                )
    for node in facts.of_class(t.SeqStmt):
        if len(node.stmts) < 2 or any(isinstance(stmt, t.SeqStmt) for stmt in node.stmts):
            yield "a sequence holds a sequence, or fewer than two statements", node


def _regions(facts: Facts) -> Findings:
    simplifier = Simplifier()
    for node in facts.of_class(t.For):
        simplifier.bind_range(node.var, node.min, node.extent)
    for block in facts.of_class(t.Block):
        if (block.iter_vars or block.reads or block.writes) and HIDDEN not in block.annotations:
            yield from _block_regions(block, simplifier)


def _block_regions(block: t.Block, simplifier: Simplifier) -> Findings:
    inside = {id(buffer) for buffer in block.alloc_buffers}
    stack: list[tuple[Node, bool]] = [(block.body, True)]
    if block.init is not None:
        stack.append((block.init, True))
    seen: set[int] = set()
    while stack:
        node, certain = stack.pop()
        if id(node) in seen or isinstance(node, t.Buffer):
            continue
        seen.add(id(node))
        certain = certain and not isinstance(node, (t.IfThenElse, t.While, t.BlockRealize)) and not _chooses(node)
        if isinstance(node, t.AllocBuffer):
            inside.add(id(node.buffer))
        if isinstance(node, t.Block):
            inside.update(id(buffer) for buffer in node.alloc_buffers)
        if isinstance(node, (t.BufferLoad, t.BufferStore)) and id(node.buffer) not in inside:
            stores = isinstance(node, t.BufferStore)
            declared = block.writes if stores else (*block.reads, *block.writes)
            boxes = [region for region in declared if region.buffer is node.buffer]
            verb = "writes" if stores else "reads"
            if not boxes:
                yield f"block {block.name} {verb} {node.buffer.name}, which it does not declare", node
            elif certain and len(boxes) == 1 and _leaves(node, boxes[0], simplifier):
                yield f"block {block.name} {verb} {node.buffer.name} outside the region it declares", node
        stack.extend((child, certain) for child in _walked(node))


def _chooses(node: Node) -> bool:
    return isinstance(node, n.Call) and node.op == "if_then_else"


def _walked(node: Node) -> list[Node]:
    """The children that run: not the declarations of a block inside."""
    if isinstance(node, PrimExpr):
        return list(parts(node))
    if isinstance(node, t.Block):
        return [part for part in (node.init, node.body) if part is not None]
    found: list[Node] = [*_child_statements(node)]
    for name in node.field_names:
        value: FieldValue = getattr(node, name)
        found += [item for item in (value if type(value) is tuple else (value,)) if isinstance(item, PrimExpr)]
    return found


def _leaves(node: t.BufferLoad | t.BufferStore, box: t.BufferRegion, simplifier: Simplifier) -> bool:
    """Whether an access surely leaves a box: the distance is linear in independent loops and its end lies outside."""
    if len(node.indices) != len(box.region):
        return False
    for index, domain in zip(node.indices, box.region, strict=True):
        if not isinstance(domain.extent, n.IntImm) or not index.dtype.is_integer:
            continue
        if index.dtype.is_vector:
            continue
        one, other = simplifier.form(index), simplifier.form(domain.min)
        if one is None or other is None:
            continue
        distance = one.plus(other, -1)
        if not all(_is_free(simplifier, atom) for atom in distance.terms):
            continue
        bound = simplifier.atoms.bound(distance)
        if (
            (bound.low < 0 or bound.high >= domain.extent.value)
            and abs(bound.low) < FINITE
            and abs(bound.high) < FINITE
        ):
            return True
    return False


def _is_free(simplifier: Simplifier, number: int) -> bool:
    """A variable of constant range that depends on no other."""
    atom = simplifier.atoms.table[number]
    bounded = abs(atom.bound.low) < FINITE and abs(atom.bound.high) < FINITE and atom.bound.low <= atom.bound.high
    return isinstance(atom.expr, Var) and bounded and number not in simplifier.atoms.symbolic


CHECKS: Final[tuple[Check, ...]] = (
    Check("defined", "variables and buffers are used only where they are defined", _defined),
    Check("bound-once", "every variable and buffer is defined in one place", _bound_once),
    Check("operand-dtypes", "operands of one operation have one dtype", _operand_dtypes),
    Check("kept-dtypes", "a choice, a negation or a let keeps the dtype of its parts", _kept_dtypes),
    Check("constants", "constants fit their dtype, and none divides by zero", _constants),
    Check("vectors", "vectors are made of scalars, and operations keep their lanes", _vectors),
    Check("conditions", "conditions are bools", _conditions),
    Check("calls", "calls name an intrinsic and fit its arity and dtypes", _calls),
    Check("accesses", "an access has one integer index an axis, only the last one a vector", _accesses),
    Check("stores", "a stored value has the dtype of its buffer", _stores),
    Check("buffers", "buffers have integer extents, strides for every axis, and a scope their place allows", _buffers),
    Check("loops", "loops count in the dtype of their variable; kinds have what they need", _loops),
    Check("reductions", "iterations of a reduction do not run side by side", _reductions),
    Check("block-names", "the names of blocks are unique within a function", _block_names),
    Check("blocks", "blocks are realized with one value an iterator; sequences are flat", _blocks),
    Check("regions", "a block touches only the regions it declares", _regions),
    Check("marks", LAW, lambda facts: iter(disagreements(facts.function))),
)
"""All checks, in the order in which problems are told."""
