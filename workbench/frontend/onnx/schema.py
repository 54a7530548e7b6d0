"""What the ONNX standard says of an operator at a version: operands, attributes, element types, a body if it has one.

Nodes are judged by this before any converter sees them, so that converters may rely on it.

    check_node(record, opset=17)      # arity and attributes
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ...core.errors import WorkbenchError, nearest, shorten
from .records import NodeRecord
from .tensors import DTYPES

_VARIADIC = 2**31 - 1


@dataclass(frozen=True)
class Signature:
    """One version of one standard operator."""

    since: int
    deprecated: bool
    operands: tuple[tuple[str, bool, str], ...]
    """(name, required, type parameter) in order; the last repeats if `variadic`."""
    variadic: bool
    least: int
    outputs: tuple[int, int]
    attributes: dict[str, tuple[int, bool]]
    """Name to (AttributeProto type, required)."""
    element_types: dict[str, frozenset[str]]
    """Type parameter to allowed types such as "tensor(float)"."""
    bodies: tuple[int, ...]
    """Opset versions at which the standard gives a body of simpler operators."""
    bodies_by_type: tuple[int, ...]

    @property
    def most(self) -> int:
        return _VARIADIC if self.variadic else len(self.operands)


@cache
def signature_of(op_type: str, domain: str, opset: int) -> Signature | None:
    """The signature in force at `opset`, or None if the standard has no such operator."""
    from onnx import defs

    try:
        schema: Any = defs.get_schema(op_type, opset, domain)
    except defs.SchemaError:
        return None
    single = defs.OpSchema.FormalParameterOption.Single
    variadic = defs.OpSchema.FormalParameterOption.Variadic
    return Signature(
        schema.since_version,
        schema.deprecated,
        tuple((item.name, item.option in (single, variadic), item.type_str) for item in schema.inputs),
        bool(schema.inputs) and schema.inputs[-1].option == variadic,
        schema.min_input,
        (schema.min_output, schema.max_output),
        {name: (_number(item.type), item.required) for name, item in schema.attributes.items()},
        {item.type_param_str: frozenset(item.allowed_type_strs) for item in schema.type_constraints},
        tuple(schema.function_opset_versions),
        tuple(schema.context_dependent_function_opset_versions),
    )


_ATTRIBUTE_TYPES = (
    "UNDEFINED", "FLOAT", "INT", "STRING", "TENSOR", "GRAPH", "FLOATS", "INTS", "STRINGS", "TENSORS", "GRAPHS",
    "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS",
)  # fmt: skip


def _number(kind: Any) -> int:
    return _ATTRIBUTE_TYPES.index(kind.name)


def _refuse(record: NodeRecord, where: str, message: str, found: str, expected: str, fix: str) -> WorkbenchError:
    return WorkbenchError(
        "E-ONNX-NODE",
        f"{record.label}: {message}",
        where=where,
        found=found,
        expected=expected,
        fix=fix,
    )


def check_node(record: NodeRecord, opset: int, where: str) -> None:
    """Refuse a node whose operands or attributes are not those of its operator.  Unknown operators pass."""
    signature = signature_of(record.op_type, record.domain, opset)
    if signature is None or signature.deprecated:
        return
    _check_arity(record, signature, opset, where)
    for name, attribute in record.attributes.items():
        if attribute.ref_attr_name:
            continue
        if name not in signature.attributes:
            raise _refuse(
                record, where, f"unknown attribute '{shorten(name, 60)}'", shorten(name, 60),
                ", ".join(signature.attributes) or "no attributes",
                nearest(name, signature.attributes) or "export again",
            )  # fmt: skip
        wanted = signature.attributes[name][0]
        if attribute.type != wanted:
            raise _refuse(
                record, where, f"attribute '{name}' has the wrong type", _type_name(attribute.type), _type_name(wanted),
                "export again",
            )  # fmt: skip
    for name, (_, required) in signature.attributes.items():
        if required and name not in record.attributes:
            raise _refuse(record, where, f"attribute '{name}' is missing", "none", name, "export again")


def _type_name(number: int) -> str:
    return _ATTRIBUTE_TYPES[number] if 0 <= number < len(_ATTRIBUTE_TYPES) else f"type {number}"


def _check_arity(record: NodeRecord, signature: Signature, opset: int, where: str) -> None:
    given = len(record.inputs)
    allowed = str(signature.least) if signature.least == signature.most else f"{signature.least} to {signature.most}"
    if signature.variadic:
        allowed = f"at least {signature.least}"
    if not signature.least <= given <= signature.most:
        many = "few" if given < signature.least else "many"
        raise _refuse(
            record, where, f"too {many} inputs", str(given), f"{allowed} (opset {opset})", "export again for this opset"
        )
    for position, read in enumerate(record.inputs):
        name, required, _ = signature.operands[min(position, len(signature.operands) - 1)]
        if not read and required:
            raise _refuse(
                record, where, f"input {position} ({name}) is left out", "an empty name", "a value", "export again"
            )
    least, most = signature.outputs
    if not least <= len(record.outputs) <= most:
        raise _refuse(
            record, where, "wrong number of outputs", str(len(record.outputs)), f"{least} to {most}", "export again"
        )


def check_given(record: NodeRecord, opset: int, operands: Sequence[Any], where: str) -> None:
    """Refuse a node of which a required operand has a name and yet no value: its function was called without it."""
    if all(operand is not None for operand in operands):
        return
    signature = signature_of(record.op_type, record.domain, opset)
    for position, operand in enumerate(operands):
        if operand is not None or signature is None or not signature.operands:
            continue
        name, required, _ = signature.operands[min(position, len(signature.operands) - 1)]
        if required:
            raise _refuse(
                record, where, f"input {position} ({name}) has no value",
                f"'{shorten(record.inputs[position], 60)}', which the function was called without", "a value",
                "call the function with all of its inputs",
            )  # fmt: skip


def standard_refusal(record: NodeRecord, opset: int, types: Sequence[tuple[str, tuple[int, ...]] | None]) -> str:
    """Why the standard's own inference refuses a node on operands of these (dtype, shape); "" if it does not, or if
    the operator is none of its own."""
    if signature_of(record.op_type, record.domain, opset) is None:
        return ""
    from onnx import checker, defs, helper, shape_inference

    numbers = {name: number for number, name in DTYPES.items()}
    given = {
        name: helper.make_tensor_type_proto(numbers[known[0]], known[1])
        for name, known in zip(record.inputs, types, strict=True)
        if known is not None and name
    }
    node = helper.make_node(record.op_type, record.inputs, record.outputs, domain=record.domain)
    node.attribute.extend(record.attributes.values())
    try:
        schema: Any = defs.get_schema(record.op_type, opset, record.domain)
        shape_inference.infer_node_outputs(schema, node, given, opset_imports=[helper.make_opsetid("", opset)])
    except (
        checker.ValidationError, defs.SchemaError, shape_inference.InferenceError, RuntimeError, ValueError
    ) as error:  # fmt: skip
        return shorten(str(error).replace("\n", " "), 300)
    return ""


_STANDARD_NAMES = {"float32": "float", "float64": "double", "float4_e2m1fn": "float4e2m1"}


def check_element_types(record: NodeRecord, opset: int, dtypes: Sequence[str | None], where: str) -> None:
    """Refuse operands whose element types the operator does not take, or that ought to be equal and are not."""
    signature = signature_of(record.op_type, record.domain, opset)
    if signature is None or signature.deprecated:
        return
    bound: dict[str, str] = {}
    for position, dtype in enumerate(dtypes):
        if dtype is None or position >= signature.most:
            continue
        name, _, parameter = signature.operands[min(position, len(signature.operands) - 1)]
        allowed = signature.element_types.get(parameter, frozenset({parameter}))
        standard = f"tensor({_STANDARD_NAMES.get(dtype, dtype.replace('_', ''))})"
        if standard not in allowed and any(item.startswith("tensor(") for item in allowed):
            raise _refuse(
                record, where, f"input {position} ({name}) cannot be {dtype}", dtype,
                shorten(", ".join(sorted(item[7:-1] for item in allowed if item.startswith("tensor("))), 200),
                "add a Cast in the exporter",
            )  # fmt: skip
        mixed = signature.variadic and position >= len(signature.operands) - 1 and parameter not in _HOMOGENEOUS
        if parameter in signature.element_types and not mixed and bound.setdefault(parameter, dtype) != dtype:
            raise _refuse(
                record, where, "the inputs must have one element type", f"{bound[parameter]} and {dtype}",
                f"equal element types ({parameter})", "add a Cast in the exporter",
            )  # fmt: skip


_HOMOGENEOUS = ("T",)
"""Type parameters whose variadic operands share one element type (Concat, Sum, Max); Loop's V does not."""


