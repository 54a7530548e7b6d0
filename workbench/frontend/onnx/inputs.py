"""Types of a model's inputs: what the file says, completed by the caller's `shape`.

`shape` gives whole shapes by input name, or single dimensions by the names that the file uses for them:
``{"x": (1, 3, 224, 224)}`` or ``{"batch": 1}``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core.dtype import DataType
from ...core.errors import WorkbenchError, nearest, shorten
from ...core.limits import limits
from ...relay.ir.types import TensorType
from .records import ValueClaim


@dataclass(frozen=True)
class Known:
    """What the caller says of inputs' values, by name: `fixed` for good, `assumed` to be checked at each run."""

    fixed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    assumed: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def check(self, inputs: Collection[str], name: str) -> None:
        """Raises `WorkbenchError` when a name is no input of the model, or is given twice."""
        for option, given in (("values=", self.fixed), ("assume=", self.assumed)):
            for key in given:
                if key not in inputs or (given is self.assumed and key in self.fixed):
                    raise WorkbenchError(
                        "E-ONNX-INPUT",
                        f"{name}: {option} names {key!r}, which is not an input"
                        + (" any more" if key in inputs else ""),
                        where=option,
                        found=shorten(repr(key), 60),
                        expected=shorten(", ".join(sorted(inputs)), 200) or "no inputs",
                        fix=nearest(str(key), inputs) or "leave it out",
                    )


class OpenShapes(WorkbenchError):
    """Extents that the file leaves open and the caller did not say; `stated` is what it says of those inputs."""

    stated: Mapping[str, tuple[int | str | None, ...] | None]


def input_types(
    claims: Sequence[ValueClaim],
    shape: Mapping[str, Any] | None,
    dtype: Any,
    name: str,
    note: Callable[[str], None],
) -> dict[str, TensorType]:
    """The static type of every input.  Raises `WorkbenchError` listing all dimensions that are not known."""
    given = dict(shape or {})
    _check_keys(given, claims, name)
    dimensions = {key: value for key, value in given.items() if isinstance(value, int)}
    types: dict[str, TensorType] = {}
    open_inputs: list[ValueClaim] = []
    for claim in claims:
        if claim.kind != "tensor":
            raise WorkbenchError(
                "E-ONNX-INPUT",
                f"{name}: the input '{shorten(claim.name, 60)}' is not a tensor",
                where=name,
                found=f"a {claim.kind}",
                expected="a tensor of numbers",
                fix="fix its value: import_model(..., values={name: array}), or export without it",
            )
        stated = given.get(claim.name)
        full = _complete(claim, dimensions) if not isinstance(stated, Sequence) else _stated(claim, stated, name, note)
        if full is None:
            open_inputs.append(claim)
            continue
        limits.check("rank", len(full), f"input '{shorten(claim.name, 60)}'", name)
        types[claim.name] = TensorType(full, _dtype(claim, dtype))
        limits.check(
            "tensor_bytes", types[claim.name].size * types[claim.name].dtype.bytes, f"input '{claim.name}'", name
        )
    if open_inputs:
        raise _open_error(open_inputs, name)
    return types


def _check_keys(given: Mapping[str, Any], claims: Sequence[ValueClaim], name: str) -> None:
    inputs = {claim.name for claim in claims}
    dimensions = {extent for claim in claims for extent in claim.shape or () if isinstance(extent, str)}
    for key, value in given.items():
        is_shape = isinstance(value, Sequence) and not isinstance(value, str)
        if not (key in inputs and is_shape) and not (key in dimensions and isinstance(value, int)):
            raise WorkbenchError(
                "E-ONNX-SHAPE",
                f"{name}: shape= names {key!r}, which is neither an input nor a named dimension",
                where="shape=",
                found=f"{key!r}: {shorten(repr(value), 60)}",
                expected=shorten(f"inputs {sorted(inputs)}, dimensions {sorted(dimensions)}", 300),
                fix=nearest(str(key), inputs | dimensions) or _example(claims),
            )


def _example(claims: Sequence[ValueClaim]) -> str:
    """How the shape of the first input that has one is stated."""
    first = next((claim for claim in claims if claim.shape), None)
    if first is None:
        return "leave shape= out"
    extents = tuple(extent if isinstance(extent, int) and extent > 0 else 1 for extent in first.shape or ())
    return f"for example shape={{{first.name!r}: {extents}}}"


def _complete(claim: ValueClaim, dimensions: Mapping[str, int]) -> tuple[int, ...] | None:
    """The claimed shape with named dimensions filled in, if nothing stays open."""
    if claim.shape is None:
        return None
    filled = tuple(dimensions.get(extent) if isinstance(extent, str) else extent for extent in claim.shape)
    return None if any(extent is None for extent in filled) else tuple(int(extent or 0) for extent in filled)


def _stated(claim: ValueClaim, stated: Sequence[Any], name: str, note: Callable[[str], None]) -> tuple[int, ...]:
    """The caller's shape for an input; it wins over the file's, with a note where they differ."""
    wrong = [extent for extent in stated if not hasattr(extent, "__index__") or int(extent) < 0]
    if wrong or (claim.shape is not None and len(claim.shape) != len(stated)):
        raise WorkbenchError(
            "E-ONNX-SHAPE",
            f"{name}: shape= does not fit the input '{shorten(claim.name, 60)}'",
            where="shape=",
            found=shorten(repr(tuple(stated)), 80),
            expected=f"whole numbers for {claim.shape_text}",
            fix="give one number of at least 0 for each dimension",
        )
    full = tuple(int(extent) for extent in stated)
    differs = any(isinstance(said, int) and said != is_ for said, is_ in zip(claim.shape or full, full, strict=True))
    if differs:
        note(f"input '{shorten(claim.name, 60)}' has the shape {full} given by shape=, not {claim.shape_text}")
    return full


def _dtype(claim: ValueClaim, dtype: Any) -> DataType:
    if isinstance(dtype, Mapping):
        dtype = dtype.get(claim.name, "float32")
    return claim.dtype or DataType(dtype)


def _open_error(claims: Sequence[ValueClaim], name: str) -> OpenShapes:
    listed = ", ".join(f"{shorten(claim.name, 40)}: {claim.shape_text}" for claim in claims[:8])
    named = sorted({extent for claim in claims for extent in claim.shape or () if isinstance(extent, str)})
    ones = {claim.name: tuple(at if isinstance(at, int) else 1 for at in claim.shape or ()) for claim in claims}
    example = ", ".join(f"{shorten(name, 40)!r}: {shape}" for name, shape in list(ones.items())[:4])
    by_name = f"; or by name: {dict.fromkeys(named[:4], 1)}" if named else ""
    error = OpenShapes(
        "E-ONNX-DYNAMIC",
        f"{name}: dimensions of the inputs are not known",
        where=f"{len(claims)} input{'s' if len(claims) > 1 else ''}",
        found=listed,
        expected="a number for every dimension",
        fix=f"shape={{{example}}} (with your numbers){by_name}",
        partial=ones,
    )
    error.stated = {claim.name: claim.shape for claim in claims}
    return error
