"""The nodes of the loop IR.

Semantics (expressions: see `arith.nodes`):
* A `PrimFunc` takes buffers and scalars; it returns nothing but a status.  Distinct buffer parameters do not overlap
  (attribute ``noalias``).  Buffers are compact and row-major unless they carry strides (in elements).
* Statements run in order.  A `For` runs its body for var = min ... min + extent - 1; a non-positive extent means not
  at all.  Iterations of a parallel, vectorized or thread-bound loop are independent, reductions apart, which the
  verifier and the schedule primitives see to.
* A `Block` is the unit of scheduling: a computation over its own iterators, which the enclosing loops bind through
  the `BlockRealize` around it.  Its body touches only what `reads` and `writes` declare.  `init` runs before the
  body whenever all reduction iterators are at their minimum.  A block whose predicate is false does nothing.
* Buffers in `alloc_buffers` (before lowering) or an `AllocBuffer` (after) have undefined contents at first and live
  as long as the statement.  Scopes: "global", "local" (registers or stack), "shared", "warp", others by target.
* An access outside a buffer is an error of the program; checked mode reports it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar

from .._lazy import bundle_of
from ..arith.nodes import ExprOperators, PrimExpr, Var
from ..core.dtype import DataType
from ..core.node import EMPTY, FrozenMap, Node, node
from .by_hand import hand_on


class ForKind(StrEnum):
    """How the iterations of a loop are run."""

    SERIAL = "serial"
    PARALLEL = "parallel"
    VECTORIZED = "vectorized"
    UNROLLED = "unroll"
    THREAD_BINDING = "thread_binding"


AT_ONCE = (ForKind.PARALLEL, ForKind.VECTORIZED, ForKind.THREAD_BINDING)
"""Kinds of loops whose iterations run at once, in no order."""


class IterKind(StrEnum):
    """What a block iterator is for; the value is its letter in ``T.axis.remap``."""

    SPATIAL = "S"
    REDUCE = "R"
    SCAN = "C"
    OPAQUE = "O"


@node
class Range(Node):
    """The integers min ... min + extent - 1."""

    min: PrimExpr
    extent: PrimExpr


@node
class Buffer(Node):
    """A named multi-dimensional array.  `strides` are in elements, empty when compact and row-major.

    `axis_separators` are the axes at which a new group begins, for targets whose memory has several dimensions.
    """

    name: str
    shape: tuple[PrimExpr, ...]
    dtype: DataType = DataType("float32")
    scope: str = "global"
    strides: tuple[PrimExpr, ...] = ()
    elem_offset: PrimExpr | None = None
    axis_separators: tuple[int, ...] = ()
    is_variable: ClassVar[bool] = True
    renameable: ClassVar[tuple[str, ...]] = ("name",)

    def access_ptr(self, access_mask: str | int = "rw", ptr_type: str = "handle", content_lanes: int = 1,
                   offset: Any = 0) -> PrimExpr:  # fmt: skip
        """The address of the first element (`offset` elements on), and whether it is read ("r"), written, or both."""
        from .op import access_ptr

        return access_ptr(self, access_mask, offset)

    def vload(self, begin: Any, dtype: str | None = None) -> PrimExpr:
        """The elements from the indices `begin` on, as many as `dtype` has lanes."""
        from .op import vector_element

        return vector_element(self, begin, dtype)

    def vstore(self, begin: Any, value: PrimExpr) -> BufferStore:
        """The statement that stores the lanes of `value` from the indices `begin` on."""
        from .op import vector_store

        return vector_store(self, begin, value)


@node
class BufferRegion(Node):
    """A box of a buffer: one range an axis."""

    buffer: Buffer
    region: tuple[Range, ...]


@node
class BufferLoad(PrimExpr):
    """The element at `indices`; a vector when the last index is one (the others must be scalars)."""

    buffer: Buffer
    indices: tuple[PrimExpr, ...]

    def __post_init__(self) -> None:
        lanes = self.indices[-1].dtype.lanes if self.indices else 1
        dtype = self.buffer.dtype
        object.__setattr__(self, "dtype", dtype if lanes == 1 else dtype.with_lanes(lanes * dtype.lanes))


class Stmt(Node):
    """The base of statements."""

    __slots__ = ()


@node
class BufferStore(Stmt):
    """buffer[indices] = value.  A vector value goes with a vector last index."""

    buffer: Buffer
    value: PrimExpr
    indices: tuple[PrimExpr, ...]


@node
class SeqStmt(Stmt):
    """Statements in order; never nested directly, at least two (see `tir.build.seq`)."""

    stmts: tuple[Stmt, ...]


@node
class For(Stmt):
    """A loop; see the module's header.  `thread` names the axis of a thread-bound loop ("threadIdx.x")."""

    var: Var
    min: PrimExpr
    extent: PrimExpr
    kind: ForKind
    body: Stmt
    thread: str = ""
    annotations: FrozenMap = EMPTY
    binds: ClassVar[tuple[str, ...]] = ("var",)

    @property
    def is_cross_thread(self) -> bool:
        """Whether the threads of the loop combine their values: such a loop means the reduction in its order."""
        return self.kind is ForKind.THREAD_BINDING and bool(self.annotations.get("cross_thread"))

    @property
    def has_private_buffers(self) -> bool:
        """Whether a buffer used only inside is each iteration's own: what one passed on, nobody would receive."""
        return self.kind in AT_ONCE and not self.is_cross_thread


