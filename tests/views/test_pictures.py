"""Pictures of facts: golden SVG, well-formed, escaped, without script, small enough for a notebook."""

from __future__ import annotations

import random
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

import workbench as wb
from tests.property.drawing import scheduled
from tests.schedule import programs as p
from workbench import te
from workbench.analysis import (
    CacheLevel,
    access_patterns,
    facts,
    footprints,
    iteration_points,
    loop_tree,
    reuse_distance,
    roofline,
    roofline_path,
    simulate_cache,
)  # fmt: skip
from workbench.contrib import tedd
from workbench.core.errors import WorkbenchError
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.views.charts import cache_svg, footprint_svg, heat_map, reuse_svg, short
from workbench.views.facts import PICTURES, fact_html, picture_of
from workbench.views.iterations import iterations_svg
from workbench.views.loop_tree import dataflow_svg, stages, tree_svg
from workbench.views.relations import relations, relations_svg
from workbench.views.roofs import roofline_path_svg, roofline_svg
from workbench.views.strings.tables import say

HASWELL = "llvm -mcpu=haswell"
LIMIT = 120_000


def tiled() -> Schedule:
    sch = Schedule(p.matmul(8, 8, 4))
    i, j, k = sch.get_loops("C")
    jo, ji = sch.split(j, factors=[None, 4])
    sch.reorder(i, jo, k, ji)
    sch.vectorize(ji)
    sch.parallel(i)
    return sch


def checked(svg: str) -> str:
    """One line an element, for golden files that can be read."""
    ElementTree.fromstring(svg)
    assert "<script" not in svg and len(svg) < LIMIT
    return svg.replace("><", ">\n<")


def test_tree(golden) -> None:
    golden(checked(tree_svg(loop_tree(tiled()))), suffix=".svg")


def test_dataflow(golden) -> None:
    golden(checked(dataflow_svg(p.softmax())), suffix=".svg")
    assert [stage.name for stage in stages(p.convolution())] == ["X", "W", "bias", "pad", "conv", "relu"]
    assert stages(p.convolution())[4].inputs == ("pad", "W")


def test_iterations(golden) -> None:
    witness = SimpleNamespace(first_at={"i": 0, "j": 1}, second_at={"i": 1, "j": 0})
    golden(checked(iterations_svg(iteration_points(p.skewed(3), "wave", witness=witness))), suffix=".svg")


def test_tiles_have_colours() -> None:
    drawn = checked(iterations_svg(iteration_points(tiled(), "C", ("vj", "vi"))))
    assert "2 tiles by colour" in drawn and "still: k=0" in drawn


def test_large_spaces_stay_small() -> None:
    drawn = checked(iterations_svg(iteration_points(p.plain_matmul(300, 300, 3), "C", ("vj", "vi"))))
    assert "more iterations than are drawn" in drawn


def test_heat_map(golden) -> None:
    drawn = heat_map(
        [4, 8], ["8", "16"], [[3.0, 1.5e6], [None, 2.0]], "cycles", row_name="ii", column_name="ji",
        reasons={(1, 0): "refused: 3 < 4"},
    )  # fmt: skip
    golden(checked(drawn), suffix=".svg")
    assert "refused: 3 &lt; 4" in drawn


@pytest.mark.parametrize("values", [[], [[1.0]], [[1.0, 2.0], [1.0]]])
def test_a_heat_map_wants_a_value_for_each_cell(values: list) -> None:
    with pytest.raises(WorkbenchError) as caught:
        heat_map([1, 2], [1, 2], values)
    assert caught.value.code == "E-VIEW-HEAT"


def test_heat_maps_of_equal_and_of_no_values() -> None:
    assert "\u2605" in checked(heat_map(["a"], ["b"], [[1.0]]))
    assert "\u2605" not in checked(heat_map(["a"], ["b"], [[None]]))


def test_footprints(golden) -> None:
    golden(checked(footprint_svg(footprints(tiled(), HASWELL))), suffix=".svg")


def test_caches(golden) -> None:
    caches = [CacheLevel("L1", 256, 2, 64), CacheLevel("L2", 512, 2, 64)]
    golden(checked(cache_svg(simulate_cache(tiled(), HASWELL, caches=caches))), suffix=".svg")


def test_rooflines(golden) -> None:
    golden(checked(roofline_svg(roofline(tiled(), "llvm -mcpu=haswell -num-cores=2"))), suffix=".svg")


def test_the_path_under_the_roofline(golden) -> None:
    drawn = checked(roofline_path_svg(roofline_path(tiled(), "llvm -mcpu=haswell -num-cores=2")))
    assert all(f">{number}  {name}: " in drawn for number, name in enumerate(("reorder", "vectorize"), 1)), drawn
    golden(drawn, suffix=".svg")


def test_the_picture_of_a_schedule_has_its_path_and_that_of_a_function_one_point() -> None:
    assert "vectorize" in picture_of(tiled(), "roofline")
    assert say.charts.roofline in picture_of(tiled().func, "roofline")


