"""C sources as parts of programs: compiled, interpreted, exported; what cannot be compiled is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import te, tir
from workbench.contrib import clang, utils
from workbench.core.errors import WorkbenchError
from workbench.runtime.module import load_module
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret

SOURCE = """
extern "C" int scale_row(float* out, const float* in, int n, float factor) {
  for (int i = 0; i < n; ++i) out[i] = in[i] * factor;
  return 0;
}
"""


def scaled(code: str, name: str = "scale_row") -> t.PrimFunc:
    a = te.placeholder((3, 8), name="A")

    def body(ins: list[t.Buffer], outs: list[t.Buffer]) -> t.Stmt:
        call = tir.call_extern(
            "int32", name, outs[0].access_ptr("w"), ins[0].access_ptr("r"), te.const(24, "int32"), te.const(2.5)
        )
        once = tir.Var("once")
        return t.For(once, te.const(0), te.const(1), t.ForKind.SERIAL, t.Evaluate(call), "", _pragma(code))

    c = te.extern((3, 8), [a], body, name="C")
    return te.create_prim_func([a, c])


def _pragma(code: str) -> Any:
    from workbench.core.node import FrozenMap

    return FrozenMap({"pragma_import_llvm": code})


def test_c_is_linked_interpreted_and_exported(tmp_path: Any) -> None:
    folder = utils.tempdir()
    code = clang.create_llvm(SOURCE, output=folder.relpath("code.ll"))
    assert (folder / "code.ll").read_text() == code
    func = scaled(code)
    data = np.random.default_rng(0).random((3, 8), np.float32)
    built = wb.build(func)
    built.export_library(tmp_path / "scaled.so")
    runs = [
        lambda *given: interpret(func, *given),
        lambda *given: built["main"](*given),
        lambda *given: load_module(tmp_path / "scaled.so")["main"](*given),
    ]
    for run in runs:
        found = np.zeros((3, 8), np.float32)
        run(data, found)
        np.testing.assert_allclose(found, data * np.float32(2.5))


def test_llvm_text_is_linked() -> None:
    text = (
        "define i32 @answer_in_llvm(ptr %out, ptr %in, i32 %n, float %x) {\n"
        "  store float %x, ptr %out\n"
        "  ret i32 0\n"
        "}\n"
    )
    found = np.zeros((3, 8), np.float32)
    wb.build(scaled(text, "answer_in_llvm"))["main"](np.zeros((3, 8), np.float32), found)
    assert found[0, 0] == 2.5


def test_a_mistake_in_c_is_told() -> None:
    with pytest.raises(WorkbenchError) as caught:
        clang.create_llvm("int broken( { return 0; }")
    assert caught.value.code == "E-CLANG-FAILED" and "error" in caught.value.found


def test_a_mistake_in_llvm_text_is_told() -> None:
    with pytest.raises(WorkbenchError) as caught:
        wb.build(scaled("define nothing"))
    assert caught.value.code == "E-CODEGEN-IMPORT"


def test_without_a_compiler_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clang, "find_compiler", lambda: None)
    monkeypatch.setattr(clang.shutil, "which", lambda name: None)
    with pytest.raises(WorkbenchError) as caught:
        clang.create_llvm(SOURCE)
    assert caught.value.code == "E-CLANG-NONE" and caught.value.fix
    with pytest.raises(WorkbenchError):
        clang.find_clang()


def test_object_code_of_another_machine_is_refused() -> None:
    from workbench.runtime.symbols import OBJECT_MARK

    with pytest.raises(WorkbenchError) as caught:
        wb.build(scaled(f"{OBJECT_MARK}sparc64 AAAA"))
    assert caught.value.code == "E-CODEGEN-IMPORT" and "sparc64" in caught.value.found
