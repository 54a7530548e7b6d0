"""The layers of a session: what its steps make, from the file's nodes down to machine code, at a glance.

    s.layers                       # (SessionLayer('onnx', 10 nodes, ran), SessionLayer('relay', 13 passes, ran), ...)
    s.layers[0].steps              # ("Import",)

Looking runs nothing: a layer that has not been computed says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

from ..core.origin import ImportedFrom
from ..core.reliance import moment
from ..relay.ir import expr as r
from .plan import ONNX_MODEL, EditRow, LowerRow, PassRow, ProgramRef, Row, ScheduleRow, default_rows
from .settings import PassSettings

if TYPE_CHECKING:
    from .history import Step
    from .session import Session

State = Literal["ran", "not run", "in part", "changed", "failed"]
TITLES: Final = {
    "onnx": "ONNX", "relay": "Relay", "fused": "Fused", "te": "TE", "schedule": "Schedule", "tir": "TIR",
    "llvm": "LLVM", "asm": "Assembly",
}  # fmt: skip
"""The layers by name, in order.  A session has those that its program comes through."""
GLYPHS: Final[dict[State, str]] = {
    "ran": "✓", "not run": "◌", "in part": "◐", "changed": "✎", "failed": "✗",
}  # fmt: skip
_FUSION: Final = "FuseOps"


@dataclass(frozen=True)
class SessionLayer:
    """Consecutive steps of a session that work on one form of the program."""

    name: str
    steps: tuple[str, ...]
    """Labels."""
    unit: str
    """What `count` counts: nodes, passes, functions, kernels or steps."""
    count: int | None = None
    """None where only a run would tell."""
    computed: bool = False
    in_part: bool = False
    """Whether its step has not run, but some of what it makes was made by itself: native code to be looked at."""
    by_hand: bool = False
    """Whether somebody edited, scheduled, added or left out something here."""
    failed: str = ""
    """The label of the step that stopped, if one did."""
    milliseconds: float = 0.0
    changing: int = 0
    """How many of its steps changed the program."""

    @property
    def title(self) -> str:
        return TITLES[self.name]

    @property
    def state(self) -> State:
        """The first that holds of: failed, in part or not run, changed by hand, ran."""
        if self.failed:
            return "failed"
        if not self.computed:
            return "in part" if self.in_part else "not run"
        return "changed" if self.by_hand else "ran"

    def __repr__(self) -> str:
        counted = f"{self.count} {self.unit}, " if self.count is not None else ""
        return f"SessionLayer({self.name!r}, {counted}{self.state})"


def layers_of(session: Session) -> tuple[SessionLayer, ...]:
    """The layers of a session, as far as it is computed."""
    plan = session.plan
    placed = _placed(plan.level, _from_onnx(plan.program), plan.rows)
    default = _default(plan.level, _from_onnx(plan.program), plan.settings, moment())
    known = session.history.computed(session.actions)
    names = [name for name in TITLES if name in placed or name in ("schedule", "asm")]
    return tuple(_layer(session, name, placed, default, known) for name in names)


def _from_onnx(program: ProgramRef) -> bool:
    """Whether the nodes of a model of ONNX are here that it was imported from."""
    return program.file or (program.source == ONNX_MODEL and not program.saved)


def lacks_onnx(program: ProgramRef) -> bool:
    """Whether it was imported from a model of ONNX whose nodes are not here any more."""
    return program.saved and (program.source == ONNX_MODEL or program.source.endswith(".onnx"))


Placed = dict[str, list[tuple[int, Row | None]]]
"""By layer: the steps in it, by position, with their rows (None: the import)."""


@lru_cache(maxsize=8)
def _default(level: str, from_onnx: bool, settings: PassSettings, moment: int) -> Placed:
    """The same of the default pipeline; made once, as long as nobody changes the table of passes."""
    return _placed(level, from_onnx, default_rows(level, settings))


def _placed(level: str, from_onnx: bool, rows: Sequence[Row]) -> Placed:
    """Which layer each step belongs to: what comes after a layer's own step, and before the next one's, is its."""
    at = "te" if level == "tir" else "onnx" if from_onnx else "relay"
    placed: Placed = {at: [(0, None)]}
    for index, row in enumerate(rows, 1):
        if row.kind == "codegen":
            at = "llvm"
        elif row.kind == "lower":
            at = "te"
        elif isinstance(row, ScheduleRow):
            at = "schedule"
        elif isinstance(row, PassRow):
            at = "tir" if row.level == "tir" else "fused" if row.name == _FUSION or at == "fused" else "relay"
        elif at == "onnx":
            at = "relay"
        placed.setdefault(at, []).append((index, row))
    return placed


def _layer(session: Session, name: str, placed: Placed, default: Placed, known: Sequence[Step]) -> SessionLayer:
    own = placed.get("llvm" if name == "asm" else name, [])
    steps = [known[index] for index, _ in own if index < len(known) and not _stopped_before(known[index])]
    stopped = next((step.label for step in steps if step.error is not None), "")
    computed = len(steps) == len(own) if own else len(known) > 0
    passes = [row.name for _, row in own if isinstance(row, PassRow)]
    without = ["fused"] if name == "relay" and "fused" not in placed else []  # fusion left out is a change of the graph
    expected = [row.name for one in (name, *without) for _, row in default.get(one, []) if isinstance(row, PassRow)]
    apart = compiled_apart(session, known) if name in ("llvm", "asm") and not computed else frozenset[str]()
    unit, count = _counted(session, name, steps[-1] if steps and computed and not stopped else None, passes)
    return SessionLayer(
        name,
        tuple(session.labels[index] for index, _ in own),
        unit,
        len(apart) or count,
        computed,
        bool(apart),
        passes != expected or any(_is_by_hand(row) for _, row in own),
        stopped,
        sum(step.milliseconds for step in steps),
        sum(step.changed for step in steps),
    )


def compiled_apart(session: Session, known: Sequence[Step]) -> frozenset[str]:
    """The kernels that were compiled by themselves, of a program whose steps as far as they have run are `known`."""
    last = [index for index, action in enumerate(session.actions) if action.level == "tir"]
    if not last or last[-1] >= len(known):
        return frozenset()
    return frozenset(session.history.compiled_apart.get(known[last[-1]].id, ()))


def _stopped_before(step: Step) -> bool:
    return step.previous is not None and step.previous.error is not None


def _is_by_hand(row: Row | None) -> bool:
    if isinstance(row, ScheduleRow):
        return bool(row.tails)
    if isinstance(row, LowerRow):
        return bool(row.choices)
    return isinstance(row, EditRow) or (isinstance(row, PassRow) and bool(row.own))


def _counted(session: Session, name: str, last: Step | None, passes: Sequence[str]) -> tuple[str, int | None]:
    """What a layer counts, and how many; `last` is its last step where it is computed."""
    if name in ("relay", "tir"):
        return "passes", len(passes)
    unit = {"onnx": "nodes", "fused": "functions", "te": "kernels", "schedule": "steps"}.get(name, "kernels")
    if name == "schedule" and not any(row.kind == "schedule" for row in session.plan.rows):
        return unit, 0
    if last is None:
        return unit, None
    if name == "onnx":
        labels = {item for _, found in last.origins.items() for item in found if isinstance(item, ImportedFrom)}
        return unit, sum("#" in label.name for label in labels)
    if name == "fused":
        return unit, sum(isinstance(node, r.Function) and node.is_primitive for node in last.stage.module.nodes())
    if name == "schedule":
        return unit, sum(len(schedule.trace.steps) for schedule in last.stage.schedules.values())
    return unit, len(last.stage.kernels(session.target))
