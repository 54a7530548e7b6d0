"""Names of passes in a context: a mistake is one error in the context's own words."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.core.errors import WorkbenchError
from workbench.core.pass_table import CLASSIC, PASSES
from workbench.core.transform import PassContext, PassInstrument, Sequential, module_pass


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ({"disabled_pass": "FuseOps"}, "E-PASS-CONFIG", "['FuseOps']"),
        ({"required_pass": "FuseOps"}, "E-PASS-CONFIG", "['FuseOps']"),
        ({"disabled_pass": 3}, "E-PASS-CONFIG", "a list"),
        ({"disabled_pass": [3]}, "E-PASS-CONFIG", "by its name"),
        ({"required_pass": {"FuseOps": 1}}, "E-PASS-CONFIG", "a list"),
        ({"disabled_pass": ["FuseOpps"]}, "E-PASS-UNKNOWN", "'FuseOps'"),
        ({"required_pass": ["Nope"]}, "E-PASS-UNKNOWN", "'Nope'"),
        ({"required_pass": ["PlanDevices"]}, "E-PASS-UNKNOWN", "'PlanDevices'"),
        ({"opt_level": "3"}, "E-PASS-CONFIG", "whole number"),
        ({"opt_level": 10**30}, "E-PASS-CONFIG", "whole number"),
        ({"config": [1]}, "E-PASS-CONFIG", "by name"),
        ({"config": {1: 2}}, "E-PASS-CONFIG", "no name"),
        ({"config": {"relay.FuseOps.max_depth": "a"}}, "E-PASS-CONFIG", "max_depth"),
        ({"instruments": PassInstrument()}, "E-PASS-CONFIG", "a list"),
        ({"instruments": [PassInstrument]}, "E-PASS-CONFIG", "call the class"),
    ],
)
def test_a_mistake_in_a_context_is_said(given: dict[str, Any], code: str, said: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        PassContext(**given)
    assert caught.value.code == code and said in str(caught.value), f"{caught.value}"
    assert caught.value.where == f"PassContext({next(iter(given))}=...)"


def test_names_of_passes_that_there_are() -> None:
    @module_pass(name="OfAUser")
    def OfAUser(mod: Any, ctx: PassContext) -> Any:
        return mod

    row = Sequential([OfAUser], name="a row")
    try:
        names = ("FuseOps", "OfAUser", row.name)
        assert PassContext(disabled_pass=names, required_pass=list(names)).required_pass == names
    finally:
        PASSES.remove("OfAUser")
    assert PassContext(disabled_pass=["PlanDevices"]).disabled_pass == ("PlanDevices",)
    assert PassContext(disabled_pass={"FuseOps", "FoldConstant"}).disabled_pass == ("FoldConstant", "FuseOps")


def test_classic_passes_that_are_there_are_no_exceptions() -> None:
    assert not [name for name in CLASSIC if name in PASSES]


@pytest.mark.parametrize("given", ["FuseOps", 3, [3]])
def test_a_sequential_is_of_passes(given: Any) -> None:
    with pytest.raises(WorkbenchError) as caught:
        Sequential(given)
    assert caught.value.code == "E-PASS-KIND"
