"""What the calls of a graph compute on given inputs, each beside the tensor of the imported model that it stands for.

    found = intermediates(session, {"x": photo}, "FuseOps")
    found.tensors[3].value, found.tensors[3].gap        # an array, and how far it is from the imported one
    outputs(session, {"x": photo}, "Codegen")           # the model's outputs after a step, by name

A call stands for an imported one where both became the same part of the compiled model (`driver.links`) and give the
same shape, or after a change of layouts the same extents in another order: of several the last, since a fused call
gives what its last operator gives.  The yardstick is that tensor in float64, its axes in the order in which they lie
after the step.  What a pass computes newly (scaled weights, axes that are split) stands for nothing and has no error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..core.errors import WorkbenchError, nearest
from ..core.node import post_order
from ..relay.interpret import interpret
from ..relay.ir import expr as r
from ..relay.ir.brief import brief
from ..relay.ir.operator import Placed
from ..relay.placements import placements
from . import pipeline
from .given_inputs import arranged, given_inputs
from .native import with_own_outputs
from .numerics.compare import Gap, compare

if TYPE_CHECKING:
    from .session import Session

TOLERANCE: Final = 1e-3
_NONE: Final[frozenset[int]] = frozenset()
_AXES: Final = 6
"""Of a tensor whose axes are sought in another order."""


@dataclass(frozen=True)
class Intermediate:
    """What one call gives.  `against` is the imported call that it stands for; empty where there is none.

    `gap` is measured in float64; `expected` is kept in the tensor's own dtype.
    """

    call: r.Call
    value: np.ndarray
    expected: np.ndarray | None = None
    against: str = ""
    gap: Gap | None = None


@dataclass(frozen=True)
class Intermediates:
    """The tensors of a graph step, operands first."""

    step: str
    tensors: tuple[Intermediate, ...]


def graph_steps(session: Session) -> list[str]:
    """The steps whose program is a graph: those that can be looked into."""
    pairs = zip(session.labels, session.actions, strict=True)
    return [label for label, action in pairs if action.level == "relay"]


def runnable_steps(session: Session) -> list[str]:
    """The steps after which the whole model can be run: the graphs, and the native code."""
    native = [label for label, action in zip(session.labels, session.actions, strict=True)
              if action.name == pipeline.CODEGEN]  # fmt: skip
    return [*graph_steps(session), *native]


def intermediates(session: Session, inputs: Mapping[str, Any], step: str) -> Intermediates:
    """What the calls of a graph step give on `inputs`.  Raises `WorkbenchError` for a step that has no graph."""
    _require(step, graph_steps(session), "has a graph")
    module = session.step(step).stage.module
    values = _values(module, given_inputs(module, inputs, "intermediates(inputs)"), top_calls(module["main"]), False)
    expected = _yardsticks(session, inputs, step, values)
    moved = placements(module["main"])
    found: list[Intermediate] = []
    for call, value in values:
        imported, wide = expected.get(id(call), (None, None))
        compared = None if wide is None else _compared(value, wide, moved.get(id(call)))
        if imported is None or compared is None:
            found.append(Intermediate(call, value))
        else:
            gap, ordered = compared
            found.append(Intermediate(call, value, ordered.astype(value.dtype), brief(imported), gap))
    return Intermediates(step, tuple(found))


def outputs(session: Session, inputs: Mapping[str, Any], step: str) -> dict[str, np.ndarray]:
    """The model's outputs after a step, by name: graphs are interpreted, native code is run."""
    _require(step, runnable_steps(session), "can be run as a whole")
    if step not in graph_steps(session):
        return session.run(with_own_outputs(session.build(), inputs))
    module = session.step(step).stage.module
    given = given_inputs(module, inputs, "outputs(inputs)")
    arrays = _flat(interpret(module, *arranged(module, given)))
    names = [output.name for output in session.build().outputs]
    return dict(zip(names, arrays, strict=True))


def top_calls(function: Any) -> dict[int, r.Call]:
    """The calls of a function's own graph, by identity; not those inside of fused functions."""
    inside: set[int] = set()
    found: dict[int, r.Call] = {}
    for node in post_order(function.body):
        if isinstance(node, r.Function):
            inside.update(id(inner) for inner in post_order(node.body))
        elif isinstance(node, r.Call):
            found[id(node)] = node
    return {key: call for key, call in found.items() if key not in inside}


