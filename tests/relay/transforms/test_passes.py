"""Every pass on random programs: the meaning stays, the result is well-formed, typed, and reads back from its text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nightly import daily, examples
from tests.relay.generate import assert_close, inputs_of, programs
from tests.relay.programs import chain, let_chain, network, network_input
from workbench.core.equal import fingerprint, same
from workbench.core.module import IRModule
from workbench.core.transform import PassContext
from workbench.relay import transform
from workbench.relay.interpret import interpret
from workbench.relay.ir.expr import Function
from workbench.relay.ir.infer import infer_type
from workbench.relay.ir.script import constants_of, parse, script
from workbench.relay.ir.verify import verify

PASSES = {
    "SimplifyInference": transform.SimplifyInference(),
    "SimplifyExpr": transform.SimplifyExpr(),
    "FoldConstant": transform.FoldConstant(),
    "FoldScaleAxis": transform.FoldScaleAxis(),
    "EliminateCommonSubexpr": transform.EliminateCommonSubexpr(),
    "DeadCodeElimination": transform.DeadCodeElimination(),
    "InlineOnce": transform.DeadCodeElimination(inline_once=True),
    "ToANormalForm": transform.ToANormalForm(),
    "ToGraphNormalForm": transform.ToGraphNormalForm(),
    "PackWeights": transform.PackWeights(lanes=4),
    "FuseOps": transform.FuseOps(),
    "NoFusion": transform.FuseOps(fuse_opt_level=0),
    "DefuseOps": transform.DefuseOps(),
    "CanonicalizeOps": transform.CanonicalizeOps(),
    "CanonicalizeCast": transform.CanonicalizeCast(),
    "FoldExplicitPadding": transform.FoldExplicitPadding(),
    "ToBasicBlockNormalForm": transform.ToBasicBlockNormalForm(),
    "LambdaLift": transform.LambdaLift(),
    "Inline": transform.Inline(),
    "EtaExpand": transform.EtaExpand(expand_constructor=True, expand_global_var=True),
    "RemoveUnusedFunctions": transform.RemoveUnusedFunctions(),
    "ConvertLayout": transform.ConvertLayout("NHWC"),
    "ConvertLayoutBack": transform.ConvertLayout({"nn.conv2d": ["NCHW", "OIHW"], "nn.max_pool2d": ["NCHW"]}),
    "ConvertLayoutBlocks": transform.ConvertLayout({"nn.conv2d": ["NCHW2c", "default"], "nn.max_pool2d": ["NCHW4c"]}),
    "SimplifyExprPostAlterOp": transform.SimplifyExprPostAlterOp(),
    "FastMath": transform.FastMath(),
    "FlattenAtrousConv": transform.FlattenAtrousConv(),
    "DivToMul": transform.DivToMul(),
    "DynamicToStatic": transform.DynamicToStatic(),
    "CombineParallelConv2D": transform.CombineParallelConv2D(min_num_branches=2),
    "CombineParallelDense": transform.CombineParallelDense(min_num_branches=2),
    "CombineParallelDenseFlat": transform.CombineParallelDense(min_num_branches=2, to_batch=False),
    "CombineParallelBatchMatmul": transform.CombineParallelBatchMatmul(min_num_branches=2),
}
EXACT = {
    "SimplifyExpr",
    "EliminateCommonSubexpr",
    "DeadCodeElimination",
    "InlineOnce",
    "ToANormalForm",
    "ToGraphNormalForm",
    "CanonicalizeOps",
    "CanonicalizeCast",
    "ToBasicBlockNormalForm",
    "LambdaLift",
    "Inline",
    "EtaExpand",
    "RemoveUnusedFunctions",
}


def typed(function: Function) -> IRModule:
    mod = IRModule({"main": function})
    infer_type(mod)
    return mod


def run_passes(mod: IRModule, names: list[str]) -> IRModule:
    with PassContext(opt_level=4):
        for name in names:
            mod = PASSES[name](mod)
            assert verify(mod) == [], f"after {name}"
    return mod


def assert_reads_back(mod: IRModule) -> None:
    for function in mod.functions.values():
        assert same(function, parse(script(function), constants_of(mod)))


@pytest.mark.parametrize("name", PASSES)
@settings(max_examples=examples(30))
@given(function=programs())
def test_pass_keeps_meaning(name: str, function: Function) -> None:
    mod = typed(function)
    inputs = inputs_of(function)
    made = run_passes(mod, [name])
    assert_close(interpret(made, *inputs), interpret(mod, *inputs), 0.0 if name in EXACT else 2e-5)
    assert_reads_back(made)


@settings(max_examples=examples(30))
@given(function=programs(), names=st.lists(st.sampled_from(sorted(PASSES)), min_size=2, max_size=6))
def test_any_order_of_passes_keeps_meaning(function: Function, names: list[str]) -> None:
    mod = typed(function)
    inputs = inputs_of(function)
    assert_close(interpret(run_passes(mod, names), *inputs), interpret(mod, *inputs), 1e-4)


@settings(max_examples=examples(30))
@given(function=programs())
def test_normal_forms_are_inverse(function: Function) -> None:
    graph = run_passes(typed(function), ["ToGraphNormalForm"])
    again = run_passes(graph, ["ToANormalForm", "ToGraphNormalForm"])
    assert fingerprint(again["main"]) == fingerprint(graph["main"])


@settings(max_examples=examples(30))
@given(function=programs(control=False))
def test_defuse_undoes_fuse(function: Function) -> None:
    mod = typed(function)
    assert fingerprint(run_passes(mod, ["FuseOps", "DefuseOps"])["main"]) == fingerprint(mod["main"])


EVERY_RUN = ("InferType", "FoldConstant", "FuseOps")
"""Passes whose long chains every run has; the night takes all."""


@pytest.mark.slow
@pytest.mark.parametrize("name", daily(PASSES, *EVERY_RUN))
def test_chain_of_twenty_thousand_calls(name: str) -> None:
    with PassContext(opt_level=4):
        made = PASSES[name](typed(chain(20_000)))
    assert made["main"].body.checked_type is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    daily(("ToGraphNormalForm", "DeadCodeElimination", "FoldConstant", "FuseOps", "ToANormalForm"), "FoldConstant"),
)
def test_chain_of_twenty_thousand_lets(name: str) -> None:
    with PassContext(opt_level=4):
        made = PASSES[name](typed(let_chain(20_000)))
    assert made["main"].body.checked_type is not None


def test_network_through_the_pipeline(golden) -> None:
    mod = network()
    order = [
        "SimplifyInference",
        "FoldConstant",
        "SimplifyExpr",
        "FoldScaleAxis",
        "FoldConstant",
        "EliminateCommonSubexpr",
    ]
    made = run_passes(mod, [*order, "PackWeights", "FoldConstant", "FuseOps"])
    assert_close(interpret(made, network_input()), interpret(mod, network_input()))
    golden(script(made), suffix=".py")
