"""Edits on whatever comes before them now: what applies is applied, what does not is reported with its reason.

    found = rebase_text("main", before, after, now)      # three versions of a function
    found.result, found.applied, found.dropped

A graph is merged by its expressions (`merge_graph`), a loop program by the lines of its text (`merge_lines`), a
schedule by its steps (`schedule.rebase`).  Where nothing has changed beneath an edit its result is as it was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ..core.equal import same
from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..core.node import FrozenMap
from ..relay.ir.expr import Expr
from ..relay.ir.verify import verify
from ..tir.calling import changed_parameters, other_parameters
from ..tir.nodes import PrimFunc
from .edit_check import require_sound
from .merge_graph import merge_graph
from .merge_lines import merge_lines
from .text import function_text, parse_function

CODE: Final = "E-EDIT-REBASE"
_MOST, _LEAST = 350, 120
"""Characters of all that does not apply, and of one part of it at the least."""


@dataclass(frozen=True)
class Dropped:
    """A part of an edit that does not apply any more."""

    where: str
    why: str
    moves: int = 1
    """How many changes by hand it is: none for a step of a default schedule, all for a kernel that is not there."""

    def __str__(self) -> str:
        return f"{self.where}: {self.why}"


@dataclass(frozen=True)
class Rebased:
    """What became of an edit of one function."""

    name: str
    """The function's name now."""
    result: Any
    """With what applies; the function as it comes here where nothing does."""
    applied: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    notes: tuple[str, ...] = ()
    part: int = 0
    """Which part of its row it is of; a part has several reports where its kernel has become several."""
    moves: int | None = None
    """How many steps of the schedule a person has done, those aside that only ask; None for an edited function."""

    def __str__(self) -> str:
        head = f"{self.name}: {len(self.applied)} of {len(self.applied) + len(self.dropped)} changes apply"
        return "\n".join([head, *(f"  {item}" for item in (*self.dropped, *self.notes))])


class RebaseError(WorkbenchError):
    """An edit does not apply to what comes before it now; `reports` say what does and what does not."""

    def __init__(self, reports: Sequence[Rebased], where: str) -> None:
        """`reports` in the order of the parts of the row: names of kernels are counters, and change owners."""
        lost = [item for report in reports for item in report.dropped]
        super().__init__(
            CODE,
            f"{_counted(reports)} do not apply to what comes before them now",
            where=where,
            found=_told(lost),
            fix='make the edit again, or drop what does not apply: s.rebase(keep="applicable")',
            kept="the edit, whole; the program before it",
        )
        self.reports = tuple(reports)

    def located(self, where: str) -> RebaseError:
        """With the step's label before the functions: only the history knows which step of its name it is."""
        if not self.where.startswith("step "):
            self.where = f"{where}, {self.where}" if self.where else where
        return self


def _counted(reports: Sequence[Rebased]) -> str:
    """What of that which a person did is lost, and of how much; a part is counted once, however many kernels it is of.

    Steps of the default schedule beneath those of the person are told by themselves.
    """
    lost = made = beneath = 0
    for part in dict.fromkeys(report.part for report in reports):
        mine = [report for report in reports if report.part == part]
        moves = [report.moves for report in mine if report.moves is not None]
        if moves:  # a step is told once for each kernel
            dropped = {item.where: item.moves for report in mine for item in report.dropped}
            made += max(moves)
            lost += min(sum(dropped.values()), max(moves))
            beneath += sum(not count for count in dropped.values())
        else:  # two places may be told in the same words
            made += max(len(report.applied) + len(report.dropped) for report in mine)
            lost += max(len(report.dropped) for report in mine)
    if all(report.moves is None for report in reports):
        return f"{lost} of {made} changed places of this edit by hand"
    steps = f"{lost} of {made} steps by hand" if lost else ""
    above = "them" if lost else "those by hand"
    default = f"{beneath} steps of the default schedule beneath {above}" if beneath else ""
    return " and ".join(filter(None, [steps, default]))


