"""The way of a schedule under the roofline: where each step that moved the program led, named by its primitive.

The plain roofline (`rooflines`) counts the least bytes from memory, which no loop order changes.  What schedules change
is what passes between a core and its caches and how busy the core is.  So a point stands here at

* across: operations for each byte that comes into the nearest cache, in whole lines, by the formulas of `quick_cycles`
  (tiling, order and where a stage is computed move it);
* up: operations a second by the cycles of `throughput` (vectors, sums that are independent, unrolling and threads move
  it too), at the nominal clock.

The roof is that of the cores at work: their nominal peak, and the nominal bytes a cycle from the second cache into the
first (`target.memory`), after the hierarchical roofline of Yang, Kurth and Williams (2020).  Operations are those of
the program that the schedule began with, whatever it computes twice.  All of it is a model.  A program without
arithmetic has no place on it: of that, bytes are told.

    path = roofline_path(sch, "llvm -mcpu=znver3")
    [(point.name, point.intensity, point.rate) for point in path.points]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log
from typing import Any, Final

from ..core.errors import WorkbenchError
from ..core.per_node import per_node
from ..target.target import Target
from ..tir import nodes as t
from .fact import Fact, bytes_text, table
from .operations import flops
from .programs import function_of, target_of
from .quick_cycles import QuickModel, quick_model

MOST: Final = 16
"""States that are looked at in one go; of more, those between which the program moved farthest."""
_MOVED: Final = 0.03
"""The part by which a point must move to be another."""
_SHARE: Final = 0.1
"""Of what led to a point, by how much of the farthest move a step must move it to be named."""


@dataclass(frozen=True)
class PathPoint(Fact):
    """Where the program stood after a step."""

    step: int
    """How many steps of the trace were done; 0 at the beginning."""
    primitives: tuple[str, ...]
    """What led here from the point before: one primitive, or several that moved it little each, or where the states
    between were not looked at.  Empty at the beginning, and at an end that is where the point before is."""
    bytes: int
    """What comes into the nearest cache."""
    seconds: float
    intensity: float
    """Operations for each of those bytes."""
    rate: float
    """Operations a second."""
    threads: int
    """Threads at work."""

    @property
    def name(self) -> str:
        """The primitive; of several the first and the last."""
        several = self.primitives[:: max(1, len(self.primitives) - 1)]
        return " \u2026 ".join(several)


@dataclass(frozen=True)
class RooflinePath(Fact):
    """See the module's header.  `peak` and `bandwidth` are those of one core, in operations and bytes a second."""

    flops: int
    cache: str
    """The nearest cache."""
    threads: int
    """Threads at work at the end."""
    peak: float
    bandwidth: float
    points: tuple[PathPoint, ...]
    """The first is the program that the schedule began with, the last what it is now."""
    states: int
    """Different programs on the way."""
    looked_at: int
    memory: float
    """Bytes that come from memory in a second, nominally."""
    target: str
    bits: int
    """Of the numbers that arithmetic is on."""
    clock: float
    """GHz."""
    clock_is_assumed: bool
    """Whether no data sheet of the processor is known here."""

    def __str__(self) -> str:
        if not self.flops:
            moved = bytes_text(self.points[-1].bytes)
            return (
                f"no arithmetic, so no roofline of operations: {moved} come into {self.cache}, "
                f"from memory at {self.memory / 1e9:.0f} GB/s at best (nominal)"
            )
        rows = [
            (point.step, point.name or ("" if point.step else "(begin)"), bytes_text(point.bytes), point.intensity,
             point.rate / 1e9, point.threads)
            for point in self.points
        ]  # fmt: skip
        heads = ("step", "primitive", f"into {self.cache}", "operations a byte", "GFLOP/s", "threads")
        sampled = "" if self.looked_at == self.states else f"; {self.looked_at} of {self.states} states were looked at"
        clock = f"{self.clock:g} GHz" + (", which is assumed" if self.clock_is_assumed else "")
        return (
            f"{table(heads, rows)}\n(modelled; one core: {self.peak / 1e9:.0f} GFLOP/s, "
            f"{self.bandwidth / 1e9:.0f} GB/s into {self.cache}, both nominal at {clock}{sampled})"
        )


@dataclass(frozen=True)
class _State:
    """A program on the way, and the step that made it of the one before."""

    func: t.PrimFunc
    step: int
    primitive: str


