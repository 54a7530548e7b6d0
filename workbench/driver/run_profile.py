"""One run of a session's model, call by call: what each kernel call took, and which parts of the model it carries out.

    found = profile_run(session, inputs)
    print(found.calls[0].kernel, found.calls[0].seconds)
    session.provenance.links.things(found.calls[0].classes)        # the calls of the graph that it carries out
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

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


@dataclass(frozen=True)
class RunProfile:
    """The calls in order, each with the least of its times in `runs` runs, after one run that is not counted."""

    calls: tuple[CallTime, ...]
    runs: int

    @property
    def seconds(self) -> float:
        """Seconds of all calls together."""
        return sum(call.seconds for call in self.calls)


def profile_run(session: Session, inputs: Mapping[str, Any], patience: float = _PATIENCE) -> RunProfile:
    """Run the compiled model on arrays by name and time every kernel call.

    Raises E-RUN-CALLS for a loop program, which calls no kernels, and what stopped the session.
    """
    sites = require_calls(session)
    executor = DebugExecutor(session.build())
    begin, least = time.perf_counter(), [float("inf")] * len(executor.model.calls)
    executor.run(**inputs)
    runs = 0
    while runs < _RUNS and (runs == 0 or time.perf_counter() - begin < patience):
        executor.run()
        least = [min(pair) for pair in zip(least, executor.seconds, strict=True)]
        runs += 1
    rows = executor.profile()
    links = session.provenance.links
    return RunProfile(
        tuple(
            CallTime(row.call, row.kernel, row.label, taken, row.results, tuple(sorted(links.at(site.number))))
            for row, taken, site in zip(rows, least, sites, strict=True)
        ),
        runs,
    )


def require_calls(session: Session) -> tuple[Site, ...]:
    """The calls of kernels in a run.  Raises E-RUN-CALLS for a loop program, which has none."""
    sites = session.provenance.links.sites
    if not sites:
        raise WorkbenchError(
            "E-RUN-CALLS", "this program is one kernel: there are no calls to be told apart", found=session.heading,
            expected="a model of several kernels", fix="measure the kernel itself",
        )  # fmt: skip
    return sites
