"""Each implementation, with several of its configs, computes what the examples of its operators say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.nightly import some
from tests.schedule.implemented import NARROW, WIDE, implemented, relu
from tests.topi.cases import agree, cases, inputs_of, type_of
from workbench import te
from workbench.core.node import FrozenMap
from workbench.lower.choosing import candidates
from workbench.lower.implementation import Choice, Workload
from workbench.lower.provider import default_provider
from workbench.relay.ir.operator import OPERATORS, Example, Operator
from workbench.target import Target
from workbench.tir.interpret import interpret

OF_FAMILIES = {name: cls for name, cls in OPERATORS.items() if cls.family}
CASES = list(cases(OF_FAMILIES, good=True))
MOST = 4
"""Configs of an implementation that are tried: the cheapest, the dearest, and some between."""


def choices(workload: Workload) -> list[Choice]:
    found: list[Choice] = []
    for one in candidates(workload):
        every = [] if one.refusal is not None else sorted(one.implementation.costs(workload), key=lambda pair: pair[1])
        for config, _ in every[:: max(1, (len(every) - 1) // (MOST - 1))]:
            found.append(Choice(workload, one.implementation, FrozenMap(config), by_hand=True))
    return found


def check(op: Operator, case: Example, choice: Choice, target: Target) -> None:
    inputs = inputs_of(case)
    operands = [te.placeholder(value.shape, value.dtype.name, name=f"x{at}") for at, value in enumerate(inputs)]
    wanted = op.reference(*inputs)
    with_relu = wanted.dtype.kind == "f"
    kernel = implemented(op, operands, *([relu] if with_relu else []), choice=choice)(target)
    schedule = default_provider(kernel)
    found = np.zeros(wanted.shape, wanted.dtype)
    interpret(schedule.func, *(np.array(value) for value in inputs), found, check_regions=True)
    agree(found, np.maximum(wanted, 0) if with_relu else wanted, case.tolerance)


BYTES = [case for case in CASES if any(value.dtype == np.int8 for value in inputs_of(case[2]))]
OTHERS = [Target("llvm -mcpu=alderlake"), Target("llvm -mtriple=aarch64-linux-gnu -mattr=+dotprod")]
"""Further targets with an instruction that multiplies bytes."""


@pytest.mark.parametrize("target", OTHERS, ids=("alderlake", "dotprod"))
@pytest.mark.parametrize(("identity", "cls", "case"), BYTES, ids=lambda part: part if isinstance(part, str) else "")
def test_products_of_bytes_for_other_machines(
    identity: str, cls: type[Operator], case: Example, target: Target
) -> None:
    test_an_implementation_computes_what_the_operator_means(identity, cls, case, target)


@pytest.mark.parametrize("target", [NARROW, WIDE], ids=("narrow", "wide"))
@pytest.mark.parametrize(
    ("identity", "cls", "case"), some(CASES, 3), ids=lambda part: part if isinstance(part, str) else ""
)
def test_an_implementation_computes_what_the_operator_means(
    identity: str, cls: type[Operator], case: Example, target: Target
) -> None:
    op: Any = cls(**case.attributes)
    found = choices(Workload(op, tuple(map(type_of, inputs_of(case))), target))
    assert found, "there is always the operator's own expression"
    for choice in found:
        try:
            check(op, case, choice, target)
        except AssertionError as error:
            raise AssertionError(f"{choice}: {error}") from None
