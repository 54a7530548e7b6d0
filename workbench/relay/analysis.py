"""Questions about relay programs, under their classic names (`relay.analysis`).

>>> from workbench.relay.ir.expr import Tuple, Var
>>> x = Var("x")
>>> [variable.name_hint for variable in free_vars(Tuple((x, x)))]
['x']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from enum import IntEnum

from ..core.equal import free_variables, structural_equal
from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..core.node import Node, post_order
from .ir import expr as e
from .ir import types as t
from .ir.infer import infer_type
from .ir.operator import Operator
from .ir.plan import LEAVES, Plan, bound_variables, expressions, operands
from .ir.verify import verify, well_formed
from .transforms.fuse_ops import FuseOps
from .transforms.infer_type import InferType

__all__ = [
    "Feature",
    "all_dtypes",
    "all_type_vars",
    "all_vars",
    "alpha_equal",
    "bound_type_vars",
    "bound_vars",
    "check_basic_block_normal_form",
    "check_constant",
    "check_kind",
    "count_layers",
    "detect_feature",
    "extract_fused_functions",
    "extract_intermdeiate_expr",
    "free_type_vars",
    "free_vars",
    "get_total_mac_number",
    "list_op_freqs",
    "post_order_visit",
    "search_fc_transpose",
    "structural_equal",
    "verify",
    "well_formed",
]


def post_order_visit(expr: e.Expr, fvisit: Callable[[e.Expr], None]) -> None:
    """Call `fvisit` on each expression once, operands first."""
    for node in expressions(expr):
        fvisit(node)


def free_vars(expr: e.Expr) -> list[e.Var]:
    """Variables that nothing in the expression binds, in order of first use."""
    return [variable for variable in free_variables(expr) if isinstance(variable, e.Var)]


def bound_vars(expr: e.Expr) -> list[e.Var]:
    """Variables that the expression binds: parameters, lets, patterns."""
    return [variable for node in expressions(expr) for variable in bound_variables(node)]


def all_vars(expr: e.Expr) -> list[e.Var]:
    """Every variable of the expression, bound or free."""
    return [node for node in post_order(expr) if isinstance(node, e.Var)]


def free_type_vars(expr: Node) -> list[t.TypeVar]:
    """Type variables that nothing in the expression (or type) binds."""
    return [variable for variable in free_variables(expr) if isinstance(variable, t.TypeVar)]


def all_type_vars(expr: Node) -> list[t.TypeVar]:
    """Every type variable of the expression (or type)."""
    return [node for node in post_order(expr) if isinstance(node, t.TypeVar)]


def all_dtypes(expr: e.Expr) -> set[str]:
    """The dtypes of all tensors of an expression whose types are known."""
    found = [node.type_or_none for node in expressions(expr)]
    parts = post_order([one for one in found if one is not None])
    return {str(part.dtype) for part in parts if isinstance(part, t.TensorType)}


def list_op_freqs(mod: IRModule | e.Expr) -> dict[str, int]:
    """How often each operator is called."""
    nodes = mod.nodes() if isinstance(mod, IRModule) else post_order(mod)
    calls = (node.op.name for node in nodes if isinstance(node, e.Call) and isinstance(node.op, Operator))
    return dict(Counter(calls))


def alpha_equal(left: Node, right: Node) -> bool:
    """Equality up to the names of what is bound (an older name of `structural_equal`)."""
    return structural_equal(left, right)


def bound_type_vars(expr: Node, mod: IRModule | None = None) -> list[t.TypeVar]:
    """Type variables that the expression (or type) binds."""
    free = {id(variable) for variable in free_type_vars(expr)}
    return [variable for variable in all_type_vars(expr) if id(variable) not in free]


# --- forms --------------------------------------------------------------------------------------------------------


def check_constant(expr: e.Expr) -> bool:
    """Whether an expression is a constant, or a tuple of such."""
    inner = (node for node in expressions(expr) if not isinstance(node, (e.Constant, e.Tuple)))
    return next(inner, None) is None


def check_basic_block_normal_form(expr: e.Expr) -> bool:
    """Whether every expression stands in the block where it is used: none is shared between branches and outside."""
    plan = Plan(expr)
    places: dict[int, int] = {}
    for node in plan.order:
        for operand in operands(node):
            if isinstance(operand, LEAVES):
                continue
            scope = id(plan.place[id(operand)])
            if places.setdefault(id(operand), scope) != scope:
                return False
    return all(_used_where_it_stands(plan, node) for node in plan.order)


def _used_where_it_stands(plan: Plan, node: e.Expr) -> bool:
    here = plan.place[id(node)]
    inside = {id(scope.result): scope for scope in plan.inner.get(id(node), ())}
    for operand in operands(node):
        if isinstance(operand, LEAVES) or (isinstance(node, e.Let) and operand is node.body):
            continue
        if plan.place[id(operand)] is not inside.get(id(operand), here):
            return False
    return True


_KINDS: dict[type, t.Kind] = {
    t.TypeData: t.Kind.TYPE_DATA,
    t.GlobalTypeVar: t.Kind.ADT_HANDLE,
}


def check_kind(t_: t.Type, mod: IRModule | None = None) -> t.Kind:
    """What kind of thing a type is.  Raises `WorkbenchError` for one whose parts do not fit together."""
    for part in post_order(t_):
        if isinstance(part, (t.TupleType, t.FuncType, t.RefType)):
            _check_parts(part)
        if isinstance(part, t.TypeCall):
            _check_type_call(part, mod)
    if isinstance(t_, (t.TypeVar, t.GlobalTypeVar, t.IncompleteType)):
        return t_.kind
    return _KINDS.get(type(t_), t.Kind.TYPE)


def _check_parts(whole: t.TupleType | t.FuncType | t.RefType) -> None:
    if isinstance(whole, t.TupleType):
        parts: tuple[t.Type, ...] = whole.fields
    else:
        parts = (whole.value,) if isinstance(whole, t.RefType) else (*whole.arg_types, whole.ret_type)
    for part in parts:
        kind = getattr(part, "kind", t.Kind.TYPE)
        if kind is not t.Kind.TYPE or isinstance(part, t.TypeData):
            raise WorkbenchError(
                "E-TYPE-KIND", "only types of values stand here", where=repr(whole), found=f"{part} of kind {kind.name}"
            )


def _check_type_call(call: t.TypeCall, mod: IRModule | None) -> None:
    if not isinstance(call.function, t.GlobalTypeVar):
        raise WorkbenchError("E-TYPE-KIND", "only data types of the module take arguments", found=repr(call.function))
    data = mod.type_definitions.get(call.function.name_hint) if mod is not None else None
    if mod is not None and (not isinstance(data, t.TypeData) or len(data.type_vars) != len(call.args)):
        expected = f"{len(data.type_vars)} arguments" if isinstance(data, t.TypeData) else "a data type of the module"
        raise WorkbenchError(
            "E-TYPE-KIND", f"{call.function.name_hint} does not fit", found=repr(call), expected=expected
        )


class Feature(IntEnum):
    """Features of the language that a program may use."""

    fVar = 0
    fGlobalVar = 1
    fConstant = 2
    fTuple = 3
    fTupleGetItem = 4
    fFunction = 5
    fOp = 6
    fCall = 7
    fLet = 8
    fIf = 9
    fRefCreate = 10
    fRefRead = 11
    fRefWrite = 12
    fConstructor = 13
    fMatch = 14
    fGraph = 15
    """an expression is used in more than one place"""
    fLetRec = 16
    """a let-bound function calls itself"""


def detect_feature(a: e.Expr | IRModule, b: IRModule | e.Expr | None = None) -> set[Feature]:
    """The features that an expression, or all functions of a module, use."""
    roots = [given for given in (a, b) if isinstance(given, e.Expr)]  # either order, as in the classic API
    if not roots:
        modules = [given for given in (a, b) if isinstance(given, IRModule)]
        roots = [function for mod in modules for _, function in mod.items() if isinstance(function, e.Expr)]
    return {feature for root in roots for feature in _features(root)}


def _features(root: e.Expr) -> set[Feature]:
    found: set[Feature] = set()
    plan = Plan(root)
    for node in expressions(root):
        found.add(Feature[f"f{type(node).__name__}"])
        if isinstance(node, e.Call) and isinstance(node.op, Operator):
            found.add(Feature.fOp)
        if not isinstance(node, LEAVES) and plan.uses[id(node)] > 1:
            found.add(Feature.fGraph)
        if isinstance(node, e.Let) and any(inner is node.var for inner in expressions(node.value)):
            found.add(Feature.fLetRec)
    return found


# --- counting -----------------------------------------------------------------------------------------------------


def count_layers(expr: e.Expr | IRModule, valid_ops: Iterable[str]) -> int:
    """The most calls of these operators on one way through the program (its layers, not the number of calls)."""
    wanted = frozenset(valid_ops)
    root = expr["main"] if isinstance(expr, IRModule) else expr
    layers: dict[int, int] = {}
    for node in expressions(root):
        own = isinstance(node, e.Call) and isinstance(node.op, Operator) and node.op.name in wanted
        layers[id(node)] = own + max((layers[id(operand)] for operand in operands(node)), default=0)
    return layers[id(root)]


def get_total_mac_number(expr: e.Expr) -> int:
    """Multiply-accumulate operations of convolutions and matrix products; types are inferred if need be."""
    infer_type(expr)
    total = 0
    for node in expressions(expr):
        if isinstance(node, e.Call) and isinstance(node.op, Operator) and node.op.multiplies_and_adds:
            total += node.op.flops(*(argument.checked_type for argument in node.args)) // 2
    return total


# --- pieces -------------------------------------------------------------------------------------------------------


def extract_fused_functions(mod: IRModule) -> dict[str, e.Function]:
    """The functions that FuseOps makes of a module's main, by a name of their own; equal ones once."""
    fused = mod if _kernels(mod) else FuseOps()(InferType()(mod))
    found: list[e.Function] = []
    for function in _kernels(fused):
        if not any(structural_equal(function, other) for other in found):
            found.append(function)
    return {f"fused_{index}_{_operator_names(function)}": function for index, function in enumerate(found)}


