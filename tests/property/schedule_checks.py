"""What is asked of a random schedule: the same numbers, inside all bounds, whatever order the program leaves open.

    python -m tests.property.schedule_checks 0 50000        # a range of seeds; failures are printed, with the trace
    python -m tests.property.schedule_checks 17              # one seed, in full

A seed draws a program, 0 to 12 primitives with random arguments from the live table (half of the seeds from a few of
them), and data.  The checking interpreter runs the schedule twice: as blocks (bounds, declared regions, uninitialised
reads), and lowered (every second one also with compact buffers and simplified), with the iterations of parallel,
vectorized and bound loops in another order and watched for races.  Every fourth schedule is also saved, replayed and
read back from its text; one in `NATIVE` is compiled, twenty to a module, and run between canaries.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from tests.property.drawing import Told, scheduled, swarm
from tests.property.schedule_programs import Case, drawn
from workbench.arith import build
from workbench.core.equal import structural_equal
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.core.node import pre_order, rewrite, substitute
from workbench.core.transform import PASSES
from workbench.schedule import Schedule, Trace
from workbench.schedule.arguments import ResultName
from workbench.schedule.trace import Step
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import parse, script
from workbench.tir.transforms.lower_blocks import lower_blocks

MOST_PRIMITIVES = 12
NATIVE = 10
"""One seed in so many is compiled."""
BATCH = 20
CANARY = 32
"""Elements before and after every array of a compiled run, which must keep their value."""


@dataclass
class Checked:
    """One seed's schedule."""

    seed: int
    case: Case
    schedule: Schedule
    told: Told

    @property
    def story(self) -> str:
        sizes = {var.name: value for var, value in self.case.sizes.items()}
        return f"seed {self.seed}, {self.case.name} {sizes or ''}:\n{self.schedule.code()}"


@dataclass
class Summary:
    """What a range of seeds came to."""

    seeds: int = 0
    legal: Counter[str] = field(default_factory=Counter[str])
    refused: Counter[str] = field(default_factory=Counter[str])
    programs: Counter[str] = field(default_factory=Counter[str])
    compiled: int = 0
    failures: list[str] = field(default_factory=list[str])

    def with_others(self, other: Summary) -> Summary:
        """What both came to."""
        return Summary(*(getattr(self, item.name) + getattr(other, item.name) for item in fields(self)))

    def tell(self, told: Callable[[str, object], None]) -> None:
        """Tell the counts to pytest's `record_property`."""
        told("schedules", self.seeds)
        told("primitives applied", self.legal.total())
        told("compiled and run", self.compiled)

    def __str__(self) -> str:
        legal, refused = self.legal.total(), self.refused.total()
        return (
            f"{self.seeds} schedules of {len(self.programs)} programs, {legal} primitives applied, {refused} refused, "
            f"{self.compiled} compiled: {len(self.failures)} failures"
        )


Source = Callable[[random.Random, int], Case]
"""Where programs come from: a generator of random numbers and a seed -> a program."""


def listed(rng: random.Random, seed: int) -> Case:
    """One of the programs of `schedule_programs`, with random extents."""
    return drawn(rng)


def draw(seed: int, source: Source = listed) -> Checked:
    """The program and schedule of a seed."""
    rng = random.Random(seed)
    case = source(rng, seed)
    schedule = Schedule(case.func, seed=seed)
    checked = Checked(seed, case, schedule, Told())
    try:
        names = swarm(rng) if rng.random() < 1 / 2 else ()
        checked.told = scheduled(schedule, rng, rng.randint(0, MOST_PRIMITIVES), names)
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}\nafter {checked.story}") from error
    return checked


def check(seed: int, source: Source = listed) -> Checked:
    """One case; the seed is all that is needed to repeat it.  Raises `AssertionError` or `WorkbenchError`."""
    checked = draw(seed, source)
    check_numbers(checked.case, checked.schedule.func, seed, checked.story)
    if seed % 4 == 0:
        check_texts(checked)
    return checked


