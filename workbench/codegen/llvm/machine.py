"""LLVM itself, through llvmlite: text in, optimised object code, assembly or text out.  The only importer of llvmlite.

Every job has a target machine of its own.  Text that LLVM refuses becomes a `WorkbenchError`; text that passes the
parser and verifier here cannot trip an assertion of the optimiser, as far as known.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from ...core.child import Child, ChildFailure
from ...core.errors import WorkbenchError, shorten
from ...core.interrupts import interrupts_held
from ...target.host import architecture
from ...target.host import processor as host
from ...target.tables import PROCESSORS
from ...target.target import Target
from . import pipelines
from .pipelines import LEAN

_LOCK = threading.Lock()

CHECKED_FEATURES: Final = (
    *("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni", "avx512bf16", "avx512ifma", "avx512vbmi"),
    *("avx512vbmi2", "avx512bitalg", "avx512vpopcntdq", "avx512fp16", "gfni", "vpclmulqdq", "avxvnni"),
    *("avx2", "fma", "avx"),
)
"""Features by which the processors that one meets differ; the native runtime knows how to look for each."""
_MODES: Final = ("16bit-mode", "32bit-mode", "x32")
"""Features of x86 that are no parts of a processor: modes, and pointers of 32 bits."""
_REFUSALS: Final = ("not a recognized", "LLVM ERROR", "Assertion", "Symbols not found", "is not supported")
"""Words of the lines in which LLVM says that it cannot."""


@dataclass(frozen=True)
class Job:
    """What to make of one module's text; plain data, so that a worker process can do it."""

    text: str
    triple: str = ""
    cpu: str = ""
    features: str = ""
    abi: str = ""
    optimise: int = LEAN
    """LLVM's level, or `pipelines.LEAN`."""
    form: str = "object"
    """"object", "asm", or "ll" (optimised text)."""
    optimised: bool = False
    """Whether the text went through the optimiser already; code is then generated from it as it is."""


def job_of(text: str, target: Target, form: str = "object") -> Job:
    """The job for `target`; its defaults are the host's processor and features."""
    require_known(target)
    cpu, features = processor_of(target)
    return Job(text, target.triple, cpu, features, str(target.options.get("mabi", "")), level_of(target), form)


def level_of(target: Target) -> int:
    """LLVM's level for what runs, or `pipelines.LEAN`."""
    return int(target.options.get("opt-level", LEAN))


@lru_cache(maxsize=1)
def _binding() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()
    return llvm


@lru_cache(maxsize=1)
def host_processor() -> tuple[str, str]:
    """LLVM's name of the host's processor and its features as ``+avx,-sha``."""
    llvm = _binding()
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@lru_cache(maxsize=1)
def llvm_version() -> tuple[int, ...]:
    return tuple(_binding().llvm_version_info)


def host_triple() -> str:
    """The triple of this process."""
    return _binding().get_process_triple()


def processor_of(target: Target) -> tuple[str, str]:
    """Processor name and features for LLVM."""
    own = ",".join(target.features)
    if target.cpu or target.triple:
        return target.cpu, own
    cpu, features = host_processor()
    return cpu, ",".join(text for text in (features, own) if text)


def require_known(target: Target) -> None:
    """Refuse a machine, processor, feature or ABI for which LLVM makes no code: it would end the process over it."""
    abi = str(target.options.get("mabi", ""))
    known = target.cpu in PROCESSORS and PROCESSORS[target.cpu].architecture == architecture()
    if (known or not target.cpu) and not (target.triple or target.features or abi):
        return
    cpu, features = processor_of(target)
    reason = _other_mode(target) or _judged(target.triple, cpu, features, abi, target.lanes, level_of(target))
    if reason:
        elsewhere = target.cpu in PROCESSORS and not target.triple and not known
        raise WorkbenchError(
            "E-CODEGEN-PROCESSOR",
            "LLVM makes no code for this machine, processor, feature or ABI",
            where=shorten(str(target), 200),
            found=reason,
            expected="names as LLVM spells them: -mcpu=x86-64-v3, -mattr=+avx2",
            fix=f"name the machine as well: -mtriple={target.architecture}-linux-gnu"
            if elsewhere
            else "leave the option out to compile for this machine",
        )


def _other_mode(target: Target) -> str:
    """The feature that asks for code in another mode than the machine's: LLVM makes it, and it crashes here."""
    asked = [word[1:] for word in target.features if word.startswith("+") and word[1:] in _MODES]
    if target.architecture != "x86_64" or not asked:
        return ""
    return f"{asked[0]}: code for another mode than that of x86_64, which the machine says and no feature"


