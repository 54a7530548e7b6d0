"""The importer's entries: an ONNX model in, a relay module out.

mod, params = from_onnx("model.onnx", {"x": (1, 3, 224, 224)})
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core import origin
from ...core.errors import WorkbenchError, nearest
from ...core.limits import limits
from ...core.module import IRModule
from ...core.tensor import Tensor
from ...core.time_limit import time_limit
from ...relay.ir.expr import Expr, Function
from ...relay.ir.types import TensorType
from ...runtime import ndarray
from ...runtime.guards import ATTRIBUTE
from . import emit
from .check import check_model
from .convert import Importer
from .inputs import Known
from .read import Source, name_of, read_model
from .records import kept_name
from .support import check_support
from .tensors import TensorReader

_OPTIONS = ("allow_hardlinks", "strict")


@dataclass(frozen=True)
class ImportedModel:
    """What an import found; `params` is empty unless weights were left as parameters."""

    module: IRModule
    params: dict[str, Tensor]
    input_names: tuple[str, ...]
    input_types: tuple[TensorType, ...]
    output_names: tuple[str, ...]
    notes: tuple[str, ...]
    """What the user should know: sorted nodes, claims that do not hold, values that are not finite."""
    origins: origin.OriginTable


def from_onnx(
    model: Any,
    shape: Mapping[str, Any] | None = None,
    dtype: Any = "float32",
    opset: int | None = None,
    freeze_params: bool = True,
    convert_config: Mapping[str, Any] | None = None,
    assume: Mapping[str, Any] | None = None,
) -> tuple[IRModule, dict[str, Any]]:
    """Import an ONNX model: a path, bytes, or an `onnx.ModelProto` (classic API).

    `shape` completes dynamic inputs: whole shapes by input name, or numbers by dimension name.  With `freeze_params`
    the weights are constants of the module and the second result is empty; else they are parameters of ``main`` and
    the second result holds them by name.  `assume` specialises the program for values of inputs, by name; the compiled
    model refuses to run with others.  Raises `WorkbenchError` for anything that is not a valid, supported model.
    """
    found = import_model(
        model, shape, dtype=dtype, opset=opset, freeze_params=freeze_params, config=convert_config, assume=assume
    )
    if not found.params:
        return found.module, {}
    return found.module, {name: ndarray.array(tensor.numpy()) for name, tensor in found.params.items()}


def import_model(
    model: Any,
    shape: Mapping[str, Any] | None = None,
    *,
    dtype: Any = "float32",
    opset: int | None = None,
    freeze_params: bool = True,
    values: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
    assume: Mapping[str, Any] | None = None,
) -> ImportedModel:
    """As `from_onnx`, with all that is known of the import.

    `values` fixes inputs to arrays (by name): they are inputs no longer.  `assume` specialises the program for values
    of inputs: they stay inputs, and running with another value is refused (`runtime.guards`).
    """
    try:
        options = _options(config)
        known = Known(values or {}, assume or {})
        source = read_model(model)
        try:
            with time_limit(limits.import_seconds, f"importing {source.name}", limits.fix("import_seconds")):
                found = _imported(source, shape, dtype, opset, freeze_params, known, options)
        finally:
            source.close()
        _require_clean(found, options)
        return found
    except WorkbenchError as error:
        error.file = error.file or name_of(model)
        error.kept = error.kept or "nothing imported; what was open before is unchanged"
        raise


def _require_clean(found: ImportedModel, options: Mapping[str, Any]) -> None:
    """In strict mode, refuse what would only be noted."""
    if options.get("strict") and found.notes:
        first, *others = found.notes
        raise WorkbenchError(
            "E-IMPORT-STRICT",
            f"the model is not clean: {len(found.notes)} note{'s' if others else ''}",
            where=first.split(":")[0],
            found="; ".join(found.notes),
            expected="a model without notes, since strict is on",
            fix='export the model again, or leave out convert_config={"strict": True}',
        )


def _imported(
    source: Source, shape: Any, dtype: Any, opset: int | None, freeze: bool, known: Known, options: Mapping[str, Any]
) -> ImportedModel:
    record = check_model(source.proto, source.name, opset)
    check_support(record, source.name)
    reader = TensorReader(source.folder, options.get("allow_hardlinks", False), source.deferred)
    importer = Importer(record, reader, source.name, freeze=freeze, size=source.size)
    ambient = origin.active()
    if ambient is not None:
        return _converted(importer, shape, dtype, known, ambient)
    with origin.recording() as table:
        return _converted(importer, shape, dtype, known, table)


def _converted(importer: Importer, shape: Any, dtype: Any, known: Known, table: origin.OriginTable) -> ImportedModel:
    inputs, outputs = importer.run(shape, dtype, known)
    body: Expr = outputs[0] if len(outputs) == 1 else emit.pack(outputs)
    function = Function((*inputs, *importer.weights), body, body.checked_type)
    output_names = tuple(kept_name(claim.name) for claim in importer.record.graph.outputs)
    attrs: dict[str, Any] = {"output_names": output_names}
    if importer.guards:
        attrs[ATTRIBUTE] = tuple(guard.text() for guard in importer.guards)
    return ImportedModel(
        IRModule({"main": function}, attrs=attrs),
        importer.params,
        tuple(variable.name_hint for variable in inputs),
        tuple(emit.type_of(variable) for variable in inputs),
        output_names,
        (*importer.record.notes, *importer.reader.notes, *importer.notes),
        table,
    )


def _options(config: Mapping[str, Any] | None) -> Mapping[str, Any]:
    for key in config or {}:
        if key not in _OPTIONS:
            raise WorkbenchError(
                "E-IMPORT-OPTION",
                f"convert_config has no option {key!r}",
                expected=", ".join(_OPTIONS),
                fix=nearest(str(key), _OPTIONS),
            )
    return config or {}
