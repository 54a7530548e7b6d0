"""Value numbering: an instruction without effects is emitted once, where its operands are bound.

The emitter keeps a stack of scopes: the function, the body of a loop, an arm of a condition.  The level of a value is
the number of the scope that it is defined in.  What is asked for inside of scope k + 1, but depends on values of level
k at most, goes to a segment that stands in scope k, right in front of scope k + 1.

    for i in range(8):          # scope 1, in which i is bound
                                # i * 8 goes here, in front of scope 2
        for j in range(8):      # scope 2
            a[i * 8 + j]        # the sum is computed here

Integers may be computed before a condition is known (they cannot trap); vectors, floats and loads stay in their arm.
A load moves out of loops that surely run and that do not write its buffer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ...core.dtype import DataType
from .types import Value
from .writer import FunctionWriter, Line

_REGISTER: Final = re.compile(r"%[\w.]+")
_INTEGERS: Final = frozenset(
    ("add", "sub", "mul", "and", "or", "xor", "shl", "ashr", "lshr", "icmp", "select", "zext", "sext", "trunc",
     "bitcast", "getelementptr", "extractelement", "insertelement", "shufflevector")
)  # fmt: skip
_DIVISIONS: Final = frozenset(("sdiv", "udiv", "srem", "urem"))
_FLOATS: Final = frozenset(
    ("fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "fcmp", "fptrunc", "fpext", "sitofp", "uitofp", "fptosi", "freeze")
)
_CONSTANT_DIVISOR: Final = re.compile(r", (?:-?\d+|splat \(.*\))$")
_PURE_CALL: Final = re.compile(
    r"call (?:nsz )?[^@]*@llvm\.(?:fabs|sqrt|fma|minimum|maximum|[su]min|[su]max|fpto[su]i|abs|ctpop|copysign|floor|"
    r"ceil|trunc|roundeven|vector\.reduce)\."
)


class Scope:
    """A stretch of code of which all parts follow its beginning."""

    __slots__ = ("arm", "before", "known", "opaque", "parts", "place", "written")

    def __init__(
        self, before: list[Line], place: int | None, arm: bool, opaque: bool, written: frozenset[int] | None
    ) -> None:
        self.before = before
        """The segment in front of it, in the scope around it."""
        self.place = place
        """The debug scope that it lies in."""
        self.arm = arm
        """Whether it runs under a condition of its own."""
        self.opaque = opaque
        """Whether loads must stay inside: it may not run, or what stands before it may end the call."""
        self.written = written
        """Buffers that it writes, by identity; None if that is unknown."""
        self.known: dict[str, tuple[Value, Line]] = {}
        """Values by the text of their instruction."""
        self.parts: dict[int, Value] = {}
        """Values of parts of indices, by the identity of the expression."""


class Numbering:
    """The scopes of one function under construction, and the values known in them."""

    def __init__(self, writer: FunctionWriter, written: frozenset[int] | None = None) -> None:
        self.writer = writer
        self.levels: dict[str, int] = {}
        self.scopes = [Scope([], writer.place, False, True, written)]

    # --- scopes ---

    @property
    def here(self) -> int:
        """The level of what is defined now."""
        return len(self.scopes) - 1

    @contextmanager
    def scope(
        self, before: list[Line], written: frozenset[int] | None, arm: bool = False, opaque: bool = True
    ) -> Iterator[None]:
        """What is emitted inside is a scope of its own, up to the end of which its values are known.

        `before` is a segment in front of the branch that leads here.
        """
        outer = len(self.scopes)
        self.scopes.append(Scope(before, self.writer.place, arm, opaque, written))
        try:
            yield
        finally:
            del self.scopes[outer:]

    def barrier(self) -> None:
        """From here on the rest of the scope may not be reached: no load moves above this point."""
        self.scopes.append(Scope(self.writer.segment(), self.writer.place, False, True, self.scopes[-1].written))

    def bind(self, value: Value) -> Value:
        """`value` belongs to the innermost scope."""
        self.levels[value.text] = self.here
        return value

    # --- values ---

    def assign(self, dtype: DataType, text: str) -> Value:
        """The value of an instruction; one without effects may have been emitted before."""
        floor = self._floor(text)
        if floor is None:
            value = self.writer.assign(dtype, text)
            self.levels[value.text] = self.here
            return value
        return self.numbered(dtype, text, floor)

    def load(self, dtype: DataType, text: str, buffer: int) -> Value:
        """The value of a load of a buffer, by identity: read once where nothing in between writes it."""
        lowest = len(self.scopes)
        while lowest > 0:
            scope = self.scopes[lowest - 1]
            if scope.written is None or buffer in scope.written:
                break
            lowest -= 1
            if scope.opaque:
                break
        if lowest == len(self.scopes):
            value = self.writer.assign(dtype, text)
            self.levels[value.text] = self.here
            return value
        return self.numbered(dtype, text, lowest)

    def numbered(self, dtype: DataType, text: str, floor: int) -> Value:
        """The value of an instruction without effects, at level `floor` or where its operands are bound."""
        levels = self.levels
        level = floor
        for register in _REGISTER.findall(text):
            own = levels.get(register, 0)
            if own > level:
                level = own
        scope = self.scopes[level]
        found = scope.known.get(text)
        if found is not None:
            if found[1].location != self.writer.location:
                self._share(found[1], scope)
            return found[0] if found[0].dtype is dtype else Value(found[0].text, dtype)
        inside = level == self.here
        if inside and self.writer.terminated:
            return self.writer.assign(dtype, text)
        value, line = self.writer.numbered(dtype, text, None if inside else self.scopes[level + 1].before)
        levels[value.text] = level
        scope.known[text] = (value, line)
        return value

    def _floor(self, text: str) -> int | None:
        """The lowest level at which an instruction may stand; None if it has effects or depends on memory."""
        opcode = text[: text.index(" ")]
        if opcode in _INTEGERS or (opcode in _DIVISIONS and _CONSTANT_DIVISOR.search(text)):
            return self._arm() if "<" in text else 0
        if opcode in _DIVISIONS:
            return self.here  # an operand that overflows where nobody asks for it must not be divided by
        if opcode in _FLOATS:
            return self._arm()
        if opcode == "call" and _PURE_CALL.match(text):
            return self._arm()
        return None

    def _arm(self) -> int:
        """The level of the innermost arm."""
        for number in range(len(self.scopes) - 1, 0, -1):
            if self.scopes[number].arm:
                return number
        return 0

    def _share(self, line: Line, scope: Scope) -> None:
        """An instruction is wanted at another place, too: its line stays, its scope is where it stands."""
        if scope.place is not None:
            line.move(self.writer.module.location(scope.place, line.line), line.line)
