"""Which functions an edit is of: kernels are anchored by what they compute, since their names are counters.

    at = anchor(name, stage)             # when the edit is made
    names, report = located(at, stage)   # when it is carried out; the report says what is not to be found, and why

A kernel that several calls share is one function to a person.  Where a change before the edit gives some of these
calls kernels of their own, the edit is of all of them: the anchor counts the calls, and knows what else was called.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from ..arith.nodes import Call
from ..core.errors import nearest
from ..core.node import pre_order
from ..lower.kernel import Kernel
from .history import Stage
from .plan import Anchor
from .rebase import Dropped, Rebased

_NUMBER = re.compile(r"(_\d+)+$")
_SHORT: Final = 16
"""Characters of a fingerprint that tell the kernels of one program apart."""


def anchor(name: str, stage: Stage) -> Anchor:
    """The anchor of a function of a stage."""
    kernels = stage.lowered.kernels if stage.lowered is not None else ()
    own = next((kernel for kernel in kernels if kernel.name == name), None)
    if own is None:
        return Anchor(name)
    alike = sum(_stem(kernel.name) == _stem(name) for kernel in kernels)
    calls = _calls(stage)
    if calls[name] <= 1:
        return Anchor(name, own.fingerprint, alike, calls[name])
    others = tuple((kernel.fingerprint[:_SHORT], calls[kernel.name]) for kernel in kernels if kernel is not own)
    return Anchor(name, own.fingerprint, alike, calls[name], others)


def located(at: Anchor, stage: Stage) -> tuple[tuple[str, ...], Rebased | None]:
    """The names of the functions here, and what is not to be found, if anything.

    A kernel is the one that computes the same; else the only one of its name; else the one of its name and number
    where there are as many of that name as there were.  Where several calls shared it, kernels of its name that are
    new and take over no more calls than it lost are it as well.
    """
    if not at.fingerprint:
        return ((at.name,), None) if at.name in stage.module else ((), _missing(at, "there is no such function"))
    kernels = stage.lowered.kernels if stage.lowered is not None else ()
    exact = next((kernel for kernel in kernels if kernel.fingerprint == at.fingerprint), None)
    if at.calls > 1:
        return _shared(at, kernels, exact, _calls(stage))
    if exact is not None:
        return (exact.name,), None
    alike = _alike(at, kernels)
    if not alike:
        return (), _gone(at, kernels)
    if len(alike) == at.alike and (len(alike) == 1 or at.name in alike):
        return (alike[0] if len(alike) == 1 else at.name,), None
    names = ", ".join(alike)
    return (), _missing(at, f"there are {len(alike)} kernels of this name, there were {at.alike}: {names}")


def _shared(
    at: Anchor, kernels: tuple[Kernel, ...], exact: Kernel | None, calls: Counter[str]
) -> tuple[tuple[str, ...], Rebased | None]:
    """The kernels that the calls of a shared kernel have now."""
    found = (exact.name,) if exact is not None else ()
    missing = at.calls - (calls[exact.name] if exact is not None else 0)
    if missing <= 0:
        return found, None
    before = dict(at.others)
    known = {kernel.name: before.get(kernel.fingerprint[:_SHORT], 0) for kernel in kernels}
    came = {name: calls[name] - count for name, count in known.items() if name not in found and calls[name] > count}
    alike = _alike(at, kernels)
    heirs = tuple(name for name in alike if name in came and not known[name])
    if exact is None and at.name in heirs and len(alike) == at.alike and calls[at.name] == at.calls:
        return (at.name,), None
    taken = sum(came[name] for name in heirs)
    if taken > missing:
        why = f"{_count(missing)} of other kernels now, and of which cannot be told: {', '.join(heirs)}"
        return found, _missing(at, why)
    others = [name for name in came if name not in heirs]
    if taken < missing and others:
        why = f"{_count(missing - taken)} of a kernel now that is another one: {', '.join(others)}"
        return (*found, *heirs), _missing(at, why)
    return (*found, *heirs), None if found or heirs else _gone(at, kernels)


def _count(calls: int) -> str:
    return f"{calls} of the calls that shared it {'is' if calls == 1 else 'are'}"


def _calls(stage: Stage) -> Counter[str]:
    """How many calls of each kernel the entry has, those in branches included."""
    assert stage.lowered is not None
    called = (node for node in pre_order(stage.lowered.module["main"]) if isinstance(node, Call))
    return Counter(str(node.args[0].value) for node in called if node.op == "call_tir")  # type: ignore[union-attr]


def _alike(at: Anchor, kernels: tuple[Kernel, ...]) -> list[str]:
    return [kernel.name for kernel in kernels if _stem(kernel.name) == _stem(at.name)]


def _stem(name: str) -> str:
    return _NUMBER.sub("", name)


def _gone(at: Anchor, kernels: tuple[Kernel, ...]) -> Rebased:
    hint = nearest(at.name, [kernel.name for kernel in kernels])
    return _missing(at, f"no kernel computes this any more{f'; {hint}' if hint else ''}")


def _missing(at: Anchor, why: str) -> Rebased:
    return Rebased(at.name, None, (), (Dropped(f"kernel {at.name}", why),))
