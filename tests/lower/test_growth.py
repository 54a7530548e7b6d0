"""What a program becomes on the way to native code grows with the program: counts, not times."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.growing import RELAY
from workbench.core.node import written_size
from workbench.driver.build import optimize
from workbench.lower import lower_module, schedule_kernels
from workbench.target import Target

SAMPLE = ("doubled_sums", "squares", "fibonacci", "scatters", "broadcasts", "wide", "summed", "batch_norms")


def scheduled_size(name: str, size: int) -> int:
    """Nodes of all functions of a scheduled program, written out."""
    target = Target("llvm")
    module, _ = optimize(wb.IRModule.from_expr(RELAY[name](size)), target)
    lowered = lower_module(module, target)
    scheduled, _ = schedule_kernels(lowered.module, lowered.kernels)
    known: dict[int, int] = {}
    return sum(written_size(func, known) for _, func in scheduled.items())


def require_growth(name: str, size: int) -> None:
    once, twice = scheduled_size(name, size), scheduled_size(name, 2 * size)
    assert twice <= 2.3 * once, f"{name}: {once:,} nodes for {size}, {twice:,} for {2 * size}"


@pytest.mark.parametrize("name", SAMPLE)
def test_twice_the_program_has_twice_the_nodes(name: str) -> None:
    require_growth(name, 32)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(RELAY))
def test_every_program_grows_in_step(name: str) -> None:
    require_growth(name, 100)


def test_sums_of_a_value_with_itself_stay_small() -> None:
    """Sixteen of them took more than 40 s: inlined into one expression they have 65,536 leaves."""
    assert scheduled_size("doubled_sums", 16) < 10_000
