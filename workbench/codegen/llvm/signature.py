"""Signatures of packed functions: the attribute text that FlattenBuffer leaves, read back, and emitted as data.

One entry a parameter of the packed call: ``"float32[16, n]"`` for a buffer, ``"int64"`` for a scalar.  A name in a
shape is that of a kernel parameter (a shape variable).  See `wb_function` in runtime/native/workbench_runtime.h.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ...core.dtype import DataType
from ...core.errors import WorkbenchError
from ...tir import nodes as t
from .writer import ModuleWriter

_ENTRY: Final = re.compile(r"^([a-z0-9_]+)(?:\[(.*)\])?$")
_DLPACK_CODES: Final = {
    "int": 0, "uint": 1, "float": 2, "handle": 3, "bfloat": 4, "bool": 6,
    "float8_e4m3fn": 10, "float8_e4m3fnuz": 11, "float8_e5m2": 12, "float8_e5m2fnuz": 13, "float4_e2m1fn": 17,
}  # fmt: skip
BUFFER, INTEGER, FLOAT = 0, 1, 2


@dataclass(frozen=True)
class Parameter:
    """One argument of a packed call: a scalar when `shape` is None."""

    name: str
    dtype: DataType
    shape: tuple[int | str, ...] | None
    written: bool = False
    alone: bool = True
    """What is written may not overlap another argument."""


def packed_parameters(func: t.PrimFunc, written: frozenset[str] | None = None) -> tuple[Parameter, ...]:
    """The arguments of the packed call of a lowered function."""
    entries = func.attrs.get("signature")
    if entries is None:
        raise WorkbenchError("E-CODEGEN-SIGNATURE", "the function is not lowered", fix="run FlattenBuffer first")
    names, alone = func.attrs.get("written", ()), bool(func.attrs.get("noalias", True))
    return tuple(
        _read(param.name, text, param.name in names, alone) for param, text in zip(func.params, entries, strict=False)
    )


def _read(name: str, text: str, written: bool, alone: bool) -> Parameter:
    found = _ENTRY.match(text)
    if found is None:
        raise WorkbenchError("E-CODEGEN-SIGNATURE", "a signature entry is malformed", found=text[:80])
    dtype, inside = found.groups()
    if inside is None:
        return Parameter(name, DataType(dtype), None)
    words = [word.strip() for word in inside.split(",") if word.strip()]
    shape = tuple(int(word) if word.lstrip("-").isdigit() else word for word in words)
    return Parameter(name, DataType(dtype), shape, written, alone)


def emit_signature(
    module: ModuleWriter, symbol: str, shown_name: str, func: t.PrimFunc, cpu_features: str | None
) -> str:
    """The `wb_function` constant of a kernel; returns its name."""
    parameters = packed_parameters(func)
    slots = {param.name: position for position, param in enumerate(func.params)}
    records = [_argument(module, parameter, slots, f"{symbol}.shape{i}") for i, parameter in enumerate(parameters)]
    arguments = f"@{symbol}.arguments"
    kind = "{ ptr, ptr, i32, i32, i32, i32 }"
    module.globals.append(
        f"{arguments} = private constant [{len(records)} x {kind}] [{', '.join(f'{kind} {text}' for text in records)}]"
    )
    names = ", ".join(f"ptr {module.string(param.name)}" for param in func.params)
    module.globals.append(f"@{symbol}.names = private constant [{len(func.params)} x ptr] [{names}]")
    features = module.string(cpu_features) if cpu_features else "null"
    module.globals.append(
        f"@{symbol}.signature = private constant {{ ptr, ptr, ptr, i32, i32, ptr }} "
        f"{{ ptr {module.string(shown_name)}, ptr {arguments}, ptr @{symbol}.names, "
        f"i32 {len(records)}, i32 {len(func.params)}, ptr {features} }}"
    )
    return f"@{symbol}.signature"


def _argument(module: ModuleWriter, parameter: Parameter, slots: dict[str, int], name: str) -> str:
    dtype = parameter.dtype
    shown = module.string(parameter.name)
    if parameter.shape is None:
        kind = FLOAT if dtype.is_float else INTEGER
        return f"{{ ptr {shown}, ptr null, i32 {kind}, i32 0, i32 0, i32 0 }}"
    extents = [_extent(word, slots) for word in parameter.shape]
    module.globals.append(
        f"@{name} = private constant [{len(extents)} x i64] [{', '.join(f'i64 {extent}' for extent in extents)}]"
    )
    kind, bits = dlpack_code(dtype)
    code = kind | bits << 8 | 1 << 16
    written = (1 if parameter.alone else 2) if parameter.written else 0
    return f"{{ ptr {shown}, ptr @{name}, i32 {BUFFER}, i32 {len(extents)}, i32 {code}, i32 {written} }}"


def dlpack_code(dtype: DataType) -> tuple[int, int]:
    """(code, bits) of a scalar dtype in DLPack."""
    return _DLPACK_CODES[dtype.code], 8 if dtype.is_bool else dtype.bits


def _extent(word: int | str, slots: dict[str, int]) -> int:
    if isinstance(word, int):
        return word
    if word not in slots:
        raise WorkbenchError("E-CODEGEN-SIGNATURE", f"shape variable {word} is not a parameter")
    return -1 - slots[word]
