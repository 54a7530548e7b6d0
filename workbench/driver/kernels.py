"""Kernels of a graph from blocks to object code under their default schedules, in several processes at once.

    helpers.warm(1)                                         # beside what comes before: a helper starts in 0.6 s
    codes = compile_kernels(lowered.kernels)                # a CodeUnit each, by this process and helpers

Scheduling, loop passes and emission are Python, of which one process does one thing at a time; kernels do not know of
one another.  What comes out is what `schedule_kernels`, the pipeline and the backend make of them one by one, under the
current PassContext; what they say on the way (origins, rewrites) is not kept.  Helpers know nothing that a user entered
into a table: whoever calls this knows that there is nothing (`reliance.is_changed`).
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from ..codegen.backend import backend_of
from ..codegen.sharing import Helpers, Shared
from ..core import progress
from ..core.child import Child
from ..core.errors import WorkbenchError
from ..core.host import usable_threads
from ..core.limits import limits
from ..core.module import IRModule
from ..core.node import written_size
from ..core.serving import Action
from ..core.transform import PASSES, PassContext
from ..lower.kernel import Kernel
from ..lower.provider import default_provider
from ..relay.ir.operator import OPERATORS
from ..runtime.module import CodeUnit
from ..schedule.registry import PRIMITIVES
from ..tir.tensor_intrin.registry import TENSOR_INTRINSICS
from ..tir.transforms.pipeline import lower_module, pipeline

IDLE_SECONDS: Final = 30.0
MOST_HELPERS: Final = 7
"""Beyond it helpers wait for this process, which hands the work out."""
PORTION: Final = 0.25
"""Of the work that is left, what a helper takes at once: each request waits some milliseconds for this process."""

helpers: Final = Helpers("workbench.driver.kernels", IDLE_SECONDS)
"""The helpers of this process that wait for kernels."""


def helper_count() -> int:
    """How many helpers there is a processor for, beside this process."""
    return min(usable_threads() - 1, MOST_HELPERS)


def compile_kernel(kernel: Kernel) -> CodeUnit:
    """One kernel, under its default schedule."""
    try:
        scheduled = default_provider(kernel).func
    except WorkbenchError as error:
        raise error.located(f"schedule of kernel {kernel.name}") from None
    module = lower_module(IRModule({kernel.name: scheduled}))
    return backend_of(kernel.target).compile_module(module, kernel.target).code


def compile_kernels(kernels: Sequence[Kernel]) -> list[CodeUnit]:
    """The code of each kernel, in order.  Raises `WorkbenchError`: that of the first one that fails."""
    context = PassContext.current()
    settings = {
        "settings": [context.opt_level, context.required_pass, context.disabled_pass, dict(context.config)],
        "limits": asdict(limits),
    }

    def here(index: int) -> CodeUnit:
        return compile_kernel(kernels[index])

    def there(helper: Child, taken: Sequence[int]) -> list[CodeUnit]:
        sent = pickle.dumps([replace(kernels[index], constants=()) for index in taken], -1)
        answer = helper.ask("compile", settings, [sent])
        objects = iter(map(bytes, answer.frames))
        return [_received(unit, objects) for unit in answer.header["units"]]

    sizes = [written_size(kernel.func.body) for kernel in kernels]
    with progress.task("kernels", len(kernels)) as task:
        shared = Shared(sizes, here, there, helpers, "kernels", PORTION, lambda *result: task.advance())
        return shared.run(min(helper_count(), len(kernels) // 2))


def compile_entry(module: IRModule, name: str, target: Any) -> CodeUnit:
    """The function of a lowered module that calls its kernels; these are only looked at, by what they write."""
    for step in pipeline(PassContext.current()):
        module = module.with_functions({name: PASSES[step]().on_function(module, name)})
    return backend_of(target).compile_module(module, target, only=(name,)).code


def joined(codes: Iterable[CodeUnit]) -> CodeUnit:
    """The code of several functions as one."""
    parts = list(codes)
    return replace(
        parts[0],
        objects=tuple(data for part in parts for data in part.objects),
        symbols={name: symbol for part in parts for name, symbol in (part.symbols or {}).items()},
        written={name: places for part in parts for name, places in (part.written or {}).items()},
        externs=tuple(sorted({name for part in parts for name in part.externs})),
    )


# --- the helper's side ---------------------------------------------------------------------------------------------


def actions() -> Mapping[str, Action]:
    for table in (OPERATORS, PRIMITIVES, PASSES, TENSOR_INTRINSICS):
        len(table)  # filled now: what is sent names classes of their modules
    return {"ready": lambda request, frames: ({}, []), "compile": _compile}


def _compile(request: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[Mapping[str, Any], Sequence[bytes]]:
    """The code of the kernels of a request."""
    for name, value in request["limits"].items():
        setattr(limits, name, value)
    level, required, disabled, config = request["settings"]
    kernels: list[Kernel] = pickle.loads(frames[0])
    with kernels[0].target, PassContext(level, required, disabled, config=config).applied():
        codes = [compile_kernel(kernel) for kernel in kernels]
    units = [{**asdict(replace(code, objects=())), "objects": len(code.objects)} for code in codes]
    return {"units": units}, [data for code in codes for data in code.objects]


def _received(unit: Mapping[str, Any], objects: Any) -> CodeUnit:
    """The code that a helper told of, whose object code follows in `objects`."""
    return CodeUnit(
        **{
            **unit,
            "objects": tuple(next(objects) for _ in range(unit["objects"])),
            "written": {name: tuple(places) for name, places in unit["written"].items()},
            "externs": tuple(unit["externs"]),
        }
    )


