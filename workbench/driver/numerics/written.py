"""The file of a smallest failing piece: its text as a pytest file, and its arrays.

What the file says of itself holds: it names the step, what is wrong, and when the test will pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from ...core.whole_file import write_arrays, write_whole


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
    """The expression that runs the step on `module`; empty where it has no name.  Of lowering: what chooses, if any."""
    home: str
    """The module whose import makes that name known; empty where it is the workbench's."""
    edit: bool = False
    """Whether a person wrote what stands after the step."""
    kernel: str = "main"
    target: str = "llvm"
    tolerance: float = 1e-3
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Inputs as in0, in1, ...; outputs' shapes as out0, ...; constants by fingerprint."""

    @property
    def way(self) -> str:
        """How the test runs the step: lowering and code generation as they are, a pass by its name, or by its text."""
        if self.call or self.kind in ("lower", "native"):
            return "called"
        return "edit" if self.edit else "text"


def write(piece: Piece, path: Path) -> Path:
    """Write the file, and its arrays beside it."""
    stored = path.with_suffix(".npz")
    write_arrays(stored, piece.arrays, compressed=True)
    how = _HOW[piece.way]
    values = {
        "step": piece.step, "what": piece.what.replace('"""', "'''").replace("\\", "/"), "before": piece.before,
        "after": piece.after, "call": piece.call or how.call.replace("<<step>>", piece.step), "until": how.until,
        "made": how.made, "kernel": piece.kernel, "target": piece.target,
        "tolerance": repr(piece.tolerance), "arrays": stored.name, "name": _identifier(piece.step),
        "home": f"import {piece.home}  # the pass is written there\n" if piece.home else "",
    }  # fmt: skip
    text = _HEAD + {"relay": _RELAY, "tir": _TIR, "native": _NATIVE, "lower": _LOWER}[piece.kind]
    for name, value in values.items():
        text = text.replace(f"<<{name}>>", value)
    return write_whole(path, text)


def _identifier(label: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in label).strip("_").lower()


@dataclass(frozen=True)
class _Way:
    """How a test runs its step."""

    until: str
    """When the test passes."""
    made: str = "what the step made of it"
    call: str = ""


_HOW: Final = {
    "called": _Way("The test fails as long as the step is wrong."),
    "text": _Way(
        "The step has no name to call it by, so AFTER holds what it made: the test fails until the step is called at\n"
        "the place marked in the function `step`; from then on it passes when the step is right.",
        call="parse(AFTER, CONSTANTS)  # <<step>> has no name to call it by: call it on module here",
    ),
    "edit": _Way(
        "The step is an edit by hand, its text is AFTER: the test passes once AFTER computes what BEFORE does.",
        made="the edit, as it came out",
        call="parse(AFTER, CONSTANTS)",
    ),
}

_HEAD = '''"""Step <<step>> changes what the program computes; written by `report.save_test`.

<<what>>

<<until>>  Arrays: <<arrays>>.
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
"""  # <<made>>


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
    session = wb.open(graph, passes=["InferType"], target="<<target>>")<<call>>
    compare(run(session["Lower"].after), outputs_of(graph, named(graph, INPUTS)))
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
