"""Checked mode: which accesses get a check."""

from __future__ import annotations

import functools
import itertools
import operator
from typing import Any

from workbench.arith.build import const, if_then_else
from workbench.tir.script import parse, script
from workbench.tir.transforms.bound_check import check_bounds

TEXT = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        C[i] = A[i + 1]
"""


def test_a_read_under_many_conditions_is_checked_under_each_that_leaves_it_outside() -> None:
    """A condition that came into being where another one had lain was taken for that one: half the checks lacked."""
    base: Any = parse(TEXT)
    zero = const(0.0, "float32")
    loop = base.body
    store, i = loop.body, loop.var
    for bounds in itertools.product((2, 3, 9), repeat=4):
        reads = [if_then_else(i < bound, store.value, zero) for bound in bounds]
        value = if_then_else(i >= 0, functools.reduce(operator.add, reads), zero)
        made = check_bounds(base.replace(body=loop.replace(body=store.replace(value=value))))
        assert script(made).count("load from A") == bounds.count(9), bounds
