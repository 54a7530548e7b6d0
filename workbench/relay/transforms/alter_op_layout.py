"""AlterOpLayout: convolutions compute in the layout in which the whole graph takes the least time, by a model.

    x: NCHW                       R.layout_transform(x, "NCHW", "NHWC")
    R.nn.relu(R.nn.conv2d(x, w))  R.nn.relu(R.nn.conv2d(..., data_layout="NHWC"))

Two graphs are compared: the one as it is, and the one whose convolutions run over data NHWC, with all moves between
layouts that this needs (`ConvertLayout`).  The time of a convolution is that of its multiply-adds at the share of the
machine's peak that its kernel reaches, or by Winograd's tiles where these are faster (`topi.conv_times`); the time of
a move is that of its bytes.  Constants are moved at once: Winograd's tiles are for these only.

Layout rules of users (`relay.op.register_alter_op_layout`) go first; where there is one for convolutions, it decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from ...core.module import IRModule
from ...core.node import Node, post_order
from ...core.rewrite import Failure, Match
from ...core.tensor import Tensor
from ...core.transform import PassContext, function_pass
from ...target.target import Target
from ...topi import conv_times
from ...topi.layout import LayoutTransform
from ..ir import expr as e
from ..ir.operator import Operator
from ..ir.types import TensorType
from ..op.altering import ALTERINGS
from .convert_layout import Converter, Wishes
from .fold_constant import constant_call
from .moved_padding import MOVED_PADDING
from .rules import apply_rules
from .users_layouts import by_users

LARGE: Final = 1 << 16
"""Bytes from which a constant's numbers stay where they are until somebody asks for them."""


def _moved_constant(m: Match) -> Node | None:
    """A constant in its new layout: a large one as a view, which is packed for the kernels in one move later on."""
    call: Any = m.root
    order = call.op.order() if isinstance(call.op, LayoutTransform) else None
    if order is None or call.args[0].data.nbytes < LARGE:
        return constant_call.replace(m) if constant_call.replace is not None else None
    data: Tensor = call.args[0].data
    shape = tuple(data.shape[axis] for axis in order)
    return e.Constant(Tensor.stored(lambda: data.numpy().transpose(order), data.dtype, shape))


AFTER: Final = (replace(constant_call, replace=_moved_constant), *MOVED_PADDING)
"""Rules for what was moved."""
MOVED: Final = 16.0
"""Bytes that a cycle moves from one layout to another."""
GAIN: Final = 0.97
"""What must be left of the time for a change of all layouts."""


@function_pass(opt_level=3, name="AlterOpLayout", required=["InferType"], applies_to=e.Function)
def AlterOpLayout(
    func: e.Function, mod: IRModule, ctx: PassContext, *, lanes: int = 0, winograd: bool = True
) -> e.Function:
    """Let two-dimensional convolutions compute over data NHWC where the whole function is faster so, moves included.

    `lanes`: of a vector register (0: those of the current target); `winograd` as for PackWeights.
    """
    if func.is_primitive:
        return func
    func = by_users(func)
    if "nn.conv2d" in ALTERINGS:
        return apply_rules(func, AFTER, mod)
    tiles = winograd and ctx.opt_level >= 3
    target = Target.current(allow_none=True) or Target("llvm")
    model = _Model(lanes or target.lanes, tiles, target.dot_dtypes if lanes in (0, target.lanes) else None)
    if not any(model.is_convolution(node) for node in post_order(func.body)):
        return func
    wishes = _wishes(func)
    tried = Converter(wishes, silent=True).run(func)
    if model.time(tried) >= GAIN * model.time(func):
        return func
    return apply_rules(Converter(wishes).run(func), AFTER, mod)


def _wishes(func: e.Function) -> Wishes:
    """Convolutions over data NHWC; data are moved back for operators that are fast over another layout only."""
    called = [node.op for node in post_order(func.body) if isinstance(node, e.Call) and isinstance(node.op, Operator)]
    fixed = {op.name: (op.fast_layout, "default") for op in called if op.fast_layout}
    return Wishes({**fixed, "nn.conv2d": ("NHWC", "default")})


@dataclass(frozen=True)
class _Model:
    """Times in cycles of one core that starts two multiply-adds of `lanes` numbers in each."""

    lanes: int
    winograd: bool
    """Whether convolutions go by Winograd's tiles where these are faster (`PackWeights`)."""
    dot: tuple[str, str] | None
    """What the target's instruction for products of bytes multiplies."""

    def is_convolution(self, node: Any) -> bool:
        return isinstance(node, e.Call) and isinstance(node.op, Operator) and node.op.name == "nn.conv2d"

    def time(self, func: e.Function) -> float:
        """Of what layouts decide about: convolutions that can be packed in one of them, and moves."""
        return sum(self._of(node) for node in post_order(func.body) if isinstance(node, e.Call))

    def _of(self, call: e.Call) -> float:
        if self.is_convolution(call):
            return self._convolution(call)
        moves = isinstance(call.op, Operator) and call.op.name == "layout_transform"
        return _bytes(call) / MOVED if moves and not isinstance(call.args[0], e.Constant) else 0.0

    def _convolution(self, call: e.Call) -> float:
        op: Any = call.op
        types = [one for one in (argument.checked_type for argument in call.args) if isinstance(one, TensorType)]
        if len(types) != len(call.args) or not all(one.is_static for one in types):
            return 0.0
        operands = [call.args[0], *map(_folded, call.args[1:])]
        geometry = op.geometry(*(one.shape for one in types))
        if op.groups > 1 and op.groups == geometry.out_channels:
            return conv_times.depthwise(op, geometry, self.lanes)
        if self.dot is not None and isinstance(op.packed_bytes(self.lanes, self.dot, *operands), e.Call):
            return conv_times.of_bytes(op, geometry, self.lanes)
        packed = op.packed(self.lanes, *operands)
        fits = packed is not None and not isinstance(packed, Failure)
        tiles: Any = op.tiled(self.lanes, *operands) if fits and self.winograd else None
        if isinstance(tiles, e.Call):
            by_tiles: Any = tiles.op
            return conv_times.tiled(op, geometry, self.lanes, by_tiles.tile_size)
        return conv_times.direct(op, geometry, self.lanes, fits)


def _folded(weight: e.Expr) -> e.Expr:
    """A weight that a move of a constant will become; its numbers do not matter."""
    if not isinstance(weight, e.Call) or getattr(weight.op, "name", "") != "layout_transform":
        return weight
    if not isinstance(weight.args[0], e.Constant):
        return weight
    kind = weight.checked_type
    return e.Constant(Tensor.full(kind.concrete_shape, 0, kind.dtype)) if isinstance(kind, TensorType) else weight


def _bytes(call: e.Call) -> float:
    kind = call.checked_type
    return 2.0 * kind.size * kind.dtype.bytes if isinstance(kind, TensorType) and kind.is_static else 0.0
