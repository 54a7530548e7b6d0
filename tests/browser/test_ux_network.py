"""Rows 43 to 75 on a fused convolution of EfficientNet-lite0: what is told against what its schedule says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import ceil, prod
from typing import Any

import pytest
from playwright.sync_api import expect

import workbench as wb
from tests.browser.network_kernel import (
    CONVOLUTION,
    DENSE,
    LINE,
    Kernel,
    block_and_row,
    bytes_told,
    iterations,
    lines_of,
    lines_touched,
    number,
    said,
    sizes,
    touched,
    touched_told,
    visited,
)  # fmt: skip
from tests.browser.screen_parts import NETWORK
from tests.browser.shown import Shown
from workbench.analysis.cache import simulate_cache
from workbench.analysis.quick_cycles import quick_cycles
from workbench.schedule.references import LoopRV
from workbench.schedule.registry import PRIMITIVES, primitive
from workbench.schedule.state import Change, ScheduleState
from workbench.target.memory import CacheLevel
from workbench.target.target import as_target
from workbench.tir import ForKind

# At night: each row is shown on a matrix product in every run (test_ux_schedule, _legality, _memory, _performance).
pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def efficientnet() -> Any:
    """The network, its convolution computed one way on every machine: NCHW, by blocks of channels."""
    return wb.open(str(NETWORK)).without("AlterOpLayout").choose(CONVOLUTION, "conv2d.blocks")


@pytest.fixture
def nest(shown: Shown) -> Iterator[Kernel]:
    """The convolution's default schedule in the editor; what a test does to it is taken back."""
    shown.back()
    kernel = Kernel(shown, CONVOLUTION, "Editor")
    expect(kernel.loop("ax5")).to_be_visible(timeout=30_000)
    before = kernel.schedule.code()
    yield kernel
    shown.back()
    assert kernel.schedule.code() == before


@pytest.fixture
def lens(shown: Shown) -> Iterator[Kernel]:
    shown.back()
    kernel = Kernel(shown, CONVOLUTION, "Lens")
    expect(kernel.page.get_by_role("slider", name="Factor of ax3", exact=True)).to_be_visible(timeout=30_000)
    yield kernel


@pytest.fixture
def dense(shown: Shown) -> Iterator[Kernel]:
    """The network's last layer in the lens: few enough accesses to follow each."""
    shown.back()
    kernel = Kernel(shown, DENSE, "Lens")
    expect(kernel.page.locator("figcaption", has_text="dense")).to_be_visible(timeout=30_000)
    yield kernel


# --- the editor ---


def test_ux_43_the_loops_of_a_fused_convolution_are_boxes(nest: Kernel) -> None:
    sites = nest.schedule.state.tree.leaves
    expect(nest.page.locator(".wb-tree .wb-block-name")).to_have_text([site.name for site in sites])
    for site in sites:
        loops = [[loop.var.name, str(loop.extent.value)] for loop in site.loops]
        assert nest.around(site.name) == loops
    lefts = [nest.loop(name).bounding_box()["x"] for name in nest.extents]  # type: ignore[index]
    assert lefts == sorted(set(lefts)), "each loop stands inside the one before"
    kinds = [site.loop.kind for site in nest.schedule.state.tree.loops.values()]
    expect(nest.page.locator(".wb-tree .wb-k-vectorized")).to_have_count(kinds.count(ForKind.VECTORIZED))
    expect(nest.page.locator(".wb-tree .wb-chip-sum")).to_have_count(1)
    expect(nest.block("conv2d")).to_contain_text("reduction")


def test_ux_44_the_valid_primitives_of_a_convolutions_loops_are_those_that_python_allows(nest: Kernel) -> None:
    names = ("parallel", "vectorize", "unroll")
    for loop in ("i3_0", "ax5", "ax3"):
        nest.loop(loop).click()
        expect(nest.page.locator(".wb-panel-head")).to_contain_text(f"For loop {loop}")
        given = nest.page.locator(".wb-primitive")
        expect(given.filter(has=nest.page.get_by_role("button", name="annotate", exact=True))).to_be_visible()
        legal = nest.page.locator(".wb-primitive:not(.wb-off) > button").all_inner_texts()
        made = nest.schedule.copy()
        reference = nest.reference(made, "conv2d", loop)
        assert {name for name in names if name in legal} == {
            name for name in names if made.why_not(name, reference) is None
        }
    legal = nest.page.locator(".wb-primitive:not(.wb-off) > button").all_inner_texts()
    assert "split" not in legal, "an unrolled loop is split before it is unrolled"


