"""From a line of assembly to nodes of the file and forward again; the same as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

import workbench as wb
from tests.driver.programs import small_session
from workbench.codegen.llvm.lines import FLOW, FUNCTION, KEPT, LOOP
from workbench.core.errors import WorkbenchError
from workbench.core.node import pre_order
from workbench.driver.trails import Provenance
from workbench.relay.ir import expr as r
from workbench.tir import nodes as t
from workbench.views.provenance import listing, listing_text, place_view, trail_view

SOFTMAX, DENSE = "Softmax#9 ('soft')", "Gemm#8 ('dense')"
KERNEL = "fused_nn_softmax"
FORMS = ("ll", "ll-opt", "asm")


@pytest.fixture(scope="module")
def provenance() -> Provenance:
    return small_session().provenance


def names(found: Any) -> set[str]:
    return {label.name for label in found}


@pytest.mark.parametrize("form", FORMS)
def test_there_and_back(provenance: Provenance, form: str) -> None:
    """What a node became leads back to it, and nothing else does."""
    trail = provenance.trail(SOFTMAX)
    by_kernel = {found.kernel: found for found in trail.kernels}
    assert set(by_kernel) == {KERNEL, "main"}
    lines = set(by_kernel[KERNEL].native[form])
    assert lines
    for line in lines:
        assert SOFTMAX in names(provenance.line(KERNEL, line, form).onnx)
    text = provenance.text("fused_nn_conv2d", form)
    for spot in provenance.native("fused_nn_conv2d", form).spots:
        assert spot.text_line <= text.count("\n") + 1
        assert SOFTMAX not in names(provenance.line("fused_nn_conv2d", spot.text_line, form).onnx)


def test_the_trail_passes_every_level(provenance: Provenance) -> None:
    trail = provenance.trail("dense")  # the node's own name will do
    assert names(trail.onnx) == {DENSE}
    kinds = {step: {type(node).__name__ for node in nodes} for step, nodes in trail.steps.items()}
    assert "Call" in kinds["Import"] and "Call" in kinds["FuseOps"]
    assert {"Block", "For", "BufferStore"} <= kinds["Schedule"]
    assert {"For", "BufferStore"} <= kinds["InsertPolls"]
    kernel = next(found for found in trail.kernels if found.kernel != "main")
    assert kernel.tir and all(kernel.native[form] for form in FORMS) and len(kernel.sites) == 1


def test_a_place_names_all_that_is_between(provenance: Provenance) -> None:
    spots = provenance.native(KERNEL, "asm").spots
    spot = next(spot for spot in spots if spot.how == KEPT and spot.loops)
    place = provenance.line(KERNEL, spot.text_line)
    assert place.how == KEPT and place.line == spot.line and place.loops == spot.loops
    assert all(isinstance(node, t.Stmt) for node in place.statements)
    assert all(isinstance(call, r.Expr) for call in place.calls)
    assert names(place.onnx) == {SOFTMAX}
    source = provenance.text(KERNEL, "tir").split("\n")
    for line, _ in place.loops:
        assert source[line - 1].strip().startswith("for ")
    tir = provenance.line(KERNEL, place.line, "tir")
    assert tir.statements == place.statements and tir.onnx == place.onnx


@pytest.mark.parametrize("form", FORMS)
def test_every_instruction_has_a_place_in_the_text(provenance: Provenance, form: str) -> None:
    for kernel in provenance.kernels:
        last = provenance.text(kernel, "tir").count("\n") + 1
        for spot in provenance.native(kernel, form).spots:
            assert 1 <= spot.line <= last and spot.how in (KEPT, FLOW, LOOP, FUNCTION)
            assert provenance.statements(kernel, spot.line), f"{kernel}: nothing begins on line {spot.line}"
            for line, ordinal in spot.loops:
                here = [node for node in pre_order(provenance.function(kernel)) if isinstance(node, t.For)]
                assert 1 <= line <= last and 1 <= ordinal <= len(here)


def test_the_entry_leads_to_one_node_a_call(provenance: Provenance) -> None:
    lines = provenance.text("main", "tir").split("\n")
    for number, line in enumerate(lines, 1):
        if KERNEL in line:
            assert names(provenance.line("main", number, "tir").onnx) == {SOFTMAX}


def test_programs_without_a_file_lead_to_their_own_nodes() -> None:
    from workbench import relay

    x = relay.var("x", shape=(2, 8))
    called = relay.nn.softmax(relay.nn.relu(x))
    session = wb.open(relay.Function([x], called))
    provenance = session.provenance
    kernel = next(name for name in provenance.kernels if "softmax" in name)
    found = [provenance.line(kernel, spot.text_line).onnx for spot in provenance.native(kernel).spots]
    assert all(found) and all(isinstance(node, r.Expr) for nodes in found for node in nodes)


def test_views_are_json(provenance: Provenance) -> None:
    view = listing(provenance, KERNEL, "asm")
    text = json.dumps(view.to_json())
    assert json.loads(text)["version"] == 1 and view.names == (SOFTMAX,)
    assert [line.text for line in view.lines] == [
        line.replace("\t", "    ") for line in provenance.text(KERNEL, "asm").rstrip("\n").split("\n")
    ]
    linked = [line for line in view.lines if line.line]
    assert len(linked) == len(provenance.native(KERNEL, "asm").spots)
    shown = listing_text(view)
    assert SOFTMAX in shown and shown.count("\n") == len(view.lines) + 1
    place = place_view(provenance, provenance.line(KERNEL, provenance.native(KERNEL).spots[-1].text_line))
    assert json.loads(json.dumps(place.to_json()))["onnx"] == [SOFTMAX]
    trail = trail_view(provenance.trail(SOFTMAX))
    assert json.loads(json.dumps(trail.to_json()))["onnx"] == [SOFTMAX]


def test_what_is_not_there_is_refused(provenance: Provenance) -> None:
    session = small_session()
    with pytest.raises(WorkbenchError, match="E-KERNEL-UNKNOWN"):
        provenance.line("softmax", 1)
    with pytest.raises(WorkbenchError, match="E-SOURCE-FORM"):
        provenance.line(KERNEL, 1, "pdf")
    with pytest.raises(WorkbenchError, match="E-ORIGIN-LINE"):
        provenance.line(KERNEL, 10**9)
    with pytest.raises(WorkbenchError, match="E-ORIGIN-NAME"):
        provenance.trail("no such node")
    with pytest.raises(WorkbenchError, match="E-ORIGIN-CALL"):
        provenance.line(KERNEL, 30, call=99)
    with pytest.raises(WorkbenchError, match="E-ORIGIN-CALL"):
        session.origins(provenance.function(KERNEL), call=-1)


def test_a_session_without_loops_has_no_native_code() -> None:
    from dataclasses import replace

    session = small_session()
    rows = tuple(row for row in session.plan.rows if row.level == "relay")
    graph = replace(session, plan=replace(session.plan, rows=rows))
    with pytest.raises(WorkbenchError, match="E-ORIGIN-NATIVE"):
        _ = graph.provenance.kernels
