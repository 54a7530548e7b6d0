"""Found by random schedules, each as few steps as show it."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.property.offset_programs import column, shifted, short
from tests.property.order_programs import folded, scratch
from tests.property.schedule_checks import check_numbers as check_case
from tests.property.schedule_programs import Case
from tests.property.sum_programs import continued, partial_sum, reversed_sum, running_sum, summed_again
from tests.schedule.executing import inputs
from tests.schedule.harness import check_numbers
from tests.schedule.programs import chain, convolution, fused_pair, gram, matmul, reshaped, softmax, strided_reads
from workbench import te
from workbench.schedule import Schedule, ScheduleError
from workbench.tir.interpret import interpret
from workbench.tir.transforms.lower_blocks import lower_blocks


def test_two_reads_that_make_two_iterators_follow_one_loop() -> None:
    """Only the diagonal of `out` was computed: gram gave its row, back its column, both as j."""
    sch = Schedule(gram(2, 1))
    sch.reverse_compute_at(sch.get_block("gram"), sch.get_loops("back")[1])
    with pytest.raises(ScheduleError) as caught:
        sch.reverse_compute_at(sch.get_block("out"), sch.get_loops("back")[1])
    assert caught.value.code == "E-SCHEDULE-BEYOND" and "one loop" in caught.value.found


def test_a_private_buffer_read_at_an_outer_loop_stays_private() -> None:
    """`back` was allocated outside of the parallel loop, because a read follows the loop around it."""
    func = gram(5, 2)
    sch = Schedule(func)
    sch.compute_at(sch.get_block("gram"), sch.get_loops("out")[1])
    sch.compute_at(sch.get_block("back"), sch.get_loops("out")[1])
    sch.parallel(sch.get_loops("out")[1])
    check_numbers(func, sch.func)


def test_a_private_buffer_read_behind_a_predicate_stays_private() -> None:
    """A split beyond its loop's extent: the binding reaches beyond the domain, the predicate holds it back."""
    func = convolution(3, 4, 1, 4, 3, 2)
    sch = Schedule(func)
    sch.compute_at(sch.get_block("pad"), sch.get_loops("conv")[1])
    sch.reverse_compute_at(sch.get_block("relu"), sch.get_loops("conv")[2], index=1)
    sch.split(sch.get_loops("conv")[3], factors=[None, 3])
    sch.split(sch.get_loops("relu")[0], factors=[2, None, 3])
    sch.parallel(sch.get_loops("relu")[2])
    check_numbers(func, sch.func)


def test_a_private_buffer_is_not_read_from_outside_after_inlining() -> None:
    """`top` was computed by each iteration of a parallel loop; inlining its reader spread the reads."""
    sch = Schedule(softmax(4, 7))
    outer, inner = sch.split(sch.get_loops("shifted")[1], factors=[3, None])
    sch.parallel(inner)
    sch.compute_at(sch.get_block("top"), inner)
    with pytest.raises(ScheduleError) as caught:
        sch.compute_inline(sch.get_block("shifted"))
    assert caught.value.code == "E-SCHEDULE-DEPENDENCE" and "go on running j_1 at once" in caught.value.message
    assert outer


def test_a_consumer_of_one_column_is_inlined_for_that_column_only() -> None:
    x = te.placeholder((4, 6), name="X")
    twice = te.compute((4, 6), lambda i, j: x[i, j] * 2.0, name="twice")
    func = te.create_prim_func([x, te.compute((4,), lambda i: twice[i, 0] + 1.0, name="first")])
    sch = Schedule(func)
    sch.reverse_compute_inline(sch.get_block("first"))
    check_numbers(func, sch.func)


def test_a_consumer_that_runs_further_than_its_producer_stays() -> None:
    """`pad` reads the copy behind a condition; under the copy's loops its border was never computed."""
    sch = Schedule(convolution(3, 3, 2, 3, 3))
    copy = sch.cache_read(sch.get_block("pad"), 0, "local")
    with pytest.raises(ScheduleError) as caught:
        sch.reverse_compute_at(sch.get_block("pad"), sch.get_loops(copy)[1])
    assert caught.value.code == "E-SCHEDULE-BEYOND" and "in all iterations" in caught.value.found


