"""Each property check: what passes, what fails with which reason, and what its hints are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.schedule import programs
from workbench import teach
from workbench.core.errors import WorkbenchError
from workbench.schedule import Schedule
from workbench.teach.exercise import Check
from workbench.teach.hints import ladder, search
from workbench.teach.work import Unmet, Work, is_contiguous, moves


def work_of(program: Callable[[], Any], steps: Callable[[Schedule], Any] | None = None) -> Work:
    func = program()
    sch = Schedule(func)
    if steps is not None:
        steps(sch)
    return Work({"n": 4}, func, sch.func, sch)


def verdict(check: Check, work: Work) -> Any:
    from workbench.teach.checks import verdict_of

    return verdict_of(check, work)


def fails(check: Check, work: Work, reason: str) -> Any:
    found = verdict(check, work)
    assert not found.passed and reason in found.reason, found
    return found


def test_same_numbers_names_the_first_wrong_element() -> None:
    right = teach.same_numbers(lambda a, b: a @ b)
    assert verdict(right, work_of(programs.plain_matmul)).passed
    found = fails(teach.same_numbers(lambda a, b: a @ b + 1), work_of(programs.plain_matmul), "C[0, 0] is")
    assert "24 of 24 elements differ" in found.reason and found.where == ("C",)
    fails(teach.same_numbers(lambda a, b: (a, b)), work_of(programs.plain_matmul), "writes 1 arrays instead of 2")
    fails(teach.same_numbers(lambda a, b: a), work_of(programs.plain_matmul), "has shape (4, 6); wanted is (4, 5)")


def test_same_numbers_finds_races_of_forced_steps() -> None:
    forced = work_of(programs.plain_matmul, lambda sch: sch.parallel(sch.get_loops("C")[2], unsafe=True))
    fails(teach.same_numbers(lambda a, b: a @ b), forced, "E-TIR-RACE")
    found = fails(teach.legal(), forced, "step 3 was forced: sch.parallel(l2, unsafe=True)")
    assert found.primitive == "parallel"
    assert verdict(teach.legal(), work_of(programs.plain_matmul)).passed


def test_steps_used_and_avoided() -> None:
    work = work_of(programs.plain_matmul, lambda sch: sch.unroll(sch.get_loops("C")[0]))
    assert verdict(teach.at_most_steps(1), work).reason == "1 step"
    assert fails(teach.at_most_steps(0), work, "1 step, 1 too many").primitive == "unroll"
    assert verdict(teach.uses("unroll"), work).passed
    assert fails(teach.uses("split"), work, "split is not used; you used unroll").primitive == "split"
    assert verdict(teach.avoids("split"), work).passed
    fails(teach.avoids("unroll"), work, "unroll is used: sch.unroll(l0)")


def test_vectorized_wants_the_innermost_contiguous_loop() -> None:
    check = teach.vectorized("C", lanes=3)
    plain = fails(check, work_of(programs.plain_matmul), "no loop of C is a vector")
    assert plain.primitive == "split, then reorder, then vectorize" and plain.lines[-1] == "sch.vectorize(ji)"

    def column(sch: Schedule) -> None:
        i, j, k = sch.get_loops("C")
        sch.reorder(k, j, i)
        sch.vectorize(i)

    fails(check, work_of(programs.plain_matmul, column), "C moves by 6 elements in C, 5 elements in A")

    def outer(sch: Schedule) -> None:
        sch.vectorize(sch.get_loops("C")[1])

    assert fails(check, work_of(programs.plain_matmul, outer), "k runs inside of it").primitive == "reorder"

    def wide(sch: Schedule) -> None:
        i, j, k = sch.get_loops("C")
        sch.reorder(i, k, j)
        sch.vectorize(j)

    fails(check, work_of(programs.plain_matmul, wide), "6 lanes instead of 3")
    assert verdict(teach.vectorized("C"), work_of(programs.plain_matmul, wide)).passed
    fails(teach.vectorized("X"), work_of(programs.plain_matmul), "there is no block X; the program has C")


def test_strides_of_tiled_and_fused_loops() -> None:
    def tiled(sch: Schedule) -> None:
        sch.split(sch.get_loops("C")[1], factors=[2, 3])

    site = work_of(programs.plain_matmul, tiled).site("C")
    assert [moves(site, loop)["B"] for loop in site.loops] == [0, 3, 1, 6]
    assert [is_contiguous(site, loop) for loop in site.loops] == [False, False, True, False]

    def fused(sch: Schedule) -> None:
        i, j, _ = sch.get_loops("C")
        sch.fuse(i, j)

    site = work_of(programs.plain_matmul, fused).site("C")
    assert moves(site, site.loops[0])["B"] is None


def test_parallel_wants_the_outermost_loop() -> None:
    check = teach.parallel("C")
    assert fails(check, work_of(programs.plain_matmul), "is serial").lines[-1] == "sch.parallel(i)"
    inner = work_of(programs.plain_matmul, lambda sch: sch.parallel(sch.get_loops("C")[1]))
    fails(check, inner, "j is parallel, but inside")
    assert verdict(check, work_of(programs.plain_matmul, lambda sch: sch.parallel(sch.get_loops("C")[0]))).passed


def test_orders_and_tiles() -> None:
    def tiled(sch: Schedule) -> None:
        i, j, k = sch.get_loops("C")
        outer, inner = sch.split(j, factors=[2, 3])
        sch.reorder(i, outer, k, inner)

    work = work_of(programs.plain_matmul, tiled)
    assert verdict(teach.loop_extents("C", 4, 2, 5, 3), work).passed
    assert verdict(teach.loop_extents("C", lambda shapes: shapes["n"], 2, 5, 1, 3), work).passed
    assert (
        fails(teach.loop_extents("C", 4, 2, 3, 5), work, "[4, 2, 5, 3]; wanted are [4, 2, 3, 5]").primitive == "reorder"
    )
    assert fails(teach.loop_extents("C", 4, 30), work, "wanted are").primitive == "split"
    assert verdict(teach.loop_order("C", "i", "j", "k", "j"), work).passed
    assert fails(
        teach.loop_order("C", "k", "i", "j"), work_of(programs.plain_matmul), "i, j, k; wanted is k, i, j"
    ).lines


def test_stages() -> None:
    work = work_of(programs.matmul)
    assert fails(teach.inside("C", "D"), work, "share 0 loops").lines[-1] == 'sch.compute_at("C", i)'
    assert fails(teach.scratch_at_most(6), work, "24 values are kept at a time").primitive == "compute_at"
    near = work_of(programs.matmul, lambda sch: sch.compute_at("C", sch.get_loops("D")[0]))
    assert verdict(teach.inside("C", "D"), near).passed and verdict(teach.scratch_at_most(6), near).passed
    chain = work_of(programs.softmax)
    assert fails(teach.inlined("C"), work, "still a block").primitive == "compute_inline"
    assert verdict(teach.inlined("nowhere"), chain).passed


def test_values_metrics_and_properties_of_ones_own() -> None:
    check = teach.value_is(lambda start, shapes: 2 * shapes["n"], tolerance=0.1)
    for value, reason in (
        (8, ""),
        (8.5, ""),
        (5, "too small"),
        (12, "too large"),
        ("8", "not a number"),
        (None, "no answer"),
    ):
        found = verdict(check, Work({"n": 4}, None, value=value))
        assert found.passed == (not reason) and reason in found.reason
    texts = teach.value_is(lambda start, shapes: ["a", ("b",)])
    assert verdict(texts, Work({}, None, value=["a", ["b"]])).passed
    assert not verdict(texts, Work({}, None, value=["b"])).passed
    blocks = teach.metric("blocks", lambda work: len(work.tree.blocks) - 1, at_most=1, unit="blocks")
    fails(blocks, work_of(programs.matmul), "2 blocks, 2 times the 1 allowed")
    assert verdict(blocks, work_of(programs.plain_matmul)).passed
    own = teach.holds("two stages", lambda work: len(work.tree.blocks) == 3, "not two stages")
    assert verdict(own, work_of(programs.matmul)).passed
    fails(own, work_of(programs.plain_matmul), "not two stages")


def test_the_program_asked_for() -> None:
    target = teach.same_program(lambda n: programs.plain_matmul())
    assert verdict(target, work_of(programs.plain_matmul)).passed
    swapped = work_of(programs.plain_matmul, lambda sch: sch.reorder(*sch.get_loops("C")[1::-1]))
    fails(target, swapped, "wanted is a line like: for i, j, k in T.grid(4, 6, 5):")


def test_a_check_of_a_value_without_a_program_says_so() -> None:
    with pytest.raises(Unmet):
        _ = Work({}, None, value=3).function
    fails(teach.parallel("C"), Work({}, None, value=3), "the answer made no program")


def test_the_search_finds_a_step_that_lowers_a_figure() -> None:
    """A check of one's own has no line to give; one is found by trying."""

    def kept(work: Work) -> int:
        from workbench.teach.stage_checks import intermediates, live_elements

        return sum(live_elements(work, buffer) for buffer in intermediates(work))

    check = teach.metric("little memory", kept, at_most=6, helps=("compute_at",))
    work = work_of(programs.matmul)
    lines = search(check, work, check.helps)
    assert lines is not None and "sch.compute_at(" in lines[-1]
    sch = Schedule(programs.matmul())
    exec("\n".join(lines), {"sch": sch})
    assert verdict(check, Work({}, None, sch.func, sch)).passed
    exercise = teach.Exercise("90_1", "t", "Keep little.", programs.matmul, (check,))
    hints = ladder(exercise, check, verdict(check, work), work)
    assert len(hints) == 4 and hints[3] == "\n".join(lines) and "compute_at" in hints[2]


