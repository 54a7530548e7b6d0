"""Which implementation computes an operator: those that fit, the cheapest of them, what a person asks for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.schedule.implemented import NARROW, WIDE
from workbench.arith.nodes import Var
from workbench.core.errors import WorkbenchError
from workbench.lower.choosing import candidates, choice_by_hand, chosen
from workbench.lower.implementation import Workload
from workbench.lower.implementations.table import FAMILIES
from workbench.relay.ir.operator import OPERATORS, Operator
from workbench.relay.ir.types import TensorType
from workbench.target import Target
from workbench.topi.nn_conv import Conv2D
from workbench.topi.nn_dense import BatchMatMul, Dense, DensePack, MatMul
from workbench.topi.nn_norm import Softmax
from workbench.topi.nn_winograd import WinogradConv2D


def workload(op: Operator, *shapes: Any, target: Target = NARROW, dtype: str = "float32") -> Workload:
    return Workload(op, tuple(TensorType(shape, dtype) for shape in shapes), target)


def layer(channels: int, size: int, taps: int, **attributes: Any) -> Workload:
    """A convolution whose weight lies in blocks of eight."""
    op = Conv2D(kernel_layout="OIHW8o", padding=(taps // 2,) * 4, **attributes)
    data = {"NCHW": (1, channels, size, size), "NHWC": (1, size, size, channels)}
    blocks = (1, channels // 8, size, size, 8)
    return workload(op, data.get(op.data_layout, blocks), (channels // 8, channels, taps, taps, 8))


TAKEN = {
    "three taps": (layer(64, 56, 3), "conv2d.blocks"),
    "one tap": (layer(64, 56, 1), "conv2d.pixels"),
    "one tap, channels last": (layer(64, 56, 1, data_layout="NHWC"), "conv2d.blocks"),
    "one tap of few pixels": (layer(64, 3, 1), "conv2d.blocks"),
    **{
        f"one tap of one place, blocks of {lanes}": (
            workload(Conv2D(kernel_layout=f"OIHW{lanes}o"), (1, 512, 1, 1), (64 // lanes, 512, 1, 1, lanes),
                     target=target), "conv2d.blocks")
        for lanes, target in ((4, Target("llvm -mcpu=cortex-a72 -mtriple=aarch64-linux-gnu")), (8, NARROW), (16, WIDE))
    },
    "a weight as it is written": (workload(Conv2D(), (1, 8, 9, 9), (16, 8, 3, 3)), "conv2d.columns"),
    "a weight as it is written, channels last": (workload(Conv2D(data_layout="NHWC"), (1, 9, 9, 8), (16, 8, 3, 3)),
                                                 "conv2d.plain"),
    "one channel of a large picture": (workload(Conv2D(kernel_layout="OIHW8o"), (1, 1, 112, 112), (4, 1, 3, 3, 8)),
                                       "conv2d.columns"),
    "half a block of channels": (workload(Conv2D(channels=8, kernel_layout="OIHW16o"), (1, 8, 88, 88), (1, 8, 5, 5, 16),
                                           target=WIDE), "conv2d.columns"),
    "data in blocks": (workload(Conv2D(data_layout="NCHW4c"), (1, 2, 5, 5, 4), (8, 8, 3, 3)), "conv2d.plain"),
    "data and weight in blocks": (layer(16, 9, 3, data_layout="NCHW8c"), "conv2d.blocks"),
    "in blocks of another size": (workload(Conv2D(data_layout="NCHW4c", kernel_layout="OIHW8o"), (1, 2, 5, 5, 4),
                                           (1, 8, 3, 3, 8)), "conv2d.plain"),
    "data in blocks, groups": (workload(Conv2D(data_layout="NCHW8c", kernel_layout="OIHW8o", groups=2),
                                        (1, 2, 5, 5, 8), (2, 8, 3, 3, 8)), "conv2d.plain"),
    "data in blocks, depthwise": (workload(Conv2D(data_layout="NCHW8c", kernel_layout="OIHW8o", groups=16),
                                           (1, 2, 5, 5, 8), (2, 1, 3, 3, 8)), "conv2d.blocks"),
    "depthwise": (workload(Conv2D(groups=8, channels=8), (1, 8, 9, 9), (8, 1, 3, 3)), "conv2d.rows"),
    "depthwise, channels last": (
        workload(Conv2D(groups=8, channels=8, data_layout="NHWC", kernel_layout="HWOI"), (1, 9, 9, 8), (3, 3, 8, 1)),
        "conv2d.channels",
    ),
    "data in blocks, several outputs of each": (
        workload(Conv2D(data_layout="NCHW8c", kernel_layout="OIHW8o", groups=8, channels=16), (1, 1, 5, 5, 8),
                 (2, 1, 3, 3, 8)), "conv2d.plain",
    ),
    "depthwise in blocks": (
        workload(Conv2D(groups=8, kernel_layout="OIHW8o"), (1, 8, 9, 9), (1, 1, 3, 3, 8)), "conv2d.blocks",
    ),
    "groups": (workload(Conv2D(groups=2), (1, 8, 9, 9), (8, 4, 3, 3)), "conv2d.columns"),
    "strided and dilated": (workload(Conv2D(strides=(2, 2), dilation=(2, 2)), (1, 8, 19, 19), (8, 8, 3, 3)),
                            "conv2d.plain"),
    "winograd": (workload(WinogradConv2D(tile_size=2, kernel_layout="HWOI8o"), (1, 8, 8, 8), (4, 4, 2, 8, 8)),
                 "winograd.tiles"),
    "winograd, blocks of one": (workload(WinogradConv2D(tile_size=2, kernel_layout="HWOI1o"), (1, 8, 8, 8),
                                         (4, 4, 16, 8, 1)), "winograd.plain"),
    "winograd, odd channels": (workload(WinogradConv2D(tile_size=2, kernel_layout="HWOI8o"), (1, 3, 8, 8),
                                        (4, 4, 2, 3, 8)), "winograd.plain"),
    "a product": (workload(MatMul(), (32, 64), (64, 32)), "product.tiles"),
    "a weight in blocks": (workload(DensePack(weight_layout="NC8n"), (4, 64), (4, 64, 8)), "product.tiles"),
    "columns a row apart": (workload(Dense(), (4, 64), (32, 64)), "product.plain"),
    "stacks": (workload(BatchMatMul(transpose_b=False), (2, 6, 5), (2, 5, 32)), "product.tiles"),
    "rows": (workload(Softmax(), (4, 10)), "softmax.rows"),
    "one row without an axis of its own": (workload(Softmax(), (10,)), "softmax.plain"),
    "columns": (workload(Softmax(axis=0), (4, 10)), "softmax.plain"),
    "symbolic rows": (workload(Softmax(), (Var("n"), 10)), "softmax.rows"),
    "symbolic pictures": (workload(Conv2D(kernel_layout="OIHW8o"), (Var("n"), 8, 9, 9), (2, 8, 3, 3, 8)),
                          "conv2d.plain"),
    "no elements": (workload(MatMul(), (0, 64), (64, 32)), "product.plain"),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_taken(name: str) -> None:
    asked, wanted = TAKEN[name]
    found = candidates(asked)
    assert str(chosen(asked)).partition(" ")[0] == wanted, "\n".join(map(str, found))
    assert {one.implementation.name for one in found} == {one.name for one in FAMILIES[type(asked.operator).family]}
    fitting = [one for one in found if one.refusal is None]
    assert found[: len(fitting)] == tuple(fitting), "those that do not fit come last"
    assert [one.cycles for one in fitting] == sorted(one.cycles for one in fitting)


@pytest.mark.parametrize("name", TAKEN)
def test_each_config_can_be_asked_for(name: str) -> None:
    asked, _ = TAKEN[name]
    for one in candidates(asked):
        if one.refusal is None:
            every = [config for config, _ in one.implementation.costs(asked)]
            assert len(every) == one.configs == len({str(sorted(config.items())) for config in every})
            for config in every:
                found = choice_by_hand(asked, one.implementation.name, config)
                assert (found.implementation, dict(found.config), found.by_hand) == (one.implementation, config, True)
        else:
            with pytest.raises(WorkbenchError, match="cannot compute") as caught:
                choice_by_hand(asked, one.implementation.name, {})
            assert caught.value.code == "E-CHOICE-REFUSED" and caught.value.expected == one.refusal.clause


def test_numbers_that_are_not_given_are_the_cheapest() -> None:
    asked = layer(64, 56, 3)
    assert dict(choice_by_hand(asked, "conv2d.blocks", {}).config) == dict(chosen(asked).config)  # type: ignore[union-attr]
    assert choice_by_hand(asked, "conv2d.blocks", {"blocks": 4}).config["blocks"] == 4


@pytest.mark.parametrize(
    ("name", "config", "code", "told"),
    [
        ("conv2d.block", {}, "E-CHOICE-UNKNOWN", "conv2d.blocks"),
        ("conv2d.blocks", {"rows": 2}, "E-CHOICE-CONFIG", "columns"),
        ("conv2d.blocks", {"columns": 5}, "E-CHOICE-CONFIG", "7"),
        ("conv2d.blocks", {"columns": True}, "E-CHOICE-CONFIG", "7"),
        ("conv2d.blocks", {"columns": 8, "blocks": 4}, "E-CHOICE-CONFIG", "blocks=1 columns=8"),
        ("conv2d.plain", {"columns": 7}, "E-CHOICE-CONFIG", "no numbers"),
    ],
)
def test_what_there_is_not_is_refused(name: str, config: dict[str, Any], code: str, told: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        choice_by_hand(layer(64, 56, 3), name, config)
    assert caught.value.code == code and told in caught.value.expected, caught.value


def test_an_operator_without_a_family_leaves_nothing_to_choose() -> None:
    asked = workload(OPERATORS["add"](), (4, 4), (4, 4))
    assert chosen(asked) is None and candidates(asked) == ()
    with pytest.raises(WorkbenchError, match="no implementation"):
        choice_by_hand(asked, "add.plain", {})


def test_every_family_has_a_last_resort_and_every_name_is_of_its_family() -> None:
    families = {cls.family for cls in OPERATORS.values()} - {""}
    assert families == set(FAMILIES)
    for family, implementations in FAMILIES.items():
        assert implementations[-1].name == f"{family}.plain"
        assert all(one.name.startswith(f"{family}.") and one.about for one in implementations)


def test_wider_vectors_take_other_tiles() -> None:
    taken = [chosen(workload(MatMul(), (64, 64), (64, 64), target=target)) for target in (WIDE, NARROW)]
    assert [one.config["lanes"] for one in taken if one is not None] == [16, 8]