def _kernels(mod: IRModule) -> list[e.Function]:
    return [node for node in mod.nodes() if isinstance(node, e.Function) and node.is_primitive]


def _operator_names(function: e.Function) -> str:
    calls = (node for node in expressions(function) if isinstance(node, e.Call) and isinstance(node.op, Operator))
    return "_".join(call.op.name.replace(".", "_") for call in calls if isinstance(call.op, Operator))


def extract_intermdeiate_expr(mod: IRModule, expr_id: int) -> IRModule:
    """A module whose main computes only the expression of that number: the `expr_id`-th of main's body in post-order.

    (The name is the classic API's.)  Raises `WorkbenchError` for a number beyond the last.
    """
    function = mod["main"]
    inner = [
        node for node in expressions(function.body) if isinstance(node, (e.Call, e.Tuple, e.TupleGetItem, e.Constant))
    ]
    if not 0 <= expr_id < len(inner):
        raise WorkbenchError(
            "E-ANALYSIS-EXPRESSION", f"there is no expression {expr_id}", expected=f"0 to {len(inner) - 1}"
        )
    chosen = inner[expr_id]
    needed = {id(variable) for variable in free_vars(chosen)}
    params = tuple(param for param in function.params if id(param) in needed)
    made = IRModule({**mod.functions, "main": e.Function(params, chosen)}, mod.type_definitions)
    return infer_type(made)


def search_fc_transpose(expr: e.Expr) -> list[str]:
    """Names of the weights of dense layers written as dense(x, transpose(weight))."""
    found: list[str] = []
    for node in expressions(expr):
        if not isinstance(node, e.Call) or getattr(node.op, "name", "") != "nn.dense":
            continue
        weight = node.args[1]
        if isinstance(weight, e.Call) and getattr(weight.op, "name", "") == "transpose":
            source = weight.args[0]
            if isinstance(source, e.Var):
                found.append(source.name_hint)
    return found