def test_exercises_are_refused_when_they_make_no_sense() -> None:
    def make(**changes: Any) -> teach.Exercise:
        usual: dict[str, Any] = {
            "id": "90_1", "title": "t", "goal": "g", "start": programs.matmul, "checks": (teach.parallel("C"),),
        }  # fmt: skip
        return teach.Exercise(**{**usual, **changes})

    make()
    wrong: tuple[dict[str, Any], ...] = (
        {"id": "../x"}, {"checks": ()}, {"checks": (teach.legal(),)}, {"answer": "essay"}, {"shapes": {"n": ()}},
        {"checks": (teach.parallel("C"), teach.parallel("C"))}, {"hints": {"nothing": ("a", "b")}},
    )  # fmt: skip
    for changes in wrong:
        with pytest.raises(WorkbenchError) as caught:
            make(**changes)
        assert caught.value.code == "E-TEACH-EXERCISE", changes


@pytest.mark.parametrize("kind", ["function", "pass"])
def test_answers_that_are_functions_and_passes(kind: str) -> None:
    if kind == "function":
        exercise = teach.Exercise(
            "90_2", "", "As it is", programs.plain_matmul, (teach.same_numbers(np.matmul, points=1),), answer="function"
        )  # fmt: skip
        assert teach.check_answer(exercise, lambda func: func).passed
        assert teach.check_answer(exercise, lambda func: Schedule(func)).passed
        broken = lambda func: "@T.prim_func\ndef main(:"  # noqa: E731
        assert "E-" in teach.check_answer(exercise, broken).reason
        return
    from workbench import IRModule, relay

    def program() -> Any:
        x = relay.var("x", shape=(2, 2), dtype="float32")
        return IRModule.from_expr(relay.Function([x], relay.exp(relay.exp(x))))

    calls = teach.holds("no exp left", lambda work: "R.exp" not in work.module.script(), "there is an exp", points=1)
    exercise = teach.Exercise("90_3", "t", "Drop exp.", program, (calls,), answer="pass")
    assert not teach.check_answer(exercise, lambda: relay.transform.InferType()).passed

    def tanh() -> Any:
        from workbench.core.rewrite import RuleTable
        from workbench.relay.patterns import any_, op
        from workbench.relay.transforms.rules import apply_rules

        table = RuleTable("exp-to-tanh")
        table.rule("exp", op("exp", any_("x")))(lambda m: relay.tanh(m["x"]))
        return lambda mod: mod.with_functions({"main": apply_rules(relay.transform.InferType()(mod)["main"], table)})

    assert teach.check_answer(exercise, tanh).passed