def roofline_path(program: Any, target: Any = None, sizes: Mapping[str, int] | None = None) -> RooflinePath:
    """The path of a schedule's steps; of a function alone, the one point where it stands.

    Of many states `MOST` are looked at: intervals in which the program moved farthest are looked into first.  What was
    found of a program is kept with it: where all were looked at, one step more costs one state more.  Raises
    `WorkbenchError` E-ANALYSIS-SIZE for extents without a value, E-ANALYSIS-DATA for loops that depend on data.
    """
    chosen = target_of(program, target)
    states = _states(program, sizes)
    arithmetic = _work(states[0].func)
    work = max(1, arithmetic)
    known = [number for number, state in enumerate(states) if chosen in _models(state.func)]
    ends = {number: _point(states[number], work, chosen) for number in (0, len(states) - 1)}  # errors are the caller's
    found = dict[int, PathPoint]()
    speechless = set[int]()

    def look(number: int) -> None:
        point = ends.get(number) or _point_of(states[number], work, chosen)
        if point is None:  # the next one tells of its step too
            speechless.add(number)
        found[number] = point or found[max(other for other in found if other < number)]

    for number in sorted({*known, *ends}):
        look(number)
    for _ in range(min(MOST, len(states)) - 2):
        if len(found) == len(states):
            break
        look(_next(found))
    points = _kept({number: point for number, point in found.items() if number not in speechless}, states)
    nominal, bits = chosen.nominal, _bits(states[0].func)
    return RooflinePath(
        arithmetic, chosen.cache_levels[0].name, points[-1].threads, chosen.nominal_flops(bits),
        nominal.fetched * nominal.clock * 1e9, points, len(states), len(found),
        nominal.bandwidth * 1e9, str(chosen), bits, nominal.clock, chosen.clock_is_assumed,
    )  # fmt: skip


def _states(program: Any, sizes: Mapping[str, int] | None) -> list[_State]:
    """The different programs that led here; steps that only ask make no other."""
    schedule = program.to_schedule() if hasattr(program, "to_schedule") else program
    made: list[_State] = []
    for state in getattr(schedule, "states", ()):
        if state.working == schedule.func_working_on and not (made and state.func is made[-1].func):
            made.append(_State(state.func, len(state.steps), state.steps[-1].primitive if made else ""))
    made = made or [_State(function_of(program, sizes), 0, "")]
    return [replace(one, func=function_of(one.func, sizes)) for one in made]


def _next(found: Mapping[int, PathPoint]) -> int:
    """The middle of the interval in which the program moved farthest; of equal ones, of the longest."""
    gaps = [(low, high) for low, high in pairwise(sorted(found)) if high - low > 1]
    low, high = max(gaps, key=lambda gap: (round(_distance(found[gap[0]], found[gap[1]]), 2), gap[1] - gap[0]))
    return (low + high) // 2


def _distance(one: PathPoint, other: PathPoint) -> float:
    """How far apart two points are, as factors are on a logarithmic chart."""
    return abs(log(one.intensity / other.intensity)) + abs(log(one.rate / other.rate))


def _kept(found: Mapping[int, PathPoint], states: Sequence[_State]) -> tuple[PathPoint, ...]:
    """The first point, those that moved, and the last, with what led to each."""
    points = [found[0]]
    since: list[tuple[float, tuple[str, ...]]] = []
    for before, number in pairwise(sorted(found)):
        names = tuple(state.primitive for state in states[before + 1 : number + 1])
        since.append((_distance(found[before], found[number]), names))
        if _distance(points[-1], found[number]) >= _MOVED:
            points.append(replace(found[number], step=states[number].step, primitives=_blamed(since)))
            since = []
    if points[-1].step != states[-1].step:
        points.append(replace(points[-1], step=states[-1].step, primitives=()))
    return tuple(points)


def _blamed(moves: Sequence[tuple[float, tuple[str, ...]]]) -> tuple[str, ...]:
    """The names of those moves that are no small part of the farthest."""
    least = _SHARE * max(far for far, _ in moves)
    return tuple(name for far, names in moves if far >= least for name in names)


def _point_of(state: _State, work: int, target: Target) -> PathPoint | None:
    """The point; None where the model has no word for the program."""
    models = _models(state.func)
    if target in models and models[target] is None:
        return None
    try:
        return _point(state, work, target)
    except WorkbenchError as error:
        if error.code == "E-ANALYSIS-DATA":  # (other errors may be of the moment)
            models[target] = None
        return None


def _point(state: _State, work: int, target: Target) -> PathPoint:
    models = _models(state.func)
    model = models.get(target)
    if model is None:
        model = models[target] = quick_model(state.func, target)
    fetched = max(1, model.missed[0]) * target.cache_levels[0].line
    threads = min(target.threads, max(model.work, default=1))
    seconds = max(1, model.busy.cycles) / model.speedup(threads) / (target.nominal.clock * 1e9)
    return PathPoint(state.step, (), fetched, seconds, work / fetched, work / seconds, threads)


@per_node
def _work(func: t.PrimFunc) -> int:
    return flops(func)


@per_node
def _models(func: t.PrimFunc) -> dict[Target, QuickModel | None]:
    """What was found of a program, by target; None where the model has no word for it."""
    return {}


def _bits(func: t.PrimFunc) -> int:
    """Of the numbers that arithmetic is on: the widest floats; without any, the narrowest integers."""
    types = [parameter.dtype for parameter in func.params if isinstance(parameter, t.Buffer)]
    floats = [dtype.bits for dtype in types if dtype.is_float]
    return max(floats) if floats else max(8, min((dtype.bits for dtype in types), default=32))
