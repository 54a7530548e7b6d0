"""Programs as JSON between processes: the same programs again, what is shared still shared, nothing else made."""

from __future__ import annotations

import json

import pytest

from workbench import te
from workbench.core.equal import same
from workbench.core.errors import WorkbenchError
from workbench.core.node import Node, node, post_order
from workbench.core.wire import CannotTell, packed, unpacked
from workbench.driver import kernels  # adds what loop programs hold
from workbench.tir import nodes as t


def product() -> t.PrimFunc:
    a, b = (te.placeholder((8, 8), name=name) for name in "AB")
    k = te.reduce_axis((0, 8), "k")
    made = te.compute((8, 8), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_prim_func([a, b, made])


def again(*roots: Node) -> list[Node]:
    return unpacked(json.loads(json.dumps(packed(roots))))


def test_a_program_comes_back_as_it_was() -> None:
    assert kernels.VALUES
    func = product()
    made, second = again(func, func)
    assert same(made, func)
    assert made is second
    assert len(list(post_order(made))) == len(list(post_order(func)))


VALUES = [float("inf"), float("-inf"), 0.1, -0.0, 1e-320, 2**63, "a:b", (), ((1,), ("x", None))]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back_as_they_were(value: object) -> None:
    func = product()
    attrs = func.attrs.set("value", value)
    (made,) = again(func.replace(attrs=attrs))
    assert repr(made.attrs["value"]) == repr(value)
    assert type(made.attrs["value"]) is type(value)


def test_no_number_is_another() -> None:
    (made,) = again(product().replace(attrs=product().attrs.set("value", float("nan"))))
    assert made.attrs["value"] != made.attrs["value"]


def test_what_has_no_words_is_refused() -> None:
    func = product()
    with pytest.raises(CannotTell, match=r"builtins\.complex"):
        packed([func.replace(attrs=func.attrs.set("value", 1j))])


def test_no_other_class_is_made() -> None:
    told = packed([product()])
    told[0][0][0] = "os.system"
    with pytest.raises(WorkbenchError, match="E-SAVED-CLASS"):
        unpacked(told)


def test_a_class_of_one_s_own_is_known_by_its_name() -> None:
    @node
    class Mine(Node):
        value: int

    (made,) = again(Mine(3))
    assert type(made) is Mine
    assert made.value == 3
