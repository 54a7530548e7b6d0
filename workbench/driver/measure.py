"""A schedule's function on this machine: its time, its rate, and how much of the machine's peak that is.

    found = sch.measure()
    found = measure_kernel(session, "main")      # as the session compiles it: with its target, passes and edits
    print(found)     # 0.213 ms, 2.46 GFLOP/s: 2.1 % of the peak of 1 thread (118 GFLOP/s); slowest of 5: +3%
    found.seconds, found.share

The peak is measured in the same run (`driver.peak`): clocks change with load and temperature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..analysis.fact import Fact
from ..analysis.operations import flops
from ..analysis.programs import target_of
from ..analysis.quick_cycles import quick_cycles
from ..arith.nodes import literal
from ..codegen.backend import building_for
from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..core.node import pre_order
from ..runtime.threads import at_most
from ..schedule.schedule import Schedule
from ..target.target import Target
from ..tir.nodes import Buffer, For, ForKind, PrimFunc
from .anchors import unknown_kernel
from .build import build
from .first_run import require_harmless, require_harmless_start
from .given_inputs import require_drawable
from .peak import peak_timer

if TYPE_CHECKING:
    from .session import Session

_PEAKED: Final = ("float32", "float64")
_REPEAT: Final = 5
_LEAST_MS: Final = 5
"""Milliseconds that each of the repeats takes at least."""


@dataclass(frozen=True)
class Measurement(Fact):
    """What one run takes."""

    function: str
    seconds: float
    """The least of up to five means."""
    operations: int
    """Arithmetic operations of the program (a multiply-add counts as two)."""
    dtype: str
    """Of the parameters; empty where they differ."""
    threads: int
    peak: float
    """Operations a second that so many threads can do, measured just now; 0 where the type has no peak."""
    means: tuple[float, ...] = ()
    """What `seconds` is the least of, in seconds."""

    @property
    def spread(self) -> float:
        """How much longer than the least the greatest mean is, as a part of the least; 0 for one mean."""
        return max(self.means) / self.seconds - 1 if self.means else 0.0

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.operations / self.seconds

    @property
    def share(self) -> float:
        """The part of the peak; 0 where there is none."""
        return self.rate / self.peak if self.peak else 0.0

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "rate": self.rate, "share": self.share}

    def __str__(self) -> str:
        spread = f"; slowest of {len(self.means)}: {self.spread:+.0%}" if len(self.means) > 1 else ""
        return self._figures() + spread

    def _figures(self) -> str:
        time = f"{self.seconds * 1e3:.3g} ms" if self.seconds >= 1e-4 else f"{self.seconds * 1e6:.3g} µs"
        if not self.operations:
            return time
        unit = "GFLOP/s" if "float" in self.dtype else "Gop/s"
        rate = f"{time}, {self.rate / 1e9:.3g} {unit}"
        if not self.peak:
            return rate
        threads = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        return f"{rate}: {self.share:.1%} of the peak of {threads} ({self.peak / 1e9:.0f} GFLOP/s)"


def measure(schedule: Schedule, target: Any = None, patience: float | None = None) -> Measurement:
    """Build a schedule's function and time it on small whole numbers: for `target`; left out, for what it is of.

    That is a session's target, else the current one, else this machine.  `patience` is how many seconds the runs may
    take in all: slow functions then run fewer than five times.  Raises `WorkbenchError` for another machine's target
    (E-RUN-FOREIGN), and E-MEASURE-SHAPE for symbolic shapes and scalars.
    """
    chosen = building_for(target_of(schedule, target))
    _require_harmless(schedule, chosen)
    return _measured(schedule.func, schedule.func, schedule.func_working_on, chosen, patience)


def measure_kernel(session: Session, kernel: str, patience: float | None = None) -> Measurement:
    """The same of a kernel as a session compiles it: the program after its last loop step, for its target.

    Raises what stopped the session, and `WorkbenchError` as `measure` does.
    """
    step = session.provenance.compiled
    module = step.stage.module
    plain = session.step(session.plan.kernel_step()).stage.module
    if kernel not in module or kernel not in plain:
        raise unknown_kernel(kernel, session.kernels)
    with session.plan.settings.context(()).applied():
        require_harmless(step, session.target, kernel)
        found = _measured(module[kernel], plain[kernel], kernel, building_for(session.target), patience)
    session.provenance.is_compiled(kernel)
    return found


def modelled_cycles(session: Session, kernel: str) -> int | None:
    """Cycles of one run of a kernel on one core, by the cost model (`quick_cycles`); None where it has no estimate."""
    try:
        return quick_cycles(session.step(session.plan.loop_step()).stage.module[kernel], session.target).total
    except WorkbenchError:
        return None


def _measured(function: PrimFunc, plain: PrimFunc, name: str, chosen: Target, patience: float | None) -> Measurement:
    """`plain` has the parameters as they are passed: those of a function after the loop passes are rows of elements."""
    with at_most(chosen.threads):  # a share of so many threads' peak
        means, operations = _means(function, plain, name, chosen, patience), flops(function)
    parallel = any(isinstance(node, For) and node.kind is ForKind.PARALLEL for node in pre_order(function))
    threads = chosen.threads if parallel else 1
    kinds = {str(parameter.dtype) for parameter in plain.params if isinstance(parameter, Buffer)}
    kind = next(iter(kinds)) if len(kinds) == 1 else ""
    peak = _peak(chosen, kind)() * threads if kind in _PEAKED and operations else 0.0
    return Measurement(name, min(means), operations, kind, threads, peak, means)


@lru_cache(maxsize=8)
def _peak(target: Target, kind: str) -> Callable[[], float]:
    """What measures the peak; built once."""
    return peak_timer(target, kind)


def seconds(schedule: Schedule, target: Any = None, patience: float | None = None) -> float:
    """Seconds of one run of a schedule's function, built as `measure` builds it: the least of five means.

    With `patience`, in seconds, of as many as fit into it; the first run is always done, and counts.
    """
    chosen = building_for(target_of(schedule, target))
    _require_harmless(schedule, chosen)
    with at_most(chosen.threads):
        return min(_means(schedule.func, schedule.func, schedule.func_working_on, chosen, patience))


def _require_harmless(schedule: Schedule, target: Target) -> None:
    name = schedule.func_working_on
    require_harmless_start(schedule.first_state.functions[name], name, target)


def _means(
    function: PrimFunc, plain: PrimFunc, name: str, target: Target, patience: float | None
) -> tuple[float, ...]:
    built = build(IRModule({name: function}), target=target)
    arguments = _arguments(plain)
    if patience is None:
        return tuple(built.time_evaluator(name, number=1, repeat=_REPEAT, min_repeat_ms=_LEAST_MS)(*arguments).results)
    first = built.time_evaluator(name, number=1, repeat=1)(*arguments).min
    repeat = min(_REPEAT, int((patience - first) / max(first, _LEAST_MS / 1e3)))
    if repeat < 1:
        return (first,)
    further = built.time_evaluator(name, number=1, repeat=repeat, min_repeat_ms=_LEAST_MS)(*arguments).results
    return tuple(further) if min(further) < first else (first, *further)  # a cold first run is no spread


def _arguments(function: PrimFunc) -> list[np.ndarray]:
    """Arrays for the parameters, small numbers in them.  Raises `WorkbenchError` (E-MEASURE-SHAPE, E-RUN-DRAWN)."""
    shapes: list[list[int]] = []
    for parameter in function.params:
        extents = (
            [literal(extent, None) for extent in parameter.shape] if isinstance(parameter, Buffer) else [None]
        )
        if None in extents:
            raise WorkbenchError(
                "E-MEASURE-SHAPE", f"{parameter.name} has no constant shape", where=f"parameter {parameter.name}",
                expected="arrays of known shapes", fix='ask the cache model instead: sch.facts(), or measure="cycles"',
            )  # fmt: skip
        shapes.append([int(extent) for extent in extents if extent is not None])
    places = [f"parameter {parameter.name}" for parameter in function.params]
    require_drawable(dict(zip(places, shapes, strict=True)))
    rng, kinds = np.random.default_rng(0), [parameter.dtype.to_numpy() for parameter in function.params]
    return [rng.integers(1, 4, shape).astype(kind) for shape, kind in zip(shapes, kinds, strict=True)]
