"""A kernel alone, on smaller shapes: a session of its own that goes through the same steps.

The fused relay function is typed again with smaller extents (each extent above a limit divided by some factor, the
same wherever it stands, in attributes as well); types that do not fit refuse the attempt, and the next factor is
tried.  From there on the session's own steps run: lowering, schedules (traces replayed where a person chose them),
edits, loop passes, code generation.  Inputs are cut out of the real ones.

The text of an edited kernel holds for its own shapes only: its extents are written there as numbers.  So an edited
kernel is cut out as it is and never made smaller; the edits of other kernels are left out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...core import origin
from ...core.errors import WorkbenchError
from ...core.module import IRModule
from ...core.node import FrozenMap, post_order, rewrite
from ...core.transform import PASSES
from ...lower.choosing import choice_by_hand
from ...lower.implementation import Choice
from ...lower.kernel import Kernel
from ...relay.ir import expr as r
from ...relay.ir.operator import Operator
from ...relay.ir.types import TensorType, TupleType, Type
from ...topi.layout import Layout, parse
from ..actions import import_action
from ..anchors import located
from ..history import History
from ..plan import Anchor, ChosenBy, EditRow, LowerRow, ProgramRef, Row, ScheduleRow, TextDelta
from .entry import Meaning
from .whole import too_large

if TYPE_CHECKING:
    from ..session import Session

FACTORS: Final = (32, 16, 8, 4, 2)
BLOCK: Final = 16
"""Where no layout tells a block: extents that are multiples of it stay so."""
LEAST: Final = 7
"""Extents up to which nothing is divided: these are kernel sizes and strides."""

Shorter = Callable[[int], int]


@dataclass(frozen=True)
class SmallKernel:
    """A kernel alone: its session, its name there, its meaning and inputs."""

    session: Session
    kernel: str
    meaning: Meaning
    inputs: list[np.ndarray]
    first: int
    """How many steps of the session it comes from stand before its lowering (its own import stands for them)."""
    shrunk: bool

    def position(self, index: int) -> int:
        """The position here of step `index` of the whole session."""
        return index - self.first + 1

    def outputs(self, index: int) -> list[np.ndarray]:
        """Empty outputs for the kernel as it stands after step `index` of the whole session."""
        lowered = self.session.step(1).stage.lowered
        assert lowered is not None
        buffers = lowered.kernels[0].func.params[-self.meaning.outputs :]
        return [
            np.zeros([extent.value for extent in buffer.shape], buffer.dtype.to_numpy())  # type: ignore[attr-defined]
            for buffer in buffers
        ]

    def function(self, index: int) -> Any:
        """The kernel after step `index` of the whole session.  Raises the step's error."""
        step = self.session.step(self.position(index))
        if step.error is not None:
            raise step.error
        return step.stage.module[self.kernel]


def small_kernels(session: Session, kernel: str, meaning: Meaning, inputs: list[np.ndarray]) -> Iterator[SmallKernel]:
    """The kernel alone on smaller and smaller problems that the interpreter can run, smallest first."""
    seen: set[str] = set()
    ways = () if is_edited(session, kernel) else _ways(meaning.function)
    for shorter in (*ways, _same):
        made = _attempt(session, kernel, meaning, inputs, shorter)
        if made is None:
            continue
        shapes = str([array.shape for array in made.inputs])
        if shapes not in seen:
            seen.add(shapes)
            yield made


def is_edited(session: Session, kernel: str) -> bool:
    """Whether a person changed the text of the kernel: then it is not made smaller."""
    return bool(_edits(session, kernel))


def _edits(session: Session, kernel: str) -> dict[int, str]:
    """The kernel's text as each edit of it left it, by the number of the edit's step."""
    found: dict[int, str] = {}
    for index, row in enumerate(session.plan.rows[_lowering(session) - 1 :], _lowering(session)):
        step = session.step(index) if isinstance(row, EditRow) else None
        if step is None or step.error is not None or step.previous is None:
            continue
        before, after = (stage.module.functions.get(kernel) for stage in (step.previous.stage, step.stage))
        if after is not None and after is not before:
            found[index] = session.history.contents.text_of(kernel, after)
    return found


def _lowering(session: Session) -> int:
    """The number of the step that lowers; a user's pass may be called so, too."""
    return session.plan.lower_row()[0]


