"""Matrix products by the BLAS that NumPy was built with, as te stages (the classic `contrib.cblas`).

    C = cblas.matmul(A, B)                  # a te.extern that calls the packed function below
    f = workbench.build(te.create_schedule(C.op), [A, B, C])

What is called: the packed functions ``tvm.contrib.cblas.matmul`` and ``.batch_matmul`` of `runtime.builtin`, which run
`numpy.matmul` into the output: for float32 and float64 the gemm of the BLAS that NumPy was built with.
"""

from __future__ import annotations

from .. import te
from ..arith.build import cast
from ..core.errors import WorkbenchError
from ..runtime import builtin
from ..tir.op import call_packed

MATMUL = "tvm.contrib.cblas.matmul"
BATCH_MATMUL = "tvm.contrib.cblas.batch_matmul"
_DTYPES = ("float32", "float64")


def matmul(
    lhs: te.Tensor, rhs: te.Tensor, transa: bool = False, transb: bool = False, name: str = "C", tag: str = ""
) -> te.Tensor:
    """lhs @ rhs for matrices (n, k) and (k, m), either given transposed; float32 or float64.

    Raises `WorkbenchError`: E-CBLAS-NONE, E-CBLAS-ARGUMENT.
    """
    return _product(lhs, rhs, transa, transb, 2, MATMUL, name, tag)


def batch_matmul(
    lhs: te.Tensor,
    rhs: te.Tensor,
    transa: bool = False,
    transb: bool = False,
    iterative: bool = False,
    name: str = "C",
    tag: str = "",
) -> te.Tensor:
    """lhs @ rhs for stacks of matrices (b, n, k) and (b, k, m); one of the stacks may hold a single matrix.

    `iterative` is understood and makes no difference: NumPy calls gemm for each matrix.
    """
    return _product(lhs, rhs, transa, transb, 3, BATCH_MATMUL, name, tag)


def _product(
    lhs: te.Tensor, rhs: te.Tensor, transa: bool, transb: bool, rank: int, function: str, name: str, tag: str
) -> te.Tensor:
    _check(lhs, rhs, rank)
    builtin.require_blas()
    left, right = list(lhs.shape), list(rhs.shape)
    if transa:
        left[-1], left[-2] = left[-2], left[-1]
    if transb:
        right[-1], right[-2] = right[-2], right[-1]
    if all(isinstance(extent, int) for extent in (left[-1], right[-2])) and left[-1] != right[-2]:
        raise _refuse("the inner extents differ", f"{left[-1]} and {right[-2]}", "one extent")
    batch = left[:-2]
    if rank == 3 and left[0] == 1:
        batch = right[:-2]
    if rank == 3 and all(isinstance(x, int) and x != 1 for x in (left[0], right[0])) and left[0] != right[0]:
        raise _refuse("the stacks differ in length", f"{left[0]} and {right[0]}", "equal lengths, or a single matrix")
    return te.extern(
        (*batch, left[-2], right[-1]),
        [lhs, rhs],
        lambda ins, outs: call_packed(function, ins[0], ins[1], outs[0], cast("bool", transa), cast("bool", transb)),
        name=name,
        tag=tag,
        dtype=lhs.dtype,
    )


def _check(lhs: te.Tensor, rhs: te.Tensor, rank: int) -> None:
    if lhs.ndim != rank or rhs.ndim != rank:
        raise _refuse("the ranks do not fit", f"{lhs.ndim} and {rhs.ndim} axes", f"{rank} axes each")
    if lhs.dtype != rhs.dtype or str(lhs.dtype) not in _DTYPES:
        raise _refuse("the dtypes do not fit", f"{lhs.dtype} and {rhs.dtype}", "both float32, or both float64")


def _refuse(message: str, found: str, expected: str) -> WorkbenchError:
    return WorkbenchError("E-CBLAS-ARGUMENT", f"cblas: {message}", found=found, expected=expected)
