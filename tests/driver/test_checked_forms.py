"""The form in which a loop function is checked natively: where it runs long, what is to be unrolled stays loops."""

from __future__ import annotations

import pytest

from tests.codegen.support import function
from tests.driver.test_numerics import HEAD, called
from workbench.core.module import IRModule
from workbench.core.node import pre_order
from workbench.driver.numerics.forms import flat_form, for_one_run
from workbench.tir import nodes as t

TEXT = (
    HEAD + "    for k in T.serial({count}):\n        for i in T.unroll(4):\n            for j in T.unroll(4):\n"
    "                B[i * 4 + j] = A[i * 4 + j] * 2.0\n"
)


@pytest.mark.parametrize(
    ("count", "level", "kind"), [(100, 0, t.ForKind.UNROLLED), (10_000_000, 1, t.ForKind.SERIAL)]
)
def test_where_llvm_optimises_what_is_to_be_unrolled_stays_loops(count: int, level: int, kind: t.ForKind) -> None:
    """LLVM took 23 s for the copies of a convolution's tile; a kernel that was right was called one that hangs."""
    form = flat_form(IRModule({"f": function(TEXT.format(count=count))}), checked=True)
    module, found = for_one_run(form)
    kinds = [node.kind for node in pre_order(module["f"].body) if isinstance(node, t.For)]
    assert found == level and kinds[-2:] == [kind, kind]


def test_loops_in_their_place_give_the_same() -> None:
    answer = called(TEXT.format(count=1), checked=True)
    assert answer.error is None and answer.outputs[0].tolist() == [2.0 * at for at in range(16)]
