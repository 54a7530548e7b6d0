"""Loop IR: statements over buffers, blocks for schedules, and the functions made of them.

The public names of the stage, among them the classic ones that stand for parts of other layers (`tir.Schedule`,
`tir.exp`); each is loaded on first use.
"""

from __future__ import annotations

from ..core.late_names import Names, late_names

_EXPRESSIONS = (
    "PrimExpr", "Var", "IntImm", "FloatImm", "StringImm", "Cast", "Add", "Sub", "Mul", "Div", "Mod", "FloorDiv",
    "FloorMod", "Min", "Max", "EQ", "NE", "LT", "LE", "GT", "GE", "And", "Or", "Not", "Select", "Ramp", "Broadcast",
    "Let", "Call",
)  # fmt: skip
_STATEMENTS = (
    "AllocBuffer", "AssertStmt", "Block", "BlockRealize", "Buffer", "BufferLoad", "BufferRegion", "BufferStore",
    "Evaluate", "For", "ForKind", "IfThenElse", "IterKind", "IterVar", "LetStmt", "PrimFunc", "Range", "SeqStmt",
    "Stmt", "While",
)  # fmt: skip
_MAKERS = (
    "const", "cast", "truncdiv", "truncmod", "floordiv", "floormod", "indexdiv", "indexmod", "if_then_else", "call",
    "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right",
)  # fmt: skip
_MATHS = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "cos", "cosh", "erf", "exp", "exp2",
    "floor", "fmod", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "nearbyint", "popcount", "power",
    "round", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
)  # fmt: skip
_REDUCTIONS = ("all", "any", "comm_reducer", "max_value", "min_value", "size_var", "max", "min", "sum")

_CALLS = (
    "address_of", "call_cpacked", "call_extern", "call_intrin", "call_llvm_intrin", "call_llvm_pure_intrin",
    "call_packed", "call_pure_extern", "ceildiv", "copysign", "div", "exp10", "hypot", "infinity", "likely",
    "nextafter", "reinterpret", "ret",
)  # fmt: skip

_NAMES: Names = {
    **{name: ("workbench.arith.nodes", name) for name in _EXPRESSIONS},
    **{name: ("workbench.tir.nodes", name) for name in _STATEMENTS},
    **{name: ("workbench.arith.build", name) for name in _MAKERS},
    **{name: ("workbench.te.math", name) for name in _MATHS},
    **{name: ("workbench.te.build", name) for name in _REDUCTIONS},
    **{name: ("workbench.tir.op", name) for name in _CALLS},
    "decl_buffer": ("workbench.tir.op", "decl_buffer"),
    "TensorIntrin": ("workbench.tir.tensor_intrin", "TensorIntrin"),
    "CallEffectKind": ("workbench.tir.transforms.intrinsic_rules", "CallEffectKind"),
    **{name: (f"workbench.tir.{name}", None) for name in ("interpret", "ir_builder", "script")},
    "pow": ("workbench.te.math", "power"),
    "prim_func": ("workbench.tir.script", "prim_func"),
    "IndexMap": ("workbench.tir.index_map", "IndexMap"),
    "analysis": ("workbench", "analysis"),
    **{name: ("workbench.schedule", name) for name in ("BlockRV", "ExprRV", "LoopRV", "Schedule", "StmtSRef", "Trace")},
    "Any": ("workbench.relay.ir.types", "Any"),
    "ScheduleError": ("workbench.schedule", "ScheduleError"),
}
"""Public names: module, and attribute of it (None: the module itself)."""

__getattr__, __dir__ = late_names(__name__, _NAMES)
