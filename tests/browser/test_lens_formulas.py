"""The page's closed formulas against the exact trace: the same visits, footprints and reuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from tests.browser.harness import Harness
from tests.browser.lens_programs import CASES, convolution, followed, matmul_tiled
from tests.browser.pages import new_page
from workbench.analysis.footprint import footprints
from workbench.analysis.reuse import distances
from workbench.analysis.trace import AccessTrace, trace_of
from workbench.core.node import pre_order
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.views.lens import LensView, lens_of

# The functions of the page's own bundle, on one view: what the drawing is made of.
IN_PAGE = """async ([view, draft, asked, every]) => {
  const { lens, lensCache } = await import("/widgets.js");
  const nest = lens.nestOf(view, draft);
  const total = lens.visits(nest);
  const visited = [];
  for (let number = 0; every && number < total; number++) {
    const values = lens.axisValues(nest, lens.visitAt(nest, number));
    for (const access of view.accesses) visited.push(lens.elementOf(nest, access, values));
  }
  const touched = (number) => lensCache.lastVisits(nest, lens.visitAt(nest, number));
  const lines = asked.map((number) => lensCache.lastLines(nest, touched(number), 64).map((own) => Array.from(own)));
  return { total, visited, lines, footprints: lens.footprints(nest), loops: nest.loops };
}"""


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """A page that the bundle can be imported from."""
    page = Harness(new_page(browser)).page
    page.goto("http://workbench.test/")
    yield page
    page.close()


def computed(
    page: Page, view: LensView, asked: list[int], draft: dict[str, int] | None = None, every: bool = True
) -> dict[str, Any]:
    """What the page makes of a view; `every` asks for all visits, `asked` for the last touches before some of them."""
    return page.evaluate(IN_PAGE, [view.to_json(), draft, asked, every])


def traced(view: LensView, sch: Schedule) -> tuple[AccessTrace, np.ndarray]:
    """The exact trace element by element, and which accesses are those of the block itself (not of a sum's start)."""
    trace = trace_of(sch, vectors=False)
    stored = {view.arrays[access.array].name for access in view.accesses if access.store}
    sums = [
        number
        for number, stmt in enumerate(trace.statements)
        if isinstance(stmt, t.BufferStore)
        and stmt.buffer.name in stored
        and any(isinstance(node, t.BufferLoad) for node in pre_order(stmt.value))
    ]
    return trace, np.isin(trace.site, sums)


def visited(view: LensView, sch: Schedule) -> np.ndarray:
    """(array, element) of each access, as the exact trace has them."""
    trace, own = traced(view, sch)
    buffers = np.array([site.buffer for site in trace.sites])
    numbers = {array.name: number for number, array in enumerate(view.arrays)}
    begins = {name: begin for name, (begin, _) in trace.places.items()}
    arrays = np.array([numbers.get(name, -1) for name in buffers])[trace.site[own]]
    offsets = np.array([begins[name] for name in buffers])[trace.site[own]]
    return np.stack([arrays, (trace.address[own] - offsets) // 4], axis=1)


@pytest.mark.parametrize("name", CASES)
def test_the_order_of_visits_is_the_traces(page: Page, name: str) -> None:
    sch = CASES[name]()
    view = lens_of(sch)
    exact = visited(view, sch)
    found = computed(page, view, [])
    arrays = np.resize([access.array for access in view.accesses], len(exact))
    assert found["total"] * len(view.accesses) == len(exact)
    np.testing.assert_array_equal(np.stack([arrays, found["visited"]], axis=1), exact)


def by_loop(found: dict[str, Any]) -> dict[str, list[int]]:
    """Bytes by array of each loop; a fused loop is one, and loops of one iteration are none."""
    sizes: dict[str, list[int]] = {}
    for loop, own in zip(found["loops"], found["footprints"], strict=False):
        if loop["extent"] > 1 or loop["fused"]:
            sizes.setdefault(loop["fused"] or loop["name"], own)
    return sizes


def exact_by_loop(view: LensView, sch: Schedule) -> dict[str, list[int]]:
    """The same from the program; loops that only store the start value touch not all arrays."""
    found: dict[str, list[int]] = {}
    for level in footprints(sch).levels:
        sizes = {one.buffer: one.bytes for one in level.buffers}
        if level.loop and level.extent > 1 and all(array.name in sizes for array in view.arrays):
            found[level.loop] = [sizes[array.name] for array in view.arrays]
    return found


@pytest.mark.parametrize("name", CASES)
def test_footprints_are_the_exact_ones(page: Page, name: str) -> None:
    sch = CASES[name]()
    view = lens_of(sch)
    assert by_loop(computed(page, view, [], every=False)) == exact_by_loop(view, sch)


@pytest.mark.nightly
@pytest.mark.parametrize("name", CASES)
def test_the_last_visit_of_each_line_gives_the_exact_reuse_distances(page: Page, name: str) -> None:
    """Before an access, the lines touched after its own line are as many as the trace's reuse distance says."""
    sch = CASES[name]()
    view = lens_of(sch)
    exact = visited(view, sch)
    wide = len(view.accesses)
    lines = exact[:, 1] // 16 + exact[:, 0] * 1_000_000
    exact_distances = distances(lines)
    total = len(exact) // wide
    asked = sorted({*range(0, total - 1, max(1, total // 40)), 0, total - 2})
    found = computed(page, view, asked, every=False)
    for number, last in zip(asked, found["lines"], strict=True):
        first = (number + 1) * wide  # the first access of the next visit
        array, element = exact[first]
        own = last[array][element // 16]
        later = sum(when > own for lines_of_array in last for when in lines_of_array)
        assert (later if own >= 0 else -1) == exact_distances[first], number


def drafts() -> list[tuple[Callable[[int], Schedule], int, int]]:
    """(the schedule by factor, the factor drawn first, the factor drafted)"""
    tiled = [(old, new) for old in (4, 5) for new in (1, 3, 8, 16)]
    conv = [(4, 7), (6, 3)]
    return [
        *((lambda tile: matmul_tiled("IJKijk", 4, tile, 2), old, new) for old, new in tiled),
        *((lambda tile: matmul_tiled("jKIJki", 5, tile, 3), old, new) for old, new in tiled),
        *((lambda tile: convolution(tile), old, new) for old, new in conv),
    ]


@pytest.mark.parametrize(("made", "old", "new"), drafts())
def test_a_factor_drafted_in_the_page_is_the_schedule_with_that_factor(
    page: Page, made: Callable[[int], Schedule], old: int, new: int
) -> None:
    view, sch = lens_of(made(old)), made(new)
    step = next(number for number, split in enumerate(view.splits) if old in split.factors and split.step)
    step = next((n for n, split in enumerate(view.splits) if view.terms[split.term].name == "j"), step)
    found = computed(page, view, [], {"split": step, "part": 1, "factor": new})
    exact = visited(lens_of(sch), sch)
    np.testing.assert_array_equal(found["visited"], exact[:, 1])
    assert by_loop(found) == exact_by_loop(view, sch)


@pytest.mark.parametrize(("old", "new"), [(4, 4), (5, 5), (4, 3), (4, 8), (5, 4), (4, 1), (4, 16), (16, 8), (16, 5)])
def test_a_tile_that_follows_its_consumers_is_drafted_as_the_schedule_makes_it(page: Page, old: int, new: int) -> None:
    """Visits and footprints of the parameters; of what lies inside, the program keeps less than is drawn."""
    sch = followed(old)
    view = lens_of(sch, "C")
    split = next(number for number, split in enumerate(view.splits) if split.step)
    found = computed(page, view, [], {"split": split, "part": 1, "factor": new})
    sch.change(view.splits[split].step, factors=[None, new])
    exact = visited(lens_of(sch, "C"), sch)
    given = [number for number, array in enumerate(view.arrays) if array.name in "AB"]
    arrays = np.resize([access.array for access in view.accesses], len(exact))
    assert found["total"] * len(view.accesses) == len(exact)
    np.testing.assert_array_equal(arrays, exact[:, 0])
    inputs = np.isin(arrays, given)
    np.testing.assert_array_equal(np.array(found["visited"])[inputs], exact[inputs, 1])
    loops, wanted = by_loop(found), exact_by_loop(view, sch)
    assert {name: [sizes[n] for n in given] for name, sizes in loops.items()} == {
        name: [sizes[n] for n in given] for name, sizes in wanted.items()
    }
