"""A schedule as the editor sees it: the loop tree, the primitives with reasons, the code so far.

Boxes are named by what stands in the program now: "b:C" for block C, "l:C:1" for the second loop around block C
(counted from outside); the first block below a loop names it.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Annotated, Any, Final, Literal

from ..core.errors import WorkbenchError
from ..schedule import Schedule
from ..schedule.arguments import Between
from ..schedule.errors import ScheduleError
from ..schedule.references import BlockRV, LoopRV, Reference, make_reference
from ..schedule.registry import PRIMITIVES, Primitive
from ..tir import nodes as t
from .schema import HistoryEntry, Parameter, ParameterKind, PrimitiveView, ReasonsView, ScheduleView, TextView, TreeNode

_TRIES: Final = 24
"""Combinations of arguments that are tried for one primitive at one box."""
_CATEGORIES: Final = ("loop", "place", "inline", "cache", "reduction", "layout", "annotation")
"""The order of the groups in which primitives are offered; others follow."""
_KINDS: Final[dict[t.ForKind, Any]] = {
    t.ForKind.SERIAL: "serial",
    t.ForKind.PARALLEL: "parallel",
    t.ForKind.VECTORIZED: "vectorized",
    t.ForKind.UNROLLED: "unrolled",
    t.ForKind.THREAD_BINDING: "thread",
}


@dataclass(frozen=True)
class EditorModel:
    """A `ui.models.ScheduleModel` on a `Schedule`; every command gives a new model."""

    schedule: Schedule
    undone: tuple[Schedule, ...] = ()
    """States that redo goes back to, nearest last."""
    earlier: tuple[Schedule, ...] = ()
    """States that undo goes back to, nearest last."""
    others: tuple[tuple[Schedule, ...], ...] = ()
    """The chains of states of the other branches: an undone command followed by another one leaves one."""
    branch: int = 0
    """The number of this branch among all, by age."""
    _boxes: list[tuple[Schedule, dict[str, Reference]]] = field(
        default_factory=list["tuple[Schedule, dict[str, Reference]]"], init=False, compare=False, repr=False
    )
    _judged: dict[str, ReasonsView] = field(
        default_factory=dict[str, ReasonsView], init=False, compare=False, repr=False
    )

    def view(self) -> ScheduleView:
        """The loop tree with everything that can be done at each box, and why the rest cannot."""
        _, references = self._prepared()
        lines = self._history()
        chains = self._chains()
        return ScheduleView(
            state=self.schedule.fingerprint(),
            name=self.schedule.func_working_on,
            tree=_tree(self.schedule.func, references),
            code=self.schedule.code(),
            script=TextView.of(self.schedule.script()),
            primitives=tuple(
                PrimitiveView(
                    entry.name,
                    entry.doc.split("\n\nRaises", 1)[0],
                    _parameters(entry),
                    category=entry.category,
                )
                for entry in _offered()
            ),
            history=lines,
            position=len(self.earlier),
            can_undo=bool(self.earlier),
            can_redo=bool(self.undone),
            judged=False,
            branches=tuple(_story(number, chains) for number in range(len(chains))) if self.others else (),
            branch=self.branch,
        )

    def reasons(self, selection: str) -> ReasonsView:
        """What can be done at one box, and why the rest cannot.

        Legality is exact and takes milliseconds a primitive, so that a screen asks for one box at a time.
        """
        known = self._judged.get(selection)
        if known is not None:
            return known
        prepared, references = self._prepared()
        if selection not in references:
            raise WorkbenchError(
                "E-SCHEDULE-SELECTION", "there is no such loop or block any more", found=repr(selection)[:60]
            )
        reference = references[selection]
        boxes = {_key(other): box for box, other in references.items()}
        reasons: dict[str, str | None] = {}
        arguments: dict[str, Mapping[str, Any]] = {}
        for entry in _offered():
            if entry.selects(type(reference)):
                refusal, works = _first_working(prepared, entry, reference)
                reasons[entry.name] = None if refusal is None else _reason(refusal)
                if works:
                    shown = _shown_arguments(entry, works, boxes)
                    if entry.name == "reorder":  # the form moves the loops of the whole nest, not two of them
                        shown = dict.fromkeys(shown, _chain_of(prepared, reference, boxes))
                    arguments[entry.name] = shown
        made = ReasonsView(self.schedule.fingerprint(), selection, reasons, arguments)
        self._judged[selection] = made
        return made

    def _prepared(self) -> tuple[Schedule, dict[str, Reference]]:
        """A copy in which every box has a reference, and these by box; made once."""
        if not self._boxes:
            self._boxes.append(_referenced(self.schedule))
        return self._boxes[0]

    def _history(self) -> tuple[HistoryEntry, ...]:
        return tuple(_entry(before, after) for before, after in pairwise(self._chain()))

    def _chain(self) -> tuple[Schedule, ...]:
        """The states of this branch, undone ones too."""
        return (*self.earlier, self.schedule, *reversed(self.undone))

    def _chains(self) -> tuple[tuple[Schedule, ...], ...]:
        """All branches, by age."""
        return (*self.others[: self.branch], self._chain(), *self.others[self.branch :])

    def apply(self, primitive: str, selection: str, arguments: dict[str, Any]) -> EditorModel:
        """The schedule after one more primitive at the box `selection`.  Raises `WorkbenchError` when it is refused."""
        entry = PRIMITIVES.get(primitive)
        if entry is None or entry not in _offered():
            raise WorkbenchError("E-SCHEDULE-PRIMITIVE", "the editor has no such primitive", found=repr(primitive)[:60])
        made = self.schedule.copy()
        values: dict[str, Any] = {}
        for position, item in enumerate(entry.parameters):
            given = selection if position == 0 else arguments.get(item.name)
            if position == 0 and item.kind is item.VAR_POSITIONAL:
                listed = list(arguments.get(item.name) or ())
                given = listed if selection in listed else [selection, *listed]
            if given is not None and given != "":
                values[item.name] = _meant(made, given)
        positional = [value for item in entry.parameters for value in _spread(item, values)]
        named = {
            item.name: values[item.name]
            for item in entry.parameters
            if item.name in values and item not in entry.parameters[:1] and not _is_positional(item)
        }
        try:
            getattr(made, primitive)(*positional, **named)
        except ScheduleError as error:
            error.nodes = tuple(_boxes_of(error.nodes, self._prepared()[1]))
            raise
        earlier = (*self.earlier, self.schedule)
        if not self.undone:
            return EditorModel(made, (), earlier, self.others, self.branch)
        return EditorModel(made, (), earlier, self._chains(), len(self._chains()))

    def switch(self, branch: int) -> EditorModel:
        """The end of another branch.  Raises `WorkbenchError` if there is none of that number."""
        chains = self._chains()
        if not 0 <= branch < len(chains):
            raise WorkbenchError("E-SCHEDULE-BRANCH-NUMBER", "there is no such branch", found=str(branch)[:40])
        *earlier, last = chains[branch]
        return EditorModel(last, (), tuple(earlier), (*chains[:branch], *chains[branch + 1 :]), branch)

    def undo(self) -> EditorModel:
        """The state one command earlier."""
        if not self.earlier:
            raise WorkbenchError("E-SCHEDULE-UNDO", "there is nothing to undo")
        undone = (*self.undone, self.schedule)
        return EditorModel(self.earlier[-1], undone, self.earlier[:-1], self.others, self.branch)

    def redo(self) -> EditorModel:
        """The state one command later."""
        if not self.undone:
            raise WorkbenchError("E-SCHEDULE-REDO", "there is nothing to redo")
        earlier = (*self.earlier, self.schedule)
        return EditorModel(self.undone[-1], self.undone[:-1], earlier, self.others, self.branch)


def _story(number: int, chains: Sequence[Sequence[Schedule]]) -> str:
    """What a branch does after it left the others: "vectorize, parallel"."""
    prints = [[state.fingerprint() for state in chain] for chain in chains]
    shared = max(_common(prints[number], other) for other in [*prints[:number], *prints[number + 1 :]])
    names = [_entry(before, after).label for before, after in pairwise(chains[number][max(shared, 1) - 1 :])]
    return ", ".join(names) or "as it was"


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    return next(
        (i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )


def _is_positional(item: Any) -> bool:
    return item.kind is item.VAR_POSITIONAL or (item.kind is item.POSITIONAL_OR_KEYWORD and item.default is item.empty)


def _boxes_of(nodes: Sequence[Any], references: Mapping[str, Reference]) -> Iterator[str]:
    """The boxes that stand for the nodes of an error."""
    for node in nodes:
        for box, reference in references.items():
            if reference.target is getattr(node, "var", node) or (
                isinstance(node, t.Block) and reference.target == node.name
            ):
                yield box


def _spread(item: Any, values: Mapping[str, Any]) -> list[Any]:
    if item.name not in values:
        return []
    if item.kind is item.VAR_POSITIONAL:
        return list(values[item.name])
    return [values[item.name]] if _is_positional(item) else []


def _entry(before: Schedule, after: Schedule) -> HistoryEntry:
    """The lines that a command added; the last one is the primitive itself."""
    steps = after.trace.steps[len(before.trace.steps) :]
    lines = [step.line() for step in steps]
    return HistoryEntry(steps[-1].primitive if steps else "", "\n".join(lines))


# --- boxes and references -----------------------------------------------------------------------------------------


def _referenced(schedule: Schedule) -> tuple[Schedule, dict[str, Reference]]:
    """A copy in which every box has a reference, and these by box."""
    made = schedule.copy()
    found: dict[str, Reference] = {}
    named: set[int] = set()
    for site in made.state.tree.leaves:
        block = made.get_block(site.name)
        found[f"b:{site.name}"] = block
        for depth, loop in enumerate(made.get_loops(block)):
            if id(loop.target) not in named:
                named.add(id(loop.target))
                found[f"l:{site.name}:{depth}"] = loop
    return made, found


def _meant(schedule: Schedule, given: Any) -> Any:
    """An argument from the screen; boxes become references of `schedule` (asked for if it has none yet)."""
    if isinstance(given, list):
        return [_meant(schedule, item) for item in given]
    if not isinstance(given, str) or given[:2] not in ("b:", "l:"):
        return given
    name = given[2:] if given.startswith("b:") else given[2:].rpartition(":")[0]
    block = _known(schedule, name) or schedule.get_block(name)
    if given.startswith("b:"):
        return block
    site = schedule.state.find_block(name)
    depth = int(given.rpartition(":")[2])
    if not 0 <= depth < len(site.loops):
        raise WorkbenchError("E-SCHEDULE-SELECTION", "there is no such loop any more", found=given[:60])
    return _known(schedule, site.loops[depth].var) or schedule.get_loops(block)[depth]


def _known(schedule: Schedule, target: Any) -> Reference | None:
    """A live reference to a block (by name) or loop (by variable), if the schedule has one."""
    state = schedule.state
    for name, held in state.named.items():
        same = held == target if isinstance(held, str) and isinstance(target, str) else held is target
        if same and name not in state.consumed:
            return make_reference(name, held)
    return None


def _tree(func: t.PrimFunc, references: Mapping[str, Reference]) -> tuple[TreeNode, ...]:
    boxes = {id(reference.target): box for box, reference in references.items() if isinstance(reference, LoopRV)}
    return _nodes(func.body, boxes)


def _nodes(stmt: t.Stmt | None, boxes: Mapping[int, str]) -> tuple[TreeNode, ...]:
    """The boxes of a statement; programs nest as shallowly as their text does."""
    if isinstance(stmt, t.SeqStmt):
        return tuple(node for part in stmt.stmts for node in _nodes(part, boxes))
    if isinstance(stmt, t.For):
        return (
            TreeNode(
                id=boxes.get(id(stmt.var), f"x:{stmt.var.name}"),
                kind="loop",
                name=stmt.var.name,
                extent=str(getattr(stmt.extent, "value", "n")),
                loop_kind=_KINDS[stmt.kind],
                children=_nodes(stmt.body, boxes),
            ),
        )
    if isinstance(stmt, t.BlockRealize):
        return _block(stmt, boxes)
    if isinstance(stmt, t.IfThenElse):
        return _nodes(stmt.then_case, boxes) + _nodes(stmt.else_case, boxes)
    return ()


def _block(realize: t.BlockRealize, boxes: Mapping[int, str]) -> tuple[TreeNode, ...]:
    block = realize.block
    inside = _nodes(block.body, boxes)
    if not block.iter_vars and inside:
        return inside
    reads = ", ".join(dict.fromkeys(region.buffer.name for region in block.reads))
    writes = ", ".join(dict.fromkeys(region.buffer.name for region in block.writes))
    return (
        TreeNode(
            id=f"b:{block.name}",
            kind="block",
            name=block.name,
            detail=f"{reads or 'nothing'} → {writes}",
            reduction=any(item.kind is t.IterKind.REDUCE for item in block.iter_vars),
            children=inside,
        ),
    )


# --- primitives ---------------------------------------------------------------------------------------------------


def _key(reference: Reference) -> Any:
    """What a reference stands for, as a key."""
    return reference.target if isinstance(reference, BlockRV) else id(reference.target)


def _offered() -> list[Primitive]:
    """The primitives that the editor offers."""
    return sorted(
        (entry for entry in PRIMITIVES.values() if entry.category not in ("get", "sample", "other")),
        key=lambda entry: _CATEGORIES.index(entry.category) if entry.category in _CATEGORIES else len(_CATEGORIES),
    )


def _first_working(
    schedule: Schedule, entry: Primitive, reference: Reference
) -> tuple[ScheduleError | None, dict[str, Any]]:
    """Arguments that work at `reference`; or, with none found, the first refusal."""
    first: ScheduleError | None = None
    for arguments in islice(schedule.candidates(entry, reference), _TRIES):
        values = list(arguments.items())
        leading = entry.parameters[0]
        spread = arguments[leading.name] if leading.kind is leading.VAR_POSITIONAL else (arguments[leading.name],)
        refusal = schedule.why_not(entry.name, *spread, **dict(values[1:]))
        if refusal is None:
            return None, arguments
        first = first or refusal
    return first or schedule.first_refusal(entry, reference), {}


def _shown_arguments(entry: Primitive, arguments: Mapping[str, Any], boxes: Mapping[Any, str]) -> dict[str, Any]:
    """Arguments as the form holds them: references as boxes, without the selection."""

    def shown(value: Any) -> Any:
        if isinstance(value, Reference):
            return boxes.get(_key(value), "")
        return [shown(item) for item in value] if isinstance(value, (list, tuple)) else value

    return {
        item.name: shown(arguments[item.name])
        for position, item in enumerate(entry.parameters)
        if item.name in arguments and (position > 0 or item.kind is item.VAR_POSITIONAL)
    }


def _chain_of(schedule: Schedule, reference: Reference, boxes: Mapping[Any, str]) -> list[str]:
    """The boxes of the loops that stand directly in one another around and inside a loop, outermost first."""
    site = schedule.state.tree.loops[id(reference.target)]
    chain = [site.loop]
    for outer in reversed([part for part in site.path if isinstance(part, t.For)]):
        if outer.body is not chain[0]:
            break
        chain.insert(0, outer)
    while isinstance(chain[-1].body, t.For):
        chain.append(chain[-1].body)
    return [boxes[id(loop.var)] for loop in chain]


def _reason(refusal: ScheduleError) -> str:
    fix = f" Fix: {refusal.fix}." if refusal.fix else ""
    return f"{refusal.message}.{fix}"


def option_form(primitive: str) -> tuple[Parameter, ...]:
    """The fields of a primitive's form, from its signature; the first parameter, the selection, is left out.

    Raises `WorkbenchError` for a name that the table does not know.
    """
    return _parameters(PRIMITIVES[primitive])


def _parameters(entry: Primitive) -> tuple[Parameter, ...]:
    """The fields of a primitive's form; the first parameter is the selection."""
    made: list[Parameter] = []
    for position, item in enumerate(entry.parameters):
        annotation = entry.annotations[item.name]
        many = item.kind is item.VAR_POSITIONAL
        if position == 0 and not many:
            continue
        kind, choices = _kind(annotation, many)
        suggested = entry.suggest.get(item.name)
        default = item.default if item.default is not item.empty else suggested[0] if suggested else None
        made.append(Parameter(item.name, kind, "", default, choices, item.default is item.empty))
    return tuple(made)


def _kind(annotation: Any, many: bool) -> tuple[ParameterKind, tuple[str, ...]]:
    """How the form asks for an argument of this annotation."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return _kind(arguments[0], many)
    if origin is Literal:
        return "choice", tuple(str(choice) for choice in arguments)
    if origin in (list, tuple):
        inner = _kind(_plain_item(arguments[0]), False)[0]
        return ("loops" if inner == "loop" else "integers" if inner == "integer" else "text"), ()
    if annotation is LoopRV:
        return ("loops" if many else "loop"), ()
    if LoopRV in arguments:
        return "loop", ()
    if annotation is BlockRV or BlockRV in arguments:
        return "block", ()
    simple: dict[Any, ParameterKind] = {int: "integer", float: "number", bool: "boolean"}
    return simple.get(annotation, "text"), ()


def _plain_item(annotation: Any) -> Any:
    """The item type of a list, None left out: ``Factor | None`` is a Factor."""
    kept = [part for part in typing.get_args(annotation) if part is not type(None) and not isinstance(part, Between)]
    return kept[0] if kept else annotation
