"""The table of intrinsics: what a `Call` may name, with dtype rule, purity and a NumPy meaning.

Backends map these names to instructions or libraries (`codegen/<name>/intrinsics`); the interpreter uses `evaluate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import numpy as np

from ..core.table import Table


class Result(Enum):
    """How an intrinsic's dtype follows from its arguments."""

    FIRST = "dtype of the first argument"
    SECOND = "dtype of the second argument"
    BOOL = "bool"
    HANDLE = "a pointer"
    GIVEN = "stated at the call"
    VOID = "no value"


@dataclass(frozen=True)
class Intrinsic:
    """One entry: `arity` is None for any number; `pure` means no effects, so that it may be moved or removed."""

    name: str
    arity: int | None
    result: Result
    doc: str
    evaluate: Callable[..., Any] | None = None
    pure: bool = True
    floats_only: bool = False


ERROR_BOUND: Final[dict[str, float]] = {"fast_exp": 1e-5, "fast_tanh": 3e-6, "fast_erf": 1e-5}
"""The greatest relative error of the fast functions, over all inputs whose exact result is a normal number."""

INTRINSICS: Table[Intrinsic] = Table("intrinsic", filled_by=())


def _erf(value: Any) -> Any:
    return np.vectorize(math.erf, otypes=[np.float64])(value).astype(np.asarray(value).dtype)


def _first(value: Any, *others: Any) -> Any:
    return value


def _unary(name: str, doc: str, evaluate: Callable[[Any], Any]) -> None:
    INTRINSICS.register(name, Intrinsic(name, 1, Result.FIRST, doc, evaluate, floats_only=True), module=__name__)


def _define_floats() -> None:
    table: dict[str, Callable[..., Any]] = {
        "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
        "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
        "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
        "acosh": np.arccosh, "atanh": np.arctanh, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
        "erf": _erf,
    }  # fmt: skip
    for name, function in table.items():
        _unary(name, f"{name}(x), correctly rounded to within 4 units in the last place", function)
    for name in ("exp", "tanh", "erf"):
        _unary(f"fast_{name}", f"{name}(x), within its ERROR_BOUND", table[name])
    _unary("round", "to the nearest integer, ties to even", np.rint)
    _unary("rsqrt", "1 / sqrt(x)", lambda x: 1 / np.sqrt(x))
    _unary("sigmoid", "1 / (1 + exp(-x))", lambda x: 1 / (1 + np.exp(-x)))


def _define_general() -> None:
    entries = [
        Intrinsic("pow", 2, Result.FIRST, "x to the power y", np.power, floats_only=True),
        Intrinsic("atan2", 2, Result.FIRST, "angle of the point (y, x)", np.arctan2, floats_only=True),
        Intrinsic("fmod", 2, Result.FIRST, "remainder with the sign of x", np.fmod),
        Intrinsic("copysign", 2, Result.FIRST, "|x| with the sign of y", np.copysign, floats_only=True),
        Intrinsic("nextafter", 2, Result.FIRST, "next float from x towards y", np.nextafter, floats_only=True),
        Intrinsic("abs", 1, Result.FIRST, "absolute value", np.abs),
        Intrinsic("fma", 3, Result.FIRST, "a * b + c with one rounding", None, floats_only=True),
        Intrinsic("isnan", 1, Result.BOOL, "true for NaN", np.isnan),
        Intrinsic("isinf", 1, Result.BOOL, "true for plus or minus infinity", np.isinf),
        Intrinsic("isfinite", 1, Result.BOOL, "true for finite values", np.isfinite),
        Intrinsic("bitwise_and", 2, Result.FIRST, "bits of both", np.bitwise_and),
        Intrinsic("bitwise_or", 2, Result.FIRST, "bits of either", np.bitwise_or),
        Intrinsic("bitwise_xor", 2, Result.FIRST, "bits of exactly one", np.bitwise_xor),
        Intrinsic("bitwise_not", 1, Result.FIRST, "bits inverted", np.bitwise_not),
        Intrinsic("shift_left", 2, Result.FIRST, "x * 2**y, wrapping; 0 when y < 0 or y >= bits", np.left_shift),
        Intrinsic(
            "shift_right",
            2,
            Result.FIRST,
            "x / 2**y, keeping the sign; 0 or -1 when y < 0 or y >= bits",
            np.right_shift,
        ),
        Intrinsic("popcount", 1, Result.FIRST, "number of bits set", np.bitwise_count),
        Intrinsic("reinterpret", 1, Result.GIVEN, "the same bits as another dtype of equal width", None),
        Intrinsic("likely", 1, Result.FIRST, "a condition expected to hold", _first),
        Intrinsic("if_then_else", 3, Result.SECOND, "one arm is evaluated: (condition, true, false)", None),
        Intrinsic(
            "index_within",
            6,
            Result.FIRST,
            "(index in range, as computed, as given, least, extent, text): the first; BoundCheck reports others",
            _first,
        ),
        Intrinsic("shuffle", None, Result.GIVEN, "(vector, index...): lanes picked by constant indices", None),
        Intrinsic("reduce_add", 1, Result.GIVEN, "sum of the lanes, in order", None),
        Intrinsic("reduce_max", 1, Result.GIVEN, "greatest lane", None),
        Intrinsic("reduce_min", 1, Result.GIVEN, "least lane", None),
    ]
    for entry in entries:
        INTRINSICS.register(entry.name, entry, module=__name__)


