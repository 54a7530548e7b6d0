"""Whether code for a target runs here is asked of targets that LLVM knows only."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench import relay
from workbench.codegen.llvm import machine
from workbench.core.child import Child, ChildFailure
from workbench.core.errors import WorkbenchError
from workbench.target import Target
from workbench.target.host import architecture


@pytest.mark.skipif(architecture() != "x86_64", reason="processors of x86")
@pytest.mark.parametrize("options", ["-mcpu=pentium", "-mcpu=nonsense", "-mattr=-64bit"])
def test_checks_for_a_processor_that_llvm_refuses_are_refused(options: str) -> None:
    """They ended the process."""
    x = relay.var("x", shape=(4,))
    session = wb.open(relay.Function([x], relay.exp(x)), target=f"llvm {options}")
    with pytest.raises(wb.WorkbenchError) as refused:
        session.check_numerics({"x": np.zeros(4, np.float32)})
    assert refused.value.code == "E-CODEGEN-PROCESSOR"


@pytest.mark.parametrize(
    "failure",
    [ChildFailure("fault", "KeyError: lanes"), ChildFailure("hangs", "no answer within 120 s", of_the_machine=True)],
    ids=["a fault", "a machine that sleeps"],
)
def test_a_trial_that_fails_here_says_nothing_of_the_processor(
    failure: ChildFailure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counted as if LLVM could compile for it, or never could, for as long as the process."""

    def fails(*_: object) -> None:
        raise failure

    monkeypatch.setattr(Child, "ask", fails)
    machine._judged.cache_clear()
    with pytest.raises(WorkbenchError, match="E-CODEGEN-TRIAL"):
        machine.require_known(Target("llvm -mcpu=x86-64-v2 -mattr=+avx"))
