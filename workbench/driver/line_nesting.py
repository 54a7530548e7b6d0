"""What encloses each line of an indented text, and how two sets of changes to that go together.

    nesting = Nesting(base, mine, theirs, dropped)
    text, fault = nesting.text(order)

A line is enclosed by the header of each statement that it stands in.  Of a line and a header that the base has, a side
that changed whether the one stands in the other is obeyed; of one that only a side has, that side.  A line of one side
stands in a header of the other where the lines do that it replaces, or that it stands between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

STEP: Final = 4
Line = tuple[str, int]
"""The version that first has a line ("base", "mine", "theirs"), and its number there."""
Fault = tuple[Line, Line]
"""A line and a header, where it cannot be had or told that the one stands in the other or that it does not."""


class Version:
    """The lines of one version, and what encloses them."""

    def __init__(self, lines: Sequence[str], names: Sequence[Line]) -> None:
        """`names`: which line each one is."""
        self.lines = dict(zip(names, lines, strict=True))
        self.around: dict[Line, tuple[Line, ...]] = {}
        """The headers of the statements that a line stands in, the outermost first."""
        self.step: dict[Line, int] = {}
        """How much deeper a line stands than the innermost of these headers."""
        open_lines: list[tuple[Line, int]] = []
        for name, line in zip(names, lines, strict=True):
            depth = len(line) - len(line.lstrip(" "))
            while open_lines and open_lines[-1][1] >= depth:
                open_lines.pop()
            self.around[name] = tuple(header for header, _ in open_lines)
            self.step[name] = depth - (open_lines[-1][1] if open_lines else 0)
            open_lines.append((name, depth))

    def inside(self, line: Line, header: Line) -> bool | None:
        """Whether a line stands in a header's statement; None where the version has not both."""
        return header in self.around[line] if line in self.around and header in self.around else None


def moved(base: Version, other: Version) -> dict[int, frozenset[tuple[int, bool]]]:
    """By line of the base, the base's headers that it stands in now and did not (True), or no more (False)."""
    found: dict[int, frozenset[tuple[int, bool]]] = {}
    for line, now in other.around.items():
        if line[0] != "base":
            continue
        before = {header for header in base.around[line] if header in other.around}
        after = {header for header in now if header[0] == "base"}
        if before != after:
            found[line[1]] = frozenset((header[1], header in after) for header in before ^ after)
    return found


class Nesting:
    """See the module's header."""

    def __init__(
        self,
        base: Version,
        mine: Version,
        theirs: Version,
        unmoved: frozenset[int],
        changed: Mapping[Line, tuple[int, int]],
    ) -> None:
        """`unmoved`: lines that stay where they were for `mine`; `changed`: the lines of the base, from and to, that a
        line of one side stands for.
        """
        self._base, self._mine, self._theirs = base, mine, theirs
        self._unmoved = unmoved
        self._changed = changed

    def text(self, order: Sequence[Line]) -> tuple[list[str], Fault | None]:
        """The lines in this order, each as deep as it has to be; with the first fault, if there is one."""
        places = {line: place for place, line in enumerate(order)}
        depths: dict[Line, int] = {}
        lines: list[str] = []
        wanted: dict[Line, set[Line]] = {}
        for line in order:
            inside: set[Line] = set()
            for header in sorted(self._headers(line) & places.keys(), key=places.__getitem__):
                stands = self._stands(line, header, inside)
                if stands is None or (stands and places[header] >= places[line]):
                    return [], (line, header)
                if stands:
                    inside.add(header)
            wanted[line] = inside
            last = max(inside, key=places.__getitem__, default=None)
            depths[line] = self._step(line, last) + (depths[last] if last is not None else 0)
            lines.append(" " * depths[line] + self._version(line).lines[line].lstrip(" "))
        made = Version(lines, order)
        faults = ((line, next(iter(wanted[line] ^ {*made.around[line]}), None)) for line in order)
        return lines, next(((line, header) for line, header in faults if header is not None), None)

    def _step(self, line: Line, last: Line | None) -> int:
        """How much deeper a line stands than the innermost header around it."""
        for side in (self._theirs, self._mine):
            if line in side.around and (side.around[line] or (None,))[-1] == last:
                return side.step[line]
        return STEP if last is not None else 0

    def _version(self, line: Line) -> Version:
        return self._theirs if line in self._theirs.around else self._mine

    def _headers(self, line: Line) -> set[Line]:
        """The headers that a line may stand in."""
        sides = (self._base, self._mine, self._theirs)
        return {header for at in (line, *self._near(line)) for side in sides for header in side.around.get(at, ())}

    def _near(self, line: Line) -> list[Line]:
        """The lines of the base that a line of one side stands for, or those that it stands between."""
        low, high = self._changed.get(line, (0, 0))
        if line not in self._changed:
            return []
        return [("base", at) for at in (range(low, high) if high > low else range(low - 1, low + 1))]

    def _stands(self, line: Line, header: Line, inside: set[Line]) -> bool | None:
        """Whether a line is to stand in a header's statement; None where the sides differ or it cannot be told."""
        before, mine, theirs = (side.inside(line, header) for side in (self._base, self._mine, self._theirs))
        if mine is None and theirs is None:
            return self._told_by_neighbours(line, header, inside)
        if mine is None or theirs is None:
            return theirs if mine is None else mine
        if before is None:
            return mine if mine == theirs else None
        return theirs if line[1] in self._unmoved or mine == before else mine

    def _told_by_neighbours(self, line: Line, header: Line, inside: set[Line]) -> bool | None:
        """For a line of one side and a header of the other."""
        other = self._version(header)
        if any(around[0] == "base" and around not in inside for around in other.around[header] if self._shared(around)):
            return False
        low, high = self._changed.get(header, (0, 0))
        if low < high and not any(self._version(line).inside(line, ("base", at)) for at in range(low, high)):
            return False  # it stands in no statement that the header's is put for
        told = {other.inside(near, header) for near in self._near(line)} - {None}
        return told.pop() if len(told) == 1 else None if told else False

    def _shared(self, line: Line) -> bool:
        return line in self._mine.around and line in self._theirs.around
