"""What a session compiles, as data: the program, the target, the settings, and the row of steps with all edits.

    plan = CompilePlan.of(ProgramRef("IRModule"), "relay")      # reads the contexts around it, once
    plan.rows                                                   # (PassRow("InferType"), ..., CODEGEN)
    [row.to_json() for row in plan.rows]                        # what a saved session holds

Invariant: only `CompilePlan.of` reads the current Target and PassContext.  A plan is JSON-able and hashable; equal
plans on equal programs give equal steps, live, from a file, and built without a history (`build.run`).  Edits are
deltas: they hold what a person saw before and after, or the steps of a trace, never a function in place of another.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from ..core.errors import WorkbenchError, warn_user
from ..core.transform import PASSES, Pass, place_of
from ..target.target import Target, as_target
from ..tir.transforms.pipeline import CHECKED_PIPELINE
from ..tir.transforms.pipeline import pipeline as loop_passes
from . import pipeline
from .settings import PassSettings, PassWarning

NEEDED: Final = frozenset({"InferType", "SimplifyInference", "FuseOps"})
"""Graph passes that run whatever the level; FuseOps heeds it itself."""
IMPORT: Final = "Import"
ONNX_MODEL: Final = "ONNX model"
"""The source of a model that was given as bytes or as an object."""


@dataclass(frozen=True)
class ProgramRef:
    """The program that is compiled: what it was opened from, and what it is by content."""

    source: str
    """A file's name or the class of the object."""
    digest: str = ""
    """The fingerprint of the imported module."""
    path: str = field(default="", compare=False)
    """A file's path as it was given; of what was opened as an object, nothing."""
    shape: tuple[tuple[str, Any], ...] = ()
    """Extents by input or dimension."""
    assume: tuple[str, ...] = ()
    """Inputs whose values the program is specialised for."""
    params: tuple[str, ...] = ()
    """Parameters to which arrays were bound as it was opened."""
    saved: bool = field(default=False, compare=False)
    """Whether it comes from a saved session, which holds the imported program and nothing of the model's file."""

    @property
    def file(self) -> bool:
        """Whether it was opened from a file."""
        return bool(self.path)


# --- rows ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PassRow:
    """A pass with its options, as it stands in the pipeline."""

    name: str
    level: str
    """relay or tir"""
    options: str = "{}"
    """As JSON; what JSON cannot hold is known by identity and cannot be saved."""
    code: str = ""
    """The key of the pass's code when it was chosen."""
    own: str = ""
    """The same for a user's pass; empty for the workbench's, which versions change and a name means."""
    place: str = ""
    """Where a user's pass is written, for `reload`: its module and name in it; empty for one made of passes."""

    @property
    def kind(self) -> str:
        return "pass"

    @property
    def is_saved_whole(self) -> bool:
        """Whether its options are plain values."""
        return _UNPLAIN not in self.options

    def to_json(self) -> dict[str, Any]:
        if not self.is_saved_whole:
            raise WorkbenchError(
                "E-SAVE-OPTION", f"an option of pass {self.name} cannot be saved", found=self.options[:120],
                expected="plain values",
            )  # fmt: skip
        code = {"code": self.own, "place": self.place} if self.own else {}
        return {"kind": "pass", "name": self.name, "level": self.level, "options": json.loads(self.options), **code}


_UNPLAIN: Final = "\\u0000object"
_UNSAVED: Final = "\x00object arguments"
_TUPLE, _DICT = "\x00tuple", "\x00dict"


def options_text(options: Mapping[str, Any]) -> str:
    """Options as canonical JSON: other values, other texts; one that is not plain stands by its class and identity."""
    return json.dumps(_encoded(dict(options)), sort_keys=True)


def options_of(saved: Any) -> Any:
    """The options of what `options_text` wrote, read as JSON."""
    if isinstance(saved, list):
        return [options_of(item) for item in saved]
    if not isinstance(saved, dict):
        return saved
    if list(saved) == [_TUPLE] and isinstance(saved[_TUPLE], list):
        return tuple(options_of(item) for item in saved[_TUPLE])
    pairs = saved.get(_DICT)
    if len(saved) == 1 and isinstance(pairs, list) and all(isinstance(one, list) and len(one) == 2 for one in pairs):
        decoded = [(options_of(key), options_of(item)) for key, item in pairs]
        return dict(decoded) if all(isinstance(key, Hashable) for key, _ in decoded) else saved
    return {key: options_of(item) for key, item in saved.items()}


