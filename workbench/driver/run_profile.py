"""One run of a session's model, call by call: what each kernel call took, and which parts of the model it carries out.

    found = profile_run(session, inputs)
    print(found)                                                   # a table, the kernel that takes most first
    print(found.calls[0].kernel, found.calls[0].seconds)
    session.provenance.links.things(found.calls[0].classes)        # the calls of the graph that it carries out
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .._lazy import profile_bundle
from ..analysis.operations import flops, most_touched
from ..core.errors import WorkbenchError
from ..runtime.executor import DebugExecutor

if TYPE_CHECKING:
    from .origin_index import Site
    from .session import Session

_RUNS: Final = 10
_PATIENCE: Final = 1.0
"""Seconds after which no further run is begun; one always is."""


@dataclass(frozen=True)
class CallTime:
    """One kernel call of a run."""

    number: int
    """Its place in the run, from 0."""
    kernel: str
    label: str
    """What it computes."""
    seconds: float
    gives: str
    """Dtype, shape and name of its result."""
    classes: tuple[int, ...]
    """The parts of the model that it carries out (`driver.links`)."""
    operations: int = 0
    """Arithmetic of its loops (a multiply-add counts as two); 0 where that is not known."""
    moved: int = 0
    """Bytes of what it reads and writes: each array once, no more of it than its loops touch (rows of a table)."""


@dataclass(frozen=True)
class RunProfile:
    """The calls in order, each with the least of its times in `runs` runs, after one run that is not counted, and
    without what a call takes that does nothing (`empty`).
    """

    calls: tuple[CallTime, ...]
    runs: int
    whole: float = 0.0
    """Seconds of a whole run, of which no call is timed: the median of some in a row."""
    empty: float = 0.0
    """Seconds by which each call is told shorter than it was timed."""

    @property
    def seconds(self) -> float:
        """Seconds of all calls together."""
        return sum(call.seconds for call in self.calls)

    def __str__(self) -> str:
        return profile_bundle(self)["text/plain"]

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return profile_bundle(self)


def profile_run(session: Session, inputs: Mapping[str, Any], patience: float = _PATIENCE) -> RunProfile:
    """Run the compiled model on arrays by name and time every kernel call.

    Raises E-RUN-CALLS for a loop program, which calls no kernels, and what stopped the session.
    """
    sites = require_calls(session)
    built = session.build()
    executor = DebugExecutor(built)
    begin, least = time.perf_counter(), [float("inf")] * len(executor.model.calls)
    executor.run(**inputs)
    runs = 0
    while runs < _RUNS and (runs == 0 or time.perf_counter() - begin < patience):
        executor.run()
        least = [min(pair) for pair in zip(least, executor.seconds, strict=True)]
        runs += 1
    whole = whole_runs(lambda: built.run(inputs), _RUNS, patience / 2)
    rows = executor.profile()
    links = session.provenance.links
    counted = _counted(session, {row.kernel for row in rows})
    return RunProfile(
        tuple(
            CallTime(
                row.call, row.kernel, row.label, taken, row.results, tuple(sorted(links.at(site.number))),
                counted[row.kernel].operations, executor.moved_bytes(row.call, counted[row.kernel].touched),
            )
            for row, taken, site in zip(rows, least, sites, strict=True)
        ),
        runs, median(whole), median(executor.empty_seconds),
    )  # fmt: skip


def whole_runs(run: Callable[[], Any], count: int, patience: float = float("inf")) -> list[float]:
    """Seconds of so many runs, one after another; of fewer where they take longer than `patience`."""
    taken: list[float] = []
    end = time.perf_counter() + patience
    while len(taken) < count and (not taken or time.perf_counter() < end):
        begin = time.perf_counter()
        run()
        taken.append(time.perf_counter() - begin)
    return taken


class _Counted(NamedTuple):
    """Of one call of a kernel, by its loops."""

    operations: int = 0
    """0 where they cannot be counted."""
    touched: Sequence[int | None] = ()
    """Elements of each argument, at most."""


def _counted(session: Session, kernels: set[str]) -> dict[str, _Counted]:
    module = session.step(session.plan.loop_step()).stage.module
    found = dict.fromkeys(kernels, _Counted())
    for kernel in kernels & set(module.names()):
        with suppress(WorkbenchError):
            found[kernel] = _Counted(flops(module[kernel]), most_touched(module[kernel]))
    return found


def require_calls(session: Session) -> tuple[Site, ...]:
    """The calls of kernels in a run.  Raises E-RUN-CALLS for a loop program, which has none."""
    sites = session.provenance.links.sites
    if not sites:
        raise WorkbenchError(
            "E-RUN-CALLS", "this program is one kernel: there are no calls to be told apart", found=session.heading,
            expected="a model of several kernels", fix="measure the kernel itself",
        )  # fmt: skip
    return sites
