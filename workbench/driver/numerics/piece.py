"""The smallest failing piece of a wrong step, written as a pytest file.

For a graph pass the piece is the part of the graph right before the first wrong tensor, cut as short as it still goes
wrong; for everything after lowering it is one kernel, on smaller shapes where these show the fault.  The file holds the
program before and after the step as text, its arrays lie beside it (`.npz`), and the test runs the step again: it fails
now and passes once the step is right.  A step that has no name to call it by (a pass of a notebook, a choice of
schedules) is tested on the text it made, with the place marked where it is to be called instead: until then it stays
as it is.  An edit is the text that it made: the test passes once that text computes what the text before it does.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...codegen.llvm.contained import Contained
from ...core.errors import WorkbenchError
from ...core.module import IRModule
from ...core.node import post_order, rewrite
from ...core.transform import PASSES, Pass, defined_in
from ...lower.entry import input_names
from ...relay.ir import expr as r
from ..given_inputs import arranged, entry_name
from ..history import Stage
from ..text import constants_in, script
from .blame import Culprit, native_check, reason
from .compare import compare_all
from .forms import flat_form
from .graph import Memory, Seen, evaluate, first_wrong, old_call
from .report import BAD, KernelCheck, no_piece
from .shrink import SmallKernel, interpretable, small_kernels
from .written import Piece, write

if TYPE_CHECKING:
    from ..history import Step
    from .check import Checker

DEPTHS: Final = (1, 2, 3, 5, 8, 13, 21)
"""How many layers of calls a piece of a graph has, tried in this order."""


# --- finding the piece ----------------------------------------------------------------------------------------------


def writer(checker: Checker, index: int, seconds: float) -> Callable[[Path], Path]:
    """What writes the test of step `index` when a report is asked for it; till then the checker holds verdicts."""

    def made(path: Path) -> Path:
        check = checker.verdict(index)
        what = f"{check.verdict}: {check.note if check.tensor is None else check.tensor}"
        try:
            with Contained() as child:
                checker.resume(child, seconds, index)
                return write(find(checker, index, what), path)
        finally:
            gc.collect()  # pieces of programs that were tried hold each other, and tensors
            checker.release()

    return made


def refusal(checker: Checker, index: int) -> str:
    """Why no piece can be cut out of step `index`; "" where one can.

    What it took to find out is kept in the checker.
    """
    step, label = checker.step(index), checker.labels[index]
    if step.error is not None:
        return f"step {label} stops with an error: there is no program after it"
    if step.action.level == "relay":
        return "" if step.previous is not None else "the program is wrong as it was opened: no step comes before it"
    if checker.machine is None:
        return f"step {label} is compared on the whole program: no kernel was cut out of it"
    if index in checker.culprits and checker.culprits[index].small is not None:
        return ""
    bad = next((kernel for kernel in checker.verdict(index).kernels if kernel.verdict in BAD), None)
    if bad is None:
        return f"step {label} is wrong in how kernels are called, not in a kernel"
    small = _failing(checker, index, bad)
    if small is not None:
        checker.culprits[index] = Culprit(index, small, bad, True, index)
        return ""
    why = reason(checker, index, bad.kernel)
    return f"kernel {bad.kernel} is not shown to be wrong by what the interpreter can run: {why}"


def find(checker: Checker, index: int, what: str) -> Piece:
    """The piece of step `index`.  Raises `WorkbenchError` (E-NUMERICS-PIECE) where none can be cut out."""
    refused = refusal(checker, index)
    if refused:
        raise no_piece(checker.labels[index], refused, what)
    step = checker.step(index)
    if step.action.level == "relay":
        return _graph_piece(checker, step, index, what)
    guilty = checker.culprits[index]
    small, form = guilty.small, guilty.form
    if form != index:  # its own native code may be wrong as well: that is nearer to it
        bad = next((kernel for kernel in checker.verdict(index).kernels if kernel.verdict in BAD), None)
        found = _failing(checker, index, bad) if bad is not None else None
        small, form = (small, form) if found is None else (found, index)
    assert small is not None
    return _kernel_piece(checker, small, index, form, what)


def _failing(checker: Checker, index: int, bad: KernelCheck) -> SmallKernel | None:
    """A bad kernel of a step alone: the smallest problem that the interpreter can run."""
    assert checker.machine is not None
    problems = small_kernels(
        checker.session, bad.kernel, checker.machine.meanings[bad.kernel], checker.machine.captured[bad.kernel]
    )
    with Contained(checker.child.seconds) as child:
        for small in problems:
            if interpretable(small) and native_check(small, index, child, checker).verdict in BAD:
                return small
    return None


def _kernel_piece(checker: Checker, small: SmallKernel, index: int, form: int, what: str) -> Piece:
    """The piece of step `index`.

    `form`: the step whose form native code got wrong, where code generation is at fault.
    """
    step, label = checker.step(index), checker.labels[index]
    kind = {"codegen": "native", "lower": "lower"}.get(step.action.kind, "tir")
    position = small.position(index)
    arrays = {f"in{place}": array for place, array in enumerate(small.inputs)}
    arrays |= {f"out{place}": np.array(array.shape) for place, array in enumerate(small.outputs(index))}
    arrays |= {f"dtype{place}": np.array(str(array.dtype)) for place, array in enumerate(small.outputs(index))}
    before = small.session.step(max(position - 1, 0)).stage.module
    after = small.session.step(position).stage.module
    call = _call(step)
    if kind == "lower":
        call = _choices(small.session), ""
        texts = script(before), _kernel_text(after, small.kernel)
        arrays |= {key: tensor.numpy() for key, tensor in constants_in(before).items()}
    elif kind == "native":
        flat = flat_form(IRModule({small.kernel: small.function(form)}), checked=False)
        texts = _kernel_text(flat, small.kernel), ""
    else:
        texts = _kernel_text(before, small.kernel), _kernel_text(after, small.kernel)
    return Piece(
        label, what, kind, *texts, *call, step.action.kind == "edit", small.kernel, str(checker.session.target),
        checker.tolerance, arrays,
    )  # fmt: skip


def _choices(session: Any) -> str:
    """What makes the session's choices of implementations of one that has made none."""
    _, row = session.plan.lower_row()
    return "".join(
        f".choose({', '.join([repr(one.at.name), repr(one.implementation), *(f'{k}={v}' for k, v in one.config)])})"
        for one in row.choices
    )