@node
class While(Stmt):
    """Runs `body` as long as `condition` holds."""

    condition: PrimExpr
    body: Stmt


@node
class IfThenElse(Stmt):
    condition: PrimExpr
    then_case: Stmt
    else_case: Stmt | None = None


@node
class LetStmt(Stmt):
    """`body` with `var` standing for `value`, evaluated once."""

    var: Var
    value: PrimExpr
    body: Stmt
    binds: ClassVar[tuple[str, ...]] = ("var",)


@node
class AssertStmt(Stmt):
    """Stops the function with `message` unless `condition` holds."""

    condition: PrimExpr
    message: str


@node
class Evaluate(Stmt):
    """Evaluates an expression for its effect."""

    value: PrimExpr


@node
class AllocBuffer(Stmt):
    """Storage for `buffer` during `body` (after blocks are lowered)."""

    buffer: Buffer
    body: Stmt
    annotations: FrozenMap = EMPTY
    binds: ClassVar[tuple[str, ...]] = ("buffer",)


@node
class IterVar(ExprOperators, Node):
    """An iterator of a block or a te stage: a variable over a domain.  In expressions it stands for its variable."""

    var: Var
    dom: Range
    kind: IterKind
    thread_tag: str = ""
    """The thread that it stands for (`te.thread_axis`); blocks have none."""
    binds: ClassVar[tuple[str, ...]] = ("var",)
    __hash__ = Node.__hash__

    def as_prim_expr(self) -> PrimExpr:
        return self.var


@node
class Block(Stmt):
    """A schedulable computation; see the module's header.  Its name is unique within the function."""

    name: str
    iter_vars: tuple[IterVar, ...]
    reads: tuple[BufferRegion, ...]
    writes: tuple[BufferRegion, ...]
    alloc_buffers: tuple[Buffer, ...]
    init: Stmt | None
    body: Stmt
    annotations: FrozenMap = EMPTY
    binds: ClassVar[tuple[str, ...]] = ("alloc_buffers",)


@node
class BlockRealize(Stmt):
    """One execution of `block` with its iterators at `iter_values`, if `predicate` holds."""

    iter_values: tuple[PrimExpr, ...]
    predicate: PrimExpr
    block: Block


@node
class PrimFunc(Node):
    """A function of the loop IR.

    Parameters are buffers and scalars; shape variables of the buffers are bound from the arguments.  Attributes in
    use: ``global_symbol`` (exported name), ``target`` (a `Target`), ``noalias``, ``role`` ("kernel" or "entry").
    """

    params: tuple[Var | Buffer, ...]
    body: Stmt
    attrs: FrozenMap = EMPTY
    ret_dtype: DataType = DataType("void")
    binds: ClassVar[tuple[str, ...]] = ("params",)

    def __post_init__(self) -> None:
        if type(self.params) is not tuple:
            object.__setattr__(self, "params", tuple(self.params))

    def replace(self, **changes: Any) -> PrimFunc:
        """As of every node; what is made of a function that an edit made is such a one."""
        made: Any = Node.replace(self, **changes)  # not super(): the class with slots is another one
        hand_on({"": self}, {"": made})
        return made

    def __str__(self) -> str:
        """The function's script: what ``print(function)`` shows."""
        from .script import script

        return script(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return bundle_of(self)
