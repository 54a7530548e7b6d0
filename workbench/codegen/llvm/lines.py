"""Reading debug locations back: which line of the printed loop program each native instruction stems from.

Optimisers drop the location of an instruction that they move, and give line 0 to what they merge.  Both are made good
here as far as that can be done honestly; `Spot.how` says how a place is known:

    "line"      LLVM kept the location
    "flow"      LLVM dropped it; all that the instruction computes goes into statements of this one line
    "loop"      several lines share it: the innermost loop around them all
    "function"  outside of all loops: the function

    spots = read_llvm(artefact.get_source("ll-opt", "matmul"))
    spots[0]        # Spot(text_line=23, function="wb_matmul_0", line=6, loops=((4, 1), (4, 2)), how="line")
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

Loop = tuple[int, int]
"""A loop by the line on which it begins and its ordinal there."""

KEPT, FLOW, LOOP, FUNCTION = "line", "flow", "loop", "function"
WAYS: Final = (KEPT, FLOW, LOOP, FUNCTION)
_SHIFT: Final = 14
"""How a place is known stands in the upper two bits of a completed location's 16-bit column."""


def packed_column(how: str, column: int) -> int:
    """A column of a completed location: how its place is known, and the expression's number."""
    return WAYS.index(how) << _SHIFT | column


def unpacked_column(packed: int) -> tuple[str, int]:
    """How a place is known, and the expression's number."""
    return WAYS[packed >> _SHIFT & 3], packed & (1 << _SHIFT) - 1


class Spot(NamedTuple):
    """One instruction of a native text and its place in the printed loop program."""

    text_line: int
    """Where the instruction stands in the native text, from 1."""
    function: str
    """The symbol around it."""
    line: int
    """Line of the printed loop program: of a statement, of the loop, or 1."""
    loops: tuple[Loop, ...]
    """The loops around it, outermost first, as far as they are known."""
    how: str
    column: int = 0
    """Which part of the statement, as `places.numbered` counts; 0 where that is not known, negative for an instruction
    that carries out this part and a product in it."""


# --- metadata -----------------------------------------------------------------------------------------------------


class _Place(NamedTuple):
    line: int
    loops: tuple[Loop, ...]
    column: int = 0


_NODE: Final = re.compile(r"^!(\d+) = (?:distinct )?!(DILocation|DILexicalBlock|DISubprogram)\((.*)\)$", re.MULTILINE)
_FIELD: Final = re.compile(r"\b(line|column|scope|inlinedAt): !?(\d+)")


class _Metadata:
    """Locations and scopes of a module's text by number."""

    def __init__(self, text: str) -> None:
        self._nodes: dict[int, tuple[str, dict[str, int]]] = {
            int(found[1]): (found[2], {key: int(value) for key, value in _FIELD.findall(found[3])})
            for found in _NODE.finditer(text)
        }
        self._places: dict[int, _Place] = {}

    def place(self, location: int) -> _Place:
        """Line and loops of a location; what was inlined lies in the loops of its call too."""
        known = self._places.get(location)
        if known is None:
            chain: list[dict[str, int]] = []
            current: int | None = location
            while current is not None and current in self._nodes:
                fields = self._nodes[current][1]
                chain.append(fields)
                current = fields.get("inlinedAt")
            loops = tuple(loop for fields in reversed(chain) for loop in self.loops(fields.get("scope")))
            own = chain[0] if chain else {}
            known = _Place(own.get("line", 0), tuple(dict.fromkeys(loops)), own.get("column", 0))
            self._places[location] = known
        return known

    def loops(self, scope: int | None) -> tuple[Loop, ...]:
        """The loops that a scope lies in, outermost first; a function made of a loop lies in that one."""
        found: list[Loop] = []
        while scope is not None and scope in self._nodes:
            kind, fields = self._nodes[scope]
            if kind == "DILexicalBlock":
                found.append((fields.get("line", 1), fields.get("column", 1)))
            elif fields.get("line", 1) > 1:
                found.append((fields["line"], 1))
            if kind == "DISubprogram":
                break
            scope = fields.get("scope")
        return tuple(dict.fromkeys(reversed(found)))


# --- LLVM IR ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Instruction:
    text_line: int
    result: str
    operands: tuple[str, ...]
    block: int
    place: _Place | None
    how: str = ""


_DEFINE: Final = re.compile(r"^define .*?@([\w.$]+|\"[^\"]+\")\(.*\{$")
_DEBUG: Final = re.compile(r"!dbg !(\d+)")
_RESULT: Final = re.compile(r"^  (%[\w.$-]+) = ")
_REGISTER: Final = re.compile(r"%[\w.$-]+")
_BLOCKS: Final = re.compile(r"label %[\w.$-]+|, %[\w.$-]+ \]")


def read_llvm(text: str) -> list[Spot]:
    """The place of every instruction of a module's text, in order."""
    metadata = _Metadata(text)
    spots: list[Spot] = []
    for name, scope, instructions in _functions(text, metadata):
        around = metadata.loops(scope)
        _complete(instructions, around)
        for item in instructions:
            place = item.place or _Place(0, around)
            spots.append(Spot(item.text_line, name, place.line, place.loops, item.how, place.column))
    return spots


