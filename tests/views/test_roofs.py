"""Rooflines as pictures: axes, legends, names that do not cover each other, and what has no roofline."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from workbench import te
from workbench.analysis.roofline_paths import PathPoint, RooflinePath, roofline_path
from workbench.schedule import Schedule
from workbench.views import roofs
from workbench.views.facts import picture_of
from workbench.views.roofs import RoofPlot, roofline_path_svg
from workbench.views.strings.tables import say
from workbench.views.svg import text_width

HASWELL = "llvm -mcpu=haswell"


def path_of(places: list[tuple[float, float]], **changes: Any) -> RooflinePath:
    """A path of points (intensity, rate) under a roof of 100 GFLOP/s and 100 GB/s."""
    points = tuple(
        PathPoint(number, (f"primitive_{number}",) if number else (), 64, 1.0, across, up, 1)
        for number, (across, up) in enumerate(places)
    )
    path = RooflinePath(1, "L1", 1, 1e11, 1e11, points, 1, 1, 2e10, "llvm -mcpu=haswell", 32, 3.0, False)
    return replace(path, **changes)


def texts(svg: str, size: str) -> list[tuple[float, float, str]]:
    """Places of texts and what they say."""
    found = [node for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("text")]
    sized = [one for one in found if one.get("font-size") == size]
    return [(float(one.get("x", 0)), float(one.get("y", 0)), one.text or "") for one in sized]


def test_names_of_a_crowded_path_do_not_cover_each_other_and_are_eight_at_most() -> None:
    draw = random.Random(0)
    svg = roofline_path_svg(path_of([(draw.uniform(1, 3), draw.uniform(1e10, 4e10)) for _ in range(16)]))
    inside = [one for one in texts(svg, "9") if "primitive" in one[2]]
    assert 0 < len(inside) <= 8, inside
    boxes = [(x, y - 9, x + text_width(told, 9), y) for x, y, told in inside]
    for one, other in itertools.combinations(boxes, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1], (one, other)
    assert all(f"{number}  primitive_{number}: " in svg for number in range(1, 16)), "the list has them all"


def test_the_axes_of_a_roofline_have_ticks_at_powers_with_their_units() -> None:
    svg = roofline_path_svg(path_of([(0.25, 1e9), (16.0, 1e11)]))
    told = [text for _, _, text in texts(svg, "9")]
    for tick in ("1/4", "1", "16", "10", "100", "GFLOP/s", say.charts.intensity_axis("L1")):
        assert tick in told, f"{tick} is none of {told}"
    assert f">{say.charts.roof_of(1, 1e11, 1e11, 'L1')}<" in svg, "what the line is"


def test_two_roofs_are_told_apart_in_a_line_each() -> None:
    svg = roofline_path_svg(path_of([(1.0, 1e9)], threads=4))
    assert all(f">{say.charts.roof_of(cores, cores * 1e11, cores * 1e11, 'L1')}<" in svg for cores in (1, 4))


def test_a_point_over_the_nominal_roof_is_drawn_over_it() -> None:
    plot = RoofPlot.around([(1.0, 3e11)], 1e11, 1e11)
    assert plot.at(1.0, 3e11)[1] < plot.at(1.0, 1e11)[1]


def test_a_measured_peak_is_told_beside_the_nominal_one(monkeypatch: pytest.MonkeyPatch) -> None:
    path = path_of([(1.0, 1e9)])
    assert "nominal, at 3 GHz<" in roofline_path_svg(path)
    monkeypatch.setattr(roofs, "measured_peak", lambda target, bits: 1.5e11)
    assert "nominal, at 3 GHz; measured peak of one core: 150 GFLOP/s<" in roofline_path_svg(path)
    assert "assumed" in roofline_path_svg(replace(path, clock_is_assumed=True))


def test_without_arithmetic_a_sentence_stands_for_the_roofline() -> None:
    a = te.placeholder((64, 64), name="A")
    sch = Schedule(te.create_prim_func([a, te.compute((64, 64), lambda i, j: a[j, i], name="B")]))
    for drawn in (picture_of(sch.func, "roofline"), roofline_path_svg(roofline_path(sch, HASWELL))):
        assert "no arithmetic, so no roofline of operations" in drawn and "e-0" not in drawn and "GFLOP" not in drawn