def check_numbers(case: Case, func: t.PrimFunc, seed: int, story: str) -> None:
    """The function gives the numbers of the case's meaning, as blocks and lowered, adversarially ordered."""
    expected = case.expected(case.arrays(seed))
    for checks, program in (
        ({"check_regions": True}, func),
        ({"check_races": True}, shuffled(lowered(func, seed % 2 == 1), seed)),
    ):
        found = case.arrays(seed)
        try:
            interpret(program, *found, **checks)
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}\nwith {checks}, {story}") from error
        assert all(map(np.array_equal, found, expected)), f"wrong numbers with {checks}, {story}"


def lowered(func: t.PrimFunc, further: bool) -> t.PrimFunc:
    """The function without blocks; `further` also with compact buffers and simplified, as it is compiled."""
    made = lower_blocks(func)
    if not further:
        return made
    module = PASSES["Simplify"]()(PASSES["CompactBuffers"]()(IRModule({"main": made})))
    return module["main"]


def check_texts(checked: Checked) -> None:
    """The trace leads to the same schedule again; the program's text reads back."""
    schedule, again = checked.schedule, Schedule(checked.case.func, seed=checked.seed)
    Trace.from_json(schedule.trace.as_json()).apply_to(again)
    assert again.fingerprint() == schedule.fingerprint(), f"another schedule by replay: {checked.story}"
    assert structural_equal(parse(script(schedule.func)), schedule.func, True), (
        f"another program by text: {checked.story}"
    )


def shuffled(func: t.PrimFunc, seed: int) -> t.PrimFunc:
    """The function with the iterations of parallel, vectorized and bound loops in another order: backwards, or
    rotated and strided where the extent is a number.  Threads that combine a sum: the first one, then backwards."""

    def post(node: Any) -> Any:
        if not isinstance(node, t.For) or node.kind not in t.AT_ONCE:
            return None
        extent = getattr(node.extent, "value", None)
        if node.is_cross_thread:  # the first initialises what they combine
            place = build.floormod(node.extent + node.min - node.var, node.extent) + node.min
        elif extent is not None and extent > 2 and seed % 2:
            step = next(number for number in (2, 3, 5, 7, 1) if extent % number)
            place = build.floormod(node.var * step + 1, extent) + node.min
        else:
            place = node.min + node.min + node.extent - 1 - node.var
        made = node.replace(body=substitute(node.body, {node.var: place}))
        return made.replace(kind=t.ForKind.SERIAL, thread="") if node.is_cross_thread else made

    return rewrite(func, post)


# --- compiled -----------------------------------------------------------------------------------------------------


def is_native(func: t.PrimFunc) -> bool:
    """True if a processor can run the schedule: no threads of a GPU, no storage but its own."""
    for node in pre_order(func):
        if isinstance(node, t.For) and node.kind is t.ForKind.THREAD_BINDING:
            return False
        if isinstance(node, t.Buffer) and node.scope not in ("global", "local"):
            return False
    return True


def check_compiled(several: list[Checked]) -> None:
    """Compile schedules into one module and run each between canaries."""
    from workbench.driver.build import build as compile_functions

    functions = {f"schedule_{checked.seed}": checked.schedule.func for checked in several}
    module = compile_functions(
        IRModule({name: func.replace(attrs=func.attrs.set("global_symbol", name)) for name, func in functions.items()})
    )
    for name, checked in zip(functions, several, strict=True):
        case, seed = checked.case, checked.seed
        expected = case.expected(case.arrays(seed))
        framed = [_framed(array) for array in case.arrays(seed)]
        module[name](*[inner for _, inner in framed])
        assert all(map(np.array_equal, [inner for _, inner in framed], expected)), f"wrong compiled: {checked.story}"
        for whole, _ in framed:
            assert (whole[:CANARY] == 77).all() and (whole[-CANARY:] == 77).all(), f"out of bounds: {checked.story}"


