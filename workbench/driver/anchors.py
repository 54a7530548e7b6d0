"""Which function an edit is of: kernels are anchored by what they compute, since their names are counters.

    at = anchor(name, stage)            # when the edit is made
    name, report = located(at, stage)    # when it is carried out; the report says why there is none
"""

from __future__ import annotations

import re

from ..core.errors import nearest
from .history import Stage
from .plan import Anchor
from .rebase import Dropped, Rebased

_NUMBER = re.compile(r"(_\d+)+$")


def anchor(name: str, stage: Stage) -> Anchor:
    """The anchor of a function of a stage."""
    kernels = stage.lowered.kernels if stage.lowered is not None else ()
    own = next((kernel for kernel in kernels if kernel.name == name), None)
    if own is None:
        return Anchor(name)
    return Anchor(name, own.fingerprint, sum(_stem(kernel.name) == _stem(name) for kernel in kernels))


def located(at: Anchor, stage: Stage) -> tuple[str | None, Rebased | None]:
    """(the function's name here, None), or (None, the report that says why it is not to be found).

    A kernel is the one that computes the same; else the only one of its name; else the one of its name and number
    where there are as many of that name as there were.
    """
    if not at.fingerprint:
        return (at.name, None) if at.name in stage.module else (None, _missing(at, "there is no such function"))
    kernels = stage.lowered.kernels if stage.lowered is not None else ()
    for kernel in kernels:
        if kernel.fingerprint == at.fingerprint:
            return kernel.name, None
    alike = [kernel.name for kernel in kernels if _stem(kernel.name) == _stem(at.name)]
    if not alike:
        hint = nearest(at.name, [kernel.name for kernel in kernels])
        return None, _missing(at, f"no kernel computes this any more{f'; {hint}' if hint else ''}")
    if len(alike) == at.alike and (len(alike) == 1 or at.name in alike):
        return alike[0] if len(alike) == 1 else at.name, None
    return None, _missing(at, f"there are {len(alike)} kernels of this name, there were {at.alike}: {', '.join(alike)}")


def _stem(name: str) -> str:
    return _NUMBER.sub("", name)


def _missing(at: Anchor, why: str) -> Rebased:
    return Rebased(at.name, None, (), (Dropped(f"kernel {at.name}", why),))
