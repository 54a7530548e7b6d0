"""What whole models hold: nearly everything leads back to nodes of the file, and most machine code to a line."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest

from tests.conformance.provenance import Row, measure, session_of, table
from tests.models import find_model
from tests.nightly import daily
from workbench.codegen.llvm.lines import FLOW, FUNCTION, KEPT, LOOP
from workbench.views.links import link_table

MODELS = ("small", "resnet50", "minilm_l6_fp32", "dnsmos_model_v8")
COUNTED = daily(MODELS, "small", "minilm_l6_fp32")
"""Models whose every instruction is counted."""
BEFORE, AFTER, ASSEMBLY = "LLVM before optimisation", "LLVM after O3", "assembly"


@cache
def rows(name: str) -> list[Row]:
    if name == "minilm_l6_fp32" and find_model(name) is None:
        pytest.skip("the model minilm_l6_fp32.onnx is not here; set WORKBENCH_MODELS to a folder that has it")
    return measure(opened(name))


@cache
def opened(name: str) -> Any:
    return session_of(name)


def row(name: str, stage: str) -> Row:
    return next(found for found in rows(name) if found.stage == stage)


@pytest.mark.parametrize("name", COUNTED)
def test_everything_before_optimisation_leads_to_the_file(name: str) -> None:
    """Relay calls of every step, blocks, loops, statements, and LLVM instructions as emitted."""
    low = [found for found in rows(name) if found.share < 0.99]
    assert not low, table(low)
    assert {found.kind for found in rows(name)} == {"calls", "blocks", "loops", "statements", "instructions"}
    assert row(name, BEFORE).known(KEPT) == 1.0, "an instruction is emitted without a line"


@pytest.mark.parametrize("name", COUNTED)
def test_optimised_instructions_keep_a_line(name: str) -> None:
    found = row(name, AFTER)
    assert found.known(KEPT, FLOW) >= 0.85, table([found])
    assert found.known(KEPT) >= 0.75, f"LLVM drops more than it did\n{table([found])}"
    assert found.known(KEPT, FLOW, LOOP, FUNCTION) == 1.0


@pytest.mark.parametrize("name", COUNTED)
def test_assembly_leads_to_a_line_or_a_loop(name: str) -> None:
    found = row(name, ASSEMBLY)
    assert found.known(KEPT, FLOW) >= 0.80, table([found])
    # Code outside of all loops: entry and exit of functions, and reloads in the entry, which has no loops.
    assert found.known(FUNCTION) <= 0.10, table([found])
    assert found.known(KEPT, FLOW, LOOP, FUNCTION) == 1.0


TABLE = 60_000
"""Bytes of one kernel's link table."""


@pytest.mark.parametrize("name", COUNTED)
def test_one_selection_lights_all_layers(name: str) -> None:
    """Every call of the graph, every line with a block or a loop, and every instruction has a class of its kernel."""
    provenance = opened(name).provenance
    links = provenance.links
    for layer in (links.onnx, links.layers("main")["relay"], links.layers("main")["fused"]):
        texts = enumerate(layer.text.split("\n"), 1)
        wanted = [number for number, text in texts if layer.name == "onnx" or re.search(r" = (R\.|fused_)", text)]
        dark = [layer.text.split("\n")[number - 1].strip()[:100] for number in wanted if not layer.on(number)]
        assert not dark, f"{layer.name}: {len(dark)} of {len(wanted)}: {dark[:5]}"
    largest = 0
    for kernel in provenance.kernels:
        layers = links.layers(kernel)
        for loops in ("te", "schedule", "tir"):
            texts = enumerate(layers[loops].text.split("\n"), 1)
            assert not [text for number, text in texts if text.strip() and not layers[loops].on(number)], kernel
        for form in ("ll", "asm"):
            lines = {spot.text_line for spot in provenance.native(kernel, form).spots}
            assert lines == set(layers[form].lit(layers["tir"].every)), f"{kernel} {form}"
        largest = max(largest, len(json.dumps(link_table(links, kernel).to_json())))
    assert largest <= TABLE, f"a table of {largest:,} bytes"
