"""The state of one interpretation and the checks that compiled code calls.

Storage is a flat Python list; None marks an element that nothing has written.  A `Site` is a place in the program
that may fail; it knows how to say so.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import numpy as np

from ...core.dtype import DataType
from ...core.errors import WorkbenchError, shorten
from ...core.limits import limits
from ...core.node import Node
from .. import nodes as t
from ..script import text

CELL_BYTES: Final = 8
"""What an element takes that is not written yet; Python's number for it comes with the write."""


class Storage:
    """The elements of one buffer, row after row."""

    __slots__ = ("cells", "dtype", "name")

    def __init__(self, cells: list[Any], dtype: DataType, name: str) -> None:
        self.cells = cells
        self.dtype = dtype
        self.name = name


@dataclass(frozen=True)
class Pointer:
    """An element of a storage: what ``T.address_of`` gives."""

    storage: Storage
    offset: int


class Returned(Exception):
    """``T.ret`` was reached."""

    def __init__(self, value: int | float | np.generic[Any]) -> None:
        self.value = value


@dataclass(frozen=True)
class Site:
    """A place in the program: the function, the statement, the buffer touched, and the loops around."""

    function: str
    node: Node
    buffer: t.Buffer | None = None
    loops: tuple[str, ...] = ()

    def where(self) -> str:
        return f"{self.function}: {shorten(text(self.node).text.strip().split(chr(10))[0], 160)}"

    def around(self, values: Sequence[Any]) -> str:
        return ", ".join(f"{name} = {value}" for name, value in zip(self.loops, values, strict=False))

    def element(self, index: Sequence[Any]) -> str:
        name = self.buffer.name if self.buffer is not None else "?"
        return f"{name}[{', '.join(str(value) for value in index)}]"


@dataclass
class Race:
    """Who touched what during one execution of a loop whose iterations run side by side."""

    site: Site
    variable: str
    iteration: Any = None
    writers: dict[tuple[int, int], Any] = field(default_factory=dict[tuple[int, int], Any])
    readers: dict[tuple[int, int], tuple[Any, ...]] = field(default_factory=dict[tuple[int, int], tuple[Any, ...]])
    alive: dict[int, Any] = field(default_factory=dict[int, Any])


