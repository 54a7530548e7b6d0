"""What a person edited runs in a process of its own before it runs here: a wrong index must not end the notebook.

    require_harmless(step, target)        # before native code of the program after this step is called

An edit is the text of a function of loops, or a te program in place of a kernel's, at whatever step, and before a
schedule was made that was opened.  Each function that an edit changed is called once in a child (`trial` says how,
with what, and what is not tried).  What a function calls gets as much memory as it takes, by the sizes that are
written in both.  Other programs run at once: kernels of the rules, schedules made by primitives, and programs opened
as they are.

A verdict is kept for as long as the process, by what the function is and for which target.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from ..arith.nodes import literal
from ..codegen.llvm.unsafe_calls import is_unsafe
from ..core.equal import fingerprint, same
from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..target.target import Target
from ..tir import nodes as t
from ..tir.by_hand import is_by_hand
from .plan import IMPORT
from .trial import calls_in, closure, harm_of

if TYPE_CHECKING:
    from .history import Step

SCHEDULED: Final = "schedule"
"""The source of a program that was opened as a schedule: what was edited before it was made is tried as well."""
_KEPT: Final = 512
"""Verdicts that are remembered."""
_TRIED: Final = "tried"
"""In a step's memo: names of functions that did no harm."""
_verdicts: OrderedDict[Any, str] = OrderedDict()
_lock: Final = threading.Lock()


def require_harmless(step: Step, target: Target, kernel: str = "") -> None:
    """Raise E-EDIT-HARM if what edits made of the program after a step does harm; or of one function of it."""
    edits = _edited(step)
    if not edits:
        return
    module, tried = step.stage.module, step.memo.setdefault(_TRIED, set())
    for name, label in edits.items():
        if name not in tried and name in module and kernel in ("", name) and not is_unsafe(closure(name, module)):
            _require(name, module, target, f"step {label}", _undo(label), edits)
            tried.add(name)
    if not kernel and "" not in tried:
        for caller, label in edits.items():
            for problem in _short_of_memory(caller, module):
                raise _refusal(caller, f"step {label}", problem, _undo(label))
        tried.add("")


def require_harmless_start(function: t.PrimFunc, name: str, target: Target) -> None:
    """The same of the function that a schedule began with: primitives keep what it reads and writes."""
    if is_by_hand(function):
        _require(name, IRModule({name: function}), target, "the function that is scheduled", _undo(IMPORT), {})


def _undo(label: str) -> str:
    """How an edit is undone; of what was edited before it came here, in the session that did."""
    return "s.without(step)" if label == IMPORT else f's.without("{label}")'


def _brought(first: Step) -> dict[str, str]:
    """The functions that an edit made of a schedule that was opened; other programs are opened as they are."""
    if first.action.arguments.get("source") != SCHEDULED:
        return {}
    return {name: first.label for name, func in first.stage.module.functions.items() if is_by_hand(func)}


def _edited(step: Step) -> dict[str, str]:
    """The functions of loops that edits changed, with the step of the last; what was put back is not among them."""
    brought = _brought(step.path[0])
    labels: dict[str, str] = {}
    originals: dict[str, Any] = {}
    for one in step.path:
        if one.action.kind != "edit" or one.action.level != "tir" or one.previous is None:
            continue
        before = one.previous.stage.module.functions
        for name, func in one.stage.module.functions.items():
            if func is before.get(name):
                continue
            labels[name] = one.label
            if name in originals and same(originals[name], func):
                del labels[name], originals[name]
            else:
                originals.setdefault(name, before.get(name))
    return {**brought, **labels}


def _require(name: str, module: IRModule, target: Target, where: str, undo: str, edits: dict[str, str]) -> None:
    parts = closure(name, module)
    key = (name, str(target), tuple((each, fingerprint(func)) for each, func in parts.items()))
    with _lock:
        harm = _verdicts.get(key)
        if harm is not None:
            _verdicts.move_to_end(key)
    if harm is None:
        harm = harm_of(name, module, target, edits)
        with _lock:
            _verdicts[key] = harm
            if len(_verdicts) > _KEPT:
                _verdicts.popitem(last=False)
    if harm:
        raise _refusal(name, where, harm, undo)


def _refusal(name: str, where: str, harm: str, undo: str) -> WorkbenchError:
    return WorkbenchError(
        "E-EDIT-HARM", f"{name} was changed by hand and would harm this process",
        where=f"kernel {name}, {where}", found=harm, expected="reads and writes inside of its buffers, and an end",
        fix=f"change its text again, or undo the edit: {undo}; if it is right on the numbers that it will get (it was "
        "tried on others), wb.open(step.program.module) runs it untried",
        kept="the session as it is: it ran in a process of its own, not here",
    )  # fmt: skip


# --- memory that calls hand on ------------------------------------------------------------------------------------


def _short_of_memory(caller: str, module: IRModule) -> Iterator[str]:
    """Calls that give less memory than the called function takes.  (What a function takes no edit changes.)"""
    for name, given in calls_in(module[caller]) if isinstance(module.functions.get(caller), t.PrimFunc) else ():
        callee = module.functions.get(name)
        for parameter, value in zip(callee.params, given, strict=False) if isinstance(callee, t.PrimFunc) else ():
            taken, there = _bytes(parameter), _bytes_at(value)
            if taken is not None and there is not None and taken > there:
                yield f"{name} takes {taken:,} bytes as {parameter.name}, and {caller} gives {there:,}"


def _bytes(buffer: Any) -> int | None:
    """The size of a buffer, where it is known."""
    if not isinstance(buffer, t.Buffer):
        return None
    if buffer.strides or buffer.elem_offset is not None:
        return None
    size = (buffer.dtype.bits * buffer.dtype.lanes + 7) // 8
    for extent in buffer.shape:
        known = literal(extent, None)
        if known is None:
            return None
        size *= known
    return size


def _bytes_at(address: Any) -> int | None:
    """The memory from an address to the end of its buffer, where both are known."""
    place = address.args[0] if getattr(address, "op", "") == "address_of" else None
    if not isinstance(place, t.BufferLoad) or len(place.indices) != 1:
        return None
    first, whole = literal(place.indices[0], None), _bytes(place.buffer)
    return None if first is None or whole is None else whole - first * ((place.buffer.dtype.bits + 7) // 8)
