"""The contract between the kernel and every screen: versioned JSON as frozen dataclasses.

Invariant: a view is data only.  `to_json()` gives dicts, lists, strings, numbers, booleans and None, never a
program node; the same program gives the same JSON.  `SCHEMA_VERSION` grows when a field changes its meaning
or goes; new fields with defaults do not change it.  The front end's twin is
`extensions/widgets/src/types.ts`.

    >>> Hunk(before_start=1, before_count=1, after_start=1, after_count=2).to_json()
    {'before_start': 1, 'before_count': 1, 'after_start': 1, 'after_count': 2}
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from ..core.errors import WorkbenchError
from ..core.line_diff import Hunk

SCHEMA_VERSION: Final = 1

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

# What kind of step a history holds; screens group the list by it and nothing else depends on it.
StepKind: TypeAlias = Literal["import", "relay", "te", "schedule", "tune", "tir", "codegen", "run", "edit"]
LoopKind: TypeAlias = Literal["serial", "parallel", "vectorized", "unrolled", "thread"]
# How a form asks for an argument.  "selection" is filled by what is selected and asked for by no field.
ParameterKind: TypeAlias = Literal[
    "selection",
    "loop",
    "loops",
    "block",
    "buffer",
    "integer",
    "integers",
    "number",
    "choice",
    "boolean",
    "text",
]


_SCALARS: Final = frozenset((int, str, float, bool, type(None)))


def _plain(value: Any) -> Any:
    if type(value) in _SCALARS:  # nearly all there is: asking what else it might be takes ten times as long
        return value
    if isinstance(value, View):
        return value.to_json()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Hunk):
        return value._asdict()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


@dataclass(frozen=True, slots=True)
class View:
    """The base of all views."""

    def to_json(self) -> dict[str, Any]:
        """This view as JSON data; field names are the keys, in the order of their declaration."""
        return {f.name: _plain(getattr(self, f.name)) for f in dataclasses.fields(self)}


@dataclass(frozen=True, slots=True)
class ErrorView(View):
    """A `WorkbenchError` for the eye; empty fields are not shown.  `nodes` are ids of loops or blocks
    concerned."""

    code: str
    message: str
    where: str = ""
    found: str = ""
    expected: str = ""
    fix: str = ""
    kept: str = ""
    nodes: tuple[str, ...] = ()
    line: int = 0
    """Where the error points into a text that was sent, from 1; 0 where it does not."""
    column: int = 0

    @staticmethod
    def of(error: WorkbenchError) -> ErrorView:
        """An error for the eye.  Nodes that are ids (strings) are kept, others mean nothing to a page."""
        nodes = tuple(node for node in error.nodes if isinstance(node, str))
        return ErrorView(
            error.code, error.message, error.where, error.found, error.expected, error.fix, error.kept, nodes
        )


@dataclass(frozen=True, slots=True)
class Chunk(View):
    """Consecutive lines of a text; `start` counts from 0."""

    start: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextView(View):
    """A text of `total` lines, of which the chunks are here; a screen asks for others when they are
    opened."""

    total: int
    chunks: tuple[Chunk, ...]

    @staticmethod
    def of(text: str) -> TextView:
        """The whole of `text`; a final newline opens no further line."""
        lines = tuple(text.removesuffix("\n").split("\n")) if text else ()
        return TextView(len(lines), (Chunk(0, lines),) if lines else ())


@dataclass(frozen=True, slots=True)
class StepSummary(View):
    """One row of the pipeline.  `changed` compares programs, not texts; `group` is a heading inside a
    kind."""

    id: str
    name: str
    kind: StepKind
    changed: bool
    milliseconds: float
    ops_before: int
    ops_after: int
    rewrite_count: int = 0
    group: str = ""
    note: str = ""
    error: ErrorView | None = None
    pending: bool = False
    """Not computed yet: looking at the step computes it."""
    rules: tuple[tuple[str, int], ...] = ()
    """Names of the rules that fired in it, each with how often: what a search of the steps looks through."""
    left_out: bool = False
    """It was left out on the screen and does not run; it stands where it ran."""
    functions: int = 0
    """The functions that fusion made of the operators; 0 before it, and below the graph."""


@dataclass(frozen=True, slots=True)
class PipelineView(View):
    """The steps of a session, in order.  `state` names the session's state: equal states, equal views."""

    state: str
    steps: tuple[StepSummary, ...]
    title: str = ""
    target: str = ""
    """What code is made for; empty where nothing else could be chosen."""
    version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class SourceView(View):
    """The functions of the program after a step, and the text of one of them as it may be edited.

    `passes` are those that may be put in after the step.
    """

    step: str
    functions: tuple[str, ...]
    function: str
    text: str
    passes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RewriteSummary(View):
    """One rule that fired: its name, where it is written ("simplify.py:41"), where it matched, how long it
    took."""

    rule: str
    source: str
    where: str
    microseconds: float


