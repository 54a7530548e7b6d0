"""The LLVM text: stable, with safe names, and debug lines that lead back to the printed program."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from dataclasses import asdict

import pytest

from tests.codegen.support import artefact, function
from workbench.arith import nodes as n
from workbench.arith.build import const
from workbench.codegen.llvm import machine
from workbench.codegen.llvm.facts import Facts
from workbench.codegen.llvm.lines import FLOW, KEPT
from workbench.codegen.llvm.parallel_compile import compile_jobs, helpers
from workbench.codegen.llvm.tracing import trace
from workbench.core.errors import WorkbenchError
from workbench.target import Target
from workbench.tir import nodes as t

SAXPY = """
def saxpy(a: T.float32, X: T.Buffer((64,), "float32"), Y: T.Buffer((64,), "float32")):
    for i in T.serial(4):
        for j in T.vectorized(16):
            Y[i * 16 + j] = a * X[i * 16 + j] + Y[i * 16 + j]
"""


def kernel_text(text: str) -> str:
    """The kernel's definition alone, without debug locations."""
    (found,) = re.findall(r"^define i32 @wb_.*?^}", re.sub(r",? !dbg !\d+", "", text), re.MULTILINE | re.DOTALL)
    return found


def test_a_small_kernel(golden: Callable[..., None]) -> None:
    golden(kernel_text(artefact(SAXPY).texts["f"]))


ENTRY = """
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    with T.block("root"):
        C = T.alloc_buffer((100_000,), "float32")
        T.evaluate(T.call_tir("kernel", T.address_of(A[0]), T.address_of(C[0])))
        T.evaluate(T.poll_cancel())
        T.evaluate(T.call_tir("kernel", T.address_of(C[0]), T.address_of(C[4])))
        T.evaluate(T.poll_cancel())
        T.evaluate(T.call_tir("kernel", T.address_of(C[4]), T.address_of(B[0])))
        T.evaluate(T.poll_cancel())
"""
KERNEL = """
def kernel(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        assert A[i] >= T.float32(0.0), "negative"
        B[i] = A[i] * T.float32(2.0)
"""


def test_an_entry_branches_once_a_call_and_leaves_through_one_block() -> None:
    text = kernel_text(artefact({"main": function(ENTRY), "kernel": function(KERNEL)}).texts["main"])
    # no memory; three times a call and its poll
    assert text.count("br i1") == 4
    # the end, no memory, and all that has memory to give back
    assert text.count("  ret i32") == 3


def test_divisions_of_counters_round_one_way_only() -> None:
    text = """
def f(A: T.Buffer((720,), "int64"), B: T.Buffer((720,), "int64"), C: T.Buffer((720,), "int64")):
    for i in T.serial(720):
        B[i] = A[i] // 10
        C[i] = i // 24 + i % 24 + i // 10
    """
    found = kernel_text(artefact(text).texts["f"])
    assert (found.count("udiv"), found.count("urem")) == (2, 1)
    assert found.count("sdiv") == 1  # what is loaded may be negative


def test_text_is_the_same_every_time() -> None:
    first, second = artefact(SAXPY), artefact(SAXPY)
    assert first.texts == second.texts
    assert first.objects == second.objects


@pytest.mark.parametrize("name", ["a b", 'x"; } define', "héllo", "\x00", "../x", "é" * 100, "n" * 300])
def test_names_of_users_never_reach_llvm(name: str) -> None:
    func = function(SAXPY)
    made = artefact({name: func})
    text = made.texts[name]
    quoted = re.sub(r'c"[^"]*"', "", text)
    symbols = re.findall(r"@[^\s(,)\]]+", quoted)
    assert [symbol for symbol in symbols if not re.fullmatch(r"@[A-Za-z0-9_.$]+", symbol)] == []
    assert all(ord(character) < 128 for character in text)
    made.module()


