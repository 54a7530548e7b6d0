"""Padded data are moved to another layout first: where, where not, the numbers, and the tiles that this is for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.relay.generate import assert_close
from workbench import relay
from workbench.core.module import IRModule
from workbench.relay import transform
from workbench.relay.interpret import interpret
from workbench.relay.transforms.moved_padding import MOVED_PADDING
from workbench.relay.transforms.rules import apply_rules


def moved(x: Any, source: str = "NCHW", target: str = "NHWC") -> Any:
    return relay.layout_transform(x, src_layout=source, dst_layout=target)


def pad(x: Any, *widths: tuple[int, int], value: Any = None, mode: str = "constant") -> Any:
    given = {} if value is None else {"pad_value": value}
    return relay.nn.pad(x, pad_width=widths, pad_mode=mode, **given)


X = relay.var("x", shape=(1, 32, 6, 7))
BORDER = ((0, 0), (0, 0), (1, 2), (3, 0))
CHANGED = {
    "zeros": lambda: moved(pad(X, *BORDER)),
    "a value": lambda: moved(pad(X, *BORDER, value=relay.const(np.float32(5)))),
    "mirrored": lambda: moved(pad(X, *BORDER, mode="reflect")),
    "channels": lambda: moved(pad(X, (0, 1), (2, 3), (1, 2), (0, 0))),
    "into blocks": lambda: moved(pad(X, *BORDER), target="NCHW16c"),
}
KEPT = {
    "blocks that are padded": lambda: moved(pad(X, (0, 0), (16, 0), (1, 1), (1, 1)), target="NCHW16c"),
    "out of blocks": lambda: moved(
        pad(relay.reshape(X, (1, 2, 6, 7, 16)), *BORDER, (0, 0)), source="NCHW16c", target="NHWC"
    ),
    "read twice": lambda: relay.Tuple((moved(padded := pad(X, *BORDER)), padded)),
}


@pytest.mark.parametrize("name", [*CHANGED, *KEPT])
def test_data_are_moved_first(name: str) -> None:
    made = {**CHANGED, **KEPT}[name]()
    before = transform.InferType()(IRModule.from_expr(relay.Function([X], made)))
    func = before["main"]
    after = apply_rules(func, tuple(MOVED_PADDING), before)
    assert (after is func) == (name in KEPT)
    if name in CHANGED:
        assert after.body.op.name == "nn.pad" and after.body.args[0].op.name == "layout_transform"
    x = np.random.default_rng(0).standard_normal((1, 32, 6, 7)).astype(np.float32)
    assert_close(interpret(after, x), interpret(func, x))


def test_what_is_moved_and_padded_goes_by_tiles() -> None:
    x = relay.var("x", shape=(1, 64, 28, 28), dtype="uint8")
    padded = pad(moved(x), (0, 0), (1, 1), (1, 1), (0, 0), value=relay.const(np.uint8(7)))
    session = wb.open(relay.Function([x], padded))
    (kernel,) = session.kernels
    assert "llvm.vector.interleave2" in session.schedule(kernel).script()
    given = np.random.default_rng(0).integers(0, 255, (1, 64, 28, 28), np.uint8)
    expected = np.pad(given.transpose(0, 2, 3, 1), ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=7)
    np.testing.assert_array_equal(session.run({"x": given})["output_0"], expected)
