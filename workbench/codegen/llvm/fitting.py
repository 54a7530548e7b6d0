"""Whether code for a target runs in this process: the machine's architecture and system, and what its processor has.

LLVM knows the features of every processor by name, but tells nobody.  What it does tell is whether a function may be
inlined into another: it may when the other one's processor has all features of the first one's.

>>> why_foreign(Target("llvm"))
''
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ...core.errors import WorkbenchError
from ...runtime.artifact import runs_here
from ...target.host import architecture
from ...target.target import Target
from . import machine

_EMITTED: Final = (
    *("sse3", "ssse3", "sse4.1", "sse4.2", "sse4a", "avx", "avx2", "f16c", "fma", "fma4", "xop", "tbm", "bmi", "bmi2"),
    *("lzcnt", "popcnt", "movbe", "cmpccxadd", "gfni", "avxvnni", "avxvnniint8", "avxvnniint16", "avxifma"),
    *("avxneconvert", "egpr", "ndd", "nf", "ccmp", "cf", "zu", "ppx", "push2pop2", "avx10.1", "avx10.2"),
    *("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512vnni", "avx512bf16", "avx512bitalg"),
    *("avx512fp16", "avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512vpopcntdq"),
)
"""Features of x86 that LLVM uses of its own accord; others it uses only when a program asks for the instruction."""

_CALLED: Final = """
define internal i32 @callee.{name}(i32 %x) #{number} {{
  call void @outside(i32 %x)
  %y = add i32 %x, 1
  ret i32 %y
}}
define i32 @caller.{name}(i32 %x) #0 {{
  %y = call i32 @callee.{name}(i32 %x)
  ret i32 %y
}}
attributes #{number} = {{ "target-cpu"="x86-64" "target-features"="{feature}" }}
"""


def why_foreign(target: Target) -> str:
    """Why code for `target` cannot run in this process; empty when it can.

    Raises `WorkbenchError` (E-CODEGEN-PROCESSOR) for a processor or feature that LLVM makes no code for: to ask what
    such a one has would end the process.
    """
    if target.architecture != architecture() or (target.triple and not runs_here(target.triple)):
        return f"it is for {target.triple or target.architecture}, this is {machine.host_triple()}"
    if target.architecture != "x86_64" or not (target.cpu or target.features):
        return ""
    machine.require_known(target)
    lacking = _lacking(target.cpu, target.features)
    return f"this processor has no {', '.join(lacking)}" if lacking else ""


def require_fitting(target: Target) -> None:
    """Raise `WorkbenchError` (E-RUN-FOREIGN) unless code for `target` can run in this process."""
    reason = why_foreign(target)
    if reason:
        raise WorkbenchError(
            "E-RUN-FOREIGN",
            "this code was made for another machine",
            where=str(target),
            found=reason,
            fix="export it with export_library and run it there",
        )


@lru_cache(maxsize=256)
def _lacking(cpu: str, features: tuple[str, ...]) -> tuple[str, ...]:
    """Features that code for a processor may use and the host's lacks; those asked for by name count in any case."""
    absent = [word[1:] for word in machine.host_processor()[1].split(",") if word.startswith("-")]
    asked = tuple(word[1:] for word in features if word.startswith("+") and word[1:] in absent)
    return asked or _had(cpu, ",".join(features), tuple(name for name in absent if name in _EMITTED))


def _had(cpu: str, features: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the named features that a processor has."""
    parts = ["declare void @outside(i32)\n"]
    for number, name in enumerate(names, start=1):
        parts.append(_CALLED.format(name=name, number=number, feature=f"+{name}"))
    parts.append(f'attributes #0 = {{ "target-cpu"="{cpu or "x86-64"}" "target-features"="{features}" }}\n')
    made = machine.compile_job(machine.Job("".join(parts), cpu="x86-64", optimise=2, form="ll")).decode()
    return tuple(name for name in names if f"@callee.{name}(" not in made)