class Machine:
    """One interpretation: its module, its steps so far, and the races being watched."""

    def __init__(self, call: Callable[..., Any], max_steps: int) -> None:
        self.call = call
        self.max_steps = max_steps
        self.steps = 0
        self.races: list[Race] = []
        self.bytes = 0
        """What elements take: those given, and in each call under way those of the buffers made last at each place."""
        self._bytes_at: dict[int, int] = {}
        """Of the call that runs, by the place."""

    @contextmanager
    def called(self) -> Generator[None, None, None]:
        """A call of another function: its buffers live until it returns."""
        around, self._bytes_at = self._bytes_at, {}
        try:
            yield
        finally:
            self.bytes -= sum(self._bytes_at.values())
            self._bytes_at = around

    def allocate(self, site: Site, count: int) -> list[Any]:
        """The elements of a buffer, none of them written.  Raises E-LIMIT before there are too many."""
        taken = CELL_BYTES * max(count, 0)
        self.bytes += taken - self._bytes_at.get(id(site), 0)
        self._bytes_at[id(site)] = taken
        if self.bytes > limits.interpreter_bytes:
            name = site.buffer.name if site.buffer is not None else "?"
            limits.check("interpreter_bytes", self.bytes, f"interpreting with {name}", site.where())
        return [None] * count

    def tick(self, site: Site, count: int) -> None:
        """Count steps; refuse to go on beyond the limit."""
        self.steps += count if count > 0 else 0
        if self.steps > self.max_steps:
            raise WorkbenchError(
                "E-TIR-STEPS",
                f"the interpreter stopped after {self.max_steps:,} steps",
                where=site.where(),
                fix="interpret smaller shapes, or pass max_steps=",
                nodes=(site.node,),
            )

    @staticmethod
    def finish(value: Any) -> NoReturn:
        """Leave the function with a value."""
        raise Returned(value)

    # --- failures ---

    def bounds(self, site: Site, axis: int, value: Any, extent: Any, loops: Sequence[Any]) -> NoReturn:
        name = site.buffer.name if site.buffer is not None else "?"
        raise WorkbenchError(
            "E-TIR-BOUNDS",
            f"index {value} is outside axis {axis} of {name}, which has extent {extent}",
            where=site.where(),
            found=site.around(loops) or f"index {value}",
            expected=f"0 <= index < {extent}",
            fix="guard the access, or change the loop's extent",
            nodes=(site.node,) if site.buffer is None else (site.node, site.buffer),
        )

    def vector_bounds(self, site: Site, axis: int, values: Any, extent: Any, loops: Sequence[Any]) -> Any:
        """`values` if all are inside; else the error of the first that is not."""
        for value in values:
            if not 0 <= value < extent:
                self.bounds(site, axis, int(value), extent, loops)
        return values

    def divide(self, site: Site, function: Callable[..., Any], a: Any, b: Any, loops: Sequence[Any]) -> Any:
        """An integer division whose divisor may be zero."""
        try:
            return function(a, b)
        except ZeroDivisionError:
            raise WorkbenchError(
                "E-TIR-DIVIDE",
                "division by zero",
                where=site.where(),
                found=site.around(loops),
                fix="guard the division with T.if_then_else",
                nodes=(site.node,),
            ) from None

    def unwritten(self, site: Site, place: int, shape: Sequence[int], loops: Sequence[Any]) -> NoReturn:
        name = site.buffer.name if site.buffer is not None else "?"
        raise WorkbenchError(
            "E-TIR-UNINITIALISED",
            f"{name}{_index_text(shape, place)} is read before anything is written to it",
            where=site.where(),
            found=site.around(loops),
            expected="a store to the element first",
            fix="give the reduction an init, or store before reading",
            nodes=(site.node,),
        )

    def failed(self, site: Site, message: str, loops: Sequence[Any]) -> NoReturn:
        raise WorkbenchError("E-TIR-ASSERT", message, where=site.where(), found=site.around(loops), nodes=(site.node,))

    def outside_domain(
        self, site: Site, name: str, value: Any, low: Any, extent: Any, loops: Sequence[Any]
    ) -> NoReturn:
        raise WorkbenchError(
            "E-TIR-DOMAIN",
            f"block iterator {name} is {value}, outside its domain",
            where=site.where(),
            found=site.around(loops),
            expected=f"{low} <= {name} < {low + extent}",
            fix="guard the block with T.where",
            nodes=(site.node,),
        )

    def region(self, site: Site, kind: str, allowed: Sequence[Any], index: Sequence[Any], loops: Sequence[Any]) -> None:
        """Refuse an access outside the boxes that the block declares."""
        lanes = [index]
        if index and hasattr(index[-1], "__len__"):
            lanes = [(*index[:-1], int(last)) for last in index[-1]]
        for point in lanes:
            if not any(_inside(box, point) for box in allowed):
                shown = " or ".join(_box_text(box) for box in allowed) or "nothing of this buffer"
                raise WorkbenchError(
                    "E-TIR-REGION",
                    f"a block {kind} {site.element(point)}, which it does not declare",
                    where=site.where(),
                    found=site.around(loops),
                    expected=f"inside {shown}",
                    fix=f"widen T.{'reads' if kind == 'reads' else 'writes'}(...) of the block",
                    nodes=(site.node,),
                )

    # --- vectors ---

    def gather(
        self, site: Site, cells: list[Any], places: Any, kind: Any, shape: Sequence[int], loops: Sequence[Any]
    ) -> Any:
        """The elements at several places, as a vector."""
        values = [cells[place] for place in places.tolist()]
        for place, value in zip(places.tolist(), values, strict=True):
            if value is None:
                self.unwritten(site, place, shape, loops)
        return np.array(values, kind)

    @staticmethod
    def scatter(cells: list[Any], places: Any, values: Any, is_float: bool) -> None:
        """Store the lanes of a vector at several places."""
        for place, value in zip(places.tolist(), values if is_float else values.tolist(), strict=True):
            cells[place] = value

    # --- races ---

    def enter(self, site: Site, variable: str) -> Race:
        race = Race(site, variable)
        self.races.append(race)
        return race

    def leave(self) -> None:
        self.races.pop()

    def note_read(self, site: Site, storage: Storage, shape: Sequence[int], position: Any) -> Any:
        """Record a read of one element (or of several lanes); answers `position`."""
        for place in _places(position):
            for race in self.races:
                key = self._key(race, storage, place)
                writer = race.writers.get(key)
                if writer is not None and writer[0] != race.iteration:
                    _race(
                        race,
                        site,
                        _index_text(shape, place),
                        f"iteration {writer[0]} writes it, iteration {race.iteration} reads it",
                    )
                known = race.readers.get(key, ())
                if len(known) < 2 and race.iteration not in known:
                    race.readers[key] = (*known, race.iteration)
        return position

    def note_write(self, site: Site, storage: Storage, shape: Sequence[int], position: Any) -> Any:
        """Record a write; answers `position`."""
        for place in _places(position):
            for race in self.races:
                key = self._key(race, storage, place)
                writer = race.writers.get(key)
                if writer is not None and writer[0] != race.iteration:
                    _race(
                        race,
                        site,
                        _index_text(shape, place),
                        f"iterations {writer[0]} and {race.iteration} both write it",
                    )
                for reader in race.readers.get(key, ()):
                    if reader != race.iteration:
                        _race(
                            race,
                            site,
                            _index_text(shape, place),
                            f"iteration {reader} reads it, iteration {race.iteration} writes it",
                        )
                race.writers[key] = (race.iteration,)
        return position

    @staticmethod
    def _key(race: Race, storage: Storage, place: int) -> tuple[int, int]:
        race.alive[id(storage.cells)] = storage.cells
        return (id(storage.cells), place)


def _places(position: Any) -> list[int]:
    return [int(place) for place in position] if hasattr(position, "__len__") else [position]


def _race(race: Race, site: Site, index: str, found: str) -> NoReturn:
    name = site.buffer.name if site.buffer is not None else "?"
    raise WorkbenchError(
        "E-TIR-RACE",
        f"iterations of {race.variable} meet at {name}{index}",
        where=site.where(),
        found=found,
        expected="iterations of a parallel or vectorized loop that touch different elements",
        fix=f"make the loop over {race.variable} serial",
        nodes=(site.node, race.site.node),
    )


def _index_text(shape: Sequence[int], place: int) -> str:
    """The indices of a flat position; the position itself for an empty `shape` (a buffer that is not compact)."""
    if not shape:
        return f"[{place}]"
    indices: list[int] = []
    for extent in reversed(shape):
        indices.append(place % max(extent, 1))
        place //= max(extent, 1)
    return f"[{', '.join(map(str, reversed(indices)))}]"


def _inside(box: Sequence[tuple[int, int]], point: Sequence[Any]) -> bool:
    return len(box) == len(point) and all(low <= value < high for (low, high), value in zip(box, point, strict=True))


def _box_text(box: Sequence[tuple[int, int]]) -> str:
    return "[" + ", ".join(f"{low}:{high}" for low, high in box) + "]"
