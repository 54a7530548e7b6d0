"""What the interpreter holds: refused by a limit before it is taken, whatever the program asks for."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench import tir
from workbench.core.errors import WorkbenchError
from workbench.core.limits import limits
from workbench.core.module import IRModule
from workbench.tir.interpret import interpret, interpreted_bytes
from workbench.tir.interpreting.machine import Machine

X = np.arange(4, dtype=np.uint8)


def through(size: int, times: int = 1) -> tir.PrimFunc:
    """A copy of four numbers by way of a buffer of `size`, made anew `times` times."""
    return wb.script.from_source(f"""
@T.prim_func
def main(X: T.Buffer((4,), "uint8"), D: T.Buffer((4,), "uint8")):
    for t in T.serial({times}):
        with T.block("root"):
            vt = T.axis.spatial({times}, t)
            C = T.alloc_buffer(({size},), "uint8")
            for i in T.serial(4):
                with T.block("C"):
                    vi = T.axis.spatial(4, i)
                    C[vi] = X[vi]
            for i in T.serial(4):
                with T.block("D"):
                    vi = T.axis.spatial(4, i)
                    D[vi] = C[vi]
""")


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setitem(vars(limits), "interpreter_bytes", 100_000)
    return 100_000


def test_more_than_the_limit_is_refused_before_it_is_taken() -> None:
    with pytest.raises(WorkbenchError, match="interpreter_bytes") as caught:
        interpret(through(1 << 40), X, np.zeros_like(X))
    assert caught.value.code == "E-LIMIT" and "with C" in caught.value.message and "main" in caught.value.where


def test_what_is_made_anew_counts_once(small_limit: int) -> None:
    out = np.zeros_like(X)
    interpret(through(small_limit // 10, times=50), X, out)
    assert out.tolist() == [0, 1, 2, 3]


def test_arguments_count(small_limit: int) -> None:
    many = np.zeros(small_limit // 40, np.uint8)
    copy = f'@T.prim_func\ndef main(A: T.Buffer(({many.size},), "uint8")):\n    A[0] = T.uint8(1)\n'
    interpret(wb.script.from_source(copy), many)
    with pytest.raises(WorkbenchError, match="arguments") as caught:
        interpret(wb.script.from_source(copy.replace(str(many.size), str(many.size + 1))), np.append(many, many[:1]))
    assert caught.value.code == "E-LIMIT"


def test_where_there_is_not_enough_memory_one_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(self: Machine, site: object, count: int) -> list[object]:
        raise MemoryError

    monkeypatch.setattr(Machine, "allocate", none)
    with pytest.raises(WorkbenchError) as caught:
        interpret(through(8), X, np.zeros_like(X))
    error = caught.value
    assert error.code == "E-TIR-MEMORY" and error.where == "main" and error.expected and error.fix


def test_numerics_of_a_program_with_a_large_buffer_are_checked_as_native_code() -> None:
    program = through(1 << 28)
    assert interpreted_bytes(program) == 8 * (1 << 28) + 2 * 4 * 40
    report = wb.open(program).check_numerics({"X": X})
    assert report.first_wrong is None and report


def calling(text: str) -> str:
    """A function `main` of one array around lines of statements."""
    return f'@T.prim_func\ndef main(X: T.Buffer((4,), "uint8")):\n{text}'


def scratch(name: str, size: int, more: str = "") -> tir.PrimFunc:
    """A function of one array and a number that has a buffer of `size`."""
    return wb.script.from_source(f"""
@T.prim_func
def {name}(X: T.Buffer((4,), "uint8"), n: T.int32):
    T.func_attr({{"global_symbol": "{name}"}})
    B = T.alloc_buffer(({size},), "uint8")
    B[0] = X[0] + T.uint8(1)
    X[0] = B[0]
{more}""")


def test_each_call_under_way_counts(small_limit: int) -> None:
    """A function that calls itself had its buffer counted once, however deep."""
    again = '    if n > 0:\n        T.evaluate(T.call_tir("deeper", T.address_of(X[0]), n - 1, dtype="int32"))\n'
    deeper = scratch("deeper", small_limit // 8 // 5, again)
    module, out = IRModule({"deeper": deeper}), np.zeros(4, np.uint8)
    interpret(deeper, out, 3, module=module)
    assert out[0] == 4
    with pytest.raises(WorkbenchError, match="interpreter_bytes"):
        interpret(deeper, out, 6, module=module)


def test_calls_that_have_returned_count_no_more(small_limit: int) -> None:
    """What each of twenty functions needs while it runs was added up."""
    parts = {f"part{number}": scratch(f"part{number}", small_limit // 8 // 2) for number in range(20)}
    lines = (f'    T.evaluate(T.call_tir("{name}", T.address_of(X[0]), 0, dtype="int32"))\n' for name in parts)
    out = np.zeros(4, np.uint8)
    interpret(wb.script.from_source(calling("".join(lines))), out, module=IRModule(dict(parts)))
    assert out[0] == 20
