"""Small random programs that write a buffer and read it again, in short as in `test_dataflow`.

    for y in T.serial(3):
        for i in T.serial(4):
            write y * 3 + i where y * 3 + i < 12
        read y * 2

All that is done is inside the buffer: what leads out of it is under a condition.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

SIZE = 12
COUNT = 3
"""Iterations of the loop `o` around all."""

Loop = tuple[str, int, int]
"""Name, begin, extent."""


def drawn_lines(rng: random.Random) -> str:
    """The lines of a program; about half of what they read they have written themselves."""
    shared: list[Loop] = [("y", rng.choice((0, 0, 0, 1)), rng.randint(1, 6))] if rng.random() < 0.6 else []
    lines = [_loop(loop, rng) for loop in shared]
    space = "    " * len(shared)
    words = rng.choice((["write", "read"], ["write", "write", "read"], ["write", "read"], ["read", "write"]))
    if rng.random() < 0.25:  # a chain: what one iteration of the innermost loop writes it reads
        inner = [("i", 0, rng.randint(1, 12))]
        lines.append(space + _loop(inner[0], rng))
        value = _index(rng, [*shared, *inner], "write")
        offset = rng.choice(("", "", " + 1", " - 1"))
        for word, index in (("write", value), ("read", value + offset)):
            lines.append(f"{space}    {_access(rng, word, index, [*shared, *inner])}")
    else:
        lines += [line for word in words for line in _nest(rng, word, shared, space)]
    if rng.random() < 0.3:
        lines += _nest(rng, "read", [], "")
    return "\n".join(lines)


def _loop(loop: Loop, rng: random.Random) -> str:
    name, begin, extent = loop
    kind = rng.choice(("serial",) * 10 + ("parallel", "unroll"))
    return f"for {name} in T.{kind}({f'{begin}, ' if begin else ''}{begin + extent}):"


def _nest(rng: random.Random, word: str, shared: Sequence[Loop], space: str) -> list[str]:
    own: list[Loop] = []
    for name in ("i", "j")[: rng.choice((0, 1, 1, 1, 2, 2))]:
        own.append((name, rng.choice((0, 0, 0, 0, 0, 1, 2)), rng.choice((2, 3, 3, 4, 4, 6, 12))))
    lines = [space + "    " * depth + _loop(loop, rng) for depth, loop in enumerate(own)]
    loops = [*shared, *own]
    return [*lines, space + "    " * len(own) + _access(rng, word, _index(rng, loops, word), loops)]


def _index(rng: random.Random, loops: Sequence[Loop], word: str) -> str:
    """An index of some of the loops, in many of the ways that schedules write one."""
    names = [name for name, _, _ in loops]
    if not names:
        return str(rng.randint(0, SIZE - 1))
    inner, size = loops[-1][0], loops[-1][2]
    outer = rng.choice(names)
    number = rng.randint(2, 4)
    forms = [
        inner, inner, f"{inner} + {rng.randint(1, 4)}", f"{size - 1} - {inner}", f"{SIZE - 1} - {inner}",
        f"{inner} // {number} * {number} + {inner} % {number}", f"{inner} * {number}", f"{inner} // {number}",
    ]  # fmt: skip
    if outer != inner:
        other = names[-2] if len(names) > 2 else outer
        both = f"{outer} * {size} + {inner}"
        forms += [
            both, both, f"{outer} + {inner}", f"{outer} + {inner}", f"{outer} * {number} + {inner}",
            f"{inner} - {outer}", f"({both}) // {number} * {number} + ({both}) % {number}", f"({both}) // {number}",
            f"{outer} * {number * 2} + {other} * {number} + {inner}",
        ]  # fmt: skip
    return rng.choice(forms) if word == "write" or rng.random() < 0.7 else names[-1]


def _access(rng: random.Random, word: str, index: str, loops: Sequence[Loop]) -> str:
    ranges = [range(begin, begin + extent) for _, begin, extent in loops]
    names = [name for name, _, _ in loops]
    values = [eval(index, dict(zip(names, point, strict=True))) for point in itertools.product(*ranges)]
    size = rng.choice((SIZE,) * 6 + (max(1, SIZE - rng.randint(0, 6)),))
    where = [f"{index} < {size}"] if max(values) >= size else []
    where += [f"0 <= {index}"] if min(values) < 0 else []
    if rng.random() < 0.3:
        where.append(_condition(rng, index, loops))
    rng.shuffle(where)
    domain = "" if size == SIZE else f"{size}: "
    return f"{word} {domain}{index}" + (f" where {' and '.join(where)}" if where else "")


def _condition(rng: random.Random, index: str, loops: Sequence[Loop]) -> str:
    name, begin, extent = rng.choice([*loops, ("o", 0, COUNT)])
    other, low, size = rng.choice([*loops, ("o", 0, COUNT)])
    at = begin + rng.randint(0, extent)
    return rng.choice((
        f"{name} < {at}", f"{name} <= {at}", f"{name} >= {at}", f"{name} == {at}", f"{index} < {rng.randint(1, SIZE)}",
        f"{index} >= {rng.randint(1, 4)}", f"({name} == {begin} or {other} == {low + size - 1})",
        f"({name} < {begin + 1} or {other} >= {rng.randint(1, 3)})", f"{name} + {other} < {rng.randint(1, 8)}",
        f"({index}) // 2 < {rng.randint(1, 6)}", f"{name} <= {other}", f"{name} != {at}",
    ))  # fmt: skip
