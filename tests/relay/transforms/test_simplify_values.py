"""SimplifyExpr keeps every value: casts between all dtypes, clips with all orders of limits, where they differ."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from workbench import relay
from workbench.core.dtype import DataType
from workbench.core.module import IRModule
from workbench.core.transform import PASSES
from workbench.relay.interpret import interpret
from workbench.relay.ir import expr as e
from workbench.relay.ir.infer import infer_type

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
LIMITS = (-1.0, -0.5, 0.0, 0.25, 2.0, 2.5)


def values(dtype: str) -> np.ndarray:
    """Where conversions differ: ends of ranges, what a float rounds, signs, infinities, NaN."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        ends = np.iinfo(dtype)
        inside = [ends.max // 3, ends.max // 2 + 1, *(min(ends.max, some) for some in (300, 2**24 + 1, 2**53 + 1))]
        return np.array([ends.min, ends.max, ends.max - 1, *inside, 0, 1], dtype)
    some = [0.5, -1.5, 300, 70000, 3e9, 1e19, np.nan, np.inf, -np.inf, -0.0, 1e-7, -3]
    with np.errstate(all="ignore"):
        return np.array(some).astype(DataType(dtype).to_numpy())


def assert_kept(results: list[e.Expr], x: e.Var, given: np.ndarray, told: list[str]) -> None:
    """Equal to the last bit, but for the sign of a zero: which of 0.0 and -0.0 is the lesser one, nothing says."""
    mod = IRModule({"main": relay.Function([x], e.Tuple(tuple(results)))})
    infer_type(mod)
    after = PASSES["SimplifyExpr"](mod)
    with np.errstate(all="ignore"):
        pairs = zip(interpret(after, given), interpret(mod, given), strict=True)
        wrong = [name for name, (one, other) in zip(told, pairs, strict=True) if not _alike(one, other)]
    assert wrong == []


def _alike(one: object, other: object) -> bool:
    left, right = np.asarray(one), np.asarray(other)
    return left.dtype == right.dtype and bool(np.all((left == right) | ((left != left) & (right != right))))


@pytest.mark.parametrize("start", ("bool", *INTEGERS, *FLOATS))
def test_casts_of_casts_end_as_they_did(start: str) -> None:
    """int64 to float64 rounds; an integer becomes its last bits, and by way of a float the nearest value."""
    pairs = list(itertools.product(("bool", *INTEGERS, *FLOATS), repeat=2))
    given = values(start)
    x = relay.var("x", shape=given.shape, dtype=start)
    casts = [relay.cast(relay.cast(x, dtype=middle), dtype=end) for middle, end in pairs]
    assert_kept(casts, x, given, [f"{start} to {middle} to {end}" for middle, end in pairs])


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int8", "uint8"])
def test_clips_of_clips_end_as_they_did(dtype: str) -> None:
    """Also where a lower limit is above an upper one, and where integers round limits apart."""
    limits = list(itertools.product(LIMITS, repeat=4))
    given = np.arange(-3, 5).astype(dtype) if dtype[0] == "i" else np.linspace(0, 4, 17).astype(dtype)
    given = np.concatenate([given, -given]) if dtype[0] == "f" else given
    x = relay.var("x", shape=given.shape, dtype=dtype)
    clips = [relay.clip(relay.clip(x, a_min=a, a_max=b), a_min=c, a_max=d) for a, b, c, d in limits]
    assert_kept(clips, x, given, [f"[{a}, {b}] then [{c}, {d}]" for a, b, c, d in limits])


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_clips_and_relu_end_as_they_did(dtype: str) -> None:
    limits = list(itertools.product(LIMITS, repeat=2))
    given = np.arange(-4, 5).astype(dtype)
    x = relay.var("x", shape=given.shape, dtype=dtype)
    before = [relay.clip(relay.nn.relu(x), a_min=a, a_max=b) for a, b in limits]
    after = [relay.nn.relu(relay.clip(x, a_min=a, a_max=b)) for a, b in limits]
    assert_kept([*before, *after], x, given, [*(f"relu, {one}" for one in limits), *(f"{one}, relu" for one in limits)])


def test_a_limit_that_is_no_number_stays_where_it_is() -> None:
    given = np.array([0.0, 1.0], np.float32)
    x = relay.var("x", shape=(2,), dtype="float32")
    nan = float("nan")
    pairs = [((nan, 1.0), (0.0, 2.0)), ((0.0, nan), (0.0, 2.0)), ((0.0, 1.0), (nan, 2.0)), ((0.0, 1.0), (0.0, nan))]
    clips = [relay.clip(relay.clip(x, a_min=a, a_max=b), a_min=c, a_max=d) for (a, b), (c, d) in pairs]
    assert_kept(clips, x, given, list(map(str, pairs)))