def test_ux_45_two_reduction_loops_of_a_convolution_change_places_by_a_drag(nest: Kernel) -> None:
    made = nest.with_("reorder", "ax6", "ax5")
    order = [site.loop.var.name for site in made.state.tree.loops.values()]
    nest.loop("ax6").drag_to(nest.loop("ax5"))
    expect(nest.page.locator(".wb-tree .wb-iter")).to_have_text(order)
    nest.becomes(made)


def test_ux_46_the_form_offers_the_factors_that_divide_the_channels(nest: Kernel) -> None:
    made = nest.schedule.copy()
    channels = int(made.get(nest.reference(made, "clip", "i1_1")).extent.value)
    nest.choose(nest.loop("i1_1"), "split")
    divisors = [str(one) for one in range(2, channels) if channels % one == 0]
    factors = nest.page.get_by_role("group", name="Factors that divide")
    expect(factors.get_by_role("button")).to_have_text(divisors[:10])
    factors.get_by_role("button", name="4", exact=True).click()
    nest.apply()
    expect(nest.loop("i1_1_0").locator(".wb-extent")).to_have_text(str(channels // 4))
    expect(nest.loop("i1_1_1").locator(".wb-extent")).to_have_text("4")


def test_ux_47_a_split_of_the_channels_is_looked_at_first(nest: Kernel) -> None:
    before = nest.schedule.fingerprint()
    nest.choose(nest.loop("i1_1"), "split")
    nest.page.get_by_role("button", name="Preview", exact=True).click()
    preview = nest.page.get_by_role("group", name="Preview of split")
    expect(preview.locator(".wb-fresh > code")).to_have_text(["i1_1_0", "i1_1_1"])
    expect(preview.locator("code")).to_have_count(nest.page.get_by_role("treeitem").count() + 1)
    expect(nest.loop("i1_1_1")).to_have_count(0)
    assert nest.schedule.fingerprint() == before


def test_ux_48_a_step_beyond_the_default_schedule_is_undone_and_redone(nest: Kernel) -> None:
    before, made = nest.schedule.copy(), nest.with_("unroll", "i1_1", block="clip")
    editor = nest.page.get_by_role("group", name="Schedule editor")
    nest.choose(nest.loop("i1_1"), "unroll")
    expect(nest.loop("i1_1")).to_contain_text("unrolled")
    nest.becomes(made)
    editor.get_by_role("button", name="Undo").click()
    expect(nest.loop("i1_1")).not_to_contain_text("unrolled")
    nest.becomes(before)
    editor.get_by_role("button", name="Redo").click()
    expect(nest.loop("i1_1")).to_contain_text("unrolled")
    nest.becomes(made)


def test_ux_49_the_default_schedules_moves_and_two_branches_stand_in_a_tree(nest: Kernel) -> None:
    moves, made = [move.name for move in nest.schedule.moves.done], nest.with_("unroll", "i1_1", block="clip")
    nest.choose(nest.loop("i1_1"), "unroll")
    expect(nest.loop("i1_1")).to_contain_text("unrolled")
    nest.page.get_by_role("group", name="Schedule editor").get_by_role("button", name="Undo").click()
    expect(nest.loop("i1_1")).not_to_contain_text("unrolled")
    nest.choose(nest.loop("i3_0"), "unroll")
    expect(nest.loop("i3_0")).to_contain_text("unrolled")
    nest.page.get_by_role("button", name="Tree", exact=True).click()
    tree = nest.page.get_by_role("region", name="Tree of schedules")
    expect(tree.locator("li > button")).to_have_text(["as it began", *moves, "unroll", "● unroll"])
    ends = tree.locator("li:not(:has(li)) > button")
    expect(ends).to_have_text(["unroll", "● unroll"])
    ends.first.click()
    expect(nest.loop("i1_1")).to_contain_text("unrolled")
    expect(nest.loop("i3_0")).not_to_contain_text("unrolled")
    nest.becomes(made)
    nest.page.get_by_role("button", name="Tree", exact=True).click()


def test_ux_50_the_ranks_of_options_follow_the_modelled_cycles(nest: Kernel) -> None:
    nest.loop("i1_1").click()
    nest.page.get_by_role("button", name="Rank", exact=True).click()
    target = nest.schedule.func.attrs.get("target")
    now = quick_cycles(nest.schedule, target).total
    ranks: dict[str, int] = {}
    made = {name: nest.with_(name, "i1_1", block="clip") for name in ("parallel", "unroll")}
    cycles = {name: quick_cycles(schedule, target).total for name, schedule in made.items()}
    for name, count in cycles.items():
        row = nest.page.locator(".wb-primitive", has=nest.page.get_by_role("button", name=name, exact=True))
        rank = re.compile(r"^rank \d+ of \d+(, no faster than now)?$")
        expect(row.locator(".wb-rank")).to_have_text(rank, timeout=20_000)
        told = row.locator(".wb-rank").inner_text()
        ranks[name] = int(told.split()[1])
        assert ("no faster than now" in told) == (count >= now)
    assert (ranks["unroll"] < ranks["parallel"]) == (cycles["unroll"] < cycles["parallel"])


def test_ux_51_an_options_time_and_rate_stand_for_the_convolutions_operations(nest: Kernel) -> None:
    nest.loop("i1_1").click()
    search = nest.page.get_by_role("searchbox", name="Find a primitive")
    search.fill("unroll")
    nest.page.get_by_role("button", name="Time each").click()
    timed = nest.page.locator(".wb-timed")
    expect(timed).to_have_text(re.compile("GFLOP/s"), timeout=30_000)
    seconds, rate = said(timed.inner_text())
    assert seconds * rate == pytest.approx(nest.schedule.facts().roofline.flops, rel=0.02)
    search.fill("")


def test_ux_52_the_python_beside_the_boxes_makes_the_default_schedule(nest: Kernel) -> None:
    told = nest.page.get_by_label("The Python that leads here").locator("pre").inner_text()
    assert told.split() == nest.schedule.code().split()
    made = nest.schedule.copy()
    made.restart()
    assert made.fingerprint() != nest.schedule.fingerprint()
    exec(told, {"sch": made})
    assert made.fingerprint() == nest.schedule.fingerprint()


def test_ux_53_the_tile_of_the_width_is_edited_in_the_python_and_every_box_follows(nest: Kernel) -> None:
    tile, tiles = nest.extents["ax3"], nest.extents["i3_0"]
    other = 2 * tile if tiles % 2 == 0 else tile * tiles
    nest.edit(f"= sch.split(l3, factors=[None, {tile}])", f"= sch.split(l3, factors=[None, {other}])")
    for name in ("ax3_init", "ax3", "i3_1"):
        expect(nest.loop(name).locator(".wb-extent")).to_have_text(str(other))
    expect(nest.loop("i3_0").locator(".wb-extent")).to_have_text(str(tile * tiles // other))
    assert nest.extents["ax3"] == other


def test_ux_54_a_primitive_of_ones_own_is_offered_for_a_convolutions_loop(
    shown: Shown, request: pytest.FixtureRequest
) -> None:
    @primitive(category="loop")
    def keep_serial(state: ScheduleState, loop: LoopRV, times: int = 3) -> Change[None]:
        """Leave a loop as it is."""
        state.loop(loop)
        return Change(state.func)

    request.addfinalizer(lambda: PRIMITIVES.remove("keep_serial"))
    shown.screen.session = shown.session  # a cell shows it again, after it has registered the primitive
    shown.harness.push()
    nest: Kernel = request.getfixturevalue("nest")
    nest.choose(nest.loop("i3_0"), "keep_serial")
    form = nest.page.get_by_role("form", name="Arguments of keep_serial")
    expect(form.get_by_role("spinbutton", name="times")).to_have_value("3")
    nest.apply()
    expect(nest.page.locator(".wb-code-line.wb-last")).to_contain_text("sch.keep_serial(l6")
    assert nest.extents["i3_0"] > 1


def test_ux_55_the_convolution_stands_in_its_consumers_tile_and_a_copy_moves_there_too(nest: Kernel) -> None:
    inside = nest.box("i3_0").locator(".wb-block-name")
    expect(inside).to_have_text(["conv2d_init", "conv2d", "clip"])
    nest.choose(nest.block("clip"), "cache_write")
    nest.apply()
    expect(nest.block("clip_local_copy")).to_be_visible()
    expect(inside).to_have_count(3)
    nest.choose(nest.block("clip_local_copy"), "reverse_compute_at")
    tiles = nest.extents["i3_0"]
    form = nest.page.get_by_role("form", name="Arguments of reverse_compute_at")
    form.get_by_role("combobox", name="loop", exact=True).select_option(label=f"i3_0  ({tiles})")
    nest.apply()
    expect(inside).to_have_text(["conv2d_init", "conv2d", "clip", "clip_local_copy"])
    assert "sch.reverse_compute_at(" in nest.schedule.code()


# --- what is refused ---


def test_ux_56_threads_on_the_sum_of_a_convolution_are_rejected_and_nothing_changes(nest: Kernel) -> None:
    before = nest.schedule.fingerprint()
    nest.edit("sch.unroll(l18)\n", "sch.unroll(l18)\nsch.parallel(l16)\n")
    alert = nest.page.get_by_role("alert")
    expect(alert).to_contain_text(re.compile(r"E-SCHEDULE-\w+"))
    expect(alert).to_contain_text("unchanged")
    lines = nest.page.get_by_role("textbox", name="Python of the schedule, to edit").input_value().split("\n")
    expect(alert).to_contain_text(f"line {lines.index('sch.parallel(l16)') + 1}")
    assert nest.schedule.fingerprint() == before
    nest.page.get_by_role("button", name="Close", exact=True).click()


@pytest.fixture
def refused(nest: Kernel) -> Kernel:
    """Why the sum over the input channels cannot be shared among threads is shown."""
    nest.loop("ax5").click()
    asked = nest.page.get_by_role("button", name="What instead of parallel?")
    if asked.get_attribute("aria-expanded") != "true":
        asked.click()
    expect(nest.page.get_by_role("group", name="Instead of parallel")).to_be_visible(timeout=20_000)
    return nest


def test_ux_57_the_loop_and_the_statement_of_the_convolution_are_lit(refused: Kernel) -> None:
    script = refused.schedule.script().rstrip().split("\n")
    axes = [text.split()[0] for text in refused.page.locator(".wb-w-axis").all_text_contents()]
    assert "ax5" in axes
    concerned = rf"for (.+, )?({'|'.join(axes)})(, .+)? in |conv2d\[vn, vob, vy, vx, voi\] = conv2d\[.*\] \+ "
    numbers = [at for at, line in enumerate(script, 1) if re.match(concerned, line.strip())]
    lit = refused.page.get_by_label("The lines concerned").locator(".wb-lit")
    expect(lit.locator(".wb-no")).to_have_text([str(at) for at in numbers])
    expect(lit.last).to_contain_text(script[numbers[-1] - 1].strip())


def test_ux_58_the_dependence_is_an_arrow_between_two_input_channels(refused: Kernel) -> None:
    picture = refused.page.locator(".wb-w-picture")
    expect(picture.locator(".wb-w-arrow")).to_have_count(1)
    axes = [text.split()[0] for text in picture.locator(".wb-w-axis").all_text_contents()]
    assert "ax5" in axes and set(axes) <= set(refused.extents)
    one, two = iterations(refused.page.locator(".wb-w-words li"))
    assert one["ax5"] != two["ax5"]
    middles = "all => all.map((one) => one.getBBox()).map((box) => [box.x + box.width / 2, box.y + box.height / 2])"
    places = picture.locator(".wb-w-one, .wb-w-two").evaluate_all(middles)
    for way, axis in enumerate(axes):
        assert (places[1][way] > places[0][way]) == (two[axis] > one[axis]), "points stand where the iterations are"
    names = picture.locator(".wb-w-axis").evaluate_all("all => all.map((one) => one.getBBox().x + one.getBBox().width)")
    ticks = picture.locator(".wb-w-tick").evaluate_all("all => Math.min(...all.map((one) => one.getBBox().x))")
    assert max(names) <= ticks, "names of axes are not written over by numbers"


def test_ux_59_both_iterations_are_of_this_nest_and_touch_one_element(refused: Kernel) -> None:
    words = refused.page.get_by_role("group", name="Two iterations that collide").get_by_role("listitem")
    expect(words).to_have_count(2)
    elements = []
    for at, told in zip(iterations(words), words.all_inner_texts(), strict=True):
        assert set(at) == set(refused.extents) and all(at[name] < extent for name, extent in refused.extents.items())
        x = at["i3_0"] * refused.extents["ax3"] + at["ax3"]
        elements.append([at["ax0"], *block_and_row(refused.extents, at), x, at["ax4"]])
        assert f"conv2d{elements[-1]}" in told
    assert elements[0] == elements[1]
    assert any("writes" in told for told in words.all_inner_texts())


def test_ux_60_a_refused_primitive_is_grey_with_pythons_reason(nest: Kernel) -> None:
    nest.loop("ax5").click()
    made = nest.schedule.copy()
    for name in ("parallel", "vectorize"):
        refusal = made.why_not(name, nest.reference(made, "conv2d", "ax5"))
        assert refusal is not None
        expect(nest.page.get_by_role("button", name=name, exact=True)).to_have_attribute("aria-disabled", "true")
        expect(nest.page.locator(f"[id$='-why-{name}']")).to_contain_text(refusal.message)


def test_ux_61_threads_on_the_tiles_are_suggested_and_taken(refused: Kernel) -> None:
    made = refused.with_("parallel", "i3_0")
    way = refused.page.locator(".wb-way", has_text="legal on loop i3_0 instead")
    way.get_by_role("button", name="Use").click()
    expect(refused.loop("i3_0")).to_contain_text("parallel")
    refused.becomes(made)


# --- the lens ---


def test_ux_62_visits_of_the_convolution_are_played_in_the_order_of_its_loops(lens: Kernel) -> None:
    e = lens.extents
    scrub = lens.page.get_by_role("slider", name="Visit")
    expect(scrub).to_have_attribute("max", str(prod(e.values()) - 1))
    captions = lens.page.locator("figcaption")
    tile = prod(list(e.values())[2:])
    for visit in (0, 5 * tile - 1, prod(e.values()) - 2):
        scrub.fill(str(visit))
        expect(captions).to_contain_text(visited(e, visit))
        lens.page.get_by_role("button", name="One visit on").click()
        expect(captions).to_contain_text(visited(e, visit + 1))
    scrub.fill(str(prod(e.values()) - 60))
    lens.page.get_by_role("button", name="Play").click()
    expect(scrub).to_have_value(str(prod(e.values()) - 1))


def test_ux_63_too_many_accesses_are_said_to_be_and_the_dense_layers_reuse_is_counted(shown: Shown) -> None:
    lens = Kernel(shown, CONVOLUTION, "Lens")
    expect(lens.page.get_by_role("slider", name="Factor of ax3", exact=True)).to_be_visible(timeout=30_000)
    lens.ask("Reuse distances")
    alert = lens.page.get_by_role("alert")
    expect(alert).to_contain_text("accesses are too many to simulate one by one", timeout=20_000)
    expect(lens.page.locator(".wb-lens-more .wb-wait")).to_have_count(0)
    e = lens.extents
    vectors = prod(e.values()) // e["ax4"]
    found = re.search(r"about ([\d,]+) accesses", alert.inner_text())
    assert found is not None and number(found[1]) > 4 * vectors, "two operands and the sum, read and written"
    lens.ask("Lifetimes")
    expect(alert).to_have_count(0)
    dense = Kernel(shown, DENSE, "Lens")
    expect(dense.page.locator("figcaption", has_text="dense")).to_be_visible(timeout=30_000)
    legend = dense.page.get_by_label("What the colours say")
    expect(legend).to_contain_text("never touched")
    held = re.findall(r"(?:touched|L\d|memory) ([\d,]+)", legend.inner_text())
    assert sum(number(one) for one in held) == lines_of(dense, "p0", "p1", "dense"), "each line is somewhere"
    dense.ask("Reuse distances")
    table = dense.page.get_by_role("table", name="Reuse distances")
    first = table.get_by_role("row", name="first touch").locator("td").first
    expect(first).to_have_text(f"{lines_touched(dense):,}", timeout=20_000)
    counts = [number(one) for one in table.locator("tbody td:nth-child(2)").all_inner_texts()]
    assert sum(counts) == simulate_cache(dense.schedule, dense.schedule.func.attrs.get("target")).accesses


def test_ux_64_a_cache_that_holds_the_dense_layer_misses_each_line_once(dense: Kernel) -> None:
    dense.ask("Simulate a cache")
    form = dense.page.get_by_role("form", name="A cache")
    found = dense.page.get_by_role("table", name="Simulated misses")
    for kilobytes, ways in ((8192, 16), (1, 1)):
        form.get_by_role("spinbutton", name="KiB").fill(str(kilobytes))
        form.get_by_role("spinbutton", name="line").fill(str(LINE))
        form.get_by_role("spinbutton", name="ways").fill(str(ways))
        form.get_by_role("button", name="Run").click()
        level = CacheLevel("cache", kilobytes * 1024, ways, LINE)
        report = simulate_cache(dense.schedule, dense.schedule.func.attrs.get("target"), caches=[level])
        misses = report.levels[0].misses
        expect(found.locator("tr", has_text="all").locator("td").last).to_have_text(f"{misses:,}", timeout=20_000)
        assert misses == lines_touched(dense) if kilobytes > 1 else misses > lines_touched(dense)
        for name, (accesses, missed) in report.by_buffer().items():
            row = found.locator("tbody tr", has=dense.page.get_by_role("rowheader", name=name, exact=True))
            expect(row.locator("td")).to_have_text([f"{accesses:,}", f"{missed:,}"])


def test_ux_65_the_padded_image_lives_until_the_convolution_and_the_sum_until_the_clip(lens: Kernel) -> None:
    lens.ask("Lifetimes")
    table = lens.page.get_by_role("table", name="Lifetimes")
    bytes_ = sizes(lens)
    lives = {"data_pad": "data_pad to conv2d", "conv2d": "conv2d_init to clip"}
    for name, size in bytes_.items():
        row = table.locator("tbody tr", has=lens.page.get_by_role("rowheader", name=name, exact=True))
        expect(row.locator("td").nth(0)).to_have_text(bytes_told(size))
        expect(row.locator("td").nth(1)).to_have_text(lives.get(name, "parameter"))
    image, sums = bytes_["data_pad"], bytes_["conv2d"]
    alive = [image, image + sums, image + sums, sums]
    row = table.locator("tbody tr", has_text="own buffers alive")
    expect(row.locator("td")).to_have_text(["", "", *map(bytes_told, alive)])


def test_ux_66_the_iterations_of_a_kernel_row_are_numbered_as_they_are_visited(lens: Kernel) -> None:
    e = lens.extents
    lens.ask("Iterations")
    lens.page.get_by_role("combobox", name="Across").select_option("ax3")
    expect(lens.page.get_by_role("img", name=re.compile("conv2d over ax3"))).to_be_visible(timeout=20_000)
    lens.page.get_by_role("combobox", name="Down").select_option("ax7")
    plot = lens.page.get_by_role("img", name="Iterations of conv2d over ax3 and ax7")
    expect(plot.locator(".wb-it-point")).to_have_count(e["ax3"] * e["ax7"], timeout=20_000)
    points = plot.locator(".wb-it-point text").evaluate_all(
        "all => all.map((one) => [+one.getAttribute('x'), +one.getAttribute('y'), +one.textContent])"
    )
    by_rows = sorted(points, key=lambda point: (point[1], point[0]))
    assert [order for *_, order in by_rows] == list(range(e["ax3"] * e["ax7"])), "ax7 is outside, ax3 inside"
    expect(plot.locator(".wb-it-arrow")).to_have_count(e["ax3"] * (e["ax7"] - 1))  # the sum goes on along ax7


def test_ux_67_the_tile_of_the_width_is_dragged_and_bytes_follow_at_once(lens: Kernel) -> None:
    asked, e = lens.shown.harness.asked_so_far(), lens.extents
    factor = lens.page.get_by_role("slider", name="Factor of ax3", exact=True)
    for key in ("PageUp", "Escape"):
        factor.press(key)
        (expect(factor).to_have_value if key == "Escape" else expect(factor).not_to_have_value)(str(e["ax3"]))
        value = int(factor.input_value())
        expect(lens.row("ax3")).to_contain_text(touched_told(touched({**e, "ax3": value}, "ax3")))
        expect(lens.row("i3_0").locator("td").first).to_have_text(str(ceil(e["ax3"] * e["i3_0"] / value)))
    assert len(lens.shown.harness.asked) == asked, "dragging asks nothing"


def test_ux_68_working_sets_of_the_convolutions_loops_and_the_cache_that_holds_them(lens: Kernel) -> None:
    caches = as_target(lens.schedule.func.attrs.get("target")).cache_levels
    for loop in ("i3_0", "ax5", "ax6", "ax7", "ax1", "ax3", "ax4"):
        counts = touched(lens.extents, loop)
        expect(lens.row(loop)).to_contain_text(touched_told(counts))
        fits = next((level.name for level in caches if sum(counts) <= level.size), "memory")
        expect(lens.row(loop).locator("td").last).to_have_text(f"{fits}, {bytes_told(sum(counts))}")


# --- performance ---


def test_ux_70_the_hottest_assembly_is_of_a_statement_with_its_trip_count(nest: Kernel) -> None:
    """The sum, or where vectors are short what turns its lanes about to store them."""
    blocks = nest.schedule.state.tree.blocks
    spread = (ForKind.UNROLLED, ForKind.VECTORIZED)
    around = {name: {loop.var.name: (int(loop.extent.value), loop.kind) for loop in blocks[name].loops}
              for name in ("conv2d", "clip")}  # fmt: skip
    trips = {prod(extent for extent, kind in loops.values() if kind not in spread): name
             for name, loops in around.items()}  # fmt: skip
    assert len(trips) == 2
    nest.shown.layers("Schedule", "Assembly")
    pane = nest.page.get_by_role("region", name="Assembly, pane B")
    expect(pane.get_by_role("button", name="Hottest")).to_be_visible(timeout=60_000)
    pane.get_by_role("button", name="Hottest").click()
    line = nest.page.get_by_role("region", name="The line")
    expect(line).to_contain_text(re.compile(r"Its statement runs [\d,]+ times a call"))
    told = re.search(r"runs ([\d,]+) times", line.inner_text())
    assert told is not None and number(told[1]) in trips, told
    expect(pane.locator(".wb-active .wb-heat")).to_have_attribute("title", re.compile(f"runs {told[1]} times a call"))
    for name, (extent, _) in around[trips[number(told[1])]].items():
        expect(line.locator("li", has_text=re.compile(rf"^{name} × {extent}\b")).first).to_be_visible()


def test_ux_74_llvms_remarks_name_loops_of_the_convolutions_loop_program(nest: Kernel) -> None:
    nest.shown.layers("Schedule", "LLVM")
    pane = nest.page.get_by_role("region", name="LLVM, pane B")
    pane.get_by_role("button", name="Remarks").click()
    found = pane.get_by_role("region", name="LLVM's remarks")
    expect(found).to_contain_text(f"on {CONVOLUTION}", timeout=30_000)
    program = nest.shown.screen.session.provenance.text(CONVOLUTION, "tir").split("\n")
    remarks = found.get_by_role("listitem").all_inner_texts()
    numbers = [int(at) for at in re.findall(r"loop program, line (\d+)", " ".join(remarks))]
    assert numbers and any("not vectorized" in remark for remark in remarks)
    said_of = {at: program[at - 1].strip() for at in numbers}
    assert all(text.startswith("for ") or " = " in text for text in said_of.values()), said_of
    assert any(text.startswith("for i0_i1_0_i2_fused") or "ax5" in text for text in said_of.values()), said_of
    pane.get_by_role("button", name="Remarks").click()


def test_ux_75_the_convolutions_rate_is_its_operations_by_its_time_and_its_share_of_the_peak(nest: Kernel) -> None:
    run = nest.page.locator(".wb-run")
    run.click()
    expect(run).to_contain_text(re.compile(r"[µm]s · [\d.]+% of peak"), timeout=30_000)
    told = str(run.get_attribute("title"))
    seconds, rate = said(told)
    assert seconds * rate == pytest.approx(nest.schedule.facts().roofline.flops, rel=0.02)
    found = re.search(r"([\d.]+)% of the peak of \d+ threads? \(([\d.]+) GFLOP/s\)", told)
    assert found is not None, told
    assert float(found[1]) == pytest.approx(rate / float(found[2]) * 1e-7, rel=0.01, abs=0.06)
    expect(run).to_contain_text(f"{found[1]}% of peak")