def _same(extent: int) -> int:
    return extent


def _ways(function: r.Function) -> Iterator[Shorter]:
    """Ways to shorten extents, strongest first: all of them in whole vectors, all of them, those of space alone."""
    shapes = [shape for parameter in function.params for shape in _shapes(parameter.checked_type)]
    leading = {extent for shape in shapes for extent in (shape[:2] if len(shape) > 2 else shape)}
    block = max((size for one in _layouts(function).values() for size in one.factors.values()), default=BLOCK)

    def blocked(extent: int, factor: int) -> int:
        if extent <= LEAST:
            return extent
        return block * -(-extent // (block * factor)) if extent % block == 0 else -(-extent // factor)

    def plain(extent: int, factor: int) -> int:
        return extent if extent <= LEAST else -(-extent // factor)

    def spatial(extent: int, factor: int) -> int:
        return extent if extent in leading else plain(extent, factor)

    for factor in FACTORS:
        for way in (blocked, plain, spatial):
            yield functools.partial(way, factor=factor)


def interpretable(small: SmallKernel) -> bool:
    """Whether the interpreter runs the kernel within a second or two."""
    try:
        return not too_large(small.function(small.first))
    except WorkbenchError:
        return False


def _attempt(
    session: Session, kernel: str, meaning: Meaning, inputs: list[np.ndarray], shorter: Shorter
) -> SmallKernel | None:
    try:
        function = _smaller(meaning.function, shorter)
        module = _module(function)
        made, first = _alone(session, kernel, module)
        step = made.step(2)
        if step.error is not None or step.stage.lowered is None or len(step.stage.lowered.kernels) != 1:
            return None
        name = step.stage.lowered.kernels[0].name
        shapes = [shape for parameter in function.params for shape in _shapes(parameter.checked_type)]
        cut = [
            np.ascontiguousarray(array[tuple(slice(0, extent) for extent in shape)])
            for array, shape in zip(_in_shape(inputs, meaning), shapes, strict=True)
        ]
        if any(array.shape != shape for array, shape in zip(cut, shapes, strict=True)):
            return None
    except (WorkbenchError, ValueError, TypeError, IndexError, AssertionError):
        return None
    return SmallKernel(made, name, Meaning(function, meaning.groups, meaning.outputs), cut, first, shorter is not _same)


def _in_shape(inputs: list[np.ndarray], meaning: Meaning) -> list[np.ndarray]:
    shapes = [shape for parameter in meaning.function.params for shape in _shapes(parameter.checked_type)]
    return [array.reshape(shape) for array, shape in zip(inputs, shapes, strict=True)]


def _shapes(found: Type) -> list[tuple[int, ...]]:
    parts = found.fields if isinstance(found, TupleType) else (found,)
    return [part.concrete_shape for part in parts if isinstance(part, TensorType)]


def _smaller(function: r.Function, shorter: Shorter) -> r.Function:
    """The function with parameters of smaller types, attributes that name extents likewise."""
    lies = _layouts(function)
    params = {
        id(p): r.Var(p.name_hint, _smaller_type(p.checked_type, shorter, lies.get(id(p)))) for p in function.params
    }

    def post(node: Any) -> Any:
        if isinstance(node, r.Call) and isinstance(node.op, Operator):
            return r.Call(_smaller_operator(node.op, shorter), node.args)
        return None

    body = rewrite(function.body, post, lambda node: params.get(id(node)))
    return r.Function(tuple(params.values()), body, None, (), FrozenMap({"Primitive": 1}))


def _layouts(function: r.Function) -> dict[int, Layout]:
    """By identity of an operand: how it lies, where a layout with blocks says so."""
    found: dict[int, Layout] = {}
    for node in post_order(function.body):
        if not isinstance(node, r.Call) or not isinstance(node.op, Operator):
            continue
        for place, name in ((0, "data_layout"), (1, "kernel_layout"), (1, "weight_layout")):
            text = getattr(node.op, name, "")
            if any(letter.isdigit() for letter in text) and place < len(node.args):
                found[id(node.args[place])] = parse(text)
    return found


def _smaller_type(found: Type, shorter: Shorter, lies: Layout | None = None) -> Type:
    if isinstance(found, TupleType):
        return TupleType(tuple(_smaller_type(field, shorter) for field in found.fields))
    assert isinstance(found, TensorType)
    shape = found.concrete_shape
    if lies is not None and len(lies.axes) == len(shape):  # blocks stay, there are fewer of them
        sizes = {letter: lies.factors.get(letter, 1) for letter in lies.letters}
        whole = {letter: shorter(shape[lies.index_of(letter)] * size) for letter, size in sizes.items()}
        made = tuple(factor or -(-whole[letter] // sizes[letter]) for letter, factor in lies.axes)
        return TensorType(made, found.dtype)
    made = tuple(shorter(extent) for extent in shape)
    if len(shape) > 2 and shape[-1] == BLOCK:
        made = (shorter(shape[0] * BLOCK) // BLOCK, *made[1:-1], BLOCK)
    return TensorType(made, found.dtype)


_EXTENTS: Final = frozenset({"channels", "units", "newshape", "shape", "output_size", "size", "groups"})
"""Attributes that hold extents of tensors (and not of windows, pads or strides)."""


def _smaller_operator(op: Operator, shorter: Shorter) -> Operator:
    changes: dict[str, Any] = {}
    for name, value in op.attributes.items():
        if name in _EXTENTS and isinstance(value, (tuple, int)):
            made = tuple(map(shorter, value)) if isinstance(value, tuple) else shorter(value)
            if made != value:
                changes[name] = made
    return op.replace(**changes) if changes else op


def _module(function: r.Function) -> IRModule:
    """A model of one fused call."""
    outer = tuple(r.Var(parameter.name_hint, parameter.type_annotation) for parameter in function.params)
    main = r.Function(outer, r.Call(function, outer))
    return PASSES["InferType"]()(IRModule({"main": main}))


def _alone(session: Session, kernel: str, module: IRModule) -> tuple[Session, int]:
    """A session of the steps from lowering on, on `module`; and how many steps stood before them."""
    first = _lowering(session)
    program = ProgramRef(f"kernel {kernel}", module.fingerprint())
    history = History(import_action(module, program, origin.OriginTable()), session.history.contents)
    numbered = list(enumerate(session.plan.rows[first - 1 :], first))
    bare = tuple(replace(row, **_by_hand(row)) for _, row in numbered)
    plan = replace(session.plan, program=program, rows=bare)
    made = type(session)(history, plan, session.deciders)
    lowered = made.step(1).stage.lowered
    if lowered is None:
        return made, first
    at, edits = Anchor(lowered.kernels[0].name), _edits(session, kernel)
    rows = list(bare)
    for place, (index, row) in enumerate(numbered):
        if isinstance(row, ScheduleRow):
            stage = session.step(index - 1).stage
            mine = (tail for tail in row.tails if kernel in located(tail.at, stage)[0])
            rows[place] = replace(row, tails=tuple(replace(tail, at=at) for tail in mine))
        elif isinstance(row, LowerRow):
            taken = session.step(index).stage.kernels(session.target)[kernel].choice
            rows[place] = replace(row, choices=_chosen(at, taken, lowered.kernels[0]))
        elif isinstance(row, EditRow) and index in edits:  # on whatever comes there: the kernel is the same one
            rows[place] = replace(row, deltas=(TextDelta(at, "", edits[index]),))
    return replace(made, plan=replace(plan, rows=tuple(rows))), first


def _chosen(at: Anchor, taken: Choice | None, small: Kernel) -> tuple[ChosenBy, ...]:
    """What computes a kernel, for a smaller problem: with the same numbers where it has them there, else its best.

    Raises `WorkbenchError` where it cannot compute that: what is taken instead says nothing of it.
    """
    if taken is None or small.workload is None:
        return ()
    name, numbers = taken.implementation.name, dict(taken.config)
    try:
        choice_by_hand(small.workload, name, numbers)
    except WorkbenchError:
        choice_by_hand(small.workload, name, {})
        numbers = {}
    return (ChosenBy(at, name, tuple(sorted(numbers.items()))),)


def _by_hand(row: Row) -> dict[str, Any]:
    """What to replace in a row so that it changes nothing by hand."""
    parts = {ScheduleRow: "tails", EditRow: "deltas", LowerRow: "choices"}
    return {parts[type(row)]: ()} if type(row) in parts else {}
