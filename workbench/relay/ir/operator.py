"""The operator protocol: an operator is one class, its attributes are the class's fields.

An *instance* is an operator with its attribute values, and stands as `Call.op`; so `call.attrs` is `call.op`, and
`call.op.name`, `call.attrs.axis` read as in the classic API.

    @operator("nn.softmax")
    class Softmax(Operator):
        '''Turn scores along `axis` into probabilities.'''
        axis: int = attribute(-1, "dimension that sums to one")
        fusion = Fusion.OPAQUE

        def infer(self, x: TensorType) -> Type: ...
        def compute(self, x: te.Tensor) -> te.Tensor: ...
        def reference(self, x): ...
        examples = (example(rand(2, 5), axis=1), bad(rand(2), axis=3, error="axis 3"))

From that one class come the relay builder `nn.softmax(x, axis=1)`, text, type check, interpreter (`reference`),
lowering (`compute` or `decompose`), forms, docs and conformance tests.  Parameters of `infer` name the operands; a
parameter ``*tensors`` takes any number; one with a default may be left out.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from enum import Enum, IntEnum
from functools import cache
from typing import Any, ClassVar, TypeVar, dataclass_transform

from ...core.code_key import held_key
from ...core.code_names import is_own
from ...core.equal import data_equal
from ...core.errors import WorkbenchError
from ...core.node import Node, node
from ...core.table import Table
from .types import TensorType, Type

C = TypeVar("C", bound="type[Operator]")

OPERATORS: Table[type[Operator]] = Table("operator", filled_by=("workbench.topi.all_operators",))
"""Every operator class by name."""


class Fusion(IntEnum):
    """How an operator may join a fused function (Relay's TOpPattern)."""

    ELEMWISE = 0
    """output[i] depends on inputs[i] of equal shape"""
    BROADCAST = 1
    """as above, with broadcasting of axes in order"""
    INJECTIVE = 2
    """each output element from one element of each input"""
    COMM_REDUCE = 3
    """a commutative reduction; elementwise producers may join"""
    OUT_ELEMWISE_FUSABLE = 4
    """a heavy operator whose output elementwise consumers may join"""
    TUPLE = 7
    OPAQUE = 8
    """stands alone"""


class Precision(Enum):
    """What computing in a smaller float does to an operator (`ToMixedPrecision`)."""

    ALWAYS = "always"
    """heavy, and worth it: operands are cast, it adds up in float32 (needs the attribute `out_dtype`)"""
    FOLLOW = "follow"
    """as precise in the small float as its operands are: computed in it if they come in it"""
    NEVER = "never"
    """loses too much: float32"""
    UNSTATED = "unstated"
    """goes by the option `missing_op_mode`"""


@dataclasses.dataclass(frozen=True)
class ChannelAxes:
    """Where the channels of an operator lie that is linear in operand 0 (data) and operand 1 (weight).

    Each output channel of the result depends on its own slice of the weight along `weight_output`; `groups` parts of
    the channels are independent, and `weight_input` counts the channels of one.  Negative axes count from the end.
    """

    data: int
    result: int
    weight_input: int
    weight_output: int
    groups: int = 1


@dataclasses.dataclass(frozen=True)
class Placed:
    """How the axes of a tensor lie: in the program as written ("NCHW"), and now ("NHWC", "NCHW16c")."""

    before: str
    now: str


@dataclasses.dataclass(frozen=True)
class Arrangement:
    """How an operator computes on rearranged data: itself with other attributes, its operands, its result.

    `op` None: the operand is the result.  Of operands and results, None means: as written.
    """

    op: Any
    operands: tuple[Any, ...]
    result: Any


@dataclasses.dataclass(frozen=True)
class Example:
    """A case for conformance tests, docs and fuzzing: inputs are arrays or callables of a random generator."""

    inputs: tuple[Any, ...]
    attributes: dict[str, Any]
    error: str = ""
    """Empty for a good case; else part of the message that must refuse it."""
    tolerance: float | None = None


class Operator(Node):
    """The base of operators; see the module's header.  Subclasses are made with `@operator(name)`."""

    __slots__ = ()
    name: ClassVar[str] = ""
    fusion: ClassVar[Fusion] = Fusion.OPAQUE
    aliases: ClassVar[dict[str, str]] = {}
    """Names in other frameworks whose operands and attributes agree one to one: {"onnx": "Softmax"}."""
    examples: ClassVar[tuple[Example, ...]] = ()
    effects: ClassVar[bool] = False
    """True if calls may not be removed, merged or moved."""
    aliasing: ClassVar[int | None] = None
    """The operand whose elements the result holds, all of them and in their order: it may share that memory."""
    moves: ClassVar[bool] = False
    """True if every element of the result is some element of operand 0, perhaps converted (`aliasing` says more)."""
    commutative: ClassVar[bool] = False
    """True if the two operands may change places."""
    multiplies_and_adds: ClassVar[bool] = False
    """True if each element of the result is a sum of products of two operands' elements (convolution, product)."""
    padding_value: ClassVar[float | None] = None
    """What the attribute `padding` adds around operand 0, along the spatial axes (-inf: the least number)."""
    family: ClassVar[str] = ""
    """The implementations that compute it (`lower.implementations`); none: its loops are as `compute` has them."""
    fast_layout: ClassVar[str] = ""
    """The one layout of data over which it has a fast form; AlterOpLayout moves data back to it."""
    fast_variant: ClassVar[str] = ""
    """An operator of the same operands and attributes that approximates this one."""
    precision: ClassVar[Precision] = Precision.UNSTATED
    """How it stands to computing in a smaller float."""
    accumulates: ClassVar[bool] = False
    """True if it adds up or multiplies many values: float16 and bfloat16 are then computed in float32."""
    parameters: ClassVar[tuple[str, ...]] = ()
    """Order of operands and attributes in a call (classic signatures); by default operands, then attributes."""

    def __post_init__(self) -> None:
        for name, convert, choices in _checks(type(self)):
            object.__setattr__(self, name, _checked(self, name, getattr(self, name), convert, choices))

    def __eq__(self, other: object) -> bool:
        """Itself, or its class: `call.op == relay.op.get("add")` asks which operator is called."""
        return self is other or (isinstance(other, type) and type(self) is other)  # pyright: ignore[reportUnnecessaryComparison]

    __hash__ = object.__hash__

    def keys(self) -> tuple[str, ...]:
        """The names of the attributes: with `[]`, what ``dict(call.attrs)`` asks for."""
        return type(self).field_names

    def __getitem__(self, name: str) -> Any:
        """An attribute by name.  Raises KeyError for an unknown one."""
        if name not in type(self).field_names:
            raise KeyError(name)
        return getattr(self, name)

    def infer(self, *types: Any) -> Type:
        """The result's type from the operands' types.  Raises `WorkbenchError` when they do not fit."""
        raise NotImplementedError(self.name)

    def deduce(self, *types: Any) -> Sequence[Type | None]:
        """Types of operands whose own is unknown (None), as far as attributes and other operands tell them."""
        return types

    def reference(self, *values: Any) -> Any:
        """The result in NumPy: what the operator means."""
        raise NotImplementedError(self.name)

    def rounding(self, *operands: Any) -> float:
        """How many times those of `reference` the roundings of `compute` may be, for operands of these types."""
        return 1.0

    def compute(self, *tensors: Any) -> Any:
        """The result as te tensors (one, or a list for a tuple)."""
        raise NotImplementedError(self.name)

    def loops(self, *types: Any) -> Any:
        """The result as a loop function in block form over the operands, then the results; or None.

        Goes before `compute` where the operator is a kernel of its own.
        """
        return None

    def decompose(self, *operands: Any) -> Any:
        """The result as a relay expression of simpler operators, or None; operands have types."""
        return None

    def flops(self, *types: Any) -> int:
        """Floating-point operations of one call (0 for data movement)."""
        return 0

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Arrangement | None:
        """The layout rule (`topi.arrange`): how to compute on operands that lie differently, or as `wish` says.

        None: only on data as written.  What is elementwise follows its operands by itself.
        """
        shapes = [getattr(kind, "shape", None) for kind in types]
        placed = next((found for found in operands if isinstance(found, Placed)), None)
        if self.fusion is not Fusion.ELEMWISE or placed is None or any(shape != shapes[0] for shape in shapes):
            return None
        return Arrangement(self, (placed,) * len(operands), placed)

    def repeated(self, *values: Any) -> Any:
        """The one value that the result repeats where operand i repeats `values[i]`.

        None stands for several values, or unknown ones: of an operand, and of the result.
        """
        if self.aliasing is not None:
            return values[self.aliasing]
        if not values or any(value is None for value in values):
            return None
        if self.moves:
            return values[0] if len(values) == 1 else None
        return self.reference(*values) if self.fusion is Fusion.BROADCAST and not self.field_names else None

    def channel_axes(self) -> ChannelAxes | None:
        """The axes of channels, where factors along them may move into the weight; None: the operator is not linear."""
        return None

    def packed(self, lanes: int, *operands: Any) -> Any:
        """The call as relay calls that read the weight in blocks of `lanes` output channels.

        A `core.rewrite.Failure` says why these operands do not fit; None: the operator has no such form.
        """
        return None

    def packed_bytes(self, lanes: int, dot: tuple[str, str], *operands: Any) -> Any:
        """The same for an instruction that adds four products of bytes to each of `lanes` numbers.

        `dot`: the dtypes of what it multiplies (`Target.dot_dtypes`).  A `Failure` or None as for `packed`.
        """
        return None

    def tiled(self, lanes: int, *operands: Any) -> Any:
        """The call by Winograd's tiles over a weight in blocks of `lanes` output channels, where that is faster.

        A `core.rewrite.Failure` or None as for `packed`.
        """
        return None

    @property
    def attributes(self) -> dict[str, Any]:
        """Attribute values by name."""
        return {name: getattr(self, name) for name in type(self).field_names}

    @property
    def changed_attributes(self) -> dict[str, Any]:
        """The attributes whose values differ from their defaults."""
        defaults = _defaults(type(self))
        return {name: value for name, value in self.attributes.items() if not data_equal(value, defaults[name])}

    @classmethod
    def operands(cls) -> tuple[inspect.Parameter, ...]:
        """The operands, from the signature of `infer`."""
        return _operands(cls)


@cache
def _operands(cls: type[Operator]) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(cls.infer).parameters.values())[1:]


