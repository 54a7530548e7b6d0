"""The instructions of the statements that a loop program runs most often, for reading and for checks.

code = hot_code(sch)                     # compiled for a processor that is always the same; nothing is run
print(code)                              # the instructions, each with what it does
code.multiply_adds, code.lanes, code.spills
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from ..arith.nodes import literal
from ..driver.open import open_session
from ..driver.trips import Nest, nests
from ..schedule.schedule import Schedule
from .cache_checks import TARGET

_OPERATION: Final = re.compile(r"(?:v?fn?m(?:add|sub)\d*|v?mul|v?add|v?sub)[ps]s$")
_REGISTER: Final = re.compile(r"%([xyz])mm")
_BYTES: Final = {"x": 16, "y": 32, "z": 64}
_SPILL: Final = re.compile(r"# (?:16|32|64)-byte (?:Folded )?(?:Spill|Reload)")
_PUT_TOGETHER: Final = re.compile(r"vinsert\w+|vunpck\w+|vperm\w+|vshuf\w+|vblend\w+|v?p?gather\w+")
_SHOWN: Final = 28
"""Instructions that are printed."""
_MEANS: Final = (
    (re.compile(r"vfn?madd\d+[ps]s"), "multiply and add"),
    (re.compile(r"vmul[ps]s"), "a product"),
    (re.compile(r"vadd[ps]s"), "a sum"),
    (re.compile(r"vbroadcastss"), "one number into all lanes"),
    (_PUT_TOGETHER, "put lanes together"),
)


@dataclass(frozen=True)
class HotCode:
    """Instructions of the innermost statements, in the order of the assembly; `spills`: of the whole function."""

    source: str
    """The lines of the loop program: one statement, or those that stand beside each other in its loop."""
    lines: tuple[str, ...]
    spills: int
    """Vectors that are put on the stack or fetched from there since the registers do not suffice."""
    gaps: frozenset[int] = frozenset()
    """Places in `lines` before which instructions of other statements stand in the assembly."""

    @property
    def names(self) -> Counter[str]:
        """How often each instruction stands there."""
        return Counter(line.split(maxsplit=1)[0] for line in self.lines)

    @property
    def multiply_adds(self) -> int:
        """Fused multiply-adds that stand there."""
        return sum(count for name, count in self.names.items() if name.startswith("vfmadd"))

    @property
    def lanes(self) -> int:
        """Numbers of float32 that its arithmetic works on at once, the least of its instructions; 0: there is none."""
        found = [_lanes(line) for line in self.lines if _OPERATION.match(line.split(maxsplit=1)[0])]
        return min(found, default=0)

    @property
    def gathered(self) -> int:
        """Instructions that put a vector together from numbers which do not lie side by side."""
        return sum(count for name, count in self.names.items() if _PUT_TOGETHER.fullmatch(name))

    def __str__(self) -> str:
        rows: list[str] = []
        for place, line in enumerate(self.lines[:_SHOWN]):
            rows += ["..."] if place in self.gaps else []
            rows.append(f"{line.split('#')[0].rstrip():<52}{_meaning(line)}".rstrip())
        rows += [f"... {len(self.lines) - _SHOWN} more"] if len(self.lines) > _SHOWN else []
        return "\n".join([self.source, *(f"    {row}" for row in rows)])

    __repr__ = __str__


def _lanes(line: str) -> int:
    name, _, operands = line.partition(" ")
    if name.endswith("ss"):
        return 1
    return max((_BYTES[kind] // 4 for kind in _REGISTER.findall(operands)), default=0)


def _meaning(line: str) -> str:
    """What an instruction does, for those that the lesson speaks of."""
    name, _, operands = line.split("#")[0].partition(" ")
    if _SPILL.search(line):
        return "the stack: registers do not suffice"
    said = next((means for pattern, means in _MEANS if pattern.fullmatch(name)), "")
    if re.fullmatch(r"vmov(?:[au]p|s)s", name):
        said = "store" if operands.rstrip().endswith(")") else "load" if "(" in operands else "copy"
    lanes = _lanes(line)
    return f"{said}, {lanes} lanes" if said and lanes > 1 and "lane" not in said else said


def _iterations(nest: Nest) -> int:
    """How often a line is run, those iterations counted that are written out beside each other."""
    return math.prod(int(literal(loop.extent, 0)) for loop in nest.loops)


def hot_code(program: Any, target: Any = TARGET) -> HotCode:
    """The instructions of what is run most often in a schedule or a function, compiled for `target`.

    That is the statement with the most iterations, and those that stand beside it in the same loop.
    """
    func = program.func if isinstance(program, Schedule) else program
    known = open_session(func, target=target).provenance
    (name, *_) = known.kernels
    text, printed = known.text(name, "asm").splitlines(), known.text(name, "tir").splitlines()
    around = {
        line: nest
        for line, nest in nests(known.function(name), name).items()
        if not printed[line - 1].lstrip().startswith("for ")
    }
    hottest = max(around.values(), key=_iterations, default=None)
    inside = [id(loop) for loop in hottest.loops] if hottest is not None else None
    lines = [line for line, nest in around.items() if [id(loop) for loop in nest.loops] == inside]
    spots = [spot for spot in known.native(name, "asm").spots if spot.line in lines and spot.how == "line"]
    found = sorted({spot.text_line for spot in spots})
    gaps = {
        place
        for place, (before, after) in enumerate(pairwise(found), 1)
        if any(_is_instruction(row) for row in text[before : after - 1])
    }
    source = "\n".join(printed[line - 1].strip() for line in lines)
    spills = sum(bool(_SPILL.search(row)) for row in text)
    return HotCode(source, tuple(" ".join(text[number - 1].split()) for number in found), spills, frozenset(gaps))


def _is_instruction(row: str) -> bool:
    """Whether a row of assembly is none of a label, a directive, a remark."""
    return bool(row.strip()) and not row.rstrip().endswith(":") and row.strip()[0] not in ".#"
