"""What a program becomes on the way to native code grows with the program: counts, not times."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.growing import RELAY
from workbench import relay
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


@pytest.mark.parametrize("name", ["concatenated", "concatenated_one", "stacked", "split"])
def test_very_wide_operators_become_trees_of_equal_kernels(name: str) -> None:
    """Concat of 1,600 operands took more than 60 s."""
    once, twice = scheduled_size(name, 320), scheduled_size(name, 640)
    assert twice < 2.3 * once < 100_000


@pytest.mark.parametrize("count", [2, 7, 8, 9, 63, 64, 65, 130])
def test_joins_and_splits_of_any_width_are_right(count: int) -> None:
    xs = [relay.var(f"x{at}", shape=(2, 1 + at % 3)) for at in range(count)]
    joined = relay.concatenate(relay.Tuple(xs), axis=1)
    borders = tuple(int(edge) for edge in np.cumsum([1 + at % 3 for at in range(count)])[:-1])
    parts = relay.split(joined, borders, axis=-1)
    turned = relay.concatenate(relay.Tuple([parts[at] for at in reversed(range(count))]), axis=1)
    whole = relay.var("whole", shape=(count, 2))
    rows = relay.split(whole, count, axis=0)
    stacked = relay.stack(relay.Tuple([rows[at] for at in reversed(range(count))]), axis=-1)
    rng = np.random.default_rng(count)
    values = {f"x{at}": rng.normal(size=(2, 1 + at % 3)).astype("f") for at in range(count)}
    values["whole"] = rng.normal(size=(count, 2)).astype("f")
    built = relay.build(relay.Function([*xs, whole], relay.Tuple([joined, turned, stacked])))
    found = list(built.run(values).values())
    given = [values[f"x{at}"] for at in range(count)]
    np.testing.assert_array_equal(found[0], np.concatenate(given, 1))
    np.testing.assert_array_equal(found[1], np.concatenate(given[::-1], 1))
    np.testing.assert_array_equal(found[2], np.stack([row[None] for row in values["whole"][::-1]], -1))