def test_a_path_displays_itself() -> None:
    html = roofline_path(tiled(), HASWELL)._repr_html_()
    assert "<svg" in html and "vectorize" in html and "operations a byte" in html


def test_reuse(golden) -> None:
    golden(checked(reuse_svg(reuse_distance(tiled()))), suffix=".svg")


@pytest.mark.parametrize("name", list(p.PROGRAMS))
def test_every_picture_of_random_schedules(name: str) -> None:
    sch = Schedule(p.PROGRAMS[name]())
    scheduled(sch, random.Random(name), 5)
    for picture in PICTURES:
        try:
            checked(picture_of(sch, picture))
        except WorkbenchError as error:
            # An index kept in a buffer that holds another one each time.
            assert error.code == "E-ANALYSIS-DATA" and picture in ("cache", "reuse") and "index" in sch.script()
    assert len(fact_html(facts(sch, HASWELL))) < LIMIT


def test_names_are_escaped() -> None:
    a, b = (t.Buffer(name, (wb.tir.const(4),)) for name in ("<script>alert(1)</script>", 'B"&<'))
    i = wb.tir.Var("i<b>")
    loop = t.For(i, wb.tir.const(0), wb.tir.const(4), t.ForKind.SERIAL, t.BufferStore(b, t.BufferLoad(a, (i,)), (i,)))
    func = t.PrimFunc((a, b), loop)
    for picture in set(PICTURES) - {"dataflow", "relations"}:
        drawn = checked(picture_of(func, picture))
        assert "<b>" not in drawn
    html = fact_html(facts(func, HASWELL)) + fact_html(access_patterns(func))
    assert "<script" not in html and "i<b>" not in html


def test_unknown_pictures_and_programs_without_stages() -> None:
    with pytest.raises(WorkbenchError) as caught:
        picture_of(p.matmul(), "trees")
    assert caught.value.code == "E-VIEW-NAME" and "tree" in caught.value.fix
    with pytest.raises(WorkbenchError) as caught:
        picture_of(wb.lower(p.matmul())["main"], "dataflow")
    assert caught.value.code == "E-VIEW-STAGES"


def test_a_schedule_shows_and_a_fact_displays(capsys) -> None:
    sch = tiled()
    sch.show("tree")
    assert capsys.readouterr().out.startswith("<svg")
    assert "<details" in sch.facts(HASWELL)._repr_html_()
    assert "<svg" in sch.sweep({"j_1": [2, 4]}, target=HASWELL)._repr_html_()
    assert "<pre" in access_patterns(sch)._repr_html_()


@pytest.mark.parametrize(("value", "text"), [(0.5, "0.5"), (999.0, "999"), (12_345.0, "12.3k"), (2.5e9, "2.5G")])
def test_short_numbers(value: float, text: str) -> None:
    assert short(value) == text


# --- relations, and the classic names -----------------------------------------------------------------------------


def fused() -> Schedule:
    sch = Schedule(p.plain_matmul(8, 8, 4))
    i, j, _ = sch.get_loops("C")
    io, _ = sch.split(i, factors=[None, 4])
    jo, ji = sch.split(j, factors=[None, 2])
    sch.reorder(io, jo, sch.get_loops("C")[1], ji)
    sch.fuse(io, jo)
    return sch


def test_relations(golden) -> None:
    found = relations(fused())
    golden(str(found))
    golden(checked(relations_svg(found)), suffix=".svg")
    assert found.to_json()["edges"]


def test_relations_of_a_function_are_those_of_its_loops() -> None:
    assert str(relations(p.plain_matmul())) == "C.vi = i\nC.vj = j\nC.vk = k"


def te_schedule() -> te.Schedule:
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((8, 8), lambda i, j: b[i, j] + 1.0, name="C")
    s = te.create_schedule(c.op)
    _, yo, _, _ = s[c].tile(c.op.axis[0], c.op.axis[1], 4, 4)
    s[b].compute_at(s[c], yo)
    return s


def test_classic_pictures_of_a_te_schedule(golden, tmp_path, capsys) -> None:
    s = te_schedule()
    drawn = [
        tedd.viz_dataflow_graph(s, output_dot_string=True),
        tedd.viz_schedule_tree(s, output_dot_string=True),
        tedd.viz_itervar_relationship_graph(s, output_dot_string=True),
    ]
    golden("\n".join(map(str, drawn)))
    path = tmp_path / "tree.dot"
    assert tedd.viz_schedule_tree(s, show_svg=True, dot_file_path=str(path)) is None
    assert path.read_text() == drawn[1] and capsys.readouterr().out.startswith("<svg")


@pytest.mark.parametrize("picture", ["tree", "dataflow", "relations"])
def test_te_schedules_have_pictures(picture: str) -> None:
    checked(picture_of(te_schedule(), picture))
