"""Tensor expressions: tensors are produced by operations, whose bodies are scalar expressions over other tensors.

Nothing here says in which order anything is computed; `te.prim_func` makes loops and blocks of it.

>>> A = Tensor(PlaceholderOp("A", (), DataType("float32")), 0)
>>> A.dtype
'float32'
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from .._lazy import tensor_binary
from ..arith.build import convert
from ..arith.nodes import ExprOperators, PrimExpr, Var, literal
from ..core.dtype import DataType
from ..core.errors import WorkbenchError
from ..core.node import EMPTY, FrozenMap, Node, children, node
from ..core.walks import parents_first
from ..tir.build import indices
from ..tir.nodes import Buffer, IterVar, Stmt


def several(value: Any) -> tuple[Any, ...]:
    """A tuple or list as a tuple; anything else alone in one."""
    return tuple(cast("tuple[Any, ...]", value)) if isinstance(value, (tuple, list)) else (value,)


class Operation(Node):
    """The base of what produces tensors."""

    __slots__ = ()
    is_graph: ClassVar[bool] = True
    name: str

    @property
    def num_outputs(self) -> int:
        return 1

    @property
    def input_tensors(self) -> list[Tensor]:
        """The tensors that the operation reads, each once, in the order of its body."""
        found: list[Tensor] = []
        for part in parents_first(children(self), own_parts):
            if isinstance(part, Tensor) and all(
                part.op is not other.op or part.value_index != other.value_index for other in found
            ):
                found.append(part)
        return found

    def output(self, index: int) -> Tensor:
        """The tensor number `index` that this operation produces."""
        return Tensor(self, index)

    def output_shape(self, index: int) -> tuple[PrimExpr, ...]:
        raise NotImplementedError

    def output_dtype(self, index: int) -> DataType:
        raise NotImplementedError


def own_parts(part: Node) -> tuple[Node, ...]:
    """The parts of an expression; how the tensors in it are computed is their own affair."""
    return () if isinstance(part, Tensor) else children(part)


class TensorOperators:
    """Arithmetic of whole tensors, by broadcasting: ``A + B``, ``2 * A`` are `topi` functions of them."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return tensor_binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return tensor_binary("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return tensor_binary("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return tensor_binary("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return tensor_binary("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return tensor_binary("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return tensor_binary("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return tensor_binary("divide", other, self)

    def __neg__(self) -> Any:
        return tensor_binary("subtract", 0, self)


@node
class Tensor(TensorOperators, Node):
    """Output `value_index` of an operation."""

    op: Operation
    value_index: int
    is_graph: ClassVar[bool] = True

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents: ints where they are constant, else expressions."""
        return tuple(literal(extent, extent) for extent in self.op.output_shape(self.value_index))

    @property
    def dtype(self) -> DataType:
        return self.op.output_dtype(self.value_index)

    @property
    def ndim(self) -> int:
        return len(self.op.output_shape(self.value_index))

    @property
    def name(self) -> str:
        return self.op.name if self.op.num_outputs == 1 else f"{self.op.name}_{self.value_index}"

    def __call__(self, *where: Any) -> ProducerLoad:
        """The element at `where`; one index an axis."""
        if len(where) == 1:
            where = several(where[0])
        if len(where) != self.ndim:
            raise WorkbenchError(
                "E-TE-RANK",
                f"tensor {self.name} has {self.ndim} axes",
                found=f"{len(where)} indices",
                expected=f"{self.name}[{', '.join('i' + str(axis) for axis in range(self.ndim))}]",
            )
        return ProducerLoad(self, indices([convert(index) for index in where]))

    def __getitem__(self, where: Any) -> Any:
        """`A[i, j]`, or `A[i][j]`; fewer indices than axes give a slice that waits for the rest."""
        given = several(where)
        return self(*given) if len(given) >= self.ndim else TensorSlice(self, given)

    def __repr__(self) -> str:
        return f"Tensor({self.name}, shape={list(self.shape)}, dtype={self.dtype})"


class TensorSlice(ExprOperators):
    """A tensor with some of its indices given."""

    __slots__ = ("given", "tensor")

    def __init__(self, tensor: Tensor, given: tuple[Any, ...]) -> None:
        self.tensor = tensor
        self.given = given

    def __getitem__(self, where: Any) -> Any:
        return self.tensor[self.given + several(where)]

    def as_prim_expr(self) -> PrimExpr:
        return self.tensor(*self.given)


@node
class ProducerLoad(PrimExpr):
    """An element of a tensor."""

    producer: Tensor
    indices: tuple[PrimExpr, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.producer.dtype)


@node
class CommReducer(Node):
    """An associative, commutative combination of tuples of values.

    `result` is an expression over `lhs` and `rhs`, `identity` its neutral element; all have equal length.
    """

    lhs: tuple[Var, ...]
    rhs: tuple[Var, ...]
    result: tuple[PrimExpr, ...]
    identity: tuple[PrimExpr, ...]
    binds: ClassVar[tuple[str, ...]] = ("lhs", "rhs")


@node
class Reduce(PrimExpr):
    """The reduction of `source` over `axis` where `condition` holds; output `value_index` of a tuple reduction."""

    combiner: CommReducer
    source: tuple[PrimExpr, ...]
    axis: tuple[IterVar, ...]
    condition: PrimExpr
    value_index: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.source[self.value_index].dtype)


@node
class PlaceholderOp(Operation):
    """A tensor that is given from outside."""

    name: str
    shape: tuple[PrimExpr, ...]
    dtype: DataType
    renameable: ClassVar[tuple[str, ...]] = ("name",)

    def output_shape(self, index: int) -> tuple[PrimExpr, ...]:
        return self.shape

    def output_dtype(self, index: int) -> DataType:
        return self.dtype


@node
class ComputeOp(Operation):
    """Each output element is an expression of its indices (`axis`); `body` has one expression an output."""

    name: str
    axis: tuple[IterVar, ...]
    body: tuple[PrimExpr, ...]
    tag: str = ""
    attrs: FrozenMap = EMPTY
    renameable: ClassVar[tuple[str, ...]] = ("name",)

    @property
    def num_outputs(self) -> int:
        return len(self.body)

    @property
    def reduce_axis(self) -> tuple[IterVar, ...]:
        """The axes of the reduction, if the body is one."""
        first = self.body[0]
        return first.axis if isinstance(first, Reduce) else ()

    def output_shape(self, index: int) -> tuple[PrimExpr, ...]:
        return tuple(axis.dom.extent for axis in self.axis)

    def output_dtype(self, index: int) -> DataType:
        return self.body[index].dtype


@node
class ScanOp(Operation):
    """A recurrence over the first axis: `init` gives the first elements, `update` each further one from earlier ones.

    `update[n]` at time t reads `state_placeholder[m]` at times before t; output n of the operation is the whole of
    state n.  `scan_axis` runs over the times that `update` computes.
    """

    name: str
    init: tuple[Tensor, ...]
    update: tuple[Tensor, ...]
    state_placeholder: tuple[Tensor, ...]
    inputs: tuple[Tensor, ...]
    scan_axis: IterVar
    tag: str = ""
    attrs: FrozenMap = EMPTY
    renameable: ClassVar[tuple[str, ...]] = ("name",)

    @property
    def num_outputs(self) -> int:
        return len(self.update)

    def output_shape(self, index: int) -> tuple[PrimExpr, ...]:
        return self.state_placeholder[index].op.output_shape(self.state_placeholder[index].value_index)

    def output_dtype(self, index: int) -> DataType:
        return self.state_placeholder[index].dtype


@node
class ExternOp(Operation):
    """Tensors made by a statement of one's own over whole buffers: a call of a library, or loops."""

    name: str
    inputs: tuple[Tensor, ...]
    input_placeholders: tuple[Buffer, ...]
    output_placeholders: tuple[Buffer, ...]
    body: Stmt
    tag: str = ""
    attrs: FrozenMap = EMPTY
    renameable: ClassVar[tuple[str, ...]] = ("name",)

    @property
    def num_outputs(self) -> int:
        return len(self.output_placeholders)

    def output_shape(self, index: int) -> tuple[PrimExpr, ...]:
        return self.output_placeholders[index].shape

    def output_dtype(self, index: int) -> DataType:
        return self.output_placeholders[index].dtype