def test_a_value_of_the_iteration_before_survives_a_new_layout() -> None:
    """Of (i + k + 1) // 2, k a loop of one iteration inside, nothing is known: the buffer lived one iteration."""
    func = fused_pair()
    sch = Schedule(func)
    sch.split(sch.get_loops("make")[0], factors=[None, 1])
    sch.transform_layout(sch.get_block("make"), ("own", 0), lambda i: (i // 2, i % 2))
    check_numbers(func, sch.func)


def test_an_iterator_of_one_value_takes_nothing_of_a_fused_index() -> None:
    func = chain(1, 8)
    sch = Schedule(func)
    sch.transform_block_layout(sch.get_block("two"), lambda i, j: (i * 6 + j,))
    check_numbers(func, sch.func)


def test_parts_of_a_copy_fill_a_buffer_together() -> None:
    """The copy stood in three blocks: none of them writes all that is read, all of them do."""
    func = chain(4, 3)
    sch = Schedule(func)
    sch.compute_at(sch.get_block("two"), sch.get_loops("three")[0])
    sch.parallel(sch.get_loops("three")[0])
    sch.loop_partition(sch.get_loops("two")[1], factors=[1, None])
    check_numbers(func, sch.func)


def test_a_consumer_follows_one_part_of_its_producer_only_where_that_is_all() -> None:
    sch = Schedule(reshaped(2, 1))
    outer, _, _ = sch.split(sch.get_loops("one")[0], factors=[None, 2, 2])
    middle = sch.get_loops("one")[1]
    sch.loop_partition(middle, factors=[None, 1])
    with pytest.raises(ScheduleError) as caught:
        sch.reverse_compute_at(sch.get_block("flat"), outer)
    assert caught.value.code == "E-SCHEDULE-BEYOND"


def test_a_tile_at_a_fixed_place_keeps_its_place() -> None:
    """blockize made an iterator of one value for a binding of 3."""
    func = chain(4, 3)
    sch = Schedule(func)
    _, last = sch.loop_partition(sch.get_loops("two")[0], factors=[None, 1], preserve_unit_iters=False)
    sch.blockize(last)
    check_numbers(func, sch.func)


def test_a_cache_holds_all_that_a_tile_writes() -> None:
    func = reshaped(2, 4)
    sch = Schedule(func)
    sch.blockize(sch.get_loops("one")[1], preserve_unit_iters=False)
    sch.cache_read(sch.get_block("flat"), 0, "local")
    check_numbers(func, sch.func)


def test_a_reduction_that_must_keep_its_order_is_not_moved() -> None:
    """compute_at makes loops in the order of the iterators, which reorder_block_iter_var may have changed."""
    x = te.placeholder((2, 2, 3), name="X")
    reducer = te.comm_reducer(lambda held, value: held * 2.0 + value, lambda kind: te.const(0, kind), name="horner")
    k, j = te.reduce_axis((0, 2), name="k"), te.reduce_axis((0, 3), name="j")
    made = te.compute((2,), lambda i: reducer(x[i, k, j], axis=[k, j]), name="made")
    func = te.create_prim_func([x, te.compute((2,), lambda i: made[i] - x[i, 0, 0], name="out")])
    sch = Schedule(func)
    sch.reorder_block_iter_var(sch.get_block("made"), new_order=[2, 0, 1])
    with pytest.raises(ScheduleError) as caught:
        sch.compute_at(sch.get_block("made"), sch.get_loops("out")[0])
    assert caught.value.code == "E-SCHEDULE-IRREGULAR" and "must keep its order" in caught.value.found


def test_an_iterator_that_indexes_no_output_is_not_padded() -> None:
    """A spatial iterator of one value: its padded values wrote the same element again, as zeros."""
    sch = Schedule(reshaped(3, 1))
    sch.reverse_compute_inline(sch.get_block("flat"))
    with pytest.raises(ScheduleError) as caught:
        sch.pad_einsum(sch.get_block("one"), padding=[4, 4])
    assert "would write what its one iteration wrote" in caught.value.found


def test_a_tile_of_a_scan_begins_where_the_scan_does() -> None:
    """The steps of a scan run from 1; inside the tile's block they ran from 0."""
    x, state = te.placeholder((3, 2), name="X"), te.placeholder((3, 2), name="S")
    first = te.compute((1, 2), lambda _, i: x[0, i], name="first")
    step = te.compute((3, 2), lambda s, i: state[s - 1, i] + x[s, i], name="step")
    func = te.create_prim_func([x, te.scan(first, step, state, inputs=[x], name="scan")])
    sch = Schedule(func)
    sch.blockize(sch.get_loops("step")[0], preserve_unit_iters=False)
    check_numbers(func, sch.func)


def test_indices_of_a_private_buffer_are_not_hidden_from_threads() -> None:
    """What each thread recomputed for itself was shared, once its reads went through a buffer of indices."""
    sch = Schedule(strided_reads(2))
    i = sch.get_loops("two")[0]
    sch.compute_at("one", i)
    sch.parallel(i)
    sch.cache_index("two", "global", cse_thresh=0)
    data = inputs(sch.func)
    interpret(lower_blocks(sch.func), *data, check_races=True)
    np.testing.assert_array_equal(data[-1], data[0][0:4:2] - data[0][2:6:2])


def test_one_lane_may_store_to_an_element_that_all_lanes_name() -> None:
    """A sum of one value, behind a condition on the vectorized loop: refused by the code generator (seed 1090)."""
    func, meaning = partial_sum(3, 4, 1)
    sch = Schedule(func)
    k = sch.get_loops("sum")[1]
    sch.vectorize(k)
    sch.decompose_reduction("sum", k)
    x, out = inputs(func)
    wb.build(sch.func)(x, out)
    assert (out == meaning(x)).all()


def test_an_initialisation_does_not_leave_its_condition_behind() -> None:
    """A reduction that runs in one of several iterations: its initialisation ran in all of them (seed 5343)."""
    sch = Schedule(matmul(1, 1, 3))
    unit, _ = sch.split(sch.get_loops("C")[0], factors=[None, 4], preserve_unit_iters=False)
    outer, inner = sch.split(unit, factors=[2, 3])
    with pytest.raises(ScheduleError, match="speaks of loops that the initialisation has and of others"):
        sch.decompose_reduction("C", inner)
    sch.decompose_reduction("C", outer)


def test_a_block_whose_loop_ends_before_its_domain_is_not_moved_to_all_of_it() -> None:
    """The last element of the result is the caller's, and stays it (found with the program `short`)."""
    sch = Schedule(short(4)[0])
    func = sch.func
    sch.reverse_compute_at("most", sch.get_loops("make")[0])
    check_numbers(func, sch.func)


def test_an_initialisation_that_never_runs_is_not_taken_out() -> None:
    """A sum that goes on with what another block began (found with the program `continued`)."""
    sch = Schedule(continued(2, 4)[0])
    with pytest.raises(ScheduleError, match="first iteration of others initialises"):
        sch.decompose_reduction("others", sch.get_loops("others")[1])


def test_an_initialisation_in_the_last_iteration_stays_there() -> None:
    """Before the tile it would not wipe out what is added (found with the program `reversed_sum`)."""
    sch = Schedule(reversed_sum(2, 4)[0])
    with pytest.raises(ScheduleError, match="first iteration is not shown to initialise"):
        sch.blockize(sch.get_loops("sum")[1])
    with pytest.raises(ScheduleError, match="does not begin where its initialisation runs"):
        sch.reverse_compute_at("sum", sch.get_loops("make")[0])


def test_what_has_been_added_so_far_is_not_private() -> None:
    """Each iteration of a sum goes on with the others' (found with the program `running_sum`)."""
    sch = Schedule(running_sum(2, 4)[0])
    with pytest.raises(ScheduleError, match="its iterations depend on each other"):
        sch.parallel(sch.get_loops("sum")[1])


def test_a_sum_that_is_not_finished_is_read_where_it_stands() -> None:
    """Inlined behind the loop, every copy would be of the whole sum (found with the program `running_sum`)."""
    sch = Schedule(running_sum(2, 4)[0])
    sch.cache_write("so_far", 0, "global")
    with pytest.raises(ScheduleError, match="its values depend on when they are computed"):
        sch.compute_inline("so_far")


def test_only_a_sum_that_begins_with_its_start_is_combined_across_threads() -> None:
    """Rows and values of a sum in one loop; a start in the last iteration."""
    sch = Schedule(matmul(4, 5, 6))
    _, j, k = sch.get_loops("C")
    with pytest.raises(ScheduleError, match="cannot combine the iterations"):
        sch.bind(sch.fuse(j, k), "threadIdx.x", cross_thread=True)
    sch = Schedule(reversed_sum(2, 4)[0])
    with pytest.raises(ScheduleError, match="cannot combine the iterations"):
        sch.bind(sch.get_loops("sum")[1], "threadIdx.x", cross_thread=True)


def test_a_tile_with_gaps_is_not_copied_as_a_box() -> None:
    """Its first element is written by nobody (seed 603860 of other draws)."""
    sch = Schedule(shifted(1)[0])
    sch.blockize(sch.get_loops("make")[0], preserve_unit_iters=False)
    sch.transform_layout("add", ("own", 0), lambda i: (i // 2, i % 2), assume_injective_transform=True)
    with pytest.raises(ScheduleError, match="not a box of its iterators"):
        sch.cache_read("add", 0, "local")


def test_a_sum_is_not_moved_away_from_who_reads_it_unfinished() -> None:
    """Under the reader's loop the whole sum would be made before each read (seed 8270)."""
    sch = Schedule(running_sum(1, 5)[0])
    unit = sch.add_unit_loop("so_far")
    with pytest.raises(ScheduleError, match="its values depend on when they are computed"):
        sch.compute_at("sum", unit)


def test_a_reduction_that_starts_again_is_not_started_before_its_tile() -> None:
    """Each of the times would add to what the others have made (found with the program `summed_again`)."""
    sch = Schedule(summed_again(2, 3, 4)[0])
    times, rows, _ = sch.get_loops("sum")
    with pytest.raises(ScheduleError, match="may compute an element again"):
        sch.blockize(times)
    func = sch.func
    sch.blockize(rows)
    check_numbers(func, sch.func)


def test_a_sum_whose_start_comes_last_is_not_cached() -> None:
    """What it adds to before would be the cache's, which nobody has set (found with the program `reversed_sum`)."""
    sch = Schedule(reversed_sum(2, 4)[0])
    with pytest.raises(ScheduleError, match="does not begin where its initialisation runs"):
        sch.cache_write("sum", 0, "local")
    with pytest.raises(ScheduleError, match="does not begin where its initialisation runs"):
        sch.reindex("sum", ("write", 0))


@pytest.mark.parametrize("fused", [False, True])
def test_sums_that_start_again_inside_their_loop_are_not_started_before_it(fused: bool) -> None:
    """Lowered, each of the times added to the others' sums (seed 501835 of other draws)."""
    case = Case("summed_again", *summed_again(3, 4, 2, inside=True))
    sch = Schedule(case.func)
    _, values, times = sch.get_loops("sum")
    if fused:
        sch.fuse(values, times)
    check_case(case, sch.func, 1, sch.code())


def test_sums_that_start_again_inside_their_loop_stay_there() -> None:
    """Elsewhere, each value would be added once; across threads, they would start once (`summed_again`, inside)."""
    sch = Schedule(summed_again(3, 4, 2, inside=True)[0])
    sch.cache_read("sum", 0, "local")
    with pytest.raises(ScheduleError, match="may add a value several times"):
        sch.reverse_compute_at("sum", sch.get_loops("X_local_copy")[0])
    _, values, times = sch.get_loops("sum")
    with pytest.raises(ScheduleError, match="its iterations depend on each other"):
        sch.bind(sch.fuse(values, times), "threadIdx.x", cross_thread=True)


def test_a_sum_without_its_start_is_not_cached() -> None:
    """What it adds to would be the cache's, which nobody has set; a later sum hid that from the numbers."""
    sch = Schedule(summed_again(3, 4, 2)[0])
    sch.loop_partition(sch.get_loops("sum")[0], factors=[1, None])
    sch.decompose_reduction("sum", sch.get_loops("sum")[2])
    with pytest.raises(ScheduleError, match="before anything is there"):
        sch.cache_write("sum", 0, "local")


def test_a_declared_region_as_long_as_an_iterator_says_is_no_box() -> None:
    """The copy's loop ended at the iterator, which it does not have (seed 28570)."""
    sch = Schedule(column(1, 4)[0])
    sch.annotate_buffer_access("make", 0, "write", lambda i, j: (0, i + 1, j, j + 1))
    with pytest.raises(ScheduleError, match="not a box of its iterators"):
        sch.cache_read("first", 0, "local")


def test_a_private_buffer_is_not_copied_out_of_its_threads() -> None:
    """All of them would write the cache's elements (seeds 96 and 28347)."""
    sch = Schedule(scratch(2, 3)[0])
    with pytest.raises(ScheduleError, match="cannot go on running i at once"):
        sch.cache_write("keep", 0, "global", consumer_blocks=["pair"])


def test_a_block_does_not_move_ahead_of_what_it_reads_in_its_own_loop() -> None:
    """Fetched by its place in pairs, all was computed in each iteration, from values not yet made (seed 9498)."""
    sch = Schedule(folded(4)[0])
    with pytest.raises(ScheduleError, match="make, which put reads from, stands in a loop around u, too"):
        sch.compute_at("put", sch.get_loops("fetch")[1])
