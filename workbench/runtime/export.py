"""Exporting: object code, constants and the native runtime in one shared library, and loading it again.

    module.export_library("add.so"); load_module("add.so")["add"](a, b, c)

The library needs nothing of Python: C programs call ``__tvm_ffi_<name>`` or load it with tvm-ffi.  Inside a process that
has the workbench loaded it shares the workbench's thread pool.  Constants lie in a read-only section of their own, under
the symbol ``workbench_constants``.  The file ends with a record that is checked before it is loaded (`artifact`).
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..core.dtype import DataType
from ..core.errors import WorkbenchError
from ..core.tensor import Tensor
from .artifact import append_record, read_record
from .compiled import CompiledModel, KernelCallSpec, TensorSpec
from .ffi import tvm_ffi
from .module import Module
from .native import build
from .native import library as native_runtime

CONSTANTS_SYMBOL: Final = "workbench_constants"
_PREFIX: Final = "__tvm_ffi_"


def export_library(module: Module, file_name: str) -> Path:
    """Write the functions of a module as a shared library (.so), or as object code (.o, one function only).

    The file appears whole or not at all.  Raises `WorkbenchError`: E-EXPORT-*, E-LINK-NONE without a linker,
    E-LINK-FAILED.
    """
    return _write(Path(file_name), module.artefact, {}, ())


def export_model(model: CompiledModel, file_name: str) -> Path:
    """Write a compiled model, constants included, as a shared library."""
    arrays = [np.ascontiguousarray(data.numpy()) for _, data in model.constants]
    return _write(Path(file_name), model.module.artefact, {"model": _described(model)}, arrays)


def _write(path: Path, artefact: Any, record: dict[str, Any], constants: Sequence[np.ndarray]) -> Path:
    if not hasattr(artefact, "objects"):
        raise WorkbenchError("E-EXPORT-LOADED", "a loaded library cannot be exported again", fix="copy its file")
    if path.suffix == ".o":
        return _write_object(path, artefact)
    if path.suffix not in (".so", ".dylib"):
        raise WorkbenchError(
            "E-EXPORT-SUFFIX", "libraries are exported as .so or .o", where=str(path), found=path.suffix or "no suffix"
        )
    offsets, blob = _layout(constants)
    about = {
        **record,
        "triple": artefact.triple,
        "cpu_features": artefact.cpu_features,
        "functions": dict(artefact.exported),
        "constant_offsets": offsets,
    }
    with tempfile.TemporaryDirectory(prefix="workbench-export-") as scratch:
        made = Path(scratch) / "library.so"
        _link(made, list(artefact.objects.values()), blob, Path(scratch))
        append_record(made, about)
        _put(path, made.read_bytes())
    return path


def _put(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.chmod(0o755)
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise WorkbenchError(
            "E-EXPORT-WRITE",
            f"{path.name} cannot be written: {error.strerror}",
            where=str(path),
            fix="check the folder, its permissions and its space",
            kept="an earlier file of that name",
        ) from None


def _write_object(path: Path, artefact: Any) -> Path:
    objects = list(artefact.objects.values())
    if len(objects) != 1:
        raise WorkbenchError(
            "E-EXPORT-OBJECTS", "several functions do not fit one object file", found=f"{len(objects)}", fix="export a .so"
        )
    _put(path, objects[0])
    return path


def _layout(constants: Sequence[np.ndarray]) -> tuple[list[int], bytes]:
    """Offsets of the constants in one block, each aligned to 64 bytes, and the block."""
    offsets: list[int] = []
    parts: list[bytes] = []
    position = 0
    for array in constants:
        padding = -position % 64
        parts += [b"\0" * padding, array.tobytes()]
        offsets.append(position + padding)
        position += padding + array.nbytes
    return offsets, b"".join(parts)


def _link(output: Path, objects: Sequence[bytes], blob: bytes, scratch: Path) -> None:
    command = build.find_compiler()
    if command is None:
        raise WorkbenchError(
            "E-LINK-NONE",
            "exporting a library needs a linker, and there is none",
            expected="cc, gcc, clang, or ziglang",
            fix='pip install "compiler-workbench[export]"',
        )
    inputs: list[str] = []
    for number, data in enumerate(objects):
        file = scratch / f"unit{number}.o"
        file.write_bytes(data)
        inputs.append(str(file))
    if blob:
        (scratch / "constants.bin").write_bytes(blob)
        inputs.append(str(_constants_source(scratch)))
    sources = [str(path) for path in build.sources()]
    done = subprocess.run(
        [*command, *build.FLAGS, "-o", str(output), *inputs, *sources, "-lm"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode != 0:
        raise WorkbenchError(
            "E-LINK-FAILED",
            f"{command[0]} cannot link the library",
            found=done.stderr.strip()[-300:],
            fix="cross targets need a linker of their own: export a .o and link it there",
        )


def _constants_source(scratch: Path) -> Path:
    """An assembly file that takes the block of constants in."""
    darwin = build.LIBRARY.suffix == ".dylib"
    name = f"_{CONSTANTS_SYMBOL}" if darwin else CONSTANTS_SYMBOL
    lines = [
        ".section __DATA,__const" if darwin else '.section .rodata.workbench,"a",@progbits',
        f".globl {name}",
        ".balign 64",
        f"{name}:",
        f'.incbin "{scratch / "constants.bin"}"',
        *([] if darwin else ['.section .note.GNU-stack,"",@progbits']),
    ]
    path = scratch / "constants.s"
    path.write_text("\n".join(lines) + "\n")
    return path


# --- describing a model -------------------------------------------------------------------------------------------


def _described(model: CompiledModel) -> dict[str, Any]:
    """All of a model but code and constants, as JSON-able data."""
    constants = [[name, list(data.shape), str(data.dtype)] for name, data in model.constants]
    return {
        "entry": model.entry,
        "inputs": [_spec(spec) for spec in model.inputs],
        "outputs": [_spec(spec) for spec in model.outputs],
        "constants": constants,
        "calls": [
            [call.kernel, [_spec(spec) for spec in call.arguments], [_spec(spec) for spec in call.outputs]]
            for call in model.calls
        ],
    }


def _spec(spec: TensorSpec) -> list[Any]:
    return [spec.name, list(spec.shape), str(spec.dtype)]


def _read_spec(data: Sequence[Any]) -> TensorSpec:
    return TensorSpec(str(data[0]), tuple(data[1]), DataType(data[2]))


# --- loading ------------------------------------------------------------------------------------------------------


class LoadedCode:
    """What stands for the artefact of a loaded library: functions, no sources."""

    def __init__(self, library: Any, exported: dict[str, str]) -> None:
        self.library = library
        self.exported = exported

    def function(self, name: str) -> Any:
        """The tvm-ffi function of a name."""
        return self.library.get_function(self.exported[name].removeprefix(_PREFIX))

    def get_source(self, form: str = "ll", name: str | None = None) -> str:
        raise WorkbenchError("E-MODULE-SOURCE", "a loaded library carries no source", fix="ask the module it came from")


def load_module(path: str | Path) -> Module | CompiledModel:
    """Load an exported library: a `Module`, or a `CompiledModel` when it holds a whole model.

    Its record is checked before any code of it is loaded.  Raises `WorkbenchError` (E-LOAD-*) for a file that is missing,
    no library of ours, damaged, of another version or machine, or that needs processor features not had here.
    """
    file = Path(path)
    record = read_record(file)
    native_runtime()  # first, so that the library shares its pool
    try:
        library = tvm_ffi().load_module(str(file.resolve()))
    except Exception as error:
        raise WorkbenchError(
            "E-LOAD-FAILED", f"{file.name} cannot be loaded", where=str(file), found=str(error).splitlines()[0][:300]
        ) from None
    module = Module(LoadedCode(library, dict(record["functions"])))
    return _model(record, module, file) if "model" in record else module


def _model(record: dict[str, Any], module: Module, path: Path) -> CompiledModel:
    described = record["model"]
    constants = [_read_spec(item) for item in described["constants"]]
    arrays = _constant_arrays(path, constants, record["constant_offsets"])
    return CompiledModel(
        module,
        described["entry"],
        tuple(map(_read_spec, described["inputs"])),
        tuple((spec.name, Tensor.of(array)) for spec, array in zip(constants, arrays, strict=True)),
        tuple(map(_read_spec, described["outputs"])),
        tuple(
            KernelCallSpec(kernel, tuple(map(_read_spec, arguments)), tuple(map(_read_spec, outputs)))
            for kernel, arguments, outputs in described["calls"]
        ),
    )


def _constant_arrays(path: Path, specs: Sequence[TensorSpec], offsets: Sequence[int]) -> list[np.ndarray]:
    """The constants, as read-only views of the library's section; the library stays loaded."""
    if not specs:
        return []
    handle = ctypes.CDLL(str(path.resolve()))
    base = ctypes.addressof(ctypes.c_char.in_dll(handle, CONSTANTS_SYMBOL))
    arrays: list[np.ndarray] = []
    for spec, offset in zip(specs, offsets, strict=True):
        dtype = spec.dtype.to_numpy()
        count = int(np.prod(spec.shape, dtype=np.int64))
        memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(base + offset)
        memory.keep_alive = handle  # type: ignore[attr-defined]
        array = np.frombuffer(memory, dtype, count).reshape(spec.shape)
        array.flags.writeable = False
        arrays.append(array)
    return arrays