def _framed(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An array with canaries on both sides, and the view between them."""
    whole = np.full(array.size + 2 * CANARY, 77, array.dtype)
    inner = whole[CANARY : CANARY + array.size].reshape(array.shape)
    inner[...] = array
    return whole, inner


# --- smaller schedules ---------------------------------------------------------------------------------------------


def shortened(case: Case, trace: Trace, fails: Callable[[Schedule], bool]) -> Schedule:
    """The schedule of as few steps of `trace` as still fails: steps are left out, one after the other."""
    best = Schedule(case.func)
    best.replay(trace)
    steps = list(trace.steps)
    for position in reversed(range(len(steps))):
        rest = steps[:position] + steps[position + 1 :]
        if _missing(rest):
            continue
        tried = Schedule(case.func)
        try:
            tried.replay(Trace(tuple(rest), trace.function))
        except WorkbenchError:
            continue
        if fails(tried):
            steps, best = rest, tried
    return best


def _missing(steps: list[Step]) -> bool:
    """True if a step uses the result of one that is not there."""
    made: set[str] = set()
    for step in steps:
        stack = [value for _, value in step.arguments]
        while stack:
            value = stack.pop()
            if isinstance(value, ResultName) and value.name not in made:
                return True
            if isinstance(value, tuple):
                stack.extend(value)
        made.update(step.results)
    return False


def shortened_story(checked: Checked) -> str:
    """The story of a failing seed's numbers with as few steps as will do; empty if it does not fail."""

    def failure(schedule: Schedule) -> str:
        try:
            check_numbers(checked.case, schedule.func, checked.seed, "")
        except AssertionError as error:
            return str(error)
        return ""

    if not failure(checked.schedule):
        return ""
    least = shortened(checked.case, checked.schedule.trace, lambda schedule: bool(failure(schedule)))
    return f"{failure(least)}\n{least.code()}\n{least.script()}"


# --- ranges of seeds ----------------------------------------------------------------------------------------------


def run_seeds(
    seeds: Iterable[int],
    *,
    native: int = NATIVE,
    seconds: float | None = None,
    most: int = 20,
    source: Source = listed,
) -> Summary:
    """Check every seed; failures are collected, `most` at most.  Stops after `seconds`, if given."""
    made, waiting, begun = Summary(), [], time.monotonic()
    for seed in seeds:
        try:
            checked = check(seed, source)
        except Exception as error:
            made.failures.append(f"seed {seed}: {type(error).__name__}: {error}")
        else:
            made.legal.update(checked.told.legal)
            made.refused.update(error.code for error in checked.told.refusals)
            made.programs[checked.case.name] += 1
            if native and seed % native == 0 and is_native(checked.schedule.func):
                waiting.append(checked)
        made.seeds += 1
        if len(waiting) == BATCH:
            _compile(made, waiting)
        if len(made.failures) >= most or (seconds is not None and time.monotonic() - begun > seconds):
            break
    _compile(made, waiting)
    return made


def _compile(summary: Summary, waiting: list[Checked]) -> None:
    """Compile a batch; if that fails, each of it alone, to say which."""
    if not waiting:
        return
    summary.compiled += len(waiting)
    try:
        check_compiled(waiting)
    except Exception as together:
        known = len(summary.failures)
        for checked in waiting:
            try:
                check_compiled([checked])
            except Exception as error:
                summary.failures.append(f"seed {checked.seed}: {type(error).__name__}: {error}\n{checked.story}")
        if len(summary.failures) == known:  # each is right by itself: the module of all of them is not
            seeds = ", ".join(str(checked.seed) for checked in waiting)
            summary.failures.append(f"seeds {seeds} together: {type(together).__name__}: {together}")
    waiting.clear()


def checked_seeds(begin: int, count: int) -> Summary:
    """`count` seeds from `begin` on.  A run in which next to nothing is applied fails, too."""
    made = run_seeds(range(begin, begin + count))
    if not made.failures and made.legal.total() < count:
        made.failures.append(f"too few primitives applied: {made}")
    return made


def main(arguments: list[str]) -> int:
    """See the module's header.  The status is 1 if anything failed."""
    low = int(arguments[0])
    high = int(arguments[1]) if len(arguments) > 1 else low + 1
    begun = time.process_time()
    made = run_seeds(range(low, high), native=NATIVE if len(arguments) > 1 else 1)
    if len(arguments) == 1:
        checked = draw(low)
        print(shortened_story(checked) or checked.story)
    for failure in made.failures:
        print(failure, end="\n\n")
    used = time.process_time() - begun
    print(f"seeds {low} to {high - 1}: {made}; {made.seeds / used:.0f} schedules a second of processor time")
    if len(arguments) > 2:
        print(dict(made.legal.most_common()), dict(made.refused.most_common()), dict(made.programs), sep="\n")
    return 1 if made.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
