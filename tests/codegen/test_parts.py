"""Large functions are emitted in parts: what LLVM has to do grows with the program, and the numbers stay."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.codegen.support import artefact, build
from tests.growing import TE
from tests.nightly import daily, some
from workbench.codegen.llvm.parts import LARGE, NESTS

COUNT = LARGE + NESTS // 2


def chain(count: int, attributes: str = '"note": 0', kind: str = "serial") -> str:
    """Each nest adds its number and a multiple of the value before the last, in a buffer of its own."""
    lines = [
        'def f(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):',
        f"    T.func_attr({{{attributes}}})",
        *(f'    b{at} = T.allocate((32,), "float32")' for at in range(count - 1)),
    ]
    names = ["A", "A", *(f"b{at}" for at in range(count - 1)), "B"]
    for at in range(count):
        lines.append(f"    for i{at} in T.{kind}(32):")
        last, before = names[at + 1], names[at]
        lines.append(f"        {names[at + 2]}[i{at}] = {last}[i{at}] * T.float32(0.5) + {before}[31 - i{at}] + {at}.0")
    return "\n".join(lines)


def computed(count: int, values: np.ndarray) -> np.ndarray:
    before = last = values.astype("float64")
    for at in range(count):
        before, last = last, last * 0.5 + before[::-1] + at
    return last


def functions(text: str) -> list[str]:
    """The functions of an LLVM text, without the wrapper."""
    found = re.findall(r"^define .*?^}", text, re.MULTILINE | re.DOTALL)
    return [one for one in found if "__tvm_ffi_" not in one.splitlines()[0]]


def text_of(program: Any) -> str:
    (text,) = artefact(program).texts.values()
    return text


@pytest.mark.parametrize("name", daily(("te_chain", "te_reductions", "te_consumers", "te_summed"), "te_chain"))
def test_functions_of_llvm_stay_small(name: str) -> None:
    """LLVM took 12 s for 400 reductions in one function."""
    largest = []
    for count in (COUNT, 2 * COUNT):
        found = functions(text_of(wb.te.create_prim_func(TE[name](count))))
        parts = [one for one in found if ".part" in one.splitlines()[0]]
        assert len(parts) >= count // NESTS
        largest.append(max(one.count("\n") for one in parts))
    assert largest[1] <= 1.1 * largest[0]


def test_ordinary_functions_stay_whole() -> None:
    assert len(functions(text_of(chain(LARGE)))) == 1
    assert len(functions(text_of(chain(LARGE + 1)))) == 1 + LARGE // NESTS


@pytest.mark.parametrize("attributes", some(('"note": 0', '"role": "entry"', '"noalias": False'), 3))
@pytest.mark.parametrize("kind", some(["serial", "parallel", "vectorized", "unroll"], 2))
def test_numbers(attributes: str, kind: str) -> None:
    """Also where buffers lie in one memory, one after the other."""
    values = np.linspace(-1, 1, 32).astype("f")
    found = np.zeros(32, "f")
    build(chain(COUNT, attributes, kind))(values, found)
    wanted = computed(COUNT, values)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_buffers_that_share_memory_are_not_told_apart_from_each_other() -> None:
    apart = [one.splitlines()[0].count("noalias") for one in functions(text_of(chain(COUNT)))]
    shared = [one.splitlines()[0].count("noalias") for one in functions(text_of(chain(COUNT, '"role": "entry"')))]
    assert len(apart) == len(shared)
    assert sum(shared) < len(shared) * 2 + 2 < sum(apart)  # the context, and what are parameters


@pytest.mark.parametrize("name", ["te_reductions", "te_consumers", "te_summed"])
def test_stages(name: str) -> None:
    count = COUNT // 2 if name == "te_reductions" else COUNT
    tensors = TE[name](count)
    run = wb.build(wb.te.create_prim_func(tensors), target="llvm")
    rng = np.random.default_rng(3)
    inputs = [rng.normal(size=(4, 8)).astype("f") for _ in range(count if name == "te_summed" else 1)]
    outputs = [np.zeros((4, 8), "f") for _ in range(len(tensors) - len(inputs))]
    run(*inputs, *outputs)
    if name == "te_summed":
        np.testing.assert_allclose(outputs[0], np.sum(inputs, axis=0, dtype="f8"), rtol=1e-4, atol=1e-4)
    elif name == "te_consumers":
        for at, output in enumerate(outputs):
            np.testing.assert_allclose(output, inputs[0].astype("f8") ** 2 + at, rtol=1e-5)
    else:
        value = inputs[0].astype("f8")
        for _ in range(count):
            value = value - value.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(outputs[0], value, rtol=1e-3)


def test_a_failure_in_a_part_ends_the_call() -> None:
    lines = chain(COUNT).splitlines()
    at = next(number for number, line in enumerate(lines) if line.strip().startswith("for i40 "))
    lines.insert(at + 1, '        assert A[0] < T.float32(1.0), "too large"')
    run = build("\n".join(lines))
    found = np.zeros(32, "f")
    with pytest.raises(wb.WorkbenchError, match="too large"):
        run(np.ones(32, "f"), found)
    assert not found.any()
    values = np.linspace(-1, 0.5, 32).astype("f")
    run(values, found)
    np.testing.assert_allclose(found, computed(COUNT, values), rtol=1e-4)


def test_a_function_that_returns_early_stays_whole() -> None:
    """T.ret in a part would leave the part alone."""
    lines = chain(COUNT).splitlines()
    at = next(number for number, line in enumerate(lines) if line.strip().startswith("for i40 "))
    lines.insert(at + 1, "        if A[0] > T.float32(0.0):\n            T.evaluate(T.ret(0))")
    assert len(functions(text_of("\n".join(lines)))) == 1


def test_lines_of_parts_are_lines_of_the_text() -> None:
    """Debug locations of a part name the printed program."""
    made = artefact(chain(COUNT))
    (text,), (source,) = made.texts.values(), made.sources.values()
    numbers = {int(number) for number in re.findall(r"!DILexicalBlock\(.*?line: (\d+)", text)}
    loops = {number for number, line in enumerate(source.splitlines(), 1) if line.lstrip().startswith("for ")}
    assert numbers == loops and len(loops) == COUNT


@pytest.mark.parametrize("kind", ["serial", "parallel"])
def test_a_buffer_whose_address_somebody_keeps_may_be_written_meanwhile(kind: str) -> None:
    """LLVM would move its loads over a call in the same loop that writes through the address kept before."""
    lines = chain(COUNT, kind=kind).splitlines()
    begin = next(number for number, line in enumerate(lines) if line.strip().startswith("for i0 "))
    kept = '    T.evaluate(T.call_extern("keep_it", T.address_of(b0[0]), dtype="int32"))'
    headers = []
    for program in (lines, [*lines[:begin], kept, *lines[begin:]]):
        found = [one.splitlines()[0] for one in functions(text_of("\n".join(program)))]
        headers.append(sum(one.count("noalias %c") for one in found if ".part" in one or ".body" in one))
    assert headers[0] - headers[1] == (1 if kind == "serial" else 4)  # one part holds all three loops that touch it
