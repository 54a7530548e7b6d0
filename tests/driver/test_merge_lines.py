"""What encloses a line is merged as its words are: nothing is lost in silence, nothing is done twice."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.driver.merge_lines import MergedLines, merge_lines
from workbench.driver.text import parse

CASES = 600
Places = dict[str, tuple[str, ...]]
"""By line what it stands in."""


def text(*lines: str) -> str:
    return "\n".join(lines) + "\n"


BASE = text("def f():", "    d = 0", "    for i in r:", "        for j in r:", "            x = 1", "            y = 2",
            "            z = 5", "    e = 0")  # fmt: skip
OUT = BASE.replace("            z", "        z")


@pytest.mark.parametrize(
    ("after", "now", "merged"),
    [
        (OUT, BASE.replace("x = 1", "x = 9"), OUT.replace("x = 1", "x = 9")),
        (OUT.replace("d = 0", "d = 1"), OUT.replace("x = 1", "x = 9"),
         OUT.replace("d = 0", "d = 1").replace("x = 1", "x = 9")),
        (OUT, OUT, OUT),
        (BASE.replace("    e", "        e"), OUT, OUT.replace("    e", "        e")),
        (OUT, BASE.replace("    d = 0", "    d = 0\n    c = 3"), OUT.replace("    d = 0", "    d = 0\n    c = 3")),
        ("a\nfor:\n    b\nc", "a\nfor:\n    b\nc\nd", "a\nfor:\n    b\nc\nd\n"),
    ],
)  # fmt: skip
def test_lines_that_one_side_moves_are_moved_once(after: str, now: str, merged: str) -> None:
    base = BASE if after.startswith("def") else "a\nb\nc"
    found = merge_lines(base, after, now)
    assert found.text == merged and not found.dropped and len(found.applied) == found.made > 0


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (BASE.replace("z = 5", "z = 6"), "what comes before has z = 6 there"),
        (BASE.replace("            z", "    z"), "out of for j in r: there"),
        (BASE.replace("j in r", "j in s"), "what comes before has for j in s: there"),
        (BASE.replace("z = 5\n", "z = 5\n            w = 6\n"), "what comes before has w = 6 there"),
    ],
)
def test_a_move_conflicts_as_a_change_of_words_does(now: str, reason: str) -> None:
    found = merge_lines(BASE, OUT, now)
    assert not found.applied and found.text == now and found.made == 1
    ((change, why),) = found.dropped
    assert change == "z = 5 out of for j in r:" and ("moved" in why if "out of" in reason else reason in why)
    (back,) = merge_lines(BASE, now, OUT).dropped
    assert "z = 5 out of for j in r:" in back[1], "the other way round"


def test_a_statement_moved_out_of_a_loop_by_hand_runs_once_on_another_program() -> None:
    source = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((1,), "float32")):
        for i in range(4):
            B[i] = A[i] * T.float32(2)
            C[0] = C[0] + T.float32(7)
"""
    session = wb.open(parse(source, {}), target="llvm")
    script = session.tir["main"].script()
    edited = session.edit(tir={"main": script.replace("        C[0]", "    C[0]")})
    changed = edited.edit(tir={"main": script.replace("T.float32(2", "T.float32(3")}, at="Import")

    def answer(of: Any) -> tuple[float, float]:
        given = {"A": np.ones(4, np.float32), "B": np.zeros(4, np.float32), "C": np.zeros(1, np.float32)}
        found = of.run(given)
        return float(found["B"][0]), float(found["C"][0])

    assert answer(edited) == (2.0, 7.0)
    assert answer(changed) == (3.0, 7.0)
    against = edited.edit(tir={"main": script.replace("T.float32(7", "T.float32(8")}, at="Import")
    error = against["Edit#2"].error
    assert error is not None and error.code == "E-EDIT-REBASE" and "out of for i in T.serial(4):" in error.found


# --- random programs ------------------------------------------------------------------------------------------------


def drawn(rng: random.Random, alike: bool) -> list[str]:
    lines, depth = ["def f():"], 1
    for number in range(rng.randint(4, 10)):
        name = rng.randint(0, 2) if alike else number
        if rng.random() < 0.35 and depth < 4:
            lines += ["    " * depth + f"for i{name} in r:", "    " * (depth + 1) + f"a{name} = {name}"]
            depth += 1
        else:
            lines.append("    " * depth + f"b{name} = {name}")
            depth -= depth > 1 and rng.random() < 0.4
    return lines