def test_instructions_lead_back_to_lines_of_the_printed_program() -> None:
    made = artefact(SAXPY)
    source = made.get_source("tir", "f").splitlines()
    store = next(number for number, line in enumerate(source, 1) if line.strip().startswith("Y["))
    assembly = made.get_source("asm")
    lines = {int(line) for line in re.findall(r"\.loc\s+\d+\s+(\d+)", assembly)}
    assert store in lines
    assert lines <= set(range(0, len(source) + 1))
    assert ".tir" in assembly


def test_most_loads_and_arithmetic_keep_a_line() -> None:
    from tests.codegen.test_statements import MATMUL

    made = artefact(MATMUL).texts["f"]
    optimised = trace(made, Target("llvm"))["ll-opt"]
    lines = optimised.text.split("\n")
    working = [spot for spot in optimised.spots if re.search(r"(load|fmul|fadd) |  store ", lines[spot.text_line - 1])]
    assert len(working) > 20
    assert sum(spot.how in (KEPT, FLOW) for spot in working) >= 0.85 * len(working)


def test_parallel_compilation_gives_the_same_objects() -> None:
    made = artefact({f"f{number}": function(SAXPY) for number in range(4)})
    jobs = [machine.job_of(text, Target("llvm")) for text in made.texts.values()]
    try:
        assert compile_jobs(jobs, workers=2) == compile_jobs(jobs, workers=1)
    finally:
        helpers.close()


def test_a_dead_helper_costs_nothing_but_time() -> None:
    jobs = [machine.job_of(artefact(SAXPY).texts["f"], Target("llvm"))] * 3
    helper = helpers.take()
    helper.ask("compile", {"job": asdict(jobs[0])})
    helpers.give_back(helper)
    assert helper.pid is not None
    os.kill(helper.pid, signal.SIGKILL)
    try:
        assert compile_jobs(jobs, workers=2) == compile_jobs(jobs, workers=1)
    finally:
        helpers.close()


def test_invalid_text_is_one_error_with_the_line() -> None:
    with pytest.raises(WorkbenchError) as caught:
        machine.compile_job(machine.job_of("define i32 @f() {\n  ret i64 %x\n}\n", Target("llvm")))
    assert caught.value.code == "E-CODEGEN-IR"
    assert "ret i64" in caught.value.found


def test_errors_come_back_from_helpers() -> None:
    bad = machine.job_of("define i32 @f() { ret }", Target("llvm"))
    try:
        with pytest.raises(WorkbenchError, match="E-CODEGEN-IR"):
            compile_jobs([bad, bad, bad], workers=2)
    finally:
        helpers.close()


@pytest.mark.parametrize("form", ["ll", "ll-opt", "asm", "tir"])
def test_sources_of_each_form(form: str) -> None:
    assert artefact(SAXPY).get_source(form)


def test_unknown_forms_are_refused() -> None:
    made = artefact(SAXPY)
    with pytest.raises(WorkbenchError, match="E-SOURCE-FORM"):
        made.get_source("pdf")
    with pytest.raises(WorkbenchError, match="E-MODULE-FUNCTION"):
        made.get_source("ll", "g")


@pytest.mark.parametrize("target", ["llvm -mcpu=x86-64", "llvm -mcpu=haswell", "llvm -mcpu=znver5"])
def test_every_vector_width_assembles(target: str) -> None:
    assembly = artefact(SAXPY, target).get_source("asm")
    register = {"x86-64": "xmm", "haswell": "ymm", "znver5": "zmm"}[target.rsplit("=", 1)[1]]
    assert register in assembly


def test_what_is_known_of_an_expression_is_not_taken_for_another_ones() -> None:
    """Expressions that are made while code is emitted come and go, and their addresses with them."""
    counter = n.Var("i")
    facts = Facts(t.Evaluate(const(0)), noalias=True)
    for number in range(1, 200):
        assert facts.multiple(counter * number) == number