def _encoded(value: Any) -> Any:
    """A value as JSON has it; what JSON would make the same as another (a tuple, keys that are no texts) is marked."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [_encoded(item) for item in value]
    if type(value) is tuple:
        return {_TUPLE: [_encoded(item) for item in value]}
    if type(value) is dict and all(type(key) is str and not key.startswith("\x00") for key in value):
        return {key: _encoded(item) for key, item in value.items()}
    if type(value) is dict:
        return {_DICT: [[_encoded(key), _encoded(item)] for key, item in value.items()]}
    return f"\x00object {type(value).__name__} {id(value)}"


@dataclass(frozen=True)
class CodegenRow:
    """Code generation."""

    name: str = field(default=pipeline.CODEGEN, init=False)
    level: str = field(default="native", init=False)

    @property
    def kind(self) -> str:
        return "codegen"

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind}


@dataclass(frozen=True)
class Anchor:
    """Which function an edit is of: a kernel by its fused function and by its calls among those of the entry."""

    name: str
    fingerprint: str = ""
    """Of the fused relay function of a kernel; empty for other functions."""
    alike: int = 1
    """How many kernels had this name up to its number."""
    entry: tuple[tuple[str, str, str], ...] = ()
    """The calls of the program's entry (`call_alignment.EntryCall`); none in files of earlier versions."""


@dataclass(frozen=True)
class TextDelta:
    """A function as it was and as a person made it."""

    at: Anchor
    before: str
    """Empty where the function was not there."""
    after: str


@dataclass(frozen=True)
class TraceTail:
    """A schedule by hand: the trace, of which the first `shared` steps were the default's (0: on the bare kernel)."""

    at: Anchor
    trace: str
    shared: int = 0


@dataclass(frozen=True)
class ChosenBy:
    """What a person chose to compute a kernel's operator: an implementation, and such of its numbers as were given."""

    at: Anchor
    implementation: str
    config: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        return " ".join([self.implementation, *(f"{name}={value}" for name, value in self.config)])


@dataclass(frozen=True)
class LowerRow:
    """Lowering: of every kernel the cheapest implementation, but for those chosen by hand."""

    choices: tuple[ChosenBy, ...] = ()
    name: str = field(default=pipeline.LOWER, init=False)
    level: str = field(default="tir", init=False)

    @property
    def kind(self) -> str:
        return "lower"

    def to_json(self) -> dict[str, Any]:
        saved = [{**asdict(choice), "config": dict(choice.config)} for choice in self.choices]
        return {"kind": self.kind, **({"choices": saved} if saved else {})}


@dataclass(frozen=True)
class EditRow:
    """Functions changed by hand at this place."""

    level: str
    deltas: tuple[TextDelta, ...]
    name: str = field(default="Edit", init=False)

    @property
    def kind(self) -> str:
        return "edit"

    def to_json(self) -> dict[str, Any]:
        return {"kind": "edit", "level": self.level, "deltas": [asdict(delta) for delta in self.deltas]}


@dataclass(frozen=True)
class ScheduleRow:
    """The schedules of all kernels: the default rules', and those by hand."""

    tails: tuple[TraceTail, ...] = ()
    name: str = field(default=pipeline.SCHEDULE, init=False)
    level: str = field(default="tir", init=False)

    @property
    def kind(self) -> str:
        return "schedule"

    def to_json(self) -> dict[str, Any]:
        saved = [{**asdict(tail), "trace": json.loads(tail.trace)} for tail in self.tails]
        return {"kind": "schedule", "tails": saved}


Row = PassRow | LowerRow | CodegenRow | EditRow | ScheduleRow
CODEGEN: Final = CodegenRow()