@cache
def _defaults(cls: type[Operator]) -> dict[str, Any]:
    fields: Any = dataclasses.fields(cls)  # type: ignore[arg-type]
    return {field.name: field.default for field in fields}


@cache
def _checks(cls: type[Operator]) -> tuple[tuple[str, Callable[[Any], Any] | None, tuple[Any, ...]], ...]:
    """Name, converter and choices of the attributes that have either."""
    fields: Any = dataclasses.fields(cls)  # type: ignore[arg-type]
    found = ((field.name, field.metadata.get("convert"), field.metadata.get("choices", ())) for field in fields)
    return tuple((name, convert, choices) for name, convert, choices in found if convert is not None or choices)


def _checked(
    op: Operator, name: str, value: Any, convert: Callable[[Any], Any] | None, choices: tuple[Any, ...]
) -> Any:
    """An attribute's value in canonical form.  Raises `WorkbenchError` when it is none."""
    if convert is not None:
        try:
            value = convert(value)
        except (TypeError, ValueError) as problem:
            raise WorkbenchError(
                "E-OPERATOR-ATTRIBUTE", f"{op.name}: {name} cannot be {repr(value)[:80]}", expected=str(problem)
            ) from None
    if choices and value not in choices:
        raise WorkbenchError(
            "E-OPERATOR-ATTRIBUTE",
            f"{op.name}: {name} cannot be {repr(value)[:80]}",
            expected="one of " + ", ".join(repr(choice) for choice in choices),
        )
    return value


