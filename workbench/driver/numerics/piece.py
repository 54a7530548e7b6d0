"""The smallest failing piece of a wrong step, written as a pytest file.

For a graph pass the piece is the part of the graph right before the first wrong tensor, cut as short as it still goes
wrong; for everything after lowering it is one kernel, on smaller shapes where these show the fault.  The file holds the
program before and after the step as text, its arrays lie beside it (`.npz`), and the test runs the step again: it fails
now and passes once the step is right.  A step that has no name to call it by (a pass of a notebook, an edit, a choice
of schedules) is tested on the text it made, with the place marked where it is to be called instead.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...codegen.llvm.contained import Contained
from ...core.errors import WorkbenchError
from ...core.module import IRModule
from ...core.node import post_order, rewrite
from ...core.transform import PASSES, Pass, defined_in
from ...core.whole_file import write_arrays, write_whole
from ...lower.entry import input_names
from ...relay.ir import expr as r
from ..given_inputs import arranged, entry_name
from ..history import Stage
from ..text import constants_in, script
from .blame import native_check
from .compare import compare_all
from .forms import flat_form
from .graph import Memory, Seen, evaluate, first_wrong, old_call
from .report import BAD
from .shrink import SmallKernel, interpretable, small_kernels

if TYPE_CHECKING:
    from ..history import Step
    from .check import Checker

DEPTHS: Final = (1, 2, 3, 5, 8, 13, 21)
"""How many layers of calls a piece of a graph has, tried in this order."""


@dataclass(frozen=True)
class Piece:
    """What a test is written of."""

    step: str
    what: str
    """One line: what is wrong."""
    kind: str
    """relay, tir, native or lower"""
    before: str
    after: str
    call: str
    """The expression that runs the step on `module`; empty where it has no name."""
    home: str
    """The module whose import makes that name known; empty where it is the workbench's."""
    kernel: str = "main"
    target: str = "llvm"
    tolerance: float = 1e-3
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Inputs as in0, in1, ...; outputs' shapes as out0, ...; constants by fingerprint."""


def write(piece: Piece, path: Path) -> Path:
    """Write the file, and its arrays beside it."""
    stored = path.with_suffix(".npz")
    write_arrays(stored, piece.arrays, compressed=True)
    unnamed = f"parse(AFTER, CONSTANTS)  # {piece.step} has no name to call it by: call it on module here"
    values = {
        "step": piece.step, "what": piece.what.replace('"""', "'''").replace("\\", "/"), "before": piece.before,
        "after": piece.after, "call": piece.call or unnamed, "kernel": piece.kernel, "target": piece.target,
        "tolerance": repr(piece.tolerance), "arrays": stored.name, "name": _identifier(piece.step),
        "home": f"import {piece.home}  # the pass is written there\n" if piece.home else "",
    }  # fmt: skip
    text = _HEAD + {"relay": _RELAY, "tir": _TIR, "native": _NATIVE, "lower": _LOWER}[piece.kind]
    for name, value in values.items():
        text = text.replace(f"<<{name}>>", value)
    return write_whole(path, text)


def _identifier(label: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in label).strip("_").lower()


# --- finding the piece ----------------------------------------------------------------------------------------------


def find(checker: Checker, index: int, what: str) -> Piece:
    """The piece of step `index`.  Raises `WorkbenchError` (E-NUMERICS-PIECE) where none can be cut out."""
    step = checker.step(index)
    if step.action.level == "relay" and step.previous is not None:
        return _graph_piece(checker, step, index, what)
    guilty = checker.culprits.get(index)
    small, form = (guilty.small, guilty.form) if guilty is not None else (None, index)
    if checker.machine is not None and (small is None or form != index):
        found = _failing(checker, index)
        small, form = (small, form) if found is None else (found, index)
    if small is None:
        raise WorkbenchError(
            "E-NUMERICS-PIECE",
            f"step {checker.labels[index]} is wrong in how kernels are called, not in a kernel",
            where=what,
            fix="look at report.tensor and at the entry: session[step].diff()",
        )
    return _kernel_piece(checker, small, index, form, what)