# --- the plan -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CompilePlan:
    """See the module's header.  The import is not a row: steps are numbered from it, so row n makes step n + 1."""

    program: ProgramRef
    level: str
    """Of the program: relay or tir"""
    target: Target
    settings: PassSettings
    rows: tuple[Row, ...]

    @staticmethod
    def of(
        program: ProgramRef,
        level: str,
        target: Target | str | None = None,
        graph: Sequence[PassRow] | None = None,
    ) -> CompilePlan:
        """The plan for a program under the contexts around this call: the default pipeline, or `graph` as its passes.

        Without `target` it is the current one, else this machine.
        """
        chosen = as_target(target)
        settings = PassSettings.current()
        plan = CompilePlan(program, level, chosen, settings, default_rows(level, settings))
        _tell_unheard(plan)
        return plan if graph is None else plan.with_graph([row for row in graph if row.name not in settings.disabled])

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of all steps, the import first; a name that occurs again is numbered ("FoldConstant#2")."""
        counts: dict[str, int] = {}
        found: list[str] = []
        for name in (IMPORT, *(row.name for row in self.rows)):
            counts[name] = count = counts.get(name, 0) + 1
            found.append(name if count == 1 else f"{name}#{count}")
        return tuple(found)

    # --- changes: each gives another plan ---

    def after(self, step: int, row: Row) -> CompilePlan:
        """With a row directly behind a step (0: the import)."""
        return replace(self, rows=(*self.rows[:step], row, *self.rows[step:]))

    def with_row(self, step: int, row: Row) -> CompilePlan:
        """With another row for a step."""
        return replace(self, rows=(*self.rows[: step - 1], row, *self.rows[step:]))

    def without(self, step: int) -> CompilePlan:
        """Without the row of a step."""
        return replace(self, rows=(*self.rows[: step - 1], *self.rows[step:]))

    def without_passes(self, names: Sequence[str]) -> CompilePlan:
        """Without the passes of these names."""
        return replace(self, rows=tuple(row for row in self.rows if row.kind != "pass" or row.name not in names))

    def requiring(self, names: Sequence[str]) -> CompilePlan:
        """With passes that run whatever the level, each where the pipeline has its place.

        Raises `WorkbenchError` for one that it has no place for, and for one that the settings disable.
        """
        settings = replace(self.settings, required=tuple(dict.fromkeys((*self.settings.required, *names))))
        order = (*(pipeline.RELAY if self.level == "relay" else ()), *CHECKED_PIPELINE)
        for name in names:
            if name in settings.disabled:
                raise WorkbenchError(
                    "E-PASS-DISABLED", f"pass {name} is required here, and disabled by the session's context",
                    where="rerun(required_pass=...)", fix=f"open the program without disabled_pass=[{name!r}]",
                )  # fmt: skip
            if name not in order:
                raise WorkbenchError(
                    "E-PASS-UNKNOWN", f"the pipeline has no place for pass {name!r}",
                    where="rerun(required_pass=...)", fix=f"say where: s.rerun(insert={{step: {name!r}}})",
                )  # fmt: skip
        loops, before = loop_passes(settings.context()), loop_passes(self.settings.context())
        wanted = {*names, *(name for name in loops if name not in before)}  # BoundCheck brings PoisonBuffers along
        rows = self.rows
        present = {row.name for row in rows if row.kind == "pass"}
        for place, name in enumerate(order):
            if name in wanted and name not in present:
                level = "relay" if self.level == "relay" and place < len(pipeline.RELAY) else "tir"
                at = _place(rows, order, place)
                rows = (*rows[:at], pass_row(PASSES[name](), level), *rows[at:])
        return replace(self, settings=settings, rows=rows)

    def with_graph(self, passes: Sequence[PassRow]) -> CompilePlan:
        """With other graph passes; edits of the graph stay behind the pass that they stood behind.

        Where that pass is gone they stand behind the nearest one before it that is left; edits behind the last pass
        stay behind the last.
        """
        if self.level != "relay":
            raise no_graph()
        old = [row for row in self.rows if row.level == "relay"]
        places: list[list[Row]] = [[] for _ in range(len(passes) + 1)]
        wanted = list(_numbered(passes))
        place = 0
        for (row, number), rest in zip(_numbered(old), range(len(old) - 1, -1, -1), strict=True):
            if row.kind != "pass":
                last = all(later.kind != "pass" for later in old[len(old) - rest :])
                places[-1 if last else place].append(row)
                continue
            same = (position for position, (new, n) in enumerate(wanted, 1) if (new.name, n) == (row.name, number))
            position = next(same, 0)
            place = max(place, position)
        rows: list[Row] = [*places[0]]
        for chosen, edits in zip(passes, places[1:], strict=True):
            rows += [chosen, *edits]
        return replace(self, rows=(*rows, *(row for row in self.rows if row.level != "relay")))

    def schedule_row(self) -> tuple[int, ScheduleRow | None]:
        """The step of the schedules and its row.

        A loop program, whose functions come as they are, has none until one is made by hand; then the step is the one
        that it would be.  Raises `WorkbenchError` for a plan without lowering.
        """
        for index, row in enumerate(self.rows, 1):
            if isinstance(row, ScheduleRow):
                return index, row
        if self.level != "tir":
            raise WorkbenchError(
                "E-STEP-UNKNOWN", f"there is no step named {pipeline.SCHEDULE!r}", found=", ".join(self.labels),
                expected="a plan that lowers its graph",
            )  # fmt: skip
        return self._first_pass() or max(1, len(self.rows)), None

    def lower_row(self) -> tuple[int, LowerRow]:
        """The step that lowers the graph and its row.  Raises `WorkbenchError` for a loop program, which has none."""
        for index, row in enumerate(self.rows, 1):
            if isinstance(row, LowerRow):
                return index, row
        raise WorkbenchError(
            "E-STEP-UNKNOWN", f"there is no step named {pipeline.LOWER!r}", found=", ".join(self.labels),
            expected="a plan that lowers its graph",
        )  # fmt: skip

    def relay_step(self) -> int:
        """The import, or the last of the edits of the graph directly behind it."""
        return next((i for i, r in enumerate(self.rows) if r.kind != "edit" or r.level != "relay"), len(self.rows))

    def kernel_step(self) -> int:
        """The last step at which kernels are not scheduled yet."""
        return self.schedule_row()[0] - 1

    def loop_step(self) -> int:
        """The last step before the pipeline's loop passes: what schedules, and edits of loops made there, come to."""
        first = self._first_pass()
        if first:
            return first - 1
        edits = [i for i, row in enumerate(self.rows, 1) if row.kind == "edit" and row.level == "tir"]
        schedule = [i for i, row in enumerate(self.rows, 1) if row.kind == "schedule"]
        return max([*schedule, *edits], default=0)

    def _first_pass(self) -> int:
        """The step of the pipeline's first loop pass; 0 where there is none.  A user's pass of such a name is none."""
        for index, row in enumerate(self.rows, 1):
            if isinstance(row, PassRow) and row.level == "tir" and not row.own and row.name in CHECKED_PIPELINE:
                return index
        return 0