def _told(lost: Sequence[Dropped]) -> str:
    """What does not apply and why, so short that the first reasons can be read where an error is printed."""
    each = max(_LEAST, _MOST // max(1, len(lost)))
    shown: list[str] = []
    for item in lost:
        text = str(item)
        if len(text) > each:
            text = f"{_brief(item.where, each // 2 - 1)}: {_brief(item.why, each // 2 - 1)}"
        if shown and len("; ".join([*shown, text])) > _MOST:
            return "; ".join([*shown, f"and {len(lost) - len(shown)} more: step.error.reports"])
        shown.append(text)
    return "; ".join(shown)


def _brief(text: str, limit: int) -> str:
    """About `limit` characters: the common beginning of two versions of a line, or the middle, is left out."""
    old, arrow, new = text.partition(" -> ")
    if arrow and len(text) > limit:
        common = next((i for i, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), 0)
        begin = max(0, common - limit // 6)
        old, new = (f"…{part[begin:]}" if begin else part for part in (old, new))
        return f"{_middle(old, limit // 2 - 2)}{arrow}{_middle(new, limit // 2 - 2)}"
    return _middle(text, limit)


def _middle(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit // 2]}…{text[len(text) - (limit - limit // 2 - 1) :]}"


def second_of(name: str, kind: str, reports: Sequence[Rebased]) -> Rebased | None:
    """The report of an edit of a function that an earlier part of the row is of already; None for the first."""
    if not any(report.name == name and report.result is not None for report in reports):
        return None
    why = "two edits of one step are of it now; the earlier one is kept"
    return Rebased(name, None, (), (Dropped(f"{kind} {name}", why),))


def rebase_text(name: str, before: Any, after: Any, now: Any, module: IRModule) -> Rebased:
    """What a person made of `before`, made of `now`, a function of `module`.

    Raises `WorkbenchError` for an edit that has to be refused even on its own base (other parameters).
    """
    after = renamed(after, name)
    if same(renamed(before, name), now):
        return Rebased(name, fitted(name, after, now), ("as it was made",))
    if isinstance(now, PrimFunc) and isinstance(after, PrimFunc) and isinstance(before, PrimFunc):
        found = _merged_loops(name, renamed(before, name), after, now)
    elif isinstance(now, Expr) and isinstance(after, Expr) and isinstance(before, Expr):
        merged = merge_graph(before, after, now)
        assert len(merged.applied) + len(merged.dropped) == merged.made, "a change was neither applied nor reported"
        if not merged.made and not same(before, after):
            return _lost(name, now, "the change is of no expression, and what comes before is another function now")
        dropped = tuple(Dropped(where, why) for where, why in merged.dropped)
        found = Rebased(name, merged.result, merged.applied, dropped)
    else:
        return _lost(name, now, f"it is a {type(now).__name__} now")
    if found.result is now:
        return found
    if isinstance(now, Expr):
        wrong = next(iter(verify(found.result, module)), None)
        if wrong is not None and not verify(now, module):
            return _lost(name, now, f"the merged function is not well-formed: {wrong.message}", len(found.applied))
    try:
        require_sound({name: found.result}, module, {})
        return replace(found, result=fitted(name, found.result, now))
    except WorkbenchError as error:
        return _lost(name, now, f"the merged function is not sound: {error.message}", len(found.applied))


def _lost(name: str, now: Any, why: str, changes: int = 1) -> Rebased:
    return Rebased(name, now, (), tuple(Dropped(f"function {name}", why) for _ in range(max(changes, 1))))


def _merged_loops(name: str, before: PrimFunc, after: PrimFunc, now: PrimFunc) -> Rebased:
    """By lines; attributes by themselves, since a kernel's target stands among them."""
    bare = [function_text(name, _without_attributes(version)).text for version in (before, after, now)]
    merged = merge_lines(*bare)
    assert len(merged.applied) + len(merged.dropped) == merged.made, "a change was neither applied nor reported"
    if not merged.made and not same(_without_attributes(before), _without_attributes(after)):
        return _lost(name, now, "the change is of no line, and what comes before is another function now")
    dropped = tuple(Dropped(where, why) for where, why in merged.dropped)
    if not merged.applied and not dropped:
        result = now
    else:
        try:
            made = parse_function(merged.text)
        except WorkbenchError as error:
            return _lost(name, now, f"the merged text is no program: {error.message}", len(merged.applied))
        result = made.replace(attrs=now.attrs)
    attributes, lost = _merged_attributes(before.attrs, after.attrs, now.attrs)
    changed = [key for key in attributes if attributes.get(key) != now.attrs.get(key)]
    applied = (*merged.applied, *(f"attribute {key}" for key in changed))
    result = result.replace(attrs=attributes) if changed or len(attributes) != len(now.attrs) else result
    return Rebased(name, result, applied, (*dropped, *lost))


def _without_attributes(function: PrimFunc) -> PrimFunc:
    kept = {key: value for key, value in function.attrs.items() if key == "global_symbol"}
    return function.replace(attrs=FrozenMap(kept))


def _merged_attributes(before: Any, after: Any, now: Any) -> tuple[FrozenMap, tuple[Dropped, ...]]:
    result, dropped = dict(now), []
    for key in {**before, **after}:
        was, wanted, found = before.get(key), after.get(key), now.get(key)
        if was == wanted or wanted == found or (wanted is None and key not in after):
            continue  # an attribute that the text leaves out is taken over, see `fitted`
        if was == found:
            result[key] = wanted
        else:
            dropped.append(Dropped(f"attribute {key}", f"it is {found!r} now, it was {was!r}"))
    return FrozenMap(result), tuple(dropped)


# --- what a function must be to stand in another's place ------------------------------------------------------------


def renamed(function: Any, name: str) -> Any:
    """A loop function under the name that it has in the module now."""
    if not isinstance(function, PrimFunc) or function.attrs.get("global_symbol", name) == name:
        return function
    return function.replace(attrs=function.attrs.set("global_symbol", name))


def fitted(name: str, function: Any, previous: Any) -> Any:
    """A loop function in the place of another: attributes that it lacks are taken over; it is called in the same way.

    Raises `WorkbenchError` when its parameters are others, since native code trusts them.
    """
    if not isinstance(function, PrimFunc) or not isinstance(previous, PrimFunc):
        return function
    changed = changed_parameters(previous, function)
    if changed is not None:
        fix = "write the parameters as they were, or edit the program that it comes from"
        raise other_parameters(name, changed, "native code trusts them", fix, "the function before the edit")
    lacking = {key: value for key, value in previous.attrs.items() if key not in function.attrs}
    return function.replace(attrs=FrozenMap({**lacking, **function.attrs})) if lacking else function
