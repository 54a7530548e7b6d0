"""Random schedules of generated programs: fifteen of each, with what `schedule_checks` asks of a schedule.

    python -m tests.property.program_checks 0 1000         # the programs of these seeds; failures are made smaller
    python -m tests.property.program_checks 17              # one program, in full
    python -m tests.property.program_checks 17.3            # its fourth schedule

What fails is told with as few steps of the program and of the schedule as still fail.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence

from tests.property.program_generator import Generated, generated, smaller
from tests.property.schedule_checks import Checked, Summary, check_numbers, draw, run_seeds, shortened
from tests.property.schedule_programs import Case
from workbench.core.errors import WorkbenchError
from workbench.schedule import Schedule, Trace
from workbench.tir.verify import problems

SCHEDULES = 15
"""Random schedules of each program."""
NATIVE = 4
"""One schedule in so many is compiled."""


def program_of(rng: random.Random, seed: int) -> Case:
    """The program of a schedule's seed."""
    return generated(seed // SCHEDULES)


def well_formed(seed: int) -> str:
    """What is wrong with the program itself; empty if nothing is."""
    case = generated(seed)
    found = problems(case.func)
    if found:
        return f"program {seed}: {found[0]}\n{case.tir}"
    try:
        check_numbers(case, case.func, seed, f"program {seed}:\n{case.tir}")
    except AssertionError as error:
        return str(error)
    return ""


def checked_programs(programs: Sequence[int], *, native: int = NATIVE, seconds: float | None = None) -> Summary:
    """All schedules of some programs.  Failures are made smaller; those of the programs themselves come first."""
    wrong = [text for text in map(well_formed, programs) if text]
    seeds = range(programs[0] * SCHEDULES, (programs[-1] + 1) * SCHEDULES)
    made = run_seeds(seeds, native=native, seconds=seconds, source=program_of)
    made.failures = wrong + [_smaller_story(text) for text in made.failures]
    return made


def _smaller_story(failure: str) -> str:
    """A failure with the least program and schedule that shows it, where that can be found by its numbers."""
    word = failure.split()[1].rstrip(":,")
    if not word.isdigit():
        return failure
    seed = int(word)
    try:
        checked = draw(seed, program_of)
    except AssertionError:
        return _named(seed, failure)
    found = least(checked)
    return _named(seed, f"{failure}\n\nthe least that fails:\n{found}" if found else failure)


def _named(seed: int, text: str) -> str:
    return f"program {seed // SCHEDULES}, schedule {seed % SCHEDULES} ({seed // SCHEDULES}.{seed % SCHEDULES}): {text}"


def least(checked: Checked) -> str:
    """The failure of a schedule's numbers with as few steps of program and schedule as show it; empty if it holds."""
    case, trace = checked.case, checked.schedule.trace
    assert isinstance(case, Generated)
    if not _failure(case, checked.schedule, checked.seed):
        return ""
    again = True
    while again:
        again = False
        for candidate in smaller(case):
            if _fails_on(candidate, trace, checked.seed):
                case, again = candidate, True
                break
    last = shortened(case, trace, lambda schedule: bool(_failure(case, schedule, checked.seed)))
    return "\n".join((
        f"generated({case.seed}, {case.steps}): {', '.join(case.kinds)}", case.tir, last.code(), last.script(),
        _failure(case, last, checked.seed),
    ))  # fmt: skip


def _fails_on(case: Generated, trace: Trace, seed: int) -> bool:
    schedule = Schedule(case.func)
    for step in trace.steps:
        try:
            schedule.replay(Trace((step,), trace.function))
        except (WorkbenchError, KeyError):
            return False
    return bool(_failure(case, schedule, seed))


def _failure(case: Case, schedule: Schedule, seed: int) -> str:
    try:
        check_numbers(case, schedule.func, seed, "")
    except AssertionError as error:
        return str(error)
    return ""


def main(arguments: list[str]) -> int:
    """See the module's header.  The status is 1 if anything failed."""
    first, _, schedule = arguments[0].partition(".")
    begun, total = time.process_time(), Summary()
    if schedule:
        seed = int(first) * SCHEDULES + int(schedule)
        made = run_seeds([seed], native=1, source=program_of)
        made.failures = [_smaller_story(text) for text in made.failures]
        print(*made.failures or [draw(seed, program_of).story], sep="\n\n")
        return 1 if made.failures else 0
    for program in range(int(first), int(arguments[1]) if len(arguments) > 1 else int(first) + 1):
        made = checked_programs([program])
        for failure in made.failures:
            print(failure, end="\n\n", flush=True)
        total = total.with_others(made)
    used = time.process_time() - begun
    print(f"programs {' to '.join(arguments)}: {total}; {total.seeds / used:.0f} schedules a second of processor time")
    print(dict(total.legal.most_common()), dict(total.refused.most_common()), sep="\n")
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