def _values(
    module: Any, given: Mapping[str, np.ndarray], wanted: Mapping[int, r.Call], float64: bool
) -> list[tuple[r.Call, np.ndarray]]:
    found: dict[int, tuple[r.Call, np.ndarray]] = {}

    def observe(expr: r.Expr, value: Any) -> None:
        if id(expr) in wanted and isinstance(value, np.ndarray):
            found[id(expr)] = wanted[id(expr)], value

    interpret(module, *arranged(module, given), float64=float64, observe=observe)
    return list(found.values())


def _yardsticks(
    session: Session, inputs: Mapping[str, Any], step: str, values: list[tuple[r.Call, np.ndarray]]
) -> dict[int, tuple[r.Call, np.ndarray]]:
    """By identity of a call of the step: the imported call that it stands for, and what that gives in float64."""
    first = graph_steps(session)[0]
    module = session.step(first).stage.module
    imported = top_calls(module["main"])
    links = session.provenance.links
    old, new = links.of_graph(first), links.of_graph(step)
    stands: dict[int, r.Call] = {}
    for call, value in values:
        classes = new.get(id(call), _NONE)
        kin = [one for key, one in imported.items() if old.get(key, _NONE) & classes]
        alike = [one for one in kin if _shape(one) == value.shape] or [one for one in kin if _turned(one, value.shape)]
        if alike:
            stands[id(call)] = alike[-1]
    wanted = {id(one): one for one in stands.values()}
    given = given_inputs(module, inputs, "intermediates(inputs)")
    wide = {id(call): value for call, value in _values(module, given, wanted, True)}
    return {key: (one, wide[id(one)]) for key, one in stands.items() if id(one) in wide}


def _turned(imported: r.Call, shape: tuple[int, ...]) -> bool:
    """Whether a tensor has the imported one's extents in another order; of few axes, whose orders are few."""
    return len(shape) <= _AXES and sorted(_shape(imported) or (), key=str) == sorted(shape, key=str)


def _compared(value: np.ndarray, wide: np.ndarray, placed: Placed | None) -> tuple[Gap, np.ndarray] | None:
    """How far a value is from an imported tensor, and that tensor with its axes in the value's order.

    Which order that is, the layout rules say (`relay.placements`); they do not know of a transpose of the imported
    model that a move of data took in.  So where axes were moved, another order that is right counts too.  Where
    neither knows one, the value stands for nothing: None.
    """
    first: tuple[Gap, np.ndarray] | None = None
    for order in _orders(value.shape, wide.shape, placed):
        ordered = wide.transpose(order)
        gap = compare(value, ordered, TOLERANCE)
        if gap.right:
            return gap, ordered
        first = first or (gap, ordered)
    return first if placed is not None or value.shape == wide.shape else None


def _orders(shape: tuple[int, ...], imported: tuple[int, ...], placed: Placed | None) -> list[tuple[int, ...]]:
    """Orders of an imported tensor's axes that give a value's shape, the likeliest first."""
    if placed is None and shape == imported:
        return [tuple(range(len(shape)))]
    likely = None if placed is None else tuple(placed.now.index(letter) for letter in placed.before)
    fitting = [order for order in permutations(range(len(shape))) if tuple(imported[at] for at in order) == shape]
    return sorted(fitting, key=lambda order: order != likely)


def _shape(call: r.Call) -> tuple[Any, ...] | None:
    known: Any = call.type_or_none
    shape = getattr(known, "shape", None)
    if shape is None:
        return None
    return tuple(int(extent) if str(extent).isdigit() else extent for extent in shape)


def _flat(value: Any) -> list[np.ndarray]:
    if isinstance(value, (tuple, list)):
        return [array for item in value for array in _flat(item)]
    return [np.asarray(value)]


def _require(step: str, known: list[str], what: str) -> None:
    if step not in known:
        raise WorkbenchError(
            "E-STEP-VALUES", f"no step {step!r:.60} of this session {what}", expected=", ".join(known) or "none",
            fix=nearest(step, known),
        )  # fmt: skip
