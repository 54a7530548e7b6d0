"""Pragmas of loops and blocks that a pass dissolves are not lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.core.node import pre_order
from workbench.tir import nodes as t
from workbench.tir.script import parse
from workbench.tir.transforms.pipeline import lower

CODE = "define i32 @seven_of(ptr %out) {\\n  store float 7.0, ptr %out\\n  ret i32 0\\n}\\n"
PRAGMA = f'annotations={{"pragma_import_llvm": "{CODE}", "pragma_other": 3, "note": 1}}'
LOOPS = {
    "one iteration": f"for i in T.serial(1, {PRAGMA}):\n        BODY",
    "unrolled": f"for i in T.unroll(2, {PRAGMA}):\n        BODY",
    "vectorized": f"for i in T.vectorized(4, {PRAGMA}):\n        B[i] = T.float32(3)\n    BODY",
    "a block": f'with T.block("b"):\n        T.block_attr({{"pragma_import_llvm": "{CODE}", "pragma_other": 3}})\n'
    "        BODY",
}


def program(where: str) -> Any:
    body = 'T.evaluate(T.call_extern("seven_of", T.address_of(A[0]), dtype="int32"))'
    params = 'A: T.Buffer((1,), "float32"), B: T.Buffer((4,), "float32")'
    return parse(f"@T.prim_func\ndef f({params}):\n    {LOOPS[where].replace('BODY', body)}\n")


@pytest.mark.parametrize("where", LOOPS)
def test_a_pragma_stays(where: str) -> None:
    found = [node.annotations for node in pre_order(lower(program(where)).body) if isinstance(node, t.For)]
    (kept,) = [annotations for annotations in found if "pragma_import_llvm" in annotations]
    assert kept["pragma_other"] == 3
    session = wb.open(program(where))
    for run in (wb.build(program(where))["f"], session.build()["f"]):
        given = np.zeros(1, np.float32)
        run(given, np.zeros(4, np.float32))
        assert given[0] == 7.0
