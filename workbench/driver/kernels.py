"""Kernels of a graph from blocks to object code under their default schedules, in several processes at once.

    helpers.warm(1)                         # beside what comes before: a helper starts in 0.6 s
    with KernelWork(target, context) as work:
        work.add(kernel)                    # a helper begins
        work.finish(every_kernel)           # by this process as well: their code

Scheduling, loop passes and emission are Python, of which one process does one thing at a time; kernels do not know of
one another.  What comes out is what `schedule_kernels`, the pipeline and the backend make of them one by one, under the
current PassContext; what they say on the way (origins, rewrites) is not kept.  Helpers know nothing that a user entered
into a table: whoever calls this knows that there is nothing (`reliance.is_changed`).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import reduce
from typing import Any, Final, NamedTuple, Self

from ..codegen.backend import backend_of
from ..codegen.llvm.texts import Texts
from ..codegen.sharing import Helpers, Shared
from ..core import collecting, progress
from ..core.child import Child
from ..core.errors import WorkbenchError
from ..core.host import usable_threads
from ..core.limits import limits
from ..core.module import IRModule
from ..core.node import written_size
from ..core.serving import Action
from ..core.transform import PASSES, PassContext
from ..core.wire import VALUES, CannotTell, packed, unpacked
from ..lower.choosing import choice_again
from ..lower.implementation import Workload
from ..lower.kernel import Kernel
from ..lower.provider import default_provider
from ..relay.ir.operator import OPERATORS
from ..runtime.module import CodeUnit
from ..schedule.registry import PRIMITIVES
from ..target.target import Target
from ..tir.nodes import ForKind, IterKind
from ..tir.tensor_intrin.registry import TENSOR_INTRINSICS
from ..tir.transforms.pipeline import lower_alone, lower_module
from .pristine import constants

IDLE_SECONDS: Final = 30.0
MOST_HELPERS: Final = 3
"""What is not shared takes a third of a build, and each has 150 MB."""
PORTION: Final = 0.1
"""Of the work that is left, what a helper takes at once: each request waits some milliseconds for this process."""

helpers: Final = Helpers("workbench.driver.kernels", IDLE_SECONDS)
"""The helpers of this process that wait for kernels."""


def helper_count() -> int:
    """How many helpers there is a processor for, beside this process."""
    return min(usable_threads() - 1, MOST_HELPERS)


class Compiled(NamedTuple):
    """Functions as object code, and what they look like."""

    code: CodeUnit
    texts: Texts

    @staticmethod
    def joined(parts: Sequence[Compiled]) -> Compiled:
        """Several, in their order, as one."""
        codes = [part.code for part in parts]
        code = replace(
            codes[0],
            objects=tuple(data for one in codes for data in one.objects),
            symbols={name: symbol for one in codes for name, symbol in (one.symbols or {}).items()},
            written={name: places for one in codes for name, places in (one.written or {}).items()},
            externs=tuple(sorted({name for one in codes for name in one.externs})),
        )
        return Compiled(code, reduce(Texts.and_of, (part.texts for part in parts)))


def compile_kernel(kernel: Kernel) -> Compiled:
    """One kernel, under its default schedule."""
    try:
        scheduled = default_provider(kernel).func
    except WorkbenchError as error:
        raise error.located(f"schedule of kernel {kernel.name}") from None
    made = backend_of(kernel.target).compile_module(lower_module(IRModule({kernel.name: scheduled})), kernel.target)
    return Compiled(made.code, made.shown)


def compile_entry(module: IRModule, name: str, target: Target) -> Compiled:
    """The function of a lowered module that calls its kernels; these are only looked at, by what they write."""
    made = backend_of(target).compile_module(lower_alone(module, name), target, only=(name,))
    return Compiled(made.code, made.shown)


class KernelWork:
    """Kernels on their way to code for a target under a PassContext, by this process and helpers.

        with KernelWork(target, context) as work:
            with listening_for_kernels(work.add):   # helpers begin with them while this process lowers the rest
                graph = lowered()
            work.finish(graph.kernels)              # their code, in order

    Left before it is finished, it abandons the rest and ends the helpers.
    """

    def __init__(self, target: Target, context: PassContext) -> None:
        self._target, self._context = target, context
        self._settings = {
            "settings": [context.opt_level, context.required_pass, context.disabled_pass, dict(context.config)],
            "limits": asdict(limits),
        }
        self._pieces: list[Kernel | Callable[[], Compiled]] = []
        self._shared = Shared(self._here, self._there, helpers, "kernels", PORTION, self._advance)
        self._lock = threading.Lock()
        self._done = 0
        self._task: progress.Task | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._shared.stop()

    def add(self, kernel: Kernel) -> None:
        """One more kernel; of two and more a helper does a part."""
        self._pieces.append(kernel)
        self._shared.add(written_size(kernel.func.body))
        self._shared.start(min(helper_count(), len(self._pieces) // 2))

    def finish(self, kernels: Sequence[Kernel], entry: Callable[[], Compiled] | None = None) -> list[Compiled]:
        """The code of each kernel, in order, preceded by what `entry` makes in this thread.

        Kernels that were not added are now.  Raises the `WorkbenchError` of one that fails.
        """
        places = {id(piece): place for place, piece in enumerate(self._pieces)}
        for kernel in kernels:
            if places.setdefault(id(kernel), len(self._pieces)) == len(self._pieces):
                self.add(kernel)
        asked = [places[id(kernel)] for kernel in kernels]
        if entry is not None:
            asked.insert(0, len(self._pieces))
            self._pieces.append(entry)
            self._shared.add(0, own=True)
        with progress.task("kernels", len(self._pieces)) as task, self._target, self._context.applied():
            with self._lock:
                self._task = task
                task.advance(self._done)
            results = self._shared.run()
        return [results[place] for place in asked]

    def _here(self, place: int) -> Compiled:
        piece = self._pieces[place]
        return compile_kernel(piece) if isinstance(piece, Kernel) else piece()

    def _there(self, helper: Child, taken: Sequence[int]) -> list[Compiled]:
        kernels = [piece for place in taken if isinstance(piece := self._pieces[place], Kernel)]
        answer = helper.ask("compile", self._settings, [json.dumps([_told(kernel) for kernel in kernels]).encode()])
        frames = iter(map(bytes, answer.frames))
        return [_received(unit, frames, kernels[0].target) for unit in answer.header["units"]]

    def _advance(self, place: int, result: Compiled) -> None:
        with self._lock:
            self._done += 1
            if self._task is not None:
                self._task.advance()


# --- the helper's side ---------------------------------------------------------------------------------------------


def actions() -> Mapping[str, Action]:
    for table in (OPERATORS, PRIMITIVES, PASSES, TENSOR_INTRINSICS):
        len(table)  # filled now: what is sent names classes of their modules
    return {"ready": lambda request, frames: ({}, []), "compile": _compile, "constants": _constants}


def _constants(request: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[Mapping[str, Any], Sequence[bytes]]:
    """The constants of modules, and of those loaded here, as nobody has changed them."""
    return {"constants": constants() | constants(request["modules"])}, []


def _compile(request: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[Mapping[str, Any], Sequence[bytes]]:
    """The code of the kernels of a request."""
    for name, value in request["limits"].items():
        setattr(limits, name, value)
    level, required, disabled, config = request["settings"]
    kernels = [_made(told) for told in json.loads(frames[0])]
    context = PassContext(level, required, disabled, config=config)
    with kernels[0].target, context.applied(), collecting.rarely():
        made = [compile_kernel(kernel) for kernel in kernels]
    units = [{**asdict(replace(one.code, objects=())), "objects": len(one.code.objects)} for one in made]
    answers: list[bytes] = []
    for code, texts in made:
        answers += [*code.objects, json.dumps([texts.emitted, texts.printed]).encode()]
    return {"units": units}, answers


def _told(kernel: Kernel) -> dict[str, Any]:
    """A kernel as plain data, without the contents of its constants.  Raises `CannotTell`."""
    choice, workload = kernel.choice, kernel.workload
    if kernel.tensors or (choice is not None and choice.by_hand):
        raise CannotTell("what a person chose or wrote")
    roots = [kernel.func] if workload is None else [kernel.func, workload.operator, *workload.types]
    chosen = None if choice is None else [choice.implementation.name, dict(choice.config)]
    return {
        "name": kernel.name, "target": _target_text(kernel.target), "fingerprint": kernel.fingerprint,
        "block": kernel.block, "program": packed(roots), "choice": chosen,
    }  # fmt: skip


def _made(told: Mapping[str, Any]) -> Kernel:
    """The kernel that `_told` told of."""
    roots: list[Any] = unpacked(told["program"])
    func, operator, types = roots[0], roots[1:2], tuple(roots[2:])
    target = Target(told["target"])
    workload = Workload(operator[0], types, target) if operator else None
    choice = None if workload is None or told["choice"] is None else choice_again(workload, *told["choice"])
    return Kernel(told["name"], func, target, workload, told["fingerprint"], (), choice, told["block"])


def _target_text(target: Target) -> str:
    text = str(target)
    if Target(text) != target:
        raise CannotTell(f"a target that is more than {text}")
    return text


VALUES.update(
    target=(Target, _target_text, Target), loop=(ForKind, str, ForKind), iterator=(IterKind, str, IterKind)
)  # fmt: skip


def _received(unit: Mapping[str, Any], frames: Iterator[bytes], target: Target) -> Compiled:
    """What a helper told of; object code and texts follow in `frames`."""
    objects = tuple(next(frames) for _ in range(unit["objects"]))
    return Compiled(code_unit(unit, objects), Texts(target, *json.loads(next(frames))))


def code_unit(told: Mapping[str, Any], objects: tuple[bytes, ...]) -> CodeUnit:
    """The code whose fields came through JSON."""
    written = {name: tuple(places) for name, places in told["written"].items()}
    return CodeUnit(**{**told, "objects": objects, "written": written, "externs": tuple(told["externs"])})
