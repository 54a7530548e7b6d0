"""Passes as the classic API knows them: names, parameters with defaults and levels; alone and in a sequence."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tests.relay.generate import assert_close
from tests.relay.programs import network, network_input
from workbench.core.errors import WorkbenchError
from workbench.core.transform import PASSES, PassContext
from workbench.relay import transform
from workbench.relay.interpret import interpret
from workbench.relay.ir.verify import verify

SIGNATURES = {
    "BatchingOps": ("()", 4), "CanonicalizeCast": ("()", 3), "CanonicalizeOps": ("()", 3),
    "CombineParallelBatchMatmul": ("(min_num_branches=3)", 4), "CombineParallelConv2D": ("(min_num_branches=3)", 4),
    "CombineParallelDense": ("(min_num_branches=3, to_batch=True)", 4), "ConvertLayout": ("(desired_layouts)", 3),
    "DivToMul": ("()", 4), "DynamicToStatic": ("()", 2),
    "EtaExpand": ("(expand_constructor=False, expand_global_var=False)", 1), "FastMath": ("()", 4),
    "FlattenAtrousConv": ("()", 3), "FoldExplicitPadding": ("()", 2), "Inline": ("()", 1), "LambdaLift": ("()", 1),
    "RemoveUnusedFunctions": ("(entry_functions=None)", 1), "SimplifyExprPostAlterOp": ("()", 0),
    "SimplifyFCTranspose": ("(target_weight_name)", 1), "ToBasicBlockNormalForm": ("()", 1),
    "ToMixedPrecision": ("(mixed_precision_type='float16', missing_op_mode=1)", 0),
}  # fmt: skip
ARGUMENTS: dict[str, tuple[Any, ...]] = {"ConvertLayout": ("NHWC",), "SimplifyFCTranspose": ([],)}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature_and_level(name: str) -> None:
    expected, level = SIGNATURES[name]
    factory = getattr(transform, name)
    found = getattr(factory, "__signature__", None) or inspect.Signature()
    shown = ", ".join(
        one.name if one.default is one.empty else f"{one.name}={one.default!r}" for one in found.parameters.values()
    )
    assert (f"({shown})", factory.info.opt_level) == (expected, level)
    assert PASSES[name] is factory and factory.__doc__


def test_all_in_a_sequence() -> None:
    mod = network()
    chosen = [name for name in SIGNATURES if name != "ToMixedPrecision"]
    passes = [getattr(transform, name)(*ARGUMENTS.get(name, ())) for name in chosen]
    with PassContext(opt_level=4):
        made = transform.Sequential(passes)(mod)
    assert verify(made) == []
    assert_close(interpret(made, network_input()), interpret(mod, network_input()))


def test_the_level_decides() -> None:
    """At level 2 a sequence leaves the passes of levels 3 and 4 out."""
    mod = network()
    with PassContext(opt_level=2):
        assert transform.Sequential([transform.ConvertLayout("NHWC"), transform.FastMath()])(mod).same(mod)


@pytest.mark.parametrize("name", [name for name, (shown, _) in SIGNATURES.items() if shown != "()"])
def test_unknown_options_are_refused(name: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        getattr(transform, name)(unknown=1)
    assert caught.value.code == "E-PASS-OPTION"