def _functions(text: str, metadata: _Metadata) -> Iterable[tuple[str, int | None, list[_Instruction]]]:
    """(symbol, scope, instructions) of each function defined in a module's text."""
    name, scope, block = "", None, 0
    instructions: list[_Instruction] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if instructions is None:
            found = _DEFINE.match(line)
            if found is not None:
                name, instructions, block = found[1].strip('"'), [], 0
                attached = _DEBUG.search(line)
                scope = int(attached[1]) if attached is not None else None
        elif line == "}":
            yield name, scope, instructions
            instructions = None
        elif line.startswith("  ") and line[2:3] not in (" ", "]", "#", ""):
            instructions.append(_instruction(line, number, block, metadata))
        elif line and not line.startswith(" "):
            block += 1


def _instruction(line: str, number: int, block: int, metadata: _Metadata) -> _Instruction:
    located = _DEBUG.search(line)
    place = metadata.place(int(located[1])) if located is not None else None
    found = _RESULT.match(line)
    rest = line[found.end() :] if found is not None else line
    operands = tuple(_REGISTER.findall(_BLOCKS.sub("", rest)))
    how = KEPT if place is not None and place.line > 0 else ""
    return _Instruction(number, found[1] if found is not None else "", operands, block, place, how)


def _complete(instructions: list[_Instruction], around: tuple[Loop, ...]) -> None:
    """Give a place to the instructions of one function that have none, from what their values go into."""
    places = _flow(instructions)
    inside = _loops_of_blocks(instructions)
    for index, item in enumerate(instructions):
        if item.how:
            continue
        found = places.get(index, set())
        if len({place.line for place in found}) == 1:
            columns = {place.column for place in found}
            nearest = min(found, key=lambda place: (len(place.loops), place))
            item.place, item.how = nearest._replace(column=columns.pop() if len(columns) == 1 else 0), FLOW
            continue
        known = [item.place.loops] if item.place is not None and item.place.loops else [at.loops for at in found]
        loops = common_loops(known) if known else inside.get(item.block, around)
        loops = loops or around
        item.place, item.how = _Place(first_line(loops), loops), LOOP if loops else FUNCTION


def first_line(loops: tuple[Loop, ...]) -> int:
    """The line of the innermost loop, or of the function."""
    return loops[-1][0] if loops else 1


def _flow(instructions: list[_Instruction]) -> dict[int, set[_Place]]:
    """For instructions without a line, the places that their values go to; for those without uses, come from."""
    definitions = {item.result: index for index, item in enumerate(instructions) if item.result}
    users: dict[int, list[int]] = {}
    for index, item in enumerate(instructions):
        for register in item.operands:
            if register in definitions:
                users.setdefault(definitions[register], []).append(index)
    found: dict[int, set[_Place]] = {}
    unknown = [index for index, item in enumerate(instructions) if not item.how]
    _propagate(unknown, instructions, users, found)
    sources = {
        index: [definitions[register] for register in instructions[index].operands if register in definitions]
        for index in unknown
        if not found.get(index)
    }
    _propagate(list(sources), instructions, sources, found)
    return found


def _propagate(
    unknown: list[int],
    instructions: list[_Instruction],
    edges: dict[int, list[int]],
    found: dict[int, set[_Place]],
) -> None:
    """Places along edges from instruction to instruction, to a fixed point; later ones first, as uses come later."""
    waiting = set(unknown)
    changed = True
    while changed:
        changed = False
        for index in reversed(unknown):
            reached = found.setdefault(index, set())
            before = len(reached)
            for other in edges.get(index, ()):
                place = instructions[other].place
                if instructions[other].how and place is not None:
                    reached.add(place)
                elif other in waiting or other in found:
                    reached |= found.get(other, set())
            changed |= len(reached) > before


def _loops_of_blocks(instructions: list[_Instruction]) -> dict[int, tuple[Loop, ...]]:
    """By basic block, the loops that all its instructions with a line lie in."""
    known: dict[int, list[tuple[Loop, ...]]] = {}
    for item in instructions:
        if item.how and item.place is not None:
            known.setdefault(item.block, []).append(item.place.loops)
    return {block: common_loops(chains) for block, chains in known.items()}


def common_loops(chains: Iterable[tuple[Loop, ...]]) -> tuple[Loop, ...]:
    """The loops that stand around all of several places."""
    every = list(chains)
    shared: list[Loop] = []
    for level in zip(*every, strict=False):
        if any(loop != level[0] for loop in level):
            break
        shared.append(level[0])
    return tuple(shared)


# --- completing ---------------------------------------------------------------------------------------------------


def completed(text: str) -> str:
    """A module's text in which every instruction has a location, for printing assembly from it.

    The column of a location says how it is known.  Debug information changes no code.
    """
    metadata = _Metadata(text)
    lines = text.split("\n")
    numbers = [int(found) for found in re.findall(r"^!(\d+) = ", text, re.MULTILINE)]
    following = max(numbers, default=-1) + 1
    added: dict[tuple[int, int, int], int] = {}
    for _, scope, instructions in _functions(text, metadata):
        if scope is None:
            continue
        _complete(instructions, metadata.loops(scope))
        for item in instructions:
            if item.how == KEPT or item.place is None:
                continue
            key = (scope, item.place.line, packed_column(item.how, item.place.column))
            number = added.setdefault(key, following + len(added))
            lines[item.text_line - 1] = _located(lines[item.text_line - 1], number)
    nodes = (
        f"!{number} = !DILocation(line: {line}, column: {column}, scope: !{scope})"
        for (scope, line, column), number in added.items()
    )
    return "\n".join([*lines, *nodes, ""])


def _located(line: str, number: int) -> str:
    """An instruction's text with a location in place of its own."""
    if _DEBUG.search(line):
        return _DEBUG.sub(f"!dbg !{number}", line)
    return f"{line}, !dbg !{number}"