def _define_effects() -> None:
    entries = [
        Intrinsic("address_of", 1, Result.HANDLE, "pointer to an element: (BufferLoad)", None),
        Intrinsic("access_ptr", 2, Result.HANDLE, "address_of, and for what: (BufferLoad, text of r, w or both)", None),
        Intrinsic("vload", 1, Result.GIVEN, "(address): elements one after the other as a vector", None),
        Intrinsic("tvm_stack_make_shape", None, Result.HANDLE, "(extent...): extents in memory of the function", None),
        Intrinsic(
            "tvm_stack_make_array",
            6,
            Result.HANDLE,
            "(address, shape, strides or 0, rank, zero of the dtype, offset): a tensor as an argument",
            None,
        ),
        Intrinsic("call_extern", None, Result.GIVEN, "(name, argument...): a C function by symbol", None, pure=False),
        Intrinsic("call_pure_extern", None, Result.GIVEN, "(name, number...): a C function without effects", None),
        Intrinsic("call_llvm_intrin", None, Result.GIVEN, "(name, argument...): LLVM's, effects", None, pure=False),
        Intrinsic("call_llvm_pure_intrin", None, Result.GIVEN, "(name, argument...): LLVM's, pure", None),
        Intrinsic("call_tir", None, Result.VOID, "(name, argument...): a PrimFunc of the module", None, pure=False),
        Intrinsic("call_packed", None, Result.GIVEN, "(name, argument...): a PackedFunc by name", None, pure=False),
        Intrinsic("poll_cancel", 0, Result.VOID, "return early when the call was cancelled", None, pure=False),
        Intrinsic("prefetch", 1, Result.VOID, "hint that an element is read soon: (BufferLoad)", None, pure=False),
        Intrinsic("ret", 1, Result.VOID, "leave the function; its packed call answers the value", None, pure=False),
    ]
    for entry in entries:
        INTRINSICS.register(entry.name, entry, module=__name__)


def is_pure(name: str) -> bool:
    """Whether a call of an intrinsic has no effects, so that it may be moved or removed; of unknown ones it has."""
    entry = INTRINSICS.get(name)
    return entry is not None and entry.pure


ADDRESSES: Final = frozenset({"address_of", "access_ptr"})
"""The intrinsics that give the address of an element, which is their first argument."""
NAMED_CALLS: Final = frozenset(
    {"call_tir", "call_extern", "call_pure_extern", "call_packed", "call_llvm_intrin", "call_llvm_pure_intrin"}
)
"""The intrinsics that begin with the name of a function, as text."""

_define_floats()
_define_general()
_define_effects()
