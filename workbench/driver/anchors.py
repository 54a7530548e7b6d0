"""Which functions an edit is of: kernels are anchored by what they compute and by the calls that they are of.

    at = anchor(name, stage)             # when the edit is made
    names, report = located(at, stage)   # when it is carried out; the report says what is not to be found, and why

An edit of a kernel is an edit of the calls that share it, and of no others.  It is carried to the kernels that these
calls have now.  Where a call that it is not of shares such a kernel, or only another call computes what it was made
of, it is reported: an edit neither moves nor spreads in silence.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from ..core.errors import WorkbenchError, nearest
from ..lower.kernel import Kernel
from .call_alignment import SHORT, EntryCall, Followed, entry_calls, followed, stem
from .history import Stage
from .plan import Anchor
from .rebase import Dropped, Rebased

_TOLD: Final = 8
"""Names that an error lists."""


def unknown_kernel(name: Any, known: Collection[str], after: str = "") -> WorkbenchError:
    """There is no kernel of that name among those known; `after`: the step after which they are."""
    listed = [*list(known)[:_TOLD], *([f"… {len(known) - _TOLD} more"] if len(known) > _TOLD else [])]
    return WorkbenchError(
        "E-KERNEL-UNKNOWN", f"there is no kernel {repr(name)[:80]}{f' after step {after}' if after else ''}",
        expected=", ".join(listed) or "a program with kernels", fix=nearest(name, known),
    )  # fmt: skip


def anchor(name: str, stage: Stage) -> Anchor:
    """The anchor of a function of a stage."""
    kernels = stage.lowered.kernels if stage.lowered is not None else ()
    own = next((kernel for kernel in kernels if kernel.name == name), None)
    if own is None or stage.lowered is None:
        return Anchor(name)
    alike = sum(stem(kernel.name) == stem(name) for kernel in kernels)
    return Anchor(name, own.fingerprint, alike, entry_calls(stage.lowered))


def located(at: Anchor, stage: Stage) -> tuple[tuple[str, ...], Rebased | None]:
    """The names of the functions here, and what is not to be found, if anything."""
    if not at.fingerprint:
        return ((at.name,), None) if at.name in stage.module else ((), _missing(at, ["there is no such function"]))
    kernels = stage.lowered.kernels if stage.lowered is not None else ()
    mine = [number for number, call in enumerate(at.entry) if call[1] == at.fingerprint[:SHORT]]
    if not mine or stage.lowered is None:
        return _by_content(at, kernels)
    before = tuple(EntryCall(*call) for call in at.entry)
    return _Calls(at, before, entry_calls(stage.lowered), kernels).located(mine)


class _Calls:
    """The calls that a kernel was of, and where they are now."""

    def __init__(
        self, at: Anchor, before: tuple[EntryCall, ...], now: tuple[EntryCall, ...], kernels: Sequence[Kernel]
    ) -> None:
        self.at, self.before, self.now, self.kernels = at, before, now, kernels
        self.names = {kernel.fingerprint[:SHORT]: kernel.name for kernel in kernels}
        self.found: Followed = followed(before, now)
        self.content = at.fingerprint[:SHORT]

    def located(self, mine: Sequence[int]) -> tuple[tuple[str, ...], Rebased | None]:
        """The kernels of the calls of these numbers, and what cannot be told of them."""
        places = {self.found.same[number]: number for number in mine if number in self.found.same}
        there = [number for number, call in enumerate(self.now) if call.content == self.content]
        if there and not set(there) & set(places):
            why = f"what it computed is computed by another call only: {self._told(there)}"
            return (), _missing(self.at, [why])
        lost = [self.found.replaced[number] for number in mine if number in self.found.replaced]
        reasons = []
        if lost and places:
            told = "is" if len(lost) == 1 else "are"
            reasons.append(f"{len(lost)} of its calls {told} of another kernel now: {self._told(lost)}")
        names: list[str] = []
        for content in dict.fromkeys(self.now[place].content for place in sorted(places)):
            reason = self._doubt(content, places)
            if reason:
                reasons.append(reason)
            else:
                names.append(self.names[content])
        if not names and not reasons:
            return (), _gone(self.at, self.kernels)
        return tuple(names), _missing(self.at, reasons) if reasons else None

    def _doubt(self, content: str, places: dict[int, int]) -> str:
        """Why a kernel of calls that it was followed to is not surely that of these calls alone; "" where it is."""
        calls = [number for number, call in enumerate(self.now) if call.content == content]
        others = [number for number in calls if number not in places]
        if others:
            return f"the kernel is shared by further calls now: {self._told(others)}"
        operators = self.now[calls[0]].stem
        counts = [sum(call.stem == operators for call in calls) for calls in (self.before, self.now)]
        if counts[0] == counts[1]:
            return ""
        if content != self.content:
            return f"there are {counts[1]} calls of this name, there were {counts[0]}: which is which cannot be told"
        for place in calls:
            unpaired = (call for number, call in enumerate(self.before) if number not in self.found.same)
            here, known = self.now[place], self.before[places[place]]
            if here.reads != known.reads and any((one.stem, one.reads) == (operators, here.reads) for one in unpaired):
                return f"of the calls of this name one is gone, and which cannot be told: {self._told([place])}"
        return ""

    def _told(self, calls: Sequence[int]) -> str:
        return ", ".join(f"{self.names.get(self.now[number].content)} (call {number + 1})" for number in calls)


def _by_content(at: Anchor, kernels: Sequence[Kernel]) -> tuple[tuple[str, ...], Rebased | None]:
    """The kernel of an anchor that knows no calls, as files of earlier versions have them.

    It is the one that computes the same; else the only one of its name; else the one of its name and number where
    there are as many of that name as there were.
    """
    exact = next((kernel for kernel in kernels if kernel.fingerprint == at.fingerprint), None)
    if exact is not None:
        return (exact.name,), None
    alike = [kernel.name for kernel in kernels if stem(kernel.name) == stem(at.name)]
    if not alike:
        return (), _gone(at, kernels)
    if len(alike) == at.alike and (len(alike) == 1 or at.name in alike):
        return (alike[0] if len(alike) == 1 else at.name,), None
    names = ", ".join(alike)
    return (), _missing(at, [f"there are {len(alike)} kernels of this name, there were {at.alike}: {names}"])


def _gone(at: Anchor, kernels: Sequence[Kernel]) -> Rebased:
    hint = nearest(at.name, [kernel.name for kernel in kernels])
    return _missing(at, [f"no kernel computes this any more{f'; {hint}' if hint else ''}"])


def _missing(at: Anchor, reasons: Sequence[str]) -> Rebased:
    return Rebased(at.name, None, (), tuple(Dropped(f"kernel {at.name}", why) for why in reasons))