def test_partial_results() -> None:
    from tests.schedule.programs import plain_matmul as product

    check = teach.partial_results("C", 5)
    found = fails(check, work_of(product), "C is one chain: each iteration of k waits")
    assert found.primitive == "split, then rfactor" and found.lines[-1] == "sch.rfactor(ko, 0)"

    def consecutive(sch: Schedule) -> None:
        sch.rfactor(sch.split(sch.get_loops("C")[2], factors=[5, None])[0], 0)

    def long() -> Any:
        return product(4, 6, 10)

    def neighbours(sch: Schedule) -> None:
        sch.rfactor(sch.split(sch.get_loops("C")[2], factors=[None, 5])[1], 0)

    assert verdict(check, work_of(long, consecutive)).passed
    fails(teach.partial_results("C", 2), work_of(long, consecutive), "wanted are 2")
    fails(check, work_of(long, neighbours), "do not take consecutive elements")
    fails(teach.partial_results("D", 5), work_of(programs.matmul), "D is no reduction")


def test_misses_and_cycles_are_the_models() -> None:
    from workbench.analysis import CacheLevel
    from workbench.teach.cache_checks import cycles_at_most, misses_at_most, simulated

    def product() -> Any:
        return programs.plain_matmul(16, 32, 16)

    tiny = CacheLevel("L1", 1024, 2, 64)
    work = work_of(product)
    misses = simulated(work, tiny).misses
    assert verdict(misses_at_most(misses, tiny), work).passed
    check = misses_at_most(misses // 4, tiny, block="C")
    found = fails(check, work, "load B alone misses")
    exercise = teach.Exercise("90_4", "t", "Few misses.", product, (check,))
    hints = ladder(exercise, check, found, work)
    sch = Schedule(product())
    exec(hints[3], {"sch": sch})
    assert verdict(check, Work({}, sch.func, sch.func, sch)).passed
    cycles = simulated(work, tiny).cycles.total
    assert verdict(cycles_at_most(cycles, tiny), work).passed
    fails(cycles_at_most(cycles - 1, tiny), work, "the loops wait for")
    assert check.remedy is not None and misses_at_most(1, tiny, block="C").remedy is not None
    assert misses_at_most(0, tiny, block="C").remedy(work) is None  # type: ignore[misc]