# --- bodies that the standard gives -------------------------------------------------------------------------------


def has_body(op_type: str, domain: str, opset: int) -> bool:
    """Whether the standard defines the operator by simpler ones at `opset`."""
    signature = signature_of(op_type, domain, opset)
    if signature is None or signature.deprecated:
        return False
    return any(version <= opset for version in (*signature.bodies, *signature.bodies_by_type))


def body_of(
    record: NodeRecord, opset: int, types: Sequence[tuple[str, tuple[int, ...]] | None], where: str = ""
) -> Any:
    """The FunctionProto that defines the node, for operands of these (dtype, shape); None if there is none."""
    import onnx
    from onnx import defs, helper

    signature = signature_of(record.op_type, record.domain, opset)
    if signature is None:
        return None
    schema: Any = defs.get_schema(record.op_type, opset, record.domain)
    plain = [version for version in signature.bodies if version <= opset]
    if plain:
        return onnx.FunctionProto.FromString(schema.get_function_with_opset_version(max(plain)))
    typed = [version for version in signature.bodies_by_type if version <= opset]
    if not typed:
        return None
    numbers = {name: number for number, name in DTYPES.items()}
    node = helper.make_node(record.op_type, record.inputs, record.outputs, domain=record.domain)
    node.attribute.extend(record.attributes.values())
    protos = [
        helper.make_tensor_type_proto(numbers[known[0]], known[1]).SerializeToString() if known else b""
        for known in types
    ]
    try:
        made = schema.get_context_dependent_function_with_opset_version(max(typed), node.SerializeToString(), protos)
    except (LookupError, RuntimeError, TypeError, ValueError) as error:
        raise _refuse(
            record, where, "the standard gives no body for these operands and attributes",
            shorten(f"{type(error).__name__}: {error}", 200), "operands and attributes that fit",
            "export the model again",
        ) from None  # fmt: skip
    return onnx.FunctionProto.FromString(made) if made else None


def default_attributes(op_type: str, domain: str, opset: int) -> dict[str, Any]:
    """The standard's default values, as AttributeProto by name; a body refers to them."""
    from onnx import defs

    schema: Any = defs.get_schema(op_type, opset, domain)
    return {name: item.default_value for name, item in schema.attributes.items() if item.default_value.type}
