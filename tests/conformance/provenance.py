"""How much of a model leads back to nodes of its file, stage by stage.

Run it for the table:  python -m tests.conformance.provenance [small | resnet50 | minilm_l6_fp32 | a file ...]

`ONNX` is the share whose origin reaches nodes of the file.  For native code the other columns say how the line of the
loop program is known: kept by LLVM, given by the values that an instruction works for, only the loop around it, or
outside of all loops.  An instruction that leads to a loop leads to the nodes of all that is in the loop.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from workbench.codegen.llvm.lines import FLOW, FUNCTION, KEPT, LOOP
from workbench.core.node import pre_order
from workbench.core.origin import ImportedFrom
from workbench.driver.origin_index import index_of
from workbench.relay.ir import expr as r
from workbench.tir import nodes as t

SHAPES = {
    "minilm_l6_fp32": {name: (1, 128) for name in ("input_ids", "attention_mask", "token_type_ids")},
    "dnsmos_model_v8": {"input_1": (1, 900, 120)},
}
DEFAULT = ("small", "resnet50", "minilm_l6_fp32")
NATIVE = {"ll": "LLVM before optimisation", "ll-opt": "LLVM after O3", "asm": "assembly"}


@dataclass(frozen=True)
class Row:
    """One kind of thing at one stage."""

    stage: str
    kind: str
    count: int
    traced: int
    """How many reach a node of the file."""
    how: Counter[str]

    @property
    def share(self) -> float:
        return self.traced / self.count if self.count else 1.0

    def known(self, *ways: str) -> float:
        """The share whose place is known in one of these ways."""
        return sum(self.how[way] for way in ways) / self.count if self.count else 1.0


def session_of(name: str) -> Any:
    """A session on a model by the name that it has here, or on a file."""
    import workbench as wb
    from tests.driver.programs import small_model
    from tests.models import LIGHT, find_model, light_model

    if name == "small":
        return wb.open(small_model())
    if name in LIGHT:
        return wb.open(light_model(name))
    found = find_model(name)
    return wb.open(str(found or name), shape=SHAPES.get(name))


def measure(session: Any, native: bool = True) -> list[Row]:
    """The rows of a session: every graph and loop step, then native code."""
    provenance = session.provenance
    kernels = provenance.kernels
    reaches = partial(_reaches, inputs=_moves_inputs(session))
    rows: list[Row] = []
    for index, known in enumerate(index_of(session)):
        functions = session.step(index).stage.module.functions.values()
        counts: Counter[str] = Counter()
        traced: Counter[str] = Counter()
        for kind, node in _things(functions):
            counts[kind] += 1
            traced[kind] += reaches(known.sources_of(node))
        rows += [Row(known.step.label, kind, counts[kind], traced[kind], Counter()) for kind in counts]
    for form, stage in NATIVE.items() if native else ():
        how: Counter[str] = Counter()
        reached = 0
        for kernel in kernels:
            memo: dict[int, bool] = {}
            for spot in provenance.native(kernel, form).spots:
                how[spot.how] += 1
                if spot.line not in memo:
                    memo[spot.line] = reaches(provenance.sources(kernel, spot))
                reached += memo[spot.line]
        rows.append(Row(stage, "instructions", sum(how.values()), reached, how))
    return rows


def _things(functions: Any) -> Iterator[tuple[str, Any]]:
    for function in functions:
        for node in pre_order(function):
            if isinstance(node, r.Call):
                yield "calls", node
            elif isinstance(node, t.Block) and node.name != "root":
                yield "blocks", node
            elif isinstance(node, t.For):
                yield "loops", node
            elif isinstance(node, (t.BufferStore, t.Evaluate, t.AssertStmt)):
                yield "statements", node


def _reaches(sources: Any, inputs: bool) -> bool:
    """Whether nodes of the file are among them; its `inputs` alone count where something is done with these alone."""
    return any(isinstance(item, ImportedFrom) and (inputs or not item.name.startswith("input ")) for item in sources)


def _moves_inputs(session: Any) -> bool:
    """Whether an input is moved into another layout: what does that leads to the input, and to no node."""
    module = session.step("AlterOpLayout").stage.module if "AlterOpLayout" in session.labels else None
    calls = [node for node in pre_order(module["main"]) if isinstance(node, r.Call)] if module is not None else []
    return any(getattr(call.op, "name", "") == "layout_transform" and isinstance(call.args[0], r.Var) for call in calls)


def table(rows: list[Row]) -> str:
    """The rows as text."""
    lines = [f"{'stage':26} {'':12} {'count':>7} {'ONNX':>7} {'kept':>7} {'by flow':>8} {'loop':>7} {'outside':>8}"]
    for row in rows:
        widths = {KEPT: 8, FLOW: 9, LOOP: 8, FUNCTION: 9}
        ways = "".join(f"{row.known(way):{width}.1%}" for way, width in widths.items())
        shown = f"{row.stage:26} {row.kind:12} {row.count:7} {row.share:7.1%}"
        lines.append(shown + (ways if row.how else ""))
    return "\n".join(lines)


def main(names: list[str]) -> None:
    for name in names or list(DEFAULT):
        session = session_of(name)
        print(f"{name}\n{table(measure(session))}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
