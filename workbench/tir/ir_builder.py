"""Building statements step by step (the classic `tir.ir_builder`).

    ib = create()
    a, b = ib.buffer_ptr(A), ib.buffer_ptr(B)
    with ib.for_range(0, n, name="i") as i:
        with ib.if_scope(i < 4):
            b[i] = a[i] + 1.0
    body = ib.get()

Invariant: a scope's statements are collected until it is left; `get` answers all that was emitted at the outermost.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from ..arith import build as b
from ..arith.nodes import PrimExpr, Var
from ..core.dtype import DataType
from ..core.errors import WorkbenchError
from . import nodes as t
from .build import indices, listed, seq
from .op import unravelled

_KINDS = {
    "serial": t.ForKind.SERIAL,
    "for": t.ForKind.SERIAL,
    "parallel": t.ForKind.PARALLEL,
    "vectorize": t.ForKind.VECTORIZED,
    "unroll": t.ForKind.UNROLLED,
}


class BufferVar:
    """A buffer that is read and written by indices; one index counts the elements as they lie in memory."""

    def __init__(self, builder: IRBuilder, buffer: t.Buffer) -> None:
        self._builder = builder
        self.buffer = buffer

    @property
    def dtype(self) -> DataType:
        return self.buffer.dtype

    def _where(self, index: Any) -> tuple[PrimExpr, ...]:
        given = listed(index)
        if len(given) == 1 and len(self.buffer.shape) != 1:
            return unravelled(self.buffer, given[0])
        if len(given) != len(self.buffer.shape):
            raise WorkbenchError(
                "E-TIR-RANK", f"buffer {self.buffer.name} has {len(self.buffer.shape)} axes",
                found=f"{len(given)} indices", expected="one index an axis, or a single one for all",
            )  # fmt: skip
        return indices(given)

    def __getitem__(self, index: Any) -> PrimExpr:
        return t.BufferLoad(self.buffer, self._where(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        made = b.convert(value, self.buffer.dtype)
        self._builder.emit(t.BufferStore(self.buffer, b.cast(self.buffer.dtype, made), self._where(index)))


class IRBuilder:
    """See the module's header."""

    def __init__(self) -> None:
        self._suites: list[list[Any]] = [[]]

    # --- emitting ---

    def emit(self, stmt: Any) -> None:
        """Add a statement, or an expression to be evaluated."""
        if isinstance(stmt, PrimExpr):
            stmt = t.Evaluate(stmt)
        if not isinstance(stmt, t.Stmt):
            raise WorkbenchError(
                "E-TIR-BUILDER", "only statements and expressions can be emitted", found=type(stmt).__name__,
                expected="a statement, or a call",
            )  # fmt: skip
        self._suites[-1].append(stmt)

    def get(self) -> t.Stmt:
        """All that was emitted.  Raises `WorkbenchError` E-TIR-BUILDER while a scope is open."""
        if len(self._suites) > 1:
            raise WorkbenchError("E-TIR-BUILDER", "a scope is still open", fix="call get() after the with blocks")
        return _closed(self._suites[0])

    def buffer_ptr(self, buf: t.Buffer, shape: Any = None) -> BufferVar:
        """A buffer to be read and written by indices; `shape` looks at the same elements in another shape."""
        if shape is not None:
            raise WorkbenchError("E-TIR-BUILDER", "a buffer has its own shape here", fix="leave out shape=")
        return BufferVar(self, buf)

    def allocate(self, dtype: str, shape: Any, name: str = "buf", axis_separators: Any = None,
                 scope: str = "global") -> BufferVar:  # fmt: skip
        """A new buffer, which lives until the end of the scope around."""
        buffer = t.Buffer(name, indices(listed(shape)), DataType(dtype), scope)
        self._open(lambda body: t.AllocBuffer(buffer, body))
        return BufferVar(self, buffer)

    def let(self, var_name: str, value: Any) -> Var:
        """A name for a value, until the end of the scope around."""
        made = b.convert(value)
        var = Var(var_name, made.dtype)
        self._open(lambda body: t.LetStmt(var, made, body))
        return var

    def _open(self, close: Callable[[t.Stmt], t.Stmt]) -> None:
        """What follows in this scope is the body of a statement."""
        self._suites[-1].append(close)

    # --- scopes ---

    @contextmanager
    def _suite(self) -> Generator[list[Any], None, None]:
        own: list[Any] = []
        self._suites.append(own)
        try:
            yield own
        finally:
            self._suites.pop()

    @contextmanager
    def for_range(
        self, begin: Any, end: Any, name: str = "i", dtype: str = "int64", kind: str = "serial"
    ) -> Generator[Var, None, None]:
        """for name in begin ... end - 1; the kind is "serial", "parallel", "vectorize" or "unroll"."""
        if kind not in _KINDS:
            raise WorkbenchError("E-TIR-BUILDER", f"there is no loop of kind {kind!r}", expected=", ".join(_KINDS))
        var = Var(name, DataType(dtype))
        with self._suite() as own:
            yield var
        first, last = b.cast(dtype, begin), b.cast(dtype, end)
        self.emit(t.For(var, first, b.subtract(last, first), _KINDS[kind], _closed(own)))

    @contextmanager
    def while_loop(self, condition: Any) -> Generator[None, None, None]:
        """Runs its body as long as the condition holds."""
        with self._suite() as own:
            yield
        self.emit(t.While(b.convert(condition), _closed(own)))

    @contextmanager
    def if_scope(self, cond: Any) -> Generator[None, None, None]:
        """Runs its body if the condition holds."""
        with self._suite() as own:
            yield
        self.emit(t.IfThenElse(b.convert(cond), _closed(own)))

    @contextmanager
    def else_scope(self) -> Generator[None, None, None]:
        """The other case of the `if_scope` before."""
        before = self._suites[-1][-1] if self._suites[-1] else None
        if not isinstance(before, t.IfThenElse) or before.else_case is not None:
            raise WorkbenchError("E-TIR-BUILDER", "an else follows an if", fix="open if_scope first")
        with self._suite() as own:
            yield
        self._suites[-1][-1] = before.replace(else_case=_closed(own))

    def scope_attr(self, node: Any, attr_key: str, value: Any) -> None:
        """Classic attributes of a region have no place in this program form.  Raises `WorkbenchError`."""
        raise WorkbenchError(
            "E-TIR-BUILDER", f"attribute {attr_key} cannot be said of a region", found=attr_key,
            fix="annotate the loop with schedule primitives: annotate, bind",
        )  # fmt: skip

    @staticmethod
    def likely(expr: Any) -> PrimExpr:
        """A condition that is expected to hold."""
        return b.call("likely", expr)

    @staticmethod
    def pointer(content_type: str, name: str = "ptr", scope: str = "") -> Var:
        """A pointer as a variable."""
        return Var(name, DataType("handle"))


def _closed(items: list[Any]) -> t.Stmt:
    """Statements in order; what opens a scope takes those after it as its body."""
    rest: list[t.Stmt] = []
    for item in reversed(items):
        if isinstance(item, t.Stmt):
            rest.insert(0, item)
        else:
            rest = [item(seq(rest))]
    return seq(rest)


def create() -> IRBuilder:
    """A new builder."""
    return IRBuilder()


__all__ = ["BufferVar", "IRBuilder", "create"]
