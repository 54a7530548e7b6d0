"""Precision: constants planted in nodes of a file are found with the right origin at every stage, machine code too."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.driver import planted_origins as planted
from tests.driver.planted_origins import Score
from tests.nightly import daily, some
from workbench.core.node import pre_order
from workbench.core.transform import PASSES, defined_in
from workbench.driver.origin_index import index_of
from workbench.driver.plan import default_rows
from workbench.driver.settings import PassSettings
from workbench.driver.trails import Provenance
from workbench.relay.ir import expr as r
from workbench.tir import nodes as t
from workbench.tir.transforms.pipeline import KERNEL_PIPELINE

SEEDS = range(7)
CHANGING = ("BackwardFoldScaleAxis", "ForwardFoldScaleAxis", "ToMixedPrecision")
"""Passes that scale or cast constants, which then do not tell the truth any more: all calls have an origin still."""


@cache
def opened(seed: int) -> tuple[Any, dict[float, set[str]]]:
    import workbench as wb

    model, nodes = planted.planted_model(seed)
    session = wb.open(model)
    assert session.provenance.kernels
    return session, nodes


def test_every_step_names_the_right_nodes() -> None:
    total, wrong = Score(), []
    for seed in SEEDS:
        session, nodes = opened(seed)
        for index in range(len(session) - 1):
            score, problems = planted.score_step(session, index, nodes)
            wrong += [f"seed {seed}, {session.labels[index]}: {problem}" for problem in problems]
            total += score
    assert total.planted > 1_000, "the generator plants too little"
    assert total.precision >= 0.95 and total.recall >= 0.95, f"{total}\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize("form", daily(("ll", "ll-opt", "asm"), "asm"))
def test_every_instruction_names_the_right_nodes(form: str) -> None:
    total, others, wrong = Score(), Score(), []
    for seed in SEEDS:
        holders_score, rest, problems = planted.score_native(opened(seed)[0], form, opened(seed)[1])
        wrong += [f"seed {seed}, {problem}" for problem in problems]
        total, others = total + holders_score, others + rest
    assert total.planted > 50, "the generator plants too little"
    assert total.precision >= 0.95 and total.recall >= 0.95, f"{total}\n" + "\n".join(wrong[:20])
    assert others.precision >= 0.95, f"{others}\n" + "\n".join(wrong[:20])


def test_the_score_notices_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Naming all nodes of a fused statement, or another statement's, is not called right."""
    session, nodes = opened(1)
    good, _, _ = planted.score_native(session, "ll-opt", nodes)
    monkeypatch.setattr(Provenance, "_part", lambda self, kernel, spot: frozenset())
    coarse, _, _ = planted.score_native(session, "ll-opt", nodes)
    assert good.precision >= 0.95 > 0.8 > coarse.precision
    right = Provenance.statements
    monkeypatch.setattr(Provenance, "statements", lambda self, kernel, line: right(self, kernel, max(1, line - 2)))
    shifted, _, wrong = planted.score_native(session, "ll-opt", nodes)
    assert shifted.recall < 0.7 and wrong


NEEDED: dict[str, tuple[Any, ...]] = {
    "ConvertLayout": ({"nn.conv2d": ["NHWC", "default"]},),
    "SimplifyFCTranspose": (["x"],),
}
"""Arguments of passes that cannot do without."""


USUAL = [row.name for row in default_rows("relay", PassSettings()) if row.level == "relay"]
"""The graph passes that run where nothing else is asked for."""


def graph_passes() -> list[str]:
    """Every graph pass by name, besides those that the pipeline runs."""
    import workbench as wb

    assert wb.relay.transform
    own = {*USUAL, *KERNEL_PIPELINE, "BoundCheck", "PoisonBuffers", "ToBasicBlockNormalForm", "PrintIR"}
    brought = (name for name in PASSES if PASSES.is_own(name))  # test modules enter passes when they are collected
    return sorted(name for name in brought if name not in own and "workbench.tir" not in defined_in(PASSES[name]))


@pytest.mark.parametrize("name", some(graph_passes(), 12))
def test_every_graph_pass_keeps_origins(name: str) -> None:
    """A pass between the others, the graph put back in order after it; then down to the loops."""
    import workbench as wb

    place = USUAL.index("PackWeights")
    made = PASSES[name](*NEEDED.get(name, ()))
    between = (made, "ToGraphNormalForm", "DefuseOps", "InferType")
    total, wrong = Score(), []
    for seed in (0, 1):
        model, nodes = planted.planted_model(seed)
        session = wb.open(model, passes=[*USUAL[:place], *between, *USUAL[place:]])
        assert session.provenance.kernels
        known = index_of(session)
        for index in range(place, len(session) - 1):
            score, problems = planted.score_step(session, index, nodes)
            total, wrong = total + score, [*wrong, *(f"{session.labels[index]}: {problem}" for problem in problems)]
            calls = [node for node in session.step(index).stage.module.nodes() if isinstance(node, r.Call)]
            lost = [node for node in calls if not known[index].sources_of(node)]
            assert len(lost) <= 0.01 * len(calls), f"{session.labels[index]} loses {lost[:3]}"
    bound = 0.85 if name == "ConvertLayout" else 0.95  # its transforms belong to the node whose value they rearrange
    assert name in CHANGING or (total.precision >= bound and total.recall >= 0.95), (
        f"{total}\n" + "\n".join(wrong[:20])
    )


def holders(session: Any, step: str, kind: type, value: float) -> list[Any]:
    """The nodes of a kind, after a step, that hold a constant themselves."""
    functions = session[step].after.functions.values()
    found = [node for function in functions for node in pre_order(function) if isinstance(node, kind)]
    return [
        node
        for node in found
        if value in planted.constants_of(node) and not isinstance(getattr(node, "op", None), r.Function)
    ]


def doubles(nodes: dict[float, set[str]], op: str) -> list[tuple[float, set[str]]]:
    """The constants that two nodes of an operator have."""
    return [(value, names) for value, names in nodes.items() if len(names) == 2 and all(op in name for name in names)]


@pytest.mark.parametrize("seed", SEEDS)
def test_merged_nodes_are_both_there(seed: int) -> None:
    session, nodes = opened(seed)
    value, names = doubles(nodes, "Mul")[0]
    assert len(holders(session, "FoldConstant#2", r.Call, value)) == 2
    (merged,) = holders(session, "EliminateCommonSubexpr", r.Call, value)
    assert {label.name for label in session.origins(merged)} == names
    for step in ("Schedule", "InsertPolls"):
        (store,) = holders(session, step, t.BufferStore, value)
        assert names <= {label.name for label in session.origins(store)}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_shared_kernel_answers_by_call(seed: int) -> None:
    session, nodes = opened(seed)
    (value, names) = doubles(nodes, "Max")[0]
    (store,) = holders(session, "InsertPolls", t.BufferStore, value)
    assert {label.name for label in session.origins(store)} >= names
    module = session["InsertPolls"].after
    kernel = next(name for name in module.names() if any(node is store for node in pre_order(module[name])))
    calls = [site.number for site in session.provenance.calls if site.kernel == kernel]
    assert len(calls) == 2
    by_call = [{label.name for label in session.origins(store, call=number)} & names for number in calls]
    assert sorted(map(len, by_call)) == [1, 1] and set().union(*by_call) == names
    provenance = session.provenance
    spots = provenance.native(kernel).spots
    line = next(s.text_line for s in spots if {label.name for label in provenance.sources(kernel, s)} == names)
    places = [session.provenance.line(kernel, line, "asm", call=number) for number in calls]
    assert [{label.name for label in place.onnx} for place in places] == by_call