def depth_of(line: str) -> int:
    return len(line) - len(line.lstrip())


def edited(lines: list[str], rng: random.Random, alike: bool) -> list[str]:
    """One change: other words, a line more or less, a loop put around lines or taken away, lines moved out or in."""
    found, at = list(lines), rng.randrange(1, max(2, len(lines)))
    if at >= len(lines):
        return found
    depth, kind = depth_of(lines[at]), rng.randrange(7)
    end = next((index for index in range(at + 1, len(lines)) if depth_of(lines[index]) <= depth), len(lines))
    if kind == 0:
        found[at] = lines[at].replace("= ", "= 9").replace("in r", "in s")
    elif kind == 1:
        found.insert(at, " " * depth + f"n{rng.randrange(9999)} = 0")
    elif kind == 2:
        del found[at:end]
    elif kind == 3:
        header = f"for k{rng.randrange(3 if alike else 9999)} in r:"
        found[at:end] = [" " * depth + header, *("    " + line for line in lines[at:end])]
    elif kind == 4:
        found[at:end] = [line[4:] for line in lines[at + 1 : end]] if end > at + 1 else lines[at:end]
    elif kind == 5 and depth > 4:
        found[at:end] = [line[4:] for line in lines[at:end]]
    elif depth_of(lines[at - 1]) > depth:
        found[at:end] = ["    " + line for line in lines[at:end]]
    return found


def is_program(lines: list[str]) -> bool:
    try:
        compile(text(*lines), "", "exec")
    except SyntaxError:
        return False
    return True


def places(source: str) -> Places:
    found: Places = {}
    around: list[str] = []
    for line in source.rstrip("\n").split("\n"):
        del around[depth_of(line) // 4 :]
        found[line.strip()] = tuple(around)
        around.append(line.strip())
    return found


def stands(version: Places, line: str, header: str) -> bool | None:
    return header in version[line] if line in version and header in version else None


def follows(before: Places, after: Places, now: Places, merged: Places) -> bool:
    """Whether each line stands where the side that changed that has it."""
    for line, headers in merged.items():
        for header in {*headers, *before.get(line, ()), *after.get(line, ()), *now.get(line, ())} & merged.keys():
            was, mine, theirs = (stands(version, line, header) for version in (before, after, now))
            if mine is None and theirs is None:
                continue
            wanted = theirs if mine is None or mine == was else mine if theirs is None or theirs == was else theirs
            if stands(merged, line, header) != wanted:
                return False
    return True


def outcome(versions: tuple[str, str, str], alike: bool) -> str:
    before, after, now = versions
    found, back = merge_lines(before, after, now), merge_lines(before, now, after)
    for one, mine, theirs in ((found, after, now), (back, now, after)):
        assert one.made and len(one.applied) + len(one.dropped) == one.made, versions
        assert one.applied or one.text == theirs, versions
        assert mine != theirs or (one.text == mine and not one.dropped), versions
    alone: list[tuple[MergedLines, str]] = [(merge_lines(before, after, before), after)]
    alone += [(merge_lines(before, before, now), now)]
    assert all(one.text == wanted and not one.dropped for one, wanted in alone), versions
    if found.dropped or back.dropped:
        return "dropped"
    assert found.text == back.text, versions
    assert is_program(found.text.split("\n")) or is_emptied(found.text), versions
    assert alike or follows(places(before), places(after), places(now), places(found.text)), (versions, found.text)
    return "merged"


def is_emptied(source: str) -> bool:
    """Whether a loop has nothing left in it, which the parser refuses."""
    lines = source.rstrip("\n").split("\n")
    return any(
        line.endswith(":") and (index + 1 == len(lines) or depth_of(lines[index + 1]) <= depth_of(line))
        for index, line in enumerate(lines)
    )


@pytest.mark.parametrize("alike", [False, True])
def test_random_edits_are_merged_or_reported(alike: bool) -> None:
    found: Counter[str] = Counter()
    for seed in range(CASES):
        rng = random.Random(seed)
        base = drawn(rng, alike)
        after, now = edited(edited(base, rng, alike), rng, alike), edited(base, rng, alike)
        if is_program(base) and is_program(after) and is_program(now) and base not in (after, now):
            found[outcome((text(*base), text(*after), text(*now)), alike)] += 1
    assert found["merged"] > CASES // 5 and found["dropped"] > CASES // 20, found
