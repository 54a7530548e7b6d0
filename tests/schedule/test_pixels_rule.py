"""The default schedule of convolutions of one tap over pictures NCHW: numbers stay, tiles fit, threads have work."""

from __future__ import annotations

from typing import Any

import pytest

from tests.schedule.implemented import NARROW, WIDE, Made, implemented, scheduled
from tests.schedule.test_rules import check_numbers_stay
from workbench import te
from workbench.arith import build
from workbench.core.node import pre_order
from workbench.lower.implementations.conv2d import CHANNELS
from workbench.schedule.rules.shapes import Machine
from workbench.target import Target
from workbench.tir import nodes as t
from workbench.tir.transforms.pipeline import lower
from workbench.topi.conv_times import by_pixels
from workbench.topi.nn_conv import Conv2D


def one_tap(ci: int, co: int, shape: tuple[int, int], lanes: int = 8, batch: int = 1, stride: int = 1) -> Made:
    """A convolution with a bias, another operand and a relu after it."""
    x = te.placeholder((batch, ci, *shape), name="X")
    w = te.placeholder((-(-co // lanes), ci, 1, 1, lanes), name="W")
    op = Conv2D(strides=(stride, stride), channels=co, kernel_layout=f"OIHW{lanes}o")

    def behind(conv: te.Tensor) -> Any:
        bias, other = te.placeholder((co,), name="bias"), te.placeholder(conv.shape, name="other")
        return [bias, other], te.compute(
            conv.shape, lambda n, o, y, x: build.maximum(conv(n, o, y, x) + bias(o) + other(n, o, y, x), 0.0),
            name="relu",
        )  # fmt: skip

    return implemented(op, [x, w], behind, "conv2d.pixels")


CASES = {
    "whole panels": lambda: one_tap(5, 16, (4, 8)),
    "a panel cut short": lambda: one_tap(5, 16, (5, 5)),
    "channels filled up": lambda: one_tap(3, 12, (4, 4)),
    "several pictures": lambda: one_tap(4, 8, (3, 10), batch=2),
    "many channels, few pixels": lambda: one_tap(2, 136, (4, 4)),
    "one row": lambda: one_tap(4, 8, (1, 31)),
    "one channel": lambda: one_tap(1, 8, (4, 4)),
    "blocks of four": lambda: one_tap(3, 8, (4, 6), lanes=4),
}


@pytest.mark.parametrize("target", (WIDE, NARROW), ids=("wide", "narrow"))
@pytest.mark.parametrize("name", CASES)
def test_the_numbers_stay(name: str, target: Target) -> None:
    check_numbers_stay(CASES[name](), target)


@pytest.mark.parametrize("target", (WIDE, NARROW), ids=("wide", "narrow"))
@pytest.mark.parametrize("name", CASES)
def test_sums_are_those_of_one_tile(name: str, target: Target) -> None:
    """Also where there is one block of channels: they were kept for all its parts, in memory."""
    lowered = lower(scheduled(CASES[name](), target).func)
    (sums,) = [n.buffer for n in pre_order(lowered.body) if isinstance(n, t.AllocBuffer) and n.buffer.scope == "local"]
    machine = Machine.of(target)
    assert sums.shape[0].value <= machine.lanes * (machine.registers - 2)  # type: ignore[attr-defined]


def kinds(block: str, made: Made, target: Target = NARROW) -> list[tuple[str, Any]]:
    loops = scheduled(made, target).state.tree.blocks[block].loops
    return [(loop.kind.name, getattr(loop.extent, "value", None)) for loop in loops]


def test_a_panel_is_copied_once_for_all_channels() -> None:
    made = one_tap(64, 64, (56, 56))
    assert kinds("data_pack", made)[0] == kinds("relu", made)[0] == ("PARALLEL", 56 * 56 // 16)
    assert kinds("data_pack", made)[-1] == kinds("conv2d", made)[-1] == kinds("relu", made)[-1] == ("VECTORIZED", 16)


def test_few_panels_are_shared_out_by_channels() -> None:
    assert kinds("relu", one_tap(64, 512, (7, 7)))[0] == ("PARALLEL", 4 * 512 // CHANNELS)


@pytest.mark.parametrize(
    ("shape", "read"),
    [
        ((1, 4, 8, 16), lambda n, y, x, o: (n, o, y, x)),
        ((1, 8, 8, 8), lambda n, y, x, o: (n, o % 8, y % 4, x)),
        ((1, 4, 8, 16), lambda n, o, y, x: (n, o * 4 + y % 2 * 2 + x % 2, y // 2, x // 2)),
    ],
    ids=["channels last", "as large as pictures", "depth to space"],
)
def test_an_output_that_turns_axes_about_is_scheduled_otherwise(shape: tuple[int, ...], read: Any) -> None:
    """Its vectors lay across the sums: 85 copies of a tile that was none, and the build did not end."""
    x, w = te.placeholder((1, 4, 4, 8), name="X"), te.placeholder((2, 4, 1, 1, 8), name="W")
    op = Conv2D(channels=16, kernel_layout="OIHW8o")
    made = implemented(
        op, [x, w], lambda conv: ((), te.compute(shape, lambda *i: conv(*read(*i)) * 2.0, name="turned"))
    )
    check_numbers_stay(made, NARROW)
    assert ("VECTORIZED", 16) not in kinds("conv2d", made)


def test_what_goes_by_pixels() -> None:
    def chosen(shape: tuple[int, int], block: int = 8, **attributes: Any) -> bool:
        kernel = attributes.pop("kernel", (1, 1))
        op = Conv2D(**attributes)
        layout = attributes.get("data_layout", "NCHW")
        data = (1, 8, *shape) if layout == "NCHW" else (1, *shape, 8)
        return by_pixels(op, op.geometry(data, (16, 8 // op.groups, *kernel)), block)

    assert chosen((56, 56)) and chosen((7, 7)) and chosen((7, 7), 16) and chosen((55, 55), 16)
    assert not chosen((1, 1)) and not chosen((5, 4), 8), "most of a tile would be filled up"
    assert not chosen((56, 56), strides=(2, 2)) and not chosen((56, 56), padding=(1, 1, 1, 1))
    assert not chosen((56, 56), groups=2) and not chosen((56, 56), data_layout="NHWC")
    assert not chosen((56, 56), kernel=(3, 3))
