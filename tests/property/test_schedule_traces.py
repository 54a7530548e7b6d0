"""Traces of two hundred random schedules: as Python, saved and loaded, replayed, on another shape, edited by hand."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any

import pytest

from tests.nightly import some
from tests.property.schedule_checks import Checked, check_numbers, draw
from tests.property.schedule_programs import Case, drawn
from workbench.core.equal import structural_equal
from workbench.schedule import Schedule, ScheduleError, Trace
from workbench.tir.script import parse, script

TRACES = 200
SHARE = 20
PLACE = re.compile(r"line \d+,? column \d+|\d+:\d+")


def other_shape(case: Case, seed: int) -> Case | None:
    """The same program with other extents; None if no draw has the same blocks."""
    wanted = [name for name in Schedule(case.func).state.tree.blocks]
    for attempt in range(6):
        other = drawn(random.Random(1_000_003 * seed + attempt), case.name)
        if list(Schedule(other.func).state.tree.blocks) == wanted:
            return other
    return None


def check_trace(checked: Checked) -> str:
    """What became of a trace on another shape: "replayed", "refused" or "none"; everything else must hold."""
    sch, func = checked.schedule, checked.case.func
    names: dict[str, Any] = {"sch": Schedule(func, seed=checked.seed)}
    exec(sch.code(), names)
    assert names["sch"].fingerprint() == sch.fingerprint(), f"another schedule by Python: {checked.story}"
    text = sch.trace.as_json()
    read = Trace.from_json(text)
    assert read == sch.trace and read.as_json() == text, checked.story
    again = Schedule(func, seed=checked.seed)
    read.apply_to(again)
    assert again.fingerprint() == sch.fingerprint(), f"another schedule by replay: {checked.story}"
    assert structural_equal(parse(script(sch.func)), sch.func, True), checked.story
    other = other_shape(checked.case, checked.seed)
    return "none" if other is None else replayed_on(checked, other)


def replayed_on(checked: Checked, other: Case) -> str:
    """Replay on another shape: right numbers there, or a refusal that says which step, and nothing done."""
    second = Schedule(other.func)
    before = second.fingerprint()
    try:
        checked.schedule.trace.apply_to(second)
    except ScheduleError as error:
        number = re.match(r"step (\d+) of the trace: ", error.where or "")
        assert number and 1 <= int(number[1]) <= len(checked.schedule.trace), error
        assert second.fingerprint() == before and not second.undo(), checked.story
        return "refused"
    check_numbers(other, second.func, checked.seed, f"on another shape, {checked.story}")
    return "replayed"


@pytest.mark.parametrize("begin", some(range(0, TRACES, SHARE), 3))
def test_random_traces(begin: int) -> None:
    became = Counter(check_trace(draw(seed)) for seed in range(begin, begin + SHARE))
    assert became["replayed"] >= SHARE // 3, became


# --- edited by hand -----------------------------------------------------------------------------------------------

JUNK = ("null", "true", "-1", "0", "1e400", "99999999999999999999", "2.5",
        '""', '"b0"', '"\\u0000"', "[]", "[[]]", "{}",
        '{"result": "b0"}', '{"result": "l0"}', '{"result": 3}', '{"result": "l0", "x": 1}', "nul", "'x'", "[1,]",
        "[null, null]", '"root"', "NaN", "// x", "\\", "\ud800", '"\\ud800"')  # fmt: skip
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|[\[\]{}:,]|\w+')


def edited(text: str, rng: random.Random) -> str:
    """A saved trace with one or two things changed, as a person or a broken tool may do."""
    for _ in range(rng.randint(1, 2)):
        spots = [found.span() for found in TOKEN.finditer(text)]
        if not spots:
            return text
        low, high = rng.choice(spots)
        change = rng.randrange(6)
        if change == 0:
            text = text[:low] + rng.choice(JUNK) + text[high:]
        elif change == 1:
            text = text[:low] + text[high:]
        elif change == 2:
            text = text[:high] + text[low:high] + text[high:]
        elif change == 3:
            other = rng.choice(spots)
            text = text[:low] + text[other[0] : other[1]] + text[high:]
        elif change == 4:
            lines = text.split("\n")
            first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[first], lines[second] = lines[second], lines[first]
            text = "\n".join(lines)
        else:
            text = text[: rng.randrange(len(text) + 1)]
    return text


@pytest.mark.parametrize("begin", range(0, 10))
def test_edited_traces_are_refused_with_their_place_or_legal(begin: int) -> None:
    rng = random.Random(begin)
    for seed in range(begin * 4, begin * 4 + 4):
        checked = draw(seed)
        saved = checked.schedule.trace.as_json()
        for _ in range(40):
            check_edited(checked, edited(saved, rng))


def check_edited(checked: Checked, text: str) -> None:
    try:
        trace = Trace.from_json(text)
    except ScheduleError as error:
        assert error.code.startswith("E-TRACE-") and PLACE.search(f"{error.where} {error.message}"), f"{error}\n{text}"
        return
    assert Trace.from_json(trace.as_json()) == trace
    sch = Schedule(checked.case.func)
    before = sch.fingerprint()
    try:
        trace.apply_to(sch)
    except ScheduleError as error:
        assert (error.where or "").startswith("step "), error
        assert sch.fingerprint() == before
        return
    check_numbers(checked.case, sch.func, 0, f"edited trace:\n{text}")
