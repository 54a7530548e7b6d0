"""Loading exported libraries: the record is checked first, then the code is loaded through tvm-ffi."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import WorkbenchError
from .artifact import read_record
from .export import CONSTANTS_SYMBOL
from .model import CompiledModel, TensorSpec
from .module import Module
from .native.loader import library as native_runtime
from .own_file import as_written
from .packed import PackedFunc

_PREFIX = "__tvm_ffi_"


def load(path: Path) -> Module | CompiledModel:
    """See `runtime.load_module`."""
    record = read_record(path)
    native_runtime()  # first, so that the library shares its pool
    try:
        with as_written(path) as file:
            return _described(record, _open(path, file), file)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise WorkbenchError(
            "E-LOAD-DAMAGED",
            f"{path.name} does not hold what its record says",
            where=str(path),
            found=f"{type(error).__name__}: {error}",
            fix="export it again",
        ) from None


def _described(record: dict[str, Any], loaded: Any, path: Path) -> Module | CompiledModel:
    """The module or model that a record describes."""
    functions = {
        name: PackedFunc(loaded.get_function(symbol.removeprefix(_PREFIX)), name, keep=loaded)
        for name, symbol in record["functions"].items()
    }
    module = Module(functions, type_key="library", keep=loaded)
    if "model" not in record:
        return module
    return _model(record, module, path)


def _open(path: Path, file: Path) -> Any:
    import tvm_ffi

    try:
        return tvm_ffi.load_module(str(file))
    except (RuntimeError, ValueError, OSError) as error:
        raise WorkbenchError(
            "E-LOAD-FAILED", f"{path.name} cannot be loaded", where=str(path), found=str(error).splitlines()[0][:300]
        ) from None


def _model(record: dict[str, Any], module: Module, path: Path) -> CompiledModel:
    described = record["model"]
    specs = tuple(TensorSpec.from_json(item) for item in described["constants"])
    return CompiledModel.described(described, module, _constants(path, specs, record["constant_offsets"]))


def _constants(path: Path, specs: tuple[TensorSpec, ...], offsets: list[int]) -> list[np.ndarray]:
    """The constants, as views of the library's own section."""
    if not specs:
        return []
    handle = ctypes.CDLL(str(path))
    base = ctypes.addressof(ctypes.c_char.in_dll(handle, CONSTANTS_SYMBOL))
    arrays: list[np.ndarray] = []
    for spec, offset in zip(specs, offsets, strict=True):
        memory = (ctypes.c_char * spec.nbytes).from_address(base + offset)
        arrays.append(spec.array_in(memoryview(memory)))
    _keep.append(handle)
    return arrays


_keep: list[Any] = []
"""Libraries whose constants are in use stay loaded."""