@lru_cache(maxsize=256)
def _judged(triple: str, cpu: str, features: str, abi: str, lanes: int, level: int) -> str:
    """Why LLVM cannot compile for this, found out in a process of its own; empty if it can."""
    if "\0" in f"{triple}{cpu}{features}{abi}" or len(f"{triple}{cpu}{features}{abi}") > 8192:
        return "a name that no processor has"
    asked = {"triple": triple, "cpu": cpu, "features": features, "abi": abi, "lanes": lanes, "level": level}
    with Child("workbench.codegen.llvm.service", seconds=120.0) as child:
        try:
            child.ask("trial", asked)
            failure = None
        except ChildFailure as found:
            failure = found
        except WorkbenchError as error:
            if error.code == "E-CODEGEN-TRIPLE":  # told where it is used
                return ""
            return shorten(error.found or error.message, 200)
        said = failure.said if failure is not None else child.printed().read().decode(errors="replace")
    told = next((line for line in said.splitlines() if any(words in line for words in _REFUSALS)), "")
    if told:
        return shorten(told, 200)
    untried = failure is not None and (failure.kind in ("absent", "fault") or failure.of_the_machine)
    if failure is not None and untried:  # nothing is known of the processor then
        raise WorkbenchError("E-CODEGEN-TRIAL", "the processor could not be tried in a process", found=failure.detail)
    if failure is not None:
        return f"LLVM {failure.phrase} when it was tried: {failure.detail}"
    return ""


def needed_features(target: Target) -> str:
    """CPU features beyond the baseline that code for `target` may use, separated by commas (x86 only)."""
    if target.architecture != "x86_64":
        return ""
    named = [word[1:] for word in target.features if word.startswith("+")]
    known = target.processor.features if target.cpu else host().features if not target.triple else ()
    dropped = {word[1:] for word in target.features if word.startswith("-")}
    return ",".join(name for name in CHECKED_FEATURES if (name in known or name in named) and name not in dropped)


def target_machine(job: Job, jit: bool = False) -> Any:
    """A new target machine.  Raises `WorkbenchError` for a triple LLVM does not know."""
    llvm = _binding()
    triple = job.triple or llvm.get_process_triple()
    try:
        found = llvm.Target.from_triple(triple)
    except RuntimeError as error:
        raise WorkbenchError("E-CODEGEN-TRIPLE", f"LLVM has no target {triple!r}", found=str(error)[:120]) from None
    level = 3 if job.optimise == LEAN else min(job.optimise, 3)
    return found.create_target_machine(
        cpu=job.cpu, features=job.features, opt=level, reloc="pic", codemodel="default", abiname=job.abi
    )


def compile_job(job: Job) -> bytes:
    """Do one job.  Raises `WorkbenchError` (E-CODEGEN-IR) when the text is not valid IR.

    An interrupt waits for its end: what LLVM holds is freed in this order, and not when the garbage collector finds
    the frames of an error, in which a context went before its module and the process with it.
    """
    llvm = _binding()
    with _LOCK, interrupts_held(), ExitStack() as opened:
        context = opened.enter_context(closing(llvm.create_context()))
        machine = opened.enter_context(closing(target_machine(job)))
        module = opened.enter_context(closing(_optimised(llvm, job, context, machine)))
        if job.form == "ll":
            return str(module).encode()
        if job.form == "asm":
            machine.set_asm_verbosity(True)
            return machine.emit_assembly(module).encode()
        return machine.emit_object(module)


def _optimised(llvm: Any, job: Job, context: Any, machine: Any) -> Any:
    try:
        return pipelines.optimised(llvm, job.text, context, machine, 0 if job.optimised else job.optimise)
    except RuntimeError as error:
        message = str(error).strip()
    # Outside of the handler: an error kept as context would keep modules alive, beyond the context they belong to.
    raise WorkbenchError(
        "E-CODEGEN-IR",
        f"LLVM refuses the generated code: {message.splitlines()[-1] if message else 'no reason'}",
        found=_quoted_line(job.text, message),
        fix="report this with the function's script(); it is a fault of the workbench",
    )


def _quoted_line(text: str, message: str) -> str:
    import re

    place = re.search(r"<string>:(\d+):", message)
    if place is None:
        return message[:200]
    lines = text.splitlines()
    return lines[int(place.group(1)) - 1].strip() if int(place.group(1)) <= len(lines) else message[:200]