@dataclass(frozen=True, slots=True)
class StepView(View):
    """The program before and after a step.  `rewrites` lists the first ones; `rewrite_count` counts all.

    `state` names the program after this step.
    """

    id: str
    state: str
    before: TextView
    after: TextView
    hunks: tuple[Hunk, ...]
    rewrites: tuple[RewriteSummary, ...] = ()
    rewrite_count: int = 0
    language: Literal["python", "llvm", "asm", "text"] = "python"
    call: str = ""
    version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class RewriteView(View):
    """One rewrite looked at closely: the program (or its part) around it, what the pattern bound, and why."""

    step: str
    index: int
    rewrite: RewriteSummary
    before: TextView
    after: TextView
    hunks: tuple[Hunk, ...]
    why: str = ""
    bindings: tuple[tuple[str, str], ...] = ()
    rule_text: str = ""
    version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class TreeNode(View):
    """A box of the loop tree.  `extent` is text ("512", "n"); `label` is what the code calls it."""

    id: str
    kind: Literal["loop", "block", "stage"]
    name: str
    extent: str = ""
    loop_kind: LoopKind = "serial"
    detail: str = ""
    reduction: bool = False
    children: tuple[TreeNode, ...] = ()
    key: str = ""
    """Of a loop, what its variable is known by from state to state, wherever it stands; its id says where it stands."""
    made_of: tuple[str, ...] = ()
    """The keys of the loops that steps made it of, the nearest first."""


@dataclass(frozen=True, slots=True)
class Parameter(View):
    """One argument of a primitive: enough to draw its field."""

    name: str
    kind: ParameterKind
    doc: str = ""
    default: Any = None
    choices: tuple[str, ...] = ()
    required: bool = True


@dataclass(frozen=True, slots=True)
class PrimitiveView(View):
    """A schedule primitive: what it does, and the arguments that its form asks for."""

    name: str
    doc: str
    parameters: tuple[Parameter, ...]
    category: str = ""
    """What it is about ("loop", "cache"); a screen groups by it."""


@dataclass(frozen=True, slots=True)
class HistoryEntry(View):
    """One applied primitive as the line of Python that does the same."""

    label: str
    code: str


@dataclass(frozen=True, slots=True)
class ScheduleView(View):
    """A schedule at one state: its loop tree, the code that leads here, and what can be done next.

    `state` names the schedule alone: undoing and redoing gives the same one again.
    `history` holds all moves of the branch, those taken back too; the first `position` of them are done.  What can be
    done at a node is asked for one node at a time (`ReasonsView`).
    """

    state: str
    name: str
    tree: tuple[TreeNode, ...]
    code: str
    script: TextView
    primitives: tuple[PrimitiveView, ...]
    history: tuple[HistoryEntry, ...] = ()
    position: int = 0
    can_undo: bool = False
    can_redo: bool = False
    branches: tuple[str, ...] = ()
    """What each branch does after it left the others, oldest first; empty while there is only one."""
    branch: int = 0
    edited: str = ""
    """What a person has to know where the loop text was edited after this schedule; empty where it was not."""
    moved: str = ""
    """The schedule after its last move: what was asked since is part of `state` alone."""
    version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class SuggestionView(View):
    """A legal way on in place of what was refused: what it does, and the lines of Python that do it.

    `rank` is its place by the model of the machine, 1 for the fewest cycles, 0 where nothing is modelled; it `gains`
    if the model expects fewer cycles than now.
    """

    text: str
    code: str
    rank: int = 0
    gains: bool = False


@dataclass(frozen=True, slots=True)
class SuggestionsView(View):
    """A refusal in full (None where a longer look found nothing against it), and what could be done instead.

    `forcible` if only legality stands against it.
    """

    state: str
    selection: str
    primitive: str
    error: ErrorView | None
    suggestions: tuple[SuggestionView, ...]
    forcible: bool
    witness: View | None = None
    """The `WitnessView` of two iterations that collide, where the refusal has one."""
    version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class ReasonsView(View):
    """What can be done at one node: for each primitive that takes it, None or why it cannot.

    `arguments` holds, for primitives that can be applied, arguments that work, for their forms to start with.
    """

    state: str
    selection: str
    reasons: Mapping[str, str | None]
    arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