def no_graph() -> WorkbenchError:
    """A loop program has no graph passes."""
    return WorkbenchError(
        "E-PASS-PLACE", "a loop program has no graph passes", expected="loop passes: insert= and replace= by step"
    )


def _numbered(rows: Sequence[Row]) -> Iterator[tuple[Row, int]]:
    """Rows, each with how many of its name stand before it."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.name] = counts.get(row.name, 0) + 1
        yield row, counts[row.name]


def _place(rows: Sequence[Row], order: Sequence[str], place: int) -> int:
    """Where among rows the pass at a place of the pipeline belongs: before the first one that comes later there."""
    position = 0
    for index, row in enumerate(rows):
        if row.kind in ("lower", "codegen"):
            position = max(position, len(pipeline.RELAY)) if row.kind == "lower" else len(order)
        elif isinstance(row, PassRow) and not row.own and row.name in order[position:]:
            position = order.index(row.name, position) + 1
        else:
            continue
        if position > place:
            return index
    return len(rows)


def default_rows(level: str, settings: PassSettings) -> tuple[Row, ...]:
    """The default pipeline for a program of a level."""
    if level == "tir":
        return _loop_rows(settings)
    return (*_graph_rows(settings), LowerRow(), ScheduleRow(), *_loop_rows(settings))


def _graph_rows(settings: PassSettings) -> tuple[PassRow, ...]:
    """The passes of the default pipeline that the settings allow."""
    context = settings.context()
    named = [name for name in pipeline.RELAY if name not in settings.disabled]
    wanted = [name for name in named if name in settings.required or name not in pipeline.ON_DEMAND]
    rows = [pass_row(PASSES[name](), "relay") for name in wanted]
    return tuple(row for row in rows if row.name in NEEDED or context.enabled(PASSES[row.name].info))


def _loop_rows(settings: PassSettings) -> tuple[Row, ...]:
    return (*(pass_row(PASSES[name](), "tir") for name in loop_passes(settings.context())), CODEGEN)


def _tell_unheard(plan: CompilePlan) -> None:
    """Say which passes that a context requires have no place in the pipeline: code around may run them itself."""
    known = {row.name for row in plan.rows} | {*pipeline.RELAY, *CHECKED_PIPELINE}
    unheard = [name for name in plan.settings.required if name not in known]
    if unheard:
        message = f"required_pass: the pipeline has no place for {', '.join(unheard)}; a session takes it by insert="
        warn_user(message, PassWarning)


def pass_row(chosen: Pass, level: str) -> PassRow:
    """The row of a pass."""
    options = chosen.options if chosen.has_whole_options else {_UNSAVED: chosen.given}
    own = chosen.own_code_key
    return PassRow(chosen.name, level, options_text(options), chosen.code_key, own, place_of(chosen) if own else "")