def _kernel_text(module: IRModule, kernel: str) -> str:
    return script(IRModule({kernel: module[kernel]}))


def _call(step: Step) -> tuple[str, str]:
    """The expression that runs a step on `module`, and the module to import for it; a pass of a notebook has none."""
    action = step.action
    if action.kind != "pass" or action.name not in PASSES:
        return "", ""
    made: Pass = PASSES[action.name](**action.arguments)
    home = defined_in(PASSES[action.name])
    own = home.startswith("workbench.")
    imported = home != "__main__" and getattr(sys.modules.get(home), "__spec__", None) is not None
    if action.code != made.code_key or not (own or imported):
        return "", ""
    options = ", ".join(f"{name}={value!r}" for name, value in action.arguments.items())
    return f'PASSES["{action.name}"]({options})(module)', "" if own else home


# --- graphs ---------------------------------------------------------------------------------------------------------


def _graph_piece(checker: Checker, step: Step, index: int, what: str) -> Piece:
    assert step.previous is not None
    before = step.previous.stage.module
    memory, tolerance = checker.memory, checker.tolerance
    try:
        _, wrong = first_wrong(before, step.stage.module, checker.given, memory, tolerance, step.origins)
    except WorkbenchError:  # what the step made cannot be run: the program as a whole shows that
        wrong = None
    seen: list[Seen] = []
    evaluate(before, arranged(before, checker.given), memory, seen=seen)
    end = old_call(wrong, seen, step.origins) if wrong is not None else None
    if end is not None:
        for depth in DEPTHS:
            found = _cut(end, seen, depth)
            if found is not None and _goes_wrong(found, step, tolerance):
                return _graph(checker, step, index, what, *found)
    return _graph(checker, step, index, what, before, arranged(before, checker.given))


def _graph(
    checker: Checker, step: Step, index: int, what: str, module: IRModule, arrays: Sequence[np.ndarray]
) -> Piece:
    after = _run(step, module)
    held = {f"in{place}": np.asarray(array) for place, array in enumerate(arrays)}
    held |= {key: tensor.numpy() for part in (module, after) for key, tensor in constants_in(part).items()}
    label = checker.labels[index]
    target = str(checker.session.target)
    edit = step.action.kind == "edit"
    return Piece(
        label, what, "relay", script(module), script(after), *_call(step), edit, "main", target, checker.tolerance, held
    )


def _run(step: Step, module: IRModule) -> IRModule:
    return step.action.run(Stage(module)).module


def _goes_wrong(found: tuple[IRModule, list[np.ndarray]], step: Step, tolerance: float) -> bool:
    module, arrays = found
    try:
        after = outputs_of(_run(step, module), named(module, arrays))
        return not compare_all(after, evaluate(module, arrays, Memory()), tolerance).right
    except WorkbenchError:
        return False


def _cut(end: r.Call, seen: list[Seen], depth: int) -> tuple[IRModule, list[np.ndarray]] | None:
    """The calls that lead to `end`, `depth` layers of them; what these read becomes parameters."""
    values = {id(item.call): item.result for item in seen}
    operands = {
        id(argument): value for item in seen for argument, value in zip(item.call.args, item.operands, strict=True)
    }
    inside: set[int] = set()
    layer: list[Any] = [end]
    for _ in range(depth):
        inside.update(id(node) for node in layer)
        layer = [part for node in layer for part in getattr(node, "args", ()) if isinstance(part, r.Call)]
    params: dict[int, r.Var] = {}
    given: list[np.ndarray] = []
    for node in post_order(end):
        cut = id(node) in values and id(node) not in inside
        if not (isinstance(node, r.Var) or (isinstance(node, r.Call) and cut)):
            continue
        value = values.get(id(node), operands.get(id(node)))
        if not isinstance(value, np.ndarray) or id(node) in params:
            continue
        params[id(node)] = r.Var(f"x{len(params)}", node.checked_type)
        given.append(value)
    body = rewrite(end, lambda _: None, lambda node: params.get(id(node)))
    used = {id(node) for node in post_order(body)}
    kept = [(var, value) for var, value in zip(params.values(), given, strict=True) if id(var) in used]
    function = r.Function(tuple(var for var, _ in kept), body)
    try:
        return PASSES["InferType"]()(IRModule({"main": function})), [value for _, value in kept]
    except WorkbenchError:
        return None


def named(module: IRModule, arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays in the order of a relay module's parameters, by their names (for the written tests)."""
    return dict(zip(input_names(module[entry_name(module)]), arrays, strict=True))


def outputs_of(module: IRModule, given: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """What a relay module gives on inputs by name, in float32 (for the written tests)."""
    return evaluate(module, arranged(module, given))
