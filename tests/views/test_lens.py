"""A loop nest as formulas: what the page is told, and what is refused with its reason."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from tests.browser.lens_programs import followed
from tests.schedule.programs import argmax, convolution, packed_convolution, plain_matmul
from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.schedule import Schedule
from workbench.target.target import as_target
from workbench.views.lens import LensView, lens_of


def tiled() -> Schedule:
    sch = Schedule(plain_matmul(30, 20, 16))
    i, j, k = sch.get_loops(sch.get_block("C"))
    i_0, i_1 = sch.split(i, factors=[None, 8])
    j_0, j_1 = sch.split(j, factors=[5, 4])
    sch.reorder(i_0, j_0, k, i_1, j_1)
    return sch


def names(view: LensView) -> list[str]:
    return [view.terms[loop.term].name for loop in view.loops]


def test_it_holds_loops_axes_accesses_and_caches_as_json() -> None:
    view = lens_of(tiled())
    assert json.loads(json.dumps(view.to_json()))["block"] == "C"
    assert names(view) == ["i_0", "j_0", "k", "i_1", "j_1"]
    assert [(axis.name, axis.extent, axis.reduction) for axis in view.axes] == [
        ("vi", 30, False), ("vj", 20, False), ("vk", 16, True)
    ]  # fmt: skip
    assert [(array.name, array.shape, array.bytes) for array in view.arrays] == [
        ("A", (30, 16), 4), ("B", (16, 20), 4), ("C", (30, 20), 4)
    ]  # fmt: skip
    assert [(access.array, access.store) for access in view.accesses] == [(2, False), (0, False), (1, False), (2, True)]
    assert view.accesses[1].dims == ((0, ((0, 1),)), (0, ((2, 1),)))
    levels = as_target(None).cache_levels
    assert [(cache.name, cache.size, cache.line) for cache in view.caches] == [(x.name, x.size, x.line) for x in levels]


def test_splits_name_the_step_and_the_factors_that_can_be_changed() -> None:
    view = lens_of(tiled())
    found = [(view.terms[split.term].name, split.factors, split.step) for split in view.splits]
    assert found == [("i", (None, 8), 3), ("j", (5, 4), 4)]
    parts = [[(view.terms[part].name, view.terms[part].extent) for part in split.parts] for split in view.splits]
    assert parts == [[("i_0", 4), ("i_1", 8)], [("j_0", 5), ("j_1", 4)]]


def test_a_tile_as_large_as_its_axis_can_be_made_smaller_again() -> None:
    sch = followed(8)
    sch.change(3, factors=[None, 16])
    view = lens_of(sch, "C")
    (split,) = view.splits
    assert (split.factors, split.step, view.axes[1].term) == ((None, 16), 3, split.term)
    assert [(view.terms[part].name, view.terms[part].extent) for part in split.parts] == [("j_0", 1), ("ax1", 16)]
    sch.change(3, factors=[None, 4])
    (split,) = lens_of(sch, "C").splits
    assert split.factors == (None, 4)


def test_a_fused_loop_is_the_loops_that_it_runs_through() -> None:
    sch = tiled()
    block = sch.get_block("C")
    i_0, j_0, *_ = sch.get_loops(block)
    sch.parallel(sch.fuse(i_0, j_0))
    view = lens_of(sch)
    assert names(view) == ["i_0", "j_0", "k", "i_1", "j_1"]
    assert [loop.fused for loop in view.loops] == ["i_0_j_0_fused"] * 2 + [""] * 3
    assert [loop.kind for loop in view.loops] == ["parallel"] * 2 + ["serial"] * 3
    assert "i_0_j_0_fused is parallel: this is the order of one thread" in view.notes


def test_factors_that_were_drawn_are_numbers() -> None:
    sch = Schedule(plain_matmul(16, 16, 16), seed=1)
    i, *_ = sch.get_loops(sch.get_block("C"))
    drawn = sch.sample_perfect_tile(i, n=2)
    sch.split(i, factors=drawn)
    (split,) = lens_of(sch).splits
    assert split.factors == tuple(sch.get(one) for one in drawn)


def test_a_copy_at_a_loop_has_its_own_loops_and_names_its_neighbours() -> None:
    sch = tiled()
    copy = sch.cache_write("C", 0, "global")
    sch.reverse_compute_at(copy, sch.get_loops("C")[1])
    view = lens_of(sch, sch.get(copy).name)
    of_c = [split.step for split in lens_of(sch, "C").splits]
    assert [split.step for split in view.splits] == [of_c[0], 0], "C's tile can be dragged, the row not"
    assert view.notes[0] == "the same loops also run C, not drawn here"
    assert "may keep less of it" in view.notes[1]
    assert lens_of(sch).block == "C", "the block that makes most visits"


def test_every_block_is_named_with_the_reason_against_it() -> None:
    view = lens_of(Schedule(convolution()))
    assert view.block == "conv"
    assert dict(view.blocks) == {
        "pad": "block pad reads X only where a condition holds", "conv": "", "relu": ""
    }  # fmt: skip


def pieces_of_a_fused_loop() -> Any:
    sch = Schedule(plain_matmul(8, 8, 8))
    i, j, _ = sch.get_loops(sch.get_block("C"))
    sch.split(sch.fuse(i, j), factors=[None, 5])
    return sch, "C"


def huge() -> Any:
    a = te.placeholder((4096, 4096), name="A")
    return Schedule(te.create_prim_func([a, te.compute((4096, 4096), lambda i, j: a[i, j] + 1.0, name="B")])), "B"


@pytest.mark.parametrize(
    ("made", "code", "found"),
    [
        (lambda: (Schedule(convolution()), "pad"), "E-LENS-AFFINE", "vy >= 1"),
        (lambda: (Schedule(packed_convolution()), "out"), "E-LENS-AFFINE", "// 4"),
        (lambda: (Schedule(argmax()), ""), "E-LENS-AFFINE", "T.let"),
        (pieces_of_a_fused_loop, "E-LENS-AFFINE", "// 8"),
        (huge, "E-LENS-SIZE", "33,554,432 elements"),
        (lambda: (tiled(), "D"), "E-LENS-BLOCK", "D"),
    ],
)
def test_what_has_no_closed_formula_is_refused_with_the_expression(made: Any, code: str, found: str) -> None:
    sch, block = made()
    before = sch.fingerprint()
    with pytest.raises(WorkbenchError) as caught:
        lens_of(sch, block)
    error = caught.value
    assert error.code == code and error.message and error.expected and error.kept == "the schedule is unchanged"
    assert found in error.found
    assert sch.fingerprint() == before


def test_overlapping_pieces_are_refused() -> None:
    sch = Schedule(convolution(h=8, w=8))
    y = sch.get_loops("conv")[1]
    y_0, _ = sch.split(y, factors=[None, 4])
    sch.compute_at("pad", y_0)
    with pytest.raises(WorkbenchError) as caught:
        lens_of(sch, "pad")
    assert caught.value.code == "E-LENS-AFFINE"
    assert "overlapping" in caught.value.message or "condition" in caught.value.message


def _made_of_one(name: str) -> Schedule:
    sch = Schedule(plain_matmul(8, 8, 8))
    i = sch.get_loops("C")[0]
    if name == "fused alone":
        sch.fuse(i)
    elif name == "split into one part":
        sch.split(i, factors=[None])
    elif name == "both, and split after":
        (one,) = sch.split(sch.fuse(i), factors=[8])
        sch.split(one, factors=[None, 4])
    else:
        outer, inner = sch.split(i, factors=[2, 4])
        sch.split(sch.fuse(sch.fuse(outer, inner)), factors=[4, 2])
    return sch


@pytest.mark.parametrize(
    "name", ["fused alone", "split into one part", "both, and split after", "split, fused, fused alone, split"]
)
def test_a_loop_fused_or_split_alone_is_that_loop(name: str) -> None:
    """The result of such a step is the loop that it was given: what made it has no end."""
    view = lens_of(_made_of_one(name), "C")
    extents = [view.terms[loop.term].extent for loop in view.loops]
    assert math.prod(extents) == 8 * 8 * 8 and extents[-2:] == [8, 8]
    assert [(axis.name, axis.extent) for axis in view.axes] == [("vi", 8), ("vj", 8), ("vk", 8)]
