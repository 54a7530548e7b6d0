"""The witness of a refusal as data and as a static picture, and the ranked suggestions beside it."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import workbench as wb
from tests.schedule.programs import plain_matmul
from workbench.schedule import Schedule
from workbench.schedule.errors import ScheduleError
from workbench.schedule.ranking import ranked
from workbench.script import tir as T
from workbench.views import witness
from workbench.views.schedule import EditorModel
from workbench.views.witness import WitnessView, witness_of, witness_svg

TYPES = Path(__file__).parents[2] / "extensions" / "widgets" / "src" / "types.ts"


@T.prim_func
def shifted(A: T.Buffer((300, 300), "float32")):
    for i, j in T.grid(200, 200):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi + 60, vj] = A[vi, vj + 1] + 1.0


def refused(schedule: Schedule, primitive: str, *given: Any) -> ScheduleError:
    error = schedule.why_not(primitive, *given)
    assert error is not None
    return error


def drawn(schedule: Schedule, primitive: str, *given: Any) -> WitnessView:
    found = witness_of(refused(schedule, primitive, *given))
    assert found is not None
    return found


def a_reduction() -> WitnessView:
    schedule = Schedule(plain_matmul(64, 64, 64))
    return drawn(schedule, "vectorize", schedule.get_loops("C")[2])


def test_a_reduction_in_lanes_shows_two_iterations_side_by_side() -> None:
    found = a_reduction()
    assert [(axis.name, axis.extent, axis.clipped) for axis in found.axes] == [("k", 64, True), ("j", 64, True)]
    one, two = found.points
    assert (one.x, one.y, two.x, two.y) == (0, 0, 1, 0)
    assert one.does == two.does == "writes C[0, 0]" and two.at == "i=0, j=0, k=1"
    assert found.why == "both would run at the same time" and found.fixed == "i=0"


def test_the_lines_are_those_of_the_printed_program() -> None:
    found = a_reduction()
    lines = Schedule(plain_matmul(64, 64, 64)).script().splitlines()
    for point in found.points:
        assert lines[point.line - 1].strip() == point.code == "C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"
    assert [lines[line - 1].strip()[:5] for line in found.lines] == ["for i", "C[vi,"]


def test_iterations_far_apart_are_drawn_with_a_gap() -> None:
    schedule = Schedule(shifted)
    i, j = schedule.get_loops("B")
    found = drawn(schedule, "reorder", j, i)
    (across, down) = found.axes
    assert across.name == "j" and down.name == "i" and {0, 60} <= set(down.ticks)
    assert len(down.ticks) <= 8 and any(b - a > 1 for a, b in zip(down.ticks, down.ticks[1:], strict=False))
    assert [point.does.split()[0] for point in found.points] == ["writes", "reads"]
    assert "before" in found.why, "an order that is turned round is no meeting in time"


@pytest.mark.parametrize("extent", [1, 3, 8, 9, 200])
@pytest.mark.parametrize("ends", [(0, 1), (0, 0), (2, 199), (198, 199), (70, 75)])
def test_both_points_are_among_what_is_drawn(extent: int, ends: tuple[int, int]) -> None:
    ends = (min(ends[0], extent - 1), min(ends[1], extent - 1))
    ticks = witness._ticks(0, extent, ends)
    assert set(ends) <= set(ticks) <= set(range(extent)) and ticks == tuple(sorted(ticks)) and len(ticks) <= 8


def test_the_static_picture_names_shapes_and_signs() -> None:
    text = witness_svg(a_reduction())
    svg = ElementTree.fromstring(text)
    labels = [element.text or "" for element in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert {"1", "2", "k \u2192", "j \u2193"} <= set(labels)
    assert any(label.startswith("1  writes C[0, 0] at i=0, j=0, k=0 (line ") for label in labels)
    assert "only part of the iterations is drawn: k has 64, j has 64" in labels
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}polygon"))) == 1, "the second is a diamond"


def test_a_refusal_in_a_notebook_is_its_text_and_the_picture() -> None:
    schedule = Schedule(plain_matmul(64, 64, 64))
    error = refused(schedule, "vectorize", schedule.get_loops("C")[2])
    bundle = error._repr_mimebundle_()
    assert len(bundle["text/plain"].splitlines()) <= 6 and "<svg" in bundle["text/html"]
    plainly = refused(schedule, "split", schedule.get_loops("C")[0], [3, 7])
    assert witness_of(plainly) is None and "<svg" not in plainly._repr_mimebundle_()["text/html"]


def test_show_prints_where_there_is_no_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    schedule = Schedule(plain_matmul(64, 64, 64))
    refused(schedule, "vectorize", schedule.get_loops("C")[2]).show()
    assert "E-SCHEDULE-DEPENDENCE" in capsys.readouterr().out


def test_the_editor_sends_the_witness_with_its_boxes() -> None:
    ways = EditorModel(Schedule(plain_matmul(64, 64, 64))).ways("vectorize", "l:C:2")
    assert isinstance(ways.witness, WitnessView)
    assert ways.witness.boxes == ("l:C:2", "l:C:1", "b:C") and ways.witness.axes[0].box == "l:C:2"
    sent = json.loads(json.dumps(ways.to_json()))
    assert sent["witness"]["points"][1]["x"] == 1 and sent["suggestions"][0]["rank"] == 1


@pytest.mark.parametrize("view", [witness.AxisView, witness.WitnessPoint, witness.WitnessView])
def test_the_page_knows_every_field(view: type) -> None:
    body = re.search(rf"interface {view.__name__} {{(.*?)}}\n", TYPES.read_text(encoding="utf-8"), re.S)
    assert body is not None
    assert set(re.findall(r"(\w+)\??:", body.group(1))) == {field.name for field in dataclasses.fields(view)}


def test_suggestions_stand_by_the_model_and_long_loops_are_split_for_lanes() -> None:
    schedule = Schedule(plain_matmul(512, 512, 256))
    found = ranked(schedule, refused(schedule, "vectorize", schedule.get_loops("C")[2]))
    assert found[0].suggestion.text == "legal on 16 iterations of j, split off first"
    assert [one.rank for one in found] == sorted(one.rank for one in found) and found[0].rank == 1
    assert found[0].gains and not found[-1].gains


def test_what_cannot_be_modelled_keeps_its_order() -> None:
    n = wb.te.var("n")
    k = wb.te.reduce_axis((0, 16), "k")
    a = wb.te.placeholder((n, 16), name="A")
    total = wb.te.compute((n,), lambda i: wb.te.sum(a[i, k], axis=k), name="C")
    schedule = Schedule(wb.te.create_prim_func([a, total]))
    error = refused(schedule, "parallel", schedule.get_loops("C")[1])
    found = ranked(schedule, error)
    assert [one.suggestion for one in found] == schedule.suggest(error, 4)[: len(found)]
    assert all(one.rank == 0 and not one.gains for one in found)
