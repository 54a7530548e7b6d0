"""Emitting whole functions: the kernel, and the packed wrapper around it.

A kernel is ``i32 @symbol(ptr context, parameters...)``.  The wrapper ``__tvm_ffi_<name>`` lets the runtime check and
unpack the arguments against a constant signature, calls the kernel and turns its status into that of the packed call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...arith import nodes as n
from ...core.errors import WorkbenchError, nearest
from ...tir import nodes as t
from .facts import Facts, needs_one_pass
from .pipelines import ATTRIBUTE
from .places import SourcePlace
from .returns import RESULT, answers
from .signature import emit_signature
from .statements import BodyEmitter
from .types import INDEX, Value, llvm_type
from .writer import FunctionWriter, ModuleWriter


def emit_kernel(
    module: ModuleWriter,
    func: t.PrimFunc,
    name: str,
    symbols: Mapping[str, str],
    lines: Mapping[int, SourcePlace] | None = None,
    source_file: str = "kernel.tir",
) -> None:
    """Define the kernel of a lowered function.  `symbols` maps the names of kernels that it may call."""
    symbol = symbols[name]
    module.defined.add(symbol)
    scope = module.subprogram(symbol, source_file) if lines is not None else None
    noalias = bool(func.attrs.get("noalias", True))
    lean = f" {ATTRIBUTE}" if needs_one_pass(func.body) else ""
    answering = answers(func)
    given = [*_parameters(func, noalias), *([f"ptr noalias {RESULT}"] if answering else [])]
    header = f"define i32 @{symbol}({', '.join(given)}) nounwind{lean}"
    writer = FunctionWriter(module, header, scope)

    def kernel_symbol(wanted: str, call: n.Call) -> str:
        if wanted not in symbols:
            raise WorkbenchError(
                "E-CODEGEN-CALLEE", f"there is no function {wanted!r}", nodes=(call,), fix=nearest(wanted, symbols)
            )
        return symbols[wanted]

    facts = Facts(func.body, noalias)
    body = BodyEmitter(
        writer, "%context", kernels=kernel_symbol, lines=lines or {}, base_name=symbol, facts=facts, body=func.body
    )
    body.answers = answering
    for position, param in enumerate(func.params):
        if isinstance(param, t.Buffer):
            body.pointers[id(param)] = (f"%p{position}", max(1, param.dtype.bytes))
        else:
            body.values[id(param)] = Value(f"%p{position}", param.dtype)
    writer.at_line(1)
    arena = int(func.attrs.get("arena_bytes", 0))
    if arena:
        body.arena = body.take(Value(str(arena), INDEX))
        body.heap.append(body.arena)
    body.run(func.body)
    body.finish()


def _parameters(func: t.PrimFunc, noalias: bool) -> list[str]:
    written = func.attrs.get("written")
    shown = ["ptr noalias %context"]
    for position, param in enumerate(func.params):
        if isinstance(param, t.Buffer):
            words = ["ptr"]
            if noalias:
                words.append("noalias")
            if noalias and written is not None and param.name not in written:
                words.append("readonly")
            words.append(f"align {max(1, param.dtype.bytes)}")
            shown.append(f"{' '.join(words)} %p{position}")
        else:
            shown.append(f"{llvm_type(param.dtype)} %p{position}")
    return shown


def emit_wrapper(
    module: ModuleWriter,
    func: t.PrimFunc,
    name: str,
    symbol: str,
    exported: str,
    baseline_cpu: str = "",
    cpu_features: str | None = None,
    source_file: str = "kernel.tir",
) -> None:
    """Define ``__tvm_ffi_<exported>``, the packed call of a kernel; its source is the function's first line.

    With `baseline_cpu` the wrapper itself runs on any processor of the architecture, so that it can refuse.
    """
    signature = emit_signature(module, symbol, name, func, cpu_features)
    module.declare("wb_enter", "declare ptr @wb_enter(ptr, ptr, i32, ptr)")
    module.declare("wb_leave", "declare i32 @wb_leave(ptr, i32, ptr)")
    scope = module.subprogram(exported, source_file)
    attached = f" !dbg !{scope}" if scope is not None else ""
    location = f", !dbg !{module.location(scope, 1)}" if scope is not None else ""
    attributes = f' "target-cpu"="{baseline_cpu}" "target-features"=""' if baseline_cpu else ""
    count = max(1, len(func.params))
    parameters = "ptr %self, ptr %args, i32 %count, ptr %result"
    lines = [
        f"define i32 @{exported}({parameters}) nounwind {ATTRIBUTE}{attributes}{attached} {{",
        "entry:",
        f"  %slots = alloca [{count} x i64], align 8",
        f"  %context = call ptr @wb_enter(ptr {signature}, ptr %args, i32 %count, ptr %slots)",
        "  %refused = icmp eq ptr %context, null",
        "  br i1 %refused, label %fail, label %go",
        "fail:",
        "  ret i32 -1",
        "go:",
    ]
    kinds: list[str] = []
    arguments: list[str] = ["ptr %context"]
    for position, param in enumerate(func.params):
        kinds.append("ptr" if isinstance(param, t.Buffer) else llvm_type(param.dtype))
        lines += _unpack(position, param)
        arguments.append(f"{kinds[-1]} %x{position}")
    if answers(func):
        kinds.append("ptr")
        arguments.append(f"ptr {RESULT}")
    module.declare(symbol, f"declare i32 @{symbol}({', '.join(['ptr', *kinds])})")
    lines += [
        f"  %status = call i32 @{symbol}({', '.join(arguments)})",
        f"  %code = call i32 @wb_leave(ptr %context, i32 %status, ptr {signature})",
        "  ret i32 %code",
        "}",
    ]
    module.functions.append([f"{line}{location}" if line.startswith("  ") else line for line in lines])


_BFLOAT: Final = (
    "  %w{at} = load double, ptr %s{at}, align 8",
    "  %f{at} = fptrunc double %w{at} to float",
    "  %bits{at} = bitcast float %f{at} to i32",
    "  %upper{at} = lshr i32 %bits{at}, 16",
    "  %odd{at} = and i32 %upper{at}, 1",
    "  %half{at} = add i32 %odd{at}, 32767",
    "  %rounded{at} = add i32 %bits{at}, %half{at}",
    "  %quiet{at} = or i32 %bits{at}, 4194304",
    "  %nan{at} = fcmp uno float %f{at}, %f{at}",
    "  %chosen{at} = select i1 %nan{at}, i32 %quiet{at}, i32 %rounded{at}",
    "  %high{at} = lshr i32 %chosen{at}, 16",
    "  %x{at} = trunc i32 %high{at} to i16",
)
"""A slot's number as bfloat16, as `conversions` rounds it."""


def _unpack(position: int, param: Any) -> list[str]:
    """One slot as the kernel's parameter: slots hold addresses, int64 and double."""
    slot = [f"  %s{position} = getelementptr inbounds i64, ptr %slots, i64 {position}"]
    if isinstance(param, t.Buffer):
        return [*slot, f"  %x{position} = load ptr, ptr %s{position}, align 8"]
    kind = llvm_type(param.dtype)
    wide = "double" if param.dtype.is_float else "i64"
    if kind == wide:
        return [*slot, f"  %x{position} = load {wide}, ptr %s{position}, align 8"]
    if param.dtype.code == "bfloat":
        return [*slot, *(line.format(at=position) for line in _BFLOAT)]
    opcode = "fptrunc" if param.dtype.is_float else "trunc"
    return [
        *slot,
        f"  %w{position} = load {wide}, ptr %s{position}, align 8",
        f"  %x{position} = {opcode} {wide} %w{position} to {kind}",
    ]
