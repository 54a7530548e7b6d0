"""What a session shows is what `run` executes: assembly, LLVM IR and origins are of the very bytes that are linked."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

import workbench as wb
from workbench import relay
from workbench.codegen.llvm import machine
from workbench.codegen.llvm.backend import backend
from workbench.codegen.llvm.pipelines import ATTRIBUTE
from workbench.core.module import IRModule


def sections(code: bytes) -> dict[str, bytes]:
    """The machine code of an object, by section."""
    found = llvm.ObjectFileRef.from_data(code).sections()
    return {section.name(): section.data() for section in found if section.is_text()}


def assembled(text: str) -> dict[str, bytes]:
    """The machine code of an assembly text, without its debug information."""
    kept = [
        line
        for line in text.split("\n")
        if not re.match(r"\s*\.(loc|file|cfi_\w+)\b", line) and not re.match(r"\s*#", line)
    ]
    end = next((index for index, line in enumerate(kept) if ".section\t.debug" in line), len(kept))
    quoted = (line.replace("\\", "\\5C").replace('"', "\\22").replace("\t", "\\09") for line in kept[:end])
    module = llvm.parse_assembly("".join(f'module asm "{line}"\n' for line in quoted), llvm.create_context())
    own = machine.target_machine(machine.Job("", *("", *machine.host_processor())))
    module.triple, module.data_layout = own.triple, str(own.target_data)
    return sections(own.emit_object(module))


@cache
def session() -> Any:
    """A convolution (a copy over scalars, then vectors), a matrix product and a softmax (scalars)."""
    generator = np.random.default_rng(0)
    x = relay.var("x", shape=(1, 16, 14, 14))
    weight = relay.const(generator.standard_normal((32, 16, 3, 3)).astype("float32"))
    dense = relay.const(generator.standard_normal((40, 32)).astype("float32"))
    body = relay.nn.conv2d(x, weight, padding=(1, 1), strides=2)
    body = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(relay.nn.relu(body)))
    return wb.open(IRModule.from_expr(relay.Function([x], relay.nn.softmax(relay.nn.dense(body, dense)))))


def kernels() -> list[str]:
    return list(session().provenance.kernels)


@cache
def executed() -> Any:
    """What is linked when the model runs: all its functions as one artefact."""
    result = session().run({"x": np.ones((1, 16, 14, 14), "float32")})
    assert np.isfinite(next(iter(result.values()))).all()
    return session().build().module._keep


@pytest.mark.parametrize("kernel", kernels())
def test_shown_assembly_is_of_the_executed_bytes(kernel: str) -> None:
    """Both views: the provenance's, to which origins belong, and that of the code generation step."""
    code = sections(executed().objects[kernel])
    assert any(code.values())
    assert assembled(session().provenance.text(kernel, "asm")) == code
    assert assembled(session().codegen[kernel].source("asm")) == code


@pytest.mark.parametrize("kernel", kernels())
def test_bytes_in_memory_are_those_of_the_object(kernel: str) -> None:
    """Where the linker wrote no address, the memory that a call jumps to holds what the object says."""
    artefact = executed()
    (code,) = (np.frombuffer(data, np.uint8) for data in sections(artefact.objects[kernel]).values() if data)
    size = min(len(code), 48)
    start = artefact.link()[artefact.symbols[kernel]]
    here = np.frombuffer(ctypes.string_at(start, size), np.uint8)
    equal = (np.lib.stride_tricks.sliding_window_view(code, size) == here).mean(axis=1).max()
    assert equal > 0.5, f"at most {equal:.0%} of {size} bytes are equal"


@pytest.mark.parametrize("kernel", kernels())
def test_shown_llvm_compiles_to_the_executed_bytes(kernel: str) -> None:
    """The optimised IR, with every instruction's origin, needs no further pass to become what runs."""
    emitted = machine.job_of(session().provenance.text(kernel, "ll"), session().target)
    assert sections(machine.compile_job(emitted)) == sections(executed().objects[kernel])


def test_kernels_of_all_kinds_are_compared() -> None:
    """Lean functions alone, lean ones beside loops over scalars, scalars alone."""
    kinds: set[tuple[bool, bool]] = set()
    for kernel in kernels():
        bodies = re.findall(r"^define [^\n]*@wb_[\w.]+\([^\n]*", executed().texts[kernel], re.MULTILINE)
        loops = [line for line in bodies if ".launch(" not in line]
        kinds.add((any(ATTRIBUTE in line for line in loops), any(ATTRIBUTE not in line for line in loops)))
    assert {(True, False), (True, True)} <= kinds, kinds


def test_debug_locations_change_no_code() -> None:
    """Code for provenance, whose locations tell expressions apart, is the code without any locations."""
    module = session().step(session().labels.index("Codegen") - 1).stage.module
    plain = backend.emit_module(module, session().target, debug=False)
    for kernel, text in plain.texts.items():
        assert sections(machine.compile_job(machine.job_of(text, session().target))) == sections(
            executed().objects[kernel]
        )
