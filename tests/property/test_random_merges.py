"""Merged nests keep a program's meaning: loops of neighbouring blocks at one depth, after splits and reorders."""

from __future__ import annotations

import random
from collections import Counter

from tests.property.schedule_checks import check_numbers
from tests.property.schedule_programs import drawn
from workbench.schedule import Schedule, ScheduleError

CASES = 80


def shaken(schedule: Schedule, rng: random.Random) -> None:
    """One split or reorder of a random block's loops, if it is legal."""
    loops = schedule.get_loops(rng.choice([site.name for site in schedule.state.tree.leaves]))
    try:
        if loops and rng.random() < 0.15:
            schedule.split(rng.choice(loops), factors=[None, 2])
        elif len(loops) > 1 and rng.random() < 0.2:
            schedule.reorder(*rng.sample(loops, 2))
    except ScheduleError:
        pass


def merged(schedule: Schedule, rng: random.Random) -> str:
    """What came of merging loops of neighbours: "legal", or the refusal's code."""
    names = [site.name for site in schedule.state.tree.leaves]
    at = rng.randrange(max(1, len(names) - 1))
    chains = [schedule.get_loops(name) for name in names[at : at + rng.choice([2, 2, 3])]]
    deepest = min(map(len, chains))
    if len(chains) < 2 or not deepest:
        return "nothing to merge"
    depth = rng.randrange(deepest)
    before = schedule.fingerprint()
    try:
        schedule.merge(*(chain[depth] for chain in chains))
    except ScheduleError as error:
        assert schedule.fingerprint() == before and error.found and error.expected and error.fix
        return error.code
    return "legal"


def test_random_merges_keep_the_meaning() -> None:
    found: Counter[str] = Counter()
    for seed in range(CASES):
        rng = random.Random(seed)
        case = drawn(rng)
        schedule = Schedule(case.func)
        for _ in range(4):
            shaken(schedule, rng)
            found[merged(schedule, rng)] += 1
        check_numbers(case, schedule.func, seed, f"seed {seed}:\n{schedule.code()}")
    assert found["legal"] > CASES // 5 and found["E-SCHEDULE-DEPENDENCE"] > 2, found