def attribute(
    default: Any = dataclasses.MISSING,
    doc: str = "",
    choices: tuple[Any, ...] = (),
    convert: Callable[[Any], Any] | None = None,
) -> Any:
    """An attribute of an operator: its default (none: it must be given), meaning and, if limited, its values.

    `convert` brings a value into its canonical form (lists to tuples, ints); it raises ValueError or TypeError with
    what was expected as its message.
    """
    return dataclasses.field(default=default, metadata={"doc": doc, "choices": choices, "convert": convert})


@dataclass_transform(frozen_default=True, eq_default=False, kw_only_default=True, field_specifiers=(attribute,))
def operator(name: str, *, override: bool = False) -> Callable[[C], C]:
    """Declare an operator class and register it as `name`."""

    def decorate(cls: C) -> C:
        own = [key for key in inspect.get_annotations(cls) if hasattr(Operator, key)]
        if own:
            raise WorkbenchError(
                "E-OPERATOR-FIELD", f"operator {name}: {own[0]!r} is a fact of the class, not an attribute"
            )
        made: Any = node(cls)
        made.name = name
        if not is_own(cls.__module__):
            made.class_code = classmethod(_code_of)
        _check_facts(made)
        OPERATORS.register(name, made, override=override)
        return made

    return decorate


def _code_of(cls: type[Operator]) -> str:
    return held_key(cls).key


def _check_facts(cls: type[Operator]) -> None:
    """Facts of the class that passes rely on.  Raises `WorkbenchError` for one that cannot be."""
    stated: dict[str, Any] = {fact: getattr(cls, fact) for fact in ("precision", "aliasing")}
    if not isinstance(stated["precision"], Precision):
        _refuse_fact(cls, "precision", "a member of relay.ir.operator.Precision")
    if cls.precision is Precision.ALWAYS and "out_dtype" not in cls.field_names:
        _refuse_fact(cls, "precision", "the attribute out_dtype, in which a heavy operator adds up")
    spatial = {"layout", "data_layout"} & {*cls.field_names}
    if cls.padding_value is not None and ("padding" not in cls.field_names or not spatial):
        _refuse_fact(cls, "padding_value", "the attributes padding, and data_layout or layout")
    operand = stated["aliasing"]
    if operand is not None and (not isinstance(operand, int) or not 0 <= operand < len(cls.operands())):
        _refuse_fact(cls, "aliasing", "the number of an operand, or None")


def _refuse_fact(cls: type[Operator], fact: str, expected: str) -> None:
    raise WorkbenchError(
        "E-OPERATOR-FACT",
        f"operator {cls.name}: {fact} cannot be that",
        found=f"{fact} = {getattr(cls, fact)!r}",
        expected=expected,
    )


def example(*inputs: Any, tolerance: float | None = None, **attributes: Any) -> Example:
    """A good case; see `Example`."""
    return Example(inputs, attributes, "", tolerance)


def bad(*inputs: Any, error: str, **attributes: Any) -> Example:
    """A case that must be refused with a message that contains `error`."""
    return Example(inputs, attributes, error)


def tensor_operand(op: Operator, value: Any, which: str) -> TensorType:
    """`value` as a tensor type, or a located refusal."""
    if isinstance(value, TensorType):
        return value
    raise WorkbenchError(
        "E-TYPE-OPERAND", f"{op.name}: {which} must be a tensor", found=repr(value), expected="a tensor type"
    )
