"""Whether code for a target runs here is asked of targets that LLVM knows only."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench import relay
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
