"""From instructions of an assembly text to lines of the printed loop program.

Assembly holds the lines that LLVM kept (``.loc``).  What it dropped is made good in the optimised text
(`lines.completed`), from which assembly is printed once more.  Its instructions are the same but for a few, since a
text that was read again may be ordered otherwise, so the two are aligned: what is shown is the code that runs.

    spots = read_assembly(assembly, again, loops_by_line(read_llvm(optimised)))
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from typing import Final

from .lines import FLOW, FUNCTION, LOOP, Loop, Spot, common_loops, first_line, unpacked_column

_LOC: Final = re.compile(r"^\s*\.loc\s+\d+\s+(\d+)(?:\s+(\d+))?")
_LABEL: Final = re.compile(r"^([\w.$]+|\"[^\"]+\"):")
_COMMENT: Final = re.compile(r"\s*(#|//|@ ).*$")
_CONTRACTED: Final = re.compile(r"v?fn?m(add|sub|acc|la|ls)")
"""Instructions made of a product and a sum, which may belong to two expressions."""
_CONSTANT: Final = re.compile(r"\.L\(%rip\).*, %[xyz]?(\w+)$")
"""An instruction that loads from the constants of a function, and its register."""
MOST_BETWEEN: Final = 400
"""Instructions between the load of a constant and its use."""
_NUMBERED: Final = re.compile(r"\.L\w+")
ALIGNED_AT_MOST: Final = 20_000
"""Instructions of one function that are aligned; beyond, only what LLVM kept is known."""

Loops = Mapping[str, Mapping[int, tuple[Loop, ...]]]
"""By symbol and line, the loops around that line."""


def loops_by_line(spots: Iterable[Spot]) -> Loops:
    """By symbol and line, the loops that all the instructions of that line lie in."""
    chains: dict[str, dict[int, list[tuple[Loop, ...]]]] = {}
    for spot in spots:
        chains.setdefault(spot.function, {}).setdefault(spot.line, []).append(spot.loops)
    return {
        symbol: {line: common_loops(found) for line, found in by_line.items()} for symbol, by_line in chains.items()
    }


def read_assembly(text: str, again: str, loops: Loops) -> list[Spot]:
    """The place of every instruction of an assembly text; `again` is the assembly of the completed module."""
    plain = _by_function(_instructions(text, loops))
    completed = _by_function(_instructions(again, loops))
    spots: list[Spot] = []
    for symbol, own in plain.items():
        spots += _aligned(own, completed.get(symbol, []))
    return sorted(spots)


def _instructions(text: str, loops: Loops) -> list[tuple[Spot, str]]:
    """Each instruction, placed by the last ``.loc`` in front of it."""
    found: list[tuple[Spot, str]] = []
    symbol, line, how, column, begun = "", 0, FUNCTION, 0, False
    for number, written in enumerate(text.split("\n"), 1):
        located = _LOC.match(written)
        label = _LABEL.match(written) if located is None else None
        if located is not None:
            begun = begun or "prologue_end" in written
            line = int(located[1]) if begun else 0  # before, no instruction has a location of its own
            how, column = unpacked_column(int(located[2] or 0))
        elif label is not None and not label[1].startswith((".L", "L")):
            symbol, line, how, column, begun = label[1].strip('"'), 0, FUNCTION, 0, False
        elif written.lstrip().startswith(".section") and ".text" not in written:
            symbol = ""
        elif symbol and written.startswith("\t") and written[1:2] not in (".", "#", "/", "@", ""):
            around = loops.get(symbol, {}).get(line, ())
            code = _NUMBERED.sub(".L", _COMMENT.sub("", written.strip()))
            part = -column if _CONTRACTED.match(code) else column
            found.append((Spot(number, symbol, line, around, how, part), code))
    return _with_neighbours(_with_users(found))


def _with_users(found: list[tuple[Spot, str]]) -> list[tuple[Spot, str]]:
    """Constants loaded in front of a loop (x86): the place of the first instruction that uses one.

    LLVM drops the line of such a load, and does not say so where others stand before it: it seems to be of theirs.
    """
    done = list(found)
    for number, (spot, code) in enumerate(found):
        loaded = _CONSTANT.search(code)
        if loaded is None:
            continue
        for user, written in found[number + 1 : number + 1 + MOST_BETWEEN]:
            if user.function != spot.function:
                break
            if re.search(rf"%[xyz]?{loaded[1]}\b", written):
                if user.line and user.line != spot.line:
                    done[number] = (user._replace(text_line=spot.text_line, how=FLOW), code)
                break
    return done


def _with_neighbours(found: list[tuple[Spot, str]]) -> list[tuple[Spot, str]]:
    """Line 0, which stands in front of what code generation made itself: the loop of the instruction that follows."""
    done: list[tuple[Spot, str]] = []
    after: Spot | None = None
    for spot, code in reversed(found):
        if spot.line == 0:
            near = after.loops if after is not None and after.function == spot.function else ()
            spot = spot._replace(line=first_line(near), loops=near, how=LOOP if near else FUNCTION, column=0)
        done.append((spot, code))
        after = spot
    return done[::-1]


def _by_function(found: list[tuple[Spot, str]]) -> dict[str, list[tuple[Spot, str]]]:
    result: dict[str, list[tuple[Spot, str]]] = {}
    for spot, code in found:
        result.setdefault(spot.function, []).append((spot, code))
    return result


def _aligned(own: list[tuple[Spot, str]], completed: list[tuple[Spot, str]]) -> list[Spot]:
    """The instructions of one function with the places that their counterparts have."""
    spots = [spot for spot, _ in own]
    if not completed or max(len(own), len(completed)) > ALIGNED_AT_MOST:
        return spots
    matcher = SequenceMatcher(None, [code for _, code in own], [code for _, code in completed], autojunk=False)
    for first, second, count in matcher.get_matching_blocks():
        for step in range(count):
            known = completed[second + step][0]
            spots[first + step] = known._replace(text_line=spots[first + step].text_line)
    return spots
