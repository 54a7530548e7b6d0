"""Facts as static HTML: a picture where there is one, the table as text below.

Functions `..._svg` of `views.loop_tree`, `views.iterations` and `views.charts` draw single facts; `fact_html` chooses.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any, Final

from ..analysis.cache import CacheReport, simulate_cache
from ..analysis.footprint import Footprints, footprints
from ..analysis.iterations import IterationPoints, iteration_points
from ..analysis.loop_trees import LoopTree, loop_tree
from ..analysis.reuse import Reuse, reuse_distance
from ..analysis.roofline_paths import RooflinePath, roofline_path
from ..analysis.rooflines import Roofline, roofline
from ..analysis.summary import Facts
from ..core.errors import WorkbenchError, nearest
from ..driver.sweep import Sweep
from ..tir.nodes import PrimFunc
from .charts import cache_svg, footprint_svg, reuse_svg, sweep_svg
from .html import visible
from .iterations import iterations_svg
from .loop_tree import dataflow_svg, tree_svg
from .relations import Relations, relations, relations_svg
from .roofs import roofline_path_svg, roofline_svg
from .strings.tables import say

_DRAWN: Final[dict[type, Callable[[Any], str]]] = {
    CacheReport: cache_svg,
    Footprints: footprint_svg,
    IterationPoints: iterations_svg,
    LoopTree: tree_svg,
    Relations: relations_svg,
    Reuse: reuse_svg,
    Roofline: roofline_svg,
    RooflinePath: roofline_path_svg,
    Sweep: sweep_svg,
}
_PRE: Final = "margin:0;padding:4px 8px;overflow:auto;font-size:12px;line-height:1.4;font-family:ui-monospace,monospace"
_FRAME: Final = "overflow:auto;max-width:100%"
_LARGEST: Final = 60_000
"""Bytes of a picture in one display."""


def fact_html(fact: Any) -> str:
    """A fact for a notebook or page: no script, all text escaped."""
    if isinstance(fact, Facts):
        return _facts_html(fact)
    return _drawn(fact) + _table(fact)


def _drawn(fact: Any) -> str:
    drawing = _DRAWN.get(type(fact))
    drawn = drawing(fact) if drawing is not None else ""
    return f'<div style="{_FRAME}">{drawn}</div>' if drawn and len(drawn) <= _LARGEST else ""


def _table(fact: Any) -> str:
    return f'<pre style="{_PRE}">{escape(visible(str(fact)), quote=False)}</pre>'


def _facts_html(facts: Facts) -> str:
    sections: list[tuple[str, Any, bool]] = [
        (say.charts.loops, facts.tree, True),
        (say.charts.work, facts.roofline, False),
        (say.charts.footprint_table, facts.footprints, True),
        (say.charts.access_steps, facts.patterns, False),
        (say.charts.vectors, facts.vectors, False),
        (say.charts.registers, facts.registers, False),
        (say.charts.caches, facts.cache or say.charts.not_simulated, False),
    ]
    heading = escape(say.charts.facts_for(facts.target))
    made = [f'<div style="font:600 12px system-ui;padding:2px 8px">{heading}</div>']
    for title, fact, opened in sections:
        made.append(
            f'<details{" open" if opened else ""}><summary style="font:600 12px system-ui;cursor:pointer">'
            f"{escape(title)}</summary>{_drawn(fact)}{_table(fact)}</details>"
        )
    return "".join(made)


# --- pictures by name ---------------------------------------------------------------------------------------------


def _tree(program: Any) -> str:
    return tree_svg(loop_tree(program))


def _iterations(program: Any) -> str:
    return iterations_svg(iteration_points(program))


def _footprints(program: Any) -> str:
    return footprint_svg(footprints(program))


def _cache(program: Any) -> str:
    return cache_svg(simulate_cache(program))


def _reuse(program: Any) -> str:
    return reuse_svg(reuse_distance(program))


def roofline_picture(program: Any, target: Any = None) -> str:
    """Of a schedule its path, before its first step too; where the model has no word for it, and for a function, the
    one point of the plain roofline.
    """
    if not isinstance(program, PrimFunc):
        try:
            return roofline_path_svg(roofline_path(program, target))
        except WorkbenchError as error:
            if error.code != "E-ANALYSIS-DATA":
                raise
    return roofline_svg(roofline(program, target))


def _relations(program: Any) -> str:
    return relations_svg(relations(program))


PICTURES: Final[dict[str, Callable[[Any], str]]] = {
    "tree": _tree,
    "dataflow": dataflow_svg,
    "relations": _relations,
    "iterations": _iterations,
    "footprints": _footprints,
    "cache": _cache,
    "reuse": _reuse,
    "roofline": roofline_picture,
}


def picture_of(program: Any, name: str) -> str:
    """The SVG of a schedule or function that `name` stands for: "tree", "dataflow", "iterations", ...

    Raises `WorkbenchError` E-VIEW-NAME for an unknown name.
    """
    if name not in PICTURES:
        raise WorkbenchError(
            "E-VIEW-NAME", f"there is no picture {name!r}", expected=", ".join(PICTURES), fix=nearest(name, PICTURES)
        )
    return PICTURES[name](program)
