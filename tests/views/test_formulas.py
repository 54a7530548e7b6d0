"""The stages of a kernel as formulas: what they say of sums, of each other, and of what no formula describes."""

from __future__ import annotations

import workbench as wb
from benchmarks.model_rank import softmax
from tests.driver.programs import small_session
from workbench import te
from workbench.views.formulas import formulas_of
from workbench.views.layers import LayersModel


def test_softmax_is_four_formulas_that_name_each_other() -> None:
    stages = LayersModel(wb.open(softmax(8, 16))).formulas("main").stages
    assert [(one.target, one.over, one.formula) for one in stages] == [
        ("top[i]", "max k < 16", "X[i, k]"),
        ("raised[i, j]", "", "exp(X[i, j] - top[i])"),
        ("total[i]", "Σ m < 16", "raised[i, m]"),
        ("Y[i, j]", "", "raised[i, j] / total[i]"),
    ]
    assert [one.read_by for one in stages] == [("raised",), ("total", "Y"), ("Y",), ()]
    assert stages[3].reads == ("raised", "total")
    assert stages[1].shape == "8 x 16 float32"


def test_each_stage_knows_its_line_in_the_layers_text() -> None:
    model = LayersModel(small_session())
    for kernel in model.session.kernels:
        lines = model.text("te", kernel)
        for stage in model.formulas(kernel).stages:
            assert f'T.block("{stage.name}")' in lines[stage.line]


def test_a_product_of_the_own_value_is_no_sum() -> None:
    """x = x * x + 1 twice over: the own value stands on both sides of the sign."""
    a = te.placeholder((4,), name="A")
    k = te.reduce_axis((0, 3), name="k")
    squares = te.comm_reducer(lambda x, y: x * x + y, lambda dtype: te.const(0, dtype), name="squares")
    stage = formulas_of(te.create_prim_func([a, te.compute((2,), lambda i: squares(a[i + k], axis=k), name="S")]))[0]
    assert stage.target == "S[i]"
    assert (stage.over, "S[i] * S[i]" in stage.formula) == ("", True)


def test_long_formulas_end_in_dots() -> None:
    a = te.placeholder((64,), name="A")
    made = te.compute((4,), lambda i: sum(a[i + n] for n in range(60)), name="S")
    (stage,) = formulas_of(te.create_prim_func([a, made]))
    assert stage.formula.endswith(" …") and len(stage.formula) == 400