def _failing(checker: Checker, index: int) -> SmallKernel | None:
    """The first bad kernel of a step alone: the smallest problem that the interpreter can run."""
    assert checker.machine is not None
    bad = next((kernel for kernel in checker.verdict(index).kernels if kernel.verdict in BAD), None)
    if bad is None:
        return None
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
    if kind == "lower":
        texts = script(before), _kernel_text(after, small.kernel)
        arrays |= {key: tensor.numpy() for key, tensor in constants_in(before).items()}
    elif kind == "native":
        flat = flat_form(IRModule({small.kernel: small.function(form)}), checked=False)
        texts = _kernel_text(flat, small.kernel), ""
    else:
        texts = _kernel_text(before, small.kernel), _kernel_text(after, small.kernel)
    return Piece(
        label, what, kind, *texts, *_call(step), small.kernel, str(checker.session.target), checker.tolerance, arrays
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
    _, wrong = first_wrong(before, step.stage.module, checker.given, memory, tolerance, step.origins)
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
    return Piece(
        label, what, "relay", script(module), script(after), *_call(step), "main", target, checker.tolerance, held
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


_HEAD = '''"""Step <<step>> changes what the program computes; written by `report.save_test`.

<<what>>

The test fails as long as the step is wrong.  Arrays: <<arrays>>.
"""

from pathlib import Path

import numpy as np

from workbench import Target
from workbench.core.module import IRModule
from workbench.core.tensor import Tensor
from workbench.core.transform import PASSES, PassContext
from workbench.driver.text import parse
<<home>>
STORED = dict(np.load(Path(__file__).with_name("<<arrays>>")))
INPUTS = [STORED[f"in{place}"] for place in range(sum(name.startswith("in") for name in STORED))]
CONSTANTS = {name: Tensor.of(value) for name, value in STORED.items() if len(name) == 64}

BEFORE = """
<<before>>
"""

'''

_STEP = '''AFTER = """
<<after>>
"""  # what the step made of it


def step(module: IRModule) -> IRModule:
    """The step under test."""
    with Target("<<target>>"), PassContext(opt_level=3):
        return <<call>>

'''

_RUN = '''
def outputs() -> list[np.ndarray]:
    count = sum(name.startswith("out") for name in STORED)
    return [np.zeros(STORED[f"out{place}"], str(STORED[f"dtype{place}"])) for place in range(count)]


def run(module: IRModule) -> list[np.ndarray]:
    """What the kernel writes, interpreted (which also finds accesses outside of buffers and reads of nothing)."""
    from workbench.tir.interpret import interpret

    kernel, made = module["<<kernel>>"], outputs()
    arrays = [*INPUTS, *made]
    if "signature" in kernel.attrs:  # flat: one-dimensional views of the same memory
        arrays = [array.reshape(-1) for array in arrays]
    interpret(kernel, *arrays)
    return made


def compare(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for one, other in zip(found, expected, strict=True):
        scale = float(np.abs(other).mean()) if other.size else 0.0
        np.testing.assert_allclose(one, other, rtol=<<tolerance>>, atol=1e-4 * min(1.0, scale))

'''

_RELAY = (
    _STEP
    + """
def test_<<name>>_keeps_the_numbers() -> None:
    from workbench.driver.numerics.piece import named, outputs_of

    before = PASSES["InferType"]()(parse(BEFORE, CONSTANTS))
    given = named(before, INPUTS)
    for one, other in zip(outputs_of(step(before), given), outputs_of(before, given), strict=True):
        scale = float(np.abs(other).mean()) if other.size else 0.0
        np.testing.assert_allclose(one, other, rtol=<<tolerance>>, atol=1e-4 * min(1.0, scale))
"""
)

_TIR = (
    _STEP
    + _RUN
    + """
def test_<<name>>_keeps_the_numbers() -> None:
    before = parse(BEFORE)
    compare(run(step(before)), run(before))
"""
)

_LOWER = (
    _RUN
    + """
def test_<<name>>_keeps_the_numbers() -> None:
    import workbench as wb
    from workbench.driver.numerics.piece import named, outputs_of

    graph = PASSES["InferType"]()(parse(BEFORE, CONSTANTS))
    kernels = wb.open(graph, passes=["InferType"])["Lower"].after
    compare(run(kernels), outputs_of(graph, named(graph, INPUTS)))
"""
)

_NATIVE = (
    _RUN
    + '''
def native(module: IRModule) -> list[np.ndarray]:
    """The same in native code, in a child process."""
    from workbench.codegen.llvm.contained import Contained, unit_of
    from workbench.core.dtype import DataType

    with Contained() as child:
        for place, array in enumerate(INPUTS):
            child.put(f"in{place}", array)
        error = child.load("piece", unit_of(module, Target("<<target>>")))
        if error is not None:
            raise error
        wanted = [(len(INPUTS) + place, DataType(made.dtype), made.shape) for place, made in enumerate(outputs())]
        answer = child.call("piece", "<<kernel>>", [f"in{place}" for place in range(len(INPUTS))], wanted)
    assert answer.error is None, f"{answer.failure}: {answer.error}"
    return answer.outputs


def test_<<name>>_keeps_the_numbers() -> None:
    module = parse(BEFORE)
    compare(native(module), run(module))
'''
)
