"""unsafe_set_dtype: golden, machine code against NumPy, refusals."""

from __future__ import annotations

import numpy as np

import workbench as wb
from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_refusal, check_steps
from workbench.arith import build
from workbench.arith.nodes import Var
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.tir.build import load, nest, point_region, seq, store


def test_wider(golden: Golden) -> None:
    check_steps(golden, p.matmul, lambda sch: sch.unsafe_set_dtype("C", 0, "float64"))


def test_narrower_keeps_small_integers(golden: Golden) -> None:
    check_steps(golden, p.chain, lambda sch: sch.unsafe_set_dtype("two", 0, "int16"))


def test_machine_code_agrees_with_numpy() -> None:
    sch = Schedule(p.matmul(5, 7, 9))
    sch.unsafe_set_dtype("C", 0, "float64")
    random = np.random.default_rng(0)
    a, b = random.standard_normal((5, 9)).astype("float32"), random.standard_normal((9, 7)).astype("float32")
    d = np.zeros((5, 7), "float32")
    wb.build(sch.func)["main"](a, b, d)
    np.testing.assert_allclose(d, a.astype("float64") @ b + 1, rtol=1e-5)


def addressed() -> t.PrimFunc:
    """M[i] = X[i], and the address of M goes to another function."""
    x, mid = (t.Buffer(name, (build.const(4),)) for name in ("X", "M"))
    i, vi = Var("i"), Var("vi")
    block = t.Block(
        "make", (t.IterVar(vi, t.Range(build.const(0), build.const(4)), t.IterKind.SPATIAL),),
        (point_region(x, (vi,)),), (point_region(mid, (vi,)),), (), None, store(mid, load(x, vi), vi),
    )  # fmt: skip
    call = build.call("call_extern", "use", build.call("address_of", load(mid, 0)), dtype="int32")
    body = seq(nest([(i, 4)], t.BlockRealize((i,), build.const(True), block)), t.Evaluate(call))
    return p.in_root((x,), (mid,), body)


def test_refuses_a_parameter(golden: Golden) -> None:
    check_refusal(golden, p.matmul, lambda s: s.unsafe_set_dtype("D", 0, "float16"), "E-SCHEDULE-DTYPE-PARAMETER")


def test_refuses_what_is_no_dtype_of_numbers(golden: Golden) -> None:
    check_refusal(golden, p.matmul, lambda s: s.unsafe_set_dtype("C", 0, "flt"), "E-SCHEDULE-DTYPE")


def test_refuses_an_addressed_buffer(golden: Golden) -> None:
    check_refusal(golden, addressed, lambda s: s.unsafe_set_dtype("make", 0, "float64"), "E-SCHEDULE-ADDRESSED")
