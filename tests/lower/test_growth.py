"""What a program becomes on the way to native code grows with the program: counts, not times."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.growing import RELAY, TE
from tests.nightly import daily
from workbench import WorkbenchError, relay
from workbench.core.node import written_size
from workbench.driver.build import optimize
from workbench.lower import lower_module, schedule_kernels
from workbench.relay.transform import InferType, ToGraphNormalForm
from workbench.target import Target

REFUSED = {"lets": "E-LOWER-EXPRESSION.*Let[\\s\\S]*ToGraphNormalForm", "nested_branches": "E-LIMIT.*branches"}
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
@pytest.mark.parametrize("name", sorted(RELAY.keys() - REFUSED.keys()))
def test_every_program_grows_in_step(name: str) -> None:
    require_growth(name, 100)


@pytest.mark.parametrize("name", REFUSED)
def test_what_native_code_does_not_hold_is_refused_by_name(name: str) -> None:
    with pytest.raises(WorkbenchError, match=REFUSED[name]):
        scheduled_size(name, 100)


def test_lets_are_taken_away_as_the_refusal_says() -> None:
    module = ToGraphNormalForm()(InferType()(wb.IRModule.from_expr(RELAY["lets"](8))))
    inputs = {"x": np.ones(module["main"].params[0].checked_type.shape, "float32")}
    (found,) = wb.open(module).run(inputs).values()
    assert (found == 2.0**8).all()


def test_sums_of_a_value_with_itself_stay_small() -> None:
    """Sixteen of them took more than 40 s: inlined into one expression they have 65,536 leaves."""
    assert scheduled_size("doubled_sums", 16) < 10_000


@pytest.mark.parametrize("name", ["concatenated", "concatenated_one", "stacked", "split"])
def test_very_wide_operators_become_trees_of_equal_kernels(name: str) -> None:
    """Concat of 1,600 operands took more than 60 s."""
    once, twice = scheduled_size(name, 128), scheduled_size(name, 256)
    assert twice < 2.3 * once < 100_000


def test_kernels_get_the_parts_that_they_read() -> None:
    """Each of 400 kernels had all 61 parts of a split among its parameters: building them took 19 s."""
    module, _ = optimize(wb.IRModule.from_expr(RELAY["split_shifted"](100)), Target("llvm"))
    lowered = lower_module(module, Target("llvm"))
    parameters = [len(func.params) for name, func in lowered.module.items() if name.startswith("fused_add")]
    assert len(parameters) == 100
    assert set(parameters) == {2}
    x = relay.var("x", shape=(6, 4))
    parts = relay.split(x, 3, axis=0)
    same = [relay.exp(relay.negative(parts[at])) for at in range(3)]
    built = relay.build(relay.Function([x], relay.Tuple([*same, relay.add(parts[0], parts[2])])))
    values = np.linspace(-1, 1, 24).astype("f").reshape(6, 4)
    found = list(built.run({"x": values}).values())
    for at in range(3):
        np.testing.assert_allclose(found[at], np.exp(-values[2 * at : 2 * at + 2]), rtol=1e-5)
    np.testing.assert_array_equal(found[3], values[:2] + values[4:])


@pytest.mark.parametrize("count", daily((2, 7, 8, 9, 63, 64, 65, 130), 2, 7, 8, 9, 65))
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


def test_values_that_branches_share_are_computed_once() -> None:
    """A chain of ten ifs was lowered 1,024 times."""
    assert scheduled_size("branches", 24) < 2.3 * scheduled_size("branches", 12)
    x, flag = relay.var("x", shape=(3,)), relay.var("flag", shape=(), dtype="bool")
    shared = relay.tanh(x)
    inner = relay.If(flag, relay.exp(shared), relay.negative(shared))
    outer = relay.If(relay.logical_not(flag), relay.add(inner, shared), inner)
    built = relay.build(relay.Function([x, flag], relay.Tuple([outer, shared])))
    values = np.linspace(-1, 1, 3).astype("f")
    for decided in (True, False):
        first, second = built.run({"x": values, "flag": np.array(decided)}).values()
        then = np.exp(np.tanh(values)) if decided else -np.tanh(values)
        np.testing.assert_allclose(first, then if decided else then + np.tanh(values), rtol=1e-5)
        np.testing.assert_allclose(second, np.tanh(values), rtol=1e-5)


@pytest.mark.parametrize("name", ["concatenated", "summed", "wide"])
def test_twenty_thousand_operands_are_refused_by_a_named_limit(name: str) -> None:
    module = wb.IRModule.from_expr(RELAY[name](20_000))
    for build in (lambda: relay.build(module), lambda: wb.open(module)):
        with pytest.raises(wb.WorkbenchError, match=r"wb\.limits\.operands") as caught:
            build()
        assert caught.value.where


def test_ifs_in_ifs_are_refused_by_a_named_limit() -> None:
    """Four hundred of them ended with a RecursionError of Python."""
    for build in (relay.build, lambda module: wb.open(module).build()):
        with pytest.raises(wb.WorkbenchError, match=r"wb\.limits\.nesting") as caught:
            build(wb.IRModule.from_expr(RELAY["nested_branches"](400)))
        assert caught.value.where
    built = relay.build(RELAY["nested_branches"](60))
    values = np.linspace(-1, 1, 32).astype("f").reshape(4, 8)
    (found,) = built.run({"x": values, "flag": np.array(True)}).values()
    np.testing.assert_allclose(found, np.tanh(values), rtol=1e-5)


def test_expressions_that_double_are_refused_by_a_named_limit() -> None:
    with pytest.raises(wb.WorkbenchError, match=r"wb\.limits\.function_nodes"):
        wb.te.create_prim_func(TE["te_shared"](40))
    tensors = TE["te_doubled"](40)
    sch = wb.te.create_schedule(tensors[1].op)
    operation = tensors[1].op
    while operation.input_tensors[0].op.input_tensors:
        operation = operation.input_tensors[0].op
        sch[operation].compute_inline()
    with pytest.raises(wb.WorkbenchError, match=r"wb\.limits\.inlined_nodes"):
        wb.lower(sch, tensors)
